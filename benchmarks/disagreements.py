"""Labels where two prompts differ against labels of a sealed test: power at equal labels, and size.

Simulated: two judges of closed labels differ on a share of units, and the second is right on a share of those; units of
a group have those shares in common more than others (ICC). A sealed test labels all units of some groups and decides by
the one-sided permutation of whole groups; ``prove`` labels as many units on which the two differ, one a group.

Compiled: the bundled house-rule is compiled on some of its groups, and the version is proven on the other ones, whose
gold labels stand for people.

Weighed (``--weighed``): labels count what they are worth in balanced accuracy, by the classes' shares in a sealed test,
with these shares taken as exact, and as they are: an estimate of so many units.

Run: python benchmarks/disagreements.py --runs 2000 --compilations 12
"""

import argparse
import os
import shutil
import tempfile
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import jurist
from jurist.engines.meter import Budget
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.disagreements import LabelledUnit, UnitGains, alike_test, weigh, weigh_estimates
from jurist.evaluation.rows import JudgedRow

JUDGE = Path(__file__).resolve().parents[1] / "docs" / "may_send.py"
LEVEL = 0.025
SWAPS = 400
SHAPES = ((40, 1), (100, 1), (12, 3), (17, 6))
"""Labelled groups of the sealed test, and units of each."""


def drawn(rng: np.random.Generator, groups: int, each: int, differ: float, wins: float, icc: float) -> Any:
    """Return the gain of each unit, 1, 0 or -1: shape (groups, each)."""

    def share(mean: float) -> Any:
        if not icc:
            return np.full((groups, 1), mean)
        return rng.beta(mean * (1 - icc) / icc, (1 - mean) * (1 - icc) / icc, (groups, 1))

    apart = rng.random((groups, each)) < share(differ)
    return apart * np.where(rng.random((groups, each)) < share(wins), 1, -1)


def sealed(rng: np.random.Generator, gains: Any) -> bool:
    """Say whether a test of these units shows the second to be better."""
    sums = gains.sum(axis=1)
    sums = sums[sums != 0]
    if not len(sums):
        return False
    swapped = (rng.integers(0, 2, (SWAPS, len(sums))) * 2 - 1) @ sums
    return bool((1 + (swapped >= sums.sum()).sum()) / (SWAPS + 1) < LEVEL)


