"""Basic against compiled on real gold, over several seeds: the table in the README.

    python benchmarks/gold.py --data DIR            # 5 seeds, both judges
    python benchmarks/gold.py --data DIR --seeds 3 --optimizer fewshot

Each seed is another split by conversation, another search, and another sealed
test; the scores are of the test only. DIR holds the public CogniBench files in
``cognibench/`` and FECT's in ``fect/``; they are not part of this project.
"""

import sys
from pathlib import Path

from common import cell, compiled_card, mean, missing, parser  # type: ignore[import-not-found]  # beside this file


def main() -> int:
    """Print one table."""
    options = parser(__doc__)
    options.add_argument("--judges", nargs="+", default=["cognibench", "fect"])
    arguments = options.parse_args()
    if missing(arguments.data, arguments.judges):
        return 1
    print("| judge | seed | basic F1 [95 %] | compiled F1 [95 %] | corrected / broken | p | decision |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.judges:
        _judge(name, arguments.data / name, arguments.seeds, arguments.optimizer)
    return 0


def _judge(name: str, gold: Path, seeds: int, optimizer: str) -> None:
    basic, compiled = [], []
    for seed in range(seeds):
        card = compiled_card(name, gold, seed, optimizer)
        scores, decision = card["scores"], card["decision"]
        basic.append(scores["basic"]["f1"]["value"])
        compiled.append(scores["compiled"]["f1"]["value"])
        print(
            f"| {name} | {seed} | {cell(scores['basic']['f1'])} | {cell(scores['compiled']['f1'])} "
            f"| {decision['c']} / {decision['b']} | {decision['p']:.3f} | {decision['verdict']} |",
            flush=True,
        )
    print(f"| {name} | mean (sd) | {mean(basic)} | {mean(compiled)} | | | |")


if __name__ == "__main__":
    sys.exit(main())
