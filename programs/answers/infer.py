"""Inferring a judge's answer from its signature: from the type of the output field that holds it."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ...cases import Label
from ...errors import JudgeError
from ...evaluation.closed_labels import FIRST, SECOND, TIE
from .base import Answer
from .criteria import FIELD, Criteria
from .labels import ClosedLabel, OneLabel, Positive, Preference
from .sentences import PerSentence
from .whole import LabelSet, ObjectSet, Score

if TYPE_CHECKING:
    import dspy

SUPPORTED = (
    'bool or Literal["a", "b"] (a label), Literal[1, 2, 3], or an int or float with ge= and le= or '
    'desc="1-5" (a score), '
    'Literal["first", "second"] with inputs first and second, "tie" too if there are any (a preference), '
    'list[Literal["a", "b"]] (several labels), list[MODEL] with a pydantic model (a set of objects, or, if it has '
    "n: int and label: Literal, a label for each numbered unit)"
)
"""The annotations that hold an answer, for messages."""
CRITERION_KINDS: Final[tuple[type[Answer], ...]] = (OneLabel, Score, LabelSet)
"""The kinds of answer that may be one of several criteria."""
PLAIN_KINDS: Final[tuple[type[Answer], ...]] = (OneLabel, Score, LabelSet, Preference, Criteria)
"""The kinds of answer that a version keeps as data: it needs no Python file (:mod:`jurist.programs.definition`)."""
_RANGE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?) *(?:-|–|to) *(\d+(?:\.\d+)?)(?!\d|\.\d)")
"""The range of a score in the words of its field, as ``1-5`` or ``from 1 to 5``."""


def answer_for(
    judge: str,
    signature: "type[dspy.Signature]",
    answer_given: Answer | str | None,
    *,
    labels: Sequence[Label] = (),
    positive: Positive | Mapping[str, Positive] = (),
    unit: str = "",
) -> Answer:
    """Return the answer of a judge, with labels and positive labels as given.

    Args:
        judge: the judge's name, for messages.
        signature: the signature, whose output fields are read.
        answer_given: the answer itself, which may be incomplete; or the name of its field; or ``None``.
        labels: other names for the labels, in the order of the signature.
        positive: the positive labels; of several criteria, those of each.
        unit: the input that is judged; default: the last one.

    Raises:
        JudgeError: there is no answer, more than one, or one that does not go with the other arguments.
    """
    inputs = tuple(signature.input_fields)
    answer = _complete_answer(judge, signature, answer_given, unit or inputs[-1])
    if isinstance(answer, Criteria):
        if labels or (positive and not isinstance(positive, Mapping)):
            raise JudgeError(
                f"judge {judge} has several criteria, {', '.join(answer.fields)}: which one is this about?",
                hint="write positive={'grounded': 'no'}; or judge one field alone, with answer='grounded'",
            )
        if answer_given is None:
            positives = positive if isinstance(positive, Mapping) else {}
            answer = _mark_positives(judge, answer, positives)
    elif positive or labels:
        answer = _rename_labels(judge, answer, labels, positive)
    answer.check(judge, inputs)
    return answer


def _mark_positives(judge: str, answer: Criteria, positives: Mapping[str, Positive]) -> Criteria:
    """Return criteria with their positive labels; without a name for it, that of a ``bool`` is ``true``."""
    unknown = positives.keys() - answer.answers.keys()
    if unknown:
        raise JudgeError(
            f"judge {judge}: positive= names {', '.join(sorted(unknown))}, which is no criterion",
            hint=f"use {', '.join(answer.answers)}",
        )
    criteria: list[Answer] = []
    for name, criterion in answer.answers.items():
        is_bool = isinstance(criterion, OneLabel) and set(criterion.labels) == {"true", "false"}
        positive = positives.get(name, "true" if is_bool else ())
        marked = criterion
        if positive:
            marked = _rename_labels(judge, criterion, (), positive)
        criteria.append(marked)
    return replace(answer, each=tuple(criteria))


def _rename_labels(judge: str, answer: Answer, labels: Sequence[Label], positive: Positive) -> Answer:
    """Return an answer with its labels renamed to ``labels``, if there are any, and with the positive ones."""
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


def as_closed_labels(answer: Answer) -> ClosedLabel:
    """Return the answer itself; raises ``JudgeError`` if it does not give closed labels."""
    if not isinstance(answer, ClosedLabel):
        raise JudgeError("the judge gives no closed labels", hint="use a judge with labels")
    return answer


def _complete_answer(
    judge: str, signature: "type[dspy.Signature]", partial: Answer | str | None, unit: str
) -> Answer:
    """Return an answer that was given, ``partial``, with its missing parts read from the signature."""
    if partial is None:
        return _answer_of_signature(judge, signature, unit)
    if isinstance(partial, str):
        if partial not in signature.output_fields:
            raise JudgeError(
                f"judge {judge}: answer={partial!r} is none of its output fields",
                hint=f"name one of {', '.join(signature.output_fields)}",
            )
        return _answer_of_signature(judge, signature, unit, partial)
    if partial.field:
        return partial
    inferred = _answer_of_signature(judge, signature, unit)
    field = inferred.field
    unit = partial.unit or unit
    if isinstance(partial, OneLabel) and isinstance(inferred, OneLabel):
        return replace(partial, field=field, unit=unit, values=partial.values or inferred.values)
    if isinstance(partial, ObjectSet) and isinstance(inferred, ObjectSet):
        return replace(partial, field=field, unit=unit, model=inferred.model)
    raise JudgeError(
        f"judge {judge}: the output field {field} is of another kind than its answer",
        hint="give the answer its field=",
    )


def _answer_of_signature(judge: str, signature: "type[dspy.Signature]", unit: str, field: str = "") -> Answer:
    """Return the answer of the one output field that holds one; several labels, label sets and scores are criteria.

    ``field`` leaves only the output field of this name.
    """
    fields: dict[str, FieldInfo] = {}
    answers: list[Answer] = []
    numbered: list[Answer] = []
    criteria: list[Answer] = []
    for name, info in signature.output_fields.items():
        if field not in ("", name):
            continue
        fields[name] = info
        answer_of_field = _answer_of_field(name, info, unit)
        if answer_of_field is not None:
            answers.append(answer_of_field)
        if isinstance(answer_of_field, PerSentence):
            numbered.append(answer_of_field)
        elif isinstance(answer_of_field, CRITERION_KINDS):
            criteria.append(answer_of_field)
    # Sets of objects beside numbered labels or criteria are no answer: they are evidence for it.
    candidates = numbered or criteria or answers
    if not candidates:
        types = ", ".join(f"{name}: {_name_type(info.annotation)}" for name, info in fields.items())
        raise JudgeError(
            f"judge {judge}: no output field of {signature.__name__} holds an answer ({types})",
            hint=f"give one the type {SUPPORTED}",
        )
    if len(candidates) == 1:
        return _as_preference(candidates[0], signature)
    if not numbered and criteria:
        return Criteria(field=FIELD, unit=unit, each=tuple(criteria))
    names = " and ".join(answer.field for answer in candidates)
    raise JudgeError(
        f"judge {judge}: {len(candidates)} output fields of {signature.__name__} hold an answer: {names}",
        hint="give one of them another type, or say which with answer=",
    )


def _name_type(annotation: object) -> str:
    """Return the name of a type for a message."""
    return getattr(annotation, "__name__", None) or str(annotation)


def _as_preference(answer: Answer, signature: "type[dspy.Signature]") -> Answer:
    """Return a preference for an answer whose labels are inputs called first and second; any other unchanged."""
    pair = {FIRST, SECOND}
    if not isinstance(answer, OneLabel) or not pair <= set(signature.input_fields):
        return answer
    if pair <= set(answer.values) <= pair | {TIE}:
        return Preference(field=answer.field, values=answer.values)
    return answer


def _answer_of_field(name: str, info: FieldInfo, unit: str) -> Answer | None:
    """Return the answer that an output field holds by its type; ``None`` if it holds none."""
    kind = info.annotation
    if kind is bool:
        return OneLabel(field=name, unit=unit, values={"true": True, "false": False})
    labels = _texts_of_literal(kind)
    if labels:
        return OneLabel(field=name, unit=unit, values={label: label for label in labels})
    ends = _ends_of_score(info)
    if ends is not None:
        low, high = ends
        return Score(field=name, unit=unit, low=low, high=high, whole=kind is not float)
    if get_origin(kind) is not list or not get_args(kind):
        return None
    item_type = get_args(kind)[0]
    labels = _texts_of_literal(item_type)
    if labels:
        return LabelSet(field=name, unit=unit, labels=labels)
    if not isinstance(item_type, type) or not issubclass(item_type, BaseModel):
        return None
    part_types = {key: part.annotation for key, part in item_type.model_fields.items()}
    if part_types.keys() == {"n", "label"} and part_types["n"] is int:
        labels = _texts_of_literal(part_types["label"])
    if labels:
        return PerSentence(field=name, unit=unit, labels=labels)
    return ObjectSet(field=name, unit=unit, model=item_type)


def _texts_of_literal(kind: object) -> tuple[Label, ...]:
    """Return the options of a ``Literal`` that has texts only; empty for any other type."""
    if get_origin(kind) is not Literal:
        return ()
    texts: list[str] = []
    for option in get_args(kind):
        if not isinstance(option, str):
            return ()
        texts.append(option)
    return tuple(texts)


def _ends_of_score(info: FieldInfo) -> tuple[float, float] | None:
    """Return the lowest and the highest number that a field may hold; ``None`` if it holds no score."""
    if get_origin(info.annotation) is Literal:
        return _ends_of_options(get_args(info.annotation))
    if info.annotation not in (int, float):
        return None
    low = high = None
    for rule in info.metadata:
        if isinstance(rule, annotated_types.Ge) and low is None:
            low = rule.ge
        elif isinstance(rule, annotated_types.Le) and high is None:
            high = rule.le
    if low is not None and high is not None:
        return low, high  # type: ignore[return-value]
    if low is not None or high is not None:
        return None
    return _ends_in_words(info)


def _ends_of_options(options: Sequence[object]) -> tuple[float, float] | None:
    """Return the lowest and highest of whole numbers; ``None`` if some are missing or options are no whole numbers."""
    numbers: list[int] = []
    for option in options:
        if type(option) is not int:
            return None
        numbers.append(option)
    low, high = min(numbers), max(numbers)
    if sorted(numbers) != list(range(low, high + 1)):
        return None
    return low, high


def _ends_in_words(info: FieldInfo) -> tuple[float, float] | None:
    """Return the lowest and highest score that the description of a field names, as ``1-5``; ``None`` without."""
    extra = info.json_schema_extra
    if not isinstance(extra, Mapping):
        return None
    ends = _RANGE.search(str(extra.get("desc", "")))
    if ends is None or float(ends[1]) >= float(ends[2]):
        return None
    return float(ends[1]), float(ends[2])
