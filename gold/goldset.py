"""Gold sets: labelled cases with their card, read from anywhere, checked, split and written.

A gold set is refused as a whole when any row of it is wrong, unless bad rows are
to be set aside: a judge compiled on half of a file would be proved on the wrong
thing. It knows nothing of models.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cases import Case
from ..errors import GoldError
from ..programs.records import is_table, records
from .columns import Rejects
from .documents import read_for
from .expanding import expand_row, nothing_for
from .goldrows import canonical_row, label_keys, make_case
from .joining import joined
from .mapping import RowMapping
from .merging import Rule, merge_gold, named_ambiguity
from .readers import Reading
from .rows import GoldData
from .rowtypes import Kind, Place, Row
from .shared import grouped, settled, shared_inputs
from .sheets_in import answered, is_sheet
from .splits import PARTS, Split, split_gold
from .writing import write_jsonl, write_whole

if TYPE_CHECKING:
    from ..programs.judge import Judge


@dataclass(frozen=True, kw_only=True, repr=False)
class Gold(GoldData):
    """A gold set: its data, how it is read, and how it is split."""

    def __repr__(self) -> str:
        """Name it, and say how much there is of it."""
        groups = len({case.group for case in self.cases})
        return f"<Gold {self.name} of {self.judge.name}: {len(self.cases)} cases in {groups} groups>"

    @classmethod
    def load(
        cls,
        source: str | Path | Sequence[str | Path],
        judge: Judge,
        *,
        labelled: bool = True,
        mapping: RowMapping | None = None,
        rejects: Rejects | None = None,
    ) -> Gold:
        """Read and check a gold set.

        Args:
            source: see :func:`jurist.gold.readers.read`; several are read as one, equal rows joined with the
                ratings of all of them. Annotation sheets are recognised; see :mod:`jurist.gold.sheets_out`.
            judge: whose rows they are.
            labelled: True leaves out rows without any label and demands both classes;
                False is for new data, where labels are optional.
            mapping: the names of columns and labels in the source, where they are not the judge's.
            rejects: takes the rows that cannot be used, and its file is written; default: none may be bad.

        Raises:
            GoldError: the source or one of its rows cannot be used, with file, line and field.
            UsageError: the mapping names a field or a label that the judge does not have.
        """
        sources = [source] if isinstance(source, str | Path) else list(source)
        way = _Way(labelled, mapping or RowMapping(), rejects or Rejects(), rejects is None)
        way.bad.check_apart(*sources)
        with way.bad:
            readings = [read_for(judge, one, way.bad.add) for one in sources]
            return _build(readings, judge, " ".join(map(str, sources)), way)

    @classmethod
    def again(
        cls, about: Mapping[str, Any], judge: Judge, place: str | Path | None = None, *, labelled: bool = True
    ) -> Gold:
        """Read gold that a card tells of once more, by the names it was read by then, without what was set aside.

        Args:
            about: the card's ``gold``.
            judge: whose rows they are.
            place: where it is, if not where the card says.
            labelled: as for :meth:`load`.

        Raises:
            GoldError: it cannot be read.
        """
        source = place or str(about.get("source") or about["name"])
        mapping = RowMapping(**about.get("mapping", {}))
        return cls.load(source, judge, labelled=labelled, mapping=mapping, rejects=Rejects())

    @classmethod
    def of(
        cls,
        rows: Any,
        judge: Judge,
        name: str = "rows",
        *,
        labelled: bool = True,
        mapping: RowMapping | None = None,
        rejects: Rejects | None = None,
    ) -> Gold:
        """Make a gold set from rows in Python; messages count them from 1.

        Args:
            rows: mappings, or a table of pandas, Polars, PyArrow or Hugging Face ``datasets``.
            judge: whose rows they are.
            name: a short name for cards and reports.
            labelled, mapping, rejects: as :meth:`load` takes them.

        Raises:
            GoldError: a row cannot be used, or there is none.
        """
        way = _Way(labelled, mapping or RowMapping(), rejects or Rejects(), rejects is None)
        with way.bad:
            numbered = list(enumerate(records(rows, name), 1))
            kind: Kind = "columns" if is_table(rows) else "json"
            return _build([Reading(name=name, path=name, rows=numbered, kind=kind)], judge, name, way)

    def split(
        self,
        seed: int,
        shares: tuple[float, float, float] | None = None,
        *,
        earlier: Mapping[str, str] | None = None,
        holdout: Gold | None = None,
    ) -> Split:
        """Split by group into train, dev and test: see :func:`~jurist.gold.splits.split_gold`, which raises."""
        return split_gold(self, seed, shares, earlier=earlier, holdout=holdout)


def describe(gold: Gold) -> dict[str, Any]:
    """Return what a gold set holds, as JSON values.

    ``cases``, ``groups`` and ``units`` are counts, ``unlabelled`` counts units without a label, ``empty`` the cases
    in which an input of text is empty, by its name, ``raters`` the cases each rater rated, ``skipped`` and
    ``merged`` count rows left out. What is said of the labels depends on the kind of answer: of closed ones, units
    by label, and the ``positive`` share of the labelled units.
    """
    judge = gold.judge
    units = sum(len(case.gold or judge.answer.units(case.inputs)) for case in gold.cases)
    known = [value for case in gold.cases for value in case.known]
    raters = Counter(rater for case in gold.cases for rater in case.ratings)
    return {
        "name": gold.name,
        "source": gold.source,
        "sha256": gold.sha256,
        "judge": judge.name,
        "cases": len(gold.cases),
        "groups": len({case.group for case in gold.cases}),
        "units": units,
        **judge.answer.describe(known),
        "unlabelled": units - len(known),
        "empty": empty_inputs(gold.cases),
        "raters": dict(sorted(raters.items())),
        "skipped": gold.skipped,
        "merged": gold.merged,
    }


def empty_inputs(cases: Sequence[Case]) -> dict[str, int]:
    """Return how many cases have an input of text that is empty, by its name."""
    found = Counter(
        name
        for case in cases
        for name, value in case.inputs.items()
        if isinstance(value, str) and not value.strip()
    )
    return dict(sorted(found.items()))


def import_gold(
    source: str | Path | Sequence[str | Path],
    judge: Judge,
    path: str | Path,
    *,
    labelled: bool = True,
    merge: Rule | None = None,
    mapping: RowMapping | None = None,
    rejects: Rejects | None = None,
) -> Gold:
    """Read any source and write it as canonical JSONL: the judge's own fields, groups and ratings.

    Reading the file gives a gold set with the same ``sha256``.
    """
    if rejects is not None:
        rejects.check_apart(path)
    gold = Gold.load(source, judge, labelled=labelled and merge is None, mapping=mapping, rejects=rejects)
    if merge is not None:
        gold = _by_rule(gold, merge)
    known = {case.id: case for case in (*gold.cases, *gold.ambiguous)}
    order = [known[id_] for id_ in gold.rows if id_ in known] if merge is not None else gold.cases
    write_jsonl((canonical_row(judge, gold.rows[case.id], case) for case in order), path)
    return gold


def _by_rule(gold: Gold, rule: Rule) -> Gold:
    """Return the gold set after a rule, without the rows that nobody labelled."""
    if not label_keys(gold.judge):
        hint = f"give its rows model the field {gold.judge.answer.field!r}"
        raise GoldError(f"the rows of judge {gold.judge.name!r} have no field for a label", hint=hint)
    after, merged = merge_gold(gold, rule)
    cases = tuple(case for case in after.cases if case.known)
    ambiguous = tuple(case for case in after.cases if not case.known and _rated(case))
    if not cases and not ambiguous:
        raise GoldError(
            f"none of the {len(after.cases)} rows has a label or a rating",
            path=gold.source,
            hint="fill in the column rater:NAME of a sheet, or give rows with labels or ratings",
        )
    rows = named_ambiguity(after.rows, merged, several=gold.judge.answer.per_unit)
    left_out = len(after.cases) - len(cases)
    return replace(after, cases=cases, ambiguous=ambiguous, rows=rows, skipped=gold.skipped + left_out)


def write_split(split: Split, folder: str | Path) -> None:
    """Write ``train.jsonl``, ``dev.jsonl``, ``test.jsonl`` and ``split.json`` into a folder.

    ``split.json`` holds the seed, the shares, the number of cases of each part and the test hash.
    """
    place = Path(folder)
    for name in PARTS:
        cases = split.part(name)
        write_jsonl(
            (canonical_row(split.judge, split.rows[case.id], case) for case in cases), place / f"{name}.jsonl"
        )
    sizes = {name: len(split.part(name)) for name in PARTS}
    about = {"seed": split.seed, "shares": list(split.shares), "sizes": sizes, "test_hash": split.test_hash}
    write_whole(json.dumps(about, indent=2, sort_keys=True) + "\n", place / "split.json")


@dataclass(frozen=True)
class _Way:
    """How rows become cases."""

    labelled: bool  # as for :meth:`Gold.load`
    mapping: RowMapping  # the names in the source
    bad: Rejects  # takes the rows that cannot be used
    strict: bool  # whether none may be bad


def _build(readings: Sequence[Reading], judge: Judge, source: str, way: _Way) -> Gold:
    way.mapping.check(judge)
    found: dict[str, tuple[Case, Row]] = {}
    raws: defaultdict[str, list[Row]] = defaultdict(list)  # case id -> the rows that it was read from
    torn: dict[
        str, GoldError
    ] = {}  # case id -> what its rows contradict each other in: none of them is the truth
    skipped = merged = 0
    for reading in readings:
        for raw, held in _cases(reading, judge, way):
            skipped += not held
            for case, row in held:
                if way.labelled and not case.known and not _rated(case):
                    skipped += 1
                    continue
                raws[case.id].append(raw)
                if case.id in torn:
                    way.bad.add(torn[case.id], raw)
                elif case.id not in found:
                    found[case.id] = case, row
                else:
                    try:
                        found[case.id] = joined(found[case.id], (case, row))
                        merged += 1
                    except GoldError as error:
                        torn[case.id] = error
                        del found[case.id]
                        merged -= len(raws[case.id]) - 2
                        for contradicting in raws[case.id][-1:] if way.strict else raws[case.id]:
                            way.bad.add(error, contradicting)
    _settle(way, found)
    if not found and (judge.document or not way.labelled):
        raise nothing_for(judge, skipped, source)
    shared = shared_inputs(judge, [case for case, _ in found.values()])
    known = settled(judge, shared)
    cases = [grouped(known, case) for case, _ in found.values()]
    ambiguous = tuple(case for case in cases if way.labelled and not case.known)
    out = {case.id for case in ambiguous}
    gold = Gold(
        name=" ".join(reading.name for reading in readings),
        judge=judge,
        cases=tuple(case for case in cases if case.id not in out),
        source=source,
        card=readings[0].card if len(readings) == 1 else {},
        rows={key: row for key, (_, row) in found.items()},
        ambiguous=ambiguous,
        mapping=way.mapping.to_json(),
        skipped=skipped + len(ambiguous),
        merged=merged,
        shared=shared,
    )
    if way.labelled:
        _check_classes(gold, " ".join(reading.path for reading in readings))
    return gold


def _settle(way: _Way, found: Mapping[str, Any]) -> None:
    """Refuse bad rows where none may be bad, and where nothing else is left."""
    refusal = way.bad.refusal()
    if refusal is not None and (way.strict or not found):
        raise refusal


def _cases(reading: Reading, judge: Judge, way: _Way) -> Iterator[tuple[Row, list[tuple[Case, Row]]]]:
    """Yield each row of the source and what it holds: one case, or any number where the judge expands rows."""
    if not reading.rows and not way.bad.count:
        raise GoldError("there are no rows", path=reading.path, hint="give at least one row")
    originals = dict(reading.rows)
    reading = way.mapping.reading(judge, reading)
    if reading.rows and is_sheet(reading):
        reading = answered(judge, reading)
    for number, (line, _) in enumerate(reading.rows):
        raw = originals[line]
        try:
            rows = expand_row(judge, reading, number)
            held = [(make_case(judge, row, Place(reading.path, line)), row) for row in rows]
        except GoldError as error:
            way.bad.add(error, raw)
            continue
        yield raw, held


def _rated(case: Case) -> bool:
    return any(label is not None for labels in case.ratings.values() for label in labels)


def _check_classes(gold: Gold, path: str) -> None:
    judge = gold.judge
    if not any(case.known for case in gold.cases):
        key = (label_keys(judge) or [judge.answer.field])[0]
        hint = f"add the column {key!r} with {judge.answer.expects}, or say which one it is: --column THEIRS={key}"
        if any(map(_rated, gold.ambiguous)):
            hint = "what raters said is no gold yet: make one label of theirs with jurist gold import --merge"
        raise GoldError(f"none of the {gold.skipped} rows has a label", path=path, field=key, hint=hint)
    if (lack := judge.answer.check_part(gold.cases)) is not None:
        raise GoldError(
            f"{lack.said}: there is no {lack.what} one", path=path, hint=f"add rows labelled {lack.wanted}"
        )
