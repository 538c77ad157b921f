"""One value for the whole case, given in one field: a score, several labels, or a set of objects."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import pydantic

from ...cases import Label, Values
from ...errors import JudgeError
from ...evaluation.label_sets import LabelSets, of_labels
from ...evaluation.object_sets import ObjectSets
from ...evaluation.scale import SHOWN
from ...evaluation.scores import Scores
from ...text.wording import normalised
from .base import Answer
from .reading import Reading, reasoning_of


@dataclass(frozen=True, kw_only=True)
class Score(Answer):
    """A number from ``low`` to ``high``. Samples combine to their median.

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

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse a scale without two values."""
        super().check(judge, inputs)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise JudgeError(
                f"judge {judge}: there is no scale from {self.low} to {self.high}",
                hint="give a lowest and a higher highest score",
            )

    @cached_property
    def scale(self) -> Scores:
        """The numbers."""
        return Scores(self.low, self.high, step=1 if self.whole else None, top=self.top)

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return the number; nothing if it is none, or off the scale."""
        value = self.scale.number(reply.get(self.field))
        problem = "" if value is not None else f"{reply.get(self.field)!r} is not {self.scale.expects}"
        return Reading(values=(value,), reasoning=reasoning_of(reply), problem=problem[:SHOWN])

    def example(self, values: Values) -> Any:
        """Return the number."""
        return values[0]

    def parser_rule(self) -> dict[str, Any]:
        """Return the scale."""
        reader = {"reader": "score"} if type(self) is Score else {}
        return {"field": self.field, "score": self.scale.ends, **reader}


@dataclass(frozen=True, kw_only=True)
class LabelSet(Answer):
    """Any number of labels; a value is the tuple of them, sorted. Samples combine label by label.

    Attributes:
        labels: the closed set, in a fixed order.
    """

    labels: tuple[Label, ...] = ()

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse a set of which nothing can be chosen."""
        super().check(judge, inputs)
        if not self.labels or len(set(self.labels)) != len(self.labels):
            raise JudgeError(
                f"judge {judge}: {list(self.labels)} is no set of labels",
                hint="give list[Literal[...]] different labels",
            )

    @cached_property
    def scale(self) -> LabelSets:
        """The labels."""
        return LabelSets(self.labels)

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return the labels of the list; without a list, or with another label in it, nothing."""
        given = reply.get(self.field)
        if not isinstance(given, list | tuple | set | frozenset):
            return Reading(values=(None,), problem=f"{self.field} is no list")
        extra = [item for item in given if item not in self.labels]
        if extra:
            return Reading(values=(None,), problem=f"there is no label {extra[0]!r}", extra=len(extra))
        return Reading(values=(of_labels(given),), reasoning=reasoning_of(reply))

    def example(self, values: Values) -> Any:
        """Return the labels in the order of the set."""
        return self.scale.to_json(values[0])

    def parser_rule(self) -> dict[str, Any]:
        """Return that the list holds the labels."""
        words = "the list holds every label that applies, in any order"
        reader = {"reader": "label set", "set": list(self.labels)} if type(self) is LabelSet else {}
        return {"field": self.field, "labels": words, **reader}


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

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse fields that the objects do not have."""
        super().check(judge, inputs)
        unknown = set(self.key) - set(self.model.model_fields)
        if unknown or not self.model.model_fields:
            raise JudgeError(
                f"judge {judge}: {self.model.__name__} has no fields {', '.join(sorted(unknown))}".rstrip(),
                hint="name fields of the model as key",
            )

    @cached_property
    def scale(self) -> ObjectSets:
        """The objects."""
        return ObjectSets(same=self._alike, model=self.model, key=self.key)

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return the objects; without a list, or with an object that is not whole, nothing."""
        try:
            value = self.scale.of_json(reply.get(self.field))
        except ValueError as error:
            return Reading(values=(None,), problem=str(error))
        return Reading(values=(value,), reasoning=reasoning_of(reply))

    def example(self, values: Values) -> Any:
        """Return the objects."""
        return self.scale.to_json(values[0])

    def parser_rule(self) -> dict[str, Any]:
        """Return that the list holds the objects."""
        return {"field": self.field, "objects": "the list holds every object, in any order"}

    def _alike(self, one: str, two: str) -> float:
        left, right = _fields(one), _fields(two)
        names = self.key or tuple(self.model.model_fields)
        return sum(_same(left.get(name), right.get(name)) for name in names) / len(names)


@lru_cache(maxsize=4096)
def _fields(text: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(text)
    return found


def _same(one: Any, two: Any) -> float:
    """Return how far two fields agree: the F1 of the words of texts, else whether they are equal."""
    if not isinstance(one, str) or not isinstance(two, str):
        return float(one == two)
    left, right = (Counter(normalised(text).split()) for text in (one, two))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 1.0
