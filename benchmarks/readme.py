"""The README's examples: default compilations on bundled gold, beside the best constant answer.

Run: python benchmarks/readme.py --seeds 5
"""

import argparse
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import jurist
from jurist.engines.meter import Budget

DOCS = Path(__file__).resolve().parents[1] / "docs"
EXAMPLES = {"may_send": "support-desk", "reply_score": "reply-score", "reply_preference": "reply-preference"}


def line(name: str, gold: str, seed: int) -> str:
    """Compile one example by default, and return its line."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder  # no compilation knows of another one's openings
        made = jurist.compile(
            f"{DOCS / name}.py:judge",
            gold=gold,
            seed=seed,
            store=Path(folder) / "store",
            budget=Budget(calls=4000),  # the command's own limit
        )
    if made.proof is None:
        return f"| `{name}` | {made.artifact.about.decision.metric} | {seed} | | | | | {made.verdict} |"
    decision = made.proof.decision
    constant = decision.constant
    assert constant is not None
    values = f"{constant.value_before:.3f} | {decision.value_before:.3f} | {decision.value_after:.3f}"
    odds = f"{decision.p:.2g} | {constant.test.better:.2g}"
    rows = f"{decision.groups}, {decision.counts.cases.labelled}"
    return f"| `{name}` | {decision.metric} | {seed} | {rows} | {values} | {odds} | {decision.verdict} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    print(
        "| judge | metric | seed | groups, cases | constant | basic | compiled | p over basic | p over constant | |"
    )
    print("|" + "---|" * 10)
    with ProcessPoolExecutor(2) as pool:
        for job in [pool.submit(line, *example, seed) for example in EXAMPLES.items() for seed in seeds]:
            print(job.result(), flush=True)


if __name__ == "__main__":
    main()
