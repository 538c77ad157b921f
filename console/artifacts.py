"""``jurist artifacts`` with its actions, but for ``remember``, and ``jurist report``: what a store keeps."""

import shlex
from pathlib import Path
from typing import Any

from ..arguments.artifacts import (
    AddOptions,
    CopyOptions,
    DiffOptions,
    ForgetOptions,
    ReportOptions,
    ShowOptions,
    TagOptions,
    VerifyOptions,
)
from ..errors import JuristError, UsageError, plural
from ..gold.files import read_utf8
from ..jobs.derived_versions import forget
from ..jobs.exporting import artifact_page, export_text
from ..jobs.label_plan import find_proven
from ..jobs.reporting import make_report
from ..jobs.written_versions import add_version
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card_parts import CascadeFound
from ..keeping.copying import copy_version as copy_artifact
from ..keeping.loaders import load_judge
from ..keeping.naming import compiled_judge_of
from ..keeping.shelves import LATEST
from ..programs.judge import Judge
from ..report.differing import (
    Side,
    basic_state,
    best_of_rounds,
    candidate_names_of,
    history_table,
    no_rounds_words,
    prompt_difference,
    rounds_table,
    score_rows,
    setting_rows,
)
from ..report.listing import decision_words
from ..report.scores import (
    Scores,
    disagreement_words,
    robustness_about,
    robustness_table,
)
from ..report.table import table
from ..report.verdict import foresee_labels_of, prove_words
from ..report.views import cascade_parts
from .inputs import store_option
from .listing import open_named_store
from .printing import MarkdownText, Part, Result, Verbatim, write_text
from .rows import check_apart, store_of


def show_artifact(options: ShowOptions) -> Result:
    """Return one artifact: as a page, or its history."""
    store = open_named_store(options)
    artifact = store.load(options.artifact)
    data = dict(artifact.card)
    data["robustness"] = list(artifact.robustness)
    data["disagreements"] = list(artifact.disagreements)
    cascade = _cascade_of(artifact)
    body: list[Part] = []
    if options.history:
        data["history"] = _history_entries(artifact)
        if artifact.candidates:
            body.append(history_table(artifact))
        else:
            body.append(no_rounds_words(artifact))
    elif options.rounds:
        rounds = best_of_rounds(artifact)
        data["rounds"] = [entry.to_json() for entry in rounds]
        if rounds:
            body.append(rounds_table(artifact, rounds))
        else:
            body.append(no_rounds_words(artifact))
    elif cascade:
        body.append(f"{artifact.ref}: {cascade.words}")
        body.extend(cascade_parts(cascade))
    elif not options.json:
        if artifact.about.words is not None:
            body.append(artifact.about.words.words)
            body.extend(artifact.about.words.question_lines())
        own_answer_request = artifact.about.setting.own_answer_request
        if own_answer_request is not None:
            body.append(own_answer_request.words)
        moved = artifact.about.moved
        if moved is not None:
            body.append(f"moved from {moved.parent} with {moved.model}: {moved.words}; asked {moved.way}")
        judge = compiled_judge_of(artifact, store)
        if options.markdown:
            body.append(MarkdownText(export_text(artifact, judge, "markdown")))
        else:
            body.extend(_page_parts(artifact, judge))
        for proof in artifact.label_proofs:
            body.extend(disagreement_words(proof))
        for record in artifact.robustness_records:
            body.append(robustness_table(record, f"attacks and biases: {robustness_about(record)}"))
    return Result(data=data, body=body)


def _page_parts(artifact: Artifact, judge: Judge) -> list[Part]:
    """Return the page about a version as text: headings are underlined, prompts are indented."""
    parts: list[Part] = []
    for piece in artifact_page(artifact, judge):
        for text in piece.plain_texts():
            parts.append(Verbatim(text) if piece.is_verbatim else text)
    return parts


def _history_entries(artifact: Artifact) -> list[dict[str, Any]]:
    """Return the candidates in an artifact's history as JSON values, with their names."""
    chosen_id = artifact.about.optimizer.candidate
    names = candidate_names_of(artifact)
    entries = []
    for line, candidate in zip(artifact.history, artifact.candidates, strict=True):
        entry = dict(line)
        entry["name"] = names[candidate.candidate]
        entry["chosen"] = candidate.candidate == chosen_id
        entries.append(entry)
    return entries


def _cascade_of(artifact: Artifact) -> CascadeFound | None:
    """Return the findings behind a cascade; ``None`` for other versions."""
    cascade = artifact.about.cascade
    return cascade.found if cascade else None


