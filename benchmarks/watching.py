"""The coverage and width of the intervals of corrected shares, and the share of drifts that a canary shows.

Groups of one to five units differ in how often something is so and in how often the judge errs. Of a canary every coin
falls one way with the given chance; its probabilities are exact, at any stopping time up to so many rows that changed.

Run: python benchmarks/watching.py --runs 1000
"""

import argparse
from collections import defaultdict

import numpy as np

from jurist.evaluation.intervals import Share
from jurist.evaluation.prevalence import prevalence, tallies
from jurist.runs.canary import Drift

Units = list[tuple[str, bool, bool]]
SPREAD = 12  # of the rates of groups: those of Beta(12 p, 12 (1 - p))
CALIBRATED, REST = 40, 300  # groups of the sealed test, and of the run without labels


def drawn(rng: np.random.Generator, groups: int, share: float, se: float, sp: float) -> Units:
    """Return (group, truth, said) of units."""
    found = []
    for group in range(groups):
        p, hit, spare = (float(rng.beta(mean * SPREAD, (1 - mean) * SPREAD)) for mean in (share, se, sp))
        for _ in range(int(rng.integers(1, 6))):
            truth = bool(rng.random() < p)
            found.append((str(group), truth, bool(rng.random() < (hit if truth else 1 - spare))))
    return found


def row(
    share: float, se: float, sp: float, labelled: int, now: float, runs: int, rng: np.random.Generator
) -> str:
    """Return how often both intervals cover, and how wide they are; ``now`` is the sensitivity in the run."""
    held, wide = np.zeros(2), np.zeros(2)
    for _ in range(runs):
        known, mine = drawn(rng, CALIBRATED, share, se, sp), drawn(rng, labelled, share, now, sp)
        rest = [(f"r{group}", truth, said) for group, truth, said in drawn(rng, REST, share, now, sp)]
        others = tallies((group, said) for group, _, said in rest)
        proof = prevalence(
            others | tallies((group, said) for group, _, said in mine),
            tallies((group, said) for group, truth, said in known if truth),
            tallies((group, not said) for group, truth, said in known if not truth),
        )
        people = Share.over((group, float(truth), 1.0) for group, truth, _ in mine)
        for place, one in enumerate((proof, people)):
            if one.low is None or one.high is None:  # it says nothing, so nothing wrong
                held[place] += 1
            else:
                held[place] += one.low <= share <= one.high
                wide[place] += one.high - one.low
    cells = [f"{covers:.3f} ({width:.3f})" for covers, width in zip(held / runs, wide / runs, strict=True)]
    return f"| {share} | {se} | {sp} | {now} | {labelled} | {' | '.join(cells)} |"


def shown_within(rows: int, chance: float) -> float:
    """Return the probability that drift is shown after any of so many rows that changed, each worse so often."""
    left, shown = {Drift(): 1.0}, 0.0
    for _ in range(rows):
        after: dict[Drift, float] = defaultdict(float)
        for now, probability in left.items():
            for side, share in ((-1, chance), (1, 1 - chance)):
                after[now.with_row(is_changed=True, right_change=side, found_change=0)] += probability * share
        shown += sum(probability for one, probability in after.items() if one.shown)
        left = {one: probability for one, probability in after.items() if not one.shown}
    return shown


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    rng = np.random.default_rng(11)
    print(
        "| share | sensitivity | specificity | in the run | labelled groups | proof | labelled rows alone |"
    )
    print("|" + "---|" * 7)
    for setting in ((0.3, 0.85, 0.85), (0.1, 0.9, 0.95), (0.5, 0.7, 0.7)):
        for labelled in (20, 60):
            print(row(*setting, labelled, setting[1], runs, rng), flush=True)
    print(row(0.3, 0.85, 0.85, 60, 0.6, runs, rng))  # the judge misses more than it did on the sealed test
    print(
        "\n| rows that changed | "
        + " | ".join(f"worse in {chance}" for chance in (0.5, 0.7, 0.9, 1.0))
        + " |"
    )
    print("|" + "---|" * 5)
    for rows in (10, 20, 40, 100):
        print(
            f"| {rows} | " + " | ".join(f"{shown_within(rows, c):.3f}" for c in (0.5, 0.7, 0.9, 1.0)) + " |"
        )


if __name__ == "__main__":
    main()
