"""``jurist judges``, ``new``, ``export`` and ``export training``: judges and their prompts as text."""

import shlex
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from ..arguments.catalogue import ExportOptions, NewOptions, TrainingOptions
from ..errors import GoldError, JudgeError, UsageError
from ..gold.goldset import Gold, describe
from ..gold.rejects import Rejects
from ..gold.shape import Shape, scale_of, shape_of, sides, sides_by_number
from ..gold.writing import json_text
from ..jobs.exporting import exported, make_training
from ..jobs.incoming import (
    AnswerSource,
    answer_of_labels,
    answer_of_preference,
    answer_of_score,
    judge_source,
    read_prompt,
)
from ..keeping.loaders import load_judge
from ..programs.catalogue import find
from ..programs.judge import check_judge_name
from .bars import progress
from .inputs import check_apart, shares_of, store_of
from .printing import Result, Verbatim, remark, write_text


def export_(options: ExportOptions) -> Result:
    """Write a judge's prompt for another system."""
    loaded = load_judge(options.judge, store=store_of(options))
    remark(loaded.standing)
    shown = options.output in (None, "-")
    text, limits = exported(loaded, options.target, None if shown else options.output)
    data = {"judge": loaded.name, "target": options.target, "output": options.output, "limits": limits}
    if shown:
        return Result(data={**data, "text": text}, body=[Verbatim(text)], notes=limits)
    write_text(text, options.output)
    return Result(data=data, body=[f"{loaded.name} written to {options.output}"], notes=limits)


def new(options: NewOptions) -> Result:
    """Write the file of a judge, once a draft of it could be loaded as one."""
    check_judge_name(options.name)
    labelled = options.labels or options.gold
    if options.positive and (options.prefer is not None or options.score is not None or not labelled):
        raise UsageError("--positive needs --labels", hint="name the labels, or leave it out")
    prompt = read_prompt(Path(options.source))
    shape = _shape(options, prompt.instruction, prompt.variables)
    asked, values = _asked(options, prompt.variables, shape)
    columns = shape.columns if shape else None
    text = judge_source(options.name, Path(options.source).name, prompt, asked, options.unit, columns, values)
    output = Path(options.output or f"{options.name.replace('-', '_')}.py")
    if output.exists():
        raise UsageError(f"{output} exists", hint="name another file with --output, or remove it")
    if not options.output and find_spec(output.stem):
        why = f"{output} would stand before the module {output.stem} in every program that is started here"
        raise UsageError(why, hint="give the judge another name, or the file with --output")
    with TemporaryDirectory() as folder:
        draft = Path(folder) / "judge.py"
        draft.write_text(text, "utf-8")
        try:
            judge = find(f"{draft}:judge")
        except JudgeError as error:  # the options fit no judge
            raise UsageError(error.message, hint=error.hint) from error
    aside = Rejects()
    gold = None
    if options.gold and shape:
        gold = Gold.load(options.gold, judge, labelled=not shape.rated, rejects=aside)
    write_text(text, str(output))
    named = shlex.quote(f"{output}:judge")
    if options.gold and shape and shape.rated:
        then = (
            f"next: jurist gold import {named} {shlex.quote(options.gold)} --merge majority --output gold.jsonl "
            "makes one label of what the raters said"
        )
    elif options.gold:
        bad = " --rejects aside.jsonl" if aside.count else ""
        then = f"next: jurist evaluate {named}:basic --gold {shlex.quote(options.gold)}{bad}"
    else:
        columns_of = f"a column for each input and one for {', '.join(judge.answer.fields)}"
        then = f"next: jurist compile {named} --gold GOLD, with {columns_of}"
    return Result(
        data={
            "judge": judge.name,
            "output": str(output),
            "inputs": list(prompt.variables),
            "labels": list(judge.answer.scale.choices),
            "answers": asked.words,
        },
        body=[
            f"{judge.name} written to {output}: inputs {', '.join(prompt.variables)}; {asked.words}",
            *(_gold_lines(gold, shape, aside.count) if gold and shape else ()),
        ],
        notes=[then],
    )


def _shape(options: NewOptions, instruction: str, variables: Sequence[str]) -> Shape | None:
    """Return the shape of the gold: its columns and labels."""
    if options.gold is None:
        if options.columns or options.names:
            raise UsageError("--column and --map say how --gold is read", hint="add --gold labels.csv")
        return None
    # what the options say goes with the prompt: all of it says which labels are asked for
    meanings = [ours for _, ours in options.names]
    said = [instruction, options.labels or "", options.score or "", *meanings]
    compared = _listed(options.prefer)
    return shape_of(options.gold, variables, dict(options.columns), " ".join(said), compared)


