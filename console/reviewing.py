"""``jurist review``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from ..arguments.review import PageOptions
from ..cases import Case
from ..errors import GoldError, UsageError, why
from ..gold.goldset import Gold
from ..gold.label_journal import LabelJournal
from ..gold.review import Judged, candidates, judged_in_search, read_judged, review_lines
from ..gold.sheets_out import SheetLine, open_lines
from ..gold.sources import bundled_names
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.locking import alone
from ..keeping.naming import find_judge, judge_of
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..report.history import chosen_candidate
from ..report.reviewing import Review, application
from .common import gold_of, gold_source, store_of
from .gold import gold_name
from .listening import listen
from .printing import Result


def run(options: PageOptions) -> Result:
    """Serve the page until Ctrl-C; return how far it came, and what to do with it."""
    store = store_of(options)
    artifact = store.load(options.judge) if "@" in options.judge else None
    judge = find_judge(options.judge, store) if artifact is None else judge_of(artifact, store)
    name, gold = _gold(options, judge, artifact, store)
    known = {case.id: case for case in (*gold.cases, *gold.ambiguous)}
    judged = _judged(options, artifact, judge, known)
    lines = list(_ranked(judged, gold, known, every=options.every))[: options.top]
    if not lines:
        hint = "--all takes every unit, --verdicts those that the judge wavers on"
        raise UsageError("there is no unit to review: each has a label on which nothing differs", hint=hint)
    path = Path(options.output)
    guideline = guideline_of(options.guideline, name, judge)
    review = served(gold, lines, path, guideline=guideline, rater=options.rater, port=options.port)
    labels = review.journal.labels()
    raters = {one.rater for one in labels}
    then = f"jurist gold import {judge.name} {name} {path} --merge reviewed --output NEW.jsonl"
    return Result(
        data={"labels": len(labels), "raters": sorted(raters), "units": len(lines), "file": str(path)},
        body=[
            f"{len(labels)} labels of {len(raters)} raters in {path}",
            *([review.agreement()] if raters else []),
        ],
        notes=[f"to make gold of them: {then}"] if labels else [],
    )


def served(
    gold: Gold, lines: Sequence[SheetLine], path: Path, *, guideline: str, rater: str, port: int
) -> Review:
    """Serve the page on which people label units until Ctrl-C; their labels go to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path) as free:
        if not free:
            raise UsageError(f"another process is writing {path}", hint="open its page, or name another file")
        review = Review(gold=gold, lines=lines, journal=LabelJournal(path), guideline=guideline, rater=rater)
        listen(application(review), "127.0.0.1", port, f"{len(lines)} units, labels go to {path}, at")
    return review


def _gold(options: PageOptions, judge: Judge, artifact: Artifact | None, store: Store) -> tuple[str, Gold]:
    """Return the gold that was named, else that of the artifact, with its name."""
    if artifact is None or options.place or options.named:
        name = gold_name(options)
        return name, gold_of(name, judge, options, labelled=False)
    name = gold_source(artifact.card["gold"], store)
    return name, Gold.again(artifact.card["gold"], judge, name, labelled=False)


def _judged(
    options: PageOptions, artifact: Artifact | None, judge: Judge, known: Mapping[str, Case]
) -> list[Judged]:
    """Return what the judge said: in a run that was named, else in the search that made the artifact."""
    if options.verdicts is not None:
        return read_judged(options.verdicts, judge)
    if artifact is None:
        return []
    return judged_in_search(artifact.matrix(), chosen_candidate(artifact), judge, known)


def _ranked(
    judged: Sequence[Judged], gold: Gold, known: Mapping[str, Case], *, every: bool
) -> Iterator[SheetLine]:
    """Yield the units, those first whose label is worth most, then those without a label."""
    given = set()
    worth = review_lines(candidates(judged, gold.judge, known), known)
    shown = [replace(line, notes={"why": line.notes["why"]}) for line in worth]
    for line in (*shown, *open_lines(gold, every=every)):
        if (line.case.id, line.unit) not in given:
            given.add((line.case.id, line.unit))
            yield line


def guideline_of(path: str | None, gold: str, judge: Judge) -> str:
    """Return how to label: a file's text, else the bundled set's guideline, else the basic prompt."""
    if path is not None:
        try:
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise GoldError(f"the guideline cannot be read: {why(error)}", path=path) from error
    if gold in bundled_names():
        own = resources.files(__package__.rpartition(".")[0]) / "datasets" / gold / "GUIDELINES.md"
        if own.is_file():
            return own.read_text(encoding="utf-8")
    return "\n\n".join(prompt.instructions for prompt in PromptState.of(judge.basic()).predictors.values())
