"""How often sealed rows have been opened: a ledger of the user's, counted by row and labelled question.

A row is opened whenever a prompt that was never tried on it is scored on it for a choice or a proof: trying the same
prompt again selects nothing. The ledger holds hashes and no text, one opening a line.

A row is known by its own texts: those of its inputs that at most two rows of its set have (all of its texts, where none
of these is long). Two rows are the same if each own text of one nearly repeats a text of the other.

Labels ask the same question if one labelling tells at least half of what the other says (mutual information over the
smaller entropy), on the rows that both have: so renamed, merged and a few corrected labels are no other question, as
they would be by a hash. Where rows are too few to tell, or each repeats several others, the question is the same.
"""

import base64
import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import entropy

from ..cases import Case, text_hash
from ..text.near import clusters, sketches
from ..text.ranking import folded
from ..text.wording import strings
from .trust import data_file, to_stderr

_MOST = 2  # rows of a set that may have a text which identifies them
_LONG = 20  # letters and digits from which a text can identify a row
_SAME = 0.5  # of the information in one labelling, the share that another of the same question tells


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What is known of one row."""

    before: int  # how often it has been opened; 0 if it is not sealed
    # which opening scoring it with certain prompts is: the one in which the last of them was tried on it,
    # or the next one
    number: int


class RowMarks(NamedTuple):
    """What is kept of some rows: no text and no label."""

    # of each different text a sketch of it without what all texts of its input begin and end with; shape
    # (T, 64), one byte a bin
    texts: NDArray[np.uint8]
    whole: NDArray[np.uint64]  # a hash of each of them as it is, shape (T,)
    rows: Sequence[Sequence[int]]  # the places in ``texts`` of each row's texts, in the order of its inputs
    own: Sequence[Sequence[int]]  # the places of those of them that identify it
    # each row's labels by their numbers, in the order in which they first come; -1 where nobody labelled
    gold: Sequence[Sequence[int]]


class _Line(NamedTuple):
    """One opening: the prompts that were tried, and on which set of rows."""

    prompts: frozenset[str]
    rows: str
    marks: RowMarks


@dataclass(frozen=True)
class Openings:
    """The openings that are known."""

    path: Path = field(default_factory=lambda: data_file("openings.jsonl"))

    def of(self, cases: Sequence[Case], prompts: Collection[str] = ()) -> tuple[Opened, ...]:
        """Return what is known of each row."""
        lines = self._lines()
        if not lines or not cases:
            return (Opened(before=0, number=1),) * len(cases)
        sets, mine = {line.rows: line.marks for line in lines}, marks_of(cases)
        held = {
            rows: {pair.here for pair in pairs} if same_question(known, mine, pairs) else set()
            for (rows, known), pairs in zip(sets.items(), same_rows([*sets.values()], mine), strict=True)
        }
        return tuple(
            _counted([line.prompts for line in lines if place in held[line.rows]], frozenset(prompts))
            for place in range(len(cases))
        )

    def note(self, what: str, cases: Sequence[Case], prompts: Collection[str] = ()) -> None:
        """Add an opening of these rows, before anything of it is shown."""
        marks = _to_json(marks_of(cases))
        rows = hashlib.sha256(orjson.dumps(marks)).hexdigest()[:16]
        line: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "what": what,
            "prompts": sorted(prompts),
            "rows": rows,
        }
        if not self.path.exists():
            to_stderr(f"openings of sealed tests are counted in {self.path}, first use recorded")
        if rows not in {known.rows for known in self._lines(quiet=True)}:
            line["marks"] = marks
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # one write: lines of several processes do not mix; a newline first: one that was cut off stays alone
            with self.path.open("ab", buffering=0) as file:
                file.write(("\n" + json.dumps(line)).encode("utf-8"))
        except OSError as error:
            to_stderr(f"this opening is not counted: {self.path} cannot be written ({error.strerror})")

    def _lines(self, *, quiet: bool = False) -> list[_Line]:
        """Return every opening; what was cut off, or written by an earlier format, is none, and that is said."""
        sets: dict[str, RowMarks] = {}
        lines: list[_Line] = []
        try:
            texts = [text for text in self.path.read_bytes().split(b"\n") if text]
        except OSError:
            return []
        for text in texts:
            try:
                data = orjson.loads(text)
                rows = str(data["rows"])
                if rows not in sets:
                    sets[rows] = _from_json(data["marks"])
                lines.append(_Line(frozenset(map(str, data["prompts"])), rows, sets[rows]))
            except (ValueError, TypeError, KeyError):
                continue
        if (unread := len(texts) - len(lines)) and not quiet:
            to_stderr(
                f"{unread} of the lines in {self.path} cannot be read (cut off, or of an earlier format): what they "
                "tell of is not counted"
            )
        return lines


def _counted(lines: Sequence[frozenset[str]], wanted: frozenset[str]) -> Opened:
    """Return how many of the lines opened a row, and which opening trying these prompts on it is."""
    tried: set[str] = set()
    before, number = 0, None
    for prompts in lines:
        if not prompts or not prompts <= tried:
            before += 1
        tried |= prompts
        if number is None and wanted and wanted <= tried:
            number = before
    return Opened(before=before, number=number or before + 1)


def _to_json(marks: RowMarks) -> dict[str, Any]:
    texts, whole = (base64.b64encode(part.tobytes()).decode("ascii") for part in marks[:2])
    return {"texts": texts, "whole": whole, "rows": marks.rows, "own": marks.own, "gold": marks.gold}


def _from_json(data: Mapping[str, Any]) -> RowMarks:
    texts, whole = (base64.b64decode(data[name], validate=True) for name in ("texts", "whole"))
    sketched = np.frombuffer(texts, dtype=np.uint8).reshape(-1, 64)
    marks = RowMarks(sketched, np.frombuffer(whole, np.uint64), data["rows"], data["own"], data["gold"])
    if not len(marks.rows) == len(marks.own) == len(marks.gold) or len(marks.texts) != len(marks.whole):
        raise ValueError("parts of other lengths")
    return marks


def marks_of(cases: Sequence[Case]) -> RowMarks:
    """Return what is kept of some rows."""
    fields = [
        {name: text for name, value in case.inputs.items() if (text := folded(" ".join(strings(value))))}
        for case in cases
    ]
    cuts = _shared_ends(fields)
    texts = [
        [
            (text, text[start : len(text) - end] or text)
            for name, text in row.items()
            for start, end in [cuts[name]]
        ]
        for row in fields
    ]
    rows_with = Counter(text for row in texts for text in set(row))
    places = {text: place for place, text in enumerate(rows_with)}
    own = [[text for text in row if rows_with[text] <= _MOST] for row in texts]
    own = [
        some if any(len(trimmed) >= _LONG for _, trimmed in some) else row
        for some, row in zip(own, texts, strict=True)
    ]
    numbers: dict[Any, int] = {}
    gold = [
        [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in case.gold or ()]
        for case in cases
    ]
    return RowMarks(
        texts=sketches([trimmed for _, trimmed in places]).astype(np.uint8),
        whole=np.array([int(text_hash(text)[:16], 16) for text, _ in places], dtype=np.uint64),
        rows=[[places[text] for text in dict.fromkeys(row)] for row in texts],
        own=[[places[text] for text in dict.fromkeys(row)] for row in own],
        gold=gold,
    )


def _shared_ends(rows: Sequence[Mapping[str, str]]) -> dict[str, tuple[int, int]]:
    """Return of each input with how many letters all of its texts begin, and end, alike."""
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name, text in row.items():
            texts[name].add(text)
    cuts = {}
    for name, several in texts.items():
        start = _alike([*several])
        cuts[name] = start, _alike([text[start:][::-1] for text in several])
    return cuts


def _alike(texts: Sequence[str]) -> int:
    return len(os.path.commonprefix(texts)) if len(texts) > 1 else 0  # noqa: RUF071  # letters, not folders


class Same(NamedTuple):
    """A row of a known set that is one of some rows: their places, and whether its texts stand in another order."""

    there: int
    here: int
    turned: bool


def same_rows(known: Sequence[RowMarks], marks: RowMarks) -> Iterator[list[Same]]:
    """Yield for each of the known sets which of its rows are the same as one of ``marks``."""
    *others, mine = _in_clusters([*known, marks])
    holding: defaultdict[int, set[int]] = defaultdict(set)
    rarest: defaultdict[int, set[int]] = defaultdict(set)
    for place, (row, _) in enumerate(mine):
        for text in row:
            holding[text].add(place)
    for place, (_, own) in enumerate(mine):
        if own:
            rarest[min(own, key=lambda text: len(holding[text]))].add(place)
    for rows in others:
        pairs = []
        for there, (row, own) in enumerate(rows):
            having = [holding.get(text, set()) for text in own]
            found = set.intersection(*having) if having else set()
            found |= {place for text in row for place in rarest.get(text, ()) if mine[place][1].issubset(row)}
            for here in sorted(found):
                other = mine[here][0]
                turned = [text for text in row if text in other] != [text for text in other if text in row]
                pairs.append(Same(there, here, turned))
        yield pairs


_Row = tuple[tuple[int, ...], frozenset[int]]
"""The clusters of a row's texts, in their order, and of those that identify it."""


