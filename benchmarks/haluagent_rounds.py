"""HaluAgent's prompt optimisation, round by round, on documents that it never saw (C-FAITH Table 3).

Compiles the generator with the ``cfaith`` rounds on several seeds. The prompts that were best on dev after each round
then write items from the sealed test documents, and the shares that pass each check are printed: means over
seeds with standard deviations. A search that ended earlier keeps its last prompts. Seeds whose split leaves a part
without a document are passed over, and named.

Run: python benchmarks/haluagent_rounds.py --seeds 5
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import mean  # type: ignore[import-not-found]  # beside this file

import jurist
from jurist.errors import GoldError
from jurist.keeping.artifacts import Store
from jurist.keeping.loading import load_judge
from jurist.keeping.paying import Start
from jurist.papers.haluagent.rounds import Round, Rounds, measure_rounds, sealed_documents
from jurist.programs.haluagent.writing import CHECKS

SHARES = (0.5, 0.2, 0.3)
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


def compiled(name: str, source: str, seed: int, calls: int) -> tuple[list[Round], int]:
    """Compile with a seed, and return the lines of Table 3 with the number of sealed passages; keeps nothing."""
    with tempfile.TemporaryDirectory() as folder:
        made = jurist.compile(
            name,
            gold=source,
            optimizer="cfaith",
            seed=seed,
            shares=SHARES,
            store=folder,
            model=MODEL,
            budget=jurist.Budget(calls=calls),
        )
        loaded = load_judge(f"{name}@{made.artifact.version}", store=Store(Path(folder)), model=MODEL)
        work = Rounds(loaded=loaded, cases=sealed_documents(loaded, source))
        found, _ = measure_rounds(work, Start())
        return found, len(work.cases)


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
    rows: list[list[Round]] = [[] for _ in range(ROUNDS + 1)]
    gold = jurist.Gold.load(chosen.gold, jurist.judge(chosen.generator))
    for seed in usable(gold, chosen.seeds):
        found, passages = compiled(chosen.generator, chosen.gold, seed, chosen.calls)
        for number, row in enumerate(rows):
            row.append(found[min(number, len(found) - 1)])
        first, last = found[0].rates["overall"], found[-1].rates["overall"]
        print(f"seed {seed}: {passages} passages, overall {first:.3f} -> {last:.3f}", flush=True)
    names = (*CHECKS, "overall")
    print(f"\n| round | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for number, row in enumerate(rows):
        print(f"| {number} | {' | '.join(mean([one.rates[name] for one in row]) for name in names)} |")


if __name__ == "__main__":
    main()
