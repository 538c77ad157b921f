"""``jurist review`` and ``jurist serve``: pages on a port until Ctrl-C, and sheets in place of one."""

import json
import logging
import os
import random
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
from ..errors import GoldError, UsageError, importing_extra, plural, system_message
from ..gold.goldset import Gold
from ..gold.label_journal import LabelJournal
from ..gold.rows import RESOLVED
from ..gold.sheets import (
    RATER_NAME,
    Judged,
    SheetLine,
    open_lines,
    read_judged,
    review_lines,
    write_sheet,
)
from ..jobs.gold_origins import gold_source
from ..keeping.locking import lock_output
from ..keeping.naming import find_judge, judge_of_artifact
from ..programs.catalogue import list_bundled_gold
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..report.reviewing import Review, review_application
from ..report.scores import spend_in, spend_line
from ..runs.serving import Serving, application
from .gold import gold_name
from .inputs import loaded_of
from .printing import Part, Result, print_notes
from .questions import approve_keys
from .rows import gold_of, store_of

_LINK_HINT = "--rater ann,bob gives each of them a link of their own"


def review_units(options: ReviewOptions) -> Result:
    """Write a sheet, or serve the page until Ctrl-C; return how far it came, and what to do with it."""
    suffix = Path(options.output).suffix.lower()
    if suffix not in (".jsonl", ".csv"):
        hint = "name it .jsonl for a page or .csv for a spreadsheet"
        raise UsageError(f"{Path(options.output)} does not say how to label", hint=hint)
    gold, name, judged = _reviewed_gold(options)
    sheet_rater = options.rater if suffix == ".csv" else ""
    with_labelled = options.every or options.sample is not None
    lines = _lines_to_review(gold, judged, sheet_rater, with_labelled=with_labelled)
    if not lines:
        hint = "--all takes every unit, --verdicts those that the judge wavers on"
        raise UsageError("there is no unit to review: each has a label on which nothing differs", hint=hint)
    if options.sample is not None:
        drawn_units = _draw_units(gold, options.sample, options.seed)
        lines = [line for line in lines if (line.case.id, line.unit) in drawn_units]
        if not lines:
            hint = "draw more of them, or others with --seed"
            raise UsageError(f"the rater has labelled the {len(drawn_units)} units that are drawn", hint=hint)
    first_lines = lines[: options.top]
    if suffix == ".csv":
        return _write_review_sheet(first_lines, gold, options, name)
    return _serve_review_page(first_lines, gold, options, name)


def _reviewed_gold(options: ReviewOptions) -> tuple[Gold, str, list[Judged]]:
    """Return the gold whose units are reviewed, its name, and the verdicts that say which are in doubt."""
    store = store_of(options)
    artifact = None
    if "@" in options.judge:
        artifact = store.load(options.judge)
        judge = judge_of_artifact(artifact, store)
    else:
        judge = find_judge(options.judge, store)
    judged: list[Judged] = []
    if options.verdicts is not None:
        judged = read_judged(options.verdicts, judge)
    if artifact is None or options.source or options.gold:
        name = gold_name(options)
        return gold_of(name, judge, options, labelled=False), name, judged
    if options.columns or options.labels:
        problem = "--column and --map say how a file is read, and none is named"
        raise UsageError(problem, hint="add --gold F")
    name = gold_source(artifact.about.gold, store)
    return Gold.read_again(artifact.about.gold, judge, name, labelled=False), name, judged


def _lines_to_review(
    gold: Gold, judged: Sequence[Judged], sheet_rater: str, *, with_labelled: bool
) -> list[SheetLine]:
    """Return the units to review: first those that verdicts put in doubt, then all that are open."""
    cases_by_id = {case.id: case for case in gold.cases + gold.ambiguous}
    lines: dict[tuple[str, int], SheetLine] = {}
    for line in review_lines(judged, gold.judge, cases_by_id):
        lines[line.case.id, line.unit] = line
    for line in open_lines(gold, rater=sheet_rater, with_labelled=with_labelled):
        lines[line.case.id, line.unit] = line
    return list(lines.values())


def _draw_units(gold: Gold, number: int, seed: int) -> set[tuple[str, int]]:
    """Return at most so many units by lot, each by its case and its place, whatever is labelled already."""
    units = sorted((line.case.id, line.unit) for line in open_lines(gold, with_labelled=True))
    return set(random.Random(seed).sample(units, min(number, len(units))))


