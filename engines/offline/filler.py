"""What the engine writes, few and right: sentences of the longest input, gaps in them, other figures."""

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...text.evidence import index_evidence, term_set
from ...text.ranking import letters
from ...text.sentences import split
from ...text.tables import table
from ...text.terms import neutralise, numbers
from ...text.wording import count_words, is_chinese
from .decisions import Manner
from .request import Ask, Kind

_DATA: Final = table(__package__, "filler")
_ANSWERS: Final = frozenset({"answer", "correct_answer"})
_PASSAGES: Final = frozenset({"passage", "quote", "evidence", "sentence"})
_FIGURE: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")
_CHOICE: Final = re.compile(r"^A[.)] ", re.M)
_TRUTH: Final = re.compile(r"true or false|“正确”或“错误”")
_LENGTH: Final = re.compile(r"(\d+)(?:\D+(\d+))?")
_USUAL_LENGTH: Final = (40, 120)
_LONGEST: Final = 300  # characters of a sentence that a gap is made in
_LAST_YEAR: Final = 2020  # no year that is made up lies after it
_YEARS: Final = (-23, -17, -12, -9, -6, 4, 7, 11, 16)
_FACTORS: Final = (0.4, 0.5, 0.6, 0.7, 1.3, 1.5, 1.8, 2.5)

_LABEL: Final = re.compile(
    r"^[ \t]*(?P<name>query|article|response|问题|文章|回答)[ \t]*(?P<number>\d{0,2})[ \t]*[:：]", re.I | re.M
)
_PARTS: Final = {"问题": "query", "文章": "article", "回答": "response"}
# a clause ends at "and"; the "nd" in it begins no other
_CLAUSE: Final = re.compile(r"(?<![a-z])(?:(?!\band\b|并)[^,.;:?!，。；：？！\n])+")
_COMMAND: Final = re.compile(
    r"(?:列出|列举|写|介绍|说明|解释|比较|概括|总结|推荐|评价|翻译|描述)|[A-Z][a-z]+"
)
_COUNT: Final = re.compile(
    r"\d+|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve)\b|[二两三四五六七八九十]+(?=[个条句字行段种篇首位座本部])"
)
_BAN: Final = re.compile(r"\b(?:without|except|avoid|not)\b|don.t|不|避免|除了", re.I)

Figure = Literal["year", "number"]
Inputs: TypeAlias = Mapping[str, str]
Values: TypeAlias = dict[str, Any]


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
        gapped = f"{self.sentence[: self.start]}____{self.sentence[self.start + len(self.text) :]}"
        ask: str = _words(self.sentence)[f"ask_{self.kind}"]
        return ask.format(text=gapped.replace('"', "'"))


def _words(text: str) -> dict[str, Any]:
    """Return the phrases and patterns of a text's language."""
    words: dict[str, Any] = _DATA["chinese" if is_chinese(text) else "english"]
    return words


def gaps(document: str) -> list[Gap]:
    """Return what can be asked for in a document: values whose sentence says what it is about, and says them once."""
    words, every = _words(document), list[Gap]()
    kinds: tuple[Figure, ...] = ("year", "number")
    for text in (sentence.text for sentence in split(document)):
        if len(text) <= _LONGEST and "\n" not in text and not re.search(words["unclear"], text):
            for kind in kinds:
                figures = re.finditer(words[kind], text)
                every += [Gap(sentence=text, kind=kind, start=hit.start(), text=hit[0]) for hit in figures]
    return [gap for gap in every if letters(gap.text) not in letters(gap.question)]


def others(answer: str, question: str, passage: str, rng: random.Random) -> list[str]:
    """Return three figures of the answer's kind found in neither question nor passage; none if they are fewer."""
    kind = kind_of(question, answer)
    if kind is None or not _FIGURE.fullmatch(answer):
        return []
    about = f"{question} {passage}"
    made = _amounts(answer, about)
    if kind == "year":
        years = [int(answer) + step for step in _YEARS]
        made = [str(year) for year in years if 1000 <= year <= max(int(answer), _LAST_YEAR)]
    fresh = [figure for figure in made if not numbers(figure) & numbers(about)]
    return rng.sample(fresh, 3) if len(fresh) >= 3 else []


