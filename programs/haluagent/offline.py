"""HaluAgent's questions and wrong answers as the offline engine writes them: years and numbers of a document."""

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ...engines.offline.filler import Inputs, Written, listed_entries
from ...engines.offline.sampler import Sampler
from ...text.ranking import letters
from ...text.sentences import split
from ...text.tables import read_table
from ...text.terms import numbers
from ...text.wording import is_chinese
from ..languages import in_english
from ..offline_writers import ANSWER_FIELDS, PASSAGE_FIELDS

Figure = Literal["year", "number"]

_PHRASES: Final = read_table(__package__, "offline")
_TYPES: Final[Mapping[Figure, str]] = {"year": "spatiotemporal", "number": "attribute"}
"""Kind of figure -> of which type a wrong one is (Table 1)."""

_FIGURE: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")
_YEAR: Final = re.compile(r"(?<!\d)\d{4}(?!\d)")
_ASKS_YEAR: Final = re.compile(r"\bwhen\b|\b(?:which|what) year\b|哪一?年|何时")
_ASKS_NUMBER: Final = re.compile(r"\bhow (?:many|much)\b|\bnumber\b|多少|什么数字")
_QUOTATION: Final = re.compile('["“].*["”]')
_CHOICE: Final = re.compile(r"^A[.)] ", re.M)
_TRUTH: Final = re.compile(r"true or false|“正确”或“错误”")
_LONGEST_SENTENCE: Final = 300  # characters of a sentence that a gap is made in
_LAST_YEAR: Final = 2020  # no year that is made up lies after it
_YEAR_STEPS: Final = (-23, -17, -12, -9, -6, 4, 7, 11, 16)
_FACTORS: Final = (0.4, 0.5, 0.6, 0.7, 1.3, 1.5, 1.8, 2.5)
_WRONG_ANSWERS: Final = 3


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A figure that a sentence states: its kind, and where it stands."""

    sentence: str
    kind: Figure
    start: int
    text: str

    @property
    def question(self) -> str:
        """The sentence with a gap, and what is to be put into it."""
        end = self.start + len(self.text)
        gapped = f"{self.sentence[: self.start]}____{self.sentence[end:]}"
        question: str = _phrases(self.sentence)[f"ask_{self.kind}"]
        return question.format(text=gapped.replace('"', "'"))


def gaps(document: str) -> list[Gap]:
    """Return the figures to ask for: those whose sentence says by itself what it is about, and states them once."""
    phrases = _phrases(document)
    document_gaps: list[Gap] = []
    for sentence in split(document):
        text = sentence.text
        if len(text) > _LONGEST_SENTENCE or "\n" in text or re.search(phrases["unclear"], text):
            continue
        document_gaps += _gaps_of_kind("year", text, phrases)
        document_gaps += _gaps_of_kind("number", text, phrases)
    return document_gaps


def _gaps_of_kind(kind: Figure, sentence: str, phrases: Mapping[str, str]) -> Iterator[Gap]:
    """Yield the figures of a kind that a sentence states once."""
    for match in re.finditer(phrases[kind], sentence):
        gap = Gap(sentence=sentence, kind=kind, start=match.start(), text=match[0])
        if letters(gap.text) not in letters(gap.question):
            yield gap


def wrong_figures(answer: str, question: str, passage: str, rng: random.Random) -> list[str]:
    """Return three figures of the answer's kind found in neither question nor passage; none if they are fewer."""
    kind = kind_of_figure(question, answer)
    if kind is None or not _FIGURE.fullmatch(answer):
        return []
    evidence = f"{question} {passage}"
    evidence_numbers = numbers(evidence)
    absent_figures: list[str] = []
    for figure in _figures_near(answer, kind, evidence):
        if not numbers(figure) & evidence_numbers:
            absent_figures.append(figure)
    if len(absent_figures) < _WRONG_ANSWERS:
        return []
    return rng.sample(absent_figures, _WRONG_ANSWERS)


def _figures_near(figure: str, kind: Figure, evidence: str) -> list[str]:
    if kind == "year":
        return _years_near(int(figure))
    return _amounts_near(figure, evidence)


