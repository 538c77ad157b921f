"""Whole compilations where there is nothing to learn: how often do they end in "better"?

Labels of the bundled house-rule are replaced by random ones, each row's on its own or (clustered) most of a group's
alike. Each compilation is another draw, split, search and sealed test, with a ledger of openings of its own.

Run: python benchmarks/null.py --compilations 101
"""

import argparse
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import jurist
from jurist.engines.meter import Budget

JUDGE = Path(__file__).resolve().parents[1] / "docs" / "may_send.py"
LEANING = 0.85  # of a group's rows, the share that has the group's label


def rows_of(gold: jurist.Gold, clustered: bool, seed: int) -> list[dict[str, Any]]:
    """Return the rows with random labels."""
    rng = np.random.default_rng(seed)
    leans = {group: rng.random() < 0.5 for group in sorted({case.group for case in gold.cases})}
    chance = LEANING if clustered else 0.5
    return [
        {
            **case.inputs,
            "group": case.group,
            "verdict": ("send", "hold")[leans[case.group] ^ (rng.random() < chance)],
        }
        for case in gold.cases
    ]


def verdict(rows: list[dict[str, Any]], seed: int, calls: int) -> str:
    """Return what a compilation on these rows decides."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder  # no compilation knows of another one's openings
        made = jurist.compile(
            f"{JUDGE}:judge",
            gold=rows,
            shares=(0.4, 0.2, 0.4),
            seed=seed,
            store=Path(folder) / "store",
            budget=Budget(calls=calls),
        )
    return made.proof.decision.verdict


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compilations", type=int, default=101)
    parser.add_argument("--calls", type=int, default=800, help="a compilation's budget (default: 800)")
    arguments = parser.parse_args()
    gold = jurist.Gold.load("house-rule", jurist.judge(f"{JUDGE}:judge"))
    print("| random labels | compilations | better | worse | not shown to be better |")
    print("|" + "---|" * 5)
    for clustered in (False, True):
        found: Counter[str] = Counter()
        for seed in range(arguments.compilations):
            found[verdict(rows_of(gold, clustered, seed), seed, arguments.calls)] += 1
        counts = " | ".join(str(found[name]) for name in ("better", "worse", "not shown to be better"))
        print(
            f"| {'clustered' if clustered else 'independent'} | {arguments.compilations} | {counts} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
