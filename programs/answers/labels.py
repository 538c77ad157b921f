"""Closed labels: what the forms of naming them share, and one label for the whole case: alone, with its grounds, or
as a preference.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Final, Literal, TypeAlias

from ...cases import Label, Value, Values, text_hash
from ...errors import JudgeError
from ...evaluation.closed_labels import FIRST, OF_POSITIVE, SECOND, TIE, ClosedLabels, Preferences
from ...evaluation.scale import MetricLike
from ...text.escaping import one_line
from ...text.turns import as_text
from ..verdicts import Verdict
from .base import Answer, Constant, Inputs, Places, Reply, Shares, Tokens, reasoning_of
from .portable import member

Positive: TypeAlias = Label | Collection[Label]
"""The positive class of closed labels: one label or several."""
Policy = Literal["abstain", "label"]
"""The reading of an answer whose label and units contradict each other: nothing, or its label."""
POLICIES: Final[Mapping[Policy, str]] = {
    "abstain": "the reply has no usable answer",
    "label": "the label as it was given",
}
_RULE: Final = (
    "the label must be all_verified if there is an item and every item's verified is true, and otherwise the "
    "other one; a reply that contradicts this is counted, and the policy says what becomes of it"
)
_BOOLS: Final = {"true": True, "false": False}
_OTHER: Final[Mapping[Value | None, Value]] = {FIRST: SECOND, SECOND: FIRST, TIE: TIE}

Details = Callable[[Label, frozenset[Label]], Mapping[str, object]]
"""(a label, the positive ones) -> what else the label says about its unit."""


@dataclass(frozen=True, kw_only=True)
class ClosedLabel(Answer):
    """One label of a closed set for each unit, in whichever form a reply names it."""

    labels: tuple[Label, ...] = ()  # the closed set, in a fixed order
    # the positive class (hallucinated, non-factual, ...) in precision, recall and F1
    positive: frozenset[Label] = frozenset()
    # what else a label says about its unit, for the output of ``jurist run``
    details: Details | None = field(default=None, repr=False)

    part: ClassVar[str] = "label"

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "positive", frozenset(self.positive))

    @cached_property
    def scale(self) -> ClosedLabels:
        return ClosedLabels(self.labels, self.positive)

    def check_metric(self, judge: str, metric: MetricLike) -> None:
        """Refuse two labels of which none is positive, where it counts; of several none need be."""
        if len(self.labels) == 2 and not self.positive and metric in ("", *OF_POSITIVE):
            raise JudgeError(
                f"judge {judge}: which of its labels {', '.join(map(str, self.labels))} is the positive class?",
                hint=f"write positive={str(self.labels[-1])!r}: precision, recall and F1 are those of that label",
            )
        super().check_metric(judge, metric)

    def unit_parts(self, value: Value | None) -> dict[str, object]:
        parts = super().unit_parts(value)
        parts["positive"] = None
        if value and self.positive:
            parts["positive"] = value in self.positive
        if self.details and value is not None:
            parts.update(self.details(str(value), self.positive))
        return parts

    def row_parts(self, values: Values) -> dict[str, object]:
        if len(values) != 1:
            return {"label": None}
        return {"label": values[0]}


@dataclass(frozen=True, kw_only=True)
class OneLabel(ClosedLabel):
    """One closed label for the whole case.

    Attributes:
        values: label -> the value the field takes for it (a string, or a bool).
        row_values: label -> the value that rows have for it, where a prompt in another language asks for other values.
    """

    values: Mapping[Label, str | bool] = field(default_factory=dict)
    row_values: Mapping[Label, str | bool] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.labels:
            object.__setattr__(self, "labels", tuple(self.values))
        super().__post_init__()

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Verdict:
        """Return the label whose value was answered."""
        label = _label_of(reply.get(self.field), self.values)
        return Verdict(values=(label,), reasoning=reasoning_of(reply))

    def other_words(self, renamed: Mapping[str, Label]) -> Mapping[str, object]:
        words_of_values = {str(value).casefold() for value in self.values.values()}
        label_of_word = {label: label for label in self.values}
        label_of_word.update(renamed)
        value_of_word: dict[str, str | bool] = {}
        for word, label in label_of_word.items():
            if label in self.values and word.casefold() not in words_of_values:
                value_of_word[word.casefold()] = self.values[label]
        return value_of_word

    def shares(self, reply: Reply, tokens: Tokens, inputs: Inputs) -> tuple[Shares, ...]:
        field_shares = tokens.get(self.field, ())
        if len(field_shares) != 1:
            return ()
        (share_of_word,) = field_shares
        return ({label: share_of_word.get(str(value), 0.0) for label, value in self.values.items()},)

    def example(self, values: Values, inputs: Inputs) -> object:
        return self.values.get(str(values[0]))

    def spell(self, value: object) -> object:
        """Return the label of an answer's value: ``true`` for the label of True, as in JSON."""
        value_of_label = self.row_values or self.values
        if not isinstance(value, str):
            label = _label_of(value, value_of_label)
        elif value in self.values:
            label = value
        else:
            label = _label_of(_BOOLS.get(value.strip().lower(), value), value_of_label)
        return value if label is None else label

    def parser_rule(self) -> dict[str, object]:
        return {"field": self.field, "label_of_value": dict(self.values), "reader": "label"}


