"""The answer to a request: a value for each output field, and what was decided for those that decide.

Fields that decide come first, because what explains a decision is written after it. Where nothing is to be decided,
the filler writes (:mod:`.filler`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from ...text.terms import neutralise, shorten
from .decisions import Decision, Manner, Task, decide, explain, text_value
from .filler import filled, filler_of
from .objects import decide_objects, write_objects
from .proposer import propose
from .request import Ask, Field, Shape
from .roles import assign_roles, in_lines
from .scores import decide_preference, decide_score, decide_several

Decisions: TypeAlias = Sequence[Decision]

_SHOWN: Final = 200  # characters of a judged text that are shown again


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The values of a request's output fields, and what was decided for those that decide."""

    values: Mapping[str, Any]
    decided: Mapping[str, Decisions] = field(default_factory=dict)

    @property
    def probabilities(self) -> dict[str, list[Mapping[str, float]]]:
        """Output field -> label -> probability for each decision."""
        return {name: [decision.probabilities for decision in made] for name, made in self.decided.items()}


def answer(ask: Ask, manner: Manner) -> Reply:
    """Answer a request."""
    fill = filler_of(ask)
    if fill is not None:
        return Reply(values=filled(ask, fill, manner))
    task = Task(ask=ask, roles=assign_roles(ask), manner=manner)
    decided = {field.name: made for field in ask.outputs if (made := _decided(task, field)) is not None}
    main = next(iter(decided.values()), [])
    values = {field.name: _value(task, field, decided.get(field.name, main)) for field in ask.outputs}
    return Reply(values=values, decided=decided)


def _decided(task: Task, field: Field) -> Decisions | None:
    """Decide for a field; ``None`` for one that is written from what another one decides."""
    match field.shape.kind:
        case "text" | "map":
            return None
        case "objects":
            return None if _renders(task, field) else decide_objects(task, field)
        case "score":
            return decide_score(task, field)
        case "preference":
            return decide_preference(task, field)
        case "labels" if not in_lines(task.roles.judged, task.ask.values):
            return decide_several(task, field)
    return decide(task, field)


def _renders(task: Task, field: Field) -> bool:
    """Return whether objects with a flag only render the verdict on the whole text that another field gives."""
    flagged = any(part.role == "flag" for part in field.shape.parts)
    return flagged and any(other.shape.kind in ("bool", "label") for other in task.ask.outputs)


def _value(task: Task, field: Field, made: Decisions) -> Any:
    shape = field.shape
    match shape.kind:
        case "bool":
            return bool(made) and made[0].label == "True"
        case "label" | "preference":
            return made[0].label if made else shape.labels[0]
        case "labels" if in_lines(task.roles.judged, task.ask.values):
            return [one.label for one in made]
        case "labels":
            return [label for label, one in zip(shape.labels, made, strict=True) if one.holds]
        case "bools":
            return [one.label == "True" for one in made]
        case "tag":
            return _object(shape, made[0]) if made else {}
        case "tags":
            return [_object(shape, one) for one in made]
        case "echo":
            return "\n".join(f"<{one.label}>{one.unit.text}</{one.label}>" for one in made)
        case "indices":
            return [one.unit.number for one in made if one.label == "True"]
        case "texts":
            return [neutralise(one.unit.text) for one in made if one.label == "True"]
        case "score":
            value = shape.low + (shape.high - shape.low) * (made[0].support if made else 0.0)
            return round(value) if shape.whole else round(value, 3)
        case "objects" if _renders(task, field):
            return [_rendered(shape, one) for one in made]
        case "objects":
            return write_objects(task, field, made)
        case "map":
            return {}
    if "instruction" in field.name.lower() and not made:
        about = _about(task.ask, field)
        return neutralise(propose(about, task.manner.temperature, task.manner.rng))
    return text_value(field.name, made)


def _object(shape: Shape, decision: Decision) -> dict[str, Any]:
    value = {
        "number": decision.unit.number,
        "label": decision.label,
        "flag": decision.label == "True",
        "score": round(decision.support, 3),
        "text": explain([decision]),
    }
    return {part.name: value[part.role] for part in shape.parts}


def _rendered(shape: Shape, decision: Decision) -> dict[str, Any]:
    """Return the verdict on a text as an object: the text, its flag, the closed set's last label, and why."""
    texts = iter((neutralise(shorten(decision.unit.text, _SHOWN)) or "(blank)", explain([decision])))
    value = {
        **_object(shape, decision),
        **{part.name: next(texts, "") for part in shape.parts if part.role == "text"},
    }
    kept = {"label": shape.labels[-1] if shape.labels else "", "flag": decision.holds}
    return {part.name: kept.get(part.role, value[part.name]) for part in shape.parts}


def _about(ask: Ask, field: Field) -> Ask:
    """Of a request for several instructions, leave out the scored ones that belong to the others."""
    others = {f"scored_{other.name}" for other in ask.outputs if other.name != field.name}
    return replace(ask, values={name: text for name, text in ask.values.items() if name not in others})
