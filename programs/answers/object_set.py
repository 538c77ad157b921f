"""A set of objects: a list of one pydantic model, whose order does not matter. Samples combine to their medoid.

An object is kept as its canonical JSON text, which is hashable and reads back as it was. Objects of gold and of a
reply are matched one to one (:class:`~jurist.evaluation.object_sets.ObjectSets`); two of them are alike by the mean
over their fields: of texts the F1 of their words, of everything else whether it is equal.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import pydantic

from ...cases import Case, Value, Values
from ...errors import JudgeError
from ...evaluation.object_sets import ObjectSets
from ...text.wording import normalised
from ..votes import Sampling, majority
from .base import Answer, Learned, upper_half
from .reading import Reading, reasoning_of

_NONE = "none"


@dataclass(frozen=True, kw_only=True)
class ObjectSet(Answer):
    """Any number of objects; a value is the sorted tuple of them as JSON texts.

    Attributes:
        model: what an object is.
        key: the fields by which two objects are compared; default: all.
    """

    model: type[pydantic.BaseModel] = pydantic.BaseModel
    key: tuple[str, ...] = ()

    noun: ClassVar[str] = "set"
    learned: ClassVar[Learned] = "members"
    _combining: ClassVar[str] = (
        "the one given by more than half counts, else the one most similar to all others"
    )

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
    def comparison(self) -> ObjectSets:
        """One-to-one matches by likeness."""
        return ObjectSets(same=self._alike)

    @property
    def row_type(self) -> Any:
        """A list of objects."""
        return list[self.model]  # type: ignore[name-defined]

    @property
    def expects(self) -> str:
        """A JSON list."""
        return f"a JSON list of objects with {', '.join(self.model.model_fields)}"

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return the objects; without a list, or with an object that is not whole, nothing."""
        try:
            value = self.of_json(reply.get(self.field))
        except ValueError as error:
            return Reading(values=(None,), problem=str(error))
        return Reading(values=(value,), reasoning=reasoning_of(reply))

    def example(self, values: Values) -> Any:
        """Return the objects."""
        return self.to_json(values[0])

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        """Return the set that more than half of the samples give, else the medoid of all.

        Nothing unless more than half of the samples are usable.
        """
        given = list(Counter(votes).elements())
        needed = majority(sampling.samples)
        if len(given) < needed:
            return None
        whole = next((value for value, count in votes.items() if count >= needed), None)
        return self.comparison.consensus(given) if whole is None else whole

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Return whether one set has more than half of all samples, or too few can still be usable."""
        needed = majority(sampling.samples)
        return sum(votes.values()) + left < needed or any(count >= needed for count in votes.values())

    def truth(self, text: str, gold: Any) -> str:
        """Return what people named, one object to a line."""
        named = "".join(f"\n- {one}" for one in gold) or f" {_NONE}"
        return f"{super().truth(text, ()).partition(' is ')[0]}: people named{named}"

    def feedback(self, text: str, gold: Any, value: Any) -> str:
        """Return what people named, and what in the answer is missing or too much."""
        if value is None:
            return f"{self.truth(text, gold)}\njudged unusable"
        pairs = self.comparison.match(gold, value)
        alike = {(one, two) for one, two, similarity in pairs if similarity == 1.0}
        missing = [one for place, one in enumerate(gold) if place not in {pair[0] for pair in alike}]
        extra = [one for place, one in enumerate(value) if place not in {pair[1] for pair in alike}]
        lines = [f"- missing: {one}" for one in missing] + [f"- not named by people: {one}" for one in extra]
        return "\n".join([f"{self.truth(text, gold)}\njudged:", *lines])

    def text(self, value: Any) -> str:
        """Return the objects as a JSON list."""
        return json.dumps(self.to_json(value), ensure_ascii=False)

    def category(self, value: Any) -> str:
        """Return how many objects there are: none, one or several."""
        return ("none", "one", "several")[min(2, len(value))]

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        """Return whether each case has more objects than half of the cases."""
        return upper_half([len(case.known[0]) if case.known else None for case in cases])

    def cell(self, given: str) -> Any:
        """Return the objects of a JSON list."""
        try:
            return self.to_json(self.of_json(json.loads(given)))
        except ValueError:
            return None

    def of_json(self, data: Any) -> Value:
        """Return the objects of a list."""
        if not isinstance(data, list | tuple):
            raise ValueError(f"no list of objects {data!r}"[:200])
        try:
            objects = [self.model.model_validate(_plain(one)) for one in data]
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ValueError(f"no {self.model.__name__}: {place}: {first['msg']}") from error
        return _value(objects)

    def to_json(self, value: Any) -> Any:
        """Return the objects as mappings."""
        return None if value is None else [dict(_fields(one)) for one in value]

    def describe(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return how many objects there are, and how many units without any."""
        return {"objects": sum(map(len, values)), "without_object": sum(not value for value in values)}

    def usual(self, known: Sequence[Any]) -> Sequence[Value]:
        """Return frequent sets, none, and each of the frequent objects alone."""
        single = super().usual([(one,) for value in known for one in value])
        return list(dict.fromkeys([*super().usual(known), (), *single]))

    def task_words(self) -> str:
        """Return the objects' fields."""
        return f"answer: a list of any number of objects with {', '.join(self.model.model_fields)}"

    def identity(self) -> dict[str, Any]:
        """Return the objects' fields, and those by which they are compared."""
        fields = list(self.model.model_fields)
        return {"labels": [], "answer": "object set", "objects": fields, "key": list(self.key or fields)}

    def listing(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the fields of an object."""
        key = self.key or tuple(self.model.model_fields)
        return "Objects, any number of them", tuple(
            (name, "compared" if name in key else "") for name in self.model.model_fields
        )

    def tally(self, values: Any, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Count objects, rows with one, and whatever else was counted in reading them."""
        return {"objects": len(values[0] or ()), "with_object": bool(values[0]), **counts}

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return the same over all rows."""
        return {name: int(value) for name, value in {"objects": 0, "with_object": 0, **sums}.items()}

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        """Return the same for people."""
        found = self.totals(sums)
        words = f"{found.pop('objects')} objects in {found.pop('with_object')} rows"
        return ("; ".join([words, *(f"{count} {name}" for name, count in found.items())]),)

    def parser_rule(self) -> dict[str, Any]:
        """Return that the list holds the objects."""
        return {"field": self.field, "objects": "the list holds every object, in any order"}

    def _alike(self, one: str, two: str) -> float:
        left, right = _fields(one), _fields(two)
        names = self.key or tuple(self.model.model_fields)
        return sum(_same(left.get(name), right.get(name)) for name in names) / len(names)


def _plain(item: Any) -> Any:
    return item.model_dump(mode="json") if isinstance(item, pydantic.BaseModel) else item


def _value(objects: Iterable[pydantic.BaseModel]) -> tuple[str, ...]:
    dumped = (one.model_dump(mode="json") for one in objects)
    return tuple(sorted({json.dumps(one, sort_keys=True, ensure_ascii=False) for one in dumped}))


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
