"""How often sealed rows have been opened: a ledger of the user's, counted by row and labelled question.

A row is opened whenever a prompt that was never tried on it is scored on it for a choice or a proof: trying the same
prompt again selects nothing. The ledger holds hashes and no text, one opening a line.

A row is known by its own texts: those of its inputs that at most two rows of its set have (all of its texts, where none
of these is long). Two rows are the same if each own text of one nearly repeats a text of the other.

Labels ask the same question if one labelling tells at least half of what the other says (mutual information over the
smaller entropy), on the rows that both have: so renamed, merged and a few corrected labels are no other question, as
they would be by a hash. Where rows are too few to tell, the question is the same.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..cases import Case, text_hash
from ..text.near import clusters, sketches
from ..text.ranking import folded
from ..text.wording import strings
from .trust import data_file, to_stderr


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What is known of one row."""

    before: int  # how often it has been opened; 0 if it is not sealed
    # which opening scoring it with certain prompts is: the one in which the last of them was tried on it,
    # or the next one
    number: int


@dataclass(frozen=True, kw_only=True)
class _Line:
    prompts: frozenset[str]
    rows: str
    marks: RowMarks


@dataclass(frozen=True, kw_only=True)
class Openings:
    """The openings that are known."""

    path: Path = field(default_factory=lambda: data_file("openings.jsonl"))  # the file
    # takes the line that says that there is none yet, that some cannot be read, or that it cannot be
    # written
    say: Callable[[str], None] = to_stderr

    def of(self, cases: Sequence[Case], prompts: Collection[str] = ()) -> tuple[Opened, ...]:
        """Return what is known of each row."""
        lines = list(self._lines())
        if not lines or not cases:
            return (Opened(before=0, number=1),) * len(cases)
        sets = {line.rows: line.marks for line in lines}
        mine = marks_of(cases)
        held = {
            name: {pair.here for pair in pairs}
            if pairs and same_question(known, mine, pairs)
            else frozenset()
            for (name, known), pairs in zip(sets.items(), same_rows([*sets.values()], mine), strict=True)
        }
        wanted = frozenset(prompts) or None
        return tuple(
            _counted([line.prompts for line in lines if place in held[line.rows]], wanted)
            for place in range(len(cases))
        )

    def note(self, what: str, cases: Sequence[Case], prompts: Collection[str] = ()) -> None:
        """Add an opening of these rows, before anything of it is shown."""
        marks = orjson.dumps(marks_of(cases).to_json())
        rows = hashlib.sha256(marks).hexdigest()[:16]
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "what": what,
            "prompts": sorted(prompts),
            "rows": rows,
        }
        if not self.path.exists():
            self.say(f"openings of sealed tests are counted in {self.path}, first use recorded")
        elif rows in {one.rows for one in self._lines(quiet=True)}:
            marks = b""
        text = json.dumps(line)
        if marks:
            text = f'{text[:-1]}, "marks": {marks.decode("ascii")}}}'
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # one write: lines of several processes do not mix; a newline first: one that was cut off stays alone
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, ("\n" + text).encode("utf-8"))
            finally:
                os.close(descriptor)
        except OSError as error:
            self.say(f"this opening is not counted: {self.path} cannot be written ({error.strerror})")

    def _lines(self, *, quiet: bool = False) -> Iterator[_Line]:
        """Yield every opening; what was cut off, or written by an earlier format, is none, and that is said."""
        sets: dict[str, RowMarks] = {}
        unread = 0
        try:
            texts = self.path.read_bytes().split(b"\n")
        except OSError:
            return
        for text in filter(None, texts):
            try:
                data = orjson.loads(text)
                rows = str(data["rows"])
                if rows not in sets:
                    sets[rows] = RowMarks.from_json(data["marks"])
                yield _Line(prompts=frozenset(map(str, data["prompts"])), rows=rows, marks=sets[rows])
            except (ValueError, TypeError, KeyError):
                unread += 1
        if unread and not quiet:
            self.say(
                f"{unread} of the lines in {self.path} cannot be read (cut off, or of an earlier format): what they "
                "tell of is not counted"
            )


def _counted(lines: Sequence[frozenset[str]], wanted: frozenset[str] | None) -> Opened:
    """Return how many of the lines opened a row, and which opening trying these prompts on it is."""
    tried: set[str] = set()
    before, number = 0, None
    for prompts in lines:
        if not prompts or not prompts <= tried:
            before += 1
        tried |= prompts
        if number is None and wanted is not None and wanted <= tried:
            number = before
    return Opened(before=before, number=number or before + 1)


