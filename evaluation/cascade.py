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
    """Return what answers and whether people gave the same teach of a judge."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    known = [(*answer, good) for answer, good in zip(answers, right, strict=True) if answer is not None]
    labels = sorted({label for label, _, _ in known})
    sure = scipy.special.logit(
        np.clip([share for _, share, _ in known], SURENESS_MARGIN, 1 - SURENESS_MARGIN)
    )
    named = [[float(label == own) for own in labels] for label, _, _ in known]
    middle = float(np.mean(sure)) if known else 0.0
    # one row more that agrees and one that does not: neither is ever impossible
    rows = np.column_stack([sure, named]) if known else np.zeros((0, 1))
    rows = np.vstack([rows, np.tile([middle, *[1 / max(1, len(labels))] * len(labels)], (2, 1))])
    with threadpool_limits(1):  # as for all regressions this small
        fitted = LogisticRegression().fit(rows, [*(good for _, _, good in known), True, False])
    slope, *offsets = fitted.coef_[0].tolist()
    return Trust(
        intercept=float(fitted.intercept_[0]), slope=slope, labels=dict(zip(labels, offsets, strict=True))
    )


def crossed(
    answers: Sequence[SureAnswer], right: Sequence[bool], groups: Sequence[str], seed: int = 0
) -> list[float]:
    """Return how probable it is, of each row, that the judge agrees, by rows of other groups alone."""
    names = sorted(set(groups))
    fold = dict(zip(names, np.random.default_rng(seed).permutation(len(names)) % FOLDS, strict=True))
    probable = [0.0] * len(answers)
    for number in range(FOLDS):
        others = [place for place, group in enumerate(groups) if fold[group] != number]
        trust = trust_in([answers[place] for place in others], [right[place] for place in others])
        for place, group in enumerate(groups):
            if fold[group] == number:
                probable[place] = trust.of(answers[place])
    return probable


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
        return sum(self.right) / self.answered if self.answered else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {**asdict(self), "answered": self.answered, "agreement": self.agreement}


def least_agreement(right: NDArray[np.bool_], groups: NDArray[Any], risk: float) -> float:
    """Return what the share of rows that are right is at least, but for a risk, from rows in groups."""
    rows = len(right)
    if not rows:
        return 0.0
    number = np.unique(groups, return_inverse=True)[1]
    sums = np.stack([np.bincount(number, weights=right), np.bincount(number).astype(np.float64)], axis=1)
    worth, share = float(rows), float(right.mean())
    if len(sums) < rows:
        # one error more is assumed, which a whole group shares
        error = over_groups(sums, mean).error ** 2 + rows / len(sums) / rows**2
        worth = min(worth, (share * (1.0 - share) + 1.0 / rows) / error)
    if not share * worth:  # of one group nothing is known of others
        return 0.0
    return float(scipy.special.betaincinv(share * worth, (1.0 - share) * worth + 1.0, risk))


def steps(
    probable: Sequence[Sequence[float]],
    right: Sequence[Sequence[bool]],
    groups: Sequence[str],
    *,
    agree: float,
    risk: float,
) -> Iterator[Step]:
    """Yield the levels that are tested, the strictest first, up to the first that is not shown to agree enough."""
    # ``probable`` and ``right`` are of shape (judges, rows), the judges in the order in which they are asked
    sure, good, group = np.array(probable), np.array(right, dtype=np.bool_), np.array(groups)
    first = max(START * len(group), fewest(agree, risk))
    for level in LEVELS:
        able = sure >= level
        who = np.where(able.any(axis=0), able.argmax(axis=0), -1)
        answered = who >= 0
        if answered.sum() < first:
            continue
        hit = good[who[answered], np.flatnonzero(answered)]
        step = Step(
            level=level,
            by=tuple(int((who == judge).sum()) for judge in range(len(sure))),
            right=tuple(int(hit[who[answered] == judge].sum()) for judge in range(len(sure))),
            bound=least_agreement(hit, group[answered], risk),
        )
        yield step
        if step.bound < agree:
            return


def fewest(agree: float, risk: float) -> int:
    """Return the rows, each of a group of its own, without which no agreement can be shown, though all are right."""
    return math.ceil(math.log(risk) / math.log(agree))


def chosen(tested: Sequence[Step], agree: float) -> Step | None:
    """Return the last level that was shown to agree enough; ``None`` without any."""
    return next((step for step in reversed(tested) if step.bound >= agree), None)
