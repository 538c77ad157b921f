"""Items that a generator wrote: how many of them pass their checks, and each check's own rate.

The validation rate is the share of the wanted items on which every check says yes (HaluAgent section 3.2; "Overall" in
its Table 3), and ``NAME_rate`` that of the items on which one check does (the other columns). An item that was not
written passes no check. What is wanted is always yes, so documents need no labels.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

import pydantic

from ..cases import Case, Value, Values
from ..errors import UsageError
from .metrics import Metric, Ratio, pair_sums
from .scale import SHOWN, Lack, Scale
from .units import Floats
from .votes import Sampling

CheckWord: TypeAlias = Literal["yes", "no", "uncertain", "unusable"]
"""What a check says of an item; ``unusable`` is a verifier's reply that says none of the three."""
_WORDS: Final[tuple[Any, ...]] = get_args(CheckWord)


class Check(pydantic.BaseModel, frozen=True):
    """What one check says of one item.

    Attributes:
        verdict: ``yes`` passes.
        reason: why, in words that a proposer can use.
    """

    verdict: CheckWord
    reason: str = ""

    @classmethod
    def of(cls, written: Any) -> "Check":
        """Return what a check gave: a check, a bool, one of the words, or what has ``verdict`` and ``reason``."""
        if isinstance(written, cls):
            return written
        reason = ""
        if hasattr(written, "get"):  # a mapping or a prediction
            written, reason = written.get("verdict"), str(written.get("reason") or "")[:SHOWN]
        word = ("no", "yes")[written] if isinstance(written, bool) else str(written).strip().lower()
        if word in _WORDS:
            return cls.model_validate({"verdict": word, "reason": reason})
        return cls(verdict="unusable", reason=reason or f"the verdict was {written!r}"[:SHOWN])


