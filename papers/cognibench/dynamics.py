"""How answers change: by turn (CogniBench Figures 5 and 7, top) and within an answer (Figure 7, bottom).

Every cell is a ratio with its clustered interval. By turn: factual and cognitive statements per answer, the share
of cognitive ones, and the rates of hallucination. By position: a sentence stands at (its number - 1/2) / sentences
of its answer; the answer is cut into equal parts, and for each part there is the rate of hallucination among
the statements of a type there, and the part's share of all hallucinations of that type.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Final

from ...evaluation.intervals import Parts, Share, shares
from ...programs.cognibench import HALLUCINATED, statement_type
from ...text.json_lines import plain
from .turns import Labelled

PARTS = 5
_TYPES = ("factual", "cognitive")
_BY_TURN = (
    "factual_per_answer",
    "cognitive_per_answer",
    "cognitive_share",
    "hallucinated_factual",
    "hallucinated_cognitive",
    "hallucinated",
)
_BY_PLACE = (
    "hallucinated_factual",
    "hallucinated_cognitive",
    "factual_hallucinations_here",
    "cognitive_hallucinations_here",
)


@dataclass(frozen=True, kw_only=True)
class Dynamics:
    """The tables."""

    by_turn: dict[int, dict[str, Share]]  # turn, from 1 -> measure -> ratio; ``answers`` are in ``answers``
    by_place: dict[int, dict[str, Share]]  # part of the answer, from 1 -> measure -> ratio
    answers: dict[int, int]  # turn -> number of answers

    @property
    def _rows(self) -> dict[str, list[tuple[dict[str, int], dict[str, Share]]]]:
        """Table -> what each row is of, its place first, and its ratios."""
        turns = [({"turn": turn, "answers": self.answers[turn]}, row) for turn, row in self.by_turn.items()]
        parts = [({"part": part, "of": len(self.by_place)}, row) for part, row in self.by_place.items()]
        return {"turn": turns, "position": parts}

    def to_json(self) -> dict[str, Any]:
        """Return both tables as plain JSON types."""
        return {
            f"by_{table}": [{**about, **plain(row)} for about, row in rows]
            for table, rows in self._rows.items()
        }

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> "Dynamics":
        """Return what :meth:`to_json` wrote."""

        def table(name: str, place: str, measures: Sequence[str]) -> dict[int, dict[str, Share]]:
            return {row[place]: {one: Share(**row[one]) for one in measures} for row in found[name]}

        return cls(
            by_turn=table("by_turn", "turn", _BY_TURN),
            by_place=table("by_position", "part", _BY_PLACE),
            answers={row["turn"]: row["answers"] for row in found["by_turn"]},
        )

    def to_csv(self) -> str:
        """Return both tables as one CSV: table, place, measure, value, low, high, count, of, groups."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["table", "place", "measure", *(one.name for one in fields(Share))])
        for table, rows in self._rows.items():
            for about, row in rows:
                for name, one in row.items():
                    shown = ["" if cell is None else f"{cell:.6g}" for cell in astuple(one)]
                    writer.writerow([table, next(iter(about.values())), name, *shown])
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
            ("by turn (Figures 5 and 7, top)", ["turn", "answers", *map(_words, _BY_TURN)], turns),
            ("by position in the answer (Figure 7, bottom)", ["part", *map(_words, _BY_PLACE)], parts),
        ]


def dynamics(
    found: Sequence[Labelled],
    *,
    parts: int = PARTS,
    positive: Collection[str] = HALLUCINATED,
) -> Dynamics:
    """Return the dynamics of labelled answers."""
    turns: dict[int, list[Labelled]] = {}
    for one in sorted(found, key=lambda one: one.answer.turn):
        turns.setdefault(one.answer.turn + 1, []).append(one)
    return Dynamics(
        by_turn={turn: _of_turn(here, positive) for turn, here in turns.items()},
        by_place={part: _of_part(found, part, parts, positive) for part in range(1, parts + 1)},
        answers={turn: len(here) for turn, here in turns.items()},
    )


def _of_turn(here: Sequence[Labelled], positive: Collection[str]) -> dict[str, Share]:
    rows = [(one.answer.group, _counts(one.labels, positive)) for one in here]

    def ratio(part: str, whole: str) -> Parts:
        return [(group, count[part], count[whole]) for group, count in rows]

    counts = shares({f"{kind}_per_answer": ratio(kind, "answers") for kind in _TYPES}, most=math.inf)
    rates = shares(
        {
            "cognitive_share": ratio("cognitive", "all"),
            **{f"hallucinated_{kind}": ratio(f"bad {kind}", kind) for kind in _TYPES},
            "hallucinated": ratio("bad", "all"),
        }
    )
    return {**counts, **rates}


def _of_part(found: Sequence[Labelled], part: int, parts: int, positive: Collection[str]) -> dict[str, Share]:
    rows = [
        (
            one.answer.group,
            _counts(_within(one.labels, part, parts), positive),
            _counts(one.labels, positive),
        )
        for one in found
    ]
    rates = {
        f"hallucinated_{kind}": [(g, here[f"bad {kind}"], here[kind]) for g, here, _ in rows]
        for kind in _TYPES
    }
    placed = {
        f"{kind}_hallucinations_here": [
            (g, here[f"bad {kind}"], whole[f"bad {kind}"]) for g, here, whole in rows
        ]
        for kind in _TYPES
    }
    return shares({**rates, **placed})


def _within(labels: Sequence[str | None], part: int, parts: int) -> list[str | None]:
    size = len(labels)
    return [label for place, label in enumerate(labels) if int((place + 0.5) * parts / size) + 1 == part]


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


_PLOTS: Final = (  # of the turns, and the last one of the places
    ("statements-by-turn", _BY_TURN[:2], "Statements per answer, by turn", "statements"),
    ("cognitive-share-by-turn", _BY_TURN[2:3], "Share of cognitive statements, by turn", "share"),
    ("hallucinations-by-turn", _BY_TURN[3:5], "Rate of hallucination, by turn", "share"),
    ("hallucinations-by-position", _BY_PLACE[2:], "Where in an answer its hallucinations stand", "share"),
)


def plot_dynamics(found: Dynamics, folder: Path) -> list[Path]:
    """Draw both figures as SVG into a folder and return the files."""
    from ...report.plotting import draw

    written = []
    for name, measures, title, y in _PLOTS:
        placed = name.endswith("position")
        rows, x = (found.by_place, "part of the answer") if placed else (found.by_turn, "turn")
        series = [one for measure in measures if (one := _series(rows, measure)).points]
        if series:
            path = folder / f"{name}.svg"
            look = {"title": title, "x": x, "y": y}
            draw(path, series, **look, kind="bars" if placed else "line", labels=list(map(str, rows)))
            written.append(path)
    return written


def _series(rows: dict[int, dict[str, Share]], measure: str) -> Any:
    """Return a measure as a series over the places of its rows.

    A value of a single document has no interval and would look certain: it stands in the tables only, unless all
    are so.
    """
    from ...report.plotting import Series

    held = [
        (float(at), row[measure]) for at, row in enumerate(rows.values()) if row[measure].value is not None
    ]
    known = [(at, one) for at, one in held if one.low is not None]
    return Series(
        name=_words(measure),
        points=tuple((at, float(one.value or 0.0)) for at, one in known or held),
        low=tuple(float(one.low or 0.0) for _, one in known),
        high=tuple(float(one.high or 0.0) for _, one in known),
    )
