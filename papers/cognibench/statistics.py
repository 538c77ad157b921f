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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any, Final, TypeAlias

from ...evaluation.intervals import Cell, Share, breakdown
from ...programs.cognibench import HALLUCINATED, statement_type
from ...signatures.cognibench import LABELS, TIERS
from ...text.json_lines import plain, plain_fields
from ...text.wording import count_words
from .turns import Labelled

Row: TypeAlias = Mapping[str, Any]
"""A turn or a part of the answer: its number from 1, a second number, and the share of each measure."""

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

    by_turn: Sequence[Row]  # ``turn``, the number of its ``answers``, and its measures
    by_position: Sequence[Row]  # ``part``, of how many (``of``), and its measures

    def to_json(self) -> dict[str, Any]:
        """Return both tables as plain JSON types."""
        return plain_fields(self)

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> "Dynamics":
        """Return what :meth:`to_json` wrote."""
        turns, parts = (
            [
                {key: Share(**one) if isinstance(one, dict) else one for key, one in row.items()}
                for row in value[name]
            ]
            for name in ("by_turn", "by_position")
        )
        return cls(by_turn=turns, by_position=parts)

    def to_csv(self) -> str:
        """Return both tables as one CSV: table, place, measure, value, low, high, count, of, groups."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["table", "place", "measure", *(one.name for one in fields(Share))])
        for name, rows in (("turn", self.by_turn), ("position", self.by_position)):
            for row in rows:
                (_, place), _, *measures = row.items()
                for measure, share in measures:
                    shown = ["" if cell is None else f"{cell:.6g}" for cell in astuple(share)]
                    writer.writerow([name, place, measure, *shown])
        return text.getvalue()

    def sheets(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Return both tables for people: title, columns, rows of cells with intervals."""
        turns = [list(map(str, row.values())) for row in self.by_turn]
        parts = [
            [f"{row['part']} of {row['of']}", *(str(row[name]) for name in _POSITION)]
            for row in self.by_position
        ]
        return [
            ("by turn (Figures 5 and 7, top)", ["turn", "answers", *map(_words, _TURN)], turns),
            ("by position in the answer (Figure 7, bottom)", ["part", *map(_words, _POSITION)], parts),
        ]


def dynamics(
    answers: Sequence[Labelled], *, parts: int = PARTS, positive: Collection[str] = HALLUCINATED
) -> Dynamics:
    """Return the dynamics of labelled answers."""
    turns: list[Cell[int, str]] = []
    places: list[Cell[int, str]] = []
    for one in answers:
        group, size, counts = one.answer.group, len(one.labels), _counts(one.labels, positive)
        for name, (part, whole) in _TURN.items():
            turns.append((group, one.answer.turn + 1, name, counts[part], counts[whole]))
        in_all = Counter({f"{name} in all": count for name, count in counts.items()})
        for place in range(1, parts + 1):
            here = [label for n, label in enumerate(one.labels) if int((n + 0.5) * parts / size) + 1 == place]
            counts = _counts(here, positive) + in_all
            for name, (part, whole) in _POSITION.items():
                places.append((group, place, name, counts[part], counts[whole]))
    numbers = Counter(one.answer.turn + 1 for one in answers)
    # Statements per answer may be more than one, a share may not.
    rates, more = breakdown(turns), breakdown((cell for cell in turns if "per" in cell[2]), most=math.inf)
    return Dynamics(
        by_turn=[
            {"turn": turn, "answers": numbers[turn], **rates[turn], **more[turn]} for turn in sorted(numbers)
        ],
        by_position=[{"part": part, "of": parts, **row} for part, row in breakdown(places).items()],
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
