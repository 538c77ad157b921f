"""The engine: ``complete(request) -> response``, synchronous and asynchronous, for ``dspy.LM``.

It is an evidence reader, not a language model; docs/offline.md says what it does and what not.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...text.terms import count_tokens, neutralise
from .dialogues import converse, is_conversation
from .features import GROUPS
from .judge import Decision, Manner, decide, scene_of
from .pieces import pieces
from .proposer import advice, propose, propose_raw
from .request import Ask, Field, parse_request
from .roles import Roles, assign_roles
from .shapes import Shape
from .writer import pieces_value, text_value, value_of, write_reply

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

__all__ = ["MODEL", "AsyncOfflineEngine", "OfflineEngine", "answer"]

MODEL = "jurist/offline"


class OfflineEngine:
    """Answers DSPy requests by reading evidence.

    Args:
        seed: changes the draws above temperature 0; at temperature 0 it changes nothing.
        without: feature groups to leave out (see ``features.GROUPS``), for ablations.

    Raises:
        ValueError: an unknown feature group.
    """

    def __init__(self, seed: int = 0, without: tuple[str, ...] = ()) -> None:
        unknown = sorted(set(without) - set(GROUPS))
        if unknown:
            raise ValueError(f"unknown feature group {unknown[0]!r}; choose from {', '.join(GROUPS)}")
        self.seed = seed
        self.without = tuple(without)

    def __deepcopy__(self, memo: dict[int, Any]) -> OfflineEngine:
        """Return self: DSPy copies programs, and a copy must not become another engine."""
        return self

    def dump_state(self) -> dict[str, Any]:
        """Return the arguments that make an equal engine."""
        return {"seed": self.seed, "without": list(self.without)}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> OfflineEngine:
        """Make an engine from ``dump_state``."""
        return cls(seed=int(state.get("seed", 0)), without=tuple(state.get("without", ())))

    def complete(self, request: Request) -> Response:
        """Answer one request. Deterministic for equal (engine seed, request)."""
        from dspy.lm15 import Message, Response, Usage

        system = _system_text(request)
        messages = [(message.role, message.text or "") for message in request.messages]
        rng = random.Random(_digest(self.seed, system, messages, request.config.seed))
        heat = float(request.config.temperature or 0.0)
        text = answer(system, messages, Manner(temperature=heat, rng=rng, without=self.without))
        asked = count_tokens(system) + sum(count_tokens(body) for _, body in messages)
        return Response(
            id=None,
            model=MODEL,
            message=Message.assistant(text),
            finish_reason="stop",
            usage=Usage(input_tokens=asked, output_tokens=count_tokens(text)),
        )


class AsyncOfflineEngine(OfflineEngine):
    """The same engine behind an ``async`` method, for ``dspy.LM(..., async_engine=...)``."""

    async def complete(self, request: Request) -> Response:
        """Answer one request, exactly as the synchronous engine does."""
        return OfflineEngine.complete(self, request)


def _system_text(request: Request) -> str:
    system = request.system
    if system is None or isinstance(system, str):
        return system or ""
    return "\n".join(str(getattr(part, "text", "")) for part in system)


def answer(system: str, messages: list[tuple[str, str]], manner: Manner) -> str:
    """Return the reply text to one rendered request."""
    ask = parse_request(system, messages)
    if ask is None:
        text = "\n\n".join([system, *(body for _, body in messages)])
        return propose_raw(text, manner.temperature, manner.rng)
    if is_conversation(ask):
        return write_reply(ask.adapter, converse(ask, manner.temperature, manner.rng))
    roles = assign_roles(ask)
    judged = {
        field.name: decide(ask, field, roles, manner)
        for field in ask.outputs
        if field.shape.kind not in ("text", "map", "pieces")
    }
    main = next(iter(judged.values()), [])
    values = {
        field.name: _pieces(ask, field, roles, main, manner)
        if field.shape.kind == "pieces"
        else _value(ask, field, judged, main, manner)
        for field in ask.outputs
    }
    return write_reply(ask.adapter, values)


def _pieces(ask: Ask, field: Field, roles: Roles, main: list[Decision], manner: Manner) -> Any:
    """Render the request's verdict in pieces; without one, decide first whether the claim is supported."""
    whole = replace(field, name="supported", shape=Shape(kind="bool", labels=("True", "False")))
    decisions = main or decide(ask, whole, roles, manner)
    scene, _ = scene_of(ask.values, roles, per_unit=False)
    found = pieces(ask.values.get(roles.judged, ""), scene.evidence, holds=all(d.holds for d in decisions))
    return pieces_value(field.shape, found)


def _value(
    ask: Ask, field: Field, judged: dict[str, list[Decision]], main: list[Decision], manner: Manner
) -> Any:
    if field.name in judged:
        return value_of(field, judged[field.name])
    name = field.name.lower()
    if field.shape.kind == "map":
        return advice(ask, manner.temperature, manner.rng) if "advice" in name else {}
    if "instruction" in name and not main:
        return neutralise(propose(_about(ask, field), manner.temperature, manner.rng))
    return text_value(field, main)


def _about(ask: Ask, field: Field) -> Ask:
    """Of a request for several instructions, leave out the scored ones that belong to the others."""
    others = {f"scored_{other.name}" for other in ask.outputs if other.name != field.name}
    return replace(ask, values={name: text for name, text in ask.values.items() if name not in others})


def _digest(seed: int, system: str, messages: list[tuple[str, str]], draw: int | None) -> int:
    hasher = hashlib.sha256(f"{seed}|{draw}|".encode())
    for role, body in (("system", system), *messages):
        hasher.update(f"{role}|{len(body)}|".encode())
        hasher.update(body.encode("utf-8", "surrogatepass"))
    return int.from_bytes(hasher.digest()[:8], "big")
