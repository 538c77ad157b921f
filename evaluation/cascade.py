"""Cascades: each row is answered by the first judge that is sure enough of it, and by people where none is.

How sure is chosen on gold, so that those who answer agree with people often enough (Jung et al. 2024, *Trust or
Escalate*). How probable it is that a judge agrees is fitted for each judge, by what it says and how sure it is, so that
one level holds for all of them. The levels are tested from the strictest on, and the first that is not shown to agree
often enough ends it: so the risk of all tests together is that of one (fixed-sequence testing). A row's probability
comes from rows of other groups alone. The bound on the agreement is the exact binomial one, and where groups have
several rows that of so many rows as they are worth (Korn and Graubard 1998).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from .intervals import over_groups
from .metrics import mean
from .trust import SURENESS_MARGIN, SureAnswer, Trust

LEVELS = tuple(round(0.995 - 0.01 * step, 3) for step in range(50))
"""Probabilities of agreeing with people from which on a judge may answer, the strictest first."""
FOLDS = 5
START = 1 / 3
"""Of the rows, how many are answered at the first level that is tested: fewer could show little."""


def trust_in(answers: Sequence[SureAnswer], right: Sequence[bool]) -> Trust:
    """Return the probability model of a judge's agreement, fitted to its answers and whether people gave the same."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    label_of_row: list[str] = []
    share_of_row: list[float] = []
    agrees: list[bool] = []
    for answer, is_right in zip(answers, right, strict=True):
        if answer is not None:
            label, share = answer
            label_of_row.append(label)
            share_of_row.append(share)
            agrees.append(is_right)
    labels = sorted(set(label_of_row))
    sureness = scipy.special.logit(np.clip(share_of_row, SURENESS_MARGIN, 1 - SURENESS_MARGIN))
    columns = np.zeros((0, 1 + len(labels)))  # (rows, 1 + labels)
    mean_sureness = 0.0
    if label_of_row:
        is_label = np.array(label_of_row)[:, np.newaxis] == np.array(labels)  # (rows, labels)
        columns = np.column_stack([sureness, is_label])
        mean_sureness = float(np.mean(sureness))
    # One row more that agrees and one that does not: neither is ever impossible.
    middle_row = np.full(1 + len(labels), 1 / max(1, len(labels)))
    middle_row[0] = mean_sureness
    columns = np.vstack([columns, middle_row, middle_row])
    with threadpool_limits(1):  # Small problems run up to ten times slower on several threads.
        fitted = LogisticRegression().fit(columns, agrees + [True, False])
    coefficients = fitted.coef_[0].tolist()
    return Trust(
        intercept=float(fitted.intercept_[0]),
        slope=coefficients[0],
        labels=dict(zip(labels, coefficients[1:], strict=True)),
    )


def crossed(
    answers: Sequence[SureAnswer], right: Sequence[bool], groups: Sequence[str], seed: int = 0
) -> list[float]:
    """Return the probability that the judge agrees, for each row, by rows of other groups alone."""
    group_names = sorted(set(groups))
    folds = np.random.default_rng(seed).permutation(len(group_names)) % FOLDS
    fold_of_group = dict(zip(group_names, folds.tolist(), strict=True))
    probabilities = [0.0] * len(answers)
    for fold in range(FOLDS):
        fold_rows: list[int] = []
        learning_answers: list[SureAnswer] = []
        learning_right: list[bool] = []
        for row, group in enumerate(groups):
            if fold_of_group[group] == fold:
                fold_rows.append(row)
            else:
                learning_answers.append(answers[row])
                learning_right.append(right[row])
        trust = trust_in(learning_answers, learning_right)
        for row in fold_rows:
            probabilities[row] = trust.of(answers[row])
    return probabilities


@dataclass(frozen=True, kw_only=True)
class Step:
    """One level that was tested."""

    level: float  # how probable it must be that a judge agrees, for it to answer
    by: tuple[int, ...]  # rows that each judge answers
    right: tuple[int, ...]  # those of them on which people say the same
    bound: float  # the agreement is at least this, but for the risk

    @property
    def answered(self) -> int:
        """Rows that some judge answers."""
        return sum(self.by)

    @property
    def agreement(self) -> float:
        """The share of them on which people say the same."""
        if not self.answered:
            return 0.0
        return sum(self.right) / self.answered

    def to_json(self) -> dict[str, object]:
        """Return the step as plain JSON types, with the rows answered and the share of them that is right."""
        return {**asdict(self), "answered": self.answered, "agreement": self.agreement}


def least_agreement(right: NDArray[np.bool_], groups: NDArray[Any], risk: float) -> float:
    """Return the lower bound of the share of rows that are right, but for a risk, from rows in groups."""
    rows = len(right)
    if not rows:
        return 0.0
    group_of_row = np.unique(groups, return_inverse=True)[1]
    rows_by_group = np.bincount(group_of_row).astype(np.float64)
    right_by_group = np.bincount(group_of_row, weights=right)
    sums = np.stack([right_by_group, rows_by_group], axis=1)  # (groups, 2)
    share = float(right.mean())
    effective_rows = float(rows)
    if len(sums) < rows:
        # One error more is assumed, which a whole group shares.
        variance = over_groups(sums, mean).error ** 2 + rows / len(sums) / rows**2
        effective_rows = min(effective_rows, (share * (1.0 - share) + 1.0 / rows) / variance)
    if not share * effective_rows:  # One group says nothing of others.
        return 0.0
    right_rows = share * effective_rows
    return float(scipy.special.betaincinv(right_rows, (1.0 - share) * effective_rows + 1.0, risk))


def steps(
    probable: Sequence[Sequence[float]],
    right: Sequence[Sequence[bool]],
    groups: Sequence[str],
    *,
    agree: float,
    risk: float,
) -> Iterator[Step]:
    """Yield the levels that are tested, the strictest first, up to the first that is not shown to agree enough."""
    # Both tables are of shape (judges, rows), the judges in the order in which they are asked.
    probability = np.array(probable)
    agrees = np.array(right, dtype=np.bool_)
    group_of_row = np.array(groups)
    fewest_answered = max(START * len(group_of_row), fewest(agree, risk))
    for level in LEVELS:
        may_answer = probability >= level
        # The first judge that may answer a row does; -1 where none may.
        judge_of_row = np.where(may_answer.any(axis=0), may_answer.argmax(axis=0), -1)
        is_answered = judge_of_row >= 0
        if is_answered.sum() < fewest_answered:
            continue
        answering_judge = judge_of_row[is_answered]
        is_right = agrees[answering_judge, np.flatnonzero(is_answered)]
        judges = len(probability)
        step = Step(
            level=level,
            by=tuple(np.bincount(answering_judge, minlength=judges).tolist()),
            right=tuple(np.bincount(answering_judge[is_right], minlength=judges).tolist()),
            bound=least_agreement(is_right, group_of_row[is_answered], risk),
        )
        yield step
        if step.bound < agree:
            return


def fewest(agree: float, risk: float) -> int:
    """Return the rows, each of a group of its own, without which no agreement can be shown, though all are right."""
    return math.ceil(math.log(risk) / math.log(agree))


def chosen(tested: Sequence[Step], agree: float) -> Step | None:
    """Return the last level that was shown to agree enough; ``None`` without any."""
    for step in reversed(tested):
        if step.bound >= agree:
            return step
    return None