def _amounts(figure: str, about: str) -> list[str]:
    value, places = float(figure.replace(",", "")), len(figure.partition(".")[2])
    most = 100.0 if re.search(r"per ?cent|%", about) else float("inf")
    made = [round(value * factor, places) for factor in _FACTORS]
    made += [value + step for step in (1, 2, 3)] if value < 10 and not places else []
    amounts = dict.fromkeys(amount for amount in made if 1 <= amount <= most and amount != value)
    form = f"{',' if ',' in figure else ''}.{places}f"
    return [format(amount, form) for amount in amounts]


def kind_of(question: str, answer: str) -> Figure | None:
    """Return what kind of figure a question asks for, where its words leave no doubt and the answer holds one."""
    asked = re.sub('["“].*["”]', "", question).lower()
    if re.search(r"(?<!\d)\d{4}(?!\d)", answer) and re.search(
        r"\bwhen\b|\b(?:which|what) year\b|哪一?年|何时", asked
    ):
        return "year"
    if _FIGURE.search(answer) and re.search(r"\bhow (?:many|much)\b|\bnumber\b|多少|什么数字", asked):
        return "number"
    return None


_TYPES: Final[Mapping[Figure, str]] = {"year": "spatiotemporal", "number": "attribute"}
"""Kind of value -> of which type a wrong one is (Table 1 of HaluAgent)."""


def _item(values: Inputs, manner: Manner) -> Values:
    """Write a question with its answer and the sentence that they come from."""
    document, title = max(values.values(), key=len, default=""), values.get("title", "").strip()
    every = gaps(document)
    if not every:
        return {}
    gap = manner.rng.choice(every) if manner.temperature > 0 else every[0]
    question = gap.question
    if title and letters(gap.text) not in letters(title):
        question = _words(document)["about"].format(title=title, question=question)
    answers, passages = dict.fromkeys(_ANSWERS, gap.text), dict.fromkeys(_PASSAGES, gap.sentence)
    return {"question": question, **answers, **passages}


def _wrong_answers(values: Inputs, manner: Manner) -> Values:
    question, answer = values.get("question", ""), values.get("correct_answer", "")
    rng = manner.rng if manner.temperature > 0 else random.Random(f"{question}/{answer}")
    return {"hallucinated_answers": others(answer, question, values.get("passage", ""), rng)}


def _types(values: Inputs, manner: Manner) -> Values:
    """Name the type of each wrong answer, or of none, if one of them is of a kind that is not known."""
    question, answers = values.get("question", ""), _listed(values["hallucinated_answers"])
    kinds = [kind_of(question, answer) for answer in answers]
    return {"types": [_TYPES[kind] for kind in kinds if kind] if all(kinds) else []}


def _type_fits(values: Inputs, manner: Manner) -> Values:
    kind = kind_of(values["question"], values["hallucinated_answer"])
    if kind is None:
        why = "only years and numbers are told apart without a language model"
        return {"fits": "uncertain", "reason": why}
    fits = "yes" if _TYPES[kind] == values["type"] else "no"
    return {"fits": fits, "reason": f"the question asks for a {kind}: {_TYPES[kind]}"}


def _turn(values: Inputs, manner: Manner) -> Values:
    """Write a turn of a conversation: sentences of the reference that were not told yet, or that the user asks for."""
    reference, dialogue = values.get("reference", ""), values.get("dialogue", "")
    texts = [sentence.text for sentence in split(reference)]
    lines = [text for text in texts if count_words(text) >= 4 and not text.startswith("#")]
    low, high = _USUAL_LENGTH
    if wish := _LENGTH.search(values.get("length", "")):
        low, high = int(wish[1]), max(int(wish[1]), int(wish[2] or wish[1]))
    if asked := values.get("user_message", ""):  # what shares most with it is told
        evidence, wanted = index_evidence("\n".join(lines)), term_set(asked)
        worth = {line: sum(map(evidence.weight, sorted(wanted & term_set(line)))) for line in lines}
        return {"assistant_message": _told(lines, sorted(lines, key=lambda line: -worth[line]), low, high)}
    left = [line for line in lines if line not in dialogue]
    start = manner.rng.randrange(min(3, len(left))) if manner.temperature > 0 and left else 0
    reply = _told(lines, [*left[start:], *left[:start]], low, high)
    words, topic = _words(reference), values.get("topic", "")
    question = next((text for text in words["going_on"] if text not in dialogue), "")
    if not dialogue.strip():
        question = words["opening"].format(topic=topic) if topic else words["opening_alone"]
    return {"user_message": question, "assistant_message": reply}


