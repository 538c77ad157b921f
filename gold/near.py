"""Texts that are nearly the same, found among 100,000 in seconds: MinHash sketches and locality-sensitive hashing.

A text is folded to its letters and digits (NFKC, no case, no spaces, punctuation or zero-width characters), so what
differs in those alone is the same text. It is sketched by one-permutation MinHash over its five-character shingles
(Li, Owen and Zhang 2012), empty bins filled by rotation (Shrivastava and Li 2014); the share of equal bins estimates
the Jaccard similarity, within 0.06. Only texts with a band of bins in common are compared, and near is transitive. Of
texts below 20 letters and digits only equal ones are near.
"""

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..cases import text_hash
from ..text.ranking import ALIKE, SHINGLE, SHORT, folded

Sketches: TypeAlias = NDArray[np.uint16]
"""Shape (N, 64)."""

_BINS = 64
_BAND = 4
_NEIGHBOURS = 8  # of a text within a bucket, in the order of their sketches, that it is compared with
_CHARACTERS = 2_000_000  # sketched at once
_EMPTY = np.uint32(0xFFFFFFFF)


def sketches(texts: Sequence[str]) -> Sketches:
    """Return the sketch of each text; a text that occurs often, as the evidence of many cases, is sketched once."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    sketched_texts = []
    for text in places:
        letters = folded(text)
        if len(letters) < SHORT:  # it has too few shingles to be nearly another text: its hash stands for it
            letters = text_hash(letters)
        sketched_texts.append(letters)
    parts = [np.zeros((0, _BINS), dtype=np.uint16)]
    for portion in _split_into_portions(sketched_texts):
        parts.append(_sketch_portion(portion))
    distinct_sketches = np.concatenate(parts)
    return distinct_sketches[[places[text] for text in texts]]


def _split_into_portions(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield texts in portions, in their order: memory holds the shingles of one portion."""
    portion: list[str] = []
    characters = 0
    number = 0  # of the portion
    for text in texts:
        characters += len(text)
        if portion and characters // _CHARACTERS > number:
            yield portion
            portion = []
        number = characters // _CHARACTERS
        portion.append(text)
    if portion:
        yield portion


def _sketch_portion(texts: Sequence[str]) -> Sketches:
    """Return the sketches of texts: the lowest hash of a text's shingles in each bin."""
    lengths = np.array([len(text) for text in texts])
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    hashes = np.zeros(len(codes) - SHINGLE + 1, dtype=np.uint64)
    for start in range(SHINGLE):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + codes[start : start + len(hashes)]
    hashes ^= hashes >> np.uint64(31)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(29)
    text_of_shingle = np.repeat(np.arange(len(texts)), lengths)[: len(hashes)]
    ends = np.arange(len(hashes)) + SHINGLE
    is_in_one_text = ends <= np.cumsum(lengths)[text_of_shingle]
    hashes = hashes[is_in_one_text]
    text_of_shingle = text_of_shingle[is_in_one_text]
    bins = np.full(len(texts) * _BINS, _EMPTY, dtype=np.uint32)
    bin_of_shingle = text_of_shingle * _BINS + (hashes % np.uint64(_BINS)).astype(np.int64)
    np.minimum.at(bins, bin_of_shingle, (hashes >> np.uint64(33)).astype(np.uint32))
    return _fill_empty_bins(bins.reshape(-1, _BINS))


def _fill_empty_bins(bins: NDArray[np.uint32]) -> Sketches:
    """Return sketches whose empty bins have the value of the next filled one to the right, changed by its distance."""
    places = np.arange(2 * _BINS, dtype=np.uint8)  # twice round, as the next filled bin may be beyond the end
    is_filled = np.tile(bins != _EMPTY, 2)
    filled_places = np.where(is_filled, places, np.uint8(2 * _BINS))
    next_filled = np.minimum.accumulate(filled_places[:, ::-1], axis=1)[:, ::-1][:, :_BINS]
    values = np.take_along_axis(bins, (next_filled % _BINS).astype(np.intp), axis=1)
    distances = (next_filled - places[:_BINS]).astype(np.uint32)
    return ((values + distances * np.uint32(0x9E3779B1)) >> np.uint32(7)).astype(np.uint16)


def clusters(sketches: Sketches) -> NDArray[np.int64]:
    """Return the cluster of each sketched text, shape (N,): texts that a chain of near copies connects share one."""
    if not len(sketches):
        return np.zeros(0, dtype=np.int64)
    distinct_sketches, place = np.unique(sketches, axis=0, return_inverse=True)
    edges_of_bands = []
    for start in range(0, _BINS, _BAND):
        edges_of_bands.append(_edges(distinct_sketches, start))
    first, second = np.concatenate(edges_of_bands, axis=1)
    components = connected_components(len(distinct_sketches), first, second)
    return components[place.ravel()]


def connected_components(size: int, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the component of each of ``size`` nodes, numbered from 0 by their first node, shape (size,).

    SciPy has the same function, which takes a second to import.

    Args:
        size: how many nodes there are.
        first: one end of each edge, a node from 0 to ``size`` - 1.
        second: the other end of each edge.
    """
    root = np.arange(size)  # the lowest node that each node is known to be connected to
    while True:
        lower = np.minimum(root[first], root[second])
        next_root = root.copy()
        np.minimum.at(next_root, root[first], lower)
        np.minimum.at(next_root, root[second], lower)
        next_root = next_root[next_root]
        next_root = next_root[next_root]
        if np.array_equal(next_root, root):
            return np.unique(root, return_inverse=True)[1].astype(np.int64)
        root = next_root


def _edges(distinct_sketches: Sketches, start: int) -> NDArray[np.int64]:
    """Return the pairs of near texts that share the bins of one band, shape (2, pairs)."""
    band = distinct_sketches[:, start : start + _BAND]
    keys = np.ascontiguousarray(band).view(np.uint64).ravel()
    order = np.argsort(keys, kind="stable")
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    for distance in range(1, min(_NEIGHBOURS, len(order) - 1) + 1):
        have_one_key = keys[order[distance:]] == keys[order[:-distance]]
        first = order[:-distance][have_one_key]
        second = order[distance:][have_one_key]
        are_near = (distinct_sketches[first] == distinct_sketches[second]).mean(axis=1) >= ALIKE
        pairs.append(np.stack([first[are_near], second[are_near]]))
    return np.concatenate(pairs, axis=1)


def to_text(sketch: Sketches) -> str:
    """Return one sketch (64,) as text; it does not say what was sketched."""
    return base64.b64encode(sketch.astype("<u2").tobytes()).decode("ascii")


def from_text(texts: Sequence[str]) -> Sketches:
    """Return the sketches that :func:`to_text` wrote."""
    rows = []
    for text in texts:
        row = np.frombuffer(base64.b64decode(text, validate=True), dtype="<u2")
        if len(row) != _BINS:
            raise ValueError("a sketch of another length")
        rows.append(row)
    return np.array(rows, dtype=np.uint16).reshape(-1, _BINS)
