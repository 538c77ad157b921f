"""Items that a generator wrote, each held against the same checks by verifiers and by code.

The program returns ``dspy.Prediction(items=[...], checks=[...])``: the items, and for each of them a mapping from
the name of every check to what it says: yes, no or uncertain, with a reason (HaluAgent section 3.1). Only an item
on which all of them say yes passes. What is wanted is always yes, so documents need no labels.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import dspy
import pydantic

from ...cases import Case, Value, Values
from ...errors import JudgeError
from ...evaluation.checked_items import CheckedItems
from ..state import jsonable
from ..votes import Sampling
from .base import SHOWN, Answer, Lack
from .reading import Reading

Said: TypeAlias = Literal["yes", "no", "uncertain", "unusable"]
"""What a check says of an item; ``unusable`` is a verifier's reply that says none of the three."""
_SAID: tuple[Said, ...] = get_args(Said)


class Check(pydantic.BaseModel, frozen=True):
    """What one check says of one item.

    Attributes:
        verdict: ``yes`` passes.
        reason: why, in words that a proposer can use.
    """

    verdict: Said
    reason: str = ""

    @classmethod
    def of(cls, given: Any) -> "Check":
        """Return what a check gave: a check, a bool, one of the words, or anything with ``verdict`` and ``reason``."""
        if isinstance(given, cls):
            return given
        reason = ""
        if isinstance(given, Mapping | dspy.Prediction):
            given, reason = given.get("verdict"), str(given.get("reason") or "")[:SHOWN]
        word = ("no", "yes")[given] if isinstance(given, bool) else str(given).strip().lower()
        said: Said | None = next((one for one in _SAID if one == word), None)
        if said is None:
            return cls(verdict="unusable", reason=reason or f"the verdict was {given!r}"[:SHOWN])
        return cls(verdict=said, reason=reason)


@dataclass(frozen=True)
class CheckedItem:
    """An item with its checks."""

    content: str  # the item as JSON
    checks: tuple[Check, ...]  # what each check says, in the answer's order

    @property
    def verdicts(self) -> tuple[Said, ...]:
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
    """Return a value of :class:`Checked` as the items that it is; none for no value."""
    return value if isinstance(value, tuple) else ()


