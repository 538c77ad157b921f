"""``jurist gold`` with its actions."""

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..arguments.gold import (
    AgreementOptions,
    CheckOptions,
    ImportOptions,
    JudgedGold,
    SplitGoldOptions,
    TracesOptions,
)
from ..errors import GoldError, UsageError, plural
from ..evaluation.agreement import human_ceiling, rater_agreement
from ..evaluation.votes import Rule
from ..gold.goldset import Gold, describe, import_gold, write_split
from ..gold.raters import Strata, name_raters, rating_columns, rules_of, strata
from ..gold.rejects import Rejects
from ..gold.rows import row_keys
from ..gold.splits import PARTS
from ..gold.trace_rows import TraceRow, trace_rows
from ..gold.writing import check_files, write_jsonl, write_whole
from ..jobs.incoming import add_names
from ..keeping.artifacts import Store
from ..programs.catalogue import CATALOGUE
from ..programs.judge import Judge
from ..report.scores import agreement_tables, ceiling_card, ceiling_table, rules_table, strata_line
from ..report.table import Table, table
from .printing import Part, Result
from .rows import check_apart, gold_of, mapping_of, rejects_of, shares_of, store_of


def gold_name(options: JudgedGold) -> str:
    """Return the name of the gold, given with ``--gold`` or without."""
    name = options.gold or options.source
    if name is None:
        raise UsageError("no gold is named", hint="add --gold PATH|NAME")
    return name


def _judge_named(name: str, store: Store) -> Judge:
    """Return a built-in judge, one from a file, or one of an artifact."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    from ..keeping.naming import find_judge

    return find_judge(name, store)


def check_gold(options: CheckOptions) -> Result:
    """Validate all rows, describe the gold of usable rows, and try the split."""
    judge = _judge_named(options.judge, store_of(options))
    rejects = Rejects(options.rejects)
    try:
        gold = Gold.load(gold_name(options), judge, mapping=mapping_of(options), rejects=rejects)
        refusal = rejects.refusal()
        if options.rejects is None and refusal:
            raise refusal
    except GoldError as error:
        if not rejects.count:
            raise
        message = error if options.rejects else rejects.first
        return Result(
            data=_problems(rejects), body=[_problem_table(rejects)], notes=[f"error: {message}"], code=1
        )

    facts = dict(describe(gold))
    notes = _list_gold_notes(gold, rejects)
    try:
        parts = gold.split(options.seed, shares_of(options.split))
    except GoldError as error:
        # The rows could be read: what is known of them may say why they cannot be split.
        head = "; ".join([gold.name, *notes])
        return Result(
            data=facts | _problems(rejects),
            body=[head, _fact_table(facts)],
            notes=[f"error: {error}"],
            code=1,
        )
    facts["split"] = {name: len(parts.part(name)) for name in PARTS}
    if not notes:
        notes = ["no problem found"]
    if parts.near_words:
        notes.append(parts.near_words)
    body: list[Part] = [
        f"{gold.name}: {'; '.join(notes)}",
        _fact_table(facts),
    ]
    if rejects.count:
        body.append(_problem_table(rejects))
    store_words = f" --store {shlex.quote(options.store)}" if options.store else ""
    plan_command = f"jurist gold plan {shlex.quote(options.judge)} --gold {shlex.quote(gold_name(options))}"
    body.append(f"next: {plan_command}{store_words} (the gain that so many labels show, and more of them)")
    data = facts | _problems(rejects)
    data["near_copies"] = [asdict(copies) for copies in gold.near_copies]
    data["near_test"] = parts.copies
    return Result(data=data, body=body, notes=list(gold.shared_words))


def _fact_table(facts: Mapping[str, object]) -> Table:
    """Return a row for each fact of a gold set."""
    rows = []
    for name, value in facts.items():
        rows.append([name, _fact_cell(value)])
    return table("", ["what", "value"], rows)


def _list_gold_notes(gold: Gold, rejects: Rejects) -> list[str]:
    """Return notes for the user on the rows of a gold set."""
    notes: list[str] = []
    if rejects.count:
        notes.append(f"{plural(rejects.count, 'row')} set aside in {rejects.path}")
    notes.extend(gold.notes)
    if gold.unlabelled_words:
        notes.append(gold.unlabelled_words)
    notes.extend(gold.blank_words)
    if gold.near_copies:
        group_count = sum(len(copies.groups) for copies in gold.near_copies)
        example = " and ".join(gold.near_copies[0].sources[:2])
        notes.append(
            f"{group_count} groups hold near copies and count as {len(gold.near_copies)}, for example {example}"
        )
    return notes


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


def _problems(rejects: Rejects) -> dict[str, Any]:
    """Return the problems of rejected rows as JSON values; nothing without any."""
    if not rejects.count:
        return {}
    return {"problems": [asdict(problem) for problem in rejects.problems()]}


def _problem_table(rejects: Rejects) -> Table:
    """Return a table of the problems of rejected rows."""
    rows = []
    for problem in rejects.problems():
        places = ", ".join(problem.places)
        rows.append([problem.rows, problem.field or "-", problem.reason, places, problem.hint])
    return table("what is wrong", ["rows", "field", "problem", "first places", "what to do"], rows)


def import_command(options: ImportOptions) -> Result:
    """Write the usable rows of gold files to one JSONL file in the judge's own columns; return how many there are."""
    check_apart(options.output, *options.gold)
    judge = _judge_named(options.judge, store_of(options))
    rejects = rejects_of(options)
    gold = import_gold(
        options.gold,
        judge,
        Path(options.output),
        merge=options.merge,
        mapping=mapping_of(options),
        rejects=rejects,
    )
    case_count = len(gold.cases)
    unlabelled_count = len(gold.ambiguous)
    left_out_count = gold.skipped - unlabelled_count
    rejected_count = rejects.count if rejects else 0
    rejected_words = ""
    if rejects and rejected_count:
        rejected_words = f"; {rejected_count} rows that cannot be used are in {rejects.path}"

    body: list[Part] = []
    if options.merge is None:
        body.append(f"{plural(case_count, 'case')} written to {options.output}{rejected_words}")
    else:
        body.append(
            f"{case_count + unlabelled_count} cases written to {options.output}, {unlabelled_count} of them "
            f"without any label; {left_out_count} that nobody labelled are left out{rejected_words}"
        )
        body.append(strata_line(strata(gold)))
    body.extend(_keep_names(options, judge))
    data = {
        "output": options.output,
        "cases": case_count,
        "without_label": unlabelled_count,
        "left_out": left_out_count,
        "rejected": rejected_count,
    }
    return Result(data=data, body=body)


