"""What signals of form are worth with few labels: the regression on words with and without "the text holds a figure".

The label of ``house-rule`` and ``support-desk`` is "hold" for each reply with a figure, which no word, overlap or
support signal of the regression says. Here two figures of the judged text are added to the part of support signals:
whether it holds a number, in digits or in English words, and the logarithm of how many. A further part has a ten times
stronger penalty. All parts are calibrated across five folds of whole groups and mixed by their likelihoods, as in
``optimizers/words.py``. Scores are balanced accuracies on groups that were not drawn. "A number alone" gives a text the
label that drawn texts with a number have more often than others, if it holds one.

Run: python benchmarks/figure_signals.py --data DATA
"""

import argparse
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scoreboard_sets import SETS  # type: ignore[import-not-found]  # beside this file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import jurist
from jurist.cases import text_hash
from jurist.evaluation.units import Floats, Ints
from jurist.optimizers.learners import Scaling, UnitTexts, fit_mixture, fit_words, make_folds
from jurist.text.ranking import words

JUDGE = Path(__file__).resolve().parents[1] / "docs" / "may_send.py"
BUNDLED = ("house-rule", "support-desk")
PUBLIC = ("qags", "wice-lenient", "wice-strict", "summedits", "fect", "cognibench")
FOLDS = 5
LEAST_HELD_OUT = 80
LEAST_A_SIDE = 6
NUMBER_WORDS = frozenset(
    words(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million half quarter "
        "third double twice dozen first second"
    )
)
USUAL, STRONG = 0.1, 0.01
"""The inverse penalties: that of the regression on support signals, and a stronger one."""
MIXTURES = {
    "today": ("words", "signals"),
    "and a strong penalty": ("words", "signals", "strong"),
    "and figures": ("words", "figures"),
    "and both": ("words", "signals", "strong", "figures"),
}
PARTS = ("words", "signals", "strong", "figures")


@dataclass(frozen=True)
class Units:
    """The labelled units of a set of two labels, with what the parts of a regression read."""

    texts: UnitTexts
    codes: Ints  # the place of each unit's label among the sorted labels
    signals: Floats  # array (units, figures): the overlap and the support signals
    numbers: Floats  # array (units, 2): whether a text holds a number, and the logarithm of how many


def read_units(name: str, data: Path | None) -> Units:
    """Return the units of a bundled set, or of a public one in the folder of the data."""
    if name in BUNDLED:
        judge = jurist.judge(f"{JUDGE}:judge")
        gold = jurist.Gold.load(name, judge)
    else:
        judge = SETS[name].judge
        gold = SETS[name].gold(data)
    texts = UnitTexts(judge, [case for case in gold.cases if case.labels])
    labels = sorted(set(texts.gold), key=str)
    counts = [count_numbers(text) for text in texts.judged[0]]
    return Units(
        texts=texts,
        codes=np.array(list(map(labels.index, texts.gold))),
        signals=np.column_stack([texts.overlap, texts.signals]),
        numbers=np.array([[float(count > 0), np.log1p(count)] for count in counts]),
    )


def count_numbers(text: str) -> int:
    """Return how many numbers a text holds, in digits or in English words."""
    in_digits = len(re.findall(r"\d+(?:[.,]\d+)*", text))
    return in_digits + sum(word in NUMBER_WORDS for word in words(text))


def log_odds(units: Units, part: str, fitted: Sequence[int], asked: Sequence[int]) -> Floats:
    """Return the log odds of the second label that a part gives some units, fitted to others."""
    if part == "words":
        scores: Floats = fit_words(units.texts, fitted).scores(units.texts, asked)
        return scores[:, 1]
    figures = units.signals
    if part == "figures":
        figures = np.column_stack([units.signals, units.numbers])
    scaled = Scaling(figures[fitted], is_difference=False)(figures)
    penalty = STRONG if part == "strong" else USUAL
    model = LogisticRegression(C=penalty, class_weight="balanced", max_iter=1000)
    odds: Floats = model.fit(scaled[fitted], units.codes[fitted]).decision_function(scaled[asked])
    return odds


def balanced_accuracy(codes: Ints, predicted: Ints) -> float:
    """Return the mean of the shares of each label that were found."""
    return float(np.mean([(predicted[codes == code] == code).mean() for code in (0, 1)]))


