"""Remembered rows: labelled rows that an artifact holds, of which each call shows those most like its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import dspy

from ..engines.draws import current_draw
from ..engines.embedding import Embedder, Vectors, embedder_beside
from ..text.ranking import Ranking
from ..text.terms import count_tokens
from .together import collect


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """Labelled rows of one predictor, and how many of them a call shows after the fixed demonstrations."""

    rows: Mapping[str, Mapping[str, Any]]  # id of the case -> its demonstration
    inputs: tuple[str, ...]  # the fields of a demonstration that are inputs
    fields: tuple[str, ...]  # the inputs that are compared: what is judged
    shown: int  # rows a call, at most
    tokens: int  # what they may take together, about
    embedder: str = ""  # model string of what embeds texts: vectors rank beside words; empty for words alone

    def __deepcopy__(self, memo: dict[int, Any]) -> Remembered:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the vectors: another process has connections of its own."""
        return {name: value for name, value in vars(self).items() if name != "_vectors"}

    @cached_property
    def _vectors(self) -> WeakKeyDictionary[Embedder, Vectors]:
        """The vectors of the rows, as long as there is what has given them."""
        return WeakKeyDictionary()

    @property
    def words(self) -> str:
        """Which rows a call shows, in words; empty where it shows all."""
        vectors = f", by words and vectors of {self.embedder}" if self.embedder else ""
        few = self.shown < len(self.rows)
        return f"the {self.shown} most like it of {len(self.rows)}{vectors}" if few else ""

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

    def near(self, inputs: Mapping[str, Any], embedder: Embedder | None = None) -> list[dspy.Example]:
        """Return the rows to show beside these inputs, whose text was embedded before, the most alike last."""
        kept_apart = current_draw.get().hidden_rows
        places = {place for place, id_ in enumerate(self.rows) if id_ in kept_apart} if kept_apart else ()
        likeness = None
        if embedder is not None:
            likeness = (self._vectors[embedder] @ embedder.known(self.texts([inputs]))[0]).tolist()
        nearest = self._ranking.nearest(inputs, self.shown, self.tokens, places, likeness)
        return [self.examples[place] for place in nearest]

    def texts(self, rows: Iterable[Mapping[str, Any]]) -> list[str]:
        """Return the texts by which rows are compared."""
        return [self._ranking.text_of(row) for row in rows]

    async def opened(self, lm: dspy.LM | None) -> Embedder | None:
        """Return the embedder beside ``lm``, with the vectors of all rows; ``None`` where words rank alone."""
        embedder = embedder_beside(lm, self.embedder) if self.embedder else None
        if embedder is not None and embedder not in self._vectors:
            self._vectors[embedder] = await embedder.embed(self.texts(self.compared))
        return embedder

    def without(self, ids: Collection[str]) -> Remembered:
        """Return the remembered rows but for these."""
        return replace(self, rows={id_: demo for id_, demo in self.rows.items() if id_ not in ids})

    def to_json(self) -> dict[str, Any]:
        """Return the remembered rows as JSON values."""
        return {
            "demos": [dict(demo) for demo in self.rows.values()],
            "rows": list(self.rows),
            "inputs": list(self.inputs),
            "fields": list(self.fields),
            "shown": self.shown,
            "tokens": self.tokens,
            **({"embedder": self.embedder} if self.embedder else {}),
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
            embedder=str(data.get("embedder", "")),
        )


class Remembering(dspy.Predict):
    """A predictor that shows with each call the remembered rows most like it."""

    remembered: Remembered

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Ask with blocking calls."""
        embedder = collect(self._embedded(inputs)) if self.remembered.embedder else None
        return super().forward(**self._shown(inputs, embedder))

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Ask without blocking."""
        return await super().aforward(**self._shown(inputs, await self._embedded(inputs)))

    async def _embedded(self, inputs: Mapping[str, Any]) -> Embedder | None:
        """Embed what is asked about; return what has done so, ``None`` where words rank alone."""
        if (embedder := await self.remembered.opened(dspy.settings.lm)) is not None:
            await embedder.embed(self.remembered.texts([inputs]))
        return embedder

    def _shown(self, inputs: Mapping[str, Any], embedder: Embedder | None) -> dict[str, Any]:
        return {"demos": [*self.demos, *self.remembered.near(inputs, embedder)], **inputs}
