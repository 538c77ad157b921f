"""``jurist gold`` with its actions."""

import shlex
from pathlib import Path

from ..arguments.gold import (
    AgreementOptions,
    CheckOptions,
    ImportOptions,
    JudgedGold,
    SplitGoldOptions,
    TracesOptions,
)
from ..errors import UsageError, plural
from ..gold.goldset import write_split
from ..gold.raters import strata
from ..gold.rows import row_keys
from ..gold.splits import PARTS
from ..gold.trace_rows import TraceRow, trace_rows
from ..gold.writing import check_files, write_jsonl, write_whole
from ..jobs.incoming import add_names
from ..keeping.artifacts import Store
from ..programs.catalogue import CATALOGUE
from ..programs.judge import Judge
from ..report.gold_checks import agreement_of, check_gold, import_gold
from ..report.scores import strata_line
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


def check_command(options: CheckOptions) -> Result:
    """Validate all rows, describe the gold of usable rows, and try the split."""
    store = store_of(options)
    checked_gold = check_gold(
        _judge_named(options.judge, store),
        gold_name(options),
        mapping=mapping_of(options),
        rejects=rejects_of(options),
        seed=options.seed,
        shares=shares_of(options.split),
        store=store,
    )
    body: list[Part] = list(checked_gold.parts())
    if not checked_gold.passed:
        return Result(data=checked_gold.to_json(), body=body, notes=[f"error: {checked_gold.error}"], code=1)
    assert checked_gold.loaded is not None
    store_words = f" --store {shlex.quote(options.store)}" if options.store else ""
    plan_command = f"jurist gold plan {shlex.quote(options.judge)} --gold {shlex.quote(gold_name(options))}"
    body.append(f"next: {plan_command}{store_words} (the gain that so many labels show, and more of them)")
    return Result(data=checked_gold.to_json(), body=body, notes=list(checked_gold.loaded.shared_words))


def import_command(options: ImportOptions) -> Result:
    """Write the usable rows of gold files to one JSONL file in the judge's own columns; return how many there are."""
    check_apart(options.output, *options.gold)
    judge = _judge_named(options.judge, store_of(options))
    rejects = rejects_of(options)
    gold = import_gold(
        judge,
        options.gold,
        options.output,
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
        rejected_words = f"; {plural(rejected_count, 'unusable row')} set aside in {rejects.path}"

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
    store = store_of(options)
    shares = shares_of(options.split)
    judge = _judge_named(options.judge, store)
    gold = gold_of(gold_name(options), judge, options)
    earlier = store.earlier_parts(gold.judge.name, options.seed, shares)
    parts = gold.split(options.seed, shares, earlier=earlier)
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
    measured = agreement_of(gold)
    return Result(data=measured.to_json(), body=measured.parts())
