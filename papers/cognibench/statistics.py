"""What labelled dialogues look like: CogniBench's Table 2, and how answers change (Figures 5 and 7).

Every number is a ratio with its interval, clustered by document. By turn: factual and cognitive statements per answer,
the share of cognitive ones, and the rates of hallucination. By position: a sentence stands at (its number - 1/2) /
sentences of its answer; the answer is cut into equal parts, and for each part there is the rate of hallucination among
the statements of a type there, and the part's share of all hallucinations of that type.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from ...evaluation.intervals import Cell, Share, breakdown
from ...programs.cognibench import HALLUCINATED, statement_type
from ...signatures.cognibench import LABELS, TIERS
from ...text.json_lines import plain
from ...text.wording import count_words
from .turns import Labelled

Rows: TypeAlias = dict[int, dict[str, Share]]
"""Turn or part of the answer, from 1 -> measure -> ratio."""

PARTS: Final = 5
_TURN: Final = {
    "factual_per_answer": ("factual", "answers"),
    "cognitive_per_answer": ("cognitive", "answers"),
    "cognitive_share": ("cognitive", "all"),
    "hallucinated_factual": ("bad factual", "factual"),
    "hallucinated_cognitive": ("bad cognitive", "cognitive"),
    "hallucinated": ("bad", "all"),
}
"""Measure -> which sentences of an answer it counts, and among which."""
_POSITION: Final = {
    "hallucinated_factual": ("bad factual", "factual"),
    "hallucinated_cognitive": ("bad cognitive", "cognitive"),
    "factual_hallucinations_here": ("bad factual", "bad factual in all"),
    "cognitive_hallucinations_here": ("bad cognitive", "bad cognitive in all"),
}
"""The same of a part of an answer; ``in all`` are those of the whole answer."""
_PLOTS: Final[tuple[tuple[str, Literal["turn", "position"], tuple[str, ...], str, str], ...]] = (
    ("statements-by-turn", "turn", (*_TURN,)[:2], "Statements per answer, by turn", "statements"),
    ("cognitive-share-by-turn", "turn", (*_TURN,)[2:3], "Share of cognitive statements, by turn", "share"),
    ("hallucinations-by-turn", "turn", (*_TURN,)[3:5], "Rate of hallucination, by turn", "share"),
    ("hallucinations-by-position", "position", (*_POSITION,)[2:],
     "Where in an answer its hallucinations stand", "share"),
)  # fmt: skip


def label_sets(positive: Collection[str]) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """Return the shares that are reported: name -> (which labels count, among which)."""
    every, bad = frozenset(LABELS), frozenset(positive)
    kinds = {
        kind: frozenset(label for label in LABELS if statement_type(label) == kind)
        for kind in ("irrelevant", "factual", "cognitive")
    }
    return {
        **{kind: (labels, every) for kind, labels in kinds.items()},
        "hallucinated": (bad, every),
        **{f"hallucinated_of_{kind}": (bad, kinds[kind]) for kind in ("factual", "cognitive")},
        **{f"{tier}_of_cognitive": (frozenset({tier}), kinds["cognitive"]) for tier in TIERS},
    }


def label_shares(answers: Sequence[Labelled], positive: Collection[str]) -> dict[str, Share]:
    """Return those shares of the labelled sentences of answers."""
    return {
        name: Share.over(
            (one.answer.group, float(label in part), 1.0)
            for one in answers
            for label in one.labels
            if label in whole
        )
        for name, (part, whole) in label_sets(positive).items()
    }


def describe_labelled(
    answers: Sequence[Labelled], *, positive: Collection[str] = HALLUCINATED
) -> dict[str, Any]:
    """Return the statistics as JSON values; ``positive`` are the labels that are hallucinations.

    ``responses``, ``conversations``, ``documents``, ``sentences`` (labelled), ``unlabelled`` and ``labels`` are
    counts; ``context_words``, ``words_per_response`` and ``turns`` (per conversation) have ``min``, ``max`` and
    ``mean``; ``shares`` has every share with its interval; ``repeated`` counts sentences that their response
    holds more than once.
    """
    labels = Counter(label for one in answers for label in one.labels)
    conversations = Counter(one.answer.dialogue for one in answers)
    contexts = {one.answer.dialogue: one.answer.reference for one in answers}
    lowered = [[sentence.lower() for sentence in one.answer.sentences] for one in answers]
    return {
        "responses": len(answers),
        "conversations": len(conversations),
        "documents": len({one.answer.group for one in answers}),
        "sentences": sum(labels.values()) - labels[None],
        "unlabelled": labels[None],
        "repeated": sum(len(sentences) - len(set(sentences)) for sentences in lowered),
        "context_words": _spread([count_words(text) for text in contexts.values()]),
        "words_per_response": _spread([count_words(one.answer.text) for one in answers]),
        "turns": _spread(list(conversations.values())),
        "labels": {label: labels[label] for label in LABELS},
        "shares": plain(label_shares(answers, positive)),
    }


def _spread(values: Sequence[int]) -> dict[str, float | None]:
    if not values:
        return {"min": None, "max": None, "mean": None}
    return {"min": min(values), "max": max(values), "mean": round(sum(values) / len(values), 2)}


@dataclass(frozen=True, kw_only=True)
class Dynamics:
    """How answers change, by turn and within an answer."""

    by_turn: Rows
    by_place: Rows
    answers: dict[int, int]  # turn -> number of answers

    @property
    def _tables(self) -> dict[str, list[tuple[dict[str, int], dict[str, Share]]]]:
        """Table -> what each row is of, its place first, and its ratios."""
        turns = [({"turn": turn, "answers": self.answers[turn]}, row) for turn, row in self.by_turn.items()]
        parts = [({"part": part, "of": len(self.by_place)}, row) for part, row in self.by_place.items()]
        return {"turn": turns, "position": parts}

    def to_json(self) -> dict[str, Any]:
        """Return both tables as plain JSON types."""
        return {
            f"by_{name}": [{**about, **plain(row)} for about, row in rows]
            for name, rows in self._tables.items()
        }

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> "Dynamics":
        """Return what :meth:`to_json` wrote."""
        turns, parts = value["by_turn"], value["by_position"]
        return cls(
            by_turn={row["turn"]: {name: Share(**row[name]) for name in _TURN} for row in turns},
            by_place={row["part"]: {name: Share(**row[name]) for name in _POSITION} for row in parts},
            answers={row["turn"]: row["answers"] for row in turns},
        )

    def to_csv(self) -> str:
        """Return both tables as one CSV: table, place, measure, value, low, high, count, of, groups."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["table", "place", "measure", *(one.name for one in fields(Share))])
        for name, rows in self._tables.items():
            for about, row in rows:
                for measure, share in row.items():
                    shown = ["" if cell is None else f"{cell:.6g}" for cell in astuple(share)]
                    writer.writerow([name, next(iter(about.values())), measure, *shown])
        return text.getvalue()

    def sheets(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Return both tables for people: title, columns, rows of cells with intervals."""
        turns = [
            [str(turn), str(self.answers[turn]), *map(str, row.values())]
            for turn, row in self.by_turn.items()
        ]
        parts = [
            [f"{part} of {len(self.by_place)}", *map(str, row.values())]
            for part, row in self.by_place.items()
        ]
        return [
            ("by turn (Figures 5 and 7, top)", ["turn", "answers", *map(_words, _TURN)], turns),
            ("by position in the answer (Figure 7, bottom)", ["part", *map(_words, _POSITION)], parts),
        ]


def dynamics(
    answers: Sequence[Labelled], *, parts: int = PARTS, positive: Collection[str] = HALLUCINATED
) -> Dynamics:
    """Return the dynamics of labelled answers."""

    def by_turn(measures: Sequence[str]) -> Iterator[Cell[int, str]]:
        for one in answers:
            counts = _counts(one.labels, positive)
            for name in measures:
                part, whole = _TURN[name]
                yield one.answer.group, one.answer.turn + 1, name, counts[part], counts[whole]

    def by_place() -> Iterator[Cell[int, str]]:
        for one in answers:
            size, in_all = len(one.labels), _counts(one.labels, positive)
            for place in range(1, parts + 1):
                here = [
                    label
                    for number, label in enumerate(one.labels)
                    if int((number + 0.5) * parts / size) + 1 == place
                ]
                counts = _counts(here, positive) + Counter(
                    {f"{name} in all": count for name, count in in_all.items()}
                )
                for name, (part, whole) in _POSITION.items():
                    yield one.answer.group, place, name, counts[part], counts[whole]

    # Statements per answer may be more than one, a share may not.
    numbers, rates = breakdown(by_turn((*_TURN,)[:2]), most=math.inf), breakdown(by_turn((*_TURN,)[2:]))
    turns = Counter(one.answer.turn + 1 for one in answers)
    return Dynamics(
        by_turn={turn: {**numbers[turn], **rates[turn]} for turn in sorted(turns)},
        by_place=breakdown(by_place()),
        answers={turn: turns[turn] for turn in sorted(turns)},
    )


def _counts(labels: Sequence[str | None], positive: Collection[str]) -> Counter[str]:
    """Count one answer's labelled sentences: all, by type, and the hallucinated ones of each (``bad``)."""
    counts = Counter(answers=1)
    for label in labels:
        if label is not None:
            kind = statement_type(label)
            counts.update(["all", kind])
            counts.update(["bad", f"bad {kind}"] if label in positive else [])
    return counts


def _words(name: str) -> str:
    return name.replace("_", " ")


def plot_dynamics(found: Dynamics, folder: Path) -> list[Path]:
    """Draw both figures as SVG into a folder and return the files.

    A value of a single document has no interval and would look certain: it stands in the tables only, unless all
    are so.
    """
    from ...report.plotting import Series, draw

    written = []
    for name, axis, measures, title, y in _PLOTS:
        rows = found.by_turn if axis == "turn" else found.by_place
        series = []
        for measure in measures:
            shares = [(float(at), row[measure]) for at, row in enumerate(rows.values())]
            held = [(at, share) for at, share in shares if share.value is not None]
            sure = [(at, share) for at, share in held if share.low is not None]
            if held:
                points = tuple((at, float(share.value or 0.0)) for at, share in sure or held)
                low, high = (
                    tuple(float(getattr(share, end) or 0.0) for _, share in sure) for end in ("low", "high")
                )
                series.append(Series(name=_words(measure), points=points, low=low, high=high))
        if series:
            path = folder / f"{name}.svg"
            look: dict[str, Any] = (
                {"x": "turn"} if axis == "turn" else {"x": "part of the answer", "kind": "bars"}
            )
            draw(path, series, title=title, y=y, labels=list(map(str, rows)), **look)
            written.append(path)
    return written