@dataclass(frozen=True)
class CheckedItem:
    """An item with its checks."""

    content: str  # the item as JSON
    checks: tuple[Check, ...]  # what each check says, in the scale's order

    @property
    def verdicts(self) -> tuple[CheckWord, ...]:
        """What each check says, without reasons."""
        return tuple(check.verdict for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether all checks say yes."""
        return all(verdict == "yes" for verdict in self.verdicts)

    @property
    def data(self) -> Any:
        """The item as JSON values."""
        return json.loads(self.content)


def items_of(value: Value | None) -> tuple[CheckedItem, ...]:
    """Return a value as the items that it is; none for no value."""
    return value if isinstance(value, tuple) else ()


Items: TypeAlias = tuple[CheckedItem, ...]


@dataclass(frozen=True)
class CheckedItems(Scale):
    """The items of one document; gold is as many items as are wanted, on which all checks say yes."""

    checks: tuple[str, ...]  # their names, in the order in which they are shown
    items: int = 1  # how many are wanted from a document

    noun = "checks"
    default = "validation_rate"
    compared = ()
    right_means = "all items of a document pass all checks"
    row_type = type(None)  # nothing that people write: what is wanted is the same for every document
    expects = "nothing: documents of a generator carry no labels"

    def __post_init__(self) -> None:
        if not self.checks or len(set(self.checks)) < len(self.checks) or not all(self.checks):
            raise UsageError(
                f"checks={list(self.checks)} names no checks, or one twice",
                hint='name each check once, such as checks=("supported", "answerable")',
            )
        if self.items < 1:
            raise UsageError(f"{self.items} items are none", hint="give items=1 or more")

    _combining: ClassVar[str] = "the first whose items all pass counts, else the one with the most that do"

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        names = ("validation_rate", *(f"{name}_rate" for name in self.checks))
        size = len(names) + 1
        return MappingProxyType(
            {
                name: Metric(name=name, statistics=pair_sums(self._sums, _share.given(place), size))
                for place, name in enumerate(names)
            }
        )

    def _sums(self, gold: Items, value: Items) -> list[float]:
        """Return the items that pass, those that pass each check, and how many there should be."""
        yes = [[verdict == "yes" for verdict in item.verdicts] for item in value]
        each = [float(sum(column)) for column in zip(*yes, strict=True)] or [0.0] * len(self.checks)
        return [float(sum(map(all, yes))), *each, float(max(len(gold), len(value)))]

    def right(self, gold: Items, value: Items) -> bool:
        passed, *_, wanted = self._sums(gold, value)
        return passed == wanted

    def similarity(self, gold: Items, value: Items) -> float:
        """The share of the verdicts that are the same, in [0, 1]."""
        wanted, words = ([word for item in items for word in item.verdicts] for items in (gold, value))
        same = sum(first == second for first, second in zip(wanted, words, strict=False))
        return same / max(len(wanted), len(words), 1)

    def wrong(self, gold: Items) -> Items:
        return ()

    @property
    def expected(self) -> Items:
        """What is wanted of every document: all its items pass."""
        yes = tuple(Check(verdict="yes") for _ in self.checks)
        return (CheckedItem(content="null", checks=yes),) * self.items

    def credit(self, gold: Value, value: Value | None) -> float:
        items = items_of(value)
        return sum(item.passed for item in items) / max(self.items, len(items))

    def cell(self, written: str) -> Any:
        return None

    def item(self, data: Any, verdicts: Any) -> CheckedItem:
        """Make an item of JSON values and what each check says of it. Raises ``ValueError`` for other checks."""
        if not isinstance(verdicts, Mapping) or set(verdicts) != set(self.checks):
            names = list(verdicts) if isinstance(verdicts, Mapping) else verdicts
            raise ValueError(f"an item came with the checks {names}, not {list(self.checks)}")
        content = json.dumps(data, ensure_ascii=False)
        return CheckedItem(content=content, checks=tuple(Check.of(verdicts[name]) for name in self.checks))

    def of_json(self, data: Any) -> Value:
        try:
            return tuple(self.item(entry["item"], entry["checks"]) for entry in data)
        except (TypeError, KeyError, ValueError) as error:
            raise ValueError(f"these are no checked items: {error}") from error

    def to_json(self, value: Value | None) -> Any:
        if value is None:
            return None
        return [
            {
                "item": item.data,
                "checks": {
                    name: own.model_dump() for name, own in zip(self.checks, item.checks, strict=True)
                },
                "passed": item.passed,
            }
            for item in items_of(value)
        ]

    def text(self, value: Value) -> str:
        return json.dumps(self.to_json(value), ensure_ascii=False)

    def failures(self, value: Value | None) -> list[str]:
        """Each check that does not say yes, with the item and the reason: ``supported: no: ...``."""
        return [
            f"{name}: {check.verdict}" + (f": {check.reason}" if check.reason else "")
            for item in items_of(value)
            for name, check in zip(self.checks, item.checks, strict=True)
            if check.verdict != "yes"
        ]

    def category(self, value: Value) -> str:
        """The checks that failed: what causes are grouped by."""
        failed = {line.split(":", 1)[0] for line in self.failures(value)}
        return " and ".join(name for name in self.checks if name in failed) or "passed"

    def truth(self, text: str, gold: Value) -> str:
        return f'what is written from "{text[:SHOWN]}" must pass {", ".join(self.checks)}'

    def feedback(self, text: str, gold: Value, value: Value | None) -> str:
        """What was written, and which checks failed on it and why."""
        items = items_of(value)
        if not items:
            return "no usable item was written"
        lines = [
            f"written: {item.content[:SHOWN]}\nfailed: " + "; ".join(self.failures((item,)))
            for item in items
            if not item.passed
        ]
        short = [f"{len(items)} of {self.items} items were written"] if len(items) < self.items else []
        return "\n".join([*lines, *short])

    def task_words(self) -> str:
        number = "an item" if self.items == 1 else f"{self.items} items"
        checks = ", ".join(self.checks)
        return (
            f"it writes {number} from each input, checked for: {checks}; only what passes all of them counts"
        )

    def identity(self) -> dict[str, Any]:
        return {"labels": [], "answer": "checked items", "checks": list(self.checks), "items": self.items}

    def listing(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, "") for name in self.checks)

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        return max(votes, key=lambda value: self.credit(self.expected, value), default=None)

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        return any(self.credit(self.expected, value) == 1 for value in votes)

    def agreement(self, votes: Mapping[Any, int], value: Value | None) -> float | None:
        return None

    def describe(self, values: Sequence[Value]) -> dict[str, Any]:
        return {"checks": list(self.checks), "items": self.items}

    def strata(self, cases: Sequence[Case]) -> list[str]:
        return ["document"] * len(cases)

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        return None

    def usual(self, known: Sequence[Any]) -> Sequence[Value]:
        return ()

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        items = items_of(values[0])
        yes = Counter(
            f"{name}_yes"
            for item in items
            for name, verdict in zip(self.checks, item.verdicts, strict=True)
            if verdict == "yes"
        )
        return {
            "items": len(items),
            "passed": sum(item.passed for item in items),
            "uncertain_items": sum("uncertain" in item.verdicts for item in items),
            **yes,
        }

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        items = int(sums.get("items", 0))
        rates = {name: sums.get(f"{name}_yes", 0) / items if items else None for name in self.checks}
        counted = {name: int(sums.get(name, 0)) for name in ("passed", "uncertain_items")}
        return {"items": items, **counted, "check_rates": rates}


@Ratio
def _share(sums: Floats, place: int) -> tuple[Floats, Floats]:
    """The share of the wanted items that one column of the sums counts."""
    return sums[..., place], sums[..., -1]
