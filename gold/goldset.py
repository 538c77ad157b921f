"""Gold sets: labelled cases with their card, read from anywhere, checked, split and written; they know no model."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

from ..cases import Case
from ..errors import EmptyInputError, GoldError, checked
from ..programs.judge import Judge
from ..programs.records import is_table, records
from ..text.wording import spaced_alike, strings
from .data import GoldData
from .documents import nothing_for, read_for
from .files import Kind, Place, Row
from .mapping import RowMapping
from .paths import by_names, has_column
from .raters import Rule, merge_gold
from .rejects import Rejects
from .rows import canonical_row, contradiction, joined, label_keys, normalise
from .shared import empty_inputs, grouped, shared_inputs
from .sheets import as_row, labelled_rows
from .sources import All, Reading
from .splits import PARTS, Split, split_gold
from .writing import write_jsonl, write_whole


@dataclass(frozen=True, kw_only=True, repr=False)
class Gold(GoldData):
    """A gold set: labelled cases of one judge, how they are read, and how they are split."""

    @classmethod
    @checked
    def load(
        cls,
        source: str | Path | Sequence[str | Path] | Any,
        judge: Judge,
        *,
        labelled: bool = True,
        mapping: RowMapping | None = None,
        rejects: Rejects | None = None,
    ) -> Gold:
        """Read and check a gold set.

        Args:
            source: see :func:`jurist.gold.sources.read`; several are read as one, equal rows joined with the
                ratings of all of them. Annotation sheets are recognised; see :mod:`jurist.gold.sheets`. Rows in
                Python are read as :meth:`of` does.
            judge: whose rows they are.
            labelled: True leaves out rows without any label and demands both classes;
                False is for new data, where labels are optional.
            mapping: the names of columns and labels in the source, where they are not the judge's.
            rejects: takes the rows that cannot be used, and its file is written; default: none may be bad.

        Raises:
            GoldError: the source or one of its rows cannot be used, with file, line and field.
            UsageError: the mapping names a field or a label that the judge does not have.
        """
        sources: list[Any] = (
            [source] if isinstance(source, str | Path | Mapping) or is_table(source) else list(source)
        )
        if not all(isinstance(source_, str | Path) for source_ in sources):  # rows, or a table of them
            rows = source if is_table(source) else sources  # which hold what a generator gave
            return cls.of(rows, judge, labelled=labelled, mapping=mapping, rejects=rejects)
        bad = Rejects() if rejects is None else rejects
        bad.check_apart(*sources)
        with bad:
            readings = [read_for(judge, named, bad.add) for named in sources]
            return _build(
                readings, judge, " ".join(map(str, sources)), labelled, mapping, bad, rejects is None
            )

    @classmethod
    def again(
        cls, about: Mapping[str, Any], judge: Judge, place: str | Path | None = None, *, labelled: bool = True
    ) -> Gold:
        """Read gold that a card tells of once more, by the names it was read by then, without what was set aside."""
        source = place or str(about.get("source") or about["name"])
        mapping = RowMapping(**about.get("mapping", {}))
        return cls.load(source, judge, labelled=labelled, mapping=mapping, rejects=Rejects())

    @classmethod
    @checked
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
        bad = Rejects() if rejects is None else rejects
        with bad:
            kind: Kind = "columns" if is_table(rows) else "json"
            placed = [(Place(name, line, kind), row) for line, row in enumerate(records(rows, name), 1)]
            reading = Reading(name=name, path=name, rows=placed)
            return _build([reading], judge, name, labelled, mapping, bad, rejects is None)

    split = split_gold


def describe(gold: Gold) -> dict[str, Any]:
    """Return what a gold set holds, as JSON values; what is said of the labels depends on the kind of answer."""
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
        **judge.answer.scale.describe(known),
        "unlabelled": units - len(known),
        "empty": empty_inputs(gold.cases),
        "raters": dict(sorted(raters.items())),
        "skipped": gold.skipped,
        "merged": gold.merged,
    }


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
    """Read any source and write it as canonical JSONL: the judge's own fields, groups and ratings."""
    if rejects is not None:
        rejects.check_apart(path)
    gold = Gold.load(source, judge, labelled=labelled and merge is None, mapping=mapping, rejects=rejects)
    if merge is not None:
        gold = merge_gold(gold, merge)
    known = {case.id: case for case in (*gold.cases, *gold.ambiguous)}
    order = [known[id_] for id_ in gold.rows if id_ in known] if merge is not None else gold.cases
    write_jsonl((canonical_row(judge, gold.rows[case.id], case) for case in order), path)
    return gold


