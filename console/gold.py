"""``jurist gold`` with its actions."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..arguments.gold import AgreementOptions, CheckOptions, ImportOptions, JudgedGold, SplitGoldOptions
from ..errors import GoldError, UsageError, plural
from ..evaluation.agreement import human_ceiling, rater_agreement
from ..gold.goldset import Gold, describe, import_gold, write_split
from ..gold.raters import rating_columns, rules_of, strata
from ..gold.rejects import Rejects
from ..gold.rows import RESOLVED, row_keys
from ..gold.splits import PARTS
from ..gold.writing import write_whole
from ..jobs.incoming import with_names
from ..keeping.naming import find_judge
from ..programs.judge import Judge
from ..report.scores import agreement_tables, ceiling_card, ceiling_table, rules_table, strata_line
from ..report.table import Table, table
from .inputs import check_apart, gold_of, mapping_of, shares_of, store_of
from .printing import Part, Result


def gold_name(options: JudgedGold) -> str:
    """Return the gold that is named, with ``--gold`` or without."""
    name = options.gold or options.source
    if name is None:
        raise UsageError("no gold is named", hint="add --gold PATH|NAME")
    return name


def check(options: CheckOptions) -> Result:
    """Validate all rows, describe those that can be used, and try the split."""
    judge, bad = find_judge(options.judge, store_of(options)), Rejects(options.rejects)
    try:
        gold = Gold.load(gold_name(options), judge, mapping=mapping_of(options), rejects=bad)
        if options.rejects is None and (refusal := bad.refusal()):
            raise refusal
    except GoldError as error:
        if not bad.count:
            raise
        words = f"error: {error if options.rejects else bad.first}"
        return Result(data=_problems(bad), body=[_problem_table(bad)], notes=[words], code=1)
    parts, near = gold.split(options.seed, shares_of(options.split)), gold.near_copies
    facts = {**describe(gold), "split": {name: len(parts.part(name)) for name in PARTS}}
    rows = [[name, _words(value)] for name, value in facts.items()]
    remarks = [
        *([f"{plural(bad.count, 'row')} set aside in {bad.path}"] if bad.count else []),
        *gold.notes,
        *filter(None, [gold.unlabelled_words]),
        *gold.blank_words,
    ]
    if near:
        groups, example = sum(len(copies.groups) for copies in near), " and ".join(near[0].sources[:2])
        remarks.append(f"{groups} groups hold near copies and count as {len(near)}, for example {example}")
    return Result(
        data={**facts, **_problems(bad), "near_copies": [*map(asdict, near)], "near_test": parts.copies},
        body=[
            f"{gold.name}: "
            + "; ".join([*(remarks or ["no problem found"]), *filter(None, [parts.near_words])]),
            table("", ["what", "value"], rows),
            *([_problem_table(bad)] if bad.count else []),
        ],
        notes=list(gold.shared_words),
    )


def _words(value: Any) -> Any:
    """Return counts of parts, or of labels of each criterion, on one line; else a cell."""
    if isinstance(value, dict):
        nested = any(isinstance(part, dict) for part in value.values())
        return ("; " if nested else ", ").join(
            f"{name} {_words(part)}" for name, part in value.items()
        ) or "-"
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else value


def _problems(bad: Rejects) -> dict[str, Any]:
    return {"problems": [*map(asdict, bad.problems())]} if bad.count else {}


def _problem_table(bad: Rejects) -> Table:
    rows = [
        [problem.rows, problem.field or "-", problem.reason, ", ".join(problem.places), problem.hint]
        for problem in bad.problems()
    ]
    return table("what is wrong", ["rows", "field", "problem", "first places", "what to do"], rows)


def import_(options: ImportOptions) -> Result:
    """Write canonical JSONL."""
    check_apart(options.output, *options.gold)
    judge = find_judge(options.judge, store_of(options))
    bad = None if options.rejects is None else Rejects(options.rejects)
    gold = import_gold(
        options.gold,
        judge,
        Path(options.output),
        merge=options.merge,
        mapping=mapping_of(options),
        rejects=bad,
    )
    cases, unlabelled = len(gold.cases), len(gold.ambiguous)
    data = {
        "output": options.output,
        "cases": cases,
        "without_label": unlabelled,
        "left_out": gold.skipped - unlabelled,
        "rejected": bad.count if bad else 0,
    }
    named = _keep_names(options, judge)
    aside = f"; {bad.count} rows that cannot be used are in {bad.path}" if bad and bad.count else ""
    if options.merge is None:
        return Result(data=data, body=[f"{plural(cases, 'case')} written to {options.output}{aside}", *named])
    line = (
        f"{cases + unlabelled} cases written to {options.output}, {unlabelled} of them "
        f"without any label; {gold.skipped - unlabelled} that nobody labelled are left out{aside}"
    )
    return Result(data=data, body=[line, strata_line(strata(gold)), *named])


def _keep_names(options: ImportOptions, judge: Judge) -> list[str]:
    """Write the names of columns and labels into the judge's file, and return the line that says so, if any."""
    named, _, variable = options.judge.rpartition(":")
    file = Path(named)
    columns, values = dict(options.columns), dict(options.labels)
    if not (columns or values) or file.suffix != ".py" or not file.is_file():
        return []
    # a column that is called like a field would be renamed in the file that was just written, too
    clashing = [column for column in columns if column in row_keys(judge)]
    before = file.read_bytes().decode("utf-8", "surrogateescape")
    after = None if clashing else with_names(before, variable, columns, values)
    words = ", ".join([*columns, *values])
    if after is None:
        return [f"{file} is not changed: name {words} with --column and --map wherever such files are read"]
    if after == before:
        return []
    write_whole(after.encode("utf-8", "surrogateescape"), file)
    return [f"{file} now reads {words} in such files: --column and --map can be left out"]


