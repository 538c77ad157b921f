"""Writing questions with a gap, wrong answers and their types, by rules (HaluAgent section 3.1).

A question is a sentence of the document with a name, number, date, place, work, property or relation left out.
Wrong answers put another of its kind there. Each step goes wrong in ways of its own on a share of texts that a hash of
the text picks, unless its instruction asks for what prevents it (``RULES``, data/qa.toml): an instruction can be
mended, and what it mends is measured by verifiers. It writes from patterns and understands nothing.
"""

import hashlib
import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...text.sentences import split
from ...text.terms import is_cjk, neutralise
from .criteria import instruction_sentences
from .decisions import Manner
from .history import normal, read_story
from .qa_kinds import DATA, RULES, Rule, Span, asked_for, fits_kind, spans, type_of
from .request import Ask

__all__ = ["is_qa_proposal", "is_qa_writing", "propose_qa", "write_qa"]

_STEPS: Final = {
    "question": "question",
    "hallucinated_answers": "hallucinations",
    "types": "label",
    "response": "reply",
}
"""The output field that tells a step -> the step."""
_ABOUT: Final = {
    "label": re.compile(r"type each hallucinated answer|幻觉答案属于哪种类型"),
    "hallucinations": re.compile(r"three hallucinated answers|写三个幻觉答案"),
    "question": re.compile(r"question about the document, and its correct answer|根据文档写一个问题"),
}
_INVENTED: Final = re.compile(r"Orvalla|奥瓦拉")
_YEAR: Final = re.compile(r"\d{3,4}")


def is_qa_writing(ask: Ask) -> bool:
    """Say whether a request is for a step that writes questions, wrong answers or their types."""
    names = {field.name for field in ask.outputs}
    return bool(
        {"question", "passage"} <= names
        or "hallucinated_answers" in names
        or ("types" in names and "hallucinated_answers" in ask.values)
        or _replying(ask, names)
    )


def _replying(ask: Ask, names: set[str]) -> bool:
    return names == {"response"} and ask.values.keys() == {"prompt"}


def write_qa(ask: Ask, manner: Manner) -> dict[str, Any]:
    """Return the output of a writing step."""
    step = next(_STEPS[field.name] for field in ask.outputs if field.name in _STEPS)
    found = _WRITERS[step](ask, manner)
    texts = {name: neutralise(value) if isinstance(value, str) else value for name, value in found.items()}
    return {field.name: texts.get(field.name, "") for field in ask.outputs}


def _slips(ask: Ask, step: str, text: str, manner: Manner) -> set[str]:
    """Return the rules that the step breaks on a text: those that its instruction does not ask for, on their share."""
    draw = manner.rng.random() if manner.temperature > 0 else 0.0
    return {
        rule.name
        for rule in RULES
        if rule.step == step
        and not re.search(rule.cue, ask.instruction.lower())
        and (_chance(f"{rule.name}/{text}") + draw) % 1.0 < rule.share
    }


def _chance(text: str) -> float:
    """Return a number in [0, 1) that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6], "big") / 2**48


def _question(ask: Ask, manner: Manner) -> dict[str, Any]:
    text, title = ask.values.get("knowledge", ""), ask.values.get("title", "")
    found = [span for sentence in split(text) for span in spans(sentence.text)]
    if not found:
        return {"question": "", "correct_answer": "", "passage": ""}
    span, words = _picked(found, text, manner), DATA["chinese" if is_cjk(text) else "english"]
    slips = _slips(ask, "question", text, manner)
    about = f"{title}：" if title and is_cjk(text) else f"{title}: " if title else ""
    question, answer, passage = about + span.question, span.text.strip('"'), span.sentence
    if "leak" in slips:
        question = words["leak"].format(question=question, answer=answer)
    if "verbatim" in slips:
        passage = words["told"].format(passage=passage)
    if "alone" in slips:
        answer = words["added"].format(answer=answer)
    return {"question": question, "correct_answer": answer, "passage": passage}


def _picked(found: Sequence[Span], text: str, manner: Manner) -> Span:
    """Return the span to ask for: a kind first, so that frequent kinds do not crowd out rare ones."""
    kinds = sorted({span.kind for span in found})
    draw = manner.rng.random() if manner.temperature > 0 else _chance(f"kind/{text}")
    kind = kinds[int(draw * len(kinds))]
    of_kind = [span for span in found if span.kind == kind]
    return of_kind[int(_chance(f"span/{text}") * len(of_kind))]


def _hallucinations(ask: Ask, manner: Manner) -> dict[str, Any]:
    question, answer = ask.values.get("question", ""), ask.values.get("correct_answer", "")
    words = DATA["chinese" if is_cjk(question) else "english"]
    key = f"{question}/{answer}"
    slips = _slips(ask, "hallucinations", key, manner)
    values = _others(asked_for(question), answer, random.Random(key), words)
    third = ("plain", "cited", "invented", "plain")[int(_chance(f"third/{key}") * 4)]
    if third != "plain":
        values[2] = words[third].format(value=values[2])
    if "contradict" in slips:
        values[0] = words["restated"].format(value=answer.rstrip(".。"))
    if "distinct" in slips:
        values[2] = values[1]
    if "plausible" in slips:
        values[1] = words["implausible"]
    return {"hallucinated_answers": [neutralise(value) for value in values]}


def _others(kind: str, answer: str, rng: random.Random, words: Mapping[str, Any]) -> list[str]:
    """Return three values of the answer's kind that differ from it and from each other."""
    if kind == "relation":
        return _relations(answer, words)
    if kind in ("time", "quantity") and re.search(r"\d", answer):
        steps = rng.sample([-31, -17, -6, -3, 4, 9, 14, 22], 3)
        return [_shifted(answer, step) for step in steps]
    pool = words[{"place": "places", "person": "persons", "work": "works"}.get(kind, "attributes")]
    found = rng.sample([value for value in pool if value.strip('"') != answer.strip('"')], 3)
    return [value.strip('"') for value in found]


