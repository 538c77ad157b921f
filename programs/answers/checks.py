"""Items that a generator wrote, each held against the same checks by verifiers and by code.

The program returns ``dspy.Prediction(items=[...], checks=[...])``: the items, and for each of them a mapping from
the name of every check to what it says: yes, no or uncertain, with a reason (HaluAgent section 3.1). Only an item
on which all of them say yes passes. What is wanted is always yes, so documents need no labels.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ...cases import Values
from ...errors import JudgeError
from ...evaluation.checked_items import CheckedItems, items_of
from ..state import jsonable
from .base import Answer
from .reading import Reading


@dataclass(frozen=True, kw_only=True)
class Checked(Answer):
    """The items written from a document, with what every check says of each."""

    checks: tuple[str, ...] = ()  # the names of the checks, in the order in which they are shown
    items: int = 1  # how many items are wanted from a document

    part: ClassVar[str] = "items"
    has_examples: ClassVar[bool] = False
    proposer_note: ClassVar[str] = (
        "This judge is a program that writes items from documents and has them checked. Nobody labelled them: a case "
        "is wrong if an item fails a check, and what is said of it is what was written, which check failed, and why. "
        "The score is the share of items that pass all checks. Write an instruction after which they pass; do not "
        "name the checks or tell the writer to claim that they hold."
    )

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

    @cached_property
    def scale(self) -> CheckedItems:
        """The items with their checks."""
        return CheckedItems(self.checks, self.items)

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
        try:
            found = tuple(
                self.scale.item(jsonable(item), said) for item, said in zip(items, checks, strict=True)
            )
        except ValueError as error:
            hint = 'give every check of an item; one that was not asked is "uncertain" and says why'
            raise JudgeError(str(error), hint=hint) from error
        counts = Counter(verdict for item in found for verdict in item.verdicts)
        return Reading(
            values=(found,),
            counts={name: counts[name] for name in ("uncertain", "unusable") if counts[name]},
        )

    def example(self, values: Values) -> Any:
        """Return nothing: what passes is not known before it is written."""
        return None

    def row_parts(self, values: Values) -> dict[str, Any]:
        """Return how many items passed."""
        items = items_of(values[0])
        return {"passed": sum(item.passed for item in items)}

    def parser_rule(self) -> dict[str, Any]:
        """Return where the items are."""
        return {"field": self.field, "checks": list(self.checks)}
