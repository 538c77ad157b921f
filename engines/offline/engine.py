"""The engine: ``complete(request) -> response`` by how texts overlap (docs/offline.md).

Where an instruction is asked for, it is the best one shown, with sentences of a bank added or dropped.
"""

import hashlib
import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from dspy.lm15 import Message, Request, Response, Usage

from ...errors import ModelError
from ...text.tables import table
from ...text.terms import count_tokens, is_cjk, neutralise, shorten
from ..adapters import ADAPTERS
from ..draws import LABELS, typed_request
from .decisions import Decision, Manner, Task, decide, explain, text_value
from .filler import filled
from .objects import decide_objects, write_objects
from .request import Ask, Field, Shape, assign_roles, in_lines, read_request
from .scores import decide_preference, decide_score, decide_several

MODEL = "jurist/offline"
Decisions: TypeAlias = Sequence[Decision]
_SHOWN: Final = 200  # characters of a judged text that are shown again


class OfflineEngine:
    """Answers DSPy requests by how texts overlap."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def __deepcopy__(self, memo: dict[int, Any]) -> "OfflineEngine":
        return self  # DSPy copies programs, and a copy must not become another engine

    def complete(self, request: Request) -> Response:
        """Answer one request. Deterministic for equal (engine seed, request)."""
        typed = typed_request.get()
        if typed is None:
            raise ModelError(
                "the offline engine reads typed requests, not prompts, and got a prompt alone",
                hint=f"ask through jurist.engines.adapters.adapter(NAME), NAME one of {', '.join(ADAPTERS)}",
            )
        system = request.system or ""
        if not isinstance(system, str):
            system = "\n".join(str(getattr(part, "text", "")) for part in system)
        messages = [("system", system), *((message.role, message.text or "") for message in request.messages)]
        hasher = hashlib.sha256(f"{self.seed}|{request.config.seed}|".encode())
        for role, body in messages:
            hasher.update(f"{role}|{len(body)}|".encode() + body.encode("utf-8", "surrogatepass"))
        rng = random.Random(int.from_bytes(hasher.digest()[:8], "big"))
        heat = float(request.config.temperature or 0.0)
        values, decided = answer(read_request(typed), Manner(temperature=heat, rng=rng))
        text = typed.adapter.format_assistant_message_content(typed.signature, values).strip()
        wanted = request.config.logprobs is not None
        shares = {
            name: [{label: round(p, 6) for label, p in decision.probabilities.items()} for decision in made]
            for name, made in decided.items()
        }
        return Response(
            id=None,
            model=MODEL,
            message=Message.assistant(text),
            finish_reason="stop",
            usage=Usage(
                input_tokens=sum(count_tokens(body) for _, body in messages), output_tokens=count_tokens(text)
            ),
            provider_data={LABELS: shares} if wanted else None,
        )


def answer(ask: Ask, manner: Manner) -> tuple[dict[str, Any], Mapping[str, Decisions]]:
    """Return the values of a request's output fields, and what was decided for those that decide."""
    written = filled(ask, manner)
    if written is not None:
        return written, {}
    task = Task(ask=ask, roles=assign_roles(ask), manner=manner)
    decided = {field.name: made for field in ask.outputs if (made := _decided(task, field)) is not None}
    main = next(iter(decided.values()), [])
    return {field.name: _value(task, field, decided.get(field.name, main)) for field in ask.outputs}, decided


def _decided(task: Task, field: Field) -> Decisions | None:
    """Decide for a field; ``None`` for one that is written from what another one decides."""
    match field.shape.kind:
        case "text" | "map":
            return None
        case "objects":
            return None if _renders(task, field) else decide_objects(task, field)
        case "score" | "number":
            return decide_score(task, field)
        case "preference":
            return decide_preference(task, field)
        case "labels" if not in_lines(task.roles.judged, task.ask.values):
            return decide_several(task, field)
    return decide(task, field)


def _renders(task: Task, field: Field) -> bool:
    """Return whether objects with a flag only render the verdict on the whole text that another field gives."""
    flagged = any(part.shape.kind == "bool" for part in field.shape.parts)
    return flagged and any(other.shape.kind in ("bool", "label") for other in task.ask.outputs)


def _value(task: Task, field: Field, made: Decisions) -> Any:
    shape = field.shape
    match shape.kind:
        case "bool":
            return made[0].label == "True"
        case "label" | "preference":
            return made[0].label
        case "labels" if in_lines(task.roles.judged, task.ask.values):
            return [decision.label for decision in made]
        case "labels":
            return [label for label, decision in zip(shape.labels, made, strict=True) if decision.holds]
        case "bools":
            return [decision.label == "True" for decision in made]
        case "tag":
            return _object(shape, made[0])
        case "tags":
            return [_object(shape, decision) for decision in made]
        case "echo":
            tagged = ((decision.label, decision.unit.text) for decision in made)
            return "\n".join(f"<{label}>{text}</{label}>" for label, text in tagged)
        case "indices":
            return [decision.unit.number for decision in made if decision.label == "True"]
        case "texts":
            return [neutralise(decision.unit.text) for decision in made if decision.label == "True"]
        case "score" | "number":
            return shape.at(made[0].support)
        case "objects" if _renders(task, field):
            return [_rendered(shape, decision) for decision in made]
        case "objects":
            return write_objects(task, field, made)
        case "map":
            return {}
    if "instruction" in field.name.lower() and not made:
        return neutralise(propose(task.ask.values, task.manner.temperature, task.manner.rng))
    return text_value(field.name, made)


