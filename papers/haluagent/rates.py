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
from ...evaluation.intervals import Cell, Share, breakdown, over_groups
from ...evaluation.metrics import Ratios, mean_parts
from ...evaluation.prevalence import Prevalence, Tallies, prevalence, tallies
from ...evaluation.rows import Row
from ...evaluation.units import Floats
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

    @property
    def group(self) -> str:
        """The document."""
        return self.item.group or self.item.id


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
    free = [(one.group, bool(one.hallucinated)) for one in answered if one.item.format == "generative"]
    tables = breakdown(_cells(answered))

    def columns(table: str, names: Sequence[str]) -> dict[str, Share]:
        row = tables.get(table, {})
        return {name: row[name] for name in names if name in row}

    return Rates(
        formats=columns("formats", FORMATS),
        overall=_overall(answered) if answered else None,
        types=columns("types", TYPES),
        errors=columns("errors", ("false_negative", "false_positive")),
        corrected=prevalence(tallies(free), *calibration) if calibration and free else None,
        unanswered={name: silent[name] for name in FORMATS},
        failed=sum(one.failed for one in found),
    )


def _cells(answered: Iterable[Found]) -> Iterator[Cell[str, str]]:
    """Yield every answer in the table of formats, and in that of the types or of the errors of its format."""
    for one in answered:
        wrong, item = float(bool(one.hallucinated)), one.item
        yield one.group, "formats", item.format, wrong, 1.0
        if isinstance(item, TrueFalse):
            yield one.group, "errors", "false_positive" if item.correct else "false_negative", wrong, 1.0
        elif item.format == "generative":
            yield one.group, "types", item.type, wrong, 1.0


def _overall(answered: Sequence[Found]) -> tuple[float, float, float]:
    """Return the mean of the formats' rates with its interval, without the same documents each time."""
    places = {group: place for place, group in enumerate(sorted({one.group for one in answered}))}
    table = np.zeros((len(places), len(FORMATS), 2))
    for one in answered:
        table[places[one.group], FORMATS.index(one.item.format)] += (float(bool(one.hallucinated)), 1.0)

    @Ratios
    def mean_rate(sums: Floats) -> tuple[Floats, Floats]:
        return mean_parts(sums[..., 0], sums[..., 1])

    found = over_groups(table, mean_rate)
    ends = found.within(0.0, 1.0)
    return found.value, ends.low, ends.high


def paired(models: Mapping[str, Sequence[Found]]) -> tuple[Contrast, ...]:
    """Hold each two models against each other on the items that both answered, by item and by document (Holm).

    Right is an answer that is not hallucinated. A pair without such an item is left out.
    """
    rows = {
        name: {
            one.item.id: Row(
                id=one.item.id,
                group=one.group,
                gold=_SOUND.domain[:1],
                predicted=(_SOUND.domain[one.hallucinated],),
            )
            for one in found
            if one.hallucinated is not None
        }
        for name, found in models.items()
    }
    contrasts = []
    for pair in combinations(models, 2):
        both = sorted(rows[pair[0]].keys() & rows[pair[1]].keys())
        if both:
            first, second = ((name, [[rows[name][key] for key in both]]) for name in pair)
            contrasts.append(contrast(first, second, "accuracy", _SOUND))
    return corrected(contrasts)
