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
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, get_args

import pydantic

from ..cases import Case, Value, Values
from ..errors import UsageError
from .scale import SHOWN, Lack, Scale
from .votes import Sampling, Votes

if TYPE_CHECKING:
    from .metrics import Metric

CheckWord: TypeAlias = Literal["yes", "no", "uncertain", "unusable"]
"""What a check says of an item; ``unusable`` is a verifier's reply that says none of the three."""
_WORDS: Final[frozenset[str]] = frozenset(get_args(CheckWord))


class Check(pydantic.BaseModel, frozen=True):
    """The verdict of one check on one item.

    Attributes:
        verdict: ``yes`` passes.
        reason: why, in words that a proposer can use.
    """

    verdict: CheckWord
    reason: str = ""

    @classmethod
    def of(cls, outcome: Any) -> "Check":
        """Return the check for the outcome of a user's: a check, a bool, a verdict, or ``verdict`` and ``reason``."""
        if isinstance(outcome, cls):
            return outcome
        verdict = outcome
        reason = ""
        if hasattr(outcome, "get"):  # a mapping or a prediction
            verdict = outcome.get("verdict")
            reason = str(outcome.get("reason") or "")[:SHOWN]
        word = str(verdict).strip().lower()
        if verdict is True:
            word = "yes"
        elif verdict is False:
            word = "no"
        if word in _WORDS:
            return cls.model_validate({"verdict": word, "reason": reason})
        return cls(verdict="unusable", reason=reason or f"the verdict was {verdict!r}"[:SHOWN])


@dataclass(frozen=True)
class CheckedItem:
    """An item with its checks."""

    content: str  # the item as JSON
    checks: tuple[Check, ...]  # what each check says, in the scale's order

    @property
    def verdicts(self) -> tuple[CheckWord, ...]:
        """The verdict of each check, without reasons."""
        return tuple(check.verdict for check in self.checks)

    @property
    def passed(self) -> bool:
        """True where all checks say yes."""
        return all(check.verdict == "yes" for check in self.checks)

    @property
    def data(self) -> Any:
        """The item as JSON values."""
        return json.loads(self.content)


