"""The judges of FAITHQA: constraints, satisfaction, Constraint Score, its baseline, facts (sections 4 and 6).

Which constraints a response satisfies is the model's to say. The fact check (appendix A.5.3) tells hallucinations that
are factually right from those that are not (Table 4): several draws, the most frequent verdict, then retrieval.
"""

from dataclasses import replace
from functools import partial
from typing import Any, Final, get_args

from ...signatures.faithqa_labels import FactVerdict
from ..answers.labels import OneLabel
from ..answers.sentences import PerSentence
from ..judge import Judge, OwnProgram, own_signature
from .constraints import (
    MARKS,
    ConstraintSet,
    FactRow,
    Item,
    MarkRow,
    QueryRow,
    ScoreOfConstraints,
    ScoreRow,
    demonstrations,
    for_responses,
)
from .scoring import TOP

DRAWS: Final = 5
"""Independent verdicts, of which the most frequent counts."""
MOST_RATINGS: Final = 5
"""The ratings of a response after which the baseline gives up."""


def _of_query(name: str) -> Any:
    """Return a signature of a query by its name, for the declaration of a judge."""
    return own_signature("faithqa", name, "query")


def _of_response(name: str) -> Any:
    """Return a signature of a query and a response by its name, for the declaration of a judge."""
    return own_signature("faithqa", name, "query", "response")


def _program(name: str) -> OwnProgram:
    """Return the place of a program by its name."""
    return OwnProgram("faithqa.programs", name)


FACT_CHECK: Final = Judge(
    name="fact-check",
    description="FAITHQA: are the facts of a response right and complete; five draws, the most frequent verdict",
    signature=_of_response("CheckFacts"),
    answer=OneLabel(
        field="verdict",
        unit="response",
        values={verdict: verdict for verdict in get_args(FactVerdict)},
        positive=frozenset({"inaccurate", "incomplete"}),
    ),
    metric="f1",
    program=_program("CheckThenRetrieve"),
    most_calls=DRAWS,
    temperature=0.3,  # of appendix A.5.3: at 0 the draws would be one
    rows=FactRow,
    expand=partial(for_responses, field="verdict"),
    bundled="faithqa-facts",
)


_GOLD: Final = "faithqa-mini"
_ITEMS: Final = ConstraintSet(field="constraints", unit="query", model=Item, key=("category", "anchor"))
_SCORE: Final = ScoreOfConstraints(
    field="score", unit="response", low=0, high=TOP, whole=False, top="perfect_rate"
)


CONSTRAINTS: Final = Judge(
    name="constraints",
    description="FAITHQA: the intent constraints of a query, or what it lacks",
    signature=_of_query("MapConstraints"),
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
    signature=_of_query("MapConstraints"),
    program=_program("MapBySteps"),
    demonstrations=lambda case: {},
)
SATISFACTION: Final = Judge(
    name="satisfaction",
    description="FAITHQA: which constraints of a query a response satisfies, omits or misinterprets",
    signature=own_signature("faithqa", "SatisfiedConstraints", "query", "constraints", "response"),
    answer=PerSentence(field="marks", unit="constraints", labels=MARKS, positive=frozenset(MARKS[1:])),
    metric="f1",
    program=_program("Satisfaction"),
    rows=MarkRow,
    expand=partial(for_responses, field="marks"),
    bundled=_GOLD,
)
CONSTRAINT_SCORE: Final = Judge(
    name="constraint-score",
    description="FAITHQA: how much of a query's weight a response satisfies, 0 to 10",
    signature=_of_response("ScoreResponse"),
    answer=_SCORE,
    metric="mse",
    program=_program("MapAndScore"),
    rows=ScoreRow,
    expand=partial(for_responses, field="score"),
    demonstrations=lambda case: {},  # a score says nothing of the constraints behind it
    bundled=_GOLD,
)
INTENT_BASELINE: Final = replace(
    CONSTRAINT_SCORE,
    name="intent-baseline",
    description="FAITHQA's baseline: one rating from 1 to 10, given twice and again until two agree",
    signature=_of_response("IntentRating"),
    program=_program("AgreeingRating"),
    most_calls=MOST_RATINGS,
    demonstrations=None,
)
