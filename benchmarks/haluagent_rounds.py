"""HaluAgent's prompt optimisation, round by round, on documents that it never saw (C-FAITH Table 3).

Compiles the generator with the ``cfaith`` rounds on several seeds. The prompts that were best on dev after each round
then write items from the sealed test documents, and the shares that pass each check are printed: means over
seeds with standard deviations. A search that ended earlier keeps its last prompts. Seeds whose split leaves a part
without a document are passed over, and named.

Run: python benchmarks/haluagent_rounds.py --seeds 5
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace

from common import mean  # type: ignore[import-not-found]  # beside this file

import jurist
from jurist.cases import Case
from jurist.errors import GoldError
from jurist.evaluation.measured import objective_score
from jurist.keeping.artifacts import Store
from jurist.keeping.loading import LoadedJudge, load_judge
from jurist.optimizers.board import Candidate
from jurist.optimizers.objective import row_of
from jurist.papers.haluagent.rounds import rounds_of

SHARES = (0.5, 0.2, 0.3)  # of few documents enough have to be sealed
MODEL = jurist.Model(temperature=0.0)
ROUNDS = 5


def usable(gold: jurist.Gold, count: int) -> Iterator[int]:
    """Yield the first seeds under which every part of the split has a document."""
    seed = 0
    while count:
        try:
            gold.split(seed, SHARES)
        except GoldError as error:
            print(f"seed {seed} is passed over: {error}", flush=True)
        else:
            count -= 1
            yield seed
        seed += 1


def best_after(made: jurist.Compiled, dev: Sequence[Case]) -> list[Candidate]:
    """Return the candidate that was best on dev after each round, the basic prompts first."""
    board = made.result.board
    found: list[Candidate] = []
    for one in rounds_of(board, dev):
        candidate = board.candidates[one.candidate]
        better = not found or board.value(candidate, dev) > board.value(found[-1], dev)
        found.append(candidate if better else found[-1])
    return found


def measured(loaded: LoadedJudge, candidate: Candidate, cases: Sequence[Case]) -> dict[str, float]:
    """Return every metric of what a candidate's prompts write from cases."""
    judge = loaded.judge
    asker = replace(loaded.asker(), program=candidate.state.apply(judge.basic()))
    rows = [row_of(case, said) for case, said in zip(cases, asker.ask_all(cases), strict=True)]
    return {name: objective_score(rows, name, judge.comparison) for name in judge.comparison.metrics}


def rates(name: str, gold: jurist.Gold, seed: int, calls: int) -> tuple[list[dict[str, float]], int, int]:
    """Compile with a seed; return the sealed rates after each round, the sealed passages, and the calls spent."""
    split = gold.split(seed, SHARES)
    with tempfile.TemporaryDirectory() as folder:
        made = jurist.compile(
            name, gold=gold, optimizer="cfaith", seed=seed, shares=SHARES, store=folder, model=MODEL,
            budget=jurist.Budget(calls=calls),
        )  # fmt: skip
        loaded = load_judge(f"{name}:basic", store=Store(folder), model=MODEL)
        known: dict[str, dict[str, float]] = {}
        for one in (found := best_after(made, split.dev)):
            known[one.id] = known.get(one.id) or measured(loaded, one, split.test)
        return [known[one.id] for one in found], len(split.test), made.artifact.card["spend"]["calls"]


def main() -> None:
    """Print a line for each seed, and a row for each round."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--calls", type=int, default=12000)
    options.add_argument("--generator", default="haluagent")
    options.add_argument("--gold", default="haluagent-docs")
    chosen = options.parse_args()
    rows: list[list[dict[str, float]]] = [[] for _ in range(ROUNDS + 1)]
    gold = jurist.Gold.load(chosen.gold, jurist.judge(chosen.generator))
    for seed in usable(gold, chosen.seeds):
        found, passages, calls = rates(chosen.generator, gold, seed, chosen.calls)
        for number, row in enumerate(rows):
            row.append(found[min(number, len(found) - 1)])
        values = " -> ".join(f"{one['validation_rate']:.3f}" for one in found)
        print(f"seed {seed}: {passages} sealed passages, overall {values}; {calls} calls", flush=True)
    names = list(rows[0][0])
    print(f"\n| round | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for number, row in enumerate(rows):
        print(f"| {number} | {' | '.join(mean([one[name] for one in row]) for name in names)} |")


if __name__ == "__main__":
    main()
