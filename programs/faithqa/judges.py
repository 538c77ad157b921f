"""The judges of FAITHQA: constraints, satisfaction, Constraint Score, its baseline, facts (sections 4 and 6).

Which constraints a response satisfies is told by code where a program can see it, by a model otherwise: what code has
decided is never asked for, and is marked so in the evidence. The fact check (appendix A.5.3) tells hallucinations that
are factually right from those that are not (Table 4): several draws, the most frequent verdict, then retrieval.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, get_args

import dspy

from ...signatures.faithqa import (
    CheckByEvidence,
    CheckFacts,
    Constraint,
    FactVerdict,
    IntentRating,
    Judgement,
    MapConstraints,
    Mark,
    SatisfiedConstraints,
    ScoreResponse,
)
from ...text.escaping import defuse
from ..answers.base import by_number, member
from ..answers.sentences import PerSentence
from ..answers.whole import Score
from ..judge import Judge
from ..stepwise import Making, Steps, Stepwise
from .checks import check_of
from .constraints import (
    DEFAULT_WEIGHTS,
    MARKS,
    PRIORITY,
    TOP,
    FactRow,
    ForResponses,
    Item,
    MarkRow,
    QueryRow,
    ScoreRow,
    Weights,
    band,
    constraint_score,
    constraints_of,
    lines_of,
    missing_of,
    parse_lines,
)
from .mapping import ConstraintSet, MapBySteps, demonstrations, items_of

BY_CODE: Final = "counted by a program: "
"""How the evidence of a mark begins that no model gave."""


_NOTHING: Final = BY_CODE + "the response is empty"


def checked(constraint: Constraint, response: str) -> tuple[Mark, str] | None:
    """Return the mark that code gives and its evidence, or ``None`` where it cannot see it.

    Less than was asked is omitted, anything else that is not met is misinterpreted.
    """
    check = check_of(constraint.text, constraint.anchor)
    found = check.verify(response) if check else None
    if found is None or found.holds is None:
        return None
    mark: Mark = "satisfied" if found.holds else "omitted" if found.lacking else "misinterpreted"
    return mark, BY_CODE + found.evidence


class Satisfaction(Stepwise):
    """Marks each constraint: one call (``judge``), or none if code can see all of them.

    Its prediction has ``marks``: an item with ``n``, ``evidence`` and ``label`` for each constraint.
    """

    def __init__(self) -> None:
        super().__init__()
        self.judge = dspy.Predict(SatisfiedConstraints)

    def steps(self, **inputs: Any) -> Steps:
        """Check by code, then ask for the rest under their own numbers."""
        lines, response = str(inputs["constraints"]), str(inputs["response"])
        if not response.strip():  # what must not occur is no exception: nothing was addressed (section 3.2)
            return dspy.Prediction(
                marks=[
                    Judgement(n=_number(line), evidence=_NOTHING, label="omitted")
                    for line in lines.splitlines()
                ]
            )
        marks = {
            number: Judgement(n=number, evidence=found[1], label=found[0])
            for number, one in parse_lines(lines).items()
            if (found := checked(one, response))
        }
        rest = "\n".join(line for line in lines.splitlines() if _number(line) not in marks)
        if not rest:
            return dspy.Prediction(marks=list(marks.values()))
        said = (yield self.judge, {**inputs, "constraints": rest}).get("marks")
        items = said if isinstance(said, list | tuple) else ()
        return dspy.Prediction(
            marks=[*marks.values(), *(item for item in items if member(item, "n") not in marks)]
        )


def _number(line: str) -> int:
    head = line.strip().partition(".")[0]
    return int(head) if head.isdecimal() else 0


DRAWS: Final = 5
"""Independent verdicts, of which the most frequent counts."""
_VERDICTS: Final = get_args(FactVerdict)


class CheckThenRetrieve(Stepwise):
    """Asks ``check`` five times; what is found wrong is checked again (``verify``) against passages, if there are any.

    Its prediction has ``verdict`` (``None`` if no draw could be read) and ``reasoning``: the draws, then the passages.
    """

    def __init__(self, search: Callable[[str], list[str]] | None = None) -> None:
        super().__init__()
        self.check = dspy.Predict(CheckFacts)
        self.verify = dspy.Predict(CheckByEvidence)
        self._search = search

    def steps(self, **inputs: Any) -> Steps:
        """Vote, then verify what was found wrong. Among equally frequent verdicts the earliest counts."""
        drawn: Counter[str] = Counter()
        for _ in range(DRAWS):
            said = (yield self.check, inputs).get("verdict")
            drawn.update([said] if said in _VERDICTS else [])
        words = ", ".join(f"{count} {verdict}" for verdict, count in drawn.most_common()) or "no usable draw"
        if not drawn or self._search is None or (verdict := drawn.most_common(1)[0][0]) == "accurate":
            return dspy.Prediction(verdict=next(iter(dict(drawn.most_common())), None), reasoning=words)
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
    answer=PerSentence(field="marks", unit="constraints", labels=MARKS, positive=frozenset(MARKS[1:])),
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
