"""The judges of FAITHQA: constraints, satisfaction, Constraint Score and its baseline (sections 4, 6 and A.4)."""

from collections import Counter
from dataclasses import replace
from typing import Any, Final

import dspy

from ...signatures.faithqa import IntentRating, MapConstraints, SatisfiedConstraints, ScoreResponse
from ...text.escaping import defuse
from ..answers.reading import by_number, member
from ..answers.score import Score
from ..answers.sentences import Sentences
from ..judge import Judge
from ..stepwise import Making, Steps, Stepwise
from .constraints import Item, constraints_of, lines_of, missing_of
from .facts import FACT_CHECK
from .mapping import ConstraintSet, MapBySteps, demonstrations, items_of
from .rows import ForResponses, MarkRow, QueryRow, ScoreRow
from .satisfaction import Satisfaction
from .scoring import DEFAULT_WEIGHTS, MARKS, PRIORITY, TOP, Weights, band, constraint_score

MOST_RATINGS: Final = 5
"""How often the baseline rates a response before it gives up."""
_GOLD: Final = "faithqa-mini"
_ITEMS: Final = ConstraintSet(field="constraints", unit="query", model=Item, key=("category", "anchor"))
_SCALE: Final = Score(field="score", unit="response", low=0, high=TOP, whole=False, top="perfect_rate")


class MapAndScore(Stepwise):
    """Maps the query (``map``), marks its constraints (``satisfaction``), and computes the score by code.

    Its prediction has ``score`` (``None`` if a step could not be read) and ``reasoning``: what is missing, then a
    line for each constraint with its priority, mark and evidence, then the band.
    """

    def __init__(self, weights: Weights = DEFAULT_WEIGHTS) -> None:
        super().__init__()
        self.map = dspy.Predict(MapConstraints)
        self.satisfaction = Satisfaction()
        self._weights = weights

    def steps(self, **inputs: Any) -> Steps:
        """Ask at most twice: what code can check is not asked."""
        query = inputs["query"]
        items, rejected = items_of((yield self.map, {"query": query}), query)
        constraints = constraints_of(items or ())
        if not constraints:
            return dspy.Prediction(score=None, reasoning="no constraint that the query supports")
        # What a model wrote goes into the next prompt: it must not look like a field of it.
        lines = defuse(lines_of(constraints))
        marked = yield self.satisfaction, {**inputs, "constraints": lines}
        marks = by_number(marked.get("marks"), MARKS)
        if set(marks) != set(range(1, len(constraints) + 1)):
            return dspy.Prediction(score=None, reasoning="not every constraint was marked")
        satisfied, shown = [], [f"missing: {part}" for part in missing_of(items or ())]
        for number, one in enumerate(constraints, 1):
            label, evidence = (member(marks[number], name) for name in ("label", "evidence"))
            satisfied.append(label == "satisfied")
            shown.append(f"{PRIORITY[one.category]} {one.category} ({one.text}): {label}: {evidence or ''}")
        score = constraint_score([one.category for one in constraints], satisfied, self._weights)
        shown += [f"{rejected} constraints rejected"] if rejected else []
        return dspy.Prediction(score=score, reasoning="\n".join([*shown, f"{score:.2f}: {band(score)}"]))


class AgreeingRating(Stepwise):
    """Asks for a rating until two agree (appendix A.4): at least twice, at most :data:`MOST_RATINGS` times.

    Its prediction has ``score``, ``None`` if no two agreed, and ``reasoning``: the ratings.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rate = dspy.Predict(IntentRating)

    def steps(self, **inputs: Any) -> Steps:
        """Rate again as long as no rating came twice."""
        given: Counter[Any] = Counter()
        agreed = None
        while agreed is None and given.total() < MOST_RATINGS:
            said = (yield self.rate, inputs).get("score")
            given[said] += 1
            agreed = said if said is not None and given[said] > 1 else None
        words = ", ".join(map(str, given.elements()))
        return dspy.Prediction(score=agreed, reasoning=f"ratings: {words}")


CONSTRAINTS: Final = Judge(
    name="constraints",
    description="FAITHQA: the intent constraints of a query, or what it lacks",
    signature=MapConstraints,
    answer=_ITEMS,
    metric="f1",
    rows=QueryRow,
    demonstrations=demonstrations,
    bundled=_GOLD,
)
CONSTRAINTS_STEPS: Final = replace(
    CONSTRAINTS,
    name="constraints-steps",
    variant="steps",
    description="FAITHQA: the same in three calls: what is missing, the core elements, the constraints",
    program=MapBySteps,
    demonstrations=lambda case: {},
)
SATISFACTION: Final = Judge(
    name="satisfaction",
    description="FAITHQA: which constraints of a query a response satisfies, omits or misinterprets",
    signature=SatisfiedConstraints,
    answer=Sentences(field="marks", unit="constraints", labels=MARKS, positive=frozenset(MARKS[1:])),
    metric="f1",
    program=Satisfaction,
    rows=MarkRow,
    expand=ForResponses(field="marks"),
    bundled=_GOLD,
)
CONSTRAINT_SCORE: Final = Judge(
    name="constraint-score",
    description="FAITHQA: how much of a query's weight a response satisfies, 0 to 10",
    signature=ScoreResponse,
    answer=_SCALE,
    metric="mse",
    program=MapAndScore,
    rows=ScoreRow,
    expand=ForResponses(field="score"),
    demonstrations=lambda case: {},  # a score says nothing of the constraints behind it
    bundled=_GOLD,
)
INTENT_BASELINE: Final = replace(
    CONSTRAINT_SCORE,
    name="intent-baseline",
    description="FAITHQA's baseline: one rating from 1 to 10, given twice and again until two agree",
    signature=IntentRating,
    program=AgreeingRating,
    most_calls=MOST_RATINGS,
    demonstrations=None,
)
FAITHQA_JUDGES: Final = (
    CONSTRAINTS,
    CONSTRAINTS_STEPS,
    SATISFACTION,
    CONSTRAINT_SCORE,
    INTENT_BASELINE,
    FACT_CHECK,
)
"""The judges of intent hallucination."""


def constraint_score_judge(weights: Weights) -> Judge:
    """Return ``constraint-score`` with other weights, under a name of its own: ``constraint-score-5-3-1``.

    In every command: a file with ``judge = constraint_score_judge(Weights(mandatory=5, important=3, optional=1))``.
    """
    values = (weights.mandatory, weights.important, weights.optional)
    name = "-".join(["constraint-score", *(f"{value:g}".replace(".", "p") for value in values)])
    return replace(CONSTRAINT_SCORE, name=name, variant="weighted", program=Making(MapAndScore, (weights,)))
