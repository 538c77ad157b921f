"""``jurist judges``, ``new``, ``export`` and ``export training``: judges and their prompts as text."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from ..arguments.catalogue import ExportOptions, NewOptions, TrainingOptions
from ..errors import GoldError, JudgeError, UsageError, words_of_counts
from ..gold.goldset import Gold, describe
from ..gold.mapping import RowMapping
from ..gold.misspelt import keeping_words, misspelt_words
from ..gold.rejects import Rejects
from ..gold.shape import Shape, scale_of, shape_of, sides, sides_by_name, sides_by_number
from ..gold.sources import OnBad, refuse
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
from ..programs.catalogue import find, is_packaged
from ..programs.judge import Judge, check_judge_name
from .bars import progress
from .printing import Part, Result, Verbatim, print_notes, write_text
from .rows import check_apart, shares_of, store_of


def export_command(options: ExportOptions) -> Result:
    """Write a judge's prompt for another system."""
    loaded = load_judge(
        options.judge,
        store=store_of(options),
        verifiers=options.verifiers or None,
        language=options.language,
    )
    print_notes(loaded.standing)
    path = None if options.output == "-" else options.output
    text, limits = exported(loaded, options.target, path)
    data = {"judge": loaded.name, "target": options.target, "output": options.output, "limits": limits}
    if path is None:
        data["text"] = text
        return Result(data=data, body=[Verbatim(text)], notes=limits)
    write_text(text, path)
    return Result(data=data, body=[f"{loaded.name} written to {path}"], notes=limits)


def new_judge(options: NewOptions) -> Result:
    """Write the file of a judge, once a draft of it could be loaded as one."""
    check_judge_name(options.name)
    if is_packaged(options.name):
        problem = f"{options.name} is the name of a judge that is installed"
        raise UsageError(problem, hint=f"give yours another, such as my-{options.name}")
    has_labels = options.labels or options.gold
    if options.positive and (options.prefer is not None or options.score is not None or not has_labels):
        raise UsageError("--positive needs --labels", hint="name the labels, or leave it out")
    prompt = read_prompt(Path(options.source))
    shape = _shape(options, prompt.instruction, prompt.variables)
    answer, meanings = _answer_of(options, prompt.variables, shape)
    columns = shape.columns if shape else None
    traces = shape.traces if shape else ()
    source_name = Path(options.source).name
    text = judge_source(
        options.name, source_name, prompt, answer, options.unit, columns, meanings, traces, options.merge
    )
    output = _new_file(options)
    judge = _load_draft(text)
    rejects = Rejects(options.rejects)
    rejects.check_apart(options.source, output)
    gold = None
    if options.gold and shape:
        gold = Gold.load(options.gold, judge, rejects=rejects)
    write_text(text, str(output))
    inputs = ", ".join(prompt.variables)
    body: list[Part] = [f"{judge.name} written to {output}: inputs {inputs}; {answer.words}"]
    if gold and shape:
        body.extend(_gold_lines(gold, shape, rejects))
    pair = sides_by_name(judge.answer.scale.choices, prompt.variables)
    if pair and not options.labels and judge.answer.presentations == 1:
        first, second = pair
        body.append(
            f"its labels seem to say which of {first} and {second} is better: for a judge asked in both orders, "
            f"write it anew with --prefer {first},{second}"
        )
    return Result(
        data={
            "judge": judge.name,
            "output": str(output),
            "inputs": list(prompt.variables),
            "labels": list(judge.answer.scale.choices),
            "answers": answer.words,
        },
        body=body,
        notes=[_step_after_new(options, output, judge, has_rejects=rejects.count > 0)],
    )


def _new_file(options: NewOptions) -> Path:
    """Return the file to write. Raises ``UsageError`` for one that exists, or that would hide another module."""
    output = Path(options.output or f"{options.name.replace('-', '_')}.py")
    if output.exists():
        raise UsageError(f"{output} exists", hint="name another file with --output, or remove it")
    if not options.output and find_spec(output.stem):
        why = f"{output} would stand before the module {output.stem} in every program that is started here"
        raise UsageError(why, hint="give the judge another name, or the file with --output")
    return output


def _load_draft(text: str) -> Judge:
    """Return the judge of a file's text. Raises ``UsageError`` if the options fit no judge."""
    with TemporaryDirectory() as folder:
        draft = Path(folder) / "judge.py"
        draft.write_text(text, "utf-8")
        try:
            return find(f"{draft}:judge")
        except JudgeError as error:
            raise UsageError(error.message, hint=error.hint) from error


