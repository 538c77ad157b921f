"""Every optimizer on the public gold at an equal budget, offline engine: sealed test against calls, paired.

    python benchmarks/optimizers_gold.py --gold ../shared/data/cognibench           # nine seeds, 800 calls each
    python benchmarks/optimizers_gold.py --gold ../shared/data/fect --judge fect --optimizers opro gepa mipro

Each seed is another split by conversation, another search and another sealed test. The budget is of judge and
proposer calls together, the test not included. Of each run a line of ``--out`` keeps the labels on test of
the prompt that was chosen, and the metric on test of each prompt that would have been chosen before; a run
that is there is not made again.

The paired test is the one of every proof, here of each optimizer against ``opro`` on the same test units:
exact McNemar, p after Holm over all comparisons of the table (optimizers x seeds). Tests of different seeds
share cases, so that they are not pooled. The public files are not part of this project.
"""

from __future__ import annotations

import argparse
import json
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
from jurist.evaluation.paired import holm
from jurist.evaluation.proof import Proof, prove
from jurist.evaluation.rows import Row
from jurist.gold.goldset import Gold
from jurist.gold.splits import Split
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.objective import Objective, Outcome, row_of
from jurist.optimizers.registry import OPTIMIZERS, make
from jurist.programs.catalogue import find
from jurist.programs.judge import Judge

MODEL = Model(temperature=0.0)
FIRST = "opro"
LONG: Mapping[str, Mapping[str, Any]] = {
    "opro": {"steps": 999, "patience": 999},
    "opro-paper": {"steps": 999},
}
EVERY = 20  # answers after which the choice is looked at again


def run(name: str, judge: Judge, split: Split, seed: int, calls: int) -> dict[str, Any]:
    """Run one optimizer on one split; return its line."""
    context = CallContext(ledger=Ledger(), meter=Meter(Budget(calls=calls)), journal=Journal())
    job = _job(judge, split, context, seed)
    chosen: list[tuple[int, Candidate]] = []
    original, recorded = Board.record, 0

    def record(board: Board, *way: Any) -> Outcome:
        nonlocal recorded
        outcome, recorded = original(board, *way), recorded + 1
        if recorded % EVERY == 0:
            _look(board, job, chosen)
        return outcome

    Board.record = record  # type: ignore[method-assign, assignment]
    try:
        result = optimize(make(name, LONG.get(name, {})), job)
    finally:
        Board.record = original  # type: ignore[method-assign]
    _look(result.board, job, chosen)
    tested = {one.id: _tested(job, split, one) for _, one in chosen}
    spend = context.ledger.to_json()
    return {
        "optimizer": name,
        "judge": judge.name,
        "seed": seed,
        "budget": calls,
        "ending": result.ending,
        "judge_calls": int(spend["judge"]["calls"]),
        "proposer_calls": int(spend.get("proposer", {}).get("calls", 0)),
        "tokens": context.meter.tokens,
        "candidates": len(result.board.candidates),
        "points": [(at, _value(judge, tested[one.id])) for at, one in chosen],
        "basic": _value(judge, _tested(job, split, result.board.basic)),
        "test": [[row.id, row.group, list(row.gold), list(row.predicted)] for row in tested[result.best.id]],
    }


def _look(board: Board, job: Job, chosen: list[tuple[int, Candidate]]) -> None:
    best = board.best(job.dev)
    if best is not None and (not chosen or chosen[-1][1].id != best.id):
        chosen.append((job.context.meter.calls, best))


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


def _tested(job: Job, split: Split, candidate: Candidate) -> list[Row]:
    """Ask a prompt on the sealed test, outside the budget."""
    free = _job(job.judge, split, CallContext(ledger=Ledger(), meter=Meter(), journal=Journal()), job.seed)
    verdicts = free.asker(candidate.state.apply(job.judge.basic())).ask_all(split.test)
    return [row_of(case, verdict) for case, verdict in zip(split.test, verdicts, strict=True)]


def _value(judge: Judge, rows: Sequence[Row]) -> float:
    outcomes = [Outcome(row=row, score=0.0, feedback="") for row in rows]
    return Objective(judge=judge).aggregate(outcomes)


