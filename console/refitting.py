"""``jurist artifacts refit``: a version chosen and fitted again on all labelled rows."""

from functools import partial

from ..arguments.artifacts import RefitOptions
from ..engines.meter import Budget
from ..jobs.refitting import refit_version
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
        answering=partial(model_of_card, options, options.api_base),
        budget=Budget.of(options),
        concurrency=options.concurrency,
    )
    card = version.about
    body: list[Part] = [card.refit_words]
    if card.words is not None:
        body.append(card.words.words)
        body.extend(f"warning: {warning}" for warning in card.words.warnings)
    if card.spend is not None and card.spend.total.calls:
        body.append(spend_line(card.spend))
    standing = f"{version.ref} names it; --use lets {version.judge} mean it"
    if version.latest:
        standing = "latest"
    body.append(f"artifact: {version.path} ({standing})")
    command = f"jurist prove {version.ref} --rows new.jsonl{store_option(options)}"
    body.append(f"next: {command} (labels of new rows test it)")
    data = {"artifact": str(version.path), "latest": version.latest, **version.card}
    return Result(data=data, body=body)
