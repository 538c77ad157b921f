"""``jurist review`` and ``jurist serve``: pages on a port until Ctrl-C, and sheets in place of one."""

import logging
import os
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from ..arguments.gold import ReviewOptions
from ..arguments.run import ServeOptions
from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..errors import GoldError, JuristError, UsageError, why
from ..gold.goldset import Gold
from ..gold.label_journal import LabelJournal
from ..gold.raters import Rule
from ..gold.review import Judged, candidates, judged_in_search, read_judged, review_lines, sources_of
from ..gold.sheets_out import SheetLine, open_lines, write_sheet
from ..gold.sources import bundled_names
from ..keeping.locking import alone
from ..keeping.naming import find_judge, judge_of
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..report.history import chosen_candidate
from ..report.reviewing import Review
from ..report.reviewing import application as review_page
from ..report.scores import spend_line
from ..runs.serving import Serving, application
from .gold import gold_name
from .inputs import gold_of, gold_source, loaded_of, store_of
from .printing import Result, remark


def review(options: ReviewOptions) -> Result:
    """Write a sheet, or serve the page until Ctrl-C; return how far it came, and what to do with it."""
    path = Path(options.output)
    if path.suffix.lower() not in (".jsonl", ".csv", ".json"):
        hint = "name it .jsonl for a page, .csv for a spreadsheet or .json for Label Studio"
        raise UsageError(f"{path} does not say how to label", hint=hint)
    store = store_of(options)
    artifact = store.load(options.judge) if "@" in options.judge else None
    judge = find_judge(options.judge, store) if artifact is None else judge_of(artifact, store)
    judged = [] if options.verdicts is None else read_judged(options.verdicts, judge)
    if artifact is not None and not (options.place or options.named):
        name = gold_source(artifact.card["gold"], store)
        gold = Gold.again(artifact.card["gold"], judge, name, labelled=False)
    elif judged and not (options.place or options.named):
        gold, name = _rows_of_run(judged, judge), options.verdicts or ""
    else:
        name = gold_name(options)
        gold = gold_of(name, judge, options, labelled=False)
    known = {case.id: case for case in (*gold.cases, *gold.ambiguous)}
    if artifact is not None and options.verdicts is None:
        judged = judged_in_search(artifact.matrix(), chosen_candidate(artifact), judge, known)
    sheet = path.suffix.lower() != ".jsonl"
    rest = open_lines(gold, rater=options.rater if sheet else "", every=options.every)
    lines = list(_ranked(judged, gold, known, rest, sheet=sheet))[: options.top]
    if not lines:
        hint = "--all takes every unit, --verdicts those that the judge wavers on"
        raise UsageError("there is no unit to review: each has a label on which nothing differs", hint=hint)
    if sheet:
        return _sheet(lines, gold, options, name)
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
        listen(review_page(review), "127.0.0.1", port, f"{len(lines)} units, labels go to {path}, at")
    return review


def _rows_of_run(judged: Sequence[Judged], judge: Judge) -> Gold:
    """Return the rows of a run from the files that it names; a bundled set is named by its own file there."""
    files = sources_of(judged, ())
    sources = [file if Path(file).exists() else file.removesuffix("/gold.jsonl") for file in files]
    try:
        return Gold.load(sources, judge, labelled=False)
    except GoldError as error:
        hint = "name the rows that were judged: jurist review JUDGE ROWS"
        raise GoldError(f"the rows of the run cannot be read again: {error.message}", hint=hint) from error


def _ranked(
    judged: Sequence[Judged], gold: Gold, known: Mapping[str, Case], rest: Sequence[SheetLine], *, sheet: bool
) -> Iterator[SheetLine]:
    """Yield the units, the most informative first, then the rest; a page says why, a sheet also what it is worth."""
    given = set()
    worth = review_lines(candidates(judged, gold.judge, known), known)
    shown = worth if sheet else [replace(line, notes={"why": line.notes["why"]}) for line in worth]
    if sheet and shown:
        rest = [replace(line, notes=dict.fromkeys(shown[0].notes, "")) for line in rest]
    for line in (*shown, *rest):
        if (line.case.id, line.unit) not in given:
            given.add((line.case.id, line.unit))
            yield line


def _sheet(lines: Sequence[SheetLine], gold: Gold, options: ReviewOptions, name: str) -> Result:
    """Write the units as a sheet; say how it becomes gold: together with its set, if that has labels already."""
    written = write_sheet(lines, gold, Path(options.output), rater=options.rater or "annotator")
    labelled = any(case.known or case.ratings for case in (*gold.cases, *gold.ambiguous))
    merge: Rule = "reviewed" if labelled else "unanimous"
    files = [str(path) for path in written.files]
    filled = files[0] if len(files) == 1 else "export.json"
    sources = f"{name} {filled}" if labelled else filled
    long = (
        f"{written.long} cells are longer than Excel keeps, which cuts them: use another program, "
        "or write tasks for Label Studio: -o tasks.json"
    )
    then = f"when it is filled in: jurist gold import {options.judge} {sources} --merge {merge} --output NEW.jsonl"
    return Result(
        data={"units": written.units, "cases": written.cases, "files": files},
        body=[f"{written.units} units of {written.cases} cases written to {', '.join(files)}"],
        notes=[*([long] if written.long else []), then],
    )


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


def serve(options: ServeOptions) -> Result:
    """Serve until Ctrl-C or SIGTERM; return what was spent."""
    token = "" if options.token_env is None else os.environ.get(options.token_env, "")
    if options.token_env is None and options.host not in ("127.0.0.1", "localhost", "::1"):
        hint = "name the environment variable that holds one with --token-env"
        raise UsageError(f"who listens at {options.host} needs a token", hint=hint)
    if options.token_env is not None and not token:
        hint = "set it to what requests must bear"
        raise UsageError(f"the environment variable {options.token_env} is empty or not set", hint=hint)
    loaded = loaded_of(options.judge, options, store_of(options))
    loaded = replace(loaded, context=CallContext.fresh(Budget.of(options)))
    remark(loaded.note)
    serving = Serving(loaded=loaded, token=token, most=options.max_cases, largest=options.max_body)
    if options.access_log:
        log, handler = logging.getLogger("jurist.access"), logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    listen(application(serving), options.host, options.port, f"{loaded.name} with {loaded.model.name} at")
    spend = loaded.context.ledger.spend().to_json()
    return Result(
        data={"judge": loaded.name, "model": loaded.model.name, "spend": spend}, body=[spend_line(spend)]
    )


def listen(app: Any, host: str, port: int, what: str) -> None:
    """Serve an application until a signal, and say where it is."""
    try:
        from ..runs.listening import run_server
    except ImportError as error:
        raise JuristError("uvicorn is not installed", hint="pip install 'jurist[serve]'") from error
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(
            f"port {port} of {host} cannot be used: {error.strerror}", hint="name another with --port"
        ) from error
    remark(f"{what} http://{host}:{port}/ (Ctrl-C ends it)")
    # When all is drained uvicorn raises the signal again, and SIGTERM would then end us before the summing up.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with listening:
        try:
            run_server(app, listening)
        except KeyboardInterrupt:  # the way to end it
            return
        finally:
            signal.signal(signal.SIGTERM, before)
