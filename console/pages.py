"""``jurist review`` and ``jurist serve``: pages on a port until Ctrl-C, and sheets in place of one."""

import json
import logging
import os
import secrets
import signal
import socket
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from ..arguments.gold import ReviewOptions
from ..arguments.run import ServeOptions
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..errors import GoldError, UsageError, extra, why
from ..gold.goldset import Gold
from ..gold.label_journal import LabelJournal
from ..gold.rows import RESOLVED
from ..gold.sheets import RATER_NAME, SheetLine, open_lines, read_judged, review_lines, write_sheet
from ..gold.sources import bundled_names
from ..keeping.locking import alone
from ..keeping.naming import find_judge, judge_of_artifact
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..report.reviewing import Review
from ..report.reviewing import application as review_page
from ..report.scores import spend_in, spend_line
from ..runs.serving import Serving, application
from .gold import gold_name
from .inputs import gold_of, gold_source, loaded_of, store_of
from .printing import Part, Result, remark


def review(options: ReviewOptions) -> Result:
    """Write a sheet, or serve the page until Ctrl-C; return how far it came, and what to do with it."""
    path = Path(options.output)
    if path.suffix.lower() not in (".jsonl", ".csv"):
        hint = "name it .jsonl for a page or .csv for a spreadsheet"
        raise UsageError(f"{path} does not say how to label", hint=hint)
    store = store_of(options)
    artifact = store.load(options.judge) if "@" in options.judge else None
    judge = find_judge(options.judge, store) if artifact is None else judge_of_artifact(artifact, store)
    judged = [] if options.verdicts is None else read_judged(options.verdicts, judge)
    if artifact is not None and not (options.source or options.gold):
        if options.columns or options.labels:
            raise UsageError(
                "--column and --map say how a file is read, and none is named", hint="add --gold F"
            )
        name = gold_source(artifact.about.gold, store)
        gold = Gold.again(artifact.about.gold, judge, name, labelled=False)
    else:
        name = gold_name(options)
        gold = gold_of(name, judge, options, labelled=False)
    known = {case.id: case for case in (*gold.cases, *gold.ambiguous)}
    sheet = path.suffix.lower() != ".jsonl"
    rest = open_lines(gold, rater=options.rater if sheet else "", every=options.every)
    lines = {(line.case.id, line.unit): line for line in (*review_lines(judged, judge, known), *rest)}
    if not lines:
        hint = "--all takes every unit, --verdicts those that the judge wavers on"
        raise UsageError("there is no unit to review: each has a label on which nothing differs", hint=hint)
    return (_sheet if sheet else _page)(list(lines.values())[: options.top], gold, options, name)


def _page(lines: Sequence[SheetLine], gold: Gold, options: ReviewOptions, name: str) -> Result:
    """Serve the page until Ctrl-C; say how far people came, and how it becomes gold."""
    path = Path(options.output)
    review = _served(gold, lines, options, _guideline(options.guideline, name, gold.judge))
    labels, differing = review.journal.labels(), review.differing().values()
    raters = sorted({label.rater for label in labels} - {RESOLVED})
    left = sum(all(label.rater != RESOLVED for label in of_unit) for of_unit in differing)
    body: list[Part] = [f"{len(labels)} labels of {len(raters)} raters in {path}"]
    if differing:
        body.append(
            f"raters differ on {len(differing)} units, of which {left} are not resolved (at /resolve)"
        )
    then = f"jurist gold import {options.judge.partition('@')[0]} {name} {path} --merge reviewed --output NEW.jsonl"
    data = {"labels": len(labels), "raters": raters, "units": len(lines), "file": str(path)}
    return Result(
        data={**data, "differing": len(differing), "unresolved": left},
        body=body,
        notes=[f"to make gold of them: {then}"] if labels else [],
    )


def _served(gold: Gold, lines: Sequence[SheetLine], options: ReviewOptions, guideline: str) -> Review:
    """Serve the page on which people label units until Ctrl-C; their labels go to a file."""
    # Several raters, and all at another address than this machine's, get a link each; it is printed nowhere.
    path, host, rater = Path(options.output), options.host, options.rater.strip()
    raters = [name.strip() for name in rater.split(",") if name.strip()]
    wrong = [name for name in raters if not RATER_NAME.fullmatch(name) or name == RESOLVED]
    linked = len(raters) > 1 or host not in ("127.0.0.1", "localhost")
    if wrong or (linked and not raters):
        hint = "--rater ann,bob gives each of them a link of their own"
        raise UsageError(f"{wrong[0]!r} is no rater's name" if wrong else f"who labels at {host}?", hint=hint)
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path) as free:
        if not free:
            raise UsageError(f"another process is writing {path}", hint="open its page, or name another file")
        file = path.with_suffix(".links")
        review = Review(
            gold=gold,
            lines=lines,
            journal=LabelJournal(path),
            guideline=guideline,
            rater="" if linked else rater,
            tokens=_tokens(file, raters, host, options.port) if linked else {},
        )
        links = f", links of raters in {file}" if linked else ""
        listen(review_page(review), host, options.port, f"{len(lines)} units, labels go to {path}{links}, at")
    return review


def _tokens(path: Path, raters: Sequence[str], host: str, port: int) -> dict[str, str]:
    """Write a link for each rater, readable by its owner alone; a link that was handed out before stays valid."""
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    address, tokens = f"[{name}]" if ":" in name else name, dict[str, str]()
    try:
        links = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for rater in (*raters, RESOLVED):
            tokens[rater] = links.get(rater, "").partition("#")[2] or secrets.token_urlsafe(24)
            page = "resolve" if rater == RESOLVED else ""
            links[rater] = f"http://{address}:{port}/{page}#{tokens[rater]}"
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            path.chmod(0o600)  # also if it was there
            file.write(json.dumps(links, ensure_ascii=False, indent=1) + "\n")
    except (OSError, ValueError, AttributeError) as error:
        hint = "remove the file: the next start writes new links"
        raise UsageError(f"{path} cannot be used: {why(error)}", hint=hint) from error
    return tokens


def _sheet(lines: Sequence[SheetLine], gold: Gold, options: ReviewOptions, name: str) -> Result:
    """Write the units as a sheet; say how it becomes gold: together with its set, if that has labels already."""
    path, judge = options.output, options.judge.partition("@")[0]
    write_sheet(lines, gold, Path(path), rater=options.rater or "annotator")
    labelled = any(case.known or case.ratings for case in (*gold.cases, *gold.ambiguous))
    merge = f"{name} {path} --merge reviewed" if labelled else f"{path} --merge unanimous"
    cases = len({line.case.id for line in lines})
    return Result(
        data={"units": len(lines), "cases": cases, "files": [path]},
        body=[f"{len(lines)} units of {cases} cases written to {path}"],
        notes=[f"when it is filled in: jurist gold import {judge} {merge} --output NEW.jsonl"],
    )


def _guideline(path: str | None, gold: str, judge: Judge) -> str:
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
        data={"judge": loaded.name, "model": loaded.model.name, "spend": spend},
        body=[spend_line(spend_in(spend))],
    )


def listen(app: Any, host: str, port: int, what: str) -> None:
    """Serve an application until a signal, and say where it is."""
    with extra("serve"):
        from ..runs.listening import run_server
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