def split(options: SplitGoldOptions) -> Result:
    """Write train, dev and test as files."""
    gold = gold_of(gold_name(options), find_judge(options.judge, store_of(options)), options)
    parts = gold.split(options.seed, shares_of(options.split))
    write_split(parts, Path(options.output))
    sizes: dict[str, int] = {name: len(parts.part(name)) for name in PARTS}
    return Result(
        data={"output": options.output, **sizes, "left_out": parts.left_out + parts.copies},
        body=[f"{parts.words}; written to {options.output}"],
        notes=list(gold.shared_words),
    )


def agreement(options: AgreementOptions) -> Result:
    """Compare the raters of a gold set, with what each merging rule leaves ambiguous."""
    judge = find_judge(options.judge, store_of(options))
    # rows that raters labelled and nobody merged yet have no gold label
    gold = gold_of(gold_name(options), judge, options, labelled=False)
    raters = sorted({name for case in gold.cases for name in case.ratings} - {RESOLVED})
    if len(raters) < 2:
        raise GoldError(
            f"{gold.name} has the labels of {f'one rater, {raters[0]}' if raters else 'no rater'}",
            hint="agreement is of two raters or more: columns rater:NAME, or 'ratings' in each row",
        )
    ratings, groups = rating_columns(gold.cases)
    measured = rater_agreement(ratings, judge.comparison, groups=groups)
    ceiling = human_ceiling(ratings, judge.metric, judge.comparison, groups=groups)
    merged = {rule: strata(gold, rule) for rule in rules_of(judge.answer.scale)}
    data = {
        "gold": gold.name,
        "judge": judge.name,
        **asdict(measured),
        "ceiling": ceiling_card(ceiling),
        "rules": {
            rule: {
                "labelled": units.labelled,
                "ambiguous": sum(units.ambiguous.values()),
                "by_category": units.ambiguous,
            }
            for rule, units in merged.items()
        },
    }
    several = f"{measured.units} units with two ratings or more, in {measured.groups} groups"
    body: list[Part] = [
        f"{gold.name}: {len(measured.raters)} raters, {several}; {measured.skipped} units with fewer ratings",
        *agreement_tables(measured),
        ceiling_table(ceiling),
        rules_table(merged),
    ]
    return Result(data=data, body=body)