def scores_of_draw(units: Units, labels: int, seed: int) -> list[float] | None:
    """Return the scores of one draw: of numbers alone, then of each mixture; ``None`` with too few rows or labels."""
    groups = units.texts.groups(range(len(units.codes)))
    sizes = Counter(groups)
    drawn: set[str] = set()
    rows = 0
    for group in sorted(sizes, key=lambda group: text_hash(f"ws{seed}/{group}")):
        if rows + sizes[group] <= labels:
            drawn.add(group)
            rows += sizes[group]
    fitted = [place for place, group in enumerate(groups) if group in drawn]
    asked = [place for place, group in enumerate(groups) if group not in drawn]
    if len(asked) < LEAST_HELD_OUT or np.bincount(units.codes[fitted], minlength=2).min() < LEAST_A_SIDE:
        return None
    crossed = {part: np.zeros(len(fitted)) for part in PARTS}
    for fold in make_folds([groups[place] for place in fitted], FOLDS, seed):
        inside = [fitted[place] for place in fold]
        outside = sorted(set(fitted) - set(inside))
        if len(set(units.codes[outside].tolist())) < 2:
            continue
        for part in PARTS:
            crossed[part][fold] = log_odds(units, part, outside, inside)
    odds = {part: log_odds(units, part, fitted, asked) for part in PARTS}
    held_codes = units.codes[asked]
    has_number = units.numbers[:, 0] > 0
    covariance = np.cov(has_number[fitted], units.codes[fitted])[0, 1]
    code_of_numbers = int(covariance > 0)
    scores = [
        balanced_accuracy(held_codes, np.where(has_number[asked], code_of_numbers, 1 - code_of_numbers))
    ]
    outputs = sorted(set(units.texts.gold), key=str)
    gold = [units.texts.gold[place] for place in fitted]
    for parts in MIXTURES.values():
        columns = [np.column_stack([np.zeros(len(fitted)), crossed[part]]) for part in parts]
        mixture = fit_mixture(units.texts.judge, gold, columns, outputs)
        total = np.zeros(len(asked))
        for part, weight, slope, offsets in zip(
            parts, mixture.weights, mixture.slopes, mixture.offsets, strict=True
        ):
            offset = offsets[outputs[1]] - offsets[outputs[0]]
            total += weight * (slope * odds[part] + offset)
        scores.append(balanced_accuracy(held_codes, (total > 0).astype(int)))
    return scores


def print_line(name: str, labels: int, draws: Sequence[Sequence[float]]) -> list[float]:
    """Print the line of a set: its scores, and the gains over today; return the gains."""
    means = np.mean(draws, axis=0)
    gains = [float(mean - means[1]) for mean in means[2:]]
    cells = [name, str(labels), str(len(draws)), f"{means[0]:.3f}", f"{means[1]:.3f}"]
    cells += [f"{gain:+.3f}" for gain in gains]
    print(f"| {' | '.join(cells)} |", flush=True)
    return gains


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="the folder of the public sets; without it bundled sets alone"
    )
    parser.add_argument("--sets", nargs="+", choices=BUNDLED + PUBLIC, default=list(BUNDLED + PUBLIC))
    parser.add_argument("--labels", type=int, nargs="+", default=[60, 100, 200], help="drawn by whole groups")
    parser.add_argument("--seeds", type=int, default=6)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    names = [name for name in arguments.sets if name in BUNDLED or arguments.data is not None]
    columns = ["set", "labels", "draws", "a number alone", *MIXTURES]
    print(f"| {' | '.join(columns)} |")
    print("|" + "---|" * len(columns))
    gains_of_public: dict[int, list[list[float]]] = {labels: [] for labels in arguments.labels}
    with threadpool_limits(1), np.errstate(invalid="ignore"):
        for name in names:
            units = read_units(name, arguments.data)
            for labels in arguments.labels:
                found = [scores_of_draw(units, labels, seed) for seed in range(arguments.seeds)]
                draws = [scores for scores in found if scores is not None]
                if draws:
                    gains = print_line(name, labels, draws)
                    if name in PUBLIC:
                        gains_of_public[labels].append(gains)
    for labels, gains_of_sets in gains_of_public.items():
        if gains_of_sets:
            cells = ["public sets, mean", str(labels), "", "", ""]
            cells += [f"{gain:+.3f}" for gain in np.mean(gains_of_sets, axis=0)]
            print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
