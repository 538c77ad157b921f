"""The kind of answer that a signature asks for: read from the annotation of its output field."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ...cases import Label
from ...errors import JudgeError
from ...evaluation.closed_labels import FIRST, SECOND, TIE
from .base import Answer
from .criteria import FIELD, KINDS, Criteria
from .labels import ClosedLabel, OneLabel, Preference
from .sentences import PerSentence
from .whole import LabelSet, ObjectSet, Score

SUPPORTED = (
    'bool or Literal["a", "b"] (a label), Literal[1, 2, 3], or an int or float with ge= and le= or '
    'desc="1-5" (a score), '
    'Literal["first", "second"] with inputs first and second, "tie" too if there are any (a preference), '
    'list[Literal["a", "b"]] (several labels), list[MODEL] with a pydantic model (a set of objects, or, if it has '
    "n: int and label: Literal, a label for each numbered unit)"
)
"""The annotations that are understood, in words."""
_RANGE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?) *(?:-|–|to) *(\d+(?:\.\d+)?)(?!\d|\.\d)")
"""The range of a score in the words of its field, as ``1-5`` or ``from 1 to 5``."""


def answer_for(
    judge: str,
    signature: Any,
    answer_given: Answer | str | None,
    *,
    labels: Sequence[Label] = (),
    positive: Any = (),
    unit: str = "",
) -> Answer:
    """Return the answer of a judge: what was given, the field that was named, or what its signature says."""
    inputs = tuple(signature.input_fields)
    answer = _complete(judge, signature, answer_given, unit or inputs[-1])
    if not isinstance(answer, Criteria):
        if positive or labels:
            answer = _with_labels(judge, answer, labels, positive)
    elif labels or (positive and not isinstance(positive, Mapping)):
        raise JudgeError(
            f"judge {judge} has several criteria, {', '.join(answer.fields)}: which one is this about?",
            hint="write positive={'grounded': 'no'}; or judge one field alone, with answer='grounded'",
        )
    elif answer_given is None:
        if unknown := (positive or {}).keys() - answer.answers.keys():
            raise JudgeError(
                f"judge {judge}: positive= names {', '.join(sorted(unknown))}, which is no criterion",
                hint=f"use {', '.join(answer.answers)}",
            )
        each = []
        for name, own in answer.answers.items():
            usual = "true" if isinstance(own, OneLabel) and set(own.labels) == {"true", "false"} else ()
            chosen = (positive or {}).get(name, usual)
            each.append(_with_labels(judge, own, (), chosen) if chosen else own)
        answer = replace(answer, each=tuple(each))
    answer.check(judge, inputs)
    return answer


def _with_labels(judge: str, answer: Answer, labels: Sequence[Label], positive: Any) -> Answer:
    """Return closed labels under these names, and with these positive ones."""
    if not isinstance(answer, ClosedLabel):
        raise JudgeError(
            f"judge {judge}: positive= and labels= go with closed labels only, and {answer.field} has no labels",
            hint="leave them out",
        )
    if isinstance(positive, str) or not isinstance(positive, Collection):
        positive = (positive,)
    names = tuple(labels) or answer.labels
    if len(names) != len(answer.labels):
        raise JudgeError(
            f"judge {judge}: labels= names {len(names)} labels, and {answer.field} has {len(answer.labels)}",
            hint=f"give a name for each of {', '.join(answer.labels)}, in this order",
        )
    if isinstance(answer, OneLabel):
        answer = replace(answer, values=dict(zip(names, answer.values.values(), strict=True)))
    return replace(answer, labels=names, positive=frozenset(positive) or answer.positive)


def closed(answer: Answer) -> ClosedLabel:
    """Return an answer as the closed labels that it is; for what only makes sense with them."""
    if not isinstance(answer, ClosedLabel):
        raise JudgeError("the judge gives no closed labels", hint="use a judge with labels")
    return answer


def _complete(judge: str, signature: Any, partial: Answer | str | None, unit: str) -> Answer:
    """Return the answer that was given, completed from the signature."""
    if isinstance(partial, Answer) and partial.field:
        return partial
    if isinstance(partial, str) and partial not in signature.output_fields:
        hint = f"name one of {', '.join(signature.output_fields)}"
        raise JudgeError(f"judge {judge}: answer={partial!r} is none of its output fields", hint=hint)
    read = _of_signature(judge, signature, unit, partial if isinstance(partial, str) else "")
    if partial is None or isinstance(partial, str):
        return read
    known: dict[str, Any] = {"field": read.field, "unit": partial.unit or unit}
    if isinstance(partial, OneLabel) and isinstance(read, OneLabel):
        return replace(partial, **known, values=partial.values or read.values)
    if isinstance(partial, ObjectSet) and isinstance(read, ObjectSet):
        return replace(partial, **known, model=read.model)
    raise JudgeError(
        f"judge {judge}: the output field {read.field} is of another kind than its answer",
        hint="give the answer its field=",
    )


def _of_signature(judge: str, signature: Any, unit: str, wanted: str = "") -> Answer:
    """Return the answer of the one output field that holds one, or is ``wanted``; several are criteria."""
    # Sets of objects beside them are what an answer rests on.
    fields = [(name, info) for name, info in signature.output_fields.items() if wanted in ("", name)]
    kinds = [kind for name, info in fields if (kind := _of_field(name, info, unit)) is not None]
    numbered: list[Answer] = [kind for kind in kinds if isinstance(kind, PerSentence)]
    chosen = numbered or [kind for kind in kinds if isinstance(kind, KINDS)] or kinds
    name = signature.__name__
    if not chosen:
        shown = (
            f"{field}: {getattr(info.annotation, '__name__', None) or info.annotation}"
            for field, info in fields
        )
        raise JudgeError(
            f"judge {judge}: no output field of {name} holds an answer ({', '.join(shown)})",
            hint=f"give one the type {SUPPORTED}",
        )
    if len(chosen) > 1 and all(isinstance(kind, KINDS) for kind in chosen):
        return Criteria(field=FIELD, unit=unit, each=tuple(chosen))
    if len(chosen) > 1:
        raise JudgeError(
            f"judge {judge}: {len(chosen)} output fields of {name} hold an answer: "
            + " and ".join(kind.field for kind in chosen),
            hint="give one of them another type, or say which with answer=",
        )
    (answer,) = chosen
    pair = {FIRST, SECOND}
    if (
        isinstance(answer, OneLabel)
        and pair <= set(answer.values) <= {*pair, TIE}
        and pair <= set(signature.input_fields)
    ):
        return Preference(field=answer.field, values=answer.values)
    return answer


def _of_field(name: str, info: FieldInfo, unit: str) -> Answer | None:
    kind, about = info.annotation, {"field": name, "unit": unit}
    if kind is bool:
        return OneLabel(**about, values={"true": True, "false": False})  # type: ignore[arg-type]
    if labels := _texts(kind):
        return OneLabel(**about, values={label: label for label in labels})  # type: ignore[arg-type]
    ends = _ends(info)
    if ends is not None:
        return Score(**about, low=ends[0], high=ends[1], whole=kind is not float)
    inner = get_args(kind)[0] if get_origin(kind) is list and get_args(kind) else None
    if labels := _texts(inner):
        return LabelSet(**about, labels=labels)
    if not isinstance(inner, type) or not issubclass(inner, BaseModel):
        return None
    kinds = {key: part.annotation for key, part in inner.model_fields.items()}
    if set(kinds) == {"n", "label"} and kinds["n"] is int and (labels := _texts(kinds["label"])):
        return PerSentence(**about, labels=labels)  # type: ignore[arg-type]
    return ObjectSet(**about, model=inner)  # type: ignore[arg-type]


def _texts(kind: Any) -> tuple[Label, ...]:
    """Return the texts of a ``Literal`` of nothing else."""
    options = get_args(kind) if get_origin(kind) is Literal else ()
    return options if all(isinstance(value, str) for value in options) else ()


def _ends(info: FieldInfo) -> tuple[float, float] | None:
    """Return the lowest and the highest number that a field may hold; ``None`` if one is open, or some are left out."""
    if get_origin(info.annotation) is Literal:
        options = get_args(info.annotation)
        if not all(type(value) is int for value in options):
            return None
        without_gaps = sorted(options) == list(range(min(options), max(options) + 1))
        return (min(options), max(options)) if without_gaps else None
    low = [rule.ge for rule in info.metadata if isinstance(rule, annotated_types.Ge)]
    high = [rule.le for rule in info.metadata if isinstance(rule, annotated_types.Le)]
    if info.annotation not in (int, float) or bool(low) != bool(high):
        return None
    if low:
        return low[0], high[0]  # type: ignore[return-value]
    about = info.json_schema_extra
    words = _RANGE.search(str(about.get("desc", ""))) if isinstance(about, Mapping) else None
    return (float(words[1]), float(words[2])) if words and float(words[1]) < float(words[2]) else None
