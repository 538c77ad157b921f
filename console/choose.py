"""``jurist artifacts choose``."""

from ..arguments.artifacts import ChooseOptions
from ..jobs.choosing import Choosing, Opening, choose
from ..report.scores import spend_line
from .approving import agree
from .common import Bar, budget_of, store_of
from .printing import Result, remark
from .proof import kept_line, proof_parts


def run(options: ChooseOptions) -> Result:
    """Prove another candidate, keep it, and print the proof and the artifact's path."""
    with Bar() as bar:

        def begin(opening: Opening) -> None:
            for said in opening.words:
                remark(said)
            if any(part.paid for part in opening.estimate.asks):
                agree(opening.estimate, opening.paid, yes=options.yes)
            bar.begin("proving", len(opening.estimate.asks) * opening.cases)

        work = Choosing(
            ref=options.artifact,
            candidate=options.candidate,
            gold=options.gold,
            api_base=options.api_base,
            timeout=options.timeout,
            budget=budget_of(options),
            concurrency=options.concurrency,
            force=options.force,
            resume=options.resume,
            fresh=options.fresh,
            begin=begin,
            tick=bar.step,
        )
        chosen = choose(work, store_of(options))
    card = chosen.artifact.card
    return Result(
        data={"artifact": str(chosen.artifact.path), "latest": chosen.latest, **card},
        body=[
            *proof_parts(card, chosen.proof.decision),
            spend_line(card["spend"]),
            kept_line(chosen.artifact, latest=chosen.latest),
        ],
    )
