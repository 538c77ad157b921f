"""Detectors that people already have as judges (CogniBench, Table 3), each named with its model.

=====================  ================================================================================================
``nli:MODEL``          a sentence is hallucinated unless the reference, or the dialogue before it, entails it;
                       ``nli-contradiction:MODEL`` only if they contradict it, which is how the paper ran its two NLI
                       detectors (appendix A.8.1)
``lettuce:MODEL``      a LettuceDetect model marks spans
``fava:MODEL``         a language model repeats the response with FAVA's tags around what is wrong
``ragtruth:MODEL``     a language model lists spans as RAGTruth's detectors do
``selfcheck:MODEL``    SelfCheckGPT: another response of the model is written for every sample, and a sentence is
                       hallucinated in that sample unless this response bears it out; the samples vote
=====================  ================================================================================================

Spans become labels of sentences as :mod:`.answers.spans` says. Rows are those of ``detector``. Where there is no
prompt, there is nothing to compile.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import dspy

from ..engines.detectors import Named
from ..engines.local import RULES, Relation, said_of
from ..signatures.cognibench import CompareWithSample, ListSpans, MarkErrors, RespondAnew, TagResponse
from ..text.escaping import defuse
from ..text.replies import data, without_drafts
from .answers.base import Answer
from .answers.sentences import Bare, numbered
from .answers.spans import Marked
from .cognibench import CLEAR, FOUND, TWO_LABELS, DetectorRow, detector_case
from .frozen import frozen
from .judge import Judge
from .stepwise import Making, Steps, Stepwise

SAMPLES: Mapping[str, int] = {"selfcheck": 5}
"""Kind -> how many samples it takes, unless a number is given; the others take one."""
_CORRECTION: Final = "mark"
TAGS: Final = (
    *("entity", "relation", "contradictory", "invented", "subjective", "unverifiable", "delete"),
    _CORRECTION,
)
"""FAVA's kinds of errors; inside of them the wrong words, and those that should stand in their place."""
_TAG: Final = re.compile(rf"<\s*(?:(/)\s*)?({'|'.join(TAGS)})\s*>", re.IGNORECASE)
_LIST: Final = ("hallucination list", "hallucination_list", "hallucinations")


def tagged(reply: str) -> dict[str, Any]:
    """Return the outermost marked spans of a text, and the text as it was: without tags and corrections."""
    # Where a tag has no partner, nobody knows what is marked, and nothing is returned.
    reply = without_drafts(reply, TAGS)
    text, spans, opened, at, corrections = "", list[tuple[int, int]](), list[tuple[str, int]](), 0, 0
    for tag in _TAG.finditer(reply):
        if not corrections:
            text += reply[at : tag.start()]
        at, name = tag.end(), tag[2].lower()
        if not tag[1]:
            opened.append((name, len(text)))
            corrections += name == _CORRECTION
        elif opened and opened[-1][0] == name:
            start = opened.pop()[1]
            corrections -= name == _CORRECTION
            if not opened and name != _CORRECTION:
                spans.append((start, len(text)))
        else:
            return {}
    return {} if opened else {"hallucinated": spans, "text": text + reply[at:]}


def listed(reply: str) -> dict[str, Any]:
    """Return the strings of the list in a reply: a JSON list, or the value of one of RAGTruth's keys."""
    # An item may be an object with the key ``text``, as in RAGTruth's own labels.
    try:
        found = data(without_drafts(reply))
    except ValueError:
        return {}
    if isinstance(found, dict):
        found = next((found[key] for key in found if str(key).lower() in _LIST), None)
    if not isinstance(found, list):
        return {}
    return {"hallucinated": [one.get("text", one) if isinstance(one, dict) else one for one in found]}


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


_SPANS = Marked(field="hallucinated", **TWO_LABELS)
_LABELS = Bare(field="labels", **TWO_LABELS)


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
