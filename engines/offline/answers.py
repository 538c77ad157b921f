"""The values of a request's output fields: as they are written, or as they are decided, by the shape of each field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ...text.terms import neutralise, shorten
from .decisions import Decision, Task, decide_labels, explain, write_free_text
from .filler import fill_outputs
from .request import ParsedRequest
from .roles import assign_roles, has_unit_per_line
from .sampler import Sampler
from .shapes import Field, Shape

Decisions: TypeAlias = Sequence[Decision]
_TEXT_LIMIT: Final = 200  # characters of a judged text that are repeated


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The values of the output fields, and the decisions of those fields that are decided on."""

    values: Mapping[str, object]
    decisions: Mapping[str, Decisions]


def answer(request: ParsedRequest, sampler: Sampler) -> Outputs:
    """Return the values of a request's output fields: as a writer gives them, else by decisions."""
    written = fill_outputs(request, sampler)
    if written is not None:
        return Outputs(values=written, decisions={})
    task = Task(request=request, roles=assign_roles(request), sampler=sampler)
    decisions_by_field: dict[str, Decisions] = {}
    for field in request.output_fields:
        decisions = _decide_field(task, field)
        if decisions is not None:
            decisions_by_field[field.name] = decisions
    first_decisions: Decisions = next(iter(decisions_by_field.values()), [])
    values: dict[str, object] = {}
    for field in request.output_fields:
        decisions = decisions_by_field.get(field.name, first_decisions)
        values[field.name] = _field_value(task, field, decisions)
    return Outputs(values=values, decisions=decisions_by_field)


def _decide_field(task: Task, field: Field) -> Decisions | None:
    """Return the decisions of a field; ``None`` for one that is written from what another one decides."""
    match field.shape.kind:
        case "text" | "map":
            return None
        case "objects" if _renders_verdict(task, field):
            return None
        case "objects":
            from .objects import decide_objects

            return decide_objects(task, field)
        case "score" | "number":
            from .scores import decide_score

            return decide_score(task, field)
        case "preference":
            from .scores import decide_preference

            return decide_preference(task, field)
        case "labels" if not _judges_lines(task):
            from .scores import decide_each_label

            return decide_each_label(task, field)
    return decide_labels(task, field)


def _renders_verdict(task: Task, field: Field) -> bool:
    """Return whether objects with a flag only render the verdict on the whole text that another field gives."""
    if not field.shape.part_name("bool"):
        return False
    return any(output.shape.kind in ("bool", "label") for output in task.request.output_fields)


def _judges_lines(task: Task) -> bool:
    """Return whether the judged input of a request holds one thing per line."""
    judged = task.roles.judged
    return has_unit_per_line(judged, task.request.inputs.get(judged, ""))


def _field_value(task: Task, field: Field, decisions: Decisions) -> object:
    """Return the value of an output field by its decisions, or by those of another field if it has none."""
    shape = field.shape
    match shape.kind:
        case "text" if "instruction" in field.name.lower() and not decisions:
            from .proposals import propose_instruction

            return neutralise(propose_instruction(task.request.inputs, task.sampler))
        case "text":
            return write_free_text(field.name, decisions)
        case "map":
            return {}
        case "objects" if _renders_verdict(task, field):
            return [_rendered_verdict(shape, decision) for decision in decisions]
        case "objects":
            from .objects import write_objects

            return write_objects(task, field, decisions)
        case "labels" if not _judges_lines(task):
            return _given_labels(shape, decisions)
        case "labels" | "bools" | "tags":
            return [_verdict_value(shape, decision) for decision in decisions]
        case "echo":
            return _tagged_lines(decisions)
        case "indices" | "texts":
            return _findings(shape, decisions)
    return _verdict_value(shape, decisions[0])


def _verdict_value(shape: Shape, decision: Decision) -> object:
    """Return the value that says one decision: a flag, an object, a score or a label."""
    match shape.kind:
        case "bool" | "bools":
            return decision.label == "True"
        case "tag" | "tags":
            return _verdict_object(shape, decision)
        case "score" | "number":
            return shape.score_at(decision.support)
    return decision.label


def _given_labels(shape: Shape, decisions: Decisions) -> list[str]:
    """Return the labels whose decisions hold; there is one decision for each label."""
    labels: list[str] = []
    for label, decision in zip(shape.labels, decisions, strict=True):
        if decision.holds:
            labels.append(label)
    return labels


def _tagged_lines(decisions: Decisions) -> str:
    """Return the text of each unit in tags of its label, one a line."""
    lines: list[str] = []
    for decision in decisions:
        lines.append(f"<{decision.label}>{decision.unit.text}</{decision.label}>")
    return "\n".join(lines)


def _findings(shape: Shape, decisions: Decisions) -> list[object]:
    """Return the numbers, or the texts, of the units that a list names."""
    findings: list[object] = []
    for decision in decisions:
        if decision.label != "True":
            continue
        if shape.kind == "indices":
            findings.append(decision.unit.number)
        else:
            findings.append(neutralise(decision.unit.text))
    return findings


def _verdict_object(shape: Shape, decision: Decision) -> dict[str, object]:
    """Return a decision as an object; properties that are no number, label, flag or score explain it."""
    values: dict[str, object] = {
        "number": decision.unit.number,
        "label": decision.label,
        "bool": decision.label == "True",
        "score": round(decision.support, 3),
    }
    properties: dict[str, object] = {}
    for part in shape.parts:
        if part.shape.kind in values:
            properties[part.name] = values[part.shape.kind]
        else:
            properties[part.name] = explain([decision])
    return properties


def _rendered_verdict(shape: Shape, decision: Decision) -> dict[str, object]:
    """Return the verdict on a text as an object: the text, its flag, the closed set's last label, and why."""
    text = neutralise(shorten(decision.unit.text, _TEXT_LIMIT)) or "(blank)"
    texts = iter([text, explain([decision])])
    properties = _verdict_object(shape, decision)
    for part in shape.parts:
        match part.shape.kind:
            case "text":
                properties[part.name] = next(texts, "")
            case "label":
                properties[part.name] = part.shape.labels[-1]
            case "bool":
                properties[part.name] = decision.holds
    return properties
