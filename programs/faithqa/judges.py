"""The judges of FAITHQA: constraints, satisfaction, Constraint Score, its baseline, facts (sections 4 and 6).

Which constraints a response satisfies is the model's to say. The fact check (appendix A.5.3) tells hallucinations that
are factually right from those that are not (Table 4): several draws, the most frequent verdict, then retrieval.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, get_args

import dspy

from ...signatures.faithqa import (
    CheckByEvidence,
    CheckFacts,
    FactVerdict,
    IntentRating,
    MapConstraints,
    SatisfiedConstraints,
    ScoreResponse,
)
from ...text.escaping import defuse
from ..answers.sentences import PerSentence
from ..judge import Judge
from ..stepwise import Plan, Steps, Stepwise, steps_of_flow
from .constraints import (
    MARKS,
    WEIGHTS,
    ConstraintSet,
    FactRow,
    Item,
    MapBySteps,
    MarkRow,
    QueryRow,
    ScoreOfConstraints,
    ScoreRow,
    demonstrations,
    for_responses,
)
from .scoring import TOP

_CARRIED: Final = ("programs.faithqa.scoring",)
DRAWS: Final = 5
"""Independent verdicts, of which the most frequent counts."""
_VERDICTS: Final = get_args(FactVerdict)
_DRAWN: Final = Plan(
    "most frequent", {"step": "check", "field": "verdict", "draws": DRAWS, "allowed": _VERDICTS}
)


class Satisfaction(Stepwise):
    """Marks all constraints in one call (``judge``); an empty response omits everything, and is not asked about.

    Its prediction has ``marks``: an item with ``n``, ``evidence`` and ``label`` for each constraint.
    """

    plan = Plan("marks of lines", {"step": "judge"}, _CARRIED)

    def __init__(self) -> None:
        super().__init__()
        self.judge = dspy.Predict(SatisfiedConstraints)


class CheckThenRetrieve(Stepwise):
    """Asks ``check`` five times; what is found wrong is checked again (``verify``) against passages, if there are any.

    Its prediction has ``verdict`` (``None`` if no draw could be read) and ``reasoning``: the draws, then the passages.
    """

    instead = "fact-check, which retrieves nothing"

    def __init__(self, search: Callable[[str], list[str]] | None = None) -> None:
        super().__init__()
        self.check = dspy.Predict(CheckFacts)
        self.verify = dspy.Predict(CheckByEvidence)
        self._search = search
        self.plan = _DRAWN if search is None else None

    def steps(self, **inputs: Any) -> Steps:
        """Vote, then verify what was found wrong."""
        voted = yield from steps_of_flow(_DRAWN, inputs)
        verdict, words = voted["verdict"], voted["reasoning"]
        if self._search is None or verdict in (None, "accurate"):
            return dspy.Prediction(**voted)
        passages = self._search(f"{inputs['query']} {inputs['response']}")
        if not passages:
            return dspy.Prediction(verdict=verdict, reasoning=f"{words}; no passage bears on it")
        verify_reply = yield self.verify, {**inputs, "report": verdict, "passages": defuse(passages)}
        verified = verify_reply.get("verdict")
        reasoning = "\n".join([f"{words}; checked again: {verified}"] + passages)
        if verified not in _VERDICTS:
            verified = None
        return dspy.Prediction(verdict=verified, reasoning=reasoning)


FACT_CHECK: Final = Judge(
    name="fact-check",
    description="FAITHQA: are the facts of a response right and complete; five draws, the most frequent verdict",
    signature=CheckFacts,
    positive=frozenset({"inaccurate", "incomplete"}),
    metric="f1",
    program=CheckThenRetrieve,
    most_calls=DRAWS,
    temperature=0.3,  # of appendix A.5.3: at 0 the draws would be one
    rows=FactRow,
    expand=partial(for_responses, field="verdict"),
    unit="response",
    bundled="faithqa-facts",
)


MOST_RATINGS: Final = 5
"""How often the baseline rates a response before it gives up."""
_GOLD: Final = "faithqa-mini"
_ITEMS: Final = ConstraintSet(field="constraints", unit="query", model=Item, key=("category", "anchor"))
_SCORE: Final = ScoreOfConstraints(
    field="score", unit="response", low=0, high=TOP, whole=False, top="perfect_rate"
)


class MapAndScore(Stepwise):
    """Maps the query (``map``), marks its constraints (``satisfaction``), and computes the score by code.

    Its prediction has ``score`` (``None`` if a step could not be read) and ``reasoning``: what is missing, then a
    line for each constraint with its priority, mark and evidence, then the band.
    """

    def __init__(self, weights: Mapping[str, float] = WEIGHTS) -> None:
        super().__init__()
        self.map = dspy.Predict(MapConstraints)
        self.satisfaction = Satisfaction()
        steps = ("map", "satisfaction.judge")
        settings = {"steps": steps, "weights": dict(weights), "labels": MARKS}
        self.plan = Plan("score of marks", settings, _CARRIED)


class AgreeingRating(Stepwise):
    """Asks for a rating until two agree (appendix A.4): at least twice, at most :data:`MOST_RATINGS` times.

    Its prediction has ``score``, ``None`` if no two agreed, and ``reasoning``: the ratings, and what the last one found
    omitted and misinterpreted.
    """

    plan = Plan(
        "until two agree",
        {
            "step": "rate",
            "field": "score",
            "most": MOST_RATINGS,
            "reasons": ("omission", "misinterpretation"),
        },
    )

    def __init__(self) -> None:
        super().__init__()
        self.rate = dspy.Predict(IntentRating)


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
    answer=PerSentence(field="marks", unit="constraints", labels=MARKS, positive=frozenset(MARKS[1:])),
    metric="f1",
    program=Satisfaction,
    rows=MarkRow,
    expand=partial(for_responses, field="marks"),
    bundled=_GOLD,
)
CONSTRAINT_SCORE: Final = Judge(
    name="constraint-score",
    description="FAITHQA: how much of a query's weight a response satisfies, 0 to 10",
    signature=ScoreResponse,
    answer=_SCORE,
    metric="mse",
    program=MapAndScore,
    rows=ScoreRow,
    expand=partial(for_responses, field="score"),
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
