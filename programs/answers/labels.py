"""Closed labels: what the forms of naming them share, and one label for the whole case, alone or with its grounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, Self, get_args

from ...cases import Label, Value, Values
from ...errors import JudgeError
from ...evaluation.closed_labels import ClosedLabels
from ...text.escaping import one_line
from .base import Answer
from .reading import Reading, member, reasoning_of

Policy = Literal["abstain", "units", "label"]
"""What an answer counts for whose label and units contradict each other: nothing, its units, its label."""

_SETTLE: Final[Mapping[Policy, Callable[[Label, Label], Label | None]]] = {
    "abstain": lambda said, shown: None,
    "units": lambda said, shown: shown,
    "label": lambda said, shown: said,
}
_BOOLS: Final = {"true": True, "false": False}
_RULE: Final = (
    "the label must be all_verified if there is an item and every item's verified is true, and otherwise the "
    "other one; a reply that contradicts this is counted, and the policy says what becomes of it"
)
_POLICIES: Final = {
    "abstain": "the reply has no usable answer",
    "units": "the label that follows from the items",
    "label": "the label as it was given",
}


Details = Callable[[Label], Mapping[str, Any]]
"""What else a label says about its unit."""


@dataclass(frozen=True, kw_only=True)
class ClosedLabel(Answer):
    """One label of a closed set for each unit, in whichever form a reply names it."""

    labels: tuple[Label, ...] = ()  # the closed set, in a fixed order
    # the labels that count as found (hallucinated, non-factual, ...) in precision, recall and F1
    positive: frozenset[Label] = frozenset()
    strictness: str = ""  # which of them ``positive`` is; empty without tiers
    # what else a label says about its unit, for the output of ``jurist run``
    details: Details | None = field(default=None, repr=False)
    # strictness -> the labels that fall below it; empty without tiers
    tiers: Mapping[str, frozenset[Label]] = field(default_factory=dict, repr=False)

    part: ClassVar[str] = "label"

    def __post_init__(self) -> None:
        """Let labels be given in any collection."""
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "positive", frozenset(self.positive))

    @cached_property
    def scale(self) -> ClosedLabels:
        """The labels."""
        return ClosedLabels(self.labels, self.positive)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the tiers."""
        return tuple(self.tiers)

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse positive labels that are not some of the labels."""
        super().check(judge, inputs)
        unknown = self.positive - set(self.labels)
        if unknown or not self.positive or self.positive == set(self.labels):
            raise JudgeError(
                f"judge {judge}: positive={sorted(self.positive)} does not split the labels {list(self.labels)}",
                hint="name at least one of the labels, and not all of them",
            )

    def at_strictness(self, level: str) -> Self:
        """Return the answer with everything below ``level`` as its positive labels."""
        positive = self.tiers[level]
        under = getattr(self.details, "under", None)
        details = under(positive) if under else self.details
        return replace(self, positive=positive, strictness=level, details=details)

    def identity_under(self, card: Mapping[str, Any]) -> dict[str, Any]:
        """Return all; the same labels under another strictness are the same: the prompt asks for the tier."""
        now = self.scale.identity()
        if frozenset(card.get("positive") or ()) in self.tiers.values():
            del now["positive"]
        return now

    def unit_parts(self, value: Value | None) -> dict[str, Any]:
        """Return the label, and whether it is positive."""
        return {**super().unit_parts(value), "positive": None if value is None else value in self.positive}

    def unit_details(self, value: Value) -> Mapping[str, Any]:
        """Return what the judge says about the label."""
        return {} if self.details is None else self.details(str(value))

    def row_parts(self, values: Values) -> dict[str, Any]:
        """Return the label of a case with one unit."""
        return {"label": values[0] if len(values) == 1 else None}


@dataclass(frozen=True, kw_only=True)
class OneLabel(ClosedLabel):
    """One closed label for the whole case.

    Attributes:
        values: label -> the value the field takes for it (a string, or a bool).
    """

    values: Mapping[Label, str | bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The labels are those that have a value."""
        if not self.labels:
            object.__setattr__(self, "labels", tuple(self.values))
        super().__post_init__()

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return the label whose value was answered."""
        return Reading(values=(self._label(reply),), reasoning=reasoning_of(reply))

    def probabilities(
        self, reply: Mapping[str, Any], said: Sequence[Mapping[str, float]], count: int
    ) -> tuple[Mapping[Any, float], ...]:
        """Return those of the one label."""
        if len(said) != 1:
            return ()
        return ({label: said[0].get(str(value), 0.0) for label, value in self.values.items()},)

    def example(self, values: Values) -> Any:
        """Return the value of the one label; nothing for a label that no reply can say."""
        return self.values.get(str(values[0]))

    def spell(self, given: Any) -> Any:
        """Return the label of an answer's value: ``true`` for the label of True, as in JSON."""
        if isinstance(given, str) and given in self.values:
            return given
        meant = _BOOLS.get(given.strip().lower(), given) if isinstance(given, str) else given
        return next((label for label, value in self.values.items() if value is meant), given)

    def parser_rule(self) -> dict[str, Any]:
        """Return which value of the field is which label."""
        reader = {"reader": "label"} if type(self) is OneLabel else {}  # others read by their own code
        return {"field": self.field, "label_of_value": dict(self.values), **reader}

    def _label(self, reply: Mapping[str, Any]) -> Label | None:
        said = reply.get(self.field)
        return next((label for label, value in self.values.items() if _is(value, said)), None)


