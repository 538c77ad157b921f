"""Detectors that people already have as judges (CogniBench, Table 3), each named with its model.

=====================  ================================================================================================
``nli:MODEL``          a sentence is hallucinated unless reference or dialogue entail it; see :mod:`.nli`
``lettuce:MODEL``      a LettuceDetect model marks spans
``fava:MODEL``         a language model repeats the response with FAVA's tags around what is wrong
``ragtruth:MODEL``     a language model lists spans as RAGTruth's detectors do
``selfcheck:MODEL``    SelfCheckGPT: another response of the model is written for every sample, and a sentence is
                       hallucinated in that sample unless this response bears it out; the samples vote
=====================  ================================================================================================

Spans become labels of sentences as :mod:`.answers.spans` says. Rows are those of ``detector``.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import dspy

from ..engines.detectors import Named
from ..engines.local import RULES, said_of
from ..signatures.cognibench import TagResponse
from ..signatures.detector import CompareWithSample, ListSpans, MarkErrors, RespondAnew
from ..text.escaping import defuse
from .answers.base import Answer
from .answers.sentences import Bare, numbered
from .answers.spans import Marked
from .detector import LISTED, DetectorRow, detector_case
from .frozen import frozen
from .judge import Judge
from .marked import TAGS, listed, tagged
from .nli import Entailment
from .stepwise import Making, Steps, Stepwise

SAMPLES: Mapping[str, int] = {"selfcheck": 5}
"""Kind -> how many samples it takes, unless a number is given; the others take one."""


class Marking(dspy.Module):
    """Ask a language model in one plain message, as detectors are trained that answer with marked text."""

    def __init__(
        self, signature: type[dspy.Signature], read: Callable[[str], Mapping[str, Any]], ends: str
    ) -> None:
        super().__init__()
        self.signature, self.read, self.ends = signature, read, ends

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Return what the reply marks; nothing if it cannot be read."""
        safe = defuse(inputs, TAGS)
        titles = {"reference": "References", "dialogue": "Dialogue", "sentences": "Text"}
        parts = [f"[{title}]\n{safe[name]}" for name, title in titles.items() if safe[name]]
        (said,) = await dspy.settings.lm.acall("\n\n".join([self.signature.instructions, *parts, self.ends]))
        return dspy.Prediction(**self.read(said if isinstance(said, str) else said["text"] or ""))


class Lettuce(dspy.Module):
    """Ask the token classifier."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self.model = model

    async def aforward(self, reference: str, dialogue: str, sentences: str) -> dspy.Prediction:
        """Return the spans; nothing if the response is too long for the model, or what it says are no spans."""
        shown = {"reference": reference, "dialogue": dialogue, "response": sentences}
        said = await said_of(model=self.model, **shown)
        return dspy.Prediction(hallucinated=_spans(said), text=sentences)


def _spans(said: Any) -> list[tuple[int, int]] | None:
    """Return the (start, end) pairs that a classifier said; ``None`` if it said something else."""
    if not isinstance(said, list):
        return None
    spans = [
        tuple(one) for one in said if isinstance(one, list) and [type(place) for place in one] == [int, int]
    ]
    return spans if len(spans) == len(said) else None


class SelfCheck(Stepwise):
    """Write another response (``respond``), and hold the sentences against it (``compare``)."""

    def __init__(self, checker: str) -> None:
        super().__init__()
        self.by_nli = bool(checker)
        self.respond = dspy.Predict(RespondAnew)
        self.compare = frozen(
            Entailment(checker, "contradiction") if checker else dspy.Predict(CompareWithSample)
        )

    def steps(self, **inputs: Any) -> Steps:
        """Respond, then compare."""
        sentences = inputs.pop("sentences")
        sample = (yield self.respond, inputs).get("response") or ""
        if not sample.strip():
            return dspy.Prediction(labels=[])
        if self.by_nli:
            return (yield self.compare, {"reference": sample, "dialogue": "", "sentences": sentences})
        return (yield self.compare, {"reference": sample, "sentences": numbered(sentences)})


def named_judge(named: Named) -> Judge:
    """Return the judge of a detector that is named with its model; its rows are those of ``detector``."""
    description, answer, program = _parts(named)
    return Judge(
        name=named.kind,
        variant=named.model,
        description=description,
        signature=ListSpans if answer is _SPANS else TagResponse,
        program=program,
        answer=answer,
        metric="f1",
        rows=DetectorRow,
        to_case=detector_case,
        bundled="cognibench-mini",
        most_calls=2 if named.kind == "selfcheck" else 1,
    )


_SPANS = replace(LISTED, form=Marked())
_LABELS = replace(_SPANS, field="labels", form=Bare())


def _parts(named: Named) -> tuple[str, Answer, Making]:
    """Return description, answer and program."""
    match named.kind:
        case "lettuce":
            return "a LettuceDetect model", _SPANS, Making(Lettuce, (named.model,))
        case "fava":
            return "text with FAVA's tags", _SPANS, Making(Marking, (MarkErrors, tagged, "[Edited]"))
        case "ragtruth":
            return "RAGTruth's list of spans", _SPANS, Making(Marking, (ListSpans, listed, "[JSON]"))
        case "selfcheck":
            checker = named.checker.partition(":")[2]
            return "SelfCheckGPT: agreement with other responses", _LABELS, Making(SelfCheck, (checker,))
        case rule:
            about = "a natural language inference model, asked about each sentence"
            return about, _LABELS, Making(Entailment, (named.model, RULES[rule]))