def _serve_review_page(lines: Sequence[SheetLine], gold: Gold, options: ReviewOptions, name: str) -> Result:
    """Serve the page until Ctrl-C; return how many labels its file holds, and the command that makes gold of them."""
    path = Path(options.output)
    guideline = _guideline(options.guideline, name, gold.judge)
    review = _serve_until_stopped(gold, lines, options, guideline)
    labels, differing = review.journal.labels(), review.differing_labels()
    raters = sorted({label.rater for label in labels} - {RESOLVED})
    unresolved = 0
    for labels_of_unit in differing.values():
        is_resolved = any(label.rater == RESOLVED for label in labels_of_unit)
        if not is_resolved:
            unresolved += 1
    body: list[Part] = [f"{plural(len(labels), 'label')} of {plural(len(raters), 'rater')} in {path}"]
    if not labels:
        body = [f"no label was given: {path} holds none"]
    agreement = review.agreement()
    if agreement:
        body.append(
            f"on {agreement['units']} units of two raters or more, {agreement['raw']:.1%} of the pairs agree"
        )
    if differing:
        body.append(
            f"raters differ on {len(differing)} units, of which {unresolved} are not resolved (at /resolve)"
        )
    notes = []
    if labels:
        judge = options.judge.partition("@")[0]
        notes.append(
            f"to make gold of them: jurist gold import {judge} {name} {path} --merge reviewed --output NEW.jsonl"
        )
    data = {
        "labels": len(labels),
        "raters": raters,
        "units": len(lines),
        "file": str(path),
        "differing": len(differing),
        "unresolved": unresolved,
    }
    return Result(data=data, body=body, notes=notes)


def _serve_until_stopped(
    gold: Gold, lines: Sequence[SheetLine], options: ReviewOptions, guideline: str
) -> Review:
    """Serve the page on which people label units until Ctrl-C; their labels go to a file."""
    path, host = Path(options.output), options.host
    raters = _rater_names(options.rater)
    # One rater on this machine needs no link. Otherwise each rater gets a link with a secret token, which goes to a
    # file that only the owner can read, and never to the terminal.
    has_links = len(raters) > 1 or host not in ("127.0.0.1", "localhost")
    if options.overlap is not None and len(raters) < 2:
        raise UsageError("--overlap deals rows out among several raters", hint="add --rater ann,bob")
    if has_links and not raters:
        raise UsageError(f"who labels at {host}?", hint=_LINK_HINT)
    path.parent.mkdir(parents=True, exist_ok=True)
    with lock_output(path) as is_alone:
        if not is_alone:
            raise UsageError(f"another process is writing {path}", hint="open its page, or name another file")
        review = Review(gold=gold, lines=lines, journal=LabelJournal(path), guideline=guideline)
        destination = str(path)
        if has_links:
            links_path = path.with_suffix(".links")
            review = replace(review, tokens=_write_links(links_path, raters, host, options.port))
            destination += f", links of raters in {links_path}"
        else:
            review = replace(review, rater=options.rater.strip())
        if options.overlap is not None:
            review = replace(review, raters=raters, overlap=options.overlap)
        listen(
            review_application(review),
            host,
            options.port,
            f"{len(lines)} units, labels go to {destination}, at",
        )
    return review


def _rater_names(listed_raters: str) -> list[str]:
    """Return the names between commas. Raises ``UsageError`` for one that no rater can have."""
    raters = [name.strip() for name in listed_raters.split(",") if name.strip()]
    for rater in raters:
        if not RATER_NAME.fullmatch(rater) or rater == RESOLVED:
            raise UsageError(f"{rater!r} is no rater's name", hint=_LINK_HINT)
    return raters


def _write_links(path: Path, raters: Sequence[str], host: str, port: int) -> dict[str, str]:
    """Write a link for each rater, readable by its owner alone, and return their tokens.

    A link that was handed out before stays valid.
    """
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    address = f"[{name}]" if ":" in name else name
    tokens: dict[str, str] = {}
    try:
        links = {}
        if path.exists():
            links = json.loads(path.read_text(encoding="utf-8"))
        for rater in list(raters) + [RESOLVED]:
            tokens[rater] = links.get(rater, "").partition("#")[2] or secrets.token_urlsafe(24)
            page = "resolve" if rater == RESOLVED else ""
            links[rater] = f"http://{address}:{port}/{page}#{tokens[rater]}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            path.chmod(0o600)  # also if it was there
            file.write(json.dumps(links, ensure_ascii=False, indent=1) + "\n")
    except (OSError, ValueError, AttributeError) as error:
        hint = "remove the file: the next start writes new links"
        raise UsageError(f"{path} cannot be used: {system_message(error)}", hint=hint) from error
    return tokens


