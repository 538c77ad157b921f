"""The labels that a head over questions needs, and how strongly it is drawn to 0: a simulation without a model.

A row has ten facts. Its label follows from five of them. A model answers each fact's question rightly with probability
.88, and its own verdict is right with probability ``own``. A head is fitted on some rows, and scored on 2,000 others.

    python benchmarks/question_heads.py
"""

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

_FACTS = 10
_ASKED_RIGHT = 0.88
_TEST_ROWS = 2_000


def draw_rows(random: np.random.Generator, count: int, own: float, law: str) -> tuple[np.ndarray, np.ndarray]:
    """Return columns (answers, then the log odds of the model's own vote) and the labels of some rows.

    Args:
        law: ``count`` (at least three of five facts hold), ``any`` (one of three fatal facts), or ``none`` (by chance).
    """
    facts = random.random((count, _FACTS)) < 0.5
    if law == "count":
        labels = facts[:, :5].sum(axis=1) >= 3
    elif law == "any":
        facts[:, :3] = random.random((count, 3)) < 0.15
        labels = facts[:, :3].any(axis=1)
    else:
        labels = random.random(count) < 0.4
    answers = np.where(random.random(facts.shape) < _ASKED_RIGHT, facts, ~facts).astype(float)
    votes = np.where(random.random(count) < own, labels, ~labels)
    odds = np.where(votes, 9.2, -9.2)
    return np.column_stack([answers, odds]), labels


def score_head(
    train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], penalty: float
) -> float:
    """Return the balanced accuracy of a head on other rows."""
    columns, labels = train
    centers = columns.mean(axis=0)
    scales = np.where(columns.std(axis=0) > 0, columns.std(axis=0), 1.0)
    model = LogisticRegression(C=penalty, class_weight="balanced", max_iter=1000)
    model.fit((columns - centers) / scales, labels)
    return float(balanced_accuracy_score(test[1], model.predict((test[0] - centers) / scales)))


def main() -> None:
    """Print the mean balanced accuracy by law, own accuracy, number of labels and penalty."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60)
    options = parser.parse_args()
    penalties = (0.01, 0.03, 0.1, 0.3, 1.0)
    print(
        f"{'law':6} {'own':>4} {'labels':>6}  vote  " + "  ".join(f"C={penalty:<4g}" for penalty in penalties)
    )
    for law in ("count", "any", "none"):
        for own in (0.6, 0.75, 0.9) if law != "none" else (0.5,):
            for count in (20, 30, 40, 60, 100, 200):
                scores: list[list[float]] = []
                for run in range(options.runs):
                    random = np.random.default_rng(run)
                    test = draw_rows(random, _TEST_ROWS, own, law)
                    train = draw_rows(random, count, own, law)
                    if len(set(train[1].tolist())) < 2:
                        continue
                    vote = float(balanced_accuracy_score(test[1], test[0][:, -1] > 0))
                    scores.append([vote] + [score_head(train, test, penalty) for penalty in penalties])
                means = np.mean(scores, axis=0)
                print(
                    f"{law:6} {own:4} {count:6}  {means[0]:.3f} "
                    + "  ".join(f"{mean:.3f} " for mean in means[1:])
                )


if __name__ == "__main__":
    main()