def _step_after_new(options: NewOptions, output: Path, judge: Judge, *, has_rejects: bool) -> str:
    """Return the command that comes after a new judge: an evaluation, or a compilation."""
    reference = shlex.quote(f"{output}:judge")
    if not options.gold:
        columns = f"a column for each input and one for {', '.join(judge.answer.fields)}"
        return f"next: jurist compile {reference} --gold GOLD, with {columns}"
    gold = shlex.quote(options.gold)
    step = f"next: jurist evaluate {reference}:basic --gold {gold}"
    if has_rejects:
        step += f" --rejects {shlex.quote(options.rejects or 'aside.jsonl')}"
    return step


def _shape(options: NewOptions, instruction: str, variables: Sequence[str]) -> Shape | None:
    """Return the shape of the gold: its columns and labels."""
    if options.gold is None:
        if options.columns or options.names or options.raters or options.merge or options.rejects:
            problem = "--column, --map, --raters, --merge and --rejects say how --gold is read"
            raise UsageError(problem, hint="add --gold labels.csv")
        return None
    # What the options say goes with the prompt: all of it says which labels are asked for.
    texts = [instruction, options.labels or "", options.score or ""]
    for _, meaning in options.names:
        texts.append(meaning)
    compared_inputs = _listed(options.prefer)
    prompt = " ".join(texts)
    on_bad: OnBad = refuse
    if options.rejects is not None:
        on_bad = Rejects().add  # the gold is read once more as the judge's, and then they are set aside
    return shape_of(
        options.gold,
        variables,
        dict(options.columns),
        prompt,
        compared_inputs,
        options.raters,
        on_bad,
    )


def _gold_lines(gold: Gold, shape: Shape, rejects: Rejects) -> list[str]:
    """Return how many rows there are, and how their columns are read."""
    facts = describe(gold)
    counts = f"{facts['cases']} labelled rows in {facts['groups']} groups"
    left_out = facts["skipped"] - facts["ambiguous"]
    if left_out:
        counts += f"; {left_out} without a label are left out"
    if rejects.count:
        place = "name a file for them and their reasons with --rejects F.jsonl"
        if rejects.path is not None:
            place = f"they are in {rejects.path}, with the reasons"
        counts += f"; {rejects.count} cannot be used: {place}"
    columns = []
    for column, field_name in gold.judge.columns.items():
        columns.append(f"{column} is {field_name}")
    for column, field_name in shape.columns.items():
        if field_name == "label" and column not in gold.judge.columns:
            columns.append(f"{column} is what people said")
    column_words = ", ".join(columns) or "as the judge has them"
    has_group_column = "group" in gold.judge.columns.values()
    if not has_group_column and facts["groups"] == facts["cases"] > 1:
        column_words += "; each row is a group: --column COLUMN=group names what rows belong to"
    names_groups = any(case.row.get("group") for case in gold.cases)
    if not names_groups and facts["groups"] < facts["cases"]:
        from ..gold.copies import evidence_fields  # loads numpy

        same = " and ".join(evidence_fields(gold.settled))
        column_words += f"; rows with the same {same} are one group"
    lines = [f"{gold.source}: {counts}", f"columns: {column_words}"]
    lines.extend(gold.notes)
    if shape.raters:
        names = ", ".join(shape.raters)
        lines.append(
            f"raters: {names} are taken for one label by several raters; if not, name it: --column COLUMN=label"
        )
    return lines


def _answer_of(
    options: NewOptions, variables: Sequence[str], shape: Shape | None
) -> tuple[AnswerSource, dict[str, str]]:
    """Return the answer of the judge, from the options or the labels of the gold, and the meaning of these labels."""
    meanings: dict[str, str] = {}
    if shape:
        meanings = dict.fromkeys(shape.silent, "")
    meanings.update(options.names)
    if options.prefer is not None or (shape and shape.pair):
        return _preference_of(options, shape, meanings)
    if options.score is not None:
        return answer_of_score(options.score), meanings
    labels, positive = _listed(options.labels), _listed(options.positive)
    gold_labels = _unexplained_labels(shape, meanings)
    sides_compared = [] if labels else sides_by_number(gold_labels, variables)
    if sides_compared:
        first, second = sides_compared
        score = scale_of(gold_labels) or "0-1"
        raise UsageError(
            f"the labels {', '.join(sorted(gold_labels))} may be scores, or say which of {first} and {second} "
            "is better",
            hint=f"add --prefer {first},{second} --map 0=first --map 1=second, or --score {score}",
        )
    if not (labels or positive):
        scale = scale_of(gold_labels)
        if scale:
            return answer_of_score(scale), meanings
    if not labels and shape:
        _check_spellings(shape, meanings)
    if not labels:
        explained = [meaning for meaning in meanings.values() if meaning]
        labels = list(dict.fromkeys(gold_labels + explained))
    if not labels:
        hint = "give --labels yes,no, --score 1-5, --prefer with the two inputs that are compared, or --gold"
        raise UsageError("nothing says what it answers", hint=hint)
    for label in gold_labels:
        if label in labels and not label.isalpha():
            meanings[label] = label
    return answer_of_labels(labels, positive), meanings


