"""How answers change: by turn (CogniBench Figures 5 and 7, top) and within an answer (Figure 7, bottom).

Every cell is a ratio with its clustered interval. By turn: factual and cognitive statements per answer, the share
of cognitive ones, and the rates of hallucination. By position: a sentence stands at (its number - 1/2) / sentences
of its answer; the answer is cut into equal parts, and for each part there is the rate of hallucination among
the statements of a type there, and the part's share of all hallucinations of that type.
"""

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...evaluation.shares import Counted, Share, shares
from ...programs.cognibench import HALLUCINATED, statement_type
from .turns import Labelled

__all__ = ["PARTS", "Dynamics", "dynamics", "plot_dynamics"]

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
    """The tables.

    Attributes:
        by_turn: turn, from 1 -> measure -> ratio; ``answers`` are in ``answers``.
        by_place: part of the answer, from 1 -> measure -> ratio.
        answers: turn -> number of answers.
    """

    by_turn: dict[int, dict[str, Share]]
    by_place: dict[int, dict[str, Share]]
    answers: dict[int, int]

    def to_json(self) -> dict[str, Any]:
        """Return both tables as plain JSON types."""
        return {
            "by_turn": [
                {
                    "turn": turn,
                    "answers": self.answers[turn],
                    **{name: one.to_json() for name, one in row.items()},
                }
                for turn, row in self.by_turn.items()
            ],
            "by_position": [
                {
                    "part": part,
                    "of": len(self.by_place),
                    **{name: one.to_json() for name, one in row.items()},
                }
                for part, row in self.by_place.items()
            ],
        }

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> "Dynamics":
        """Return what :meth:`to_json` wrote.

        Raises:
            LookupError, TypeError: it did not write that.
        """

        def tables(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Share]]:
            return [{name: Share(**row[name]) for name in names} for row in rows]

        turns, places = found["by_turn"], found["by_position"]
        return cls(
            by_turn=dict(zip([row["turn"] for row in turns], tables(turns, _BY_TURN), strict=True)),
            by_place=dict(zip([row["part"] for row in places], tables(places, _BY_PLACE), strict=True)),
            answers={row["turn"]: row["answers"] for row in turns},
        )

    def to_csv(self) -> str:
        """Return both tables as one CSV: table, place, measure, value, low, high, count, of, groups."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["table", "place", "measure", "value", "low", "high", "count", "of", "groups"])
        for table, rows in (("turn", self.by_turn), ("position", self.by_place)):
            for place, row in rows.items():
                for name, one in row.items():
                    cells = [one.value, one.low, one.high, one.count, one.of, one.groups]
                    shown = ["" if cell is None else f"{cell:.6g}" for cell in cells]
                    writer.writerow([table, place, name, *shown])
        return text.getvalue()

    def sheets(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Return both tables for people: title, columns, rows of cells with intervals."""
        turns = [
            [str(turn), str(self.answers[turn]), *(str(row[name]) for name in _BY_TURN)]
            for turn, row in self.by_turn.items()
        ]
        places = [
            [f"{part} of {len(self.by_place)}", *(str(row[name]) for name in _BY_PLACE)]
            for part, row in self.by_place.items()
        ]
        return [
            ("by turn (Figures 5 and 7, top)", ["turn", "answers", *map(_words, _BY_TURN)], turns),
            ("by position in the answer (Figure 7, bottom)", ["part", *map(_words, _BY_PLACE)], places),
        ]


