"""The fact check of a response (appendix A.5.3): several draws, the most frequent verdict, then retrieval.

It tells hallucinations that are factually right from those that are not (Table 4).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

import dspy

from ...signatures.faithqa import CheckByEvidence, CheckFacts, FactVerdict
from ...text.escaping import defuse
from ..judge import Judge
from ..stepwise import Steps, Stepwise
from .passages import passages_of
from .rows import FactRow, ForResponses, case_of

__all__ = ["DRAWS", "FACT_CHECK", "CheckThenRetrieve", "fact_check"]

DRAWS: Final = 5
"""Independent verdicts, of which the most frequent counts."""
_VERDICTS: Final = get_args(FactVerdict)


class CheckThenRetrieve(Stepwise):
    """Asks ``check`` five times; what is found wrong is checked again (``verify``) against passages, if there are any.

    Its prediction has ``verdict`` (``None`` if no draw could be read) and ``reasoning``: the draws, then the passages.

    Args:
        corpus: a file or folder of reference texts; without one, the first verdict stands.
    """

    def __init__(self, corpus: str = "") -> None:
        super().__init__()
        self.check = dspy.Predict(CheckFacts)
        self.verify = dspy.Predict(CheckByEvidence)
        self._corpus = corpus  # and not its passages: programs are copied

    def steps(self, **inputs: Any) -> Steps:
        """Vote, then verify what was found wrong. Among equally frequent verdicts the earliest counts."""
        drawn: Counter[str] = Counter()
        for _ in range(DRAWS):
            said = (yield self.check, inputs).get("verdict")
            drawn.update([said] if said in _VERDICTS else [])
        words = ", ".join(f"{count} {verdict}" for verdict, count in drawn.most_common()) or "no usable draw"
        if not drawn or not self._corpus or (verdict := drawn.most_common(1)[0][0]) == "accurate":
            return dspy.Prediction(verdict=next(iter(dict(drawn.most_common())), None), reasoning=words)
        found = passages_of(self._corpus).search(f"{inputs['query']} {inputs['response']}")
        if not found:
            return dspy.Prediction(verdict=verdict, reasoning=f"{words}; no passage bears on it")
        passages = defuse(found, tuple(CheckByEvidence.fields))
        again = (yield self.verify, {**inputs, "report": verdict, "passages": passages}).get("verdict")
        shown = "\n".join([f"{words}; checked again: {again}", *found])
        return dspy.Prediction(verdict=again if again in _VERDICTS else None, reasoning=shown)


FACT_CHECK: Final = Judge(
    name="fact-check",
    description="FAITHQA: are the facts of a response right and complete; five draws, the most frequent verdict",
    signature=CheckFacts,
    positive=frozenset({"inaccurate", "incomplete"}),
    program=CheckThenRetrieve,
    most_calls=DRAWS,
    rows=FactRow,
    to_case=case_of("verdict", ["query", "response"], lambda said: (said,)),
    expand=ForResponses(field="verdict"),
    unit="response",
)


@dataclass(frozen=True)
class _WithCorpus:
    """Makes the program with a corpus; a frozen value, so that equal judges are equal."""

    corpus: str

    def __call__(self) -> CheckThenRetrieve:
        return CheckThenRetrieve(self.corpus)


def fact_check(corpus: str) -> Judge:
    """Return ``fact-check-retrieval``: with a second verification against passages of a corpus.

    In every command: a file with ``judge = fact_check("reference/")``.

    Args:
        corpus: a file or folder, see :mod:`.passages`.

    Raises:
        UsageError: the corpus cannot be read.
    """
    passages_of(corpus)
    return replace(
        FACT_CHECK,
        name="fact-check-retrieval",
        variant="retrieval",
        description="FAITHQA: the same; errors found are checked again against passages of a corpus",
        program=_WithCorpus(corpus),
        most_calls=DRAWS + 1,
    )