def proofs(judge: Judge, rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], Proof]:
    """Return the paired comparison of each optimizer with the first one, by optimizer and seed."""
    first = {row["seed"]: _rows(row) for row in rows if row["optimizer"] == FIRST}
    return {
        (row["optimizer"], row["seed"]): prove(
            first[row["seed"]], _rows(row), judge.metric, judge.comparison, seed=row["seed"]
        )
        for row in rows
        if row["optimizer"] != FIRST and row["seed"] in first
    }


def _rows(row: Mapping[str, Any]) -> list[Row]:
    return [
        Row(id=id_, group=group, gold=tuple(gold), predicted=tuple(predicted), failed=False)
        for id_, group, gold, predicted in row["test"]
    ]


def table(judge: Judge, rows: Sequence[Mapping[str, Any]], calls: int) -> str:
    """Return the Markdown table."""
    compared = proofs(judge, rows)
    adjusted = holm({f"{name}/{seed}": proof.decision.p for (name, seed), proof in compared.items()})
    at = [calls // 4, calls // 2, calls]
    head = [
        "optimizer",
        "seeds",
        *(f"test {judge.metric} at {one}" for one in at),
        "judge + proposer calls",
        "tokens",
    ]
    head += [
        f"higher / lower than {FIRST}",
        "better / worse (p < 0.05)",
        "after Holm",
        "least p where better",
    ]
    lines = [" | ".join(head), " | ".join(["---"] * len(head))]
    for name in dict.fromkeys(row["optimizer"] for row in rows):
        own = [row for row in rows if row["optimizer"] == name]
        scores = [[_at(row, one) for row in own] for one in at]
        cells = [name, str(len(own)), *(f"{statistics.mean(s):.3f} ({_spread(s):.3f})" for s in scores)]
        means = [
            statistics.mean(row[key] for row in own) for key in ("judge_calls", "proposer_calls", "tokens")
        ]
        cells += [f"{means[0]:.0f} + {means[1]:.0f}", f"{means[2] / 1000:.0f}k"]
        found = {seed: proof.decision for (other, seed), proof in compared.items() if other == name}
        cells += _against(name, found, adjusted) if found else ["", "", "", ""]
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def _against(name: str, found: Mapping[int, Any], adjusted: Mapping[str, float]) -> list[str]:
    more = [one for one in found.values() if one.difference > 0]
    less = [one for one in found.values() if one.difference < 0]
    sure = [one for one in found.values() if one.mcnemar.p < 0.05]
    held = [found[seed] for seed in found if adjusted[f"{name}/{seed}"] < 0.05]
    better = [one.mcnemar.p for one in found.values() if one.mcnemar.c > one.mcnemar.b]
    return [
        f"{len(more)} / {len(less)}",
        *(f"{_count(part, 1)} / {_count(part, -1)}" for part in (sure, held)),
        f"{min(better):.3f}" if better else "",
    ]


def _count(decisions: Sequence[Any], sign: int) -> int:
    return sum((one.mcnemar.c - one.mcnemar.b) * sign > 0 for one in decisions)


def _at(row: Mapping[str, Any], calls: int) -> float:
    return float(next((value for at, value in reversed(row["points"]) if at <= calls), row["basic"]))


def _spread(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def main() -> int:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gold", type=Path, required=True, help="the folder of the public files")
    parser.add_argument("--judge", default="cognibench")
    parser.add_argument("--optimizers", nargs="+", default=[*OPTIMIZERS])
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=800)
    parser.add_argument("--out", type=Path, default=Path("benchmark-optimizers-gold.jsonl"))
    arguments = parser.parse_args()
    judge = find(arguments.judge)
    gold = Gold.load(arguments.gold, judge)
    done = {_key(row): row for row in _lines(arguments.out)}
    wanted = [
        (name, judge.name, seed, arguments.calls)
        for seed in range(arguments.seeds)
        for name in arguments.optimizers
    ]
    with arguments.out.open("a", encoding="utf-8") as out:
        for one in wanted:
            if one not in done:
                name, _, seed, calls = one
                done[one] = run(name, judge, gold.split(seed), seed, calls)
                out.write(json.dumps(done[one]) + "\n")
                out.flush()
                last = done[one]["points"][-1][1]
                print(f"{name}, seed {seed}: {done[one]['basic']:.3f} -> {last:.3f}", file=sys.stderr)
    print(table(judge, [done[one] for one in wanted], arguments.calls))
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
