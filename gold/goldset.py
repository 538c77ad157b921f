"""Gold sets: labelled cases with their card, read from anywhere, checked, split and written; they know no model."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ..cases import ROWS, Case, Value
from ..errors import EmptyInputError, GoldError, Seed, UnknownJudgeError, checked, plural
from ..evaluation.votes import Rule
from ..programs.catalogue import find
from ..programs.judge import Judge
from ..programs.records import is_table, records
from ..text.wording import spaced_alike, strings
from .data import WITH_DIFFERENCE, WITH_NOTHING, WITHOUT_INPUT, WITHOUT_LABEL, GoldData
from .documents import nothing_for, read_for
from .files import Kind, Place, Row
from .mapping import MappingLike, RowMapping, make_mapping
from .paths import by_names, has_column
from .raters import default_rule, describe_raters, merge_gold, unit_ratings
from .rejects import Rejects
from .rows import (
    canonical_row,
    cases_of_row,
    have_different_labels,
    is_rating,
    join_cases,
    label_keys,
    settle_labels,
    with_labels,
    withdraw_contradictions,
)
from .shared import empty_inputs, group_of, shared_inputs
from .sheets import as_row, labelled_rows
from .sources import All, Reading
from .splits import PARTS, Split, split_gold
from .writing import write_jsonl, write_whole


class GoldOrigin(Protocol):
    """The part of a card about the gold of a version, from which it is read again."""

    @property
    def place(self) -> str:
        """The file, or the name of bundled gold."""

    @property
    def mapping(self) -> Mapping[str, Mapping[str, str]]:
        """The names of columns and labels in it, where they are not the judge's."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Gold(GoldData):
    """A gold set: labelled cases of one judge, how they are read, and how they are split."""

    @classmethod
    @checked
    def load(
        cls,
        source: str | Path | Sequence[str | Path] | Any,
        judge: Judge | str,
        *,
        labelled: bool = True,
        mapping: MappingLike | None = None,
        raters: str | Sequence[str] = (),
        merge: Rule | None = None,
        rejects: Rejects | None = None,
    ) -> Gold:
        """Read and check a gold set.

        Args:
            source: see :func:`jurist.gold.sources.read`; several are read as one, equal rows joined with the
                ratings of all of them. Annotation sheets are recognised; see :mod:`jurist.gold.sheets`. Rows in
                Python are read as :meth:`of` does.
            judge: whose rows they are, or its name.
            labelled: True leaves out rows without any label and demands both classes;
                False is for new data, where labels are optional.
            mapping: the names of columns and labels in the source, where they are not the judge's; a dictionary holds
                those of columns.
            raters: the columns that hold one rater's labels each, or a pattern such as ``label_*``. Where no row has a
                label of its own, the labels of its raters are merged; a row without a majority goes to ``ambiguous``.
            merge: the rule that merges them, also where rows have a label; default: the judge's, else ``majority``, and
                of scores ``mean``.
            rejects: takes the rows that cannot be used, and its file is written; default: none may be bad.

        Raises:
            GoldError: the source or one of its rows cannot be used, with file, line and field.
            UsageError: the mapping names a field or a label that the judge does not have.
        """
        judge = named_judge(judge)
        names = make_mapping(mapping).with_named(raters, merge)
        if isinstance(source, str | Path):
            sources: list[Any] = [source]
        elif isinstance(source, Mapping) or is_table(source) or not isinstance(source, Iterable):
            return cls.of(source, judge, labelled=labelled, mapping=names, rejects=rejects)
        else:
            sources = list(source)
        if not sources or not all(isinstance(item, str | Path) for item in sources):
            return cls.of(sources, judge, labelled=labelled, mapping=names, rejects=rejects)
        rejected = Rejects() if rejects is None else rejects
        rejected.check_apart(*sources)
        with rejected:
            readings: list[Reading[All]] = []
            for path in sources:
                readings.append(read_for(judge, path, rejected.add))
            builder = _Builder(judge, names, rejected, labelled=labelled, strict=rejects is None)
            return builder.build(readings, source=" ".join(map(str, sources)))

    @classmethod
    def read_again(
        cls, origin: GoldOrigin, judge: Judge, place: str | Path | None = None, *, labelled: bool = True
    ) -> Gold:
        """Read the gold of a version again, with the mapping on its card; bad rows are left out.

        Args:
            origin: the part of the card about its gold.
            judge: whose rows they are.
            place: the file to read in place of the one on the card.
            labelled: as :meth:`load` takes it.
        """
        mapping = RowMapping.of_json(origin.mapping)
        return cls.load(place or origin.place, judge, labelled=labelled, mapping=mapping, rejects=Rejects())

    @classmethod
    @checked
    def of(
        cls,
        rows: Any,
        judge: Judge | str,
        name: str = ROWS,
        *,
        labelled: bool = True,
        mapping: MappingLike | None = None,
        raters: str | Sequence[str] = (),
        merge: Rule | None = None,
        rejects: Rejects | None = None,
    ) -> Gold:
        """Make a gold set from rows in Python; messages count them from 1.

        Args:
            rows: mappings, cases such as ``gold.split().test``, or a table of pandas, Polars, PyArrow or Hugging Face
                ``datasets``.
            judge: whose rows they are, or its name.
            name: a short name for cards and reports.
            labelled, mapping, raters, merge, rejects: as :meth:`load` takes them.

        Raises:
            GoldError: a row cannot be used, or there is none.
        """
        judge = named_judge(judge)
        names = make_mapping(mapping).with_named(raters, merge)
        rejected = Rejects() if rejects is None else rejects
        with rejected:
            kind: Kind = "columns" if is_table(rows) else "json"
            placed_rows: All = []
            for line, row in enumerate(_rows_in_python(judge, rows, name), 1):
                placed_rows.append((Place(name, line, kind), row))
            reading = Reading(name=name, path=name, rows=placed_rows)
            builder = _Builder(judge, names, rejected, labelled=labelled, strict=rejects is None)
            return builder.build([reading], source=name)

    @checked
    def split(
        self,
        seed: Seed,
        shares: Sequence[float] | None = None,
        *,
        earlier: Mapping[str, str] | None = None,
        holdout: GoldData | None = None,
    ) -> Split:
        """Return the labelled cases in three parts, each group whole in one of them.

        Args:
            seed: draws the order of the groups.
            shares: of train, dev and test; default: those of the judge, else by the number of labelled cases.
            earlier: hash of a group -> the part in which an earlier version had it.
            holdout: a gold set that is the test, in place of a part of this one.

        Raises:
            UsageError: the seed is no whole number from 0 to 4294967295.
            GoldError: the groups are too few, or a part lacks labels that the judge needs.
        """
        return split_gold(self, seed, shares, earlier=earlier, holdout=holdout)