def items_of(value: Value | None) -> tuple[CheckedItem, ...]:
    """Return the items of a value; none where the value is missing."""
    if isinstance(value, tuple):
        return value
    return ()


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

    @property
    def in_history(self) -> tuple[str, ...]:
        return tuple(self.metrics)

    @cached_property
    def metrics(self) -> "Mapping[str, Metric]":
        from .item_metrics import metrics_of_items

        return metrics_of_items(self.checks, self.sums)

    def sums(self, gold: Items, value: Items) -> list[float]:
        """Return the numbers of items that pass, that pass each check, and that there should be."""
        passing = 0.0
        passing_by_check = [0.0] * len(self.checks)
        for item in value:
            if item.passed:
                passing += 1
            for place, verdict in enumerate(item.verdicts):
                if verdict == "yes":
                    passing_by_check[place] += 1
        expected = float(max(len(gold), len(value)))
        return [passing] + passing_by_check + [expected]

    def right(self, gold: Items, value: Items) -> bool:
        sums = self.sums(gold, value)
        passing_items, expected_items = sums[0], sums[-1]
        return passing_items == expected_items

    def similarity(self, gold: Items, value: Items) -> float:
        """Return the share of the verdicts that are equal at the same place, in [0, 1]."""
        gold_verdicts = _verdicts_of(gold)
        verdicts = _verdicts_of(value)
        equal = 0
        for gold_verdict, verdict in zip(gold_verdicts, verdicts, strict=False):
            if gold_verdict == verdict:
                equal += 1
        return equal / max(len(gold_verdicts), len(verdicts), 1)

    def wrong(self, gold: Items) -> Items:
        return ()

    @property
    def expected(self) -> Items:
        """The gold of every document: as many items as are wanted, all of which pass all checks."""
        all_yes = (Check(verdict="yes"),) * len(self.checks)
        return (CheckedItem(content="null", checks=all_yes),) * self.items

    def credit(self, gold: Value, value: Value | None) -> float:
        items = items_of(value)
        return sum(item.passed for item in items) / max(self.items, len(items))

    def cell(self, written: str) -> None:
        return None

    def make_item(self, data: object, verdicts: object) -> CheckedItem:
        """Return an item made of JSON values and the outcome of each check. Raises ``ValueError`` for other checks."""
        if not isinstance(verdicts, Mapping):
            raise ValueError(f"an item came with the checks {verdicts}, not {list(self.checks)}")
        if set(verdicts) != set(self.checks):
            raise ValueError(f"an item came with the checks {list(verdicts)}, not {list(self.checks)}")
        checks = []
        for name in self.checks:
            checks.append(Check.of(verdicts[name]))
        return CheckedItem(content=json.dumps(data, ensure_ascii=False), checks=tuple(checks))

    def of_json(self, data: Any) -> Items:
        try:
            return tuple(self.make_item(entry["item"], entry["checks"]) for entry in data)
        except (TypeError, KeyError, ValueError) as error:
            raise ValueError(f"these are no checked items: {error}") from error

    def to_json(self, value: Items | None) -> list[dict[str, object]] | None:
        if value is None:
            return None
        entries: list[dict[str, object]] = []
        for item in items_of(value):
            checks = {}
            for name, check in zip(self.checks, item.checks, strict=True):
                checks[name] = check.model_dump()
            entries.append({"item": item.data, "checks": checks, "passed": item.passed})
        return entries

    def text(self, value: Items) -> str:
        return json.dumps(self.to_json(value), ensure_ascii=False)

    def failures(self, value: Value | None) -> list[str]:
        """Return a line for each check of an item that does not say yes: ``supported: no: the reason``."""
        lines = []
        for item in items_of(value):
            for name, check in zip(self.checks, item.checks, strict=True):
                if check.verdict == "yes":
                    continue
                line = f"{name}: {check.verdict}"
                if check.reason:
                    line += f": {check.reason}"
                lines.append(line)
        return lines

    def category(self, value: Items) -> str:
        """Return the names of the checks that failed on some item, or ``passed``: failures are grouped by it."""
        failed_checks = []
        for place, name in enumerate(self.checks):
            if any(item.verdicts[place] != "yes" for item in items_of(value)):
                failed_checks.append(name)
        return " and ".join(failed_checks) or "passed"

    def truth(self, text: str, gold: Items) -> str:
        return f'what is written from "{text[:SHOWN]}" must pass {", ".join(self.checks)}'

    def feedback(self, text: str, gold: Items, value: Items | None) -> str:
        """Return the items that did not pass in words, with the checks that failed and why."""
        items = items_of(value)
        if not items:
            return "no usable item was written"
        lines = []
        for item in items:
            if not item.passed:
                failures = "; ".join(self.failures((item,)))
                lines.append(f"written: {item.content[:SHOWN]}\nfailed: {failures}")
        if len(items) < self.items:
            lines.append(f"{len(items)} of {self.items} items were written")
        return "\n".join(lines)

    def task_words(self) -> str:
        number = f"{self.items} items"
        if self.items == 1:
            number = "an item"
        checks = ", ".join(self.checks)
        return (
            f"it writes {number} from each input, checked for: {checks}; only what passes all of them counts"
        )

    def identity(self) -> dict[str, object]:
        return {"labels": [], "answer": "checked items", "checks": list(self.checks), "items": self.items}

    def listing(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, "") for name in self.checks)

    def combine(self, votes: Votes, sampling: Sampling) -> Items | None:
        return max(votes, key=lambda value: self.credit(self.expected, value), default=None)

    def is_decided(self, votes: Votes, remaining: int, sampling: Sampling) -> bool:
        return any(self.credit(self.expected, value) == 1 for value in votes)

    def agreement(self, votes: Votes, value: Items | None) -> None:
        return None

    def describe(self, values: Sequence[Items]) -> dict[str, object]:
        return {"checks": list(self.checks), "items": self.items}

    def strata(self, cases: Sequence[Case]) -> list[str]:
        return ["document"] * len(cases)

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        return None

    def usual(self, golds: Sequence[Items]) -> Sequence[Items]:
        return ()

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        items = items_of(values[0])
        tally = {"items": len(items), "passed": 0, "uncertain_items": 0}
        passes_by_check = Counter[str]()
        for item in items:
            if item.passed:
                tally["passed"] += 1
            if "uncertain" in item.verdicts:
                tally["uncertain_items"] += 1
            for name, verdict in zip(self.checks, item.verdicts, strict=True):
                if verdict == "yes":
                    passes_by_check[f"{name}_yes"] += 1
        tally.update(passes_by_check)
        return tally

    def totals(self, sums: Mapping[str, float]) -> dict[str, object]:
        items = int(sums.get("items", 0))
        rates: dict[str, float | None] = dict.fromkeys(self.checks)
        if items:
            for name in self.checks:
                rates[name] = sums.get(f"{name}_yes", 0) / items
        return {
            "items": items,
            "passed": int(sums.get("passed", 0)),
            "uncertain_items": int(sums.get("uncertain_items", 0)),
            "check_rates": rates,
        }


def _verdicts_of(items: Items) -> list[CheckWord]:
    """Return the verdicts of all checks, one item after the other."""
    verdicts: list[CheckWord] = []
    for item in items:
        verdicts.extend(item.verdicts)
    return verdicts