def write_split(split: Split, folder: str | Path) -> None:
    """Write the parts as JSONL into a folder, and ``split.json`` with seed, shares, sizes and test hash."""
    place = Path(folder)
    for name in PARTS:
        cases = split.part(name)
        write_jsonl(
            (canonical_row(split.judge, split.rows[case.id], case) for case in cases), place / f"{name}.jsonl"
        )
    sizes = {name: len(split.part(name)) for name in PARTS}
    about = {"seed": split.seed, "shares": list(split.shares), "sizes": sizes, "test_hash": split.test_hash}
    write_whole(json.dumps(about, indent=2, sort_keys=True) + "\n", place / "split.json")


def _build(
    readings: Sequence[Reading[All]],
    judge: Judge,
    source: str,
    labelled: bool,
    mapping: RowMapping | None,
    bad: Rejects,
    strict: bool,
) -> Gold:
    """Make a gold set of what was read; bad rows are set aside, or, if strict, the whole is refused."""
    mapping = mapping or RowMapping()
    mapping.check(judge)
    path = " ".join(reading.path for reading in readings)
    mapping.check_columns(judge, [row for reading in readings for _, row in reading.rows], path)
    held: defaultdict[str, list[tuple[Row, tuple[Case, Row]]]] = defaultdict(list)  # case id -> its rows
    skipped = read = without_label = 0
    for reading in readings:
        if not reading.rows and not bad.count:
            raise nothing_for(judge, 0, reading.path)
        for raw, cases in _rows(reading, judge, mapping, bad, aside=labelled and strict):
            used = [(case, row) for case, row in cases if not labelled or _has_both(case)]
            skipped += len(cases) - len(used) if cases else 1
            read += max(1, len(cases))
            without_label += sum(not _is_labelled(case) for case, _ in cases)
            for case, row in used:
                held[case.id].append((raw, (case, row)))
    whole: dict[str, tuple[Case, Row]] = {}
    for key, several in held.items():
        try:
            whole[key] = reduce(partial(joined, judge), [pair for _, pair in several])
        except GoldError as error:  # none of rows that contradict each other is the truth
            # a refusal counts those that contradict the first
            for raw, _ in several[1:] if strict else several:
                bad.add(error, raw)
    for alike in _contradicting([case for case, _ in whole.values()]):
        contradicted = contradiction(alike[0], alike[1], "inputs that differ in white space alone")
        raw_rows = [raw for case in alike for raw, _ in held[case.id]]
        for raw in raw_rows[1:] if strict else raw_rows:
            bad.add(contradicted, raw)
        for case in alike:
            del whole[case.id]
    refusal = bad.refusal()
    if refusal is not None and (strict or not whole):
        raise refusal
    if not whole and (judge.document or not labelled):
        raise nothing_for(judge, skipped, source)
    shared = shared_inputs(judge, [case for case, _ in whole.values()])
    known = replace(judge, common=tuple(shared)) if judge.common is None else judge
    grouped_cases = [grouped(known, case) for case, _ in whole.values()]
    ambiguous = tuple(case for case in grouped_cases if labelled and not case.known)
    gold = Gold(
        name=" ".join(reading.name for reading in readings),
        judge=judge,
        cases=tuple(case for case in grouped_cases if case.known or not labelled),
        source=source,
        card=readings[0].card if len(readings) == 1 else {},
        rows={key: row for key, (_, row) in whole.items()},
        ambiguous=ambiguous,
        mapping=mapping.to_json(),
        skipped=skipped + len(ambiguous),
        merged=sum(_repeated([case for _, (case, _) in held[key]]) for key in whole),
        shared=shared,
        read=read,
        without_label=without_label,
        notes=(
            *(note for reading in readings for note in reading.notes),
            *(_places_of_items(mapping, readings) if without_label else ()),
        ),
    )
    if labelled:
        _check_classes(gold, path)
    return gold