def _told(lines: Sequence[str], best_first: Sequence[str], low: int, high: int) -> str:
    """Return lines in the order of their text until they are long enough, none that would make them too long."""
    kept: list[str] = []
    for line in best_first:
        if count_words(_joined(kept)) < low and count_words(_joined([*kept, line])) <= high:
            kept.append(line)
    return _joined([line for line in lines if line in kept])


def _joined(lines: Sequence[str]) -> str:
    return ("" if lines and is_chinese(lines[0]) else " ").join(lines)


def _reply(values: Inputs, manner: Manner) -> Values:
    """Answer a question about the world: the first option, the first truth value, or that it is not known."""
    prompt = values["prompt"]
    known = _words(prompt)["truth" if _TRUTH.search(prompt) else "unknown"]
    return {"response": "A" if _CHOICE.search(prompt) else known}


def _of_language(values: Inputs) -> dict[str, Any]:
    words: dict[str, Any] = _DATA["chinese" if "Chinese" in values.get("language", "") else "english"]
    return words


def _fact_query(values: Inputs, manner: Manner) -> Values:
    """Ask for facts about a concept: command, number and subject are three conditions, set phrases add the others."""
    words, concept = _of_language(values), (values["concept"] or values.get("topic", "")).strip()
    more = max(0, int(values.get("conditions") or 3) - 3)
    query = words["fact"].format(concept=concept) + "".join(words["extras"][:more]) + words["stop"]
    return {"query": query if concept else ""}


def _creative_query(values: Inputs, manner: Manner) -> Values:
    words, wanted, form = _of_language(values), _listed(values["requirements"]), values.get("form", "")
    begin = words["creative"].format(form=words["forms"].get(form, form))
    return {"query": begin + words["join"].join(wanted) + words["stop"] if wanted else ""}


def _article_query(values: Inputs, manner: Manner) -> Values:
    """Ask what an article tells, and answer with its first sentence, which leaves the others out."""
    first = next((sentence.text for sentence in split(values["article"])), "")
    return {"question": _of_language(values)["what_it_tells"], "response": first}


def _analysis_query(values: Inputs, manner: Manner) -> Values:
    asked = "relationship" if values.get("kind") == "relationship" else "summary"
    return {"instruction": _of_language(values)[asked]}


class Condition(NamedTuple):
    """A condition that a query sets: its category and the words of the query that set it, from ``start`` on."""

    category: str
    anchor: str
    start: int


def instruction_of(query: str) -> str:
    """Return what a query asks, without the material that it brings along under labels."""
    first = _LABEL.search(query)
    return query[: first.start()].strip() if first else query.strip()


def missing_parts(query: str) -> list[str]:
    """Return what stands in a query as an empty label, or is left out of numbered ones."""
    labels = list(_LABEL.finditer(query))
    ends = [*(label.start() for label in labels[1:]), len(query)]
    missing, numbers = set(), set()
    for label, end in zip(labels, ends, strict=False):
        name = _PARTS.get(label["name"], label["name"].lower())
        numbers |= {int(label["number"])} if label["number"] else set()
        if not query[label.end() : end].strip():
            missing.add(f"{name} {label['number']}".strip())
    gaps = set(range(1, max(numbers, default=0) + 1)) - numbers
    return sorted(missing | {f"article {number}" for number in gaps})


