"""Held-out score against calls for every optimizer, in families of simulated worlds.

    python benchmarks/optimizers.py                   # every optimizer, 9 unseen worlds with strong effects
    python benchmarks/optimizers.py --optimizers race gepa --families strong weak null --seeds 18
    python benchmarks/optimizers.py --optimizers race opro --seeds 3 --calls 300 1000 --out runs.jsonl

Settings of the optimizers were chosen on worlds with even seeds; these are the odd ones from 201. A family is a
kind of world: strong or weak effects, criteria that make each other superfluous, few positives and F1, 40 labels, wrong
labels, a poor proposer, rewrites that harm, demonstrations that help, and the null, in which nothing helps.
Each finished run is one line of ``--out``, and a run that is there is not made again, so
that an interrupted benchmark goes on where it was. Reported is what a user would get of a budget of so many calls:
the exact expected value, on unseen items, of the prompt that is chosen in the end. Levels are counted in the run of the
largest budget, by what the board would choose if it ended at that moment; one is *kept* from the call on after
which the choice never falls below it again. The last table has the paired differences to the first optimizer, with
standard errors over worlds.
"""

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small, and the processes several

from simulator import JUDGE, World, WorldJob, connected  # type: ignore[import-not-found]  # beside this file

from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Budget, Meter
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.objective import Outcome
from jurist.optimizers.registry import OPTIMIZERS, make