def _object(shape: Shape, decision: Decision) -> dict[str, Any]:
    value = {
        "number": decision.unit.number,
        "label": decision.label,
        "bool": decision.label == "True",
        "score": round(decision.support, 3),
    }
    return {part.name: value.get(part.shape.kind, explain([decision])) for part in shape.parts}


def _rendered(shape: Shape, decision: Decision) -> dict[str, Any]:
    """Return the verdict on a text as an object: the text, its flag, the closed set's last label, and why."""
    texts = iter((neutralise(shorten(decision.unit.text, _SHOWN)) or "(blank)", explain([decision])))
    value = _object(shape, decision)
    for part in shape.parts:
        match part.shape.kind:
            case "text":
                value[part.name] = next(texts, "")
            case "label":
                value[part.name] = part.shape.labels[-1]
            case "bool":
                value[part.name] = decision.holds
    return value


_DEFAULT: Final = "Decide whether the claim is supported by the evidence."
_TRIES: Final = 60
_SPLIT: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n\s*\n|\n(?=\s*[-*•\d])")
_SCORED: Final = re.compile(r"^text:\n(.*?)\nscore: (-?\d+(?:\.\d+)?)$", re.M | re.S)
_OF_HISTORY: Final = re.compile("attempt|previous|histor|scored")


@dataclass(frozen=True)
class Advice:
    """One sentence that an instruction may say; data/advice.toml says what the fields mean."""

    english: str
    chinese: str
    fixes: str = ""


BANK: Final = tuple(Advice(**row) for row in table(__package__, "advice")["advice"])


def propose(values: Mapping[str, str], temperature: float, rng: random.Random) -> str:
    """Return a new instruction for a request with these inputs."""
    basic, scored = _history(values)
    base = scored[0] if scored else basic
    if temperature > 0 and len(scored) > 1 and rng.random() < 0.3:
        base = rng.choice(scored[:3])
    base = base or _DEFAULT
    chinese = is_cjk(base)
    bank = {normal(advice.chinese if chinese else advice.english): advice for advice in BANK}
    protected, stated, kept = set(map(normal, instruction_sentences(basic))), list[Advice](), base
    for sentence in instruction_sentences(base):
        if normal(sentence) in bank and normal(sentence) not in protected:
            stated.append(bank[normal(sentence)])
            kept = kept.replace(sentence, "", 1)
    kept = re.sub(r"(?<![ \t])[ \t]+\n|\n{3,}", "\n", kept).strip()
    shown, gap = {normal(basic), *map(normal, scored)}, "" if chinese else " "
    for advices in _plans(stated, temperature, rng):
        # Sentences that make a judge stricter and sentences that make it milder contradict each other.
        fixes = next((advice.fixes for advice in advices if advice.fixes), "")
        agreeing = [advice for advice in dict.fromkeys(advices) if advice.fixes in ("", fixes)]
        added = gap.join(advice.chinese if chinese else advice.english for advice in agreeing)
        text = "".join((kept, "\n" if "\n" in kept else gap, added)).strip()
        if normal(text) not in shown:
            return text
    return base  # all that the plans make was shown already


def instruction_sentences(text: str) -> list[str]:
    """Split an instruction into sentences or bullet lines. A line may end within a sentence."""
    return [piece.strip() for piece in _SPLIT.split(text) if piece.strip()]


def normal(text: str) -> str:
    """Return a text without case, punctuation and spacing, to compare instructions."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _history(values: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the current instruction, and those that were scored, best first."""
    basic, scored = "", list[tuple[float, str]]()
    for name, text in values.items():
        lowered = name.lower()
        if not ("instruction" in lowered or lowered.startswith("scored")):
            continue
        tried = _SCORED.findall(text)
        for body, score in tried:
            lines = (line.rstrip() for line in body.strip().splitlines() if line.strip())
            scored.append((float(score), "\n".join(lines)))
        if not tried and not _OF_HISTORY.search(lowered):
            basic = basic or text.strip()
    scored.sort(key=lambda pair: -pair[0])
    return basic, [text for _, text in scored]


def _plans(stated: Sequence[Advice], temperature: float, rng: random.Random) -> Iterator[tuple[Advice, ...]]:
    """Yield what of the bank is to be stated, in the order to be tried."""
    left = [advice for advice in BANK if advice not in stated]
    if temperature <= 0:
        yield from ((*stated, *left[:size]) for size in range(1, len(left) + 1))
    else:
        weights = [1.0 / (1 + place) for place in range(len(left))]
        for _ in range(_TRIES if left else 0):
            kept = [advice for advice in stated if rng.random() < 0.8]
            yield (*kept, *rng.choices(left, weights, k=rng.choice((1, 1, 2, 3))))
    yield from (plan for size in (1, 2, 3) for plan in itertools.combinations(BANK, size))
