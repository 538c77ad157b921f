"""Remembered rows: labelled rows that an artifact holds, of which each call shows those most like its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import dspy

from ..engines.draws import current_draw
from ..text.ranking import Ranking
from ..text.terms import count_tokens
from .together import run_to_end

if TYPE_CHECKING:
    from ..engines.embedding import Embedder, Vectors

Fields: TypeAlias = Mapping[str, object]
"""Field of a predictor -> its value."""


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """Labelled rows of one predictor, and how many of them a call shows after the fixed demonstrations."""

    rows: Mapping[str, Fields]  # id of the case -> its demonstration
    inputs: tuple[str, ...]  # the fields of a demonstration that are inputs
    fields: tuple[str, ...]  # the inputs that are compared: what is judged
    shown: int  # rows a call, at most
    tokens: int  # what they may take together, about
    embedder: str = ""  # model string of what embeds texts: vectors rank beside words; empty for words alone

    def __deepcopy__(self, memo: dict[int, object]) -> Remembered:
        return self

    def __getstate__(self) -> dict[str, object]:
        """Return all but the vectors: another process has connections of its own."""
        return {name: value for name, value in vars(self).items() if name != "_vectors"}

    @cached_property
    def _vectors(self) -> WeakKeyDictionary[Embedder, Vectors]:
        """The vectors of the rows, as long as the embedder lives that gave them."""
        return WeakKeyDictionary()

    @property
    def words(self) -> str:
        """Which rows a call shows, in words; empty where it shows all."""
        if self.shown >= len(self.rows):
            return ""
        words = f"the {self.shown} most like it of {len(self.rows)}"
        if self.embedder:
            words += f", by words and vectors of {self.embedder}"
        return words

    @cached_property
    def sizes(self) -> list[int]:
        """The tokens that each row takes, about."""
        sizes: list[int] = []
        for demo in self.rows.values():
            sizes.append(sum(count_tokens(str(value)) for value in demo.values()))
        return sizes

    @cached_property
    def compared(self) -> list[dict[str, object]]:
        """The inputs of each row."""
        rows: list[dict[str, object]] = []
        for demo in self.rows.values():
            rows.append({name: demo[name] for name in self.inputs if name in demo})
        return rows

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking(self.compared, self.fields, self.sizes)

    @cached_property
    def examples(self) -> list[dspy.Example]:
        """The rows as DSPy takes them."""
        return [dspy.Example(**demo).with_inputs(*self.inputs) for demo in self.rows.values()]

    def near(self, inputs: Fields, embedder: Embedder | None = None) -> list[dspy.Example]:
        """Return the rows to show beside these inputs, whose text was embedded before, the most alike last."""
        hidden_ids = current_draw.get().hidden_rows
        hidden_places: set[int] = set()
        if hidden_ids:
            for place, case_id in enumerate(self.rows):
                if case_id in hidden_ids:
                    hidden_places.add(place)
        likeness: list[float] | None = None
        if embedder is not None:
            (vector,) = embedder.remembered_vectors(self.texts([inputs]))
            likeness = (self._vectors[embedder] @ vector).tolist()
        nearest = self._ranking.nearest(inputs, self.shown, self.tokens, hidden_places, likeness)
        return [self.examples[place] for place in nearest]

    def texts(self, rows: Iterable[Fields]) -> list[str]:
        """Return the texts by which rows are compared."""
        return [self._ranking.text_of(row) for row in rows]

    async def opened(self, lm: dspy.LM | None) -> Embedder | None:
        """Return the embedder beside ``lm``, with the vectors of all rows; ``None`` where words rank alone."""
        if not self.embedder:
            return None
        from ..engines.embedding import embedder_beside  # vectors need NumPy, words do not

        embedder = embedder_beside(lm, self.embedder)
        if embedder is not None and embedder not in self._vectors:
            self._vectors[embedder] = await embedder.embed(self.texts(self.compared))
        return embedder

    def without(self, ids: Collection[str]) -> Remembered:
        """Return the remembered rows but for these."""
        rows: dict[str, Fields] = {}
        for case_id, demo in self.rows.items():
            if case_id not in ids:
                rows[case_id] = demo
        return replace(self, rows=rows)

    def to_json(self) -> dict[str, object]:
        """Return the remembered rows as JSON values."""
        data: dict[str, object] = {
            "demos": [dict(demo) for demo in self.rows.values()],
            "rows": list(self.rows),
            "inputs": list(self.inputs),
            "fields": list(self.fields),
            "shown": self.shown,
            "tokens": self.tokens,
        }
        if self.embedder:
            data["embedder"] = self.embedder
        return data

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
        embedder: Embedder | None = None
        if self.remembered.embedder:
            embedder = run_to_end(self._embed_inputs(inputs))
        return super().forward(**self._add_demos(inputs, embedder))

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Ask without blocking."""
        embedder = await self._embed_inputs(inputs)
        return await super().aforward(**self._add_demos(inputs, embedder))

    async def _embed_inputs(self, inputs: Fields) -> Embedder | None:
        """Embed what is asked about, and return the embedder that did so; ``None`` where words rank alone."""
        embedder = await self.remembered.opened(dspy.settings.lm)
        if embedder is not None:
            await embedder.embed(self.remembered.texts([inputs]))
        return embedder

    def _add_demos(self, inputs: Fields, embedder: Embedder | None) -> dict[str, object]:
        """Return the inputs with all demonstrations of a call: the fixed ones, then the nearest rows."""
        demos = list(self.demos) + self.remembered.near(inputs, embedder)
        return {"demos": demos, **inputs}
