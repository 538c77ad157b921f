"""Which kind of answer a signature asks for: read from the annotation of its output field."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ...cases import Label
from ...errors import JudgeError
from ...evaluation.preferences import FIRST, SECOND, TIE
from .base import Answer
from .labels import ClosedLabel, OneLabel
from .preference import Preference
from .sentences import Sentences
from .whole import LabelSet, ObjectSet, Score

SUPPORTED = (
    'bool or Literal["a", "b"] (a label), Literal[1, 2, 3] or an int or float with ge= and le= (a score), '
    'Literal["first", "second"] with inputs first and second, "tie" too if there are any (a preference), '
    'list[Literal["a", "b"]] (several labels), list[MODEL] with a pydantic model (a set of objects, or, if it has '
    "n: int and label: Literal, a label for each numbered unit)"
)
"""The annotations that are understood, in words."""


def answer_for(
    judge: str,
    signature: Any,
    given: Answer | None,
    *,
    labels: Sequence[Label] = (),
    positive: Collection[Label] = (),
    unit: str = "",
) -> Answer:
    """Return the answer of a judge: what was given, or what its signature says."""
    inputs = tuple(signature.input_fields)
    answer = _complete(judge, signature, given, unit or inputs[-1])
    if positive or labels:
        if not isinstance(answer, ClosedLabel):
            raise JudgeError(
                f"judge {judge}: positive= and labels= go with closed labels only", hint="leave them out"
            )
        answer = _named(answer, tuple(labels), frozenset(positive))
    answer.check(judge, inputs)
    return answer


def closed(answer: Answer) -> ClosedLabel:
    """Return an answer as the closed labels that it is; for what only makes sense with them."""
    if not isinstance(answer, ClosedLabel):
        raise JudgeError("the judge gives no closed labels", hint="use a judge with labels")
    return answer


def _complete(judge: str, signature: Any, given: Answer | None, unit: str) -> Answer:
    if given is not None and given.field:
        return given
    found = _of_signature(judge, signature, unit)
    if isinstance(given, OneLabel) and isinstance(found, OneLabel):
        return replace(given, field=found.field, unit=given.unit or unit, values=given.values or found.values)
    if isinstance(given, ObjectSet) and isinstance(found, ObjectSet):
        return replace(given, field=found.field, unit=given.unit or unit, model=found.model)
    if given is not None:
        raise JudgeError(
            f"judge {judge}: the output field {found.field} is of another kind than its answer",
            hint="give the answer its field=",
        )
    return found


def _of_signature(judge: str, signature: Any, unit: str) -> Answer:
    """Return the answer of the one output field that holds one; closed labels come before other kinds."""
    found = [
        kind
        for name, info in signature.output_fields.items()
        if (kind := _of_field(name, info, unit)) is not None
    ]
    chosen = [kind for kind in found if isinstance(kind, ClosedLabel)] or found
    if len(chosen) == 1:
        return _pairwise(chosen[0], signature)
    name = signature.__name__
    if chosen:
        fields = " and ".join(kind.field for kind in chosen)
        raise JudgeError(
            f"judge {judge}: {len(chosen)} output fields of {name} hold an answer: {fields}",
            hint="give one of them another type, or say which with answer=",
        )
    fields = ", ".join(f"{name}: {_shown(info.annotation)}" for name, info in signature.output_fields.items())
    raise JudgeError(
        f"judge {judge}: no output field of {name} holds an answer ({fields})",
        hint=f"give one the type {SUPPORTED}",
    )


def _pairwise(answer: Answer, signature: Any) -> Answer:
    """Return labels first, second (and tie) of two inputs called so as the preference that they are."""
    if not isinstance(answer, OneLabel) or not {FIRST, SECOND} <= set(answer.values) <= {FIRST, SECOND, TIE}:
        return answer
    if not {FIRST, SECOND} <= set(signature.input_fields):
        return answer
    return Preference(field=answer.field, values=answer.values)


def _of_field(name: str, info: FieldInfo, unit: str) -> Answer | None:
    kind = info.annotation
    options = get_args(kind) if get_origin(kind) is Literal else ()
    if kind is bool:
        return OneLabel(field=name, unit=unit, values={"true": True, "false": False})
    if options and all(isinstance(value, str) for value in options):
        return OneLabel(field=name, unit=unit, values={value: value for value in options})
    if options and all(type(value) is int for value in options) and _gapless(options):
        return Score(field=name, unit=unit, low=min(options), high=max(options))
    bounds = _bounds(info)
    if kind in (int, float) and bounds is not None:
        return Score(field=name, unit=unit, low=bounds[0], high=bounds[1], whole=kind is int)
    inner = get_args(kind)[0] if get_origin(kind) is list and get_args(kind) else None
    if get_origin(inner) is Literal and all(isinstance(value, str) for value in get_args(inner)):
        return LabelSet(field=name, unit=unit, labels=get_args(inner))
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        labels = _numbered_labels(inner)
        if labels:
            return Sentences(field=name, unit=unit, labels=labels)
        return ObjectSet(field=name, unit=unit, model=inner)
    return None


def _numbered_labels(model: type[BaseModel]) -> tuple[Label, ...]:
    """Return the labels of items that hold the number ``n`` of a unit and its closed ``label``, else nothing."""
    kinds = {name: info.annotation for name, info in model.model_fields.items()}
    label = kinds.get("label")
    options = get_args(label) if get_origin(label) is Literal else ()
    whole = set(kinds) == {"n", "label"} and kinds["n"] is int
    return options if whole and all(isinstance(one, str) for one in options) else ()


def _gapless(options: Collection[int]) -> bool:
    return sorted(options) == list(range(min(options), max(options) + 1))


def _bounds(info: FieldInfo) -> tuple[float, float] | None:
    """Return the lowest and the highest number that a field may hold; ``None`` if one of the two is open."""
    low = [one.ge for one in info.metadata if isinstance(one, annotated_types.Ge)]
    high = [one.le for one in info.metadata if isinstance(one, annotated_types.Le)]
    return (low[0], high[0]) if low and high else None  # type: ignore[return-value]


def _named(answer: Any, labels: tuple[Label, ...], positive: frozenset[Label]) -> Any:
    if labels and labels != answer.labels:
        values: Mapping[Label, str | bool] = getattr(answer, "values", {})
        if values and len(values) == len(labels):
            answer = replace(answer, labels=labels, values=dict(zip(labels, values.values(), strict=True)))
        else:
            answer = replace(answer, labels=labels)
    return replace(answer, positive=positive or answer.positive)


def _shown(annotation: Any) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)
