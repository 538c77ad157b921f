"""The tier of a cognitive statement, by up to three decisions in sequence (CogniBench section 2.2, figure 3).

Is it rational? Only if so: is it grounded? Only if so: is it irrefutable? The
first no ends it, as it does for the paper's annotators (its table 1: deciding in
sequence agrees better than choosing among the tiers). Each decision is a call of
its own with its reason; a reply that cannot be read makes the whole sample
unusable.
"""

from dataclasses import replace
from typing import Any, Final

import dspy

from ..cases import Case, Label
from ..signatures.cognibench import TIERS, IsGrounded, IsIrrefutable, IsRational, Tier, TierOfStatement
from ..text.escaping import one_line
from .answers.labels import OneLabel
from .judge import Judge
from .state import Demo
from .statements import BySentence, SentenceRow, case_of
from .stepwise import Steps, Stepwise
from .strictness import BELOW, DEFAULT

STEPS: Final = ("rational", "grounded", "irrefutable")
_BELOW: Final = {level: labels - {"invented"} for level, labels in BELOW.items()}
"""Strictness -> the tiers that are hallucinations under it: of cognitive sentences only."""


class TierRow(SentenceRow):
    """A cognitive sentence with its tier."""

    tier: Tier | None = None


def decisions(tier: Label) -> dict[str, bool]:
    """Return the decisions that lead to a tier, in order: ``speculative`` is rational and not grounded."""
    failed = TIERS.index(tier)
    return {step: place < failed for place, step in enumerate(STEPS[: failed + 1])}


class TierSteps(Stepwise):
    """Asks ``rational``, ``grounded`` and ``irrefutable`` in turn and stops at the first no.

    Its prediction has ``tier`` (``None`` if a decision could not be read) and ``reasoning``: one line for
    each decision that was made, with its reason.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rational = dspy.Predict(IsRational)
        self.grounded = dspy.Predict(IsGrounded)
        self.irrefutable = dspy.Predict(IsIrrefutable)

    def steps(self, **inputs: Any) -> Steps:
        """Decide until something fails a test."""
        made: list[str] = []
        for step, failing in zip(STEPS, TIERS, strict=False):
            said = yield getattr(self, step), inputs
            holds, why = said.get(step), one_line(str(said.get("reason") or ""))
            word = "yes" if holds is True else "no" if holds is False else "unusable"
            made.append(f"{step}: {word}" + (f": {why}" if why else ""))
            if holds is not True:
                return dspy.Prediction(tier=failing if holds is False else None, reasoning="\n".join(made))
        return dspy.Prediction(tier=TIERS[-1], reasoning="\n".join(made))


def _details(tier: Label, hallucinated: frozenset[Label]) -> dict[str, bool | None]:
    made = decisions(tier)
    return {step: made.get(step) for step in STEPS}


def _demonstrations(case: Case) -> dict[str, Demo]:
    """Return the decisions that gold implies; gold has no reasons, and steps that it does not come to are absent."""
    label = case.gold[0] if case.gold else None
    if label is None:
        raise ValueError(f"case {case.id} has no gold labels")
    inputs = TIER.prompt_values(case.inputs)
    return {step: {**inputs, step: said} for step, said in decisions(label).items()}


TIER = Judge(
    name="tier",
    variant="steps",
    description="CogniBench: the tier of a sentence that goes beyond facts: rational, then grounded, then irrefutable",
    signature=TierOfStatement,
    program=TierSteps,
    rows=TierRow,
    to_case=case_of("tier"),
    answer=OneLabel(
        field="tier",
        unit="sentence",
        values={tier: tier for tier in TIERS},
        positive=_BELOW[DEFAULT],
        tiers=_BELOW,
        details=_details,
    ),
    metric="f1",
    demonstrations=_demonstrations,
    expand=BySentence(field="tier", labels={tier: tier for tier in TIERS}),
    bundled="cognibench-mini",
)
TIER_DIRECT = replace(
    TIER,
    name="tier-direct",
    variant="direct",
    description="CogniBench: the same tier, chosen among the four in one call (the other line of Table 1)",
    program=None,
    demonstrations=None,
)
