"""``jurist artifacts refit``: a version chosen and fitted again on all labelled rows."""

from functools import partial

from ..arguments.artifacts import RefitOptions
from ..engines.meter import Budget
from ..jobs.refitting import refit_version
from ..keeping.artifact_card import Artifact
from ..report.scores import spend_line
from .inputs import model_of_card, store_option
from .printing import Part, Result
from .terminal import Terminal


def refit_rows(options: RefitOptions) -> Result:
    """Choose and fit again, and print what was tested, where the new version is, and what to do next."""
    version = refit_version(
        options.artifact,
        Terminal(options),
        gold=options.gold,
        use=options.use,
        same=options.same,
        answering=partial(model_of_card, options),
        budget=Budget.of(options),
        concurrency=options.concurrency,
    )
    card = version.about
    body: list[Part] = [card.refit_words]
    if card.words is not None:
        body.append(card.words.words)
        body.extend(f"warning: {warning}" for warning in card.words.warnings)
    if card.spend is not None and (card.spend.total.calls or card.spend.total.reused):
        body.append(spend_line(card.spend))
    body.append(f"artifact: {version.path} ({_standing_of(version, options)})")
    command = f"jurist prove {version.ref} --rows new.jsonl{store_option(options)}"
    body.append(f"next: {command} (labels of new rows test it)")
    data = {"artifact": str(version.path), "latest": version.latest, **version.card}
    return Result(data=data, body=body)


def _standing_of(version: Artifact, options: RefitOptions) -> str:
    """Return whether the judge's name means a refit, which no test has shown to be good, and what changes that."""
    parent = f"{version.judge}@{version.about.parent}"
    if version.latest:
        command = f"jurist artifacts tag {parent} latest{store_option(options)}"
        return f"latest, and not tested: {version.judge} means it now; {command} goes back"
    if options.use:
        return f"it asks and decides as {parent}, which {version.judge} goes on meaning"
    return f"not tested; {version.ref} names it; --use lets {version.judge} mean it"
