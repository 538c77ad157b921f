"""Hallucination rates of a model (Tables 5 and 6, Figure 5), from what was found for each item.

The rate of a format is the share of its answered items on which the model hallucinated; overall is the mean of the
formats, as section 4.2 says. A reply without an answer is counted apart and is in no rate, or counts as hallucinated. A
false negative takes a hallucinated answer for correct, a false positive the correct one for hallucinated. Intervals
leave out documents.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from ...evaluation.closed_labels import ClosedLabels
from ...evaluation.contrasts import Contrast, contrast, corrected
from ...evaluation.intervals import Cell, Jackknife, Share, breakdown, leaving_out
from ...evaluation.prevalence import Prevalence, Tallies, prevalence, tallies
from ...evaluation.ratios import Counted, quotient
from ...evaluation.rows import Row
from ...signatures.haluagent import TYPES
from ...text.json_lines import plain_fields
from .items import FORMATS, Item, TrueFalse

Unanswered: TypeAlias = Literal["apart", "wrong"]
"""A reply without an answer is in no rate, or is a hallucinated one."""
_SOUND = ClosedLabels(("sound", "hallucinated"))


@dataclass(frozen=True)
class Found:
    """Whether a model hallucinated on an item; ``None`` if it gave no answer; ``failed`` if it was not reached."""

    item: Item
    hallucinated: bool | None
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The rates of one model."""

    formats: Mapping[str, Share]  # of each format that there is
    overall: tuple[float, float, float] | None  # (value, low, high): the mean of the formats
    types: Mapping[str, Share]  # of generative items by their type
    errors: Mapping[str, Share]  # ``false_negative`` and ``false_positive`` of true-or-false items
    # the rate of generative items without the errors of the judge; ``None`` without a calibration
    corrected: Prevalence | None
    unanswered: Mapping[str, int]  # format -> items without an answer
    failed: int  # items that the model was not reached for
    unanswered_as: Unanswered = "apart"

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        overall = self.overall and dict(zip(("value", "low", "high"), self.overall, strict=True))
        return {**plain_fields(self), "overall": overall}


def rates(
    found: Sequence[Found],
    *,
    calibration: tuple[Tallies, Tallies] | None = None,
    unanswered: Unanswered = "apart",
) -> Rates:
    """Return the rates of one model."""
    silent = Counter(one.item.format for one in found if one.hallucinated is None and not one.failed)
    if unanswered == "wrong":
        found = [
            replace(one, hallucinated=True) if one.hallucinated is None and not one.failed else one
            for one in found
        ]
    answered = [one for one in found if one.hallucinated is not None]
    by_format = {name: [one for one in answered if one.item.format == name] for name in FORMATS}
    present = {name: ones for name, ones in by_format.items() if ones}
    tables = breakdown(_cells(answered))

    def columns(table: str, names: Sequence[str]) -> dict[str, Share]:
        row = tables.get(table, {})
        return {name: row[name] for name in names if name in row}

    return Rates(
        formats=columns("formats", FORMATS),
        overall=_overall(list(present.values())),
        types=columns("types", TYPES),
        errors=columns("errors", ("false_negative", "false_positive")),
        corrected=_corrected(by_format["generative"], calibration),
        unanswered={name: silent[name] for name in FORMATS},
        failed=sum(one.failed for one in found),
        unanswered_as=unanswered,
    )


def _cells(answered: Iterable[Found]) -> Iterator[Cell[str, str]]:
    """Yield every answer in the table of formats, and in that of the types or of the errors of its format."""
    for one in answered:
        group, wrong, item = _group(one), float(bool(one.hallucinated)), one.item
        yield group, "formats", item.format, wrong, 1.0
        if isinstance(item, TrueFalse):
            yield group, "errors", "false_positive" if item.correct else "false_negative", wrong, 1.0
        elif item.format == "generative":
            yield group, "types", item.type, wrong, 1.0


def paired(models: Mapping[str, Sequence[Found]]) -> tuple[Contrast, ...]:
    """Hold each two models against each other on the items that both answered, by item and by document (Holm).

    Right is an answer that is not hallucinated. A pair without such an item is left out.
    """
    contrasts = []
    for one, two in combinations(models, 2):
        first, second = ({item.id: row for item, row in _rows(models[name])} for name in (one, two))
        both = sorted(first.keys() & second.keys())
        if both:
            sides = [(name, [[rows[key] for key in both]]) for name, rows in ((one, first), (two, second))]
            contrasts.append(contrast(sides[0], sides[1], "accuracy", _SOUND))
    return corrected(contrasts)


def _rows(found: Iterable[Found]) -> Iterator[tuple[Item, Row]]:
    for one in found:
        if one.hallucinated is not None:
            said = _SOUND.domain[one.hallucinated]
            yield one.item, Row(id=one.item.id, group=_group(one), gold=_SOUND.domain[:1], predicted=(said,))


def _group(one: Found) -> str:
    return one.item.group or one.item.id


def _overall(formats: Sequence[Sequence[Found]]) -> tuple[float, float, float] | None:
    """Return the mean of the formats' rates with its interval, without the same documents each time."""
    if not formats:
        return None
    groups = sorted({_group(one) for ones in formats for one in ones})
    place = {group: number for number, group in enumerate(groups)}
    table = np.zeros((len(formats), len(groups), 2))
    for number, ones in enumerate(formats):
        for one in ones:
            table[number, place[_group(one)]] += (float(bool(one.hallucinated)), 1.0)
    sums = table.sum(axis=1)
    each = sums[:, 0] / sums[:, 1]
    value = float(each.mean())
    if len(groups) < 2:
        return value, 0.0, 1.0
    left = np.einsum("bg,fgk->bfk", leaving_out(len(groups)), table)
    # a format that only one document has is kept as it is where that is left out
    rates_left = np.where(left[:, :, 1] > 0, quotient(left[:, :, 0], left[:, :, 1]), each)
    top, bottom = (frozenset(np.flatnonzero(each == end).tolist()) for end in (1.0, 0.0))
    counted = Counted(each=table[:, :, 1].T, top=top, bottom=bottom)
    found = Jackknife.of(value, rates_left.mean(axis=1), counted).within(0.0, 1.0)
    return value, found.low, found.high


def _corrected(found: Sequence[Found], calibration: tuple[Tallies, Tallies] | None) -> Prevalence | None:
    if calibration is None or not found:
        return None
    return prevalence(tallies((_group(one), bool(one.hallucinated)) for one in found), *calibration)