def conditions(query: str) -> list[Condition]:
    """Return the conditions of a query in its order: its command and the number in that, then each clause."""
    asked, every, open_clause = instruction_of(query), list[Condition](), "subject"
    for clause in _CLAUSE.finditer(asked):
        start, rest = clause.start(), clause[0]
        if not every and (command := _COMMAND.match(rest.lstrip())):
            at = start + len(rest) - len(rest.lstrip())
            every.append(Condition("action", command[0], at))
            start, rest = at + command.end(), rest.lstrip()[command.end() :]
            if count := _COUNT.search(rest[:12]):
                every.append(Condition("quantity", count[0], start + count.start()))
                start, rest = start + count.end(), rest[count.end() :]
        words = rest.strip()
        if letters(words):
            category = "other" if _BAN.search(words) else "quantity" if _COUNT.search(words) else open_clause
            open_clause = "qualifier" if category == "subject" else open_clause
            every.append(Condition(category, words, start + len(rest) - len(rest.lstrip())))
    return every


def _query(values: Inputs, manner: Manner) -> Values:
    """Read a query: what it lacks, its conditions, whether it can be answered; reply only with what is missing."""
    query = values["query"]
    missing, words, every = missing_parts(query), _words(query), conditions(query)
    constraints = [
        {"category": category, "anchor": anchor, "text": neutralise(anchor)} for category, anchor, _ in every
    ]
    return {
        "subject": [anchor for category, anchor, _ in every if category == "subject"],
        "action": [anchor for category, anchor, _ in every if category == "action"],
        "context": [],  # a place and a time are clauses like any other
        "missing": missing,
        "constraints": [] if missing else constraints,
        "answerable": bool(every) and not missing,
        "reason": ", ".join(f"the {part} is missing" for part in missing),
        "response": words["sorry"].format(parts=" and the ".join(missing)) if missing else words["unknown"],
    }


_QUERY_FIELDS: Final = frozenset(
    {"missing", "subject", "action", "context", "constraints", "answerable", "response"}
)


def _listed(text: str) -> list[str]:
    """Return the entries of a list as an adapter shows it: JSON, or a line each, numbered in guillemets."""
    try:
        read = json.loads(text)
    except ValueError:
        return [re.sub(r"^\s*\[\d+\]\s*«?|»$", "", line) for line in text.splitlines() if line.strip()]
    return list(map(str, read)) if isinstance(read, list) else [str(read)]


Filler: TypeAlias = Callable[[Inputs, Manner], Values]
_BY_FIELDS: Final[Sequence[tuple[str, str, Kind, Filler]]] = (
    ("", "assistant_message", "text", _turn),
    ("correct_answer", "hallucinated_answers", "texts", _wrong_answers),
    ("hallucinated_answers", "types", "labels", _types),
    ("hallucinated_answer", "fits", "label", _type_fits),
    ("prompt", "response", "text", _reply),
    ("concept", "query", "text", _fact_query),
    ("requirements", "query", "text", _creative_query),
    ("article", "question", "text", _article_query),
    ("articles", "instruction", "text", _analysis_query),
    ("query", "constraints", "objects", _query),
)
"""An input, an output and its kind, and what fills a request that has both."""


def filled(ask: Ask, manner: Manner) -> Values | None:
    """Return the values of a request's output fields; ``None`` where they are decided on."""
    fill = _filler_of(ask)
    if fill is None:
        return None
    written = fill(ask.values, manner)  # empty values where nothing right can be written
    lists = ("labels", "texts", "objects", "tags")
    values = {f.name: written.get(f.name, [] if f.shape.kind in lists else "") for f in ask.outputs}
    return {name: neutralise(value) if isinstance(value, str) else value for name, value in values.items()}


def _filler_of(ask: Ask) -> Filler | None:
    kinds, inputs = {field.name: field.shape.kind for field in ask.outputs}, {"", *ask.values}
    for name, wanted, kind, fill in _BY_FIELDS:
        if name in inputs and kinds.get(wanted) == kind:
            return fill
    main = kinds.keys() - {"reason"}
    if set(ask.values) == {"query"} and main and main <= _QUERY_FIELDS:
        own = {"answerable": "bool", "constraints": "objects"}
        return _query if all(kinds[name] == own.get(name, kinds[name]) for name in main) else None
    item = main - _PASSAGES
    texts = all(kinds[name] == "text" for name in item)
    return (
        _item if texts and "question" in item and len(item) > 1 and item <= {"question"} | _ANSWERS else None
    )
