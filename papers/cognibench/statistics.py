"""What labelled dialogues look like: CogniBench's Table 2, and how answers change (Figures 5 and 7).

Every number is a ratio with its interval, clustered by document. By turn: factual and cognitive statements per answer,
the share of cognitive ones, and the rates of hallucination. By position: a sentence stands at (its number - 1/2) /
sentences of its answer; the answer is cut into equal parts, and for each part there is the rate of hallucination among
the statements of a type there, and the part's share of all hallucinations of that type.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ...evaluation.intervals import Cell, Share, breakdown
from ...programs.cognibench import HALLUCINATED, statement_type
from ...report.scores import number_cell
from ...report.table import Table, records, table
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
    """Return the statistics as JSON values; ``positive`` are the labels that are hallucinations."""
    labels = Counter(label for one in answers for label in one.labels)
    conversations = Counter(one.answer.dialogue for one in answers)
    contexts = {one.answer.dialogue: one.answer.reference for one in answers}
    return {
        "responses": len(answers),
        "conversations": len(conversations),
        "documents": len({one.answer.group for one in answers}),
        "sentences": sum(labels.values()) - labels[None],
        "unlabelled": labels[None],
        "context_words": _spread([count_words(text) for text in contexts.values()]),
        "words_per_response": _spread([count_words(one.answer.text) for one in answers]),
        "turns": _spread(list(conversations.values())),
        "labels": {label: labels[label] for label in LABELS},
        "shares": plain(label_shares(answers, positive)),
    }


def _spread(values: Sequence[int]) -> dict[str, float]:
    return {"min": min(values), "max": max(values), "mean": round(sum(values) / len(values), 2)}


def statistics_tables(statistics: Mapping[str, Any]) -> list[Table]:
    """Return what :func:`describe_labelled` gave as tables."""
    sizes = {
        "responses": statistics["responses"],
        "conversations": statistics["conversations"],
        "documents": statistics["documents"],
        "labelled sentences": statistics["sentences"],
        "context words": "{min}-{max} ({mean})".format(**statistics["context_words"]),
        "words a response": "{min}-{max} ({mean})".format(**statistics["words_per_response"]),
    }
    shares = [
        [
            _words(name),
            number_cell(share["value"]),
            "-" if share["low"] is None else f"[{share['low']:.3f}, {share['high']:.3f}]",
            f"{share['count']:.0f} of {share['of']:.0f}",
        ]
        for name, share in statistics["shares"].items()
    ]
    return [
        records("statistics (as CogniBench Table 2; words min-max (mean))", [sizes]),
        table("shares of sentences", ("share", "value", "95 % interval", "counted"), shares),
    ]


@dataclass(frozen=True, kw_only=True)
class Dynamics:
    """How answers change, by turn and within an answer."""

    by_turn: Sequence[Row]  # ``turn``, the number of its ``answers``, and its measures
    by_position: Sequence[Row]  # ``part``, of how many (``of``), and its measures

    def to_json(self) -> dict[str, Any]:
        """Return both tables as plain JSON types."""
        return plain_fields(self)

    def tables(self) -> list[Table]:
        """Return both tables for people: cells with intervals."""
        turns = [list(row.values()) for row in self.by_turn]
        parts = [
            [f"{row['part']} of {row['of']}", *(row[name] for name in _POSITION)] for row in self.by_position
        ]
        return [
            table("by turn (Figures 5 and 7, top)", ["turn", "answers", *map(_words, _TURN)], turns),
            table("by position in the answer (Figure 7, bottom)", ["part", *map(_words, _POSITION)], parts),
        ]


def dynamics(
    answers: Sequence[Labelled], *, parts: int = PARTS, positive: Collection[str] = HALLUCINATED
) -> Dynamics:
    """Return the dynamics of labelled answers."""
    turns = [cell for one in answers for cell in _turn_cells(one, positive)]
    places = (cell for one in answers for cell in _position_cells(one, positive, parts))
    numbers = Counter(one.answer.turn + 1 for one in answers)
    # Statements per answer may be more than one, a share may not.
    rates, more = breakdown(turns), breakdown((cell for cell in turns if "per" in cell[2]), most=math.inf)
    return Dynamics(
        by_turn=[
            {"turn": turn, "answers": numbers[turn], **rates[turn], **more[turn]} for turn in sorted(numbers)
        ],
        by_position=[{"part": part, "of": parts, **row} for part, row in breakdown(places).items()],
    )


def _turn_cells(one: Labelled, positive: Collection[str]) -> Iterator[Cell[int, str]]:
    counts = _counts(one.labels, positive)
    for name, (part, whole) in _TURN.items():
        yield one.answer.group, one.answer.turn + 1, name, counts[part], counts[whole]


def _position_cells(one: Labelled, positive: Collection[str], parts: int) -> Iterator[Cell[int, str]]:
    size = len(one.labels)
    in_all = Counter({f"{name} in all": count for name, count in _counts(one.labels, positive).items()})
    for place in range(1, parts + 1):
        here = [label for n, label in enumerate(one.labels) if int((n + 0.5) * parts / size) + 1 == place]
        counts = _counts(here, positive) + in_all
        for name, (part, whole) in _POSITION.items():
            yield one.answer.group, place, name, counts[part], counts[whole]


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
