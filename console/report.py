"""``jurist report``."""

from collections.abc import Sequence
from pathlib import Path

from ..arguments.report import ReportOptions
from ..errors import GoldError, JuristError, UsageError
from ..gold.goldset import Gold
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.naming import judge_of
from ..programs.judge import Judge
from ..report.artifact import ArtifactReport
from ..report.document import Document
from ..report.page import as_page
from ..report.saved import saved_report
from .common import gold_source, store_of, write_text
from .printing import Result

_NAMED = 3
"""Files that are named of a folder."""


def run(options: ReportOptions) -> Result:
    """Write the page, and say where it is."""
    saved = Path(options.subject)
    if saved.suffix in (".json", ".jsonl"):
        return _written(saved_report(saved), options.output or f"{saved.stem}.html")
    store = store_of(options)
    try:
        artifact = store.load(options.subject)
    except JuristError as error:
        if not saved.is_dir():
            raise
        inside = ", ".join(map(str, sorted(saved.glob("*.json*"))[:_NAMED]))
        hint = f"name a file in it: {inside}" if inside else "name a compiled judge, or a file of results"
        raise UsageError(f"{saved} is a folder", hint=hint) from error
    judge = judge_of(artifact, store)
    gold, problem = _gold(options.gold, artifact, judge, store)
    found = ArtifactReport(artifact=artifact, judge=judge, store=store, gold=gold, no_gold=problem)
    notes = [f"the inputs of the cases are not in it: {problem}"] if problem else []
    return _written(found.document(), options.output or f"{artifact.judge}-{artifact.version}.html", notes)


def _written(document: Document, path: str, notes: Sequence[str] = ()) -> Result:
    write_text(as_page(document), path)
    data = {"report": path, "subject": document.subject, "headline": document.headline}
    said = ": ".join([document.headline, *document.lead[:1]])
    return Result(data=data, body=[said, f"report: {path}"], notes=notes)


def _gold(named: str | None, artifact: Artifact, judge: Judge, store: Store) -> tuple[Gold | None, str]:
    """Return the gold of the proof, or why it cannot be read; one that was named must be readable."""
    if named is not None:
        gold = Gold.load(named, judge)
        cases = {case.id for case in gold.cases}
        proof = artifact.proof()
        if proof and not any(row["case"] in cases for row in proof):
            raise GoldError(
                f"{named} holds no case that {artifact.ref} was proven on", hint="name its own gold set"
            )
        return gold, ""
    about = artifact.card["gold"].get("holdout") or artifact.card["gold"]
    try:
        return Gold.again(about, judge, gold_source(about, store)), ""
    except GoldError as error:
        return None, f"{error.message}; name the gold with --gold"
