"""Passages: which cases hold a text of another one, from 40 characters on, where shorter ones repeat by chance.

Texts are compared after NFKC, case folding and collapsing of white space. What every case of the set says alike
(a policy, a rule) belongs to the task and gives nothing away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..cases import Case
from ..text.wording import normalised, strings

if TYPE_CHECKING:
    from ..programs.judge import Judge

MIN_CHARACTERS = 40
"""The length from which a text that two places share counts, in characters after normalisation."""
_BLOCK = MIN_CHARACTERS // 2
_TRIED = 8
"""Blocks of a wanted text, about, of which the one that fewest texts have is looked up."""

P = TypeVar("P")


class Index(Generic[P]):
    """Finds which of many texts hold a given text of at least ``MIN_CHARACTERS``.

    Any occurrence of such a text covers one whole block of half that length that starts at a multiple
    of it, so only those blocks are indexed, and the search does not grow with the number of texts.
    """

    def __init__(self, texts: Iterable[tuple[str, P]]) -> None:
        self._texts = [(text, place) for text, place in texts if len(text) >= MIN_CHARACTERS]
        self._blocks: dict[str, list[tuple[int, int]]] = {}
        for number, (text, _) in enumerate(self._texts):
            for start in range(0, len(text) - _BLOCK + 1, _BLOCK):
                self._blocks.setdefault(text[start : start + _BLOCK], []).append((number, start))

    def holding(self, wanted: str) -> Iterator[P]:
        """Yield the place of every text that holds ``wanted``."""
        if len(wanted) < MIN_CHARACTERS:
            return
        for offset in range(_BLOCK):
            starts = range(offset, len(wanted) - _BLOCK + 1, _BLOCK)
            tried = starts[:: max(1, len(starts) // _TRIED)]
            # what many texts begin with is no help: any block of those that an occurrence covers would do
            at, found = min(
                ((at, self._blocks.get(wanted[at : at + _BLOCK], [])) for at in tried),
                key=lambda one: len(one[1]),
            )
            for number, start in found:
                text, place = self._texts[number]
                if start >= at and text.startswith(wanted, start - at):
                    yield place


def texts_of(inputs: Mapping[str, Any], *, without: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield (normalised text, field) for the texts long enough to matter."""
    for name, value in inputs.items():
        if name not in without:
            for text in strings(value):
                if len(short := normalised(text)) >= MIN_CHARACTERS:
                    yield short, name


def constants(cases: Iterable[Case], units: Collection[str]) -> frozenset[str]:
    """Return the texts that all cases have, apart from what is judged."""
    common: frozenset[str] | None = None
    for case in cases:
        texts = frozenset(text for text, _ in texts_of(case.inputs, without=units))
        common = texts if common is None else common & texts
        if not common:
            break
    return common or frozenset()


def evidence_fields(judge: Judge) -> list[str]:
    """Return the inputs that are neither judged themselves nor the same in many rows by design."""
    apart = (*judge.answer.unit_fields, *(judge.common or ()))
    return [name for name in judge.input_fields if name not in apart]


def sharing(judge: Judge, cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Yield cases of several groups, of which one has an evidence text that the inputs of the others hold."""
    common = judge.common or ()
    judged = (*judge.answer.unit_fields, *common)
    known = constants(cases, judged)
    first = {
        (text, case.group): case
        for case in reversed(cases)
        for text, _ in texts_of(case.inputs, without=common)
    }
    index = Index((text, case) for (text, _), case in first.items())
    wanted = {text for case in cases for text, _ in texts_of(case.inputs, without=judged)} - known
    for text in sorted(wanted):
        holders = {case.group: case for case in index.holding(text)}
        if len(holders) > 1:
            yield list(holders.values())