def dynamics(
    found: Sequence[Labelled],
    *,
    parts: int = PARTS,
    positive: Collection[str] = HALLUCINATED,
) -> Dynamics:
    """Return the dynamics of labelled answers.

    Args:
        found: labelled answers; sentences without a label count nowhere.
        positive: the labels that are hallucinations.
        parts: into how many equal parts an answer is cut.
    """
    turns = sorted({one.answer.turn + 1 for one in found})
    tables: dict[str, Counted] = {}
    for turn in turns:
        here = [one for one in found if one.answer.turn + 1 == turn]
        tables |= {f"turn {turn} {name}": list(items) for name, items in _of_turn(here, positive)}
    for part in range(1, parts + 1):
        cut = _of_part(found, part, parts, positive)
        tables |= {f"part {part} {name}": list(items) for name, items in cut}
    ratios = shares(tables)
    return Dynamics(
        by_turn={turn: {name: ratios[f"turn {turn} {name}"] for name in _BY_TURN} for turn in turns},
        by_place={
            part: {name: ratios[f"part {part} {name}"] for name in _BY_PLACE} for part in range(1, parts + 1)
        },
        answers={turn: sum(one.answer.turn + 1 == turn for one in found) for turn in turns},
    )


def _of_turn(here: Sequence[Labelled], positive: Collection[str]) -> Iterator[tuple[str, Counted]]:
    counts = [_counts(one.labels, positive) for one in here]
    groups = [one.answer.group for one in here]
    rows = list(zip(groups, counts, strict=True))
    for kind in _TYPES:
        yield f"{kind}_per_answer", [(group, n[kind], 1.0) for group, n in rows]
        yield f"hallucinated_{kind}", [(group, n[f"bad {kind}"], n[kind]) for group, n in rows]
    yield "cognitive_share", [(group, n["cognitive"], n["all"]) for group, n in rows]
    yield "hallucinated", [(group, n["bad factual"] + n["bad cognitive"], n["all"]) for group, n in rows]


def _of_part(
    found: Sequence[Labelled], part: int, parts: int, positive: Collection[str]
) -> Iterator[tuple[str, Counted]]:
    rows = [
        (
            one.answer.group,
            _counts(_within(one.labels, part, parts), positive),
            _counts(one.labels, positive),
        )
        for one in found
    ]
    for kind in _TYPES:
        yield f"hallucinated_{kind}", [(group, here[f"bad {kind}"], here[kind]) for group, here, _ in rows]
        yield (
            f"{kind}_hallucinations_here",
            [(g, here[f"bad {kind}"], whole[f"bad {kind}"]) for g, here, whole in rows],
        )


def _within(labels: Sequence[str | None], part: int, parts: int) -> list[str | None]:
    size = len(labels)
    return [label for place, label in enumerate(labels) if int((place + 0.5) * parts / size) + 1 == part]


def _counts(labels: Sequence[str | None], positive: Collection[str]) -> dict[str, float]:
    known = [label for label in labels if label is not None]
    found = {"all": float(len(known))}
    for kind in _TYPES:
        mine = [label for label in known if statement_type(label) == kind]
        found[kind], found[f"bad {kind}"] = (
            float(len(mine)),
            float(sum(label in positive for label in mine)),
        )
    return found


def _words(name: str) -> str:
    return name.replace("_", " ")


def plot_dynamics(found: Dynamics, folder: Path) -> list[Path]:
    """Draw both figures as SVG into a folder and return the files.

    Raises:
        JuristError: matplotlib is not installed. UsageError: a file cannot be written.
    """
    from ...report.plotting import draw

    wanted = (
        ("statements-by-turn", found.by_turn, _BY_TURN[:2], "Statements per answer, by turn", "turn"),
        (
            "cognitive-share-by-turn",
            found.by_turn,
            _BY_TURN[2:3],
            "Share of cognitive statements, by turn",
            "turn",
        ),
        ("hallucinations-by-turn", found.by_turn, _BY_TURN[3:5], "Rate of hallucination, by turn", "turn"),
        (
            "hallucinations-by-position",
            found.by_place,
            _BY_PLACE[2:],
            "Where in an answer its hallucinations stand",
            "part of the answer",
        ),
    )
    written = []
    for name, rows, measures, title, x in wanted:
        series = [one for measure in measures if (one := _series(rows, measure)).points]
        if series:
            path = folder / f"{name}.svg"
            kind: Any = "bars" if x.startswith("part") else "line"
            y = "statements" if "per answer" in title else "share"
            draw(path, series, title=title, x=x, y=y, kind=kind, labels=[str(place) for place in rows])
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
