"""Which texts hold which other texts, found for all of them at once in a time that grows with their characters.

A wanted text of 40 to 63 characters is known by the hashes of its first and of its last 32 characters, one of 64 to 127
by those of its first and last 64, and so on. Numpy hashes the windows of all texts, each length from the one half as
long. Where a window equals the first window of a wanted text, and the window at the end of that place equals the last
one, the characters are compared, so a hash never decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

MIN_CHARACTERS = 40
"""The length from which a text that two places share counts, in characters after normalisation."""

_PORTION = 1_000_000
"""Characters that are hashed at a time."""
_CANDIDATES = 1_000_000
"""Places that are looked up at a time."""
_BLOOM_BITS = 22

_Hashes: TypeAlias = NDArray[np.uint64]
_Numbers: TypeAlias = NDArray[np.int64]


def find_holders(wanted_texts: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """Return, for each wanted text, the numbers of the texts that hold it, ascending; none below 40 characters."""
    searches = _plan_searches(wanted_texts)
    holders: list[set[int]] = [set() for _ in wanted_texts]
    for first_text, portion in _portions(texts):
        for text_number, start, wanted_number in _find_candidates(portion, searches):
            numbers = holders[wanted_number]
            number = first_text + text_number
            if number not in numbers and texts[number].startswith(wanted_texts[wanted_number], start):
                numbers.add(number)
    return list(map(sorted, holders))


@dataclass(frozen=True, kw_only=True)
class _Search:
    """The wanted texts of one length of window: those of at least its length, and below twice of it."""

    window: int
    first_hashes: _Hashes  # of the first windows, sorted, each once
    bloom: NDArray[np.bool_]  # whether a hash with these leading bits is among the first hashes
    # the lengths of the wanted texts that begin with a first hash, one range for each of them
    lengths: _Numbers
    range_starts: _Numbers  # where the range of each first hash begins; one more at the end
    keys: _Hashes  # of (first hash, length, last hash) of each wanted text, sorted
    wanted_numbers: _Numbers  # the wanted text of each key


def _plan_searches(wanted_texts: Sequence[str]) -> list[_Search]:
    """Return a search for each length of window that wanted texts need, shortest window first."""
    numbers_by_window: defaultdict[int, list[int]] = defaultdict(list)
    for number, text in enumerate(wanted_texts):
        if len(text) >= MIN_CHARACTERS:
            numbers_by_window[1 << (len(text).bit_length() - 1)].append(number)
    searches: list[_Search] = []
    for window in sorted(numbers_by_window):
        searches.append(_plan_search(wanted_texts, numbers_by_window[window], window))
    return searches


def _plan_search(wanted_texts: Sequence[str], numbers: Sequence[int], window: int) -> _Search:
    """Return the search for the wanted texts of these numbers."""
    first_windows: list[str] = []
    last_windows: list[str] = []
    lengths_of_texts: list[int] = []
    for number in numbers:
        text = wanted_texts[number]
        first_windows.append(text[:window])
        last_windows.append(text[-window:])
        lengths_of_texts.append(len(text))
    lengths = np.array(lengths_of_texts)
    first_hashes = _hash_each(first_windows, window)
    last_hashes = _hash_each(last_windows, window)
    keys = _combine(first_hashes, lengths, last_hashes)
    by_key = np.argsort(keys, kind="stable")

    by_hash_and_length = np.lexsort((lengths, first_hashes))
    sorted_hashes = first_hashes[by_hash_and_length]
    sorted_lengths = lengths[by_hash_and_length]
    is_first_of_pair = np.ones(len(numbers), dtype=np.bool_)
    is_first_of_pair[1:] = (np.diff(sorted_hashes) != 0) | (np.diff(sorted_lengths) != 0)
    lengths_of_hashes = sorted_lengths[is_first_of_pair]
    unique_hashes, range_starts = np.unique(sorted_hashes[is_first_of_pair], return_index=True)
    bloom = np.zeros(1 << _BLOOM_BITS, dtype=np.bool_)
    bloom[_bloom_places(unique_hashes)] = True
    return _Search(
        window=window,
        first_hashes=unique_hashes,
        bloom=bloom,
        lengths=lengths_of_hashes,
        range_starts=np.append(range_starts, len(lengths_of_hashes)).astype(np.int64),
        keys=keys[by_key],
        wanted_numbers=np.array(numbers)[by_key],
    )


def _portions(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the texts in portions of about a million characters, each with the number of its first text."""
    first_text = 0
    portion: list[str] = []
    characters = 0
    for number, text in enumerate(texts):
        portion.append(text)
        characters += len(text)
        if characters >= _PORTION:
            yield first_text, portion
            first_text = number + 1
            portion = []
            characters = 0
    if portion:
        yield first_text, portion


