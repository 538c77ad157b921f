"""A judge: a named program with typed inputs, a closed set of labels and a metric.

``Judge`` is the one description from which every command works, for the
built-in judges and for a user's own alike. It knows how a row becomes a case,
how a case becomes the program's inputs, and how the answer becomes labels. It
does not know models, optimizers or files.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args, get_origin

import dspy
import pydantic

from ..cases import Case, Label
from ..errors import GoldError, JudgeError
from ..text.escaping import defuse
from .shapes import Answer, OneLabel, Repeatable, Shape
from .state import Demo

__all__ = ["Judge", "Metric"]

Metric = str | Callable[[Sequence[Label], Sequence[Label]], float]
"""The name of a metric, or a function of (gold labels, predicted labels) with a value in [0, 1]."""


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A judge. Only ``name``, ``signature`` and ``positive`` are needed for one's own.

    Attributes:
        name: lower-case letters, digits and hyphens; the folder its artifacts live in.
        signature: the typed task. Its one output field with closed labels (``Literal`` or ``bool``) is the answer.
        positive: the labels that count as found (hallucinated, non-factual, ...) in precision, recall and F1.
        metric: what compiling maximises: ``"f1"`` (default), ``"macro_f1"``, ``"accuracy"``,
            ``"balanced_accuracy"``, ``"kappa"``, ``"precision"``, ``"recall"``, or a function.
        program: makes the basic program; default ``dspy.Predict(signature)``.
        variant: which prompt of several.
        description: one line for the catalogue.
        shape: how labels are read; default: one label for the whole case.
        rows: the pydantic model of a gold row; default: the signature's inputs and the label.
        labels: the closed set, in a fixed order; default: read from the signature.
        unit: the input field whose text gets the label; default: the last input.
        details: what else a label says about its unit, for the output of ``jurist run``.
        bundled: the bundled gold set that goes with it, if there is one.
        expand: turns one row of another layout into this judge's own rows (a response into its sentences): none
            where the row says nothing that concerns this judge, and the row itself (the same object) where it is
            already its own. See :meth:`expanded`.
        demonstrations: what gold says as a demonstration of each predictor, by its path; a predictor that gold says
            nothing about is absent. Needed where predictors do not all give the answer. See :meth:`demos`.
        tiers: strictness -> the labels that fall below it; empty for a judge without tiers.
        strictness: which of them ``positive`` is; empty for a judge without tiers.
    """

    name: str
    signature: type[dspy.Signature]
    positive: frozenset[Label]
    metric: Metric = "f1"
    program: Callable[[], dspy.Module] | None = None
    variant: str = "basic"
    description: str = ""
    shape: Shape | None = None
    rows: type[pydantic.BaseModel] | None = None
    labels: tuple[Label, ...] = ()
    unit: str = ""
    to_case: Callable[[Any], Case] | None = field(default=None, repr=False)
    details: Callable[[Label], Mapping[str, Any]] | None = field(default=None, repr=False)
    bundled: str = ""
    expand: Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]] | None = field(
        default=None, repr=False
    )
    demonstrations: Callable[[Case], Mapping[str, Demo]] | None = field(default=None, repr=False)
    tiers: Mapping[str, frozenset[Label]] = field(default_factory=dict, repr=False)
    strictness: str = ""

    def __post_init__(self) -> None:
        """Fill in what the signature says, and refuse what cannot work."""
        if not self.name or not all(c.islower() or c.isdigit() or c == "-" for c in self.name):
            raise JudgeError(
                f"the judge's name {self.name!r} is not usable",
                hint="use lower-case letters, digits and hyphens",
            )
        set_ = object.__setattr__
        set_(self, "positive", frozenset(self.positive))
        if self.shape is None:
            set_(self, "shape", self._one_label())
        if not self.labels:
            set_(self, "labels", tuple(getattr(self.answer_shape, "values", ())))
        unknown = sorted(self.positive - set(self.labels))
        if unknown or not self.positive or self.positive == set(self.labels):
            raise JudgeError(
                f"judge {self.name}: positive={sorted(self.positive)} does not split the labels {list(self.labels)}",
                hint="name at least one of the labels, and not all of them",
            )

    @property
    def answer_shape(self) -> Shape:
        """The shape of the answer."""
        assert self.shape is not None
        return self.shape

    @property
    def input_fields(self) -> tuple[str, ...]:
        """The signature's input fields, in order."""
        return tuple(self.signature.input_fields)

    @property
    def unit_field(self) -> str:
        """The input field that holds what gets the labels; every other input is evidence."""
        return str(getattr(self.answer_shape, "unit", "") or self.unit or self.input_fields[-1])

    @property
    def negative(self) -> frozenset[Label]:
        """The labels that are not positive."""
        return frozenset(self.labels) - self.positive

    def with_metric(self, metric: Metric) -> Judge:
        """Return the same judge, compiled for another metric."""
        return replace(self, metric=metric)

    def basic(self) -> dspy.Module:
        """Return a fresh basic program."""
        return self.program() if self.program else dspy.Predict(self.signature)

    def values(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the program is called with: rendered, and defused of every prompt format's markers."""
        rendered = self.answer_shape.render(defuse(dict(inputs), self.markers))
        return {name: rendered[name] for name in self.input_fields}

    @cached_property
    def markers(self) -> tuple[str, ...]:
        """The names of all fields of the task and of every predictor: each is a marker in some prompt."""
        tasks = [self.signature, *(one.signature for _, one in self.basic().named_predictors())]
        return tuple(dict.fromkeys(name for task in tasks for name in task.fields))

    def read(self, prediction: dspy.Prediction, inputs: Mapping[str, Any]) -> Answer:
        """Return what a prediction says: labels, ``None`` for each unit on which it is unusable, and why."""
        count = len(self.answer_shape.units(inputs))
        return self.shape_for(inputs).read(dict(prediction.items()), count)

    def render_partial(self, inputs: Mapping[str, Any], units: Sequence[int]) -> dict[str, Any] | None:
        """Return what the program is called with to ask for the units at these places (from 0) only.

        ``None`` if this shape cannot ask for a part of them.
        """
        if not isinstance(self.answer_shape, Repeatable):
            return None
        rendered = self.answer_shape.render_partial(defuse(dict(inputs), self.markers), units)
        return {name: rendered[name] for name in self.input_fields}

    def read_partial(
        self, prediction: dspy.Prediction, inputs: Mapping[str, Any], units: Sequence[int]
    ) -> Answer:
        """Return what a prediction says that was asked for the units at these places only."""
        shape = self.shape_for(inputs)
        assert isinstance(shape, Repeatable)
        return shape.read_partial(dict(prediction.items()), len(shape.units(inputs)), units)

    def shape_for(self, inputs: Mapping[str, Any]) -> Shape:
        """Return the shape of the answer about one row: one that reads by the row's text gets it as it is shown."""
        bind = getattr(self.answer_shape, "bound", None)
        if bind is None:
            return self.answer_shape
        bound: Shape = bind(defuse(dict(inputs), self.markers))
        return bound

    def demo(self, case: Case) -> Demo:
        """Return a labelled case as a few-shot demonstration: its inputs and the answer that gold gives.

        Other output fields (reasoning, units) are not in gold and left out; DSPy shows them as not supplied.

        Raises:
            ValueError: the case has no gold.
        """
        if case.gold is None:
            raise ValueError(f"case {case.id} has no gold labels")
        answer = self.shape_for(case.inputs).answer(case.gold)
        return {**self.values(case.inputs), self.answer_shape.field: answer}

    def demos(self, case: Case) -> Mapping[str, Demo]:
        """Return a labelled case as a few-shot demonstration of each predictor, by its path.

        By default every predictor that has the answer's field gets :meth:`demo`. A predictor that gold says
        nothing about (a second step that this case does not come to) is absent.

        Raises:
            ValueError: the case has no gold.
        """
        if self.demonstrations is not None:
            return self.demonstrations(case)
        return dict.fromkeys(self._answering, self.demo(case))

    @cached_property
    def _answering(self) -> tuple[str, ...]:
        wanted = self.answer_shape.field
        return tuple(
            name
            for name, predictor in self.basic().named_predictors()
            if wanted in predictor.signature.output_fields
        )

    @cached_property
    def calls(self) -> int:
        """The most calls that one sample takes: each predictor of the program once, at least 1."""
        return max(1, len(self.basic().named_predictors()))

    def expanded(
        self, row: Mapping[str, Any], *, path: str = "", line: int | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """Return the judge's own rows that a row holds: ``(row,)``, the same object, where it is its own.

        Raises:
            GoldError: the row is of a layout that is known and does not fit it, with its place.
        """
        if self.expand is None:
            return (row,)
        try:
            return self.expand(row)
        except pydantic.ValidationError as error:
            raise _gold_error(error, row, path, line) from error

    def case(self, row: Mapping[str, Any], *, path: str = "", line: int | None = None) -> Case:
        """Validate one row and return it as a case.

        Raises:
            GoldError: a missing or ill-typed field, or an unknown label, with its place.
        """
        try:
            parsed = self.row_model.model_validate(dict(row))
        except pydantic.ValidationError as error:
            raise _gold_error(error, row, path, line) from error
        case = self.to_case(parsed) if self.to_case else self._plain_case(parsed)
        return replace(case, source=f"{path}:{line}" if line is not None else path)

    @cached_property
    def row_model(self) -> type[pydantic.BaseModel]:
        """The pydantic model of a row."""
        if self.rows is not None:
            return self.rows
        fields: dict[str, Any] = {
            name: (info.annotation, ...) for name, info in self.signature.input_fields.items()
        }
        fields[self.answer_shape.field] = (Literal[self.labels] | None, None)
        fields["group"] = (str, "")
        return pydantic.create_model(
            f"{self.signature.__name__}Row", __config__={"extra": "ignore"}, **fields
        )

    def _plain_case(self, row: pydantic.BaseModel) -> Case:
        inputs = {name: getattr(row, name) for name in self.input_fields}
        label = getattr(row, self.answer_shape.field)
        gold = None if label is None else (label,)
        return Case(inputs=inputs, group=getattr(row, "group", ""), gold=gold)

    def _one_label(self) -> OneLabel:
        closed = {
            name: values
            for name, info in self.signature.output_fields.items()
            if (values := _closed(info.annotation))
        }
        if len(closed) != 1:
            raise JudgeError(
                f"judge {self.name}: {len(closed)} output fields of {self.signature.__name__} have closed labels",
                hint="give exactly one output field the type Literal[...] or bool, or pass shape=",
            )
        (name, values), unit = next(iter(closed.items())), self.unit or self.input_fields[-1]
        if self.labels and len(self.labels) == len(values):
            values = dict(zip(self.labels, values.values(), strict=True))
        return OneLabel(field=name, values=values, unit=unit)


def _closed(annotation: Any) -> dict[Label, str | bool]:
    if annotation is bool:
        return {"true": True, "false": False}
    if get_origin(annotation) is Literal and all(isinstance(value, str) for value in get_args(annotation)):
        return {value: value for value in get_args(annotation)}
    return {}


def _gold_error(
    error: pydantic.ValidationError, row: Mapping[str, Any], path: str, line: int | None
) -> GoldError:
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        have = ", ".join(repr(key) for key in list(row)[:8]) or "nothing"
        hint = f"the row has {have}; add the field or rename a column"
        return GoldError("the field is missing", path=path, line=line, field=name, hint=hint)
    shown = inspect.cleandoc(repr(first.get("input")))[:80]
    return GoldError(
        f"{first['msg']}, got {shown}",
        path=path,
        line=line,
        field=name,
        hint="correct the value or remove the row",
    )
