"""What the engine can do: one skill per shape of an output field, and the whole answer made of them.

A skill decides, writes, or both. Fields that decide come first, because what explains a decision is written after it.
Where nothing is to be decided, the filler writes (:mod:`.filler`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from ...text.terms import neutralise
from .decisions import Decision, Manner, Task, decide, scene_of
from .echo import echoed
from .filler import filled, filler_of
from .objects import decide_objects, write_objects
from .pieces import Piece, pieces, wording_kind
from .proposer import advice, propose
from .request import Ask, Field
from .roles import assign_roles, in_lines
from .scores import decide_preference, decide_score, decide_several
from .shapes import Kind, Shape
from .words import explain, text_value

Decisions: TypeAlias = Sequence[Decision]


@dataclass(frozen=True, kw_only=True)
class Skill:
    """How fields of one shape are answered: by their own decisions, or by those of the first field that decides."""

    write: Callable[[Task, Field, Decisions], Any]
    decide: Callable[[Task, Field], list[Decision]] | None = None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The values of a request's output fields, and what was decided for those that decide."""

    values: Mapping[str, Any]
    decided: Mapping[str, Decisions] = field(default_factory=dict)

    @property
    def probabilities(self) -> dict[str, list[Mapping[str, float]]]:
        """Output field -> label -> probability for each decision."""
        return {name: [one.probabilities for one in made] for name, made in self.decided.items()}


def answer(ask: Ask, manner: Manner) -> Reply:
    """Answer a request."""
    fill = filler_of(ask)
    if fill is not None:
        return Reply(values=filled(ask, fill, manner))
    task = Task(ask=ask, roles=assign_roles(ask), manner=manner)
    skills = [(field, _skill(task, field)) for field in ask.outputs]
    decided = {field.name: skill.decide(task, field) for field, skill in skills if skill.decide}
    main = next(iter(decided.values()), [])
    values = {field.name: skill.write(task, field, decided.get(field.name, main)) for field, skill in skills}
    return Reply(values=values, decided=decided)


def _skill(task: Task, field: Field) -> Skill:
    """Return the skill of a field; a list of labels is one per line, or, of a text without lines, a set."""
    lined = field.shape.kind != "labels" or in_lines(task.roles.judged, task.ask.values)
    return SKILLS[field.shape.kind] if lined else _SEVERAL


def _label(task: Task, field: Field, decisions: Decisions) -> str:
    return decisions[0].label if decisions else field.shape.labels[0]


def _object(shape: Shape, decision: Decision) -> dict[str, Any]:
    said = {
        "number": decision.unit.number,
        "label": decision.label,
        "flag": decision.label == "True",
        "score": round(decision.support, 3),
        "text": explain([decision]),
    }
    return {part.name: said[part.role] for part in shape.parts}


def _true(decisions: Decisions) -> list[Decision]:
    return [one for one in decisions if one.label == "True"]


def _score(task: Task, field: Field, decisions: Decisions) -> float:
    shape = field.shape
    value = shape.low + (shape.high - shape.low) * (decisions[0].support if decisions else 0.0)
    return round(value) if shape.whole else round(value, 3)


def _pieces(task: Task, field: Field, decisions: Decisions) -> list[dict[str, Any]]:
    """Render the request's verdict in pieces; without one, decide first whether the claim is supported."""
    whole = replace(field, name="supported", shape=Shape(kind="bool", labels=("True", "False")))
    decided = decisions or decide(task, whole)
    scene, _ = scene_of(task.ask.values, task.roles, per_unit=False)
    claim = task.ask.values.get(task.roles.judged, "")
    found = pieces(claim, scene.evidence, holds=all(decision.holds for decision in decided))
    return [_piece(field.shape, piece) for piece in found]


def _piece(shape: Shape, piece: Piece) -> dict[str, Any]:
    """Return a piece as an object; a kind of wording that the closed set lacks gets its first label."""
    kinds = {wording_kind(label): label for label in reversed(shape.labels)}
    said = {
        "label": kinds.get(piece.kind, shape.labels[0]),
        "flag": piece.verified,
        "score": round(piece.coverage, 3),
    }
    texts = iter((neutralise(piece.text), neutralise(piece.reasoning)))
    return {part.name: next(texts, "") if part.role == "text" else said[part.role] for part in shape.parts}


def _map(task: Task, field: Field, decisions: Decisions) -> dict[str, str]:
    named = "advice" in field.name.lower()
    return advice(task.ask, task.manner.temperature, task.manner.rng) if named else {}


def _text(task: Task, field: Field, decisions: Decisions) -> str:
    if "instruction" in field.name.lower() and not decisions:
        return neutralise(propose(_about(task.ask, field), task.manner.temperature, task.manner.rng))
    return text_value(field.name, decisions)


def _about(ask: Ask, field: Field) -> Ask:
    """Of a request for several instructions, leave out the scored ones that belong to the others."""
    others = {f"scored_{other.name}" for other in ask.outputs if other.name != field.name}
    return replace(ask, values={name: text for name, text in ask.values.items() if name not in others})


_SEVERAL: Final = Skill(
    decide=decide_several,
    write=lambda task, field, made: [
        label for label, one in zip(field.shape.labels, made, strict=True) if one.holds
    ],
)
SKILLS: Final[Mapping[Kind, Skill]] = {
    "bool": Skill(decide=decide, write=lambda task, field, made: made[0].label == "True" if made else False),
    "label": Skill(decide=decide, write=_label),
    "labels": Skill(decide=decide, write=lambda task, field, made: [one.label for one in made]),
    "bools": Skill(decide=decide, write=lambda task, field, made: [one.label == "True" for one in made]),
    "tag": Skill(
        decide=decide, write=lambda task, field, made: _object(field.shape, made[0]) if made else {}
    ),
    "tags": Skill(decide=decide, write=lambda task, field, made: [_object(field.shape, one) for one in made]),
    "echo": Skill(
        decide=decide, write=lambda task, field, made: echoed([(one.label, one.unit.text) for one in made])
    ),
    "indices": Skill(decide=decide, write=lambda task, field, made: [one.unit.number for one in _true(made)]),
    "texts": Skill(
        decide=decide, write=lambda task, field, made: [neutralise(one.unit.text) for one in _true(made)]
    ),
    "score": Skill(decide=decide_score, write=_score),
    "preference": Skill(decide=decide_preference, write=_label),
    "pieces": Skill(write=_pieces),
    "objects": Skill(decide=decide_objects, write=write_objects),
    "map": Skill(write=_map),
    "text": Skill(write=_text),
}
