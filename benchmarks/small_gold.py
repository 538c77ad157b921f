"""The share of real gains that little gold shows: whole default compilations on some groups of the bundled house-rule.

Each run draws so many of its 40 groups, splits and searches them by default, and proves on the sealed part. "Better"
needs both: better than the basic prompt, and better than the best constant answer. The true score and the true gain
over the basic prompt are measured on the groups that were not drawn. ``--ceiling`` measures all candidates of a search
there, and adds the mean true score of the best one: no other choice among them can have more.

Run: python benchmarks/small_gold.py --runs 30
"""

import argparse
import os
import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import jurist
from jurist.cases import Case
from jurist.engines.meter import Budget
from jurist.optimizers.board import Board

JUDGE = Path(__file__).resolve().parents[1] / "docs" / "may_send.py"


@dataclass(frozen=True)
class Run:
    """The outcome of one compilation: the decision, and the score on groups that it never saw."""

    is_better: bool
    over_basic: bool
    over_constant: bool
    score: float  # of the version on those groups
    gain: float  # of the version over the basic prompt there
    ceiling: (
        float | None
    )  # the score of the search's best candidate there; ``None`` where it was not asked for


def compiled(
    seed: int,
    groups: int,
    gold: str,
    metric: str,
    calls: int,
    shares: tuple[float, float, float] | None,
    ceiling: bool,
) -> Run:
    """Compile on so many groups, drawn by the seed."""
    judge = jurist.judge(f"{JUDGE}:judge").with_metric(metric)
    whole = jurist.Gold.load(gold, judge)
    names = sorted({case.group for case in whole.cases})
    drawn = set(np.random.default_rng(seed).permutation(names)[:groups].tolist())
    some, rest = (
        replace(whole, cases=tuple(case for case in whole.cases if (case.group in drawn) is inside))
        for inside in (True, False)
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder  # no compilation knows of another one's openings
        made = jurist.compile(
            judge,
            gold=some,
            seed=seed,
            store=Path(folder) / "store",
            budget=Budget(calls=calls),
            shares=shares,
        )
        basic = jurist.load(judge, version="basic", store=Path(folder) / "store")
        scores = [jurist.evaluate(one, rest)[metric].value for one in (basic, made.judge)]
        best_score = None
        if ceiling and made.search is not None:
            best_score = best_candidate_score(made.search.board, rest.cases)
    constant = made.proof.decision.constant if made.proof else None
    return Run(
        is_better=made.verdict == "better",
        over_basic=made.better_than_basic,
        over_constant=constant is not None and constant.direction == "better",
        score=scores[1],
        gain=scores[1] - scores[0],
        ceiling=best_score,
    )


def best_candidate_score(board: Board, cases: Sequence[Case]) -> float:
    """Return the metric of the candidate that is best on some cases, which are asked of all candidates."""
    scores: list[float] = []
    for candidate in list(board.candidates.values()):
        scores.append(board.objective.aggregate(board.score(candidate, cases)))
    return max(scores)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=30, help="compilations for each number of groups")
    parser.add_argument("--groups", type=int, nargs="+", default=[20, 25, 30])
    parser.add_argument("--gold", default="house-rule")
    parser.add_argument("--metric", default="balanced_accuracy")
    parser.add_argument("--calls", type=int, default=2000, help="a compilation's budget (default: 2000)")
    parser.add_argument(
        "--shares", type=float, nargs=3, help="of train, dev and test (default: those of jurist)"
    )
    parser.add_argument(
        "--ceiling", action="store_true", help="also measure all candidates; takes --calls of about 10000"
    )
    arguments = parser.parse_args()
    shares = tuple(arguments.shares) if arguments.shares else None
    columns = ["groups", "compilations", "better", "than basic", "than a constant"]
    columns += ["true score, mean", "true gain, mean"]
    if arguments.ceiling:
        columns.append("best candidate, mean")
    print(f"| {' | '.join(columns)} |")
    print("|" + "---|" * len(columns))
    for groups in arguments.groups:
        work = partial(
            compiled,
            groups=groups,
            gold=arguments.gold,
            metric=arguments.metric,
            calls=arguments.calls,
            shares=shares,
            ceiling=arguments.ceiling,
        )
        with ProcessPoolExecutor(2) as pool:
            found = list(pool.map(work, range(arguments.runs)))
        counts = [
            sum(run.is_better for run in found),
            sum(run.over_basic for run in found),
            sum(run.over_constant for run in found),
        ]
        score = statistics.fmean(run.score for run in found)
        gain = statistics.fmean(run.gain for run in found)
        cells = [str(groups), str(len(found)), *map(str, counts), f"{score:.3f}", f"{gain:+.3f}"]
        if arguments.ceiling:
            cells.append(f"{statistics.fmean(run.ceiling or 0.0 for run in found):.3f}")
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
