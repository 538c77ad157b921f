"""Gold from Python: checked, imported, and how far its raters agree; the console prints the same results."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from ..errors import GoldError, Seed, UsageError, checked, in_words_of_caller, plural
from ..evaluation.votes import Rule
from ..gold.goldset import Gold, convert_gold, describe
from ..gold.mapping import MappingLike, RowMapping, make_mapping
from ..gold.raters import Strata, name_raters, rating_columns, rules_of, share_a_unit, strata
from ..gold.rejects import Problem, Rejects
from ..gold.rows import NAMED_CATEGORIES
from ..gold.splits import PARTS, Shares, near_groups_words
from ..keeping.artifacts import Store
from ..programs.judge import Judge
from .scores import (
    agreement_tables,
    ceiling_card,
    ceiling_table,
    certain_table,
    kappas_of_pair,
    measures_of_all,
    rules_table,
)
from .shown import Shown, score_record
from .table import Table, table

if TYPE_CHECKING:
    from ..evaluation.agreement import Agreement, Ceiling

StoreLike = str | os.PathLike[str] | Store | None
"""The folder of artifacts; ``None`` is ``$JURIST_STORE``, else ``./compiled``."""


@dataclass(frozen=True, kw_only=True, repr=False)
class GoldAgreement(Shown):
    """The agreement of a gold set's raters, and what each rule of merging leaves ambiguous."""

    gold: str  # the gold's name
    judge: str  # the judge's name
    measured: Agreement  # raw agreement, Krippendorff's alphas, kappas of pairs, by label
    ceiling: Ceiling  # each rater against the others, by the judge's metrics
    rules: Mapping[Rule, Strata]  # rule -> units by the agreement of their raters
    # of the units that nobody called ambiguous; None where somebody called none so
    certain: Agreement | None = None

    def parts(self) -> list[Table | str]:
        """Return the tables of agreement, of the ceiling, and of the rules."""
        measured = self.measured
        rated = f"{measured.units} units with two ratings or more, in {measured.groups} groups"
        line = f"{self.gold}: {len(measured.raters)} raters, {rated}; {measured.skipped} units with fewer ratings"
        parts: list[Table | str] = [line]
        parts.extend(agreement_tables(measured))
        if self.certain is not None:
            parts.append(certain_table(self.certain, measured))
        parts.append(ceiling_table(self.ceiling))
        parts.append(rules_table(self.rules))
        return parts

    @property
    def latex_tables(self) -> Sequence[Table]:
        """All tables: of agreement, of the ceiling, and of the rules."""
        return self.tables

    def records(self) -> list[dict[str, object]]:
        """Return a row for each measure of all raters, and of each pair."""
        measured = self.measured
        everybody = ", ".join(measured.raters)
        records: list[dict[str, object]] = []
        for name, estimate in measures_of_all(measured).items():
            records.append(
                {"measure": name, "raters": everybody, "units": measured.units, **score_record(estimate)}
            )
        for pair in measured.pairs:
            raters = f"{pair.first}, {pair.second}"
            measures = {"raw agreement": pair.raw, **kappas_of_pair(pair, measured)}
            for name, estimate in measures.items():
                records.append(
                    {"measure": name, "raters": raters, "units": pair.units, **score_record(estimate)}
                )
        for name, mean in self.ceiling.mean.items():
            ceiling = {"measure": f"human ceiling: {name}", "raters": everybody, "units": measured.units}
            records.append({**ceiling, **score_record(mean)})
        return records

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        rules: dict[str, object] = {}
        for rule, units in self.rules.items():
            rules[rule] = {
                "labelled": units.labelled,
                "ambiguous": sum(units.ambiguous.values()),
                "by_category": units.ambiguous,
            }
        data: dict[str, Any] = {"gold": self.gold, "judge": self.judge, **asdict(self.measured)}
        if self.certain is not None:
            data["certain"] = asdict(self.certain)
        return data | {"ceiling": ceiling_card(self.ceiling), "rules": rules}


@checked
def agreement(
    judge: str | Judge,
    gold: Any,
    *,
    mapping: MappingLike | None = None,
    raters: str | Sequence[str] = (),
    store: StoreLike = None,
) -> GoldAgreement:
    """Measure how far raters agree, how well each does against the rest, and how much merging leaves ambiguous.

    Args:
        judge: whose labels these are, or its name.
        gold: rows with the labels of two raters or more: what :meth:`jurist.Gold.load` takes, or gold.
        mapping: the names of columns and labels in the gold, where they are not the judge's.
        raters: the columns of raters: see :meth:`jurist.Gold.load`.
        store: where the judge is found, if it is that of an artifact.

    Raises:
        GoldError: the gold cannot be read, or has the labels of fewer than two raters.
    """
    judge_of_rows = _judge_of(judge, store)
    # Rows that raters labelled and nobody merged yet have no gold label.
    names = make_mapping(mapping).with_named(raters, None)
    rated = gold if isinstance(gold, Gold) else Gold.load(gold, judge_of_rows, labelled=False, mapping=names)
    return agreement_of(rated)


