"""The report page of a version, of an evaluation or a comparison, or of a file of verdicts."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import GoldError, UsageError, checked, in_words_of_caller
from ..gold.goldset import Gold
from ..gold.mapping import RowMapping
from ..gold.writing import write_whole
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.naming import compiled_judge_of
from ..programs.judge import Judge
from ..report.artifact import ArtifactReport
from ..report.document import Document
from ..report.judged import cascade_report, naming_broken_field, saved_report
from ..report.page import as_page
from ..report.results import is_result, result_report
from ..runs.outputs import lines_in
from .comparing import Comparison, Evaluation
from .compiling import Compiled
from .gold_origins import gold_source
from .surface import GoldLike, open_store, read_gold

_FILES = (".json", ".jsonl", ".csv")
"""Ends of the names of files that are no references of versions."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """A page that can be opened alone: the decision, scores, changed words and cases."""

    subject: str  # what it is about
    headline: str  # the decision in a sentence
    page: str = field(repr=False)  # the page as HTML
    path: Path | None  # where it was written
    problem: str = ""  # why the inputs of the cases are not in it; empty if they are
    document: Document = field(repr=False, compare=False)  # its sections


@checked
def write_report(
    subject: str | os.PathLike[str] | Artifact | Compiled | Evaluation | Comparison,
    output: str | os.PathLike[str] | None = None,
    *,
    gold: GoldLike | None = None,
    by: str = "",
    store: str | os.PathLike[str] | Store | None = None,
) -> Report:
    """Make the report of a version, of an evaluation or a comparison, or of what :func:`jurist.run` wrote.

    Args:
        subject: ``JUDGE`` or ``JUDGE@VERSION``, a version, what was compiled, an evaluation or a comparison, or a file
            of ``evaluate --output`` or ``compare --output`` or of verdicts.
        output: the page to write; default: none.
        gold: the gold of the proof, where it is not found again by itself, as that of rows in Python.
        by: of a version, the name of a column of its gold: the sealed rows with each value are scored, too. An
            evaluation and a comparison have the column that they were made with.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.

    Raises:
        ArtifactError: no such version.
        JuristError: it was never proven.
        UsageError: the rows cannot be scored by the column.
        GoldError: ``gold`` is other gold.
    """
    report = make_report(subject, open_store(store), gold, by=by)
    if output is None:
        return report
    write_whole(report.page, Path(output))
    return Report(**{**vars(report), "path": Path(output)})


def make_report(
    subject: str | os.PathLike[str] | Artifact | Compiled | Evaluation | Comparison,
    store: Store,
    gold: GoldLike | None = None,
    store_words: str = "",
    by: str = "",
) -> Report:
    """Return a report without writing it; ``store_words`` are the options by which its commands find the store."""
    document = _saved_document(subject)
    if document is not None:
        if by:
            hint = f"name it where the rows are judged: jurist evaluate JUDGE --gold GOLD --by {by} --output F.json"
            raise UsageError(f"--by {by} is of a version, and this is none", hint=hint)
        return _report_of(document)
    assert not isinstance(subject, Evaluation | Comparison)
    if isinstance(subject, Compiled):
        subject = subject.artifact
    artifact = subject if isinstance(subject, Artifact) else store.load(os.fspath(subject))
    about = artifact.about
    if by and (about.cascade or about.decision.keeps_basic or about.refit is not None):
        hint = f"jurist evaluate {artifact.ref} --gold GOLD --by {by} scores other rows"
        raise UsageError(f"--by {by}: {artifact.ref} has no sealed test of its own", hint=hint)
    cascade = about.cascade
    if cascade is not None and cascade.found:
        return _report_of(cascade_report(artifact, cascade.found))
    judge = compiled_judge_of(artifact, store)
    proof_gold, problem = _proof_gold(gold, artifact, judge, store)
    artifact_report = ArtifactReport(
        artifact=artifact,
        judge=judge,
        store=store,
        gold=proof_gold,
        no_gold=problem,
        column=by,
        store_option=store_words,
    )
    return _report_of(artifact_report.document(), problem)


def _saved_document(subject: object) -> Document | None:
    """Return the report of a result, or of a file of one or of verdicts; ``None`` for a version."""
    if isinstance(subject, Evaluation | Comparison):
        return result_report(subject.to_json())
    if not isinstance(subject, str | os.PathLike) or Path(subject).suffix not in _FILES:
        return None
    path = Path(subject)
    if path.suffix == ".json":
        data: Any = None
        with suppress(OSError, RecursionError, ValueError):  # what is no JSON may still be the lines of a run
            data = json.loads(path.read_bytes())
        if is_result(data):
            with naming_broken_field(path, "write it anew with jurist evaluate or compare"):
                return result_report(data, path.name)
    return saved_report(path, (line for _, line in lines_in(path)))


def _report_of(document: Document, problem: str = "") -> Report:
    """Return the report of a document."""
    return Report(
        subject=document.subject,
        headline=document.headline,
        page=as_page(document),
        path=None,
        problem=problem,
        document=document,
    )


def _proof_gold(
    named: GoldLike | None, artifact: Artifact, judge: Judge, store: Store
) -> tuple[Gold | None, str]:
    """Return the gold of the proof, or why it cannot be read; one that was named must be readable."""
    origin = artifact.about.gold.holdout or artifact.about.gold
    if named is not None:
        # Rows in Python have the names of columns and labels that they were compiled with.
        mapping = None if isinstance(named, str | os.PathLike | Gold) else RowMapping.of_json(origin.mapping)
        gold, proof = read_gold(named, judge, mapping=mapping), artifact.proof_records()
        gold_ids = {case.id for case in gold.cases}
        proof_ids = {record.case for record in proof}
        if proof and proof_ids.isdisjoint(gold_ids):
            problem = f"{gold.name} holds no case that {artifact.ref} was proven on"
            raise GoldError(problem, hint="name its own gold set")
        return gold, ""
    try:
        return Gold.read_again(origin, judge, gold_source(origin, store)), ""
    except GoldError as error:
        return None, in_words_of_caller(f"{error.message}; name the gold with --gold")
