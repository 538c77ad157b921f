"""``jurist artifacts choose``."""

from collections.abc import Mapping, Sequence

from ..arguments.artifacts import ChooseOptions
from ..jobs.choosing import choose
from ..jobs.estimate import Estimate
from ..report.scores import spend_line
from .approving import agree
from .common import Bar, budget_of, store_of
from .printing import Result, remark
from .proof import kept_line, proof_parts


def run(options: ChooseOptions) -> Result:
    """Prove another candidate, keep it, and print the proof and the artifact's path."""
    with Bar() as bar:

        def begin(words: Sequence[str], estimate: Estimate, rows: int, paid: Mapping[str, int]) -> None:
            for line in words:
                remark(line)
            if any(ask.paid for ask in estimate.asks):
                agree(estimate, paid, yes=options.yes)
            bar.begin("proving", rows)

        chosen = choose(
            options.artifact,
            options.candidate,
            store_of(options),
            gold=options.gold,
            answering=lambda known: known.model(options.api_base, options.timeout),
            budget=budget_of(options),
            concurrency=options.concurrency,
            force=options.force,
            resume=options.resume,
            fresh=options.fresh,
            begin=begin,
            tick=bar.step,
        )
    card = chosen.artifact.card
    return Result(
        data={"artifact": str(chosen.artifact.path), "latest": chosen.latest, **card},
        body=[
            *proof_parts(card, chosen.proof.decision),
            spend_line(card["spend"]),
            kept_line(chosen.artifact, latest=chosen.latest),
        ],
    )