def _check_spellings(shape: Shape, meanings: Mapping[str, str]) -> None:
    """Refuse to make classes of labels that look misspelt, and of which the options do not say what they mean."""
    explained = {label.casefold(): meaning for label, meaning in meanings.items()}
    unclear = [found for found in shape.misspelt if found.label.casefold() not in explained]
    if unclear:
        listed, options = misspelt_words(unclear, explained)
        hint = f"add {options} {keeping_words(unclear[0].label)}"
        raise UsageError(f"labels that look misspelt: {listed}", hint=hint)


def _preference_of(
    options: NewOptions, shape: Shape | None, meanings: dict[str, str]
) -> tuple[AnswerSource, dict[str, str]]:
    """Return the answer of a judge that compares two inputs, and the meaning of the labels of the gold."""
    if shape is None:
        return answer_of_preference(_listed(options.prefer)), meanings
    compared_inputs = shape.pair if options.prefer is None else _listed(options.prefer)
    all_meanings = dict(sides(shape, compared_inputs, meanings))
    all_meanings.update(meanings)
    return answer_of_preference(compared_inputs), all_meanings


def _unexplained_labels(shape: Shape | None, meanings: Mapping[str, str]) -> list[str]:
    """Return the labels of the gold of which the options do not say what they mean."""
    if shape is None:
        return []
    explained = {label.casefold() for label in meanings}
    return [label for label in shape.labels if label.casefold() not in explained]


def _listed(text: str | None) -> list[str]:
    """Return the parts of a text between commas."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def write_training(options: TrainingOptions) -> Result:
    """Write a training file, and say what is in it and what is not."""
    check_apart(options.output, options.input)
    store = store_of(options)
    shares = shares_of(options.split)
    loaded = load_judge(options.judge, store=store)
    print_notes(loaded.standing)
    earlier = store.earlier_parts(loaded.judge.name, options.seed, shares)
    mapping = RowMapping(keep_groups=options.keep_groups)
    gold = Gold.load(options.input, loaded.judge, mapping=mapping)
    with progress(len(gold.cases), f"writing examples for {loaded.name}") as step:
        training = make_training(
            loaded, gold, options.part, seed=options.seed, shares=shares, earlier=earlier, on_case=step
        )
    left_out = _left_out_counts(training.left_out, gold)
    left_out_words = words_of_counts(left_out) or "none"
    if not training.examples:
        raise GoldError(
            f"no example is left of {len(gold.cases) + gold.skipped} rows ({left_out_words})",
            path=options.input,
            hint="use --part all, or more rows",
        )
    lines = []
    groups = set()
    label_counts: Counter[str] = Counter()
    for case, messages in training.examples:
        lines.append(json_text({"messages": list(messages)}) + "\n")
        groups.add(case.group)
        for value in case.labels:
            label_counts[loaded.judge.answer.scale.text(value)] += 1
    write_text("".join(lines), options.output)
    labels = dict(sorted(label_counts.items()))
    counts = f"{len(training.examples)} examples of {len(groups)} groups ({options.part})"
    line = f"{loaded.name}: {counts}; {words_of_counts(labels)}; rows left out: {left_out_words}"
    notes = []
    if options.part == "all":
        notes.append("nothing is held back: score the tuned model on rows that are not in this file")
    if options.output == "-":  # standard output has the examples, and nothing else
        return Result(data={}, notes=[line] + notes)
    data = {
        "judge": loaded.name,
        "output": options.output,
        "part": options.part,
        "groups": len(groups),
        "examples": len(training.examples),
        "labels": labels,
        "left_out": left_out,
    }
    return Result(data=data, body=[line], notes=notes)


def _left_out_counts(left_out: Mapping[str, int], gold: Gold) -> dict[str, int]:
    """Return how many rows are in no example by the reason, with those that gold left out when it was read."""
    counts = Counter(left_out)
    counts.update(gold.skipped_by)
    occurring = {}
    for reason, count in sorted(counts.items()):
        if count:
            occurring[reason] = count
    return occurring