_Text: TypeAlias = tuple[str, str]
"""A text, folded, and what is left of it without what all texts of its input begin and end with."""
_MOST = 2  # rows of a set that may have a text which identifies them
_LONG = 20  # letters and digits from which a text can identify a row
_SAME = 0.5  # of the information in one labelling, the share that another of the same question tells
_LOOKED_UP = 200  # rows with several near copies of which the nearest is looked up: enough to tell a question


@dataclass(frozen=True, kw_only=True)
class RowMarks:
    """What is kept of some rows: no text and no label."""

    # of each different text a sketch of it without what all texts of its input begin and end with; shape
    # (T, 64), one byte a bin
    texts: NDArray[np.uint8]
    whole: NDArray[np.uint64]  # a hash of each of them as it is, shape (T,)
    rows: Sequence[Sequence[int]]  # the places in ``texts`` of each row's texts, in the order of its inputs
    own: Sequence[Sequence[int]]  # the places of those of them that identify it
    # each row's labels by their numbers, in the order in which they first come; -1 where nobody labelled
    gold: Sequence[Sequence[int]]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types."""
        texts, whole = (base64.b64encode(part.tobytes()).decode("ascii") for part in (self.texts, self.whole))
        return {"texts": texts, "whole": whole, "rows": self.rows, "own": self.own, "gold": self.gold}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RowMarks:
        """Read what :meth:`to_json` returned."""
        texts, whole = (base64.b64decode(data[name], validate=True) for name in ("texts", "whole"))
        found = cls(
            texts=np.frombuffer(texts, dtype=np.uint8).reshape(-1, 64),
            whole=np.frombuffer(whole, dtype=np.uint64),
            rows=data["rows"],
            own=data["own"],
            gold=data["gold"],
        )
        if not len(found.rows) == len(found.own) == len(found.gold) or len(found.texts) != len(found.whole):
            raise ValueError("parts of other lengths")
        return found


def marks_of(cases: Sequence[Case]) -> RowMarks:
    """Return what is kept of some rows."""
    fields = _trimmed([_texts(case) for case in cases])
    found = Counter(text for texts in fields for text in set(texts))
    places: dict[_Text, int] = {}
    rows, own = (
        [[places.setdefault(text, len(places)) for text in dict.fromkeys(some)] for some in several]
        for several in (fields, [_own(texts, found) for texts in fields])
    )
    numbers: dict[Any, int] = {}
    gold = [
        [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in case.gold or ()]
        for case in cases
    ]
    whole = [int(text_hash(whole)[:16], 16) for whole, _ in places]
    return RowMarks(
        texts=sketches([text for _, text in places]).astype(np.uint8),
        whole=np.array(whole, dtype=np.uint64),
        rows=rows,
        own=own,
        gold=gold,
    )


def _texts(case: Case) -> dict[str, str]:
    found = {name: folded(" ".join(strings(value))) for name, value in case.inputs.items()}
    return {name: text for name, text in found.items() if text.strip()}


def _own(texts: Sequence[_Text], found: Mapping[_Text, int]) -> Sequence[_Text]:
    own = [text for text in texts if found[text] <= _MOST]
    return own if any(len(trimmed) >= _LONG for _, trimmed in own) else texts


def _trimmed(rows: Sequence[Mapping[str, str]]) -> list[list[_Text]]:
    """Return each text with what is left of it without the start and the end that all texts of its input have."""
    by_name: defaultdict[str, set[str]] = defaultdict(set)
    for texts in rows:
        for name, text in texts.items():
            by_name[name].add(text)
    cuts = {}
    for name, several in by_name.items():
        start = _alike(min(several), max(several)) if len(several) > 1 else 0
        ends = [text[start:][::-1] for text in several]
        cuts[name] = start, _alike(min(ends), max(ends)) if len(several) > 1 else 0
    return [
        [(text, text[cuts[name][0] : len(text) - cuts[name][1]] or text) for name, text in texts.items()]
        for texts in rows
    ]


def _alike(one: str, two: str) -> int:
    """Return how many letters two texts begin with alike."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two))
    )


@dataclass(frozen=True)
class Same:
    """A row of a known set that is one of some rows: their places, and whether its texts stand in another order."""

    there: int
    here: int
    turned: bool


