"""One value for the whole case that is no label: a score, several labels, a set of objects, or items with checks."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import pydantic

from ...cases import Label, Values
from ...errors import JudgeError
from ...evaluation.checked_items import CheckedItem, CheckedItems, items_of
from ...evaluation.scores import Scores
from ...evaluation.sets import LabelSets, ObjectSets
from ...text.wording import normalised
from ..plain_json import jsonable
from ..verdicts import Verdict
from .base import Answer, Inputs, Places, Reply


@dataclass(frozen=True, kw_only=True)
class Score(Answer):
    """A number from ``low`` to ``high``. Samples combine to their mean, or to their median.

    Attributes:
        low: the lowest score.
        high: the highest.
        whole: whether only whole numbers count.
        top: how the share of answers at the upper end is called, if it is to be shown (a metric).
    """

    low: float = 1
    high: float = 5
    whole: bool = True
    top: str = ""

    @cached_property
    def scale(self) -> Scores:
        return Scores(self.low, self.high, whole=self.whole, top=self.top)

    def parser_rule(self) -> dict[str, object]:
        return {"field": self.field, "score": self.scale.ends, "reader": "score"}


@dataclass(frozen=True, kw_only=True)
class LabelSet(Answer):
    """Any number of labels; a value is the tuple of them, sorted. Samples combine label by label.

    Attributes:
        labels: the closed set, in a fixed order.
    """

    labels: tuple[Label, ...] = ()

    @cached_property
    def scale(self) -> LabelSets:
        return LabelSets(self.labels)

    def parser_rule(self) -> dict[str, object]:
        words = "the list holds every label that applies, in any order"
        return {"field": self.field, "labels": words, "reader": "label set", "set": list(self.labels)}


@dataclass(frozen=True, kw_only=True)
class ObjectSet(Answer):
    """Any number of objects in any order; a value is the sorted tuple of them as JSON texts.

    Objects of gold and of a reply are matched one to one; two of them are alike by the mean over their fields: of texts
    the F1 of their words, of everything else whether it is equal. Samples combine to their medoid.

    Attributes:
        model: what an object is.
        key: the fields by which two objects are compared; default: all.
    """

    model: type[pydantic.BaseModel] = pydantic.BaseModel
    key: tuple[str, ...] = ()

    @cached_property
    def scale(self) -> ObjectSets:
        return ObjectSets(same=self._alike, model=self.model, key=self.key)

    def parser_rule(self) -> dict[str, object]:
        return {"field": self.field, "objects": "the list holds every object, in any order"}

    def _alike(self, first: str, second: str) -> float:
        """Return the likeness of two objects, given as JSON texts, from 0 to 1: the mean over the fields compared."""
        first_fields, second_fields = _parse_object(first), _parse_object(second)
        names = self.key or tuple(self.model.model_fields)
        agreements = [_field_agreement(first_fields.get(name), second_fields.get(name)) for name in names]
        return sum(agreements) / len(names)


@lru_cache(maxsize=4096)
def _parse_object(text: str) -> Mapping[str, object]:
    fields: Mapping[str, object] = json.loads(text)
    return fields


def _field_agreement(first: object, second: object) -> float:
    """Return the agreement of two fields: the F1 of the words of texts, else whether they are equal."""
    if not isinstance(first, str) or not isinstance(second, str):
        return float(first == second)
    first_words = Counter(normalised(first).split())
    second_words = Counter(normalised(second).split())
    total = first_words.total() + second_words.total()
    if not total:
        return 1.0
    return 2 * (first_words & second_words).total() / total


@dataclass(frozen=True, kw_only=True)
class Checked(Answer):
    """The items that a generator wrote from a document, with what every check (verifiers, code) says of each.

    The program returns ``dspy.Prediction(written=[...], checks=[...])``: the items, and for each of them a mapping from
    the name of every check to what it says: yes, no or uncertain, with a reason (HaluAgent section 3.1). Only an item
    on which all of them say yes passes. The right answer of a check is always yes, so documents need no labels.
    """

    checks: tuple[str, ...] = ()  # the names of the checks, in the order in which they are shown
    items: int = 1  # how many items are wanted from a document

    part: ClassVar[str] = "items"
    has_examples: ClassVar[bool] = False

    @cached_property
    def scale(self) -> CheckedItems:
        return CheckedItems(self.checks, self.items)

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Verdict:
        """Return the items with their checks; nothing if there is no item."""
        items, checks = reply.get(self.field), reply.get("checks")
        if not isinstance(items, list | tuple) or not items:
            return Verdict(values=(None,), error="no item was written")
        if not isinstance(checks, list | tuple) or len(checks) != len(items):
            raise JudgeError(
                f"the program gave {len(items)} items and checks={str(checks)[:80]}",
                hint="return dspy.Prediction(written=[...], checks=[{check: verdict, ...}, ...]), one for each item",
            )
        written_items: list[CheckedItem] = []
        try:
            for item, item_checks in zip(items, checks, strict=True):
                written_items.append(self.scale.make_item(jsonable(item), item_checks))
        except ValueError as error:
            hint = 'give every check of an item; one that was not asked is "uncertain" and says why'
            raise JudgeError(str(error), hint=hint) from error
        counts: Counter[str] = Counter()
        for written_item in written_items:
            counts.update(
                verdict for verdict in written_item.verdicts if verdict in ("uncertain", "unusable")
            )
        return Verdict(values=(tuple(written_items),), counts=dict(sorted(counts.items())))

    def row_parts(self, values: Values) -> dict[str, object]:
        return {"passed": sum(item.passed for item in items_of(values[0]))}

    def parser_rule(self) -> dict[str, object]:
        return {"field": self.field, "checks": list(self.checks)}