def copy_version(options: CopyOptions) -> Result:
    """Copy a version to another store, with the versions and the code that it stands on."""
    target = Store(options.to)
    copied = copy_artifact(store_of(options), options.artifact, target)
    artifact = copied.artifact
    line = f"{artifact.ref} copied to {artifact.path}"
    if copied.foundations:
        line += f", with {', '.join(version.ref for version in copied.foundations)}, on which it stands"
    body: list[Part] = [line]
    if copied.code:
        files = ", ".join(map(str, copied.code))
        body.append(f"its code is in {files}; on another machine read it, and add --trust at the first use")
    body.append(_meaning_there(artifact, target))
    body.extend(copied.notes)
    body.append(f"next: jurist artifacts verify --store {shlex.quote(options.to)} (no byte was changed)")
    data = {
        "artifact": artifact.ref,
        "path": str(artifact.path),
        "copied": [version.ref for version in (*copied.foundations, artifact)],
        "code": [str(path) for path in copied.code],
        "notes": list(copied.notes),
    }
    return Result(data=data, body=body)


def _meaning_there(artifact: Artifact, target: Store) -> str:
    """Return the meaning of a judge's name in the store of a copy, in words."""
    current = target.current(artifact.judge, artifact.model or None)
    words = f"{_with_model(artifact)}, {artifact.judge} means"
    if current is not None and current.version == artifact.version:
        return f"{words} {artifact.ref} there"
    meant = "its basic prompt" if current is None else current.ref
    command = f"jurist artifacts tag {artifact.ref} latest --store {shlex.quote(str(target.root))}"
    return f"{words} {meant} there; to change that: {command}"


def add_written(options: AddOptions) -> Result:
    """Keep instructions that a person wrote as a version."""
    if not options.instruction:
        raise UsageError("no instruction is named", hint="add --instruction FILE")
    instructions: dict[str, str] = {}
    for step, path in options.instruction:
        if step in instructions:
            raise UsageError(f"two files hold the instruction of {step or options.judge}", hint="name one")
        instructions[step] = read_utf8(Path(path), path)
    store = store_of(options)
    artifact = add_version(options.judge, instructions, store, note=options.note)
    store_words = store_option(options)
    gold_option = _gold_option_of(compiled_judge_of(artifact, store), store)
    return Result(
        data={"artifact": artifact.ref, "path": str(artifact.path), "sha256": artifact.sha256},
        body=[
            f"artifact: {artifact.path} (not the latest: nothing is proven of it)",
            f"next: jurist compare {artifact.ref} {artifact.judge}:basic {gold_option}{store_words}",
        ],
    )


def _gold_option_of(judge: Judge, store: Store) -> str:
    """Return the option that names the gold of a judge: of its newest version, else the bundled set, else any file."""
    for version in reversed(store.list(judge.name)):
        if not version.problem and version.about.gold.place:
            return version.about.gold.gold_option
    if judge.bundled:
        return f"--gold {judge.bundled}"
    return "--gold documents.jsonl" if judge.document else "--gold labels.csv"


def diff_prompts(options: DiffOptions) -> Result:
    """Return the differences between two prompts."""
    store = open_named_store(options)
    first, second = _sides(store, options.first, options.second)
    difference = prompt_difference(first, second)
    settings = setting_rows(first, second)
    scores = score_rows(first, second)
    body: list[Part] = []
    if difference:
        body.append(Verbatim(difference))
    else:
        body.append(f"{first.name} and {second.name} have the same prompt")
    if settings:
        body.append(table("settings that differ", ["", first.name, second.name], settings))
    if scores:
        body.append(scores)
    data = {
        "first": first.name,
        "second": second.name,
        "diff": difference,
        "settings": {setting: values for setting, *values in settings},
        "scores": {side.name: _scores_json(side.scores) for side in (first, second)},
    }
    return Result(data=data, body=body)


def _scores_json(scores: Scores) -> dict[str, object]:
    """Return scores as JSON values, by metric."""
    return {metric: score and score.to_json() for metric, score in scores.items()}


def _sides(store: Store, *references: str) -> list[Side]:
    """Return both; a basic prompt is the one that was asked beside the other, if the other is an artifact of it."""
    artifacts = [None if name.endswith(":basic") else store.load(name) for name in references]
    sides = []
    for reference, artifact, other_artifact in zip(references, artifacts, reversed(artifacts), strict=True):
        if artifact is not None:
            sides.append(Side.of(artifact))
        elif other_artifact is not None and reference == f"{other_artifact.judge}:basic":
            sides.append(Side.of(other_artifact, basic_state(other_artifact, store)))
        else:
            loaded = load_judge(reference, store=store)
            sides.append(Side(name=loaded.name, state=loaded.state, adapter=loaded.adapter))
    return sides