def _find_candidates(texts: Sequence[str], searches: Sequence[_Search]) -> Iterator[tuple[int, int, int]]:
    """Yield (text, start, wanted text), by number, where the hashes say that the text holds the wanted text."""
    ends = np.cumsum([len(text) for text in texts])
    hashes = _hash_characters("".join(texts))
    width = 1
    for search in searches:
        while width < search.window and len(hashes) > width:
            hashes = _join(hashes[:-width], hashes[width:])
            width *= 2
        if width < search.window:
            return
        starts = np.flatnonzero(search.bloom[_bloom_places(hashes)])
        groups = np.searchsorted(search.first_hashes, hashes[starts])
        groups[groups == len(search.first_hashes)] = 0
        is_first = search.first_hashes[groups] == hashes[starts]
        starts = starts[is_first]
        groups = groups[is_first]
        owners = np.searchsorted(ends, starts, side="right")
        counts = search.range_starts[groups + 1] - search.range_starts[groups]
        for chosen in _chunks(counts):
            yield from _match_last_windows(
                search, hashes, ends, starts[chosen], groups[chosen], owners[chosen]
            )


def _chunks(counts: _Numbers) -> Iterator[slice]:
    """Yield slices whose counts sum up to about a million."""
    totals = np.cumsum(counts)
    start = 0
    while start < len(counts):
        limit = totals[start] - counts[start] + _CANDIDATES
        end = max(start + 1, int(np.searchsorted(totals, limit, side="right")))
        yield slice(start, end)
        start = end


def _match_last_windows(
    search: _Search, hashes: _Hashes, ends: _Numbers, starts: _Numbers, groups: _Numbers, owners: _Numbers
) -> Iterator[tuple[int, int, int]]:
    """Yield (text, start, wanted text), by number, where a wanted text of the group ends as it should."""
    counts = search.range_starts[groups + 1] - search.range_starts[groups]
    place = np.repeat(np.arange(len(starts)), counts)
    offset_in_range = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    lengths = search.lengths[search.range_starts[groups][place] + offset_in_range]
    fits = starts[place] + lengths <= ends[owners[place]]
    place = place[fits]
    lengths = lengths[fits]

    last_hashes = hashes[starts[place] + lengths - search.window]
    keys = _combine(search.first_hashes[groups[place]], lengths, last_hashes)
    low = np.searchsorted(search.keys, keys, side="left")
    high = np.searchsorted(search.keys, keys, side="right")
    text_starts = ends - np.diff(ends, prepend=0)
    for match in np.flatnonzero(high > low):
        owner = owners[place[match]]
        start = starts[place[match]] - text_starts[owner]
        for wanted_number in search.wanted_numbers[low[match] : high[match]]:
            yield int(owner), int(start), int(wanted_number)


def _bloom_places(hashes: _Hashes) -> _Hashes:
    """Return the leading bits of hashes."""
    return hashes >> np.uint64(64 - _BLOOM_BITS)


def _hash_characters(text: str) -> _Hashes:
    """Return the hash of each character."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return _mix(codes.astype(np.uint64) + np.uint64(1))


def _join(left: _Hashes, right: _Hashes) -> _Hashes:
    """Return the hash of each window that consists of a left and a right half."""
    return _mix(left * np.uint64(0x9E3779B97F4A7C15) + right)


def _mix(values: _Hashes) -> _Hashes:
    """Return 64-bit values with their bits mixed; different ones stay different."""
    values ^= values >> np.uint64(31)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(29)
    return values


def _combine(first_hashes: _Hashes, lengths: _Numbers, last_hashes: _Hashes) -> _Hashes:
    """Return one key of first window, length and last window."""
    return _join(_join(first_hashes, lengths.astype(np.uint64)), last_hashes)


def _hash_each(windows: Sequence[str], width: int) -> _Hashes:
    """Return the hash of each of several windows of one width."""
    parts: list[_Hashes] = []
    portion_size = max(1, _PORTION // width)
    for start in range(0, len(windows), portion_size):
        portion = windows[start : start + portion_size]
        hashes = _hash_characters("".join(portion)).reshape(len(portion), width)
        while hashes.shape[1] > 1:
            hashes = _join(hashes[:, 0::2], hashes[:, 1::2])
        parts.append(hashes[:, 0])
    return np.concatenate(parts)
