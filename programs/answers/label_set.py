"""Several labels at once: any number of a closed set, none included. Samples combine label by label."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from ...cases import Case, Label, Value, Values
from ...errors import JudgeError
from ...evaluation.label_sets import LabelSets
from ..votes import Sampling
from .base import Answer, Learned, upper_half
from .portable import named_vote
from .reading import Reading, reasoning_of

_NONE = "none"


@dataclass(frozen=True, kw_only=True)
class LabelSet(Answer):
    """Any number of labels; a value is the tuple of them, sorted.

    Attributes:
        labels: the closed set, in a fixed order.
    """

    labels: tuple[Label, ...] = ()

    noun: ClassVar[str] = "label set"
    learned: ClassVar[Learned] = "members"
    uses_threshold: ClassVar[bool] = True

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse a set of which nothing can be chosen."""
        super().check(judge, inputs)
        if not self.labels or len(set(self.labels)) != len(self.labels):
            raise JudgeError(
                f"judge {judge}: {list(self.labels)} is no set of labels",
                hint="give list[Literal[...]] different labels",
            )

    @cached_property
    def comparison(self) -> LabelSets:
        """How far two values are the same."""
        return LabelSets(self.labels)

    @property
    def row_type(self) -> Any:
        """A list of labels."""
        return list[Literal[*self.labels]]  # type: ignore[valid-type]

    @property
    def expects(self) -> str:
        """The labels, and how several are written."""
        return f"any of: {', '.join(self.labels)}; several with a semicolon between them, or {_NONE}"

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return the labels of the list; without a list, or with another label in it, nothing."""
        given = reply.get(self.field)
        if not isinstance(given, list | tuple | set | frozenset):
            return Reading(values=(None,), problem=f"{self.field} is no list")
        extra = [item for item in given if item not in self.labels]
        if extra:
            return Reading(values=(None,), problem=f"there is no label {extra[0]!r}", extra=len(extra))
        return Reading(values=(_value(given),), reasoning=reasoning_of(reply))

    def example(self, values: Values) -> Any:
        """Return the labels in the order of the set."""
        chosen = values[0]
        return None if chosen is None else self.to_json(chosen)

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        """Return the labels that enough samples name, nothing if unusable samples leave one open."""
        return named_vote(votes, labels=self.labels, samples=sampling.samples, threshold=sampling.needed)

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Return whether every label is decided, or one of them can no more be."""
        against = sampling.samples - sampling.needed + 1
        sides = [self._sides(label, votes) for label in self.labels]
        return all(inside >= sampling.needed or outside >= against for inside, outside in sides) or any(
            inside + left < sampling.needed and outside + left < against for inside, outside in sides
        )

    def _sides(self, label: Label, votes: Mapping[Any, int]) -> tuple[int, int]:
        inside = sum(count for value, count in votes.items() if label in value)
        return inside, sum(votes.values()) - inside

    def feedback(self, text: str, gold: Any, value: Any) -> str:
        """Return what people said and what was judged, with the labels that are missing or too many."""
        said = super().feedback(text, gold, value)
        if value is None:
            return said
        parts = (("missing", {*gold} - {*value}), ("too many", {*value} - {*gold}))
        return said + "".join(f"; {name}: {', '.join(sorted(some))}" for name, some in parts if some)

    def text(self, value: Any) -> str:
        """Return the labels with semicolons between them, or ``none``."""
        return "; ".join(value) or _NONE

    def strata(self, cases: Sequence[Case]) -> list[str]:
        """Return how many labels each case has: none, one or several."""
        return [
            ("none", "one", "several")[min(2, len(case.known[0]))] if case.known else "unlabelled"
            for case in cases
        ]

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        """Return whether each case has more labels than half of the cases."""
        return upper_half([len(case.known[0]) if case.known else None for case in cases])

    def cell(self, given: str) -> Any:
        """Return the labels that a cell names."""
        text = given.strip()
        names = _listed(text) if text.startswith("[") else [part.strip() for part in text.split(";")]
        names = [] if names == [_NONE] and _NONE not in self.labels else names
        return names if all(name in self.labels for name in names) else None

    def of_json(self, data: Any) -> Value:
        """Return the labels of a list."""
        if not isinstance(data, list | tuple) or not all(item in self.labels for item in data):
            raise ValueError(f"no label set {data!r}")
        return _value(data)

    def to_json(self, value: Any) -> Any:
        """Return the labels as a list, in the order of the set."""
        return None if value is None else [label for label in self.labels if label in value]

    def describe(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return units by label, and how many have none."""
        counts = Counter(label for value in values for label in value)
        return {
            "labels": {label: counts[label] for label in self.labels},
            "without_label": sum(not value for value in values),
        }

    def usual(self, known: Sequence[Any]) -> Sequence[Value]:
        """Return frequent sets, none, and each label alone."""
        return list(dict.fromkeys([*super().usual(known), (), *((label,) for label in self.labels)]))

    def task_words(self) -> str:
        """Return the labels."""
        return f"labels (any number of them, or none): {', '.join(self.labels)}"

    def identity(self) -> dict[str, Any]:
        """Return the labels."""
        return {"labels": list(self.labels), "answer": "label set"}

    def listing(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the labels."""
        return "Labels, any number of them", tuple((label, "") for label in self.labels)

    def tally(self, values: Any, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Count rows with each label."""
        return dict.fromkeys(map(str, values[0] or ()), 1)

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return rows by label."""
        return {"labels": {label: int(sums.get(label, 0)) for label in self.labels}}

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        """Return rows by label."""
        return (
            "rows with each label: " + ", ".join(f"{n} {c}" for n, c in self.totals(sums)["labels"].items()),
        )

    def parser_rule(self) -> dict[str, Any]:
        """Return that the list holds the labels."""
        words = "the list holds every label that applies, in any order"
        reader = {"reader": "label set", "set": list(self.labels)} if type(self) is LabelSet else {}
        return {"field": self.field, "labels": words, **reader}

    @property
    def voting_rule(self) -> str:
        """A threshold of votes decides for each label."""
        return (
            "one filling is one sample; with thresholds.samples over 1, ask so often: a label applies if at least "
            "thresholds.threshold samples name it"
        )


def _value(labels: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted(set(labels)))


def _listed(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return [text]
    return found if isinstance(found, list) else [found]
