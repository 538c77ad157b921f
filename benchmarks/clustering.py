"""The clustering of two judges' differences by conversation on the public CogniBench: ICC, design effect, both tests.

A unit's difference is whether the second judge has it right less whether the first has. Their intraclass correlation
over conversations (one-way analysis of variance, unequal sizes: Donner 1986) says how much less they tell than as many
independent units: the design effect is 1 + (n0 - 1) ICC.

Run: python benchmarks/clustering.py --data DIR
"""

import sys
from dataclasses import replace

import numpy as np
from common import missing, parser  # type: ignore[import-not-found]  # beside this file

import jurist
from jurist.evaluation.paired import compare_pair
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.units import Floats, Ints, encode
from jurist.optimizers.objective import row_of

PAIRS = (
    ("cognibench:basic", "all positive"),
    ("cognibench:basic", "cognibench-tags:basic"),
    ("cognibench:basic", "cognibench-staged:basic"),
)


def icc(values: Floats, group: Ints) -> tuple[float, float]:
    """Return the intraclass correlation of ``values`` (N,), and the size n0 that unequal groups count as."""
    sizes = np.bincount(group)
    means = np.bincount(group, weights=values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (len(sizes) - 1)
    within = float(((values - means[group]) ** 2).sum()) / (len(values) - len(sizes))
    size = (len(values) - float((sizes**2).sum()) / len(values)) / (len(sizes) - 1)
    spread = between + (size - 1) * within
    return ((between - within) / spread if spread else 0.0), size


def answered(name: str, gold: jurist.Gold) -> list[JudgedRow]:
    """Return the rows of a judge, or of calling everything hallucinated."""
    if name == "all positive":
        return [
            JudgedRow(
                id=case.id,
                group=case.group,
                gold=case.gold or (),
                predicted=("invented",) * len(case.gold or ()),
            )
            for case in gold.cases
        ]
    judge = replace(jurist.load(name), model=jurist.Model(temperature=0.0))
    return [
        row_of(case, verdict)
        for case, verdict in zip(gold.cases, judge.asker().ask_all(gold.cases), strict=True)
    ]


def main() -> int:
    """Print one line a pair."""
    arguments = parser(__doc__).parse_args()
    if missing(arguments.data, ["cognibench"]):
        return 1
    judge = jurist.judge("cognibench")
    gold = jurist.Gold.load(arguments.data / "cognibench", judge)
    print("| judges | sentences | conversations | ICC | design effect | p, McNemar | p, groups |")
    print("|" + "---|" * 7)
    for first, second in PAIRS:
        units = encode(judge.comparison, answered(first, gold), answered(second, gold))
        found = compare_pair(units, judge.comparison.metrics["f1"], seed=0, tested=0.05)
        assert units.right is not None
        assert found.mcnemar is not None
        share, size = icc(units.right[1].astype(float) - units.right[0], units.group)
        print(
            f"| {first}, {second} | {len(units.gold)} | {units.groups} | {share:.2f} | {1 + (size - 1) * share:.1f} "
            f"| {found.mcnemar.p:.2g} | {found.test.p:.2g} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