def _rows(
    reading: Reading[All], judge: Judge, mapping: RowMapping, bad: Rejects, aside: bool
) -> Iterator[tuple[Row, list[tuple[Case, Row]]]]:
    """Yield each row of a source with the cases that it holds."""
    # A row without an input holds none if it is to be set ``aside``, and is a bad one otherwise
    for place, raw in labelled_rows(reading.rows):
        try:
            row, at = as_row(judge, raw, place)
            # what was written for people to label has the judge's own names
            items = (
                [mapping.row(judge, item) for item in mapping.items(judge, row, at)] if row is raw else [row]
            )
        except GoldError as error:
            bad.add(error, raw)
            continue
        for item in items:
            try:
                yield raw, normalise(judge, item, at)
            except GoldError as error:
                if aside and all(isinstance(part, EmptyInputError) for part in (error, *error.also)):
                    yield raw, []
                else:
                    bad.add(error, raw)


def _places_of_items(mapping: RowMapping, readings: Sequence[Reading[All]]) -> list[str]:
    """Return a note for each column that takes items by their places, where the items have names to find them by."""
    notes = []
    for column, name in mapping.columns.items():
        rows = (row for reading in readings for _, row in reading.rows)
        first = next((row for row in rows if has_column(row, column)), {})
        named = by_names(first, column)
        if named != column:
            notes.append(f"items may stand in another order: --column '{named}={name}' finds them by name")
    return notes


def _contradicting(cases: Sequence[Case]) -> list[list[Case]]:
    """Return the cases that have different labels, and inputs that differ in nothing but white space."""
    by_text: defaultdict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if case.known:
            texts = [spaced_alike(text) for text in strings(case.inputs)]
            by_text["\0".join(texts)].append(case)
    contradicting = []
    for alike in by_text.values():
        if len({case.gold for case in alike}) > 1:
            contradicting.append(alike)
    return contradicting


def _repeated(cases: Sequence[Case]) -> int:
    """Return how many of rows with equal inputs say what another says; labels of other raters are none of them."""
    return len(cases) - len({() if case.known else tuple(sorted(case.ratings)) for case in cases})


def _has_both(case: Case) -> bool:
    """Whether a case has something to be judged, and a label or a rating."""
    blank = all(isinstance(text, str) and not text.strip() for text in case.inputs.values())
    return not blank and _is_labelled(case)


def _is_labelled(case: Case) -> bool:
    """Whether a case has a gold label or a rating."""
    return bool(case.known) or _rated(case)


def _rated(case: Case) -> bool:
    return any(label is not None for labels in case.ratings.values() for label in labels)


def _check_classes(gold: Gold, path: str) -> None:
    judge = gold.judge
    if not any(case.known for case in gold.cases):
        key = (label_keys(judge) or [judge.answer.field])[0]
        expects = judge.answer.scale.expects
        hint = f"add the column {key!r} with {expects}, or say which one it is: --column THEIRS={key}"
        if any(map(_rated, gold.ambiguous)):
            hint = "what raters said is no gold yet: make one label of theirs with jurist gold import --merge"
        raise GoldError(f"none of the {gold.skipped} rows has a label", path=path, field=key, hint=hint)
    if (lack := judge.answer.scale.check_part(gold.cases)) is not None:
        hint = f"add rows labelled {lack.wanted}"
        raise GoldError(f"{lack.said}: there is no {lack.what} one", path=path, hint=hint)