def agreement_of(gold: Gold) -> GoldAgreement:
    """Return the agreement of the raters of a gold set, which nobody merged. Raises what :func:`agreement` raises."""
    rated = gold.cases + gold.ambiguous
    ratings, groups = rating_columns(rated)
    names = list(ratings)
    if len(names) < 2:
        who = f"one rater, {names[0]}" if names else "no rater"
        raise GoldError(
            f"{gold.name} has the labels of {who}",
            hint="name the columns of two raters or more, as --raters 'label_*'; columns rater:NAME and a field "
            "'ratings' are found without it",
        )
    from ..evaluation.agreement import human_ceiling, rater_agreement  # gold is checked without metrics

    judge = gold.judge
    strata_by_rule: dict[Rule, Strata] = {}
    for rule in rules_of(judge.answer.scale):
        strata_by_rule[rule] = strata(gold, rule)
    certain = None
    certain_ratings, certain_groups = rating_columns(rated, without=NAMED_CATEGORIES)
    if len(certain_groups) < len(groups) and share_a_unit(certain_ratings):
        certain = rater_agreement(certain_ratings, judge.comparison, groups=certain_groups)
    ceiling = human_ceiling(ratings, judge.metric, judge.comparison, groups=groups, rule=gold.rule)
    return GoldAgreement(
        gold=gold.name,
        judge=judge.name,
        measured=rater_agreement(ratings, judge.comparison, groups=groups),
        ceiling=name_raters(ceiling, gold),
        rules=strata_by_rule,
        certain=certain,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class GoldCheck(Shown):
    """The facts of a gold set, and everything that is wrong with it.

    Attributes:
        facts: what it holds, as of ``jurist gold check``; empty where no row can be used.
        problems: what is wrong with rows that cannot be used, each with its count and places.
        notes: what a reader must know of it, a line each.
        error: why it cannot be used; empty where it can.
        loaded: the gold set; ``None`` where no row can be used.
        near_test: rows of the test that nearly repeat what an optimizer sees.
        near_words: a note on these rows; empty without any.
        stay_words: a note on groups that stay in the part of an earlier version; empty without any.
    """

    facts: Mapping[str, Any]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    error: str
    loaded: Gold | None
    near_test: int = 0
    near_words: str = ""
    stay_words: str = ""

    @property
    def passed(self) -> bool:
        """Whether every row can be used, and the gold can be split."""
        return not self.error

    @property
    def headline(self) -> str:
        """Why the gold cannot be used, or its notes."""
        return self.error or super().headline

    def parts(self) -> list[Table | str]:
        """Return the facts and the problems."""
        parts: list[Table | str] = []
        if self.facts and self.loaded is not None:
            notes = list(self.notes)
            if not notes and not self.error:
                notes = ["no problem found"]
            for words in (self.near_words, self.stay_words):
                if words:
                    notes.append(words)
            separator = ": " if not self.error else "; "
            parts.append(f"{self.loaded.name}{separator}{'; '.join(notes)}".removesuffix("; "))
            parts.append(_fact_table(self.facts))
        if self.problems and (not self.error or not self.facts):
            parts.append(_problem_table(self.problems))
        return parts

    def records(self) -> list[dict[str, object]]:
        """Return a row for each problem."""
        return [asdict(problem) for problem in self.problems]

    @property
    def columns(self) -> list[str]:
        """The columns of a problem, which a clean check has, too."""
        return [field.name for field in fields(Problem)]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        data = dict(self.facts)
        if self.problems:
            data["problems"] = self.records()
        if self.loaded is not None and not self.error:
            data["near_copies"] = [asdict(copies) for copies in self.loaded.near_copies]
            data["near_test"] = self.near_test
        return data


@checked
def check_gold(
    judge: str | Judge,
    gold: Any,
    *,
    mapping: MappingLike | None = None,
    raters: str | Sequence[str] = (),
    merge: Rule | None = None,
    rejects: Rejects | None = None,
    seed: Seed = 0,
    shares: Shares | None = None,
    store: StoreLike = None,
) -> GoldCheck:
    """Validate all rows, describe the gold of those that can be used, and try the split; bad rows raise nothing.

    Args:
        judge: whose rows they are, or its name.
        gold: labelled rows: what :meth:`jurist.Gold.load` takes, or gold.
        mapping, raters, merge: see :meth:`jurist.Gold.load`.
        rejects: takes the rows that cannot be used, which are then no error; default: they are one.
        seed, shares: of the split, in which groups stay in the part that earlier versions of the store had them in.
        store: where these versions are, and the judge, if it is that of an artifact.
    """
    judge_of_rows = _judge_of(judge, store)
    collected = Rejects() if rejects is None else rejects
    names = make_mapping(mapping).with_named(raters, merge)
    try:
        loaded = _load_checked(gold, judge_of_rows, names, collected)
        refusal = collected.refusal()
        if rejects is None and refusal:
            raise refusal
    except GoldError as error:
        if not collected.count:
            raise
        message = error if rejects is not None else collected.refusal(all_listed=True)
        return GoldCheck(
            facts={}, problems=tuple(collected.problems()), notes=(), error=str(message), loaded=None
        )
    facts = dict(describe(loaded))
    notes = tuple(_list_gold_notes(loaded, collected))
    problems = tuple(collected.problems()) if collected.count else ()
    try:
        earlier = _opened(store).earlier_parts(loaded.judge.name, seed, shares)
        parts = loaded.split(seed, shares, earlier=earlier)
    except GoldError as error:
        # The rows could be read: what is known of them may say why they cannot be split.
        return GoldCheck(facts=facts, problems=problems, notes=notes, error=str(error), loaded=loaded)
    facts["split"] = {name: len(parts.part(name)) for name in PARTS}
    return GoldCheck(
        facts=facts,
        problems=problems,
        notes=notes,
        error="",
        loaded=loaded,
        near_test=parts.copies,
        near_words=parts.near_words,
        stay_words=parts.stay_words,
    )


@checked
def import_gold(
    judge: str | Judge,
    source: Any,
    output: str | os.PathLike[str],
    *,
    merge: Rule | None = None,
    mapping: MappingLike | None = None,
    raters: str | Sequence[str] = (),
    rejects: Rejects | None = None,
    store: StoreLike = None,
) -> Gold:
    """Read labelled rows of any known format, several files as one, and write them as canonical JSONL.

    Args:
        judge: whose labels these are, or its name.
        source: files, folders, bundled names; filled sheets and journals of labels, too; or rows, as
            :meth:`jurist.Gold.load` takes them.
        output: the file to write: the judge's own columns, groups and ratings.
        merge: makes gold labels of the ratings by this rule; rows that it leaves ambiguous are written without a label.
        mapping, raters, rejects: see :meth:`jurist.Gold.load`.
        store: where the judge is found, if it is that of an artifact.

    Returns:
        The gold set that was written.

    Raises:
        GoldError: the source or one of its rows cannot be used.
    """
    for path in _paths_of(source):
        if os.path.exists(output) and os.path.realpath(path) == os.path.realpath(output):  # noqa: PTH110
            raise UsageError(
                f"{os.fspath(output)} is an input, and would be lost", hint="name another output"
            )
    names = make_mapping(mapping).with_named(raters, None)
    judge_of_rows = _judge_of(judge, store)
    return convert_gold(source, judge_of_rows, os.fspath(output), merge=merge, mapping=names, rejects=rejects)


def _paths_of(source: object) -> list[str]:
    """Return the paths that a source of gold names; none of rows."""
    if isinstance(source, str | os.PathLike):
        return [os.fspath(source)]
    paths: list[str] = []
    if isinstance(source, Sequence):
        for item in source:
            if isinstance(item, str | os.PathLike):
                paths.append(os.fspath(item))
    return paths


def _load_checked(gold: Any, judge: Judge, mapping: RowMapping, rejects: Rejects) -> Gold:
    """Return gold as it is, or read with its bad rows set aside."""
    if isinstance(gold, Gold):
        return gold
    return Gold.load(gold, judge, mapping=mapping, rejects=rejects)


def _judge_of(judge: str | Judge, store: StoreLike) -> Judge:
    """Return a judge as it is, or the one of this name."""
    if isinstance(judge, Judge):
        return judge
    from ..keeping.naming import find_judge  # DSPy is not loaded to read gold of a judge at hand

    return find_judge(judge, _opened(store))


def _opened(store: StoreLike) -> Store:
    """Return a store as it is, or the one in this folder."""
    if isinstance(store, Store):
        return store
    return Store(None if store is None else os.fspath(store))


def _list_gold_notes(gold: Gold, rejects: Rejects) -> list[str]:
    """Return notes for the user on the rows of a gold set."""
    notes: list[str] = []
    if rejects.count and rejects.path is not None:
        notes.append(f"{plural(rejects.count, 'row')} set aside in {rejects.path}")
    notes.extend(gold.notes)
    if gold.unlabelled_words:
        notes.append(gold.unlabelled_words)
    notes.extend(gold.blank_words)
    near_words = near_groups_words(gold)
    if near_words:
        notes.append(near_words)
    notes.extend(map(in_words_of_caller, gold.misspelt_words))
    return notes


def _fact_table(facts: Mapping[str, object]) -> Table:
    """Return a row for each fact of a gold set."""
    rows = []
    for name, value in facts.items():
        rows.append([name, _fact_cell(value)])
    return table("", ["what", "value"], rows)


def _fact_cell(value: object) -> object:
    """Return a value as a cell of a table: counts by name on one line, and ``-`` for none."""
    if isinstance(value, dict):
        if not value:
            return "-"
        separator = ", "
        words = []
        for name, part in value.items():
            if isinstance(part, dict):
                separator = "; "
            words.append(f"{name} {_fact_cell(part)}")
        return separator.join(words)
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    return value


def _problem_table(problems: Sequence[Problem]) -> Table:
    """Return a table of the problems of rejected rows."""
    rows = []
    for problem in problems:
        places = ", ".join(problem.places)
        rows.append([problem.rows, problem.field or "-", problem.reason, places, problem.hint])
    return table("what is wrong", ["rows", "field", "problem", "first places", "what to do"], rows)
