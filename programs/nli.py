"""The NLI baseline of CogniBench's Table 3 as a judge: each sentence is classified by itself against the reference.

``nli:MODEL`` calls a sentence hallucinated unless the reference, or the dialogue before it, entails it.
``nli-contradiction:MODEL`` does so only if they contradict it, which is how the paper ran its two NLI detectors
(appendix A.8.1). There is no prompt, so there is nothing to compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.lm15 import Message, Request

from ..engines.nli import RULES, Relation, parted, question, read_answer
from ..signatures.cognibench import TagResponse
from .answers.sentences import Sentences
from .detector import CLEAR, FOUND, DetectorRow, detector_case
from .judge import Judge

__all__ = ["Entailment", "nli_judge"]


class Entailment(dspy.Module):
    """Ask the classifier about all sentences of a response.

    Args:
        model: which one, as :func:`jurist.engines.nli.parted` gives it.
        decides: the relation by which a sentence is told.
    """

    def __init__(self, model: str, decides: Relation) -> None:
        super().__init__()
        self.model, self.decides = model, decides

    async def aforward(self, reference: str, dialogue: str, sentences: Sequence[str]) -> dspy.Prediction:
        """Return ``labels``, one for each sentence, and as ``reasoning`` what the classifier said."""
        lm = dspy.settings.lm
        premise = f"{reference}\n{dialogue}" if dialogue else reference
        asked = Message.user(question(self.model, premise, sentences, self.decides))
        response = await lm.acall(Request(model=lm.model, messages=(asked,)))
        said = read_answer(response.message.text or "") or []
        return dspy.Prediction(
            labels=[
                {"n": number, "label": self._label(relation)} for number, (relation, _) in enumerate(said, 1)
            ],
            reasoning="; ".join(f"{n}. {relation} {p:.3f}" for n, (relation, p) in enumerate(said, 1)),
        )

    def _label(self, relation: Relation) -> str:
        if self.decides == "contradiction":
            return FOUND if relation == "contradiction" else CLEAR
        return CLEAR if relation == "entailment" else FOUND


@dataclass(frozen=True, kw_only=True)
class _AsTheyAre(Sentences):
    """One label for each sentence, for a program that takes the sentences themselves."""

    def render(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return dict(inputs)


def nli_judge(reference: str) -> Judge:
    """Return the judge of ``nli:MODEL`` or ``nli-contradiction:MODEL``; its rows are those of ``detector``."""
    rule, model = parted(reference)
    return Judge(
        name=rule,
        variant=model,
        description="a natural language inference model, asked about each sentence",
        signature=TagResponse,
        program=lambda: Entailment(model, RULES[rule]),
        answer=_AsTheyAre(
            field="labels", unit="sentences", labels=(CLEAR, FOUND), positive=frozenset({FOUND})
        ),
        rows=DetectorRow,
        to_case=detector_case,
        bundled="cognibench-mini",
    )
