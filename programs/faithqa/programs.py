"""The programs of FAITHQA's judges: what is asked in which order (sections 3, 4 and 6, appendices A.4 and A.5.3)."""

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

import dspy

from ...signatures.faithqa import (
    CheckByEvidence,
    CheckFacts,
    CoreElements,
    ExtractConstraints,
    IntentRating,
    MapConstraints,
    MissingInputs,
    SatisfiedConstraints,
)
from ...signatures.faithqa_labels import FactVerdict
from ...text.escaping import defuse
from ..stepwise import Plan, Steps, Stepwise, steps_of_flow
from .constraints import MARKS, WEIGHTS
from .judges import DRAWS, MOST_RATINGS

_CARRIED: Final = ("programs.faithqa.scoring",)
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


class MapBySteps(Stepwise):
    """Three calls, each tuned by itself: what is missing, the core elements, the constraints."""

    plan = Plan(
        "mapped by steps",
        {"steps": ("missing", "core", "extract"), "elements": ("subject", "action", "context")},
    )

    def __init__(self) -> None:
        super().__init__()
        self.missing = dspy.Predict(MissingInputs)
        self.core = dspy.Predict(CoreElements)
        self.extract = dspy.Predict(ExtractConstraints)


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
