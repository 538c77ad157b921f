"""Default compilations on public sets that were not written here, beside what needs no language model.

Of each set 40 % of the rows, whole groups, are held out before anything else. The rest is compiled by default, and all
are scored on the held-out rows: basic, compiled, and the references, which learn from the same rows as the compilation.
With --holdout the held-out rows are the sealed test, too, as with jurist compile --holdout.

Run: python benchmarks/others.py --seeds 3
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from common import missing, parser  # type: ignore[import-not-found]  # beside this file

import jurist
from jurist.engines.meter import Budget
from jurist.gold.mapping import RowMapping
from jurist.jobs.references import score_references

SETS = {
    "qags": {},
    "topicalchat": {},
    "humanpref": {"output_1": "first", "output_2": "second"},
}
HELD_OUT = 0.4
PAIR = ("basic", "compiled")


@dataclass(frozen=True)
class Line:
    """One compilation: what was decided, and every score on held-out rows by name."""

    name: str
    seed: int
    rows: int
    groups: int
    verdict: str
    over_basic: bool
    scores: dict[str, float]
    tokens: str


def line(name: str, seed: int, data: Path, calls: int, metric: str, sealed: bool) -> Line:
    """Hold out, compile the rest, and score all on what was held out."""
    judge = jurist.judge(f"{data / 'others' / name}.py:judge")
    judge = judge.with_metric(metric or judge.metric)
    mapping = RowMapping(labels=SETS[name])
    whole = jurist.Gold.load(data / "others" / f"{name}.jsonl", judge, mapping=mapping)
    names = np.random.default_rng(1000 + seed).permutation(sorted({case.group for case in whole.cases}))
    out: set[str] = set()
    size = 0
    sizes = {group: sum(case.group == group for case in whole.cases) for group in names.tolist()}
    for group in names.tolist():
        if size < HELD_OUT * len(whole.cases):
            out.add(group)
            size += sizes[group]
    known, held = (
        replace(whole, cases=tuple(case for case in whole.cases if (case.group in out) is inside))
        for inside in (False, True)
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder  # no compilation knows of another one's openings
        store = Path(folder) / "store"
        made = jurist.compile(
            judge,
            gold=known,
            holdout=held if sealed else None,
            seed=seed,
            store=store,
            budget=Budget(calls=calls),
            anyway=True,
        )
        basic = jurist.load(judge, version="basic", store=store)
        evaluated = [jurist.evaluate(one, held) for one in (basic, made.judge)]
    metric = evaluated[0].measured.metric
    others = score_references(judge, known.cases, held.cases, seed=seed)
    return Line(
        name=f"{name} ({metric})",
        seed=seed,
        rows=len(held.cases),
        groups=len(out),
        verdict=made.verdict,
        over_basic=made.better_than_basic,
        scores={
            "basic": evaluated[0][metric].value,
            "compiled": evaluated[1][metric].value,
            **{reference: one.score.value for reference, one in others.by_name.items()},
            **{
                f"f1 of {name}": one["f1"].value
                for name, one in zip(PAIR, evaluated, strict=True)
                if "f1" in one.measured.scores
            },
        },
        tokens=str(made.artifact.card.get("tokens_per_row", "")),
    )


def main() -> None:
    """Print the table."""
    options = parser(__doc__)
    options.add_argument(
        "--calls", type=int, default=4000, help="a compilation's budget (default: as the command's)"
    )
    options.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    options.add_argument("--metric", default="", help="compile for another metric than the judges' own")
    options.add_argument("--holdout", action="store_true", help="the held-out rows are the sealed test")
    options.set_defaults(seeds=3)
    arguments: argparse.Namespace = options.parse_args()
    if missing(arguments.data, ["others"]):
        sys.exit(1)
    names = (*PAIR, "constant", "words", "neighbours", *(f"f1 of {name}" for name in PAIR))
    print(f"| set (metric) | seed | held out: rows, groups | {' | '.join(names)} | decision |")
    print("|" + "---|" * (4 + len(names)))
    with ProcessPoolExecutor(2) as pool:
        jobs = [
            pool.submit(
                line, name, seed, arguments.data, arguments.calls, arguments.metric, arguments.holdout
            )
            for name in arguments.sets
            for seed in range(arguments.seeds)
        ]
        for job in jobs:
            found = job.result()
            scores = " | ".join(
                f"{found.scores[name]:.3f}" if name in found.scores else "-" for name in names
            )
            hollow = " (better than basic)" if found.over_basic and found.verdict != "better" else ""
            print(
                f"| {found.name} | {found.seed} | {found.rows}, {found.groups} | {scores} "
                f"| {found.verdict}{hollow} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
