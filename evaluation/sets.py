"""Answers of any number of members: several labels out of a closed set, or a set of objects.

Of several labels:

- ``micro_f1`` counts labels over all units; ``macro_f1`` is the mean F1 over the labels that occur in gold or among
  the answers. A quotient 0/0 is 0.0 in both.
- ``balanced_accuracy`` is the mean recall of labels, given and left out alike: over the labels that some units of
  gold have and others have not, the mean of the share found where gold has it and of the share left out where it
  has not. Any constant set has 0.5; 0.0 where there is no such label.
- ``example_f1`` is the mean over units; there, no label where gold has none is right: 1.0.
- ``exact_match`` is the share of units whose set is gold's.

A missing answer counts as all labels that gold has not, and none that it has: no answer could be worse.

Of objects each is matched to at most one of gold's by best assignment, then precision, recall and F1 follow.

Of all one-to-one assignments the one with the largest sum of similarities counts (Kuhn 1955, "The Hungarian method").
Precision is that sum over the objects found, recall over gold's, F1 their harmonic mean, all over the sums of all
units (micro); 0/0 is 0.0. With a similarity that is 0 or 1 the sum is the number of matched objects.

A missing answer counts as as many wrong objects as gold has, at least one. A set has no largest size, so an answer
can be worse than none.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pydantic
import scipy

from ..cases import Label, Value
from ..errors import JuristError, UsageError
from .metrics import SIDES, Metric, Ratios, f1, mean_parts, pair_means, pair_sums
from .scale import SHOWN, SIZES, Members, distinct
from .units import Floats
from .votes import Sampling, more_than_half, named_vote

Set: TypeAlias = tuple[Label, ...]
_ROUNDING = 1e-9
_NONE = "none"


@dataclass(frozen=True)
class LabelSets(Members):
    """Some labels of a closed set, as a sorted tuple; an answer is more or less right."""

    labels: Sequence[Label]

    noun = "label set"
    # balanced accuracy: any constant set has 0.5, where F1 rewards the one that names every frequent label
    default = "balanced_accuracy"
    uses_threshold = True
    voting_rule = (
        "one filling is one sample; with thresholds.samples over 1, ask so often: a label applies if at least "
        "thresholds.threshold samples name it"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", distinct(self.labels))

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        size = 3 * len(self.labels)
        statistics = {
            "balanced_accuracy": pair_sums(
                lambda gold, value: [*self._by_label(gold, value), 1.0], _balanced_accuracy, size + 1
            ),
            "micro_f1": pair_sums(_hits, f1, 3),
            "macro_f1": pair_sums(self._by_label, _macro_f1, size),
            "example_f1": pair_means(_example_f1),
            "exact_match": pair_means(lambda gold, value: float(gold == value)),
        }
        return MappingProxyType({name: Metric(name=name, statistics=of) for name, of in statistics.items()})

    @cached_property
    def classes(self) -> Mapping[Label, Mapping[str, Metric]]:
        return {
            label: {
                name: Metric(name=f"{name}_{label}", statistics=pair_sums(partial(_cells, label), of, 3))
                for name, of in SIDES.items()
            }
            for label in self.labels
        }

    def _by_label(self, gold: Set, value: Set) -> list[float]:
        return [cell for label in self.labels for cell in _cells(label, gold, value)]

    def similarity(self, gold: Set, value: Set) -> float:
        return _example_f1(gold, value)

    def wrong(self, gold: Set) -> Set:
        return tuple(sorted(set(self.labels) - set(gold)))

    @property
    def row_type(self) -> Any:
        return list[Literal[*self.labels]]  # type: ignore[valid-type]

    @property
    def expects(self) -> str:
        return f"any of: {', '.join(self.labels)}; several with a semicolon between them, or {_NONE}"

    def cell(self, written: str) -> Any:
        text = written.strip()
        names = _listed(text) if text.startswith("[") else [part.strip() for part in text.split(";")]
        names = [] if names == [_NONE] and _NONE not in self.labels else names
        return names if all(name in self.labels for name in names) else None

    def of_json(self, data: Any) -> Value:
        if not isinstance(data, list | tuple) or not all(item in self.labels for item in data):
            raise ValueError(f"no label set {data!r}")
        return tuple(sorted(set(data)))

    def to_json(self, value: Any) -> Any:
        return None if value is None else [label for label in self.labels if label in value]

    def text(self, value: Any) -> str:
        return "; ".join(value) or _NONE

    def feedback(self, text: str, gold: Any, value: Any) -> str:
        words = super().feedback(text, gold, value)
        if value is None:
            return words
        parts = (("missing", {*gold} - {*value}), ("too many", {*value} - {*gold}))
        return words + "".join(f"; {name}: {', '.join(sorted(some))}" for name, some in parts if some)

    def task_words(self) -> str:
        return f"labels (any number of them, or none): {', '.join(self.labels)}"

    def identity(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "answer": "label set"}

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        return named_vote(votes, labels=self.labels, samples=sampling.samples, threshold=sampling.needed)

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        # a label that is decided stays so: a further sample can neither take back a vote nor give two
        return left == 0 or self.combine(votes, sampling) is not None

    def describe(self, values: Sequence[Any]) -> dict[str, Any]:
        counts = Counter(label for value in values for label in value)
        labels = {label: counts[label] for label in self.labels}
        return {"labels": labels, "without_label": sum(not value for value in values)}

    def usual(self, known: Sequence[Any]) -> Sequence[Value]:
        return list(dict.fromkeys([*super().usual(known), (), *((label,) for label in self.labels)]))

    def tally(self, values: Any, counts: Mapping[str, int]) -> Mapping[str, float]:
        return dict.fromkeys(map(str, values[0] or ()), 1)

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        return {"labels": {label: int(sums.get(label, 0)) for label in self.labels}}


def _listed(text: str) -> list[Any]:
    try:
        labels = json.loads(text)
    except (RecursionError, ValueError):
        return [text]
    return labels if isinstance(labels, list) else [labels]


def _cells(label: Label, gold: Set, value: Set) -> tuple[float, float, float]:
    """Whether a label is in both, in gold, in the answer."""
    return float(label in gold and label in value), float(label in gold), float(label in value)


def _hits(gold: Set, value: Set) -> tuple[float, float, float]:
    return float(len(set(gold) & set(value))), float(len(gold)), float(len(value))


@Ratios
def _macro_f1(sums: Floats) -> tuple[Floats, Floats]:
    return mean_parts(*f1.parts(sums.reshape(*sums.shape[:-1], -1, 3)))


@Ratios
def _balanced_accuracy(sums: Floats) -> tuple[Floats, Floats]:
    """Of sums of (in both, in gold, in the answer) of each label, and how many units there are."""
    both, gold, answered = np.moveaxis(sums[..., :-1].reshape(*sums.shape[:-1], -1, 3), -1, 0)
    without = sums[..., -1:] - gold
    above = np.concatenate([both, without - answered + both], axis=-1)
    sided = np.minimum(gold, without) > _ROUNDING * sums[..., -1:]
    below = np.concatenate([np.where(sided, side, 0.0) for side in (gold, without)], axis=-1)
    return mean_parts(above, below)


def _example_f1(gold: Set, value: Set) -> float:
    both, known, named = _hits(gold, value)
    return 2.0 * both / (known + named) if known + named else 1.0


Objects: TypeAlias = tuple[Any, ...]
Similarity: TypeAlias = Callable[[Any, Any], float]
"""(an object of gold, an object of the answer) -> how far they are the same, in [0, 1]."""


@dataclass(frozen=True)
class _Wrong:
    """So many objects of which none is like anything in gold."""

    count: int


@dataclass(frozen=True)
class ObjectSets(Members):
    """A tuple of hashable objects whose order does not matter; an answer is more or less right.

    Those of a model are kept as their canonical JSON texts, which read back as they were.
    """

    same: Similarity
    model: type[pydantic.BaseModel] = pydantic.BaseModel
    key: tuple[str, ...] = ()  # the fields by which two objects are compared; default: all
    noun: str = "set"  # what a value is called

    default = "f1"

    _combining: ClassVar[str] = (
        "the one given by more than half counts, else the one most similar to all others"
    )

    def __post_init__(self) -> None:
        if unknown := set(self.key) - set(self.names):
            hint = "name fields of the model as key"
            raise UsageError(f"{self.model.__name__} has no fields {', '.join(sorted(unknown))}", hint=hint)

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        return {
            name: Metric(name=name, statistics=pair_sums(self._sums, of, 3)) for name, of in SIDES.items()
        }

    def _sums(self, gold: Objects, value: Objects | _Wrong) -> tuple[float, float, float]:
        if isinstance(value, _Wrong):
            return 0.0, float(len(gold)), float(value.count)
        return (
            sum(similarity for _, _, similarity in self.match(gold, value)),
            float(len(gold)),
            float(len(value)),
        )

    def match(self, gold: Objects, value: Objects) -> list[tuple[int, int, float]]:
        """Return the best assignment: (place in gold, place in the answer, similarity above 0), by place in gold."""
        known = self._known.get((gold, value))
        if known is not None or not gold or not value:
            return known or []
        table = np.array([[self.same(own, other) for other in value] for own in gold], dtype=np.float64)
        if not ((table >= 0.0) & (table <= 1.0)).all():
            raise JuristError("the similarity of two objects is not in [0, 1]", hint="correct its function")
        rows, columns = scipy.optimize.linear_sum_assignment(table, maximize=True)
        pairs = zip(rows.tolist(), columns.tolist(), table[rows, columns].tolist(), strict=True)
        return self._known.setdefault((gold, value), [pair for pair in pairs if pair[2] > 0.0])

    @cached_property
    def _known(self) -> dict[tuple[Objects, Objects], list[tuple[int, int, float]]]:
        # every metric, resample and candidate asks for the same pairs again, and an assignment takes its time
        return {}

    def similarity(self, gold: Objects, value: Objects) -> float:
        """F1 of one set against the other, in [0, 1]; 1.0 for two empty sets."""
        if not gold and not value:
            return 1.0
        matched, known, named = self._sums(gold, value)
        return 2.0 * matched / (known + named)

    def wrong(self, gold: Objects) -> _Wrong:
        return _Wrong(max(1, len(gold)))

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of an object."""
        return tuple(self.model.model_fields)

    @property
    def row_type(self) -> Any:
        return list[self.model]  # type: ignore[name-defined]

    @property
    def expects(self) -> str:
        return f"a JSON list of objects with {', '.join(self.names)}"

    def cell(self, written: str) -> Any:
        try:
            return self.to_json(self.of_json(json.loads(written)))
        except (RecursionError, ValueError):
            return None

    def of_json(self, data: Any) -> Value:
        if not isinstance(data, list | tuple):
            raise ValueError(f"no list of objects {data!r}"[:200])
        try:
            plain = (
                item.model_dump(mode="json") if isinstance(item, pydantic.BaseModel) else item
                for item in data
            )
            objects = [self.model.model_validate(item) for item in plain]
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ValueError(f"no {self.model.__name__}: {place}: {first['msg']}") from error
        texts = (
            json.dumps(item.model_dump(mode="json"), sort_keys=True, ensure_ascii=False) for item in objects
        )
        return tuple(sorted(set(texts)))

    def to_json(self, value: Any) -> Any:
        return None if value is None else [json.loads(text) for text in value]

    def text(self, value: Any) -> str:
        return json.dumps(self.to_json(value), ensure_ascii=False)

    def category(self, value: Any) -> str:
        return SIZES[min(2, len(value))]

    def truth(self, text: str, gold: Any) -> str:
        named = "".join(f"\n- {item}" for item in gold) or " none"
        return f'"{text[:SHOWN]}": people named{named}'

    def feedback(self, text: str, gold: Any, value: Any) -> str:
        if value is None:
            return f"{self.truth(text, gold)}\njudged unusable"
        alike = [pair for pair in self.match(gold, value) if pair[2] == 1.0]
        known, named = {pair[0] for pair in alike}, {pair[1] for pair in alike}
        lines = [f"- missing: {item}" for place, item in enumerate(gold) if place not in known]
        lines += [f"- not named by people: {item}" for place, item in enumerate(value) if place not in named]
        return "\n".join([f"{self.truth(text, gold)}\njudged:", *lines])

    def task_words(self) -> str:
        return f"answer: a list of any number of objects with {', '.join(self.names)}"

    def identity(self) -> dict[str, Any]:
        key = list(self.key or self.names)
        return {"labels": [], "answer": "object set", "objects": list(self.names), "key": key}

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        """The set that more than half of the samples give, else the one most similar to all; ``None`` of too few."""
        drawn, needed = list(Counter(votes).elements()), more_than_half(sampling.samples)
        if len(drawn) < needed:
            return None
        whole = next((value for value, count in votes.items() if count >= needed), None)
        if whole is not None:
            return whole
        return max(drawn, key=lambda value: sum(self.similarity(value, other) for other in drawn))

    def describe(self, values: Sequence[Any]) -> dict[str, Any]:
        return {"objects": sum(map(len, values)), "without_object": sum(not value for value in values)}

    def usual(self, known: Sequence[Any]) -> Sequence[Value]:
        single = super().usual([(item,) for value in known for item in value])
        return list(dict.fromkeys([*super().usual(known), (), *single]))

    def tally(self, values: Any, counts: Mapping[str, int]) -> Mapping[str, float]:
        return {"objects": len(values[0] or ()), "with_object": bool(values[0]), **counts}

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        return {name: int(value) for name, value in {"objects": 0, "with_object": 0, **sums}.items()}
