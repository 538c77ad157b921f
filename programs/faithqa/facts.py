"""The fact check of a response (appendix A.5.3): several draws, the most frequent verdict, then retrieval.

It tells hallucinations that are factually right from those that are not (Table 4).
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, get_args

import dspy

from ...signatures.faithqa import CheckByEvidence, CheckFacts, FactVerdict
from ...text.escaping import defuse
from ..judge import Judge
from ..stepwise import Steps, Stepwise
from .rows import FactRow, ForResponses

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