def same_rows(known: Sequence[RowMarks], marks: RowMarks) -> list[list[Same]]:
    """Return for each of the known sets which of its rows are the same as one of ``marks``."""
    *others, mine = _in_clusters([*known, marks])
    holding: defaultdict[int, list[int]] = defaultdict(list)
    for place, (row, _) in enumerate(mine):
        for text in row:
            holding[text].append(place)
    rarest: defaultdict[int, list[int]] = defaultdict(list)
    for place, (_, own) in enumerate(mine):
        if own:
            rarest[min(own, key=lambda text: len(holding[text]))].append(place)

    @cache
    def same(row: tuple[int, ...], own: frozenset[int]) -> list[tuple[int, bool]]:
        fewest = min((holding.get(text, []) for text in own), key=len, default=[])
        found = {place for place in fewest if own.issubset(mine[place][0])}
        found.update(place for text in row for place in rarest.get(text, ()) if mine[place][1].issubset(row))
        others = ((place, mine[place][0]) for place in sorted(found))
        return [
            (place, [text for text in row if text in two] != [text for text in two if text in row])
            for place, two in others
        ]

    return [
        [Same(there, here, turned) for there, row in enumerate(rows) for here, turned in same(*row)]
        for rows in others
    ]


_Row: TypeAlias = tuple[tuple[int, ...], frozenset[int]]
"""The clusters of a row's texts, in their order, and of those that identify it."""


def _in_clusters(sets: Sequence[RowMarks]) -> list[list[_Row]]:
    """Return the rows of all sets in clusters of texts: those that nearly repeat share one."""
    texts = np.concatenate([one.texts for one in sets])
    starts = np.cumsum([0, *(len(one.texts) for one in sets)])
    different, place = np.unique(texts, axis=0, return_inverse=True)
    near = clusters(different.astype(np.uint16))[place.reshape(-1)]
    whole = np.unique(np.concatenate([one.whole for one in sets]), return_inverse=True)[1] + len(near)
    joined = coo_array(
        (np.ones(len(near), dtype=np.bool_), (near, whole)), shape=(2 * len(near), 2 * len(near))
    )
    cluster = connected_components(joined, directed=False)[1][near]
    found = []
    for one, start in zip(sets, starts, strict=False):
        here = cluster[start : start + len(one.texts)].tolist()
        found.append(
            [
                (tuple(dict.fromkeys([here[text] for text in row])), frozenset([here[text] for text in own]))
                for row, own in zip(one.rows, one.own, strict=True)
            ]
        )
    return found


def same_question(known: RowMarks, marks: RowMarks, pairs: Sequence[Same]) -> bool:
    """Say whether the labels of rows that are the same ask the same: see the head of this module.

    Where texts stand in another order, as the two replies of a preference may, labels may mean the reverse: they are
    taken for other labels there.
    """
    both = [
        (known.gold[one.there], marks.gold[one.here], one.turned) for one in _nearest(known, marks, pairs)
    ]
    units: Counter[tuple[Any, Any]] = Counter()
    if all(len(old) == len(new) for old, new, _ in both):
        for old, new, turned in both:
            units.update(
                ((was, turned), now) for was, now in zip(old, new, strict=True) if -1 not in (was, now)
            )
    else:
        units.update(((tuple(old), turned), tuple(new)) for old, new, turned in both)
    sides: tuple[Counter[Any], Counter[Any]] = (Counter(), Counter())
    for pair, count in units.items():
        for side, value in zip(sides, pair, strict=True):
            side[value] += count
    entropies = [_entropy(side) for side in sides]
    shared = sum(entropies) - _entropy(units)
    return min(entropies) <= 0.0 or shared >= _SAME * min(entropies)


def _nearest(known: RowMarks, marks: RowMarks, pairs: Sequence[Same]) -> Iterator[Same]:
    """Yield a pair for each row of the side that has fewer: of many rows that nearly repeat it, the nearest."""
    fewer_there = len({one.there for one in pairs}) <= len({one.here for one in pairs})
    several: defaultdict[int, list[Same]] = defaultdict(list)
    for one in pairs:
        several[one.there if fewer_there else one.here].append(one)
    ours, theirs = (known, marks) if fewer_there else (marks, known)
    looked_up = 0
    for place, found in several.items():
        if len(found) == 1:
            yield found[0]
        elif looked_up < _LOOKED_UP:
            looked_up += 1
            rows = [theirs.rows[one.here if fewer_there else one.there] for one in found]
            starts = np.cumsum([0, *map(len, rows[:-1])])
            flat = theirs.texts[[text for row in rows for text in row]]
            equal = (ours.texts[list(ours.rows[place])][:, None] == flat).mean(axis=2)
            yield found[int(np.maximum.reduceat(equal, starts, axis=1).sum(axis=0).argmax())]


def _entropy(counts: Mapping[Any, int]) -> float:
    shares = np.array(list(counts.values())) / max(1, sum(counts.values()))
    return float(-(shares * np.log(shares)).sum())
