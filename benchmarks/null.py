"""Whole compilations where there is nothing to learn: how often is a version promoted?

Rows of the bundled house-rule get labels that say nothing of their texts: random ones of every rate, each row's on its
own or (clustered) most of a group's alike; scores, and which of two replies is better, drawn from a fixed mix and
shuffled. Each compilation is another draw, split, search and sealed test, with a ledger of openings of its own.

Run: python benchmarks/null.py --compilations 200
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import jurist
from jurist.engines.meter import Budget
from jurist.errors import GoldError

DOCS = Path(__file__).resolve().parents[1] / "docs"
LEANING = 0.85  # of a group's rows, the share that has the group's label
RATES = (0.02, 0.15, 0.5, 0.85, 0.98)
SCORES = ((1, 2, 3, 4, 5), (0.05, 0.1, 0.15, 0.3, 0.4))
PREFERRED = (("first", "second"), (0.6, 0.4))
Rng = np.random.Generator
Rows = list[dict[str, Any]]


@cache
def cases() -> Sequence[Any]:
    """Return the rows of the bundled set."""
    return jurist.Gold.load("house-rule", jurist.judge(f"{DOCS}/may_send.py:judge")).cases


def labels(rng: Rng, rate: float, clustered: bool) -> Rows:
    """Return rows of which a share of ``rate`` is held back, at random."""
    names = sorted({case.group for case in cases()})
    leans = dict(zip(names, rng.random(len(names)) < rate, strict=True))
    own = rng.random(len(cases())) < rate
    follows = rng.random(len(cases())) < (LEANING if clustered else 0.0)
    held = [
        bool(leans[case.group] if follow else one)
        for case, one, follow in zip(cases(), own, follows, strict=True)
    ]
    return [
        {**case.inputs, "group": case.group, "verdict": "hold" if one else "send"}
        for case, one in zip(cases(), held, strict=True)
    ]


def scores(rng: Rng) -> Rows:
    """Return rows with shuffled scores."""
    given = rng.choice(SCORES[0], len(cases()), p=SCORES[1]).tolist()
    return [
        {
            "facts": case.inputs["policy"],
            "question": "What applies to me?",
            "reply": case.inputs["reply"],
            "group": case.group,
            "score": one,
        }
        for case, one in zip(cases(), given, strict=True)
    ]


def pairs(rng: Rng) -> Rows:
    """Return pairs of replies that follow each other, with a shuffled preference."""
    given = rng.choice(PREFERRED[0], len(cases()), p=PREFERRED[1]).tolist()
    return [
        {
            "facts": case.inputs["policy"],
            "question": "What applies to me?",
            "first": case.inputs["reply"],
            "second": other.inputs["reply"],
            "group": case.group,
            "better": one,
        }
        for case, other, one in zip(cases(), (*cases()[1:], cases()[0]), given, strict=True)
    ]


SETTINGS: dict[str, tuple[str, Callable[[Rng], Rows]]] = {
    **{
        f"labels, {rate:.0%} held back{', clustered' if clustered else ''}": (
            "may_send",
            partial(labels, rate=rate, clustered=clustered),
        )
        for rate in RATES
        for clustered in (False, True)
    },
    "shuffled scores": ("reply_score", scores),
    "shuffled pairs": ("reply_preference", pairs),
}


def verdict(work: tuple[str, int, int]) -> str:
    """Return what a compilation of a setting decides, and ``promoted`` if its version is made the latest."""
    setting, seed, calls = work
    name, rows_of = SETTINGS[setting]
    judge = jurist.judge(f"{DOCS}/{name}.py:judge")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder  # no compilation knows of another one's openings
        try:
            made = jurist.compile(
                judge,
                gold=rows_of(np.random.default_rng(seed)),
                shares=(0.4, 0.2, 0.4),
                seed=seed,
                store=Path(folder) / "store",
                budget=Budget(calls=calls * judge.answer.presentations),
            )
        except GoldError:  # a part without both labels
            return "refused"
    return "promoted" if made.latest else made.verdict


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compilations", type=int, default=200, help="in all settings (default: 200)")
    parser.add_argument(
        "--calls", type=int, default=1000, help="a compilation's budget, of pairs twice (default: 1000)"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    arguments = parser.parse_args()
    names, started = list(SETTINGS), time.monotonic()
    work = [(names[number % len(names)], number, arguments.calls) for number in range(arguments.compilations)]
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with ProcessPoolExecutor(arguments.workers, mp_context=get_context("spawn")) as pool:
        for (name, *_), said in zip(work, pool.map(verdict, work), strict=True):
            found[name][said] += 1
            print(
                f"{sum(one.total() for one in found.values())} of {len(work)}: {name}: {said}",
                file=sys.stderr,
            )
    ends = ("promoted", "not shown to be better", "worse", "refused")
    print(
        "| nothing to learn | compilations | promoted | not shown to be better | worse | could not be split |"
    )
    print("|" + "---|" * 6)
    for name in names:
        print(f"| {name} | {found[name].total()} | {' | '.join(str(found[name][end]) for end in ends)} |")
    every = sum((one for one in found.values()), Counter[str]())
    print(f"| all | {every.total()} | {' | '.join(str(every[end]) for end in ends)} |")
    print(f"{time.monotonic() - started:.0f} seconds", file=sys.stderr)


if __name__ == "__main__":
    main()