def tag_version(options: TagOptions) -> Result:
    """Name a version; of the latest, say what the judge's name means with each model."""
    store = open_named_store(options)
    store.tag(options.artifact, options.tag)
    data: dict[str, object] = {"artifact": options.artifact, "tag": options.tag}
    if options.tag != LATEST:
        return Result(data=data, body=[f"{options.artifact} is now also {options.tag}"])
    artifact = store.load(options.artifact)
    body: list[Part] = [
        f"{artifact.ref} ({decision_words(artifact)}) is now the latest: {artifact.judge} means it "
        f"{_with_model(artifact)}"
    ]
    means = {}
    for version in store.promoted(artifact.judge):
        if not version.latest:
            continue
        means[version.model] = version.ref
        if version.version != artifact.version:
            body.append(
                f"{_with_model(version)}, {version.judge} still means {version.ref} ({decision_words(version)})"
            )
    return Result(data={**data, "means": means}, body=body)


def _with_model(artifact: Artifact) -> str:
    """Return in words the model for which a version may be the latest."""
    return f"with {artifact.model}" if artifact.model else "with each model"


def forget_rows(options: ForgetOptions) -> Result:
    """Withdraw rows from a version."""
    store, rows = open_named_store(options), set(options.rows)
    version = forget(options.artifact, options.rows, store)
    notes = []
    for artifact in store.list(version.judge):
        if not artifact.problem and rows & set(artifact.about.gold.seen):
            notes.append(
                f"{artifact.ref} was made with what is withdrawn: delete {artifact.path} once nobody runs it"
            )
    without = (
        f"{version.ref} is {options.artifact} without {plural(len(rows), 'row')}; nothing is proven of it"
    )
    return Result(
        data={"artifact": version.ref, "parent": options.artifact, "path": str(version.path)},
        body=[without, f"next: {_command_after_forgetting(version, store, store_option(options))}"],
        notes=notes,
    )


def _command_after_forgetting(version: Artifact, store: Store, store_words: str) -> str:
    """Return the command that says how good a version is: by labels where it differs from basic, if they can tell."""
    try:
        proven = find_proven(store, version)
        labels = foresee_labels_of(proven, compiled_judge_of(proven, store))
    except JuristError:  # the version is made, and a judge whose file is gone only leaves this question open
        labels = None
    if labels:
        return prove_words(version.ref, labels, store_words)
    return f"jurist evaluate {version.ref} {version.about.gold.gold_option}{store_words}"


def verify_artifacts(options: VerifyOptions) -> Result:
    """Check every byte; exit code 1 if anything is wrong."""
    store, reference = open_named_store(options), options.artifact
    entries = []
    notes = []
    for problem in store.verify(reference):
        entries.append({"ref": problem.ref, "path": str(problem.path), "problem": problem.message})
        notes.append(f"error: {problem}")
    if entries:
        return Result(data={"problems": entries}, notes=notes, code=1)
    verified_count = 1
    if not reference or "@" not in reference:
        verified_count = len(store.list(reference))
    body = [f"{plural(verified_count, 'artifact')} verified, no byte changed"]
    if not verified_count:
        body = [f"{store.root} holds no version: nothing was verified"]
    return Result(data={"problems": entries}, body=body)


def report_command(options: ReportOptions) -> Result:
    """Write the page, and say where it is."""
    check_apart(options.output, options.subject)
    report = make_report(options.subject, store_of(options), options.gold, store_option(options), options.by)
    path = options.output or _page_name(options.subject, report.subject)
    write_text(report.page, path)
    notes = []
    if report.problem:
        notes.append(f"the inputs of the cases are not in it: {report.problem}")
    data = {"report": path, "subject": report.subject, "headline": report.headline}
    headline = report.headline
    if report.document.lead:
        headline += f": {report.document.lead[0]}"
    return Result(data=data, body=[headline, f"report: {path}"], notes=notes)


def _page_name(subject_name: str, subject: str) -> str:
    """Return the usual name of a page: of a file its stem, of a version judge and number."""
    if Path(subject_name).suffix in (".json", ".jsonl", ".csv"):
        return f"{Path(subject_name).stem}.html"
    return f"{subject.replace('@', '-')}.html"