def _keep_names(options: ImportOptions, judge: Judge) -> list[str]:
    """Write the names given with --column and --map into the judge's file; return the line that says so, if any."""
    path, _, variable = options.judge.rpartition(":")
    file = Path(path)
    columns = dict(options.columns)
    labels = dict(options.labels)
    if not (columns or labels) or file.suffix != ".py" or not file.is_file():
        return []
    names = ", ".join(list(columns) + list(labels))
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    new_text = None  # None where the names cannot be added to the file
    # A column that is called like a field of the judge would also be renamed in the file that was just written.
    if columns.keys().isdisjoint(row_keys(judge)):
        new_text = add_names(text, variable, columns, labels)
    if new_text is None:
        return [f"{file} is not changed: name {names} with --column and --map wherever such files are read"]
    if new_text == text:
        return []
    write_whole(new_text.encode("utf-8", "surrogateescape"), file)
    return [f"{file} now reads {names} in such files: --column and --map can be left out"]


def write_traces(options: TracesOptions) -> Result:
    """Write a row for each trace of some files."""
    check_apart(options.output, *options.sources)
    check_files(options.output)
    rows: list[TraceRow] = []
    for source in options.sources:
        rows += trace_rows(source)
    write_jsonl([row.to_json() for row in rows], options.output)
    step_count = sum(len(row.steps) for row in rows)
    line = f"{plural(len(rows), 'trace')} with {plural(step_count, 'step')} written to {options.output}"
    return Result(data={"output": options.output, "traces": len(rows), "steps": step_count}, body=[line])


def write_parts(options: SplitGoldOptions) -> Result:
    """Write train, dev and test as files."""
    gold = gold_of(gold_name(options), _judge_named(options.judge, store_of(options)), options)
    parts = gold.split(options.seed, shares_of(options.split))
    write_split(gold, parts, Path(options.output))
    data: dict[str, object] = {"output": options.output}
    for name in PARTS:
        data[name] = len(parts.part(name))
    data["left_out"] = parts.left_out + parts.copies
    return Result(
        data=data,
        body=[f"{parts.words}; written to {options.output}"],
        notes=list(gold.shared_words),
    )


def measure_agreement(options: AgreementOptions) -> Result:
    """Compare the raters of a gold set, with what each merging rule leaves ambiguous."""
    judge = _judge_named(options.judge, store_of(options))
    # Rows that raters labelled and nobody merged yet have no gold label.
    gold = gold_of(gold_name(options), judge, options, labelled=False)
    ratings, groups = rating_columns(gold.cases)
    raters = list(ratings)
    if len(raters) < 2:
        who = "no rater"
        if raters:
            who = f"one rater, {raters[0]}"
        raise GoldError(
            f"{gold.name} has the labels of {who}",
            hint="agreement is of two raters or more: columns rater:NAME, or 'ratings' in each row",
        )
    measured = rater_agreement(ratings, judge.comparison, groups=groups)
    ceiling = name_raters(human_ceiling(ratings, judge.metric, judge.comparison, groups=groups), gold)
    strata_by_rule: dict[Rule, Strata] = {}
    rules: dict[str, object] = {}
    for rule in rules_of(judge.answer.scale):
        units = strata(gold, rule)
        strata_by_rule[rule] = units
        rules[rule] = {
            "labelled": units.labelled,
            "ambiguous": sum(units.ambiguous.values()),
            "by_category": units.ambiguous,
        }
    data: dict[str, object] = {"gold": gold.name, "judge": judge.name}
    data |= asdict(measured)
    data |= {"ceiling": ceiling_card(ceiling), "rules": rules}
    rated = f"{measured.units} units with two ratings or more, in {measured.groups} groups"
    body: list[Part] = [
        f"{gold.name}: {len(measured.raters)} raters, {rated}; {measured.skipped} units with fewer ratings",
    ]
    body.extend(agreement_tables(measured))
    body.append(ceiling_table(ceiling))
    body.append(rules_table(strata_by_rule))
    return Result(data=data, body=body)
