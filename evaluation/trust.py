"""The probability that a judge agrees with people, from its sureness of an answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

SureAnswer: TypeAlias = tuple[str, float] | None
"""The label that a judge gives a row, and how sure it is, 0 to 1: its probability, or its share of the votes."""
SURENESS_MARGIN = 0.001
"""The least distance of a share from 0 and 1 before its logit is taken."""


@dataclass(frozen=True, kw_only=True)
class AgreementRegression:
    """The probability that a judge agrees with people: a logistic regression on its label and on its sureness."""

    intercept: float
    slope: float  # on the logit of how sure it is
    labels: Mapping[str, float]  # label -> what is added where the judge says it

    def of(self, answer: SureAnswer) -> float:
        """Return the probability, 0 without an answer."""
        if answer is None:
            return 0.0
        # Cards name this class, and lists of cards need no SciPy.
        import scipy

        label, share = answer
        sure = float(scipy.special.logit(min(1 - SURENESS_MARGIN, max(SURENESS_MARGIN, share))))
        return float(scipy.special.expit(self.intercept + self.slope * sure + self.labels.get(label, 0.0)))
