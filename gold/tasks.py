"""Label Studio's JSON: the tasks it imports, and the export that holds its annotators' answers.

A task of ours holds the case's id, the unit's number and the whole row under ``data``. A task of one's own is read
too: then ``data`` is the row, and the unit is the first. The answers are the results of type ``choices`` in
``annotations``; predictions, drafts and skipped annotations are no answers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from .files import Place, Row
from .rows import AMBIGUITY
from .units import Answer, SheetUnit

LABEL = "label"
"""The name of the control that takes the label, in the labelling configuration."""
_OURS = {"case", "unit", "row"}
_AGAIN = "export again from Label Studio as JSON, with one choice a control"


def is_task(row: Mapping[str, Any]) -> bool:
    """Say whether a JSON object is a task."""
    data = row.get("data")
    return isinstance(data, Mapping) and (isinstance(row.get("annotations"), list) or data.keys() >= _OURS)


def task_unit(row: Row, path: str, line: int) -> SheetUnit:
    """Return a task as a unit with the answers of its annotators."""
    data, place = row.get("data"), Place(path, line)
    if not isinstance(data, Mapping):
        raise place.wrong("the task holds no object 'data'", "data", hint=_AGAIN)
    ours = data.keys() >= _OURS
    inputs = data["row"] if ours else data
    if not isinstance(inputs, Mapping):
        raise place.wrong("it must be an object", "data.row", hint=_AGAIN)
    answers, reasons = [], []
    for name, annotation in _annotations(row, place):
        rater = _rater(annotation)
        for control, choice, column in _choices(annotation, name, place):
            if control == AMBIGUITY:
                reasons.append(choice)
            elif control == LABEL or not ours:
                answers.append(Answer(rater=rater, label=choice, column=column))
    return SheetUnit(
        case=str(data["case"]) if ours else "",
        unit=str(data["unit"]) if ours else "1",
        row=inputs,
        group=str(data.get("group") or ""),
        path=path,
        line=line,
        answers=tuple(answers),
        category="" if not reasons else reasons[0] if len(set(reasons)) == 1 else "unknown",
    )


def _annotations(row: Row, place: Place) -> Iterator[tuple[str, Mapping[str, Any]]]:
    given = row.get("annotations") or []
    for number, annotation in enumerate(given if isinstance(given, list) else [given]):
        name = f"annotations[{number}]"
        if not isinstance(annotation, Mapping):
            raise place.wrong("an annotation must be an object", name, hint=_AGAIN)
        if not annotation.get("was_cancelled"):
            yield name, annotation


def _rater(annotation: Mapping[str, Any]) -> str:
    """Return the annotator's e-mail address where the export has it, else the number."""
    by = annotation.get("completed_by")
    if isinstance(by, Mapping):
        return str(by.get("email") or by.get("username") or f"annotator-{by.get('id')}")
    return f"annotator-{by}" if isinstance(by, int) else str(by or "annotator")


def _choices(annotation: Mapping[str, Any], name: str, place: Place) -> Iterator[tuple[str, str, str]]:
    """Yield (control, choice, place) of an annotation."""
    results = annotation.get("result")
    if not isinstance(results, list):
        raise place.wrong("it must be a list", f"{name}.result", hint=_AGAIN)
    for number, item in enumerate(results):
        column = f"{name}.result[{number}].value.choices"
        if not isinstance(item, Mapping) or item.get("type", "choices") != "choices":
            continue
        value = item.get("value")
        choices = value.get("choices") if isinstance(value, Mapping) else None
        if not isinstance(choices, list):
            raise place.wrong("it must be a list of choices", column, hint=_AGAIN)
        if len(choices) > 1:
            raise place.wrong(f"there are {len(choices)} choices, {choices}", column, hint=_AGAIN)
        for choice in choices:
            yield str(item.get("from_name", LABEL)), str(choice).strip(), column
