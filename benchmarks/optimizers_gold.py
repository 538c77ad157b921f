"""Every optimizer on public gold at an equal budget, offline engine: the sealed test against the basic prompt's.

    python benchmarks/optimizers_gold.py --gold DIR/cognibench --optimizers race         # nine seeds
    python benchmarks/optimizers_gold.py --gold DIR/fect --judge fect --optimizers race opro gepa
    python benchmarks/optimizers_gold.py --gold DIR/wice/lenient.jsonl \
        --judge DIR/wice/lenient.py:judge --calls 2000

Each seed is another split by group, another search and another sealed test. The budget is of judge and
proposer calls together, the test not included. Each finished run is one line of ``--out``, and one that is there is
not made again. The table has the metric on test, means (standard deviations) over seeds; what was gained over the
basic prompt there, and what the search itself took the gain to be; and the paired difference to the first optimizer
with its standard error. Tests of different seeds share cases, so that this error is too small. The public files are not
part of this project.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Budget, Meter
from jurist.engines.models import Model, connect
from jurist.evaluation.measured import objective_score
from jurist.gold.goldset import Gold
from jurist.gold.splits import Split
from jurist.keeping.artifacts import Store
from jurist.keeping.naming import find_judge
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.board import Candidate
from jurist.optimizers.objective import row_of
from jurist.optimizers.registry import OPTIMIZERS, make
from jurist.optimizers.thresholds import with_fitted_rules
from jurist.programs.judge import Judge

MODEL = Model(temperature=0.0)
_LONG = {"steps": 999, "patience": 999}
LONG: Mapping[str, Mapping[str, Any]] = {  # the budget shall end it, not its patience
    **dict.fromkeys(("race", "opro", "fewshot"), _LONG),
}
LESS = 0.01  # a test that is lower by more counts as worse


def run(name: str, judge: Judge, split: Split, seed: int, calls: int) -> dict[str, Any]:
    """Run one optimizer on one split; return its line."""
    context = CallContext(ledger=Ledger(), meter=Meter(Budget(calls=calls)), journal=Journal())
    job = _job(judge, split, context, seed)
    result = with_fitted_rules(job, optimize(make(name, LONG.get(name, {})), job))
    board, best = result.board, result.best
    stands = board.standings(best)
    return {
        "optimizer": name,
        "judge": judge.name,
        "seed": seed,
        "budget": calls,
        "calls": context.meter.calls,
        "tokens": context.meter.tokens,
        "candidates": len(board.candidates),
        "chosen": best.source,
        "estimated": stands[best.id].gain(stands[board.basic.id]),
        "basic": _tested(job, split, board.basic),
        "value": _tested(job, split, best),
    }


def _job(judge: Judge, split: Split, context: CallContext, seed: int) -> Job:
    return Job(
        judge=judge,
        train=split.train,
        dev=split.dev,
        judge_lm=connect(MODEL, context, "judge"),
        proposer_lm=connect(MODEL, context, "proposer"),
        context=context,
        seed=seed,
    )


def _tested(job: Job, split: Split, candidate: Candidate) -> float:
    """Return the metric of a prompt on the sealed test, asked outside the budget."""
    free = _job(job.judge, split, CallContext.fresh(), job.seed)
    verdicts = free.asker(candidate.state.apply(job.judge.basic()), candidate.setting).ask_all(split.test)
    rows = [row_of(case, verdict) for case, verdict in zip(split.test, verdicts, strict=True)]
    return objective_score(rows, job.judge.metric, job.judge.comparison)


def table(judge: Judge, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the Markdown table."""
    names = list(dict.fromkeys(row["optimizer"] for row in rows))
    first = {row["seed"]: row["value"] for row in rows if row["optimizer"] == names[0]}
    head = ["optimizer", "seeds", f"basic {judge.metric}", "chosen", "gain", "least gain", "estimated gain"]
    head += [f"better / same / worse by more than {LESS}", f"less {names[0]}", "calls", "tokens"]
    lines = [" | ".join(head), " | ".join(["---"] * len(head))]
    for name in names:
        own = [row for row in rows if row["optimizer"] == name]
        gains = [row["value"] - row["basic"] for row in own]
        better, worse = (sum(sign * gain > LESS for gain in gains) for sign in (1, -1))
        cells = [name, str(len(own)), *(_mean([row[key] for row in own]) for key in ("basic", "value"))]
        cells += [f"{one:+.3f}" for one in (statistics.mean(gains), min(gains))]
        cells += [f"{statistics.mean(row['estimated'] for row in own):+.3f}"]
        cells += [f"{better} / {len(own) - better - worse} / {worse}"]
        cells += [_difference([row["value"] - first[row["seed"]] for row in own]) if name != names[0] else ""]
        cells += [f"{statistics.mean(row['calls'] for row in own):.0f}"]
        cells += [f"{statistics.mean(row['tokens'] for row in own) / 1000:.0f}k"]
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def _mean(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.3f} ({_spread(values):.3f})"


def _difference(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):+.3f} ({_spread(values) / math.sqrt(len(values)):.3f})"


def _spread(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def main() -> int:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gold", required=True, help="the folder of the public files, a file, or a name")
    parser.add_argument("--judge", default="cognibench", help="a name, or FILE.py:judge")
    parser.add_argument("--optimizers", nargs="+", default=[*OPTIMIZERS])
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--calls", type=int, default=800)
    parser.add_argument("--out", type=Path, default=Path("benchmark-optimizers-gold.jsonl"))
    arguments = parser.parse_args()
    judge = find_judge(arguments.judge, Store(Path("compiled")))
    gold = Gold.load(arguments.gold, judge)
    done = {_key(row): row for row in _lines(arguments.out)}
    wanted = [
        (name, judge.name, seed, arguments.calls)
        for seed in range(arguments.first, arguments.first + arguments.seeds)
        for name in arguments.optimizers
    ]
    with arguments.out.open("a", encoding="utf-8") as out:
        for one in wanted:
            if one not in done:
                name, _, seed, calls = one
                done[one] = run(name, judge, gold.split(seed), seed, calls)
                out.write(json.dumps(done[one]) + "\n")
                out.flush()
                basic, value = done[one]["basic"], done[one]["value"]
                print(f"{name}, {judge.name}, seed {seed}: {basic:.3f} -> {value:.3f}", file=sys.stderr)
    print(table(judge, [done[one] for one in wanted]))
    return 0


def _key(row: Mapping[str, Any]) -> tuple[str, str, int, int]:
    return row["optimizer"], row["judge"], row["seed"], row["budget"]


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # torn by a kill: that run is made again
    return found


if __name__ == "__main__":
    sys.exit(main())
