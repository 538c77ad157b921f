"""Verifying questions and answers (HaluAgent, appendix A; C-FAITH section 4.2): a few measures, weighed and learned.

What is new in an answer beside its question is looked up in the sentence of the document that the question is about,
and compared with the correct answer; what the question asks for is compared with what the answer is. Demonstrations
move the weights, and the general strictness that an instruction asks for moves the threshold.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...text.terms import content_terms, numbers, sentences, shorten
from .criteria import shifts_for
from .decisions import Manner, drawn, given, with_bias
from .learning import fit, softmax
from .qa_kinds import DATA, asked_for, fits_kind, type_of
from .request import Ask

__all__ = ["check_qa", "is_qa_check"]

Values = Mapping[str, str]
_BIAS: Final = "bias"
_OPPOSITES: Final = {**DATA["opposites"], **{two: one for one, two in DATA["opposites"].items()}}


@dataclass(frozen=True, kw_only=True)
class _Check:
    """A verification: its measures, what they weigh for yes and for uncertain, and what its yes or no is called."""

    measure: Callable[[Values], dict[str, float]]
    yes: Mapping[str, float]
    uncertain: Mapping[str, float]
    reason: Callable[[Values, dict[str, float], bool], str]


def is_qa_check(ask: Ask) -> bool:
    """Say whether a request is for the verdict on an answer to a question."""
    return _field(ask) != ""


def _field(ask: Ask) -> str:
    given_ = ask.values.keys()
    needed = {
        "correct": {"knowledge", "question", "answer"},
        "hallucinated": {"knowledge", "question", "hallucinated_answer"},
        "fits": {"question", "hallucinated_answer", "type"},
        "conflict": {"question", "correct_answer", "response"},
    }
    names = [field.name for field in ask.outputs]
    return next((name for name in names if name in needed and needed[name] <= given_), "")


def check_qa(ask: Ask, manner: Manner) -> dict[str, Any]:
    """Return verdict and reason of a verification."""
    name = _field(ask)
    check, field = _CHECKS[name], next(field for field in ask.outputs if field.name == name)
    labels = field.shape.labels or ("True", "False")
    measured = check.measure(ask.values)
    weights = _weights(ask, check, name, labels, tuple(measured))
    row = with_bias(np.array([list(measured.values())], dtype=np.float64))
    chosen = labels[drawn([float(p) for p in softmax(row @ weights.T)[0]], manner)]
    said: dict[str, Any] = {name: chosen == "True" if set(labels) == {"True", "False"} else chosen}
    said["reason"] = check.reason(ask.values, measured, chosen in ("yes", "True"))
    return {one.name: said.get(one.name, "") for one in ask.outputs}


def _weights(
    ask: Ask, check: _Check, name: str, labels: tuple[str, ...], features: tuple[str, ...]
) -> NDArray[np.float64]:
    """Return a row of weights for each label: the prior, moved by the instruction and the demonstrations."""
    bias = shifts_for(ask.instruction).get(("support", _BIAS), 0.0)
    sides = {"yes": check.yes, "True": check.yes, "uncertain": check.uncertain}
    prior = np.array([[sides.get(label, {}).get(one, 0.0) for one in (*features, _BIAS)] for label in labels])
    prior[:, -1] += [bias if label in ("yes", "True") else 0.0 for label in labels]
    rows, gold = [], []
    for demo in ask.demos:
        said = str(given(demo, name))
        if said in labels and {one.name for one in ask.inputs} <= dict(demo.inputs).keys():
            rows.append(list(check.measure(dict(demo.inputs)).values()))
            gold.append(labels.index(said))
    if not rows:
        return prior
    sizes = np.ones(len(rows))
    return fit(with_bias(np.array(rows)), np.array(gold, dtype=np.int64), sizes, prior, labels)


def _fresh(answer: str, question: str) -> set[str]:
    """Return the terms of an answer that its question does not hold."""
    return set(content_terms(answer)) - set(content_terms(question))


def _share(part: set[str], whole: set[str]) -> float:
    return len(part & whole) / len(part) if part else 0.0


def _answer(values: Values) -> dict[str, float]:
    question, answer, knowledge = values["question"], values["answer"], values["knowledge"]
    new, asked = _fresh(answer, question), set(content_terms(question))
    fresh = new or set(content_terms(answer))
    lines = sentences(knowledge) or [""]
    best = max(lines, key=lambda line: _share(asked, set(content_terms(line))))
    missing = numbers(answer) - numbers(knowledge)
    # Chinese terms depend on what stands beside them: an answer that stands there letter by letter is held.
    literal = answer.strip(" .。")
    whole = 1.0 if literal and literal in knowledge else _share(fresh, set(content_terms(knowledge)))
    return {
        "best": 1.0 if literal and literal in best else _share(fresh, set(content_terms(best))),
        "whole": whole,
        "more": 1.0 - whole if fresh else 0.0,
        "numbers": float(bool(missing)),
        "misfit": float(not fits_kind(asked_for(question), answer)),
        "nothing": float(not new),
        "relation": float(asked_for(question) == "relation"),
    }


def _answer_reason(values: Values, found: dict[str, float], yes: bool) -> str:
    if yes:
        return f"the document holds it: {shorten(values['answer'], 80)}"
    if found["misfit"]:
        return "the answer is not of the kind that the question asks for"
    return "the document does not hold all of it: the answer says more than the document"


def _against(question: str, correct: str, said: str) -> dict[str, float]:
    """Return how a reply stands to the correct answer."""
    right, fresh, all_said = _fresh(correct, question), _fresh(said, question), set(content_terms(said))
    turned = float(_turned(correct, said))
    kept = _share(right, all_said) if right else float(not fresh) * (1.0 - turned)
    other = numbers(said) - numbers(correct) - numbers(question)
    return {
        "kept": kept * (1.0 - turned),
        "turned": turned,
        "other": 1.0 - _share(fresh, set(content_terms(correct))) if fresh else 0.0,
        "numbers": float(bool(other) and bool(numbers(correct))),
        "lost": float(bool(numbers(correct) - numbers(said) - numbers(question))),
    }


def _turned(correct: str, said: str) -> bool:
    """Whether a reply states a comparison the other way round: its sides or its word are exchanged, but not both."""
    word = next((one for one in _OPPOSITES if one in correct and one not in said), "")
    exchanged = bool(word) and _OPPOSITES[word] in said
    one, two = (list(content_terms(text)) for text in (correct, said))
    common = [term for term in dict.fromkeys(one) if term in two]
    order = [term for term in dict.fromkeys(two) if term in common]
    compared = bool(re.search(r"\bthan\b|比|不如", correct))
    swapped = compared and len(common) > 1 and common[0] != order[0]
    return swapped != exchanged


def _hallucination(values: Values) -> dict[str, float]:
    question, correct, said = values["question"], values["correct_answer"], values["hallucinated_answer"]
    kind = asked_for(question)
    alien = not _fresh(said, question) and kind != "relation"
    unlike = kind in ("place", "person", "work") and bool(
        re.match(r"[A-Z\"]", correct) and not re.search(r"[A-Z]", said)
    )
    misfit = not fits_kind(kind, said) or (bool(numbers(correct)) and not numbers(said)) or unlike or alien
    return {**_against(question, correct, said), "misfit": float(misfit)}


def _hallucination_reason(values: Values, found: dict[str, float], yes: bool) -> str:
    if yes:
        return "it replies to the question and goes against the correct answer"
    if found["misfit"]:
        return "it is not of the kind that the question asks for, so nobody would believe it"
    return "it says what the correct answer says"


def _label(values: Values) -> dict[str, float]:
    expected = _expected(values)
    kind = asked_for(values["question"])
    answers = (values["correct_answer"], values["hallucinated_answer"])
    return {
        "match": float(expected == values["type"]),
        "misfit": float(not all(fits_kind(kind, answer) for answer in answers)),
        "unclear": float(not kind),
    }


def _expected(values: Values) -> str:
    invented = bool(re.search(r"Orvalla|奥瓦拉", values["hallucinated_answer"]))
    return type_of(values["question"], values["hallucinated_answer"], invented=invented)


def _label_reason(values: Values, found: dict[str, float], yes: bool) -> str:
    if yes:
        return f"the question and the answers meet the definition of {values['type']}"
    if found["match"]:
        return "the answers are not what the question asks for"
    return f"it is rather of the type {_expected(values)}"


def _conflict(values: Values) -> dict[str, float]:
    silent = re.search(DATA["marks"]["silent"], values["response"].lower())
    return {
        **_against(values["question"], values["correct_answer"], values["response"]),
        "silent": float(bool(silent)),
    }


def _conflict_reason(values: Values, found: dict[str, float], yes: bool) -> str:
    return "it answers otherwise than the correct answer" if yes else "it agrees with the correct answer"


_CHECKS: Final[Mapping[str, _Check]] = {
    name: _Check(measure=measure, reason=reason, **DATA["check"][name])
    for name, measure, reason in (
        ("correct", _answer, _answer_reason),
        ("hallucinated", _hallucination, _hallucination_reason),
        ("fits", _label, _label_reason),
        ("conflict", _conflict, _conflict_reason),
    )
}
