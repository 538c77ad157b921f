"""``jurist harden``."""

from collections.abc import Mapping
from typing import Any

from ..arguments.harden import HardenOptions
from ..errors import UsageError, choices
from ..jobs.foresee import foresee
from ..jobs.hardening import Hardening, Robustness
from ..keeping.artifacts import Store
from ..keeping.paying import paying
from ..keeping.sealing import ROBUSTNESS
from ..report.scores import OFFLINE, robustness_about, robustness_table, spend_line
from ..text.attacks import Attack, suite
from .approving import agree
from .common import budget_of, gold_of, loaded_of, progress, start_of, store_of, write_json
from .printing import Part, Result, remark


def run(options: HardenOptions) -> Result:
    """Attack a judge, and keep how often its answer changed."""
    store = store_of(options)
    work = _work(options, store)
    with paying(work, start_of(options, store)) as job:
        agree(foresee(work), job.paid, yes=options.yes, notes=[work.judge.note] if work.judge.note else [])
        with progress(work.rows, "attacking") as step:
            found = work.attack(job, step)
        job.unfinished = any(one.flips.failed for one in found.found)
        spend = job.spend()
        data = {**found.to_json(), "spend": spend}
        write_json(data, options.output)
        _keep(store, work, found)
    return Result(data=data, body=_body(work, found, spend))


def _work(options: HardenOptions, store: Store) -> Hardening:
    loaded = loaded_of(options.judge, options, store)
    return Hardening(
        contenders=(loaded,),
        gold=gold_of(options.gold, loaded.judge, options),
        budget=budget_of(options),
        attacks=_chosen(suite(options.suite), options.only),
        most=options.cases,
        field=options.field,
    )


def _chosen(attacks: tuple[Attack, ...], only: tuple[str, ...]) -> tuple[Attack, ...]:
    known = tuple(dict.fromkeys(one.family for one in attacks))
    for name in only:
        if name not in known:
            raise UsageError(f"no attack or probe is called {name!r}", hint=choices(name, known))
    return tuple(one for one in attacks if not only or one.family in only)


def _keep(store: Store, work: Hardening, found: Robustness) -> None:
    artifact = work.judge.artifact
    if artifact is None:
        remark(f"{found.judge} is no artifact, so that the figures are kept nowhere; --output F writes them")
    elif store.keep_added(artifact, ROBUSTNESS, found.to_json()):
        remark(f"kept beside the card of {artifact.ref}")
    else:
        remark(f"{artifact.ref} came with the package and is read-only; --output F writes the figures")


def _body(work: Hardening, found: Robustness, spend: Mapping[str, Any]) -> list[Part]:
    measured, worst = found.to_json(), found.worst
    finds = next(one.finds for one in work.attacks if one.name == worst.name)
    moved = f"; a judge that it moves {finds}" if worst.flips.flipped and finds else ""
    return [
        robustness_table(measured, f"{found.judge}, {robustness_about(measured)}"),
        f"worst: {worst.words}{moved}; the control, which is no attack: {found.found[0].words}",
        spend_line(spend),
        *([OFFLINE] if found.model == "offline" else []),
    ]
