"""What the output of a run says, read back and added up by group."""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..cases import Value, Values
from ..errors import UsageError
from ..programs.judge import Judge
from .formats import lines_in
from .lines import values_said

_GROUPS = 16_384
"""Groups that come after so many are counted in as many blocks, so that memory stays flat: blocks are groups, too."""
_STAMP = ("judge", "artifact", "model", "sampling")


@dataclass(kw_only=True)
class Found:
    """What a run found."""

    said: dict[str, dict[Value, int]] = field(
        default_factory=dict
    )  # group -> value -> units judged to be that
    # (group, truth, said) of each unit with a label of people
    labelled: list[tuple[str, Value, Value]] = field(default_factory=list)
    rows: set[str] = field(default_factory=set)  # rows with a label, by the ids of their cases
    unanswered: int = 0  # units without an answer

    def add(self, group: str, values: Values, gold: Values | None) -> None:
        """Count a row; ``gold`` is what people said of it, if they did."""
        if group not in self.said and len(self.said) >= _GROUPS:
            group = f"block {zlib.crc32(group.encode()) % _GROUPS}"
        counts = self.said.setdefault(group, {})
        for value, truth in zip(values, gold or (None,) * len(values), strict=True):
            if value is None:
                self.unanswered += 1
                continue
            counts[value] = counts.get(value, 0) + 1
            if truth is not None:
                self.labelled.append((group, truth, value))

    @property
    def units(self) -> int:
        """Units with an answer."""
        return sum(sum(counts.values()) for counts in self.said.values())

    def hits(self, values: frozenset[Value]) -> dict[str, tuple[int, int]]:
        """Return group -> (units judged to be of these values, all units)."""
        return {
            group: (sum(units for value, units in counts.items() if value in values), sum(counts.values()))
            for group, counts in self.said.items()
        }

    def unlabelled(self, values: frozenset[Value]) -> dict[str, tuple[int, int]]:
        """Return the same of units without a label."""
        left = self.hits(values)
        for group, _, said in self.labelled:
            hits, of = left[group]
            left[group] = hits - (said in values), of - 1
        return left


def stamp_of(output: Path) -> Mapping[str, Any]:
    """Return what the first line of a run says of its judge."""
    for _, line in _lines(output):
        return {name: line.get(name) for name in (*_STAMP, "strictness")}
    raise UsageError(f"{output} has no line", hint="name what jurist run has written")


def found_in(output: Path, judge: Judge, labels: Mapping[str, Values | None]) -> Found:
    """Add up an output."""
    found, stamp = Found(), stamp_of(output)
    for number, line in _lines(output):
        if any(line.get(name) != stamp[name] for name in _STAMP):
            said = f"{output}:{number}: by another judge than the first line"
            raise UsageError(said, hint="split the file")
        try:
            values, truth = values_said(judge, line), labels.get(line["case"])
            found.add(line["group"], values, truth)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _no_line(output, number) from error
        if truth and any(value is not None for value in values):
            found.rows.add(line["case"])
    return found


def _lines(output: Path) -> Iterator[tuple[int, Any]]:
    try:
        for number, line in lines_in(output):
            if not isinstance(line, dict) or not {"case", "group", "units", *_STAMP} <= line.keys():
                raise _no_line(output, number)
            yield number, line
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}", hint="name what jurist run has written") from error


def _no_line(output: Path, number: int) -> UsageError:
    return UsageError(f"{output}:{number}: not a line of a run", hint="name what jurist run has written")