def _in_clusters(sets: Sequence[RowMarks]) -> list[list[_Row]]:
    """Return the rows of all sets in clusters of texts: those that nearly repeat share one."""
    near = clusters(np.concatenate([marks.texts for marks in sets]).astype(np.uint16))
    whole = np.unique(np.concatenate([marks.whole for marks in sets]), return_inverse=True)[1] + len(near)
    joined = coo_array(
        (np.ones(len(near), dtype=np.bool_), (near, whole)), shape=(2 * len(near), 2 * len(near))
    )
    cluster = connected_components(joined, directed=False)[1][near]
    starts = np.cumsum([len(marks.texts) for marks in sets])[:-1]
    return [
        [
            (tuple(dict.fromkeys(here[row].tolist())), frozenset(here[own].tolist()))
            for row, own in zip(marks.rows, marks.own, strict=True)
        ]
        for marks, here in zip(sets, np.split(cluster, starts), strict=True)
    ]


def same_question(known: RowMarks, marks: RowMarks, pairs: Sequence[Same]) -> bool:
    """Say whether the labels of rows that are the same ask the same: see the head of this module.

    Where texts stand in another order, as the two replies of a preference may, labels may mean the reverse: they are
    taken for other labels there.
    """
    there, here = Counter(pair.there for pair in pairs), Counter(pair.here for pair in pairs)
    both = [
        (known.gold[pair.there], marks.gold[pair.here], pair.turned)
        for pair in pairs
        if there[pair.there] == here[pair.here] == 1
    ]
    units: list[tuple[Any, Any]]
    if all(len(old) == len(new) for old, new, _ in both):
        units = [
            ((was, turned), now)
            for old, new, turned in both
            for was, now in zip(old, new, strict=True)
            if -1 not in (was, now)
        ]
    else:
        units = [((tuple(old), turned), tuple(new)) for old, new, turned in both]
    before, after, joint = (
        _entropy(values) for values in ([old for old, _ in units], [new for _, new in units], units)
    )
    return min(before, after) <= 0.0 or before + after - joint >= _SAME * min(before, after)


def _entropy(values: Sequence[Any]) -> float:
    return float(entropy(list(Counter(values).values()))) if values else 0.0
