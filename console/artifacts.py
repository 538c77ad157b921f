"""``jurist artifacts`` with its actions, but for ``remember``, and ``jurist report``: what a store keeps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..arguments.artifacts import (
    DiffOptions,
    ForgetOptions,
    ReportOptions,
    ShowOptions,
    TagOptions,
    VerifyOptions,
)
from ..errors import GoldError, plural
from ..gold.goldset import Gold
from ..jobs.derived_versions import forget
from ..jobs.exporting import export_text
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card_parts import CascadeFound
from ..keeping.loaders import load_judge
from ..keeping.naming import judge_of_artifact
from ..programs.judge import Judge
from ..report.artifact import ArtifactReport
from ..report.differing import (
    Side,
    basic_state,
    candidate_names_of,
    history_table,
    prompt_difference,
    score_rows,
    setting_rows,
)
from ..report.document import Document
from ..report.judged import cascade_report, saved_report
from ..report.page import as_page
from ..report.scores import (
    Scores,
    disagreement_words,
    robustness_about,
    robustness_table,
)
from ..report.table import table
from ..report.views import cascade_parts
from ..runs.outputs import lines_in
from .inputs import check_apart, gold_source, store_of, store_option
from .listing import store_named
from .printing import Part, Result, Verbatim, write_text


def show(options: ShowOptions) -> Result:
    """Return one artifact: as a page, or its history."""
    store = store_named(options)
    artifact = store.load(options.artifact)
    data: dict[str, Any] = {**artifact.card, "robustness": list(artifact.robustness)}
    data["disagreements"] = list(artifact.disagreements)
    body: list[Part] = []
    if options.history:
        chosen = artifact.about.optimizer.candidate
        names = candidate_names_of(artifact)
        data["history"] = []
        for line, candidate in zip(artifact.history, artifact.candidates, strict=True):
            name = names[candidate.candidate]
            is_chosen = candidate.candidate == chosen
            data["history"].append({**line, "name": name, "chosen": is_chosen})
        body.append(history_table(artifact))
    elif found := _cascade_of(artifact):
        body += [f"{artifact.ref}: {found.words}", *cascade_parts(found)]
    elif not options.json:
        judge = judge_of_artifact(artifact, store)
        body.append(Verbatim(export_text(artifact, judge, "markdown")))
        body += [line for proof in artifact.label_proofs for line in disagreement_words(proof)]
        body += [
            robustness_table(measured, f"attacks and biases: {robustness_about(measured)}")
            for measured in artifact.robustness_records
        ]
    return Result(data=data, body=body)


def _cascade_of(artifact: Artifact) -> CascadeFound | None:
    """Return the findings behind a cascade; ``None`` for other versions."""
    cascade = artifact.about.cascade
    return cascade.found if cascade else None


def diff(options: DiffOptions) -> Result:
    """Return the differences between two prompts."""
    store = store_named(options)
    first, second = _sides(store, options.first, options.second)
    changed, settings = prompt_difference(first, second), setting_rows(first, second)
    scores = score_rows(first, second)
    data = {
        "first": first.name,
        "second": second.name,
        "diff": changed,
        "settings": {name: values for name, *values in settings},
        "scores": {side.name: _scores_json(side.scores) for side in (first, second)},
    }
    body: list[Part] = [
        Verbatim(changed) if changed else f"{first.name} and {second.name} have the same prompt",
        *([table("settings that differ", ["", first.name, second.name], settings)] if settings else []),
        *([scores] if scores else []),
    ]
    return Result(data=data, body=body)


def _scores_json(scores: Scores) -> dict[str, Any]:
    """Return scores as JSON values, by metric."""
    return {metric: score and score.to_json() for metric, score in scores.items()}


def _sides(store: Store, *references: str) -> list[Side]:
    """Return both; a basic prompt is the one that was asked beside the other, if the other is an artifact of it."""
    artifacts = [None if name.endswith(":basic") else store.load(name) for name in references]
    sides = []
    for reference, artifact, other in zip(references, artifacts, reversed(artifacts), strict=True):
        if artifact is not None:
            sides.append(Side.of(artifact))
        elif other is not None and reference == f"{other.judge}:basic":
            sides.append(Side.of(other, basic_state(other, store)))
        else:
            loaded = load_judge(reference, store=store)
            sides.append(Side(name=loaded.name, state=loaded.state, form=loaded.adapter))
    return sides


def tag(options: TagOptions) -> Result:
    """Name a version."""
    store_named(options).tag(options.artifact, options.tag)
    return Result(
        data={"artifact": options.artifact, "tag": options.tag},
        body=[f"{options.artifact} is now also {options.tag}"],
    )


def forget_rows(options: ForgetOptions) -> Result:
    """Withdraw rows from a version."""
    store, rows = store_named(options), set(options.rows)
    made = forget(options.artifact, options.rows, store)
    kept = [one for one in store.list(made.judge) if not one.problem and rows & set(one.about.gold.seen)]
    without = f"{made.ref} is {options.artifact} without {plural(len(rows), 'row')}; nothing is proven of it"
    return Result(
        data={"artifact": made.ref, "parent": options.artifact, "path": str(made.path)},
        body=[without, f"next: jurist prove {made.ref} --rows new.jsonl{store_option(options)}"],
        notes=[
            f"{one.ref} was made with what is withdrawn: delete {one.path} once nobody runs it"
            for one in kept
        ],
    )


def verify(options: VerifyOptions) -> Result:
    """Check every byte; exit code 1 if anything is wrong."""
    store, reference = store_named(options), options.artifact
    problems = store.verify(reference)
    data = {"problems": [{"ref": one.ref, "path": str(one.path), "problem": one.message} for one in problems]}
    if problems:
        return Result(data=data, notes=[f"error: {problem}" for problem in problems], code=1)
    number = 1 if reference and "@" in reference else len(store.list(reference))
    return Result(data=data, body=[f"{plural(number, 'artifact')} verified, no byte changed"])


def report(options: ReportOptions) -> Result:
    """Write the page, and say where it is."""
    check_apart(options.output, options.subject)
    saved = Path(options.subject)
    if saved.suffix in (".json", ".jsonl", ".csv"):
        lines = (line for _, line in lines_in(saved))
        return _written(saved_report(saved, lines), options.output or f"{saved.stem}.html")
    store = store_of(options)
    artifact = store.load(options.subject)
    if found := _cascade_of(artifact):
        document = cascade_report(artifact, found)
        return _written(document, options.output or f"{artifact.judge}-{artifact.version}.html")
    judge = judge_of_artifact(artifact, store)
    gold, problem = _gold(options.gold, artifact, judge, store)
    whole = ArtifactReport(
        artifact=artifact,
        judge=judge,
        store=store,
        gold=gold,
        no_gold=problem,
        store_option=store_option(options),
    )
    notes = [f"the inputs of the cases are not in it: {problem}"] if problem else []
    return _written(whole.document(), options.output or f"{artifact.judge}-{artifact.version}.html", notes)


def _written(document: Document, path: str, notes: Sequence[str] = ()) -> Result:
    write_text(as_page(document), path)
    data = {"report": path, "subject": document.subject, "headline": document.headline}
    headline = ": ".join([document.headline, *document.lead[:1]])
    return Result(data=data, body=[headline, f"report: {path}"], notes=notes)


def _gold(named: str | None, artifact: Artifact, judge: Judge, store: Store) -> tuple[Gold | None, str]:
    """Return the gold of the proof, or why it cannot be read; one that was named must be readable."""
    if named is not None:
        gold, proof = Gold.load(named, judge), artifact.proof_records()
        if proof and not {record.case for record in proof} & {case.id for case in gold.cases}:
            raise GoldError(
                f"{named} holds no case that {artifact.ref} was proven on", hint="name its own gold set"
            )
        return gold, ""
    origin = artifact.about.gold.holdout or artifact.about.gold
    try:
        return Gold.again(origin, judge, gold_source(origin, store)), ""
    except GoldError as error:
        return None, f"{error.message}; name the gold with --gold"