def _gold_lines(gold: Gold, shape: Shape, aside: int) -> list[str]:
    """Return how many rows there are, and how their columns are read."""
    about = describe(gold)
    counts = f"{about['cases']} labelled rows in {about['groups']} groups"
    if shape.rated:
        raters = ", ".join(f"{rater} {rows}" for rater, rows in about["raters"].items())
        counts = f"{about['cases']} rows in {about['groups']} groups, rated by {raters or 'nobody'}"
    left = f"; {about['skipped']} without a label are left out" if about["skipped"] else ""
    bad = f"; {aside} cannot be used, and --rejects F.jsonl sets them aside with the reasons" if aside else ""
    columns = [f"{theirs} is {ours}" for theirs, ours in gold.judge.columns.items()]
    for column, field in shape.columns.items():
        if field == "label" and column not in gold.judge.columns:
            columns.append(f"{column} is what people said")
    read = ", ".join(columns)
    alone = "group" not in gold.judge.columns.values() and about["groups"] == about["cases"] > 1
    apart = "; each row is a group: --column COLUMN=group names what rows belong to" if alone else ""
    return [f"{gold.source}: {counts}{left}{bad}", f"columns: {read or 'as the judge has them'}{apart}"]


def _asked(
    options: NewOptions, variables: Sequence[str], shape: Shape | None
) -> tuple[AnswerSource, dict[str, str]]:
    """Return the answer of the judge, from the options or the labels of the gold, and the meaning of these labels."""
    labels, positive = _listed(options.labels), _listed(options.positive)
    values = {**dict.fromkeys(shape.silent if shape else (), ""), **dict(options.names)}
    if options.prefer is not None or (shape and shape.pair):
        compared = shape.pair if shape and options.prefer is None else _listed(options.prefer)
        return answer_of_preference(compared), {**(sides(shape, compared, values) if shape else {}), **values}
    if options.score is not None:
        return answer_of_score(options.score), values
    known = {theirs.casefold() for theirs in values}
    own = [label for label in (shape.labels if shape else ()) if label.casefold() not in known]
    sides_compared = [] if labels else sides_by_number(own, variables)
    if sides_compared:
        first, second = sides_compared
        raise UsageError(
            f"the labels {', '.join(sorted(own))} may be scores, or say which of {first} and {second} is better",
            hint=f"add --prefer {first},{second} --map 0=first --map 1=second, or --score {scale_of(own) or '0-1'}",
        )
    if not (labels or positive) and (scale := scale_of(own)):
        return answer_of_score(scale), values
    labels = labels or list(dict.fromkeys([*own, *filter(None, values.values())]))
    if not labels:
        hint = "give --labels yes,no, --score 1-5, --prefer with the two inputs that are compared, or --gold"
        raise UsageError("nothing says what it answers", hint=hint)
    values |= {label: label for label in own if label in labels and not label.isalpha()}
    return answer_of_labels(labels, positive), values


def _listed(text: str | None) -> list[str]:
    """Return the parts of a text between commas."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def training(options: TrainingOptions) -> Result:
    """Write a training file, and say what is in it and what is not."""
    check_apart(options.output, options.input)
    loaded = load_judge(options.judge, store=store_of(options))
    remark(loaded.standing)
    gold = Gold.load(options.input, loaded.judge)
    with progress(len(gold.cases), f"writing examples for {loaded.name}") as step:
        made = make_training(
            loaded, gold, options.part, seed=options.seed, shares=shares_of(options.split), on_case=step
        )
    left_out = Counter(made.left_out)
    left_out["unlabelled"] += gold.skipped  # gold without any label is left out when it is read
    counted = {reason: count for reason, count in sorted(left_out.items()) if count}
    left = ", ".join(f"{count} {reason}" for reason, count in counted.items()) or "none"
    if not made.examples:
        raise GoldError(
            f"no example is left of {len(gold.cases) + gold.skipped} rows ({left})",
            path=options.input,
            hint="use --part all, or more rows",
        )
    lines = (json_text({"messages": list(messages)}) + "\n" for _, messages in made.examples)
    write_text("".join(lines), options.output)
    groups = len({case.group for case, _ in made.examples})
    text = loaded.judge.answer.scale.text
    labels = Counter(text(value) for case, _ in made.examples for value in case.known)
    by_label = ", ".join(f"{labels[name]} {name}" for name in sorted(labels))
    counts = f"{len(made.examples)} examples of {groups} groups ({options.part})"
    line = f"{loaded.name}: {counts}; {by_label}; rows left out: {left}"
    none_kept = "nothing is held back: score the tuned model on rows that are not in this file"
    notes = [none_kept] if options.part == "all" else []
    if options.output == "-":  # standard output has the examples, and nothing else
        return Result(data={}, notes=[line, *notes])
    about = {"judge": loaded.name, "output": options.output, "part": options.part, "groups": groups}
    written = {"examples": len(made.examples), "labels": dict(sorted(labels.items())), "left_out": counted}
    return Result(data={**about, **written}, body=[line], notes=notes)