def _write_review_sheet(lines: Sequence[SheetLine], gold: Gold, options: ReviewOptions, name: str) -> Result:
    """Write the units as a sheet; return the command that makes gold of it, merged with the set if that has labels."""
    path, judge = options.output, options.judge.partition("@")[0]
    write_sheet(lines, gold, Path(path), rater=options.rater or "annotator")
    merge = f"{path} --merge unanimous"
    if any(case.labels or case.ratings for case in gold.cases + gold.ambiguous):
        merge = f"{name} {path} --merge reviewed"
    cases = len({line.case.id for line in lines})
    return Result(
        data={"units": len(lines), "cases": cases, "files": [path]},
        body=[f"{len(lines)} units of {cases} cases written to {path}"],
        notes=[f"when it is filled in: jurist gold import {judge} {merge} --output NEW.jsonl"],
    )


def _guideline(path: str | None, gold_name: str, judge: Judge) -> str:
    """Return how to label: a file's text, else the bundled set's guideline, else the basic prompt."""
    if path is not None:
        try:
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise GoldError(f"the guideline cannot be read: {system_message(error)}", path=path) from error
    if gold_name in list_bundled_gold():
        package = resources.files(__package__.rpartition(".")[0])
        bundled_file = package / "datasets" / gold_name / "GUIDELINES.md"
        if bundled_file.is_file():
            return bundled_file.read_text(encoding="utf-8")
    prompts = PromptState.of(judge.basic()).predictors.values()
    return "\n\n".join([prompt.instructions for prompt in prompts])


def serve_judge(options: ServeOptions) -> Result:
    """Serve a judge until Ctrl-C or SIGTERM; return what was spent."""
    token = _required_token(options)
    loaded = loaded_of(options.judge, options, store_of(options))
    loaded = replace(loaded, context=CallContext.fresh(Budget.of(options)))
    print_notes(loaded.note, loaded.ending)
    approve_keys(loaded.models, yes=False)
    serving = Serving(
        loaded=loaded,
        token=token,
        most=options.max_cases,
        largest=options.max_body,
        deadline=options.deadline,
    )
    if options.access_log:
        log = logging.getLogger("jurist.access")
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    subject = f"{loaded.name} with {loaded.model.name} at"
    listen(application(serving), options.host, options.port, subject, options.drain)
    spend = loaded.context.ledger.spend().to_json()
    return Result(
        data={"judge": loaded.name, "model": loaded.model.name, "spend": spend},
        body=[spend_line(spend_in(spend))],
    )


def _required_token(options: ServeOptions) -> str:
    """Return the token that requests must bear; empty where only this machine is listened to and no token is named."""
    if options.token_env is None:
        if options.host not in ("127.0.0.1", "localhost", "::1"):
            hint = "name the environment variable that holds one with --token-env"
            raise UsageError(f"who listens at {options.host} needs a token", hint=hint)
        return ""
    token = os.environ.get(options.token_env, "")
    if not token:
        hint = "set it to what requests must bear"
        raise UsageError(f"the environment variable {options.token_env} is empty or not set", hint=hint)
    return token


def listen(app: Any, host: str, port: int, subject: str, drain: int = 0) -> None:
    """Write the address of an application to the terminal, and serve it until ``drain`` seconds after a signal."""
    with importing_extra("serve"):
        from ..runs.listening import run_server
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(
            f"port {port} of {host} cannot be used: {error.strerror}", hint="name another with --port"
        ) from error
    print_notes(f"{subject} http://{host}:{port}/ (Ctrl-C ends it)")
    # After its shutdown uvicorn raises the signal again. SIGTERM would then end the process before the command has
    # written its result, so here it raises KeyboardInterrupt, as Ctrl-C does.
    usual_handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with listening:
        try:
            run_server(app, listening, drain)
        except KeyboardInterrupt:  # the way to end it
            return
        finally:
            signal.signal(signal.SIGTERM, usual_handler)
