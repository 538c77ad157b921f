"""The decision threshold on the public gold, offline engine: fitted on train alone, chosen or not, on the sealed test.

    python benchmarks/thresholds.py --seeds 5

*Fitted* is the basic prompt under the threshold that is best on train, whether or not it is chosen; *compiled* is
what ``--optimizer threshold`` keeps; *attainable* is the best threshold on the test itself. Wice: the judge and the
gold of that name in the folder. The public files are not part of this project.
"""

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

from common import mean, missing, parser  # type: ignore[import-not-found]  # beside this file

from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.evaluation.measured import objective_score
from jurist.gold.goldset import Gold
from jurist.keeping.artifacts import Store
from jurist.keeping.locating import find_judge
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.objective import row_of
from jurist.optimizers.threshold import Threshold, best_threshold, with_thresholds
from jurist.programs.asking import Asker
from jurist.programs.judge import Judge
from jurist.programs.votes import Sampling

_CUTS = 200


def measured(judge: Judge, gold: Gold, seed: int) -> tuple[float, float, float, float]:
    """Return the metric on test: basic, fitted, compiled, attainable."""
    split, context = gold.split(seed, judge.shares), CallContext.fresh()
    lm = connect(Model(temperature=0.0), context)
    job = Job(
        judge=judge, train=split.train, dev=split.dev, judge_lm=lm, proposer_lm=lm, context=context, seed=seed
    )
    result = with_thresholds(job, optimize(Threshold(), job))
    asker = job.asker(judge.basic())
    verdicts = asker.ask_all(split.test)

    def at(threshold: float | None) -> float:
        again: Asker = dataclasses.replace(asker, sampling=Sampling(threshold=threshold))
        pairs = zip(split.test, verdicts, strict=True)
        rows = [row_of(case, again.revote(case, one) if threshold else one) for case, one in pairs]
        return objective_score(rows, judge.metric, judge.comparison)

    fitted = best_threshold(job, result.board, result.board.basic)
    known = [judge.answer.probability(unit) or 0.0 for one in verdicts for unit in one.probabilities]
    cuts = sorted({round(one, 6) for one in known if 0 < round(one, 6) < 1})
    best = max(map(at, cuts[:: max(1, len(cuts) // _CUTS)]))
    return at(None), at(fitted), at(result.best.setting.threshold), best


def sets(data: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield name, judge and gold."""
    for name in ("fect", "cognibench"):
        yield name, name, data / name
    for name in ("lenient", "strict"):
        yield f"wice, {name}", f"{data / 'wice' / name}.py:judge", data / "wice" / f"{name}.jsonl"


def main() -> int:
    """Print the table."""
    options = parser(__doc__).parse_args()
    if missing(options.data, ("fect", "cognibench", "wice")):
        return 1
    print("| gold | metric | basic | fitted | compiled | attainable |\n|---|---|---|---|---|---|")
    for name, reference, path in sets(options.data):
        judge = find_judge(reference, Store(Path("compiled")))
        gold = Gold.load(str(path), judge)
        found = [measured(judge, gold, seed) for seed in range(options.seeds)]
        print(f"| {name} | {judge.metric} | {' | '.join(map(mean, zip(*found, strict=True)))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
