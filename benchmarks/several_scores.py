"""Rules by which several drawn scores become one: the lower median, the mean, the mean on the scale's steps.

    python benchmarks/several_scores.py

A simulated model scores rows whose score by people is known. A row has a lasting error, which all of its draws share,
and each draw one of its own; a draw is a whole number of the scale, or a number of two digits after the point. Each
figure is the mean over the simulated sets. *Bias* is the mean score against that of single draws.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.scores import Scores
from jurist.evaluation.units import encode
from jurist.evaluation.votes import mean_vote, median_vote

Combiner: TypeAlias = Callable[[Mapping[float, int], int], float | None]

_ROWS = 400
_DRAWS = (2, 3, 5, 8)
_METRICS = ("quadratic_kappa", "mae", "mse", "spearman", "accuracy")
_COMBINERS: Mapping[str, Combiner] = {
    "median": median_vote,
    "mean": lambda votes, samples: mean_vote(votes, samples, is_whole=False),
    "rounded mean": lambda votes, samples: mean_vote(votes, samples, is_whole=True),
}


def main() -> None:
    """Print a table for scales of whole numbers and one for scales without steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--spread", type=float, default=0.8, help="standard deviation of a draw's own error")
    options = parser.parse_args()
    for scale, step in (
        (Scores(1, 5, whole=True), 1.0),
        (Scores(1, 10, whole=True), 1.0),
        (Scores(0, 1), 0.01),
    ):
        print(f"\n{scale.expects}\n")
        print("| draws | rule | bias | quadratic kappa | mae | mse | spearman | exact |")
        print("|---" * 8 + "|")
        for draws in _DRAWS:
            for name, combine in _COMBINERS.items():
                if not scale.whole and name == "rounded mean":
                    continue
                figures = _mean_figures(scale, step, draws, combine, options.sets, options.spread)
                print(f"| {draws} | {name} | {' | '.join(figures)} |")


def _mean_figures(
    scale: Scores, step: float, draws: int, combine: Combiner, sets: int, spread: float
) -> list[str]:
    """Return the bias and each metric of a rule in words, the mean over simulated sets."""
    biases: list[float] = []
    values: dict[str, list[float]] = {name: [] for name in _METRICS}
    for seed in range(sets):
        gold, drawn = _simulate(scale, step, draws, spread, np.random.default_rng(seed))
        combined = [_combine_row(row, combine) for row in drawn]
        biases.append(float(np.mean(combined) - drawn.mean()))
        encoded = encode(scale, _rows(gold, combined))
        for name in _METRICS:
            if name in scale.metrics:
                values[name].append(scale.metrics[name].of(encoded))
    words = [f"{np.mean(biases):+.3f}"]
    for name in _METRICS:
        words.append(f"{np.mean(values[name]):.3f}" if values[name] else "-")
    return words


def _simulate(
    scale: Scores, step: float, draws: int, spread: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of people, (rows,), and the draws of a model, (rows, draws)."""
    unit = (scale.high - scale.low) / 4  # one step of a scale of five
    gold = scale.low + unit * 4 * random.beta(2.0, 1.4, _ROWS)
    gold = np.clip(np.round(gold / step) * step, scale.low, scale.high)
    believed = gold + unit * random.normal(0.0, 0.7, _ROWS)
    drawn = believed[:, None] + unit * random.normal(0.0, spread, (_ROWS, draws))
    return gold, np.clip(np.round(drawn / step) * step, scale.low, scale.high)


def _combine_row(row: np.ndarray, combine: Combiner) -> float:
    """Return the one score of a row's draws."""
    score = combine(Counter(row.tolist()), len(row))
    assert score is not None
    return score


def _rows(gold: np.ndarray, combined: Sequence[float]) -> list[JudgedRow]:
    """Return the scores as rows, each a group of its own."""
    rows = []
    for number, (label, score) in enumerate(zip(gold.tolist(), combined, strict=True)):
        name = str(number)
        rows.append(JudgedRow(id=name, group=name, gold=(label,), predicted=(score,), failed=False))
    return rows


if __name__ == "__main__":
    main()
