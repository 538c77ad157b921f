"""The NLI baseline of CogniBench's Table 3: each sentence is classified by itself against the reference.

``nli:MODEL`` calls a sentence hallucinated unless the reference, or the dialogue before it, entails it.
``nli-contradiction:MODEL`` does so only if they contradict it, which is how the paper ran its two NLI detectors
(appendix A.8.1). There is no prompt, so there is nothing to compile.
"""

from collections.abc import Sequence
from typing import Any

import dspy

from ..engines.local import Relation, said_of
from .detector import CLEAR, FOUND


class Entailment(dspy.Module):
    """Ask the classifier about all sentences of a response."""

    def __init__(self, model: str, decides: Relation) -> None:
        super().__init__()
        self.model, self.decides = model, decides

    async def aforward(self, reference: str, dialogue: str, sentences: Sequence[str]) -> dspy.Prediction:
        """Return ``labels``, one for each sentence, and as ``reasoning`` what the classifier said."""
        premise = f"{reference}\n{dialogue}" if dialogue else reference
        hypotheses = list(sentences)
        said = await said_of(model=self.model, premise=premise, hypotheses=hypotheses)
        told = list(enumerate(said if _is_told(said) else [], 1))
        return dspy.Prediction(
            labels=[{"n": n, "label": self._label(one["relation"])} for n, one in told],
            reasoning="; ".join(f"{n}. {one['relation']} {one['entailment']:.3f}" for n, one in told),
        )

    def _label(self, relation: Relation) -> str:
        if self.decides == "contradiction":
            return FOUND if relation == "contradiction" else CLEAR
        return CLEAR if relation == "entailment" else FOUND


def _is_told(said: Any) -> bool:
    """Whether what a classifier said is a list of relations: what is none labels nothing."""
    return isinstance(said, list) and all(
        isinstance(one, dict)
        and isinstance(one.get("relation"), str)
        and isinstance(one.get("entailment"), int | float)
        for one in said
    )