def _rows_in_python(judge: Judge, rows: Any, name: str) -> list[Row]:
    """Return rows as dictionaries; of a case with its labels, which raters may have given, and its group."""
    if not is_table(rows) and isinstance(rows, Sequence) and all(isinstance(row, Case) for row in rows):
        return list(_canonical_rows(judge, rows))
    return records(rows, name)


def named_judge(judge: Judge | str) -> Judge:
    """Return a judge as it is, or the one of a name: built-in, ``FILE.py:judge``, or of a notebook.

    Raises:
        UnknownJudgeError: there is none. ``jurist.judge`` finds one that only its artifacts keep.
    """
    if isinstance(judge, Judge):
        return judge
    try:
        return find(judge)
    except UnknownJudgeError as error:
        hint = f"{error.hint}; give jurist.judge({judge!r}) for a judge that only its artifacts keep"
        raise UnknownJudgeError(f"no judge is called {judge!r}", hint=hint) from error


def describe(gold: Gold) -> dict[str, Any]:
    """Return counts of a gold set as JSON values; the part about labels depends on the kind of answer."""
    judge = gold.judge
    unit_count = 0
    labels: list[Value] = []
    ratings_by_rater = Counter[str]()
    for case in gold.ambiguous:
        ratings_by_rater.update(case.ratings.keys())
    for case in gold.cases:
        unit_count += len(case.gold or judge.answer.units(case.inputs))
        labels.extend(case.labels)
        ratings_by_rater.update(case.ratings.keys())
    return {
        "name": gold.name,
        "source": gold.source,
        "sha256": gold.sha256,
        "judge": judge.name,
        "cases": len(gold.cases),
        "groups": len({case.group for case in gold.cases}),
        "units": unit_count,
        **judge.answer.scale.describe(labels),
        "unlabelled": unit_count - len(labels),
        "empty": empty_inputs(gold.cases),
        "raters": dict(sorted(ratings_by_rater.items())),
        "ambiguous": len(gold.ambiguous),
        "skipped": gold.skipped,
        "merged": gold.merged,
    }


