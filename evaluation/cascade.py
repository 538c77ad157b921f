"""Cascades: each row is answered by the first judge that is sure enough of it, and by people where none is.

"Sure enough" is a level: the probability of agreeing with people from which on a judge may answer. It is chosen on
gold, so that the judges that answer agree with people often enough (Jung et al. 2024, *Trust or Escalate*). A model of
this probability is fitted for each judge, by the label it gives and how sure it is, so one level holds for all judges;
a row's probability comes from a fit to rows of other groups alone. The levels are tested from the strictest on, and the
tests end at the first level that is not shown to agree often enough: so the risk of all tests together is that of one
(fixed-sequence testing). The bound on the agreement is the exact binomial one; where groups have several rows, it is
the bound for the number of independent rows that say as much (Korn and Graubard 1998).
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
from .trust import SURENESS_MARGIN, AgreementRegression, SureAnswer

LEVELS = tuple(round(0.995 - 0.01 * step, 3) for step in range(50))
"""Probabilities of agreeing with people from which on a judge may answer, the strictest first."""
_FOLDS = 5
_LEAST_ANSWERED_SHARE = 1 / 3
"""The share of the rows that must be answered at a level for it to be tested: fewer rows could show little."""


def fit_trust(answers: Sequence[SureAnswer], right: Sequence[bool]) -> AgreementRegression:
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
    # The fit sees one more row that agrees and one that does not, so no probability becomes 0 or 1.
    middle_row = np.full(1 + len(labels), 1 / max(1, len(labels)))
    middle_row[0] = mean_sureness
    columns = np.vstack([columns, middle_row, middle_row])
    with threadpool_limits(1):  # Small problems run up to ten times slower on several threads.
        fitted = LogisticRegression().fit(columns, agrees + [True, False])
    coefficients = fitted.coef_[0].tolist()
    return AgreementRegression(
        intercept=float(fitted.intercept_[0]),
        slope=coefficients[0],
        labels=dict(zip(labels, coefficients[1:], strict=True)),
    )


def cross_fit(
    answers: Sequence[SureAnswer], right: Sequence[bool], groups: Sequence[str], seed: int = 0
) -> list[float]:
    """Return for each row the probability that a judge agrees with people, fitted to rows of other groups alone."""
    group_names = sorted(set(groups))
    folds = np.random.default_rng(seed).permutation(len(group_names)) % _FOLDS
    fold_of_group = dict(zip(group_names, folds.tolist(), strict=True))
    probabilities = [0.0] * len(answers)
    for fold in range(_FOLDS):
        fold_rows: list[int] = []
        learning_answers: list[SureAnswer] = []
        learning_right: list[bool] = []
        for row, group in enumerate(groups):
            if fold_of_group[group] == fold:
                fold_rows.append(row)
            else:
                learning_answers.append(answers[row])
                learning_right.append(right[row])
        trust = fit_trust(learning_answers, learning_right)
        for row in fold_rows:
            probabilities[row] = trust.of(answers[row])
    return probabilities


@dataclass(frozen=True, kw_only=True)
class Step:
    """One level that was tested, and what the cascade does to the labelled rows at it."""

    level: float  # the probability of agreeing with people from which on a judge answers a row
    by: tuple[int, ...]  # the number of rows that each judge answers
    right: tuple[int, ...]  # the number of those rows on which people give the same label
    bound: float  # the lower bound of the agreement, which fails with the probability of the risk at most

    @property
    def answered(self) -> int:
        """The number of rows that some judge answers."""
        return sum(self.by)

    @property
    def agreement(self) -> float:
        """The share of the answered rows on which people give the same label; 0 where none is answered."""
        if not self.answered:
            return 0.0
        return sum(self.right) / self.answered

    def to_json(self) -> dict[str, object]:
        """Return the step as plain JSON types, with the rows answered and the share of them that is right."""
        return {**asdict(self), "answered": self.answered, "agreement": self.agreement}


def least_agreement(right: NDArray[np.bool_], groups: NDArray[Any], risk: float) -> float:
    """Return the lower bound of the share of right rows, too high with probability ``risk`` at most."""
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
        # Where all rows are right, both variances would be 0. So each gets that of one more error: as an error of a
        # single row above the line, of a whole group of the mean size below it.
        group_size = rows / len(sums)
        variance = over_groups(sums, mean).error ** 2 + group_size / rows**2
        effective_rows = min(effective_rows, (share * (1.0 - share) + 1.0 / rows) / variance)
    right_rows = share * effective_rows
    if not right_rows:  # No row is right, or there is one group, whose variance is infinite.
        return 0.0
    # the exact binomial bound of Clopper and Pearson, for a number of rows that need not be whole
    return float(scipy.special.betaincinv(right_rows, (1.0 - share) * effective_rows + 1.0, risk))


def try_levels(
    probable: Sequence[Sequence[float]],
    right: Sequence[Sequence[bool]],
    groups: Sequence[str],
    *,
    agree: float,
    risk: float,
) -> Iterator[Step]:
    """Yield a step for each level that is tested, the strictest first, up to the first not shown to agree enough.

    Args:
        probable: of each judge, in the order in which they are asked, the probability of agreeing on each row.
        right: of each judge, whether it agrees on each row.
        groups: the group of each row.
        agree: the share of the answered rows on which people must give the same label.
        risk: the largest probability of choosing a level whose agreement is lower.
    """
    probability = np.array(probable)  # (judges, rows)
    agrees = np.array(right, dtype=np.bool_)
    group_of_row = np.array(groups)
    fewest_answered = max(_LEAST_ANSWERED_SHARE * len(group_of_row), fewest_rows_needed(agree, risk))
    for level in LEVELS:
        may_answer = probability >= level
        # The first judge that may answer a row answers it; -1 stands for no judge.
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


def fewest_rows_needed(agree: float, risk: float) -> int:
    """Return the fewest rows, each of a group of its own, that can show an agreement if all of them are right."""
    return math.ceil(math.log(risk) / math.log(agree))


def choose_step(tested: Sequence[Step], agree: float) -> Step | None:
    """Return the step of the most lenient level that was shown to agree enough; ``None`` without any."""
    for step in reversed(tested):
        if step.bound >= agree:
            return step
    return None