LEVELS = (0.85, 0.90, 0.93, 0.95)
AT = (300, 1000, 2000, 4000)
TOKENS = (50_000, 150_000, 300_000, 600_000)
LOOKS = 100  # times that the choice is looked at in a run
LONG: Mapping[str, Mapping[str, Any]] = {  # the budget shall end it, not its patience
    **{name: {"steps": 10**6, "patience": 10**6} for name in ("race", "opro", "fewshot")},
    "contrastive": {"draws": 6},
}
DSPY = ("bootstrap", "copro", "mipro", "gepa", "simba", "infer-rules")  # these need real requests
FIRST = 201


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of world: what differs from the usual one, the metric, and the labels."""

    world: Mapping[str, float] = field(default_factory=dict)
    metric: str = "accuracy"
    train: int = 200
    dev: int = 60


FAMILIES: Mapping[str, Family] = {
    "strong": Family(),
    "weak": Family(world={"scale": 0.4}),
    "clash": Family(world={"clash": 0.9}),
    "imbalance": Family(world={"positive": 0.1, "lean": 0.6}, metric="f1"),
    "forty": Family(train=28, dev=12),
    "wrong": Family(world={"wrong": 0.1}),
    "poor": Family(world={"noticing": 0.1, "learning": 0.0}),
    "harm": Family(world={"harm": 0.6}),
    "demos": Family(world={"scale": 0.4, "demos": 0.5}),
    "null": Family(world={"scale": 0.0, "wording": 0.0, "demos": 0.0}),
}


@dataclass(kw_only=True)
class Watched:
    """Watches a board: after every few answers, which prompt it would choose."""

    world: World
    metric: str
    context: CallContext
    # judge calls, proposer calls, the value of the choice, tokens of both
    points: list[tuple[int, int, float, int]] = field(default_factory=list)
    known: dict[str, float] = field(default_factory=dict)

    def note(self, board: Board, job: Job) -> None:
        """Add a point if the choice changed."""
        best = board.best(job.dev)
        if best is None:
            return
        value = self._value(best)
        if not self.points or self.points[-1][2] != value:
            spends = self.context.ledger.to_json()
            proposed = int(spends.get("proposer", {}).get("calls", 0))
            meter = self.context.meter
            self.points.append((meter.calls - proposed, proposed, value, meter.tokens))

    def _value(self, candidate: Candidate) -> float:
        if candidate.id not in self.known:
            prompt = next(iter(candidate.state.predictors.values()))
            exact = self.world.f1 if self.metric == "f1" else self.world.accuracy
            self.known[candidate.id] = exact(prompt.instructions, len(prompt.demos))
        return self.known[candidate.id]


def run(name: str, family: str, seed: int, calls: int) -> dict[str, Any]:
    """Run one optimizer in one world; return the JSON line of the run."""
    kind = FAMILIES[family]
    world = World(seed=seed, **kind.world)
    context = CallContext(ledger=Ledger(), meter=Meter(Budget(calls=calls)), journal=Journal())
    watched = Watched(world=world, metric=kind.metric, context=context)
    original, recorded, every = Board.record, 0, max(1, calls // LOOKS)

    def record(board: Board, *way: Any) -> Outcome:
        nonlocal recorded
        outcome = original(board, *way)
        recorded += 1
        if recorded % every == 0:
            watched.note(board, job)
        return outcome

    settings: dict[str, Any] = {
        "judge": JUDGE.with_metric(kind.metric),
        "train": world.cases(kind.train, "train"),
        "dev": world.cases(kind.dev, "dev"),
        "judge_lm": connected(world, context, "judge"),
        "proposer_lm": connected(world, context, "proposer"),
        "context": context,
        "seed": seed,
    }
    job = Job(**settings) if name in DSPY else WorldJob(world=world, **settings)
    Board.record = record  # type: ignore[method-assign, assignment]
    try:
        result = optimize(make(name, LONG.get(name, {})), job)
    finally:
        Board.record = original  # type: ignore[method-assign]
    watched.note(result.board, job)
    spend = context.ledger.to_json()
    return {
        "optimizer": name,
        "family": family,
        "seed": seed,
        "budget": calls,
        "ending": result.ending,
        "judge_calls": int(spend["judge"]["calls"]),
        "proposer_calls": int(spend.get("proposer", {}).get("calls", 0)),
        "tokens": context.meter.tokens,
        "candidates": len(result.board.candidates),
        "ideal": world.accuracy(world.ideal()),
        "value": watched.points[-1][2],
        "points": watched.points,
    }


def main() -> int:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--optimizers", nargs="+", default=[*OPTIMIZERS], choices=[*OPTIMIZERS])
    parser.add_argument("--families", nargs="+", default=["strong"], choices=[*FAMILIES])
    parser.add_argument("--first", type=int, default=FIRST, help="the first world, an odd number")
    parser.add_argument("--seeds", type=int, default=9, help="number of unseen worlds of each family")
    parser.add_argument(
        "--calls", nargs="+", type=int, default=[*AT], help="budgets, judge and proposer together"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmark-optimizers.jsonl"))
    arguments = parser.parse_args()
    wanted = [
        (name, family, seed, calls)
        for family in arguments.families
        for seed in range(arguments.first, arguments.first + 2 * arguments.seeds, 2)
        for name in arguments.optimizers
        for calls in sorted(arguments.calls)
    ]
    done = {_key(row): row for row in _rows(arguments.out)}
    missing = [one for one in wanted if one not in done]
    with ProcessPoolExecutor(arguments.processes) as pool, arguments.out.open("a", encoding="utf-8") as out:
        for future in as_completed([pool.submit(run, *one) for one in missing]):
            row = future.result()
            done[_key(row)] = row
            out.write(json.dumps(row) + "\n")
            out.flush()
            where = f"{row['family']} world {row['seed']} with {row['budget']}"
            print(f"{row['optimizer']} in {where}: {row['value']:.3f}", file=sys.stderr)
    for family in arguments.families:
        rows = [done[one] for one in wanted if one[1] == family]
        print(f"{family}\n\n{table(rows)}\n\n{differences(rows)}\n\n{by_tokens(rows)}\n")
    if len(arguments.families) > 1:
        rows = [done[one] for one in wanted]
        print(f"all\n\n{differences(rows)}\n\n{by_tokens(rows)}")
    return 0


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the Markdown table: medians over the worlds."""
    names, budgets = _distinct(rows, "optimizer"), _distinct(rows, "budget")
    head = ["optimizer", *(f"{level:.0%} kept / touched" for level in LEVELS)]
    head += [*(f"at {calls}" for calls in budgets), "judge + proposer calls", "tokens"]
    lines = [" | ".join(head), " | ".join(["---"] * len(head))]
    for name in names:
        own = {calls: _having(rows, optimizer=name, budget=calls) for calls in budgets}
        last = own[budgets[-1]]
        cells = [name, *(_reached(last, level) for level in LEVELS)]
        cells += [_score([row["value"] for row in own[calls]]) for calls in budgets]
        middle = [statistics.median(row[key] for row in last) for key in ("judge_calls", "proposer_calls")]
        cells += [" + ".join(f"{one:.0f}" for one in middle)]
        cells += [f"{statistics.median(row['tokens'] for row in last) / 1000:.0f}k"]
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def differences(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the Markdown table of paired differences to the first optimizer at equal calls."""
    budgets = _distinct(rows, "budget")
    values = {(*_world(row), row["budget"]): 100 * row["value"] for row in rows}
    return _less(_distinct(rows, "optimizer"), [(f"at {calls}", calls) for calls in budgets], values)


def by_tokens(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the same at equal tokens: what each would have chosen by then in its run of the largest budget."""
    longest = max(row["budget"] for row in rows)
    values = {}
    for row in _having(rows, budget=longest):
        for tokens in TOKENS:
            known = [value for _, _, value, taken in row["points"] if taken <= tokens]
            values[*_world(row), tokens] = 100 * (known[-1] if known else row["points"][0][2])
    return _less(
        _distinct(rows, "optimizer"), [(f"at {tokens // 1000}k tokens", tokens) for tokens in TOKENS], values
    )


def _world(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["optimizer"], row["family"], row["seed"]


def _less(
    names: Sequence[str], columns: Sequence[tuple[str, int]], values: Mapping[tuple[Any, ...], float]
) -> str:
    """Return the Markdown table of paired differences to the first name, in points, with standard errors."""
    lines = [
        " | ".join([f"less {names[0]}", *(title for title, _ in columns)]),
        " | ".join(["---"] * (len(columns) + 1)),
    ]
    for name in names[1:]:
        cells = [name]
        for _, at in columns:
            worlds = [key[1:3] for key in values if key[0] == name and key[3] == at]
            found = [values[name, *world, at] - values[names[0], *world, at] for world in worlds]
            error = statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else math.nan
            cells.append(f"{statistics.mean(found):+.1f} ({error:.1f})")
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def _distinct(rows: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    return list(dict.fromkeys(row[key] for row in rows))


def _having(rows: Sequence[Mapping[str, Any]], **wanted: Any) -> list[Mapping[str, Any]]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def kept(points: Sequence[Sequence[float]], level: float) -> float:
    """Return the judge calls from which the chosen prompt stays as good as ``level``; infinity if it does not."""
    since = math.inf
    for calls, _, value, _ in points:
        since = min(since, calls) if value >= level else math.inf
    return since


def reached(points: Sequence[Sequence[float]], level: float) -> float:
    """Return the judge calls at which the chosen prompt first is as good as ``level``; infinity if never."""
    return next((calls for calls, _, value, _ in points if value >= level), math.inf)


def _reached(rows: Sequence[Mapping[str, Any]], level: float) -> str:
    return " / ".join(_median([way(row["points"], level) for row in rows]) for way in (kept, reached))


def _median(calls: Sequence[float]) -> str:
    middle, often = statistics.median(calls), sum(math.isfinite(one) for one in calls)
    return (f"{middle:.0f}" if math.isfinite(middle) else "never") + f" ({often}/{len(calls)})"


def _score(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{100 * statistics.median(values):.1f} [{100 * low:.0f}-{100 * high:.0f}]"


def _key(row: Mapping[str, Any]) -> tuple[str, str, int, int]:
    return row["optimizer"], row["family"], row["seed"], row["budget"]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue  # torn by a kill: that run is made again


if __name__ == "__main__":
    sys.exit(main())