def _years_near(year: int) -> list[str]:
    latest = max(year, _LAST_YEAR)
    years: list[str] = []
    for step in _YEAR_STEPS:
        if 1000 <= year + step <= latest:
            years.append(str(year + step))
    return years


def _amounts_near(figure: str, evidence: str) -> list[str]:
    """Return other amounts, written as the figure is; a share stays below 100 per cent."""
    value = float(figure.replace(",", ""))
    places = len(figure.partition(".")[2])
    highest = 100.0 if re.search(r"per ?cent|%", evidence) else float("inf")
    candidates = [round(value * factor, places) for factor in _FACTORS]
    if value < 10 and not places:
        candidates += [value + step for step in (1, 2, 3)]
    separator = "," if "," in figure else ""
    amounts: dict[float, str] = {}
    for amount in candidates:
        if 1 <= amount <= highest and amount != value:
            amounts[amount] = format(amount, f"{separator}.{places}f")
    return list(amounts.values())


def kind_of_figure(question: str, answer: str) -> Figure | None:
    """Return the kind of figure that a question asks for, where its words leave no doubt and the answer holds one."""
    words = _QUOTATION.sub("", question).lower()
    if _YEAR.search(answer) and _ASKS_YEAR.search(words):
        return "year"
    if _FIGURE.search(answer) and _ASKS_NUMBER.search(words):
        return "number"
    return None


def _phrases(text: str) -> dict[str, Any]:
    """Return the phrases and patterns of a text's language."""
    phrases: dict[str, Any] = _PHRASES["chinese" if is_chinese(text) else "english"]
    return phrases


def write_item(values: Inputs, sampler: Sampler) -> Written:
    """Write a question with its answer and the sentence that they come from."""
    document = max(values.values(), key=len, default="")
    title = values.get("title", "").strip()
    wanted_type = in_english(values.get("type"), "zh")
    document_gaps = [gap for gap in gaps(document) if wanted_type in (None, _TYPES[gap.kind])]
    if not document_gaps:
        return {}
    gap = document_gaps[0]
    if sampler.temperature > 0:
        gap = sampler.rng.choice(document_gaps)
    question = gap.question
    if title and letters(gap.text) not in letters(title):
        question = _phrases(document)["about"].format(title=title, question=question)
    item = {"question": question}
    item |= dict.fromkeys(ANSWER_FIELDS, gap.text)
    item |= dict.fromkeys(PASSAGE_FIELDS, gap.sentence)
    return item


def write_wrong_answers(values: Inputs, sampler: Sampler) -> Written:
    """Return wrong answers to a question whose answer is a year or a number."""
    question = values.get("question", "")
    answer = values.get("correct_answer", "")
    rng = sampler.rng
    if sampler.temperature <= 0:
        rng = random.Random(f"{question}/{answer}")
    return {"hallucinated_answers": wrong_figures(answer, question, values.get("passage", ""), rng)}


def write_types(values: Inputs, sampler: Sampler) -> Written:
    """Name the type of each wrong answer; of none, if one of them is of an unknown kind."""
    types: list[str] = []
    for answer in listed_entries(values["hallucinated_answers"]):
        kind = kind_of_figure(values.get("question", ""), answer)
        if kind is None:
            return {"types": []}
        types.append(_TYPES[kind])
    return {"types": types}


def write_type_check(values: Inputs, sampler: Sampler) -> Written:
    """Return whether the type of a wrong answer is that of the figure which the question asks for."""
    kind = kind_of_figure(values["question"], values["hallucinated_answer"])
    if kind is None:
        reason = "only years and numbers are told apart without a language model"
        return {"fits": "uncertain", "reason": reason}
    fits = "yes" if _TYPES[kind] == in_english(values["type"], "zh") else "no"
    return {"fits": fits, "reason": f"the question asks for a {kind}: {_TYPES[kind]}"}


def write_reply(values: Inputs, sampler: Sampler) -> Written:
    """Answer a question about the world: the first option, the first truth value, or that it is not known."""
    prompt = values["prompt"]
    if _CHOICE.search(prompt):
        return {"response": "A"}
    answer = "truth" if _TRUTH.search(prompt) else "unknown"
    return {"response": _phrases(prompt)[answer]}
