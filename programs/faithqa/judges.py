"""The judges of FAITHQA: constraints, satisfaction, Constraint Score, its baseline, facts (sections 4 and 6).

Which constraints a response satisfies is the model's to say; code corrects what can be counted beyond doubt. The fact
check (appendix A.5.3) tells hallucinations that are factually right from those that are not (Table 4): several draws,
the most frequent verdict, then retrieval.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, get_args

import dspy

from ...signatures.faithqa import (
    CheckByEvidence,
    CheckFacts,
    FactVerdict,
    IntentRating,
    Judgement,
    MapConstraints,
    SatisfiedConstraints,
    ScoreResponse,
)
from ...text.escaping import defuse
from ..answers.base import Inputs, Places, Reading, Reply, Shares, member
from ..answers.sentences import PerSentence
from ..answers.whole import Score
from ..flows import FLOWS, once
from ..judge import Judge
from ..stepwise import Making, Plan, Steps, Stepwise
from .checks import marked, refused
from .constraints import (
    DEFAULT_WEIGHTS,
    MARKS,
    ConstraintSet,
    FactRow,
    ForResponses,
    Item,
    MapBySteps,
    MarkRow,
    QueryRow,
    ScoreRow,
    Weights,
    demonstrations,
)
from .scoring import BY_CODE, TOP, all_omitted, parse_lines, score_of_marks

_AGAINST: Final = "; the model said "
COUNTED: Final = "marks by code"
DIFFERENT: Final = "where the model differs"
"""What is counted of marks beside their values: those that code gave, and those that the model gave otherwise."""


class Satisfaction(Stepwise):
    """Marks all constraints in one call (``judge``); where code has no doubt, its mark stands (:mod:`.checks`).

    Its prediction has ``marks``: an item with ``n``, ``evidence`` and ``label`` for each constraint. A response that is
    empty, or says no more than that it declines what the query asks, omits everything, and is not asked about.
    ``by_code=False`` leaves all but empty responses to the model.
    """

    instead = "satisfaction-model, whose marks are all the model's"

    def __init__(self, by_code: bool = True) -> None:
        super().__init__()
        self.judge = dspy.Predict(SatisfiedConstraints)
        self.plan = None if by_code else Plan("marks of lines", {"step": "judge"}, _CARRIED)

    def steps(self, **inputs: Any) -> Steps:
        """Ask, then correct what can be counted, under the constraints' own numbers."""
        if self.plan is not None:
            return (yield from super().steps(**inputs))
        constraints, response = parse_lines(str(inputs["constraints"])), str(inputs["response"])
        asked_for = all(one.anchor for one in constraints.values())  # else it is to say what the query lacks
        declines = asked_for and refused(response)
        if constraints and (
            declines or not response.strip()
        ):  # what must not occur is no exception (section 3.2)
            why = "the response declines" if declines else "the response is empty"
            return dspy.Prediction(marks=all_omitted(constraints, why))
        said = (yield self.judge, inputs).get("marks")
        items = list(said) if isinstance(said, list | tuple) else []
        found = {n: marked(one.text, response) for n, one in constraints.items()}
        rest = [member(item, "label") for item in items if not found.get(member(item, "n"))]
        for number, counted in found.items():
            # A count says nothing for a response in which nothing else is that was asked for.
            if counted and (not rest or "satisfied" in rest or counted[0] != "satisfied"):
                mark, evidence = counted
                other = {member(item, "label") for item in items if member(item, "n") == number} - {mark}
                against = _AGAINST + ", ".join(map(str, other)) if other else ""
                item = Judgement(n=number, evidence=BY_CODE + evidence + against, label=mark)
                said_of_it = [member(one, "n") == number for one in items]
                items = [item if its else one for one, its in zip(items, said_of_it, strict=True)]
                items += [] if any(said_of_it) else [item]
        return dspy.Prediction(marks=items)