def _label_of(answered: object, value_of_label: Mapping[Label, str | bool]) -> Label | None:
    """Return the label of a value; 1 is no True."""
    for label, value in value_of_label.items():
        same_type = isinstance(value, bool) == isinstance(answered, bool)
        if same_type and value == answered:
            return label
    return None


@dataclass(frozen=True, kw_only=True)
class Verified(OneLabel):
    """One closed label for the whole case, with the parts of the judged text that it rests on.

    Every part has a verdict of its own (FECT section 2.2), so a reply can contradict itself: its
    label must be ``holds`` if there are parts and all of them were verified, and ``fails`` otherwise.
    A demonstration made from gold has the label only, because gold has no parts: DSPy shows the
    parts as not supplied.
    """

    # the output field with the parts, a list of items with ``text``, ``kind``, ``reasoning`` and ``verified``
    parts: str
    holds: Label  # the label that says that everything was verified
    fails: Label  # the label that says that something was not
    policy: Policy = "abstain"  # what becomes of a reply that contradicts itself. It is counted in any case

    def __post_init__(self) -> None:
        """Refuse what would only come out in the middle of a run."""
        super().__post_init__()
        if not {self.holds, self.fails} <= set(self.values):
            raise JudgeError(
                f"{self.holds!r} and {self.fails!r} are not both among the labels {list(self.values)}",
                hint="name two of the labels",
            )

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Verdict:
        """Return the label if it agrees with the parts, else what the policy makes of the two."""
        # A reply whose parts cannot be read says nothing that can be checked: it gives no label.
        label = super().read(reply, inputs).values[0]
        items = reply.get(self.parts)
        if label is None or not isinstance(items, list | tuple):
            return Verdict(values=(None,))
        all_verified = bool(items)
        for item in items:
            verified = member(item, "verified")
            if not isinstance(verified, bool):
                return Verdict(values=(None,))
            all_verified = all_verified and verified
        implied = self.holds if all_verified else self.fails
        inconsistent = label != implied
        if inconsistent and self.policy != "label":
            label = None
        return Verdict(
            values=(label,), reasoning="\n".join(map(_part_line, items)), inconsistent=int(inconsistent)
        )

    def parser_rule(self) -> dict[str, object]:
        check = {
            "items": self.parts,
            "all_verified": self.holds,
            "otherwise": self.fails,
            "policy": self.policy,
            "policies": POLICIES,
            "rule": _RULE,
        }
        return {
            "field": self.field,
            "label_of_value": dict(self.values),
            "check": check,
            "reader": "verified",
        }


def _part_line(part: object) -> str:
    """Return a part on one line: ``verified: concrete "the plan": the agent names it``."""
    verdict = "verified" if member(part, "verified") else "not verified"
    text = one_line(str(member(part, "text")))
    line = f'{verdict}: {member(part, "kind")} "{text}"'
    reason = one_line(str(member(part, "reasoning") or ""))
    if reason:
        line += f": {reason}"
    return line