def by_labels(rng: np.random.Generator, gains: Any, labels: int) -> bool:
    """Say whether so many labels where the two differ show it: units at random, one a group."""
    places = rng.permutation(np.flatnonzero(gains))
    first = np.unique(places // gains.shape[1], return_index=True)[1]
    chosen = gains.ravel()[places[np.sort(first)[:labels]]]
    wins = int((chosen > 0).sum())
    return alike_test(wins, len(chosen) - wins) < LEVEL


def simulate(runs: int) -> None:
    """Print power and size of both."""
    print(
        "| labels | groups x units | ICC | true gain | sealed test | labels where they differ | a third of them |"
    )
    print("|" + "---|" * 7)
    rng = np.random.default_rng(0)
    for groups, each in SHAPES:
        for icc in (0.0, 0.2):
            for wins, differ in ((0.75, 0.2), (0.5, 0.2), (0.5, 0.6)):
                shown, labels = Counter[str](), groups * each
                for _ in range(runs):
                    test = drawn(rng, groups, each, differ, wins, icc)
                    rows = drawn(rng, 12 * labels // each, each, differ, wins, icc)
                    shown["sealed"] += sealed(rng, test)
                    shown["labels"] += by_labels(rng, rows, labels)
                    shown["third"] += by_labels(rng, rows, labels // 3)
                rates = " | ".join(f"{shown[name] / runs:.3f}" for name in ("sealed", "labels", "third"))
                gain = differ * (2 * wins - 1)
                print(f"| {labels} | {groups} x {each} | {icc:g} | {gain:.2f} | {rates} |", flush=True)


CHANGES = (
    # positive, then recall and specificity of the first and of the second
    (0.1, (0.8, 0.8), (0.45, 0.95)),
    (0.1, (0.7, 0.7), (0.3, 0.95)),
    # equal in balanced accuracy
    (0.1, (0.8, 0.8), (0.65, 0.95)),
    (0.05, (0.8, 0.8), (0.65, 0.95)),
    (0.2, (0.8, 0.8), (0.65, 0.95)),
    (0.1, (0.7, 0.9), (0.9, 0.7)),
    # better
    (0.1, (0.5, 0.9), (0.8, 0.85)),
    (0.1, (0.8, 0.6), (0.8, 0.8)),
    (0.1, (0.7, 0.7), (0.8, 0.8)),
    (0.2, (0.6, 0.8), (0.8, 0.8)),
    (0.5, (0.7, 0.7), (0.8, 0.8)),
)


def of_differing(positive: float, first: Any, second: Any, shared: float) -> Any:
    """Return the shares of differing units: positive won and lost, negative won and lost; some luck is shared."""
    shares = []
    for part, before, after in ((positive, first[0], second[0]), (1 - positive, first[1], second[1])):
        won = (1 - shared) * (1 - before) * after + shared * max(0.0, after - before)
        lost = (1 - shared) * before * (1 - after) + shared * max(0.0, before - after)
        shares += [part * won, part * lost]
    return np.array(shares) / sum(shares)


CLOSED = ClosedLabels(("found", "fine"), {"found"})
KINDS_OF_DIFFERENCE = (
    # gold, then the answers of the first and of the second: in the order of ``of_differing``
    LabelledUnit(gold="found", first="fine", second="found"),
    LabelledUnit(gold="found", first="found", second="fine"),
    LabelledUnit(gold="fine", first="found", second="fine"),
    LabelledUnit(gold="fine", first="fine", second="found"),
)


@cache
def worth_after(positives: int, units: int) -> UnitGains:
    """Return what a unit counts in balanced accuracy after a sealed test with so many positives."""
    rows = []
    for place in range(units):
        gold = "found" if place < positives else "fine"
        rows.append(JudgedRow(id=str(place), group=str(place), gold=(gold,), predicted=(gold,)))
    return UnitGains.of(rows, rows, CLOSED.metrics["balanced_accuracy"], CLOSED)


def weighed(runs: int, labels: int) -> None:
    """Print how often labels say better: by correct units, by weights taken as exact, and as it is."""
    print(
        "| positive | recall, specificity | gain | shared luck | sealed units | correct units "
        "| weights as exact | as it is |"
    )
    print("|" + "---|" * 8)
    rate = (0.2, 0.15, 0.25)
    for (positive, first, second), shared, test in product(CHANGES, (0.0, 0.5, 0.9), (60, 100)):
        rng = np.random.default_rng(0)
        counted = exact = by_weight = 0
        shares = of_differing(positive, first, second, shared)
        for _ in range(runs):
            worth = worth_after(min(test - 1, max(1, rng.binomial(test, positive))), test)
            units = [KINDS_OF_DIFFERENCE[kind] for kind in rng.choice(4, size=labels, p=shares)]
            estimates = worth.estimates(units, LEVEL)
            gains = estimates.estimate.by_unit
            wins = int((gains > 0).sum())
            counted += alike_test(wins, labels - wins) < LEVEL
            largest = estimates.estimate.largest
            shown = weigh(gains.tolist(), largest, rate, LEVEL).verdict == "better"
            exact += shown
            # To be shown by weights that are uncertain is to be shown by the estimated ones, and more.
            by_weight += shown and weigh_estimates(estimates, rate, LEVEL).verdict == "better"
        change = f"{first[0]} -> {second[0]}, {first[1]} -> {second[1]}"
        gain = (second[0] + second[1] - first[0] - first[1]) / 2
        cells = f"{counted / runs:.3f} | {exact / runs:.3f} | {by_weight / runs:.3f}"
        print(f"| {positive} | {change} | {gain:+.3f} | {shared} | {test} | {cells} |", flush=True)


def proven(rows: list[dict[str, Any]], seed: int, groups: int, calls: int) -> dict[str, Any]:
    """Compile on so many groups, prove the version on the others, and return what both have shown."""
    names = sorted({row["group"] for row in rows})
    held = set(np.random.default_rng(seed).permutation(names)[groups:].tolist())
    new = [{**row, "verdict": None} for row in rows if row["group"] in held]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder  # nothing is known of other openings
        store = Path(folder) / "store"
        kept = [row for row in rows if row["group"] not in held]
        made = jurist.compile(f"{JUDGE}:judge", gold=kept, seed=seed, store=store, budget=Budget(calls=calls))
        found: dict[str, Any] = {
            "sealed": made.verdict,
            "test": made.artifact.card["gold"]["test"],
        }
        truth = jurist.compare(
            [made, "may-send:basic"], [row for row in rows if row["group"] in held], store=store
        )
        scores = [one.scores["accuracy"].value for one in truth.contenders]
        found["gain"] = scores[0] - scores[1]
        people = {(row["policy"], row["reply"]): row["verdict"] for row in rows}
        for name, most in (("labels", len(held)), ("half", len(held) // 2)):
            own, os.environ["XDG_DATA_HOME"] = Path(folder) / name, f"{folder}/{name}"  # each is a first plan
            shutil.copytree(store, own)
            try:
                plan = jurist.prove(made.artifact.ref, new, labels=most, store=own, seed=seed, trust=True)
            except jurist.JuristError:  # they differ in too few groups
                found[name], found[f"number {name}"] = "too few differ", 0
                continue
            told = jurist.prove(
                plan.version,
                answers=[{**row, "verdict": people[row["policy"], row["reply"]]} for row in plan.content],
                store=own,
                trust=True,
            )
            assert told.decision is not None
            found[name], found[f"number {name}"] = told.decision["verdict"], len(plan.units)
    return found


def compilations(number: int, groups: int, calls: int) -> None:
    """Print how often the sealed test and labels show a version of house-rule to be better."""
    gold = jurist.Gold.load("house-rule", jurist.judge(f"{JUDGE}:judge"))
    rows = [{**case.inputs, "group": case.group, "verdict": case.labels[0]} for case in gold.cases]
    found = [proven(rows, seed, groups, calls) for seed in range(number)]
    print("| compiled on | gain on the rows held out | decided by | labels | better |")
    print("|" + "---|" * 5)
    gain = np.mean([one["gain"] for one in found])
    for name, words, count in (
        ("sealed", "the sealed test", "test"),
        ("labels", "labels where they differ", "number labels"),
        ("half", "half of them", "number half"),
    ):
        better = sum(one[name] == "better" for one in found)
        mean = np.mean([one[count] for one in found])
        print(f"| {groups} groups | {gain:+.3f} | {words} | {mean:.0f} | {better} of {number} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--compilations", type=int, default=12)
    parser.add_argument("--groups", type=int, default=20, help="that are compiled on (default: 20 of 40)")
    parser.add_argument("--calls", type=int, default=800, help="a compilation's budget (default: 800)")
    parser.add_argument("--weighed", action="store_true", help="print the table of unequal weights alone")
    parser.add_argument("--labels", type=int, default=40, help="of a plan, in that table (default: 40)")
    arguments = parser.parse_args()
    if arguments.weighed:
        weighed(arguments.runs, arguments.labels)
        return
    if arguments.runs:
        simulate(arguments.runs)
        print()
    if arguments.compilations:
        compilations(arguments.compilations, arguments.groups, arguments.calls)


if __name__ == "__main__":
    main()