@dataclass(frozen=True, kw_only=True)
class Marks(PerSentence):
    """A mark for each constraint, and how many code gave and where the model said otherwise."""

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Reading:
        """Return the marks with these counts."""
        shown = [str(member(item, "evidence") or "") for item in reply.get(self.field) or ()]
        counted = [text for text in shown if text.startswith(BY_CODE)]
        counts = {COUNTED: len(counted), DIFFERENT: sum(_AGAINST in text for text in counted)}
        return replace(super().read(reply, inputs, places), counts=counts)

    def probabilities(self, reply: Reply, said: Sequence[Shares], inputs: Inputs) -> tuple[Shares, ...]:
        """Return those of the model's marks; what was counted is sure."""
        sure = {
            member(item, "n"): {member(item, "label"): 1.0}
            for item in reply.get(self.field) or ()
            if str(member(item, "evidence") or "").startswith(BY_CODE)
        }
        return tuple(sure.get(n, one) for n, one in enumerate(super().probabilities(reply, said, inputs), 1))


_CARRIED: Final = ("programs.faithqa.scoring",)
_SCORED: Final = "score of marks"
DRAWS: Final = 5
"""Independent verdicts, of which the most frequent counts."""
_VERDICTS: Final = get_args(FactVerdict)
_DRAWN: Final = Plan(
    "most frequent", {"step": "check", "field": "verdict", "draws": DRAWS, "allowed": _VERDICTS}
)


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
        drawn = yield from FLOWS[_DRAWN.flow](inputs, **_DRAWN.settings)
        verdict, words = drawn["verdict"], drawn["reasoning"]
        if self._search is None or verdict in (None, "accurate"):
            return dspy.Prediction(**drawn)
        found = self._search(f"{inputs['query']} {inputs['response']}")
        if not found:
            return dspy.Prediction(verdict=verdict, reasoning=f"{words}; no passage bears on it")
        passages = defuse(found)
        again = (yield self.verify, {**inputs, "report": verdict, "passages": passages}).get("verdict")
        shown = "\n".join([f"{words}; checked again: {again}", *found])
        return dspy.Prediction(verdict=again if again in _VERDICTS else None, reasoning=shown)


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
    expand=ForResponses(field="verdict"),
    unit="response",
    bundled="faithqa-facts",
)


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

    instead = "constraint-score-model, whose marks are all the model's"

    def __init__(self, weights: Weights = DEFAULT_WEIGHTS, by_code: bool = True) -> None:
        super().__init__()
        self.map = dspy.Predict(MapConstraints)
        self.satisfaction = Satisfaction(by_code)
        settings: dict[str, Any] = {"weights": asdict(weights), "labels": MARKS}
        self.plan = (
            None if by_code else Plan(_SCORED, {**settings, "steps": ("map", "satisfaction.judge")}, _CARRIED)
        )
        self._settings = settings

    def steps(self, **inputs: Any) -> Steps:
        """Ask for the constraints, then for the marks."""
        if self.plan is not None:
            return (yield from super().steps(**inputs))
        steps = ("map", "satisfaction")
        scored = yield from score_of_marks(inputs, steps, **self._settings, marking=once)
        return dspy.Prediction(**scored)


class AgreeingRating(Stepwise):
    """Asks for a rating until two agree (appendix A.4): at least twice, at most :data:`MOST_RATINGS` times.

    Its prediction has ``score``, ``None`` if no two agreed, and ``reasoning``: the ratings.
    """

    plan = Plan("until two agree", {"step": "rate", "field": "score", "most": MOST_RATINGS})

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
    answer=Marks(field="marks", unit="constraints", labels=MARKS, positive=frozenset(MARKS[1:])),
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
_BY_MODEL: Final = tuple(
    replace(
        judge,
        name=f"{judge.name}-model",
        variant="model",
        description=f"{judge.description}; all marks are the model's, none is counted by code",
        program=Making(program, given),
    )
    for judge, program, given in (
        (SATISFACTION, Satisfaction, (False,)),
        (CONSTRAINT_SCORE, MapAndScore, (DEFAULT_WEIGHTS, False)),
    )
)
FAITHQA_JUDGES: Final = (
    CONSTRAINTS,
    CONSTRAINTS_STEPS,
    SATISFACTION,
    CONSTRAINT_SCORE,
    *_BY_MODEL,
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