@dataclass(frozen=True, kw_only=True)
class Preference(OneLabel):
    """The better one of two inputs: ``first``, ``second`` or, if the output field has it, ``tie``.

    A model that likes the first place says "first" in both orders. So each sample asks twice, with the two inputs
    exchanged, and counts only if both replies prefer the same one; replies that differ are counted as contradictions,
    and are a tie where the output field has one, else no usable answer. The share of replies that chose the first
    place is the position bias: 0.5 without any.

    Attributes:
        first: the input field with the first of the two.
        second: the one with the second.
    """

    first: str = FIRST
    second: str = SECOND

    presentations: ClassVar[int] = 2
    columns: ClassVar[tuple[str, ...]] = ("chosen", "rejected")

    def __post_init__(self) -> None:
        """Keep the labels that the output field has, in one order."""
        labels: list[Label] = []
        for label in (FIRST, SECOND, TIE):
            if not self.values or label in self.values:
                labels.append(label)
        object.__setattr__(self, "labels", tuple(labels))
        super().__post_init__()

    @cached_property
    def scale(self) -> Preferences:
        return Preferences(self.labels, first=self.first, second=self.second)

    @property
    def unit_fields(self) -> tuple[str, ...]:
        return self.first, self.second

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse fields that are no two inputs, and replies that are no preference."""
        if self.first == self.second or not {self.first, self.second} <= set(inputs):
            raise JudgeError(
                f"judge {judge}: {self.first!r} and {self.second!r} are not two of its inputs {', '.join(inputs)}",
                hint='name the two that are compared: answer=Preference(first="reply_a", second="reply_b")',
            )
        if not {FIRST, SECOND} <= set(self.values) <= {FIRST, SECOND, TIE}:
            raise JudgeError(
                f"judge {judge}: a preference is first, second or tie, not {', '.join(self.values)}",
                hint='give the output field the type Literal["first", "second", "tie"]',
            )

    def other_words(self, renamed: Mapping[str, Label]) -> Mapping[str, object]:
        """Return the words of a prompt that shows two texts as A and B, or under the names of the inputs."""
        places = {"A": FIRST, "B": SECOND, self.first: FIRST, self.second: SECOND, "both": TIE}
        return super().other_words({**renamed, **places})

    def units(self, inputs: Inputs) -> tuple[str, ...]:
        return (f"{FIRST}: {inputs[self.first]}\n{SECOND}: {inputs[self.second]}",)

    def asks(self, inputs: Inputs) -> tuple[Inputs, ...]:
        return inputs, {**inputs, self.first: inputs[self.second], self.second: inputs[self.first]}

    def join(self, verdicts: Sequence[Verdict]) -> Verdict:
        """Return the preference in both orders; a tie, or nothing usable, if they contradict each other."""
        first, exchanged = verdicts
        first_choice, exchanged_choice = first.values[0], exchanged.values[0]
        second_choice = None if exchanged_choice is None else _OTHER[exchanged_choice]
        usable = first_choice is not None and second_choice is not None
        contradictory = usable and first_choice != second_choice
        value = first_choice if usable else None
        error = first.error or exchanged.error
        if contradictory:
            value = self.scale.undecided
            if value is None and not error:
                error = "the replies in the two orders contradict each other"
        places = Counter((first_choice, exchanged_choice))
        return replace(
            first,
            values=(value,),
            status="verdict",
            inconsistent=int(contradictory),
            error=error,
            counts={
                "first_place": places[FIRST],
                "places": places[FIRST] + places[SECOND],
                "contradictions": int(contradictory),
            },
        )

    def gathered(self, row: Mapping[str, object]) -> dict[str, object]:
        """Return a row of ``chosen`` and ``rejected`` as a pair with its label, in the order that its texts draw."""
        if not row.keys() & self.columns or row.keys() & self.unit_fields:
            return dict(row)
        sides = [row.get("chosen"), row.get("rejected")]
        chosen, rejected = str(as_text(sides[0])), str(as_text(sides[1]))
        larger_first = text_hash("".join(sorted((chosen, rejected)))) < "8"
        label: Label | None = FIRST
        if (chosen > rejected) != larger_first:
            sides.reverse()
            label = SECOND
        if chosen == rejected:
            label = None  # equal texts say nothing
        pair = dict(zip(self.unit_fields, sides, strict=True))
        return {**row, **pair, self.field: label}

    # no side of a pair is what is looked for
    unit_parts = Answer.unit_parts
    check_metric = Answer.check_metric

    def constants(self, gold_values: Sequence[Value]) -> Mapping[str, Constant]:
        def longer(inputs: Inputs) -> Values:
            first_length = len(str(inputs[self.first]))
            second_length = len(str(inputs[self.second]))
            if first_length == second_length and TIE in self.values:
                return (TIE,)
            if first_length >= second_length:
                return (FIRST,)
            return (SECOND,)

        return {**super().constants(gold_values), "always the longer one": longer}

    def parser_rule(self) -> dict[str, object]:
        return {
            **super().parser_rule(),
            "reader": "preference",
            "undecided": self.scale.undecided,
            "orders": f"fill it twice: as it is, and with {self.first} and {self.second} exchanged; where both replies "
            f"prefer the same of the two, it is preferred; otherwise it is {self.scale.outcome}",
        }