def convert_gold(
    source: Any,
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
    # A file whose merged labels are all of one class is written, too: it may be joined with others.
    gold = Gold.load(source, judge, labelled=labelled and merge is None, mapping=mapping, rejects=rejects)
    if merge is not None:
        ids_in_file_order = [case.id for case in gold.cases]
        gold = merge_gold(gold, merge)
        cases = _order_by_ids(gold.cases + gold.ambiguous, ids_in_file_order)
    elif gold.rule is not None:
        cases = list(gold.cases + gold.ambiguous)
    else:
        cases = list(gold.cases)
    write_jsonl(_canonical_rows(judge, cases), path)
    return gold


def _order_by_ids(cases: Sequence[Case], ids: Iterable[str]) -> list[Case]:
    """Return cases in the order of some ids; those with another id are left out."""
    case_of_id = {case.id: case for case in cases}
    return [case_of_id[case_id] for case_id in ids if case_id in case_of_id]


def _canonical_rows(judge: Judge, cases: Iterable[Case]) -> Iterator[Row]:
    """Yield the row of each case as it is written: the judge's own fields, groups and ratings."""
    for case in cases:
        yield canonical_row(judge, case)


def write_split(gold: Gold, split: Split, folder: str | Path) -> None:
    """Write the parts of gold as JSONL into a folder, and ``split.json`` with seed, shares, sizes and test hash."""
    folder_path = Path(folder)
    sizes: dict[str, int] = {}
    for name in PARTS:
        cases = split.part(name)
        sizes[name] = len(cases)
        write_jsonl(_canonical_rows(split.judge, cases), folder_path / f"{name}.jsonl")
    data = {"seed": split.seed, "shares": list(split.shares), "sizes": sizes, "test_hash": split.test_hash}
    write_whole(json.dumps(data, indent=2, sort_keys=True) + "\n", folder_path / "split.json")


class _Builder:
    """Makes a gold set of rows that were read; it sets bad rows aside, or, if strict, refuses the whole."""

    def __init__(
        self, judge: Judge, mapping: RowMapping | None, rejects: Rejects, *, labelled: bool, strict: bool
    ) -> None:
        self.judge = judge
        self.mapping = mapping or RowMapping()
        self.rejects = rejects
        self.labelled = labelled
        self.strict = strict
        # those that were read, rows with equal inputs
        self.cases_of_id: defaultdict[str, list[Case]] = defaultdict(list)
        self.skipped_by = Counter[str]()  # reason -> cases, and rows without any case, that are left out
        self.read_count = 0  # cases, and rows without any case, that were read
        self.without_label = 0
        # ids of cases whose score is the mean of several that one rater gave to equal inputs
        self.averaged_ids: set[str] = set()
        # rater -> the places of rows with equal inputs to which the rater gave different labels
        self.contradictions: defaultdict[str, list[str]] = defaultdict(list)

    def build(self, readings: Sequence[Reading[All]], source: str) -> Gold:
        """Return the gold set of some readings, which ``source`` names.

        Raises:
            GoldError: no row can be used, or, if strict, one cannot.
            UsageError: the mapping names a field or a label that the judge does not have.
        """
        path = " ".join(reading.path for reading in readings)
        self.mapping = self.mapping.with_raters(_rows_of_readings(readings), path)
        self.mapping.check(self.judge)
        self.mapping.check_columns(self.judge, _rows_of_readings(readings), path)
        for reading in readings:
            if not reading.rows and not self.rejects.count:
                raise nothing_for(self.judge, 0, reading.path)
            self._read_cases(reading)
        joined_cases = self._join_cases()
        self._settle_spacing_variants(joined_cases)
        refusal = self.rejects.refusal()
        if refusal is not None and (self.strict or not joined_cases):
            raise refusal
        if not joined_cases and (self.judge.document or not self.labelled):
            raise nothing_for(self.judge, self.skipped_by.total(), source)
        gold = replace(self._make_gold(readings, joined_cases, source), rejected=self.rejects.count)
        rule = self._merging_rule(gold)
        if rule is not None:
            gold = merge_gold(_with_ambiguous_cases(gold), rule)
            gold = replace(gold, notes=gold.notes + (describe_raters(gold),))
        if self.labelled:
            _check_classes(gold, path)
        return gold

    def _merging_rule(self, gold: Gold) -> Rule | None:
        """Return the rule by which ratings become labels; ``None`` where rows have labels, and nobody names a rule."""
        if not self.labelled or not any(map(_is_rated, gold.cases + gold.ambiguous)):
            return None
        has_labels = any(case.labels for case in gold.cases)
        if self.mapping.merge is None and has_labels:
            return None
        return self.mapping.merge or self.judge.merge or default_rule(self.judge.answer.scale)

    def _read_cases(self, reading: Reading[All]) -> None:
        """Collect the cases of a reading that can be used, by their ids."""
        for source_row, cases in self._iterate_rows(reading):
            self.read_count += max(1, len(cases))
            if not cases:
                self.skipped_by[WITH_NOTHING] += 1
            for case in cases:
                is_labelled = _is_labelled(case)
                if not is_labelled:
                    self.without_label += 1
                if self.labelled and not is_labelled:
                    self.skipped_by[WITHOUT_LABEL] += 1
                elif self.labelled and _is_blank(case):
                    self.skipped_by[WITHOUT_INPUT] += 1
                else:
                    placed_case = replace(case, source_row=source_row)
                    self.cases_of_id[placed_case.id].append(placed_case)

    def _iterate_rows(self, reading: Reading[All]) -> Iterator[tuple[Row, list[Case]]]:
        """Yield each row of a source with the cases that it holds."""
        for place, source_row in labelled_rows(reading.rows):
            try:
                row, row_place = as_row(self.judge, source_row, place)
                is_mapped = row is source_row  # a sheet or a journal has the judge's own names
                items = [row]
                if is_mapped:
                    items = self.mapping.items(self.judge, row, row_place)
            except GoldError as error:
                self.rejects.add(error, source_row)
                continue
            for item in items:
                judge_row = self.mapping.row(self.judge, item) if is_mapped else item
                try:
                    yield source_row, cases_of_row(self.judge, judge_row, row_place)
                except GoldError as error:
                    if self._is_skipped(error):
                        self.read_count += 1
                        self.skipped_by[WITHOUT_INPUT] += 1
                    elif is_mapped:
                        self.rejects.add(self.mapping.with_source_column(self.judge, error, item), source_row)
                    else:
                        self.rejects.add(error, source_row)

    def _is_skipped(self, error: GoldError) -> bool:
        """Whether a row with this error is skipped, and not rejected: a row without inputs of strictly read gold."""
        if not (self.labelled and self.strict):
            return False
        errors = [error]
        errors.extend(error.further_errors)
        return all(isinstance(part, EmptyInputError) for part in errors)

    def _join_cases(self) -> dict[str, Case]:
        """Return one case for each id: rows with equal inputs are joined, those that contradict are rejected."""
        joined_cases: dict[str, Case] = {}
        for case_id, all_cases in self.cases_of_id.items():
            read_cases, raters = withdraw_contradictions(self.judge, all_cases)
            for rater in raters:
                self.contradictions[rater].append(" and ".join(case.source for case in all_cases))
            try:
                joined_case = join_cases(self.judge, read_cases)
            except GoldError as error:
                source_row = dict(read_cases[0].source_row)
                self._reject_all(self.mapping.with_source_column(self.judge, error, source_row), read_cases)
            else:
                joined_cases[case_id] = joined_case
                if have_different_labels(read_cases):  # only different scores can be joined, by their mean
                    self.averaged_ids.add(case_id)
        return joined_cases

    def _settle_spacing_variants(self, joined_cases: dict[str, Case]) -> None:
        """Settle the labels of cases whose inputs differ in white space alone: one mean score, or both are rejected."""
        for cases in _find_contradicting(list(joined_cases.values())):
            read_cases: list[Case] = []
            for case in cases:
                read_cases.extend(self.cases_of_id[case.id])
            labelled_cases = [case for case in read_cases if case.labels]
            try:
                labels = settle_labels(self.judge, labelled_cases, "inputs that differ in white space alone")
            except GoldError as error:
                for case in cases:
                    del joined_cases[case.id]
                self._reject_all(error, read_cases)
                continue
            assert labels is not None
            if have_different_labels(labelled_cases):
                self.averaged_ids.update(case.id for case in cases)
            for case in cases:
                row = with_labels(self.judge, case.row, labels)
                joined_cases[case.id] = replace(case, gold=labels, row=row)

    def _reject_all(self, error: GoldError, read_cases: Sequence[Case]) -> None:
        """Reject rows that contradict each other: nobody knows which of them is true."""
        for case in read_cases:
            self.rejects.add(error, case.source_row)

    def _make_gold(
        self, readings: Sequence[Reading[All]], joined_cases: Mapping[str, Case], source: str
    ) -> Gold:
        """Return the gold set of joined cases, each with a group."""
        shared = shared_inputs(self.judge, list(joined_cases.values()))
        # Groups depend on the inputs that many rows share; the judge of the gold set does not name them.
        grouping_judge = self.judge
        if grouping_judge.common is None:
            grouping_judge = grouping_judge.with_common(tuple(shared))
        cases: list[Case] = []
        ambiguous: list[Case] = []
        merged_count = 0
        for case_id, joined_case in joined_cases.items():
            case = joined_case.in_group(group_of(grouping_judge, joined_case))
            merged_count += _count_repeated(self.cases_of_id[case_id])
            if self.labelled and not case.labels:
                ambiguous.append(case)
            else:
                cases.append(case)
        notes: list[str] = []
        for reading in readings:
            notes.extend(reading.notes)
        if self.averaged_ids:
            cases_words = plural(len(self.averaged_ids), "case")
            notes.append(
                f"{cases_words} with several scores of one rater for equal inputs: their mean counts"
            )
        for rater, places in self.contradictions.items():
            cases_words = plural(len(places), "case")
            notes.append(
                f"rater {rater!r} gave different labels to equal inputs in {cases_words} ({places[0]}): "
                "the labels of the other raters count there"
            )
        if self.without_label:
            notes.extend(_notes_on_positions(self.mapping, readings))
        skipped_by = self.skipped_by + Counter({WITH_DIFFERENCE: len(ambiguous)})
        return Gold(
            name=" ".join(reading.name for reading in readings),
            judge=self.judge,
            cases=tuple(cases),
            source=source,
            card=readings[0].card if len(readings) == 1 else {},
            ambiguous=tuple(ambiguous),
            mapping=self.mapping.to_json(),
            skipped_by=dict(skipped_by),
            merged=merged_count,
            shared=shared,
            read=self.read_count,
            without_label=self.without_label,
            notes=tuple(notes),
        )


def _with_ambiguous_cases(gold: Gold) -> Gold:
    """Return a gold set whose cases without a label stand among the others, in its order, to be merged."""
    return replace(
        gold,
        cases=gold.cases + gold.ambiguous,
        ambiguous=(),
        skipped_by=dict(Counter(gold.skipped_by) - Counter({WITH_DIFFERENCE: len(gold.ambiguous)})),
    )


def _rows_of_readings(readings: Sequence[Reading[All]]) -> list[Row]:
    """Return all rows of some readings."""
    rows: list[Row] = []
    for reading in readings:
        for _, row in reading.rows:
            rows.append(row)
    return rows


def _find_row_with(rows: Sequence[Row], column: str) -> Row:
    """Return the first row that has a column or a path; an empty row without one."""
    for row in rows:
        if has_column(row, column):
            return row
    return {}


def _notes_on_positions(mapping: RowMapping, readings: Sequence[Reading[All]]) -> list[str]:
    """Return a note for each column that takes items by position although the items have names."""
    notes: list[str] = []
    rows = _rows_of_readings(readings)
    for column, field in mapping.columns.items():
        column_by_name = by_names(_find_row_with(rows, column), column)
        if column_by_name != column:
            notes.append(
                f"items may stand in another order: --column '{column_by_name}={field}' finds them by name"
            )
    return notes


def _find_contradicting(cases: Sequence[Case]) -> list[list[Case]]:
    """Return lists of cases with different labels whose inputs differ in white space alone."""
    cases_by_text: defaultdict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if case.labels:
            text = "\0".join(map(spaced_alike, strings(case.inputs)))
            cases_by_text[text].append(case)
    contradicting: list[list[Case]] = []
    for same_text in cases_by_text.values():
        if len({case.gold for case in same_text}) > 1:
            contradicting.append(same_text)
    return contradicting


def _count_repeated(cases: Sequence[Case]) -> int:
    """Return how many of some rows with equal inputs repeat another; a rating of another rater repeats nothing."""
    raters_of_rows: set[tuple[str, ...]] = set()
    for case in cases:
        raters: tuple[str, ...] = ()
        if not case.labels:
            raters = tuple(sorted(case.ratings))
        raters_of_rows.add(raters)
    return len(cases) - len(raters_of_rows)


def _is_blank(case: Case) -> bool:
    """Whether a case has nothing to be judged."""
    return all(isinstance(text, str) and not text.strip() for text in case.inputs.values())


def _is_labelled(case: Case) -> bool:
    """Whether a case has a gold label or a rating."""
    return bool(case.labels) or _is_rated(case)


def _is_rated(case: Case) -> bool:
    """Whether a rater labelled a unit of a case."""
    return any(unit_ratings(case))


def _check_classes(gold: Gold, path: str) -> None:
    """Refuse gold without labels, or without a class that its judge needs."""
    judge = gold.judge
    if not any(case.labels for case in gold.cases):
        field = (label_keys(judge) or [judge.answer.field])[0]
        expects = judge.answer.scale.expects
        column = gold.source_column(field)
        hint = f"add the column {field!r} with {expects}, or say which one it is: --column THEIRS={field}, "
        if column != field:
            hint = f"fill in the column {column!r} with {expects}, or name another one: --column THEIRS={field}, "
        rater_columns = [rater_column for rater_column, name in judge.columns.items() if is_rating(name)]
        if rater_columns:
            hint += f"or add the columns of the judge's raters: {', '.join(rater_columns)}"
        else:
            hint += "or name the columns of several raters: --raters 'label_*'"
        if judge.answer.criteria:
            field = next(iter(judge.answer.criteria))
            column = gold.source_column(field)
            names = ", ".join(map(repr, judge.answer.criteria))
            hint = f"add a column for each criterion, {names}, or say which they are: --column THEIRS={field}"
        if any(_is_rated(case) for case in gold.ambiguous):
            hint = "no row has a majority of its raters: let more people label it, or name another rule with --merge"
        raise GoldError(f"none of the {gold.skipped} rows has a label", path=path, field=column, hint=hint)
    lack = judge.answer.scale.check_part(gold.cases)
    if lack is not None:
        hint = f"add rows labelled {lack.missing_values}"
        if gold.ambiguous:
            hint += f", or settle the {plural(len(gold.ambiguous), 'row')} on which raters differ, with jurist review"
        if gold.rejected:
            hint += f"; {plural(gold.rejected, 'row')} cannot be used, and jurist gold check says why"
        raise GoldError(f"{lack.gold_words}: there is no {lack.what} one", path=path, hint=hint)
