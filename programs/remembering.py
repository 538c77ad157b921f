"""Remembered rows: labelled rows that an artifact holds, of which each call shows those most like its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import dspy

from ..text.ranking import Ranking
from ..text.terms import count_tokens

rows_apart: ContextVar[Collection[str]] = ContextVar("jurist_rows_apart", default=())
"""The ids of the rows that may not be shown now: those of the group of the row that is asked about."""


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """Labelled rows of one predictor, and how many of them a call shows after the fixed demonstrations."""

    rows: Mapping[str, Mapping[str, Any]]  # id of the case -> its demonstration
    inputs: tuple[str, ...]  # the fields of a demonstration that are inputs
    fields: tuple[str, ...]  # the inputs that are compared: what is judged
    shown: int  # rows a call, at most
    tokens: int  # what they may take together, about

    def __deepcopy__(self, memo: dict[int, Any]) -> Remembered:
        return self

    @cached_property
    def sizes(self) -> list[int]:
        """About how many tokens each row takes."""
        return [sum(count_tokens(str(value)) for value in demo.values()) for demo in self.rows.values()]

    @cached_property
    def compared(self) -> list[dict[str, Any]]:
        """The inputs of each row."""
        return [{name: demo[name] for name in self.inputs if name in demo} for demo in self.rows.values()]

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking(self.compared, self.fields, self.sizes)

    @cached_property
    def examples(self) -> list[dspy.Example]:
        """The rows as DSPy takes them."""
        return [dspy.Example(**demo).with_inputs(*self.inputs) for demo in self.rows.values()]

    def near(self, inputs: Mapping[str, Any]) -> list[dspy.Example]:
        """Return the rows to show beside these inputs, the most alike last."""
        kept_apart = rows_apart.get()
        places = {place for place, id_ in enumerate(self.rows) if id_ in kept_apart} if kept_apart else ()
        return [
            self.examples[place] for place in self._ranking.nearest(inputs, self.shown, self.tokens, places)
        ]

    def without(self, ids: Collection[str]) -> Remembered:
        """Return the remembered rows but for these."""
        return replace(self, rows={id_: demo for id_, demo in self.rows.items() if id_ not in ids})

    def to_json(self) -> dict[str, Any]:
        """Return what is remembered as JSON values."""
        return {
            "demos": [dict(demo) for demo in self.rows.values()],
            "rows": list(self.rows),
            "inputs": list(self.inputs),
            "fields": list(self.fields),
            "shown": self.shown,
            "tokens": self.tokens,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Remembered:
        """Rebuild what :meth:`to_json` gave."""
        return cls(
            rows=dict(zip(data["rows"], data["demos"], strict=True)),
            inputs=tuple(data["inputs"]),
            fields=tuple(data["fields"]),
            shown=int(data["shown"]),
            tokens=int(data["tokens"]),
        )


class Remembering(dspy.Predict):
    """A predictor that shows with each call the remembered rows most like it."""

    remembered: Remembered

    def shown(self, inputs: Mapping[str, Any]) -> list[Any]:
        """Return the demonstrations of a call."""
        return [*self.demos, *self.remembered.near(inputs)]

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Ask with blocking calls."""
        return super().forward(**{"demos": self.shown(inputs), **inputs})

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Ask without blocking."""
        return await super().aforward(**{"demos": self.shown(inputs), **inputs})