@dataclass(frozen=True, kw_only=True)
class Checked(Answer):
    """The items written from a document, with what every check says of each."""

    checks: tuple[str, ...] = ()  # the names of the checks, in the order in which they are shown
    items: int = 1  # how many items are wanted from a document

    noun: ClassVar[str] = "checks"
    part: ClassVar[str] = "items"
    has_examples: ClassVar[bool] = False
    proposer_note: ClassVar[str] = (
        "This judge is a program that writes items from documents and has them checked. Nobody labelled them: a case "
        "is wrong if an item fails a check, and what is said of it is what was written, which check failed, and why. "
        "The score is the share of items that pass all checks. Write an instruction after which they pass; do not "
        "name the checks or tell the writer to claim that they hold."
    )
    _combining: ClassVar[str] = "the first whose items all pass counts, else the one with the most that do"

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse an answer without a check or an item."""
        super().check(judge, inputs)
        if not self.checks or len(set(self.checks)) < len(self.checks) or not all(self.checks):
            raise JudgeError(
                f"generator {judge}: checks={list(self.checks)} names no checks, or one twice",
                hint='name each check once, such as checks=("supported", "answerable")',
            )
        if self.items < 1:
            raise JudgeError(f"generator {judge}: {self.items} items are none", hint="give items=1 or more")

    @property
    def comparison(self) -> CheckedItems:
        """The share of the wanted items that pass, and the rate of each check."""
        return CheckedItems(self.checks)

    @property
    def expected(self) -> tuple[CheckedItem, ...]:
        """What is wanted of every document: all its items pass."""
        yes = tuple(Check(verdict="yes") for _ in self.checks)
        return (CheckedItem(content="null", checks=yes),) * self.items

    @property
    def row_type(self) -> Any:
        """Nothing that people write: what is wanted is the same for every document."""
        return type(None)

    @property
    def expects(self) -> str:
        """``nothing: ...``."""
        return "nothing: documents of a generator carry no labels"

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return the items with their checks; nothing if there is no item."""
        items, checks = reply.get(self.field), reply.get("checks")
        if not isinstance(items, list | tuple) or not items:
            return Reading(values=(None,), problem="no item was written")
        if not isinstance(checks, list | tuple) or len(checks) != len(items):
            raise JudgeError(
                f"the program gave {len(items)} items and checks={str(checks)[:80]}",
                hint="return dspy.Prediction(items=[...], checks=[{check: verdict, ...}, ...]), one for each item",
            )
        found = tuple(self._item(item, said) for item, said in zip(items, checks, strict=True))
        counts = Counter(verdict for item in found for verdict in item.verdicts)
        return Reading(
            values=(found,),
            counts={name: counts[name] for name in ("uncertain", "unusable") if counts[name]},
        )

    def _item(self, item: Any, said: Any) -> CheckedItem:
        if not isinstance(said, Mapping) or set(said) != set(self.checks):
            names = list(said) if isinstance(said, Mapping) else said
            raise JudgeError(
                f"an item came with the checks {names}, not {list(self.checks)}",
                hint='give every check of an item; one that was not asked is "uncertain" and says why',
            )
        content = json.dumps(jsonable(item), ensure_ascii=False)
        return CheckedItem(content=content, checks=tuple(Check.of(said[name]) for name in self.checks))

    def example(self, values: Values) -> Any:
        """Return nothing: what passes is not known before it is written."""
        return None

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        """Return the first sample whose items all pass, else the first of those with the most that do."""
        return max(votes, key=lambda value: self.credit(self.expected, value), default=None)

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Return whether a sample passes: no further one is better."""
        return any(self.credit(self.expected, value) == 1 for value in votes)

    def agreement(self, votes: Mapping[Any, int], value: Value | None) -> float | None:
        """Return nothing: samples are other items, not votes on the same."""
        return None

    def constants(self, known: Sequence[Value]) -> Mapping[str, Callable[[Mapping[str, Any]], Value]]:
        """Return nothing: items are written anew."""
        return {}

    def credit(self, gold: Value, value: Value | None) -> float:
        """Return the share of the wanted items that pass."""
        items = items_of(value)
        return sum(item.passed for item in items) / max(self.items, len(items))

    def of_json(self, data: Any) -> Value:
        """Return the items that :meth:`to_json` gave."""
        try:
            return tuple(self._item(one["item"], one["checks"]) for one in data)
        except (TypeError, KeyError, JudgeError) as error:
            raise ValueError(f"these are no checked items: {error}") from error

    def to_json(self, value: Value | None) -> Any:
        """Return the items, each with its checks by name and whether it passed."""
        return None if value is None else [self.item_json(item) for item in items_of(value)]

    def item_json(self, item: CheckedItem) -> dict[str, Any]:
        """Return one item with its checks by name and whether it passed."""
        checks = {name: check.model_dump() for name, check in zip(self.checks, item.checks, strict=True)}
        return {"item": item.data, "checks": checks, "passed": item.passed}

    def text(self, value: Value) -> str:
        """Return the items as JSON: samples are told apart by what they wrote."""
        return json.dumps(self.to_json(value), ensure_ascii=False)

    def failures(self, value: Value | None) -> list[str]:
        """Return each check that does not say yes, with the item and the reason: ``supported: no: ...``."""
        items = items_of(value)
        return [
            f"{name}: {check.verdict}" + (f": {check.reason}" if check.reason else "")
            for item in items
            for name, check in zip(self.checks, item.checks, strict=True)
            if check.verdict != "yes"
        ]

    def truth(self, text: str, gold: Value) -> str:
        """Return what every item has to fulfil."""
        return f'what is written from "{text[:SHOWN]}" must pass {", ".join(self.checks)}'

    def feedback(self, text: str, gold: Value, value: Value | None) -> str:
        """Return what was written, and which checks failed on it and why."""
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

    def category(self, value: Value) -> str:
        """Return the checks that failed: what causes are grouped by."""
        failed = {line.split(":", 1)[0] for line in self.failures(value)}
        return " and ".join(name for name in self.checks if name in failed) or "passed"

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        """Return nothing: any document will do."""
        return None

    def strata(self, cases: Sequence[Case]) -> list[str]:
        """Return one stratum: nothing is known of a document beforehand."""
        return ["document"] * len(cases)

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        """Return one side."""
        return [False] * len(cases)

    def cell(self, given: str) -> Any:
        """Return nothing: there is nothing to fill in."""
        return None

    def describe(self, values: Sequence[Value]) -> dict[str, Any]:
        """Return the checks."""
        return {"checks": list(self.checks), "items": self.items}

    def task_words(self) -> str:
        """Return what is written and checked."""
        number = "an item" if self.items == 1 else f"{self.items} items"
        checks = ", ".join(self.checks)
        return (
            f"it writes {number} from each input, checked for: {checks}; only what passes all of them counts"
        )

    def identity(self) -> dict[str, Any]:
        """Return the checks."""
        return {"labels": [], "answer": "checked items", "checks": list(self.checks), "items": self.items}

    def listing(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the checks."""
        return "Checks", tuple((name, "") for name in self.checks)

    def row_parts(self, values: Values) -> dict[str, Any]:
        """Return how many items passed."""
        items = items_of(values[0])
        return {"passed": sum(item.passed for item in items)}

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Count items, those that passed, those about which a check is uncertain, and the checks that said yes."""
        items = items_of(values[0])
        yes = Counter(
            f"{name}_yes"
            for item in items
            for name, verdict in zip(self.checks, item.verdicts, strict=True)
            if verdict == "yes"
        )
        uncertain = sum("uncertain" in item.verdicts for item in items)
        passed = sum(item.passed for item in items)
        return {"items": len(items), "passed": passed, "uncertain_items": uncertain, **yes}

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return items, how many passed, how many are uncertain, and each check's rate."""
        items = int(sums.get("items", 0))
        rates = {name: sums.get(f"{name}_yes", 0) / items if items else None for name in self.checks}
        counted = {name: int(sums.get(name, 0)) for name in ("passed", "uncertain_items")}
        return {"items": items, **counted, "check_rates": rates}

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        """Return the same for people."""
        found = self.totals(sums)
        if not found["items"]:
            return ("no item was written",)
        rates = ", ".join(f"{name} {rate:.1%}" for name, rate in found["check_rates"].items())
        return (
            f"{found['passed']} of {found['items']} items passed, {found['uncertain_items']} uncertain; {rates}",
        )

    def parser_rule(self) -> dict[str, Any]:
        """Return where the items are."""
        return {"field": self.field, "checks": list(self.checks)}