def _is(value: str | bool, said: Any) -> bool:
    """Whether a reply says a value; 1 is equal to True, and not what it says."""
    return bool(value == said) and isinstance(value, bool) == isinstance(said, bool)


@dataclass(frozen=True, kw_only=True)
class Verified(OneLabel):
    """One closed label for the whole case, with the parts of the judged text that it rests on.

    Every part has a verdict of its own (FECT section 2.2), so a reply can contradict itself: its
    label must be ``holds`` if there are parts and all of them were verified, and ``fails`` otherwise.
    A demonstration made from gold has the label only, because gold has no parts: DSPy shows the
    parts as not supplied.
    """

    # the output field with the parts, a list of items with ``text``, ``kind``, ``reasoning`` and
    # ``verified``
    parts: str
    holds: Label  # the label that says that everything was verified
    fails: Label  # the label that says that something was not
    policy: Policy = "abstain"  # what becomes of a reply that contradicts itself. It is counted in any case

    def __post_init__(self) -> None:
        """Refuse what would only come out in the middle of a run."""
        super().__post_init__()
        if self.policy not in _SETTLE:
            raise JudgeError(
                f"{self.policy!r} is no policy for replies that contradict themselves",
                hint=f"use one of {', '.join(get_args(Policy))}",
            )
        if not {self.holds, self.fails} <= set(self.values):
            raise JudgeError(
                f"{self.holds!r} and {self.fails!r} are not both among the labels {list(self.values)}",
                hint="name two of the labels",
            )

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return the label if it agrees with the parts, else what the policy makes of the two.

        A reply whose parts cannot be read says nothing that can be checked: it gives no label.
        """
        parts, said = _parts(reply.get(self.parts)), self._label(reply)
        if parts is None or said is None:
            return Reading(values=(None,))
        shown = self.holds if parts and all(part["verified"] for part in parts) else self.fails
        label = said if said == shown else _SETTLE[self.policy](said, shown)
        reasoning = "\n".join(map(_rendered, parts))
        return Reading(values=(label,), reasoning=reasoning, inconsistent=said != shown)

    def parser_rule(self) -> dict[str, Any]:
        """Return also how the label is checked against the parts."""
        check = {
            "items": self.parts,
            "all_verified": self.holds,
            "otherwise": self.fails,
            "policy": self.policy,
            "policies": _POLICIES,
            "rule": _RULE,
        }
        return {**super().parser_rule(), "check": check}


def _parts(items: Any) -> list[dict[str, Any]] | None:
    """Return the parts of a reply as plain values, or ``None`` if one has no verdict that can be read."""
    if not isinstance(items, list | tuple):
        return None
    parts = [
        {name: member(item, name) for name in ("text", "kind", "reasoning", "verified")} for item in items
    ]
    return parts if all(isinstance(part["verified"], bool) for part in parts) else None


def _rendered(part: Mapping[str, Any]) -> str:
    """Return a part on one line: ``verified: concrete "the plan": the agent names it``."""
    verdict = "verified" if part["verified"] else "not verified"
    why = one_line(str(part["reasoning"] or ""))
    return f'{verdict}: {part["kind"]} "{one_line(str(part["text"]))}"' + (f": {why}" if why else "")
