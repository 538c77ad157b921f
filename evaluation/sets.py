"""Answers of any number of members: several labels out of a closed set, or a set of objects.

Their metrics stand in :mod:`jurist.evaluation.set_metrics`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import pydantic

from ..cases import Label, Values
from ..errors import UsageError
from .scale import SHOWN, SIZES, Annotation, Members, distinct
from .votes import Sampling, more_than_half, named_vote

if TYPE_CHECKING:
    from .metrics import Metric

Set: TypeAlias = tuple[Label, ...]
_NONE = "none"


@dataclass(frozen=True)
class LabelSets(Members):
    """The scale of answers that are any number of labels out of a closed set; a value is a sorted tuple of them."""

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
    def metrics(self) -> "Mapping[str, Metric]":
        from .set_metrics import metrics_of_label_sets

        return metrics_of_label_sets(self.labels, self.similarity)

    @cached_property
    def classes(self) -> "Mapping[Label, Mapping[str, Metric]]":
        from .set_metrics import metrics_by_member

        return metrics_by_member(self.labels)

    def units_by_class(self, metric: str, golds: Sequence[Set]) -> Mapping[str, int]:
        if metric not in ("balanced_accuracy", "macro_f1"):
            return {}
        units: Counter[str] = Counter()
        for gold in golds:
            units.update(gold)
        return units

    def similarity(self, gold: Set, value: Set) -> float:
        return _example_f1(gold, value)

    def wrong(self, gold: Set) -> Set:
        return tuple(sorted(set(self.labels) - set(gold)))

    @property
    def row_type(self) -> Annotation:
        return list[Literal[*self.labels]]  # type: ignore[valid-type]

    @property
    def expects(self) -> str:
        return f"any of: {', '.join(self.labels)}; several with a semicolon between them, or {_NONE}"

    def cell(self, written: str) -> list[object] | None:
        text = written.strip()
        names: list[object] = [part.strip() for part in text.split(";")]
        if text.startswith("["):
            names = _json_names(text)
        if names == [_NONE] and _NONE not in self.labels:
            names = []
        if self._are_labels(names):
            return names
        return None

    def _are_labels(self, names: Iterable[object]) -> bool:
        return all(name in self.labels for name in names)

    def of_json(self, data: object) -> Set:
        if not isinstance(data, list | tuple) or not self._are_labels(data):
            raise ValueError(f"no label set {data!r}")
        return tuple(sorted(set(data)))

    def to_json(self, value: Set | None) -> list[Label] | None:
        if value is None:
            return None
        labels = []
        for label in self.labels:
            if label in value:
                labels.append(label)
        return labels

    def text(self, value: Set) -> str:
        return "; ".join(value) or _NONE

    def feedback(self, text: str, gold: Set, value: Set | None) -> str:
        words = super().feedback(text, gold, value)
        if value is None:
            return words
        missing = sorted(set(gold) - set(value))
        too_many = sorted(set(value) - set(gold))
        if missing:
            words += f"; missing: {', '.join(missing)}"
        if too_many:
            words += f"; too many: {', '.join(too_many)}"
        return words

    def task_words(self) -> str:
        return f"labels (any number of them, or none): {', '.join(self.labels)}"

    def identity(self) -> dict[str, object]:
        return {"labels": list(self.labels), "answer": "label set"}

    def combine(self, votes: Mapping[Set, int], sampling: Sampling) -> Set | None:
        return named_vote(votes, labels=self.labels, samples=sampling.samples, threshold=sampling.needed)

    def is_decided(self, votes: Mapping[Set, int], remaining: int, sampling: Sampling) -> bool:
        # A label that is decided stays so: a further sample can neither take back a vote nor give two.
        return remaining == 0 or self.combine(votes, sampling) is not None

    def describe(self, values: Sequence[Set]) -> dict[str, object]:
        counts: Counter[Label] = Counter()
        units_without_label = 0
        for value in values:
            counts.update(value)
            if not value:
                units_without_label += 1
        labels = {label: counts[label] for label in self.labels}
        return {"labels": labels, "without_label": units_without_label}

    def usual(self, golds: Sequence[Set]) -> Sequence[Set]:
        constants = list(super().usual(golds))
        constants.append(())
        constants.extend((label,) for label in self.labels)
        return list(dict.fromkeys(constants))

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        return dict.fromkeys(map(str, values[0] or ()), 1)

    def totals(self, sums: Mapping[str, float]) -> dict[str, object]:
        return {"labels": {label: int(sums.get(label, 0)) for label in self.labels}}


def _json_names(text: str) -> list[object]:
    """Return the entries of a JSON list; a text that is no JSON, or no list, is the only entry."""
    try:
        labels = json.loads(text)
    except (RecursionError, ValueError):
        return [text]
    if isinstance(labels, list):
        return labels
    return [labels]


def _example_f1(gold: Set, value: Set) -> float:
    """Return the F1 of one set of labels against another; 1.0 for two empty ones."""
    labels_in_both = len(set(gold) & set(value))
    labels = len(gold) + len(value)
    if labels == 0:
        return 1.0
    return 2.0 * labels_in_both / labels


Objects: TypeAlias = tuple[Any, ...]
"""Hashable objects; an object of a model is its canonical JSON text."""
Similarity: TypeAlias = Callable[[Any, Any], float]
"""(an object of gold, an object of the answer) -> how far they are the same, in [0, 1]."""


@dataclass(frozen=True)
class _WrongObjects:
    """A number of objects that are like none in gold: the value of a missing answer."""

    count: int


@dataclass(frozen=True)
class ObjectSets(Members):
    """The scale of answers that are any number of objects; a value is a tuple of hashable objects, in any order.

    An object of a pydantic model is its canonical JSON text, from which it is read back unchanged.
    """

    same: Similarity  # how similar an object of gold and one of the answer are
    model: type[pydantic.BaseModel] = pydantic.BaseModel
    key: tuple[str, ...] = ()  # the fields by which two objects are compared; default: all
    noun: str = "set"  # what a value is called

    default = "f1"

    _combining: ClassVar[str] = (
        "the one given by more than half counts, else the one most similar to all others"
    )

    def __post_init__(self) -> None:
        unknown = set(self.key) - set(self.names)
        if unknown:
            hint = "name fields of the model as key"
            raise UsageError(f"{self.model.__name__} has no fields {', '.join(sorted(unknown))}", hint=hint)

    @cached_property
    def metrics(self) -> "Mapping[str, Metric]":
        from .set_metrics import metrics_of_object_sets

        return metrics_of_object_sets(self.sums)

    def sums(self, gold: Objects, value: Objects | _WrongObjects) -> tuple[float, float, float]:
        """Return the summed similarity of matched objects, and the numbers of objects in gold and in the answer."""
        if isinstance(value, _WrongObjects):
            return 0.0, float(len(gold)), float(value.count)
        matched = sum(similarity for _, _, similarity in self.match(gold, value))
        return matched, float(len(gold)), float(len(value))

    def match(self, gold: Objects, value: Objects) -> list[tuple[int, int, float]]:
        """Return the best assignment: (place in gold, place in the answer, similarity above 0), by place in gold."""
        from .set_metrics import assign_objects

        if not gold or not value:
            return []
        pairs = self._matched_pairs.get((gold, value))
        if pairs is None:
            pairs = assign_objects(self.same, gold, value)
            self._matched_pairs[gold, value] = pairs
        return pairs

    @cached_property
    def _matched_pairs(self) -> dict[tuple[Objects, Objects], list[tuple[int, int, float]]]:
        # Every metric, resample and candidate asks for the same pairs again, and an assignment takes its time.
        return {}

    def similarity(self, gold: Objects, value: Objects) -> float:
        """Return the F1 of one set against the other, in [0, 1]; 1.0 for two empty sets."""
        if not gold and not value:
            return 1.0
        matched, in_gold, in_value = self.sums(gold, value)
        return 2.0 * matched / (in_gold + in_value)

    def wrong(self, gold: Objects) -> _WrongObjects:
        return _WrongObjects(max(1, len(gold)))

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of an object."""
        return tuple(self.model.model_fields)

    @property
    def row_type(self) -> Annotation:
        return list[self.model]  # type: ignore[name-defined]

    @property
    def expects(self) -> str:
        return f"a JSON list of objects with {', '.join(self.names)}"

    def cell(self, written: str) -> list[object] | None:
        try:
            return self.to_json(self.of_json(json.loads(written)))
        except (RecursionError, ValueError):
            return None

    def of_json(self, data: object) -> tuple[str, ...]:
        if not isinstance(data, list | tuple):
            raise ValueError(f"no list of objects {data!r}"[:200])
        try:
            texts = {self._canonical_text(item) for item in data}
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ValueError(f"no {self.model.__name__}: {place}: {first['msg']}") from error
        return tuple(sorted(texts))

    def _canonical_text(self, item: object) -> str:
        """Return an object as JSON with its fields in order; raises ``ValidationError`` for what is no object."""
        if isinstance(item, pydantic.BaseModel):
            item = item.model_dump(mode="json")
        checked = self.model.model_validate(item)
        return json.dumps(checked.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)

    def to_json(self, value: Objects | None) -> list[object] | None:
        if value is None:
            return None
        return [json.loads(text) for text in value]

    def text(self, value: Objects) -> str:
        return json.dumps(self.to_json(value), ensure_ascii=False)

    def category(self, value: Objects) -> str:
        return SIZES[min(2, len(value))]

    def truth(self, text: str, gold: Objects) -> str:
        objects = " none"
        if gold:
            objects = "".join(f"\n- {item}" for item in gold)
        return f'"{text[:SHOWN]}": people named{objects}'

    def feedback(self, text: str, gold: Objects, value: Objects | None) -> str:
        if value is None:
            return f"{self.truth(text, gold)}\njudged unusable"
        matched_golds: set[int] = set()
        matched_answers: set[int] = set()
        for gold_place, answer_place, similarity in self.match(gold, value):
            if similarity == 1.0:
                matched_golds.add(gold_place)
                matched_answers.add(answer_place)
        lines = [f"{self.truth(text, gold)}\njudged:"]
        for place, item in enumerate(gold):
            if place not in matched_golds:
                lines.append(f"- missing: {item}")
        for place, item in enumerate(value):
            if place not in matched_answers:
                lines.append(f"- not named by people: {item}")
        return "\n".join(lines)

    def task_words(self) -> str:
        return f"answer: a list of any number of objects with {', '.join(self.names)}"

    def identity(self) -> dict[str, object]:
        key = list(self.key or self.names)
        return {"labels": [], "answer": "object set", "objects": list(self.names), "key": key}

    def combine(self, votes: Mapping[Objects, int], sampling: Sampling) -> Objects | None:
        """Return the set that more than half of the samples give, else the one most similar to all of them.

        ``None`` if no more than half of the samples can be read.
        """
        samples = list(Counter(votes).elements())
        majority_size = more_than_half(sampling.samples)
        if len(samples) < majority_size:
            return None
        for value, count in votes.items():
            if count >= majority_size:
                return value

        def similarity_to_all(value: Objects) -> float:
            return sum(self.similarity(value, sample) for sample in samples)

        return max(samples, key=similarity_to_all)

    def describe(self, values: Sequence[Objects]) -> dict[str, object]:
        objects = 0
        units_without_object = 0
        for value in values:
            objects += len(value)
            if not value:
                units_without_object += 1
        return {"objects": objects, "without_object": units_without_object}

    def usual(self, golds: Sequence[Objects]) -> Sequence[Objects]:
        single_objects: list[Objects] = []
        for gold in golds:
            single_objects.extend((item,) for item in gold)
        constants = list(super().usual(golds))
        constants.append(())
        constants.extend(super().usual(single_objects))
        return list(dict.fromkeys(constants))

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        return {"objects": len(values[0] or ()), "with_object": bool(values[0]), **counts}

    def totals(self, sums: Mapping[str, float]) -> dict[str, object]:
        totals: dict[str, object] = {"objects": 0, "with_object": 0}
        for name, value in sums.items():
            totals[name] = int(value)
        return totals
