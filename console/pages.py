"""``jurist review`` and ``jurist serve``: what is served on a port until Ctrl-C."""

import logging
import os
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from ..arguments.gold import PageOptions
from ..arguments.run import ServeOptions
from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..errors import GoldError, JuristError, UsageError, why
from ..gold.goldset import Gold
from ..gold.label_journal import LabelJournal
from ..gold.review import Judged, candidates, judged_in_search, read_judged, review_lines
from ..gold.sheets_out import SheetLine, open_lines
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


def review(options: PageOptions) -> Result:
    """Serve the page until Ctrl-C; return how far it came, and what to do with it."""
    store = store_of(options)
    artifact = store.load(options.judge) if "@" in options.judge else None
    judge = find_judge(options.judge, store) if artifact is None else judge_of(artifact, store)
    if artifact is None or options.place or options.named:
        name = gold_name(options)
        gold = gold_of(name, judge, options, labelled=False)
    else:
        name = gold_source(artifact.card["gold"], store)
        gold = Gold.again(artifact.card["gold"], judge, name, labelled=False)
    known = {case.id: case for case in (*gold.cases, *gold.ambiguous)}
    judged: list[Judged] = []
    if options.verdicts is not None:
        judged = read_judged(options.verdicts, judge)
    elif artifact is not None:
        judged = judged_in_search(artifact.matrix(), chosen_candidate(artifact), judge, known)
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
        listen(review_page(review), "127.0.0.1", port, f"{len(lines)} units, labels go to {path}, at")
    return review


def _ranked(
    judged: Sequence[Judged], gold: Gold, known: Mapping[str, Case], *, every: bool
) -> Iterator[SheetLine]:
    """Yield the units, the most informative first, then those without a label."""
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