def _shifted(answer: str, step: int) -> str:
    """Return an answer with its year, or else its first number, moved."""
    year = _YEAR.search(answer) or re.search(r"\d+", answer)
    if year is None:
        return answer
    value = int(year[0])
    moved = value + step if value > 40 else value + abs(step)
    return f"{answer[: year.start()]}{moved}{answer[year.end() :]}"


def _relations(answer: str, words: Mapping[str, Any]) -> list[str]:
    """Return the relation turned round, and two that deny a difference."""
    same = [str(one) for one in words["relations"]]
    two = re.match(r"比(.+?)(?:早建成|年长|[重长高大多少早晚小短轻])", answer)
    other = two[1] if two else ""
    turned = answer
    for word, opposite in DATA["opposites"].items():
        if re.search(rf"\b{word}\b" if word.isascii() else f"(?<!比){word}", turned):
            turned = turned.replace(word, opposite, 1)
            break
    else:
        turned = f"不{answer}" if two else f"by no means {answer}"
    return [turned, *(one.format(two=other) for one in same)]


def _labels(ask: Ask, manner: Manner) -> dict[str, Any]:
    question = ask.values.get("question", "")
    stated = {
        rule.name for rule in RULES if rule.step == "label" and re.search(rule.cue, ask.instruction.lower())
    }
    found = []
    for answer in _listed(ask.values.get("hallucinated_answers", "")):
        kind = type_of(question, answer, invented=bool(_INVENTED.search(answer)))
        if kind != "entity" and kind not in stated:
            # Without a definition it goes by the looks of the answer alone.
            kind = _by_looks(answer)
        found.append(kind)
    return {"types": found}


def _by_looks(answer: str) -> str:
    """Return the type that an answer suggests by itself, whatever the question asks for."""
    if fits_kind("time", answer):
        return "spatiotemporal"
    return "attribute" if re.search(r"\d", answer) else "entity"


def _listed(text: str) -> list[str]:
    """Return the entries of a list as an adapter shows it: JSON, or a line each, numbered in guillemets."""
    try:
        read = json.loads(text)
    except ValueError:
        return [re.sub(r"^\s*\[\d+\]\s*«?|»$", "", line) for line in text.splitlines() if line.strip()]
    return [str(one) for one in read] if isinstance(read, list) else [str(read)]


def _reply(ask: Ask, manner: Manner) -> dict[str, Any]:
    """Guess where there is something to choose from, by a hash of the prompt: nothing is known here of the world."""
    prompt = ask.values["prompt"]
    draw = manner.rng.random() if manner.temperature > 0 else _chance(prompt)
    if re.search(r"^D\. ", prompt, flags=re.M):
        return {"response": "ABCD"[int(draw * 4)]}
    chinese = is_cjk(prompt)
    if "true or false" in prompt or "“正确”或“错误”" in prompt:
        truth = draw < 0.5
        return {"response": ("正确" if truth else "错误") if chinese else str(truth)}
    return {"response": "不知道。" if chinese else "I do not know."}


_WRITERS: Final[Mapping[str, Callable[[Ask, Manner], dict[str, Any]]]] = {
    "question": _question,
    "hallucinations": _hallucinations,
    "label": _labels,
    "reply": _reply,
}


def is_qa_proposal(ask: Ask) -> bool:
    """Say whether a request is for the instruction of a writing step."""
    return _step_of(ask) != ""


def _step_of(ask: Ask) -> str:
    story = read_story(ask.values)
    base = " ".join((story.scored[0].text if story.scored else story.basic).split())
    return next((step for step, cue in _ABOUT.items() if cue.search(base)), "")


def propose_qa(ask: Ask, temperature: float, rng: random.Random) -> str:
    """Return an instruction with one to three rules more, those first that the reported failures call for."""
    story, step = read_story(ask.values), _step_of(ask)
    base = story.scored[0].text if story.scored else story.basic
    missing = [rule for rule in RULES if rule.step == step and not re.search(rule.cue, base.lower())]
    worth = {rule.name: _worth(rule, story.examples) for rule in missing}
    if temperature > 0:
        for name in worth:
            worth[name] -= math.log(-math.log(rng.random() or 1e-12)) * temperature * 0.5
    order = sorted(missing, key=lambda rule: -worth[rule.name])
    most = len(order) if temperature <= 0 else min(len(order), rng.choice((1, 2, 2, 3)))
    for size in range(most, 0, -1):
        text = _with(base, order[:size])
        if normal(text) not in story.shown:
            return text
    sentences = [one for one in instruction_sentences(base) if one]
    rng.shuffle(sentences)
    return " ".join(sentences) or base


def _worth(rule: Rule, reported: str) -> float:
    """Return how often the failures that are reported name what a rule prevents, as a share of the lines."""
    lines = [line for line in reported.splitlines() if re.match(r"\s*failed:", line)] or [reported]
    return 3.0 * sum(bool(re.search(rule.fails, line)) for line in lines) / len(lines)


def _with(base: str, rules: Sequence[Rule]) -> str:
    chinese = is_cjk(base)
    return "\n".join([base, *(rule.chinese if chinese else rule.english for rule in rules)])
