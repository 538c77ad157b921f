"""Texts that are nearly the same, found among 100,000 in seconds: MinHash sketches and locality-sensitive hashing.

A text is folded to its letters and digits (NFKC, no case, no spaces, punctuation or zero-width characters), so what
differs in those alone is the same text. It is sketched by one-permutation MinHash over its five-character shingles
(Li, Owen and Zhang 2012), empty bins filled by rotation (Shrivastava and Li 2014); the share of equal bins estimates
the Jaccard similarity, within 0.06. Only texts with a band of bins in common are compared, and near is transitive. Of
texts below 20 letters and digits only equal ones are near.
"""

import base64
from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..cases import text_hash
from ..text.ranking import ALIKE, SHINGLE, SHORT, folded

Sketches: TypeAlias = NDArray[np.uint16]
"""Shape (N, 64)."""

_BINS, _BAND = 64, 4
_NEIGHBOURS = 8  # of a text within a bucket, in the order of their sketches, that it is compared with
_CHARACTERS = 2_000_000  # sketched at once
_EMPTY = np.uint32(0xFFFFFFFF)


def sketches(texts: Sequence[str]) -> Sketches:
    """Return the sketch of each text; one that stands there often, as the evidence of many cases, is sketched once."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    # a short text has too few shingles to be nearly another: its hash stands for it
    hashed = [text if len(text) >= SHORT else text_hash(text) for text in map(folded, places)]
    ends = accumulate(map(len, hashed))
    # as many at once as memory holds the shingles of
    portions = groupby(zip(hashed, ends, strict=True), key=lambda pair: pair[1] // _CHARACTERS)
    parts = [_sketched([text for text, _ in portion]) for _, portion in portions]
    distinct_sketches = np.concatenate([np.zeros((0, _BINS), dtype=np.uint16), *parts])
    return distinct_sketches[[places[text] for text in texts]]


def _sketched(texts: Sequence[str]) -> Sketches:
    """Return the sketches of texts: the least hash of a text's shingles in each bin."""
    lengths = np.array([len(text) for text in texts])
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    hashes = np.zeros(len(codes) - SHINGLE + 1, dtype=np.uint64)
    for at in range(SHINGLE):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + codes[at : at + len(hashes)]
    hashes ^= hashes >> np.uint64(31)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(29)
    owner = np.repeat(np.arange(len(texts)), lengths)[: len(hashes)]
    whole = np.arange(len(hashes)) + SHINGLE <= np.cumsum(lengths)[owner]  # no shingle spans two texts
    hashes, owner = hashes[whole], owner[whole]
    bins = np.full(len(texts) * _BINS, _EMPTY, dtype=np.uint32)
    bin_of = owner * _BINS + (hashes % np.uint64(_BINS)).astype(np.int64)
    np.minimum.at(bins, bin_of, (hashes >> np.uint64(33)).astype(np.uint32))
    return _filled(bins.reshape(-1, _BINS))


def _filled(bins: NDArray[np.uint32]) -> Sketches:
    """Fill empty bins by the next one to the right that is not, changed by how far that is."""
    values = bins.copy()
    far = np.zeros_like(bins)
    for at in range(2 * _BINS - 1, -1, -1):  # twice round, as the next one may be beyond the end
        here, after = at % _BINS, (at + 1) % _BINS
        empty = bins[:, here] == _EMPTY
        values[empty, here], far[empty, here] = values[empty, after], far[empty, after] + np.uint32(1)
    return ((values + far * np.uint32(0x9E3779B1)) >> np.uint32(7)).astype(np.uint16)


def clusters(sketches: Sketches) -> NDArray[np.int64]:
    """Return the cluster of each sketched text, shape (N,): texts that a chain of near copies connects share one."""
    if not len(sketches):
        return np.zeros(0, dtype=np.int64)
    unique, place = np.unique(sketches, axis=0, return_inverse=True)
    first, second = np.concatenate([_edges(unique, start) for start in range(0, _BINS, _BAND)], axis=1)
    components = connected_components(len(unique), first, second)
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


def _edges(unique: Sketches, start: int) -> NDArray[np.int64]:
    """Return the pairs of near texts that share the bins of one band, shape (2, pairs)."""
    keys = np.ascontiguousarray(unique[:, start : start + _BAND]).view(np.uint64).ravel()
    order = np.argsort(keys, kind="stable")
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    for apart in range(1, min(_NEIGHBOURS, len(order) - 1) + 1):
        same = keys[order[apart:]] == keys[order[:-apart]]
        first, second = order[:-apart][same], order[apart:][same]
        near = (unique[first] == unique[second]).mean(axis=1) >= ALIKE
        pairs.append(np.stack([first[near], second[near]]))
    return np.concatenate(pairs, axis=1)


def to_text(sketch: Sketches) -> str:
    """Return one sketch (64,) as text; it does not say what was sketched."""
    return base64.b64encode(sketch.astype("<u2").tobytes()).decode("ascii")


def from_text(texts: Sequence[str]) -> Sketches:
    """Return the sketches that :func:`to_text` wrote."""
    rows = [np.frombuffer(base64.b64decode(text, validate=True), dtype="<u2") for text in texts]
    if any(len(row) != _BINS for row in rows):
        raise ValueError("a sketch of another length")
    return np.array(rows, dtype=np.uint16).reshape(-1, _BINS)
