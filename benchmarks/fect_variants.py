"""The four prompts of FECT, basic and compiled, on its public gold, over several seeds.

    python benchmarks/fect_variants.py --data DIR   # the FECT files are in DIR/fect; 5 seeds, race
    python benchmarks/fect_variants.py --data DIR --seeds 3 --optimizer fewshot --variants fect fect-3d

F1 of the non-factual class on the sealed test, with 95 % intervals; each seed is
another split by conversation and another search. At the end: how the decisions
fell, and how many answers had units that contradict their label.

The offline engine weighs what an instruction asks for, and does not reason: with
and without reasoning a basic prompt gets the same labels. Compiled, the two differ
only because the reasons it prints are among the errors that the search is shown.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from common import cell, compiled_card, mean, missing, parser  # type: ignore[import-not-found]  # beside this file

VARIANTS = ("fect", "fect-reasoning", "fect-3d", "fect-3d-reasoning")
VERDICTS = ("better", "not shown to be better", "worse")


def main() -> int:
    """Print a table of every seed and one of every variant."""
    options = parser(__doc__)
    options.add_argument("--variants", nargs="+", default=VARIANTS, choices=VARIANTS, metavar="JUDGE")
    arguments = options.parse_args()
    if missing(arguments.data, ["fect"]):
        return 1
    print("| judge | seed | basic F1 [95 %] | compiled F1 [95 %] | corrected / broken | decision |")
    print("|---|---|---|---|---|---|")
    cards = {
        name: [
            _seed(name, arguments.data / "fect", seed, arguments.optimizer) for seed in range(arguments.seeds)
        ]
        for name in arguments.variants
    }
    print(
        f"\n| judge | basic F1, mean (sd) | compiled F1, mean (sd) | {' / '.join(VERDICTS)} | inconsistent |"
    )
    print("|---|---|---|---|---|")
    for name, made in cards.items():
        print(_summary(name, made))
    return 0


def _seed(name: str, gold: Path, seed: int, optimizer: str) -> dict[str, Any]:
    card: dict[str, Any] = compiled_card(name, gold, seed, optimizer)
    scores, decision = card["scores"], card["decision"]
    print(
        f"| {name} | {seed} | {cell(scores['basic']['f1'])} | {cell(scores['compiled']['f1'])} "
        f"| {decision['c']} / {decision['b']} | {decision['verdict']} |",
        flush=True,
    )
    return card


def _summary(name: str, cards: list[dict[str, Any]]) -> str:
    f1 = {side: [card["scores"][side]["f1"]["value"] for card in cards] for side in ("basic", "compiled")}
    verdicts = Counter(card["decision"]["verdict"] for card in cards)
    decided = " / ".join(str(verdicts[verdict]) for verdict in VERDICTS)
    inconsistent = sum(sum(card["inconsistent"].values()) for card in cards)
    return f"| {name} | {mean(f1['basic'])} | {mean(f1['compiled'])} | {decided} | {inconsistent} |"


if __name__ == "__main__":
    sys.exit(main())
