"""Writers of the offline engine for FAITHQA: they make queries, and read the conditions that a query sets."""

import re
from typing import Any, Final, NamedTuple

from ...engines.offline.filler import Inputs, Written, listed_entries
from ...engines.offline.sampler import Sampler
from ...text.ranking import letters
from ...text.sentences import split
from ...text.tables import read_table
from ...text.terms import neutralise
from ...text.wording import is_chinese

_PHRASES: Final = read_table(__package__, "offline")
_LABEL: Final = re.compile(
    r"^[ \t]*(?P<name>query|article|response|问题|文章|回答)[ \t]*(?P<number>\d{0,2})[ \t]*[:：]", re.I | re.M
)
_PARTS: Final = {"问题": "query", "文章": "article", "回答": "response"}
# A clause ends before "and". No clause begins in the middle of a word: else one would begin at the "nd" of "and".
_CLAUSE: Final = re.compile(r"(?<![a-z])(?:(?!\band\b|并)[^,.;:?!，。；：？！\n])+")
_COMMAND: Final = re.compile(
    r"(?:列出|列举|写|介绍|说明|解释|比较|概括|总结|推荐|评价|翻译|描述)|[A-Z][a-z]+"
)
_COUNT: Final = re.compile(
    r"\d+|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve)\b|[二两三四五六七八九十]+(?=[个条句字行段种篇首位座本部])"
)
_BAN: Final = re.compile(r"\b(?:without|except|avoid|not)\b|don.t|不|避免|除了", re.I)
_COUNT_WITHIN: Final = 12  # characters after a command in which its number stands
_FACT_CONDITIONS: Final = 3  # conditions in the phrase that asks for facts: command, number and subject


class Condition(NamedTuple):
    """A condition that a query sets: its category, and the words that set it with their place in the query."""

    category: str
    anchor: str
    start: int


def instruction_of(query: str) -> str:
    """Return the instruction of a query: the text before the first label, such as ``Article 1:``."""
    first_label = _LABEL.search(query)
    if first_label is None:
        return query.strip()
    return query[: first_label.start()].strip()


def missing_parts(query: str) -> list[str]:
    """Return the names of missing parts: labels without text, and articles left out of numbered ones."""
    labels = list(_LABEL.finditer(query))
    ends = [label.start() for label in labels[1:]]
    ends.append(len(query))
    missing: set[str] = set()
    numbers: set[int] = set()
    for label, end in zip(labels, ends, strict=False):  # without labels there is one end
        name = _PARTS.get(label["name"], label["name"].lower())
        if label["number"]:
            numbers.add(int(label["number"]))
        if not query[label.end() : end].strip():
            missing.add(f"{name} {label['number']}".strip())
    for number in range(1, max(numbers, default=0) + 1):
        if number not in numbers:
            missing.add(f"article {number}")
    return sorted(missing)


def conditions(query: str) -> list[Condition]:
    """Return the conditions of a query in their order: its command, a number beside the command, then each clause.

    The first clause without a ban or a number is the subject, later ones are qualifiers.
    """
    query_conditions: list[Condition] = []
    open_category = "subject"
    for clause in _CLAUSE.finditer(instruction_of(query)):
        start, words = clause.start(), clause[0]
        if not query_conditions:
            query_conditions, start, words = _command_conditions(start, words)
        text = words.strip()
        if not letters(text):
            continue
        category = _category_of_clause(text) or open_category
        if category == "subject":
            open_category = "qualifier"
        query_conditions.append(Condition(category, text, start + _indent(words)))
    return query_conditions


def _category_of_clause(clause: str) -> str:
    """Return ``other`` for a clause with a ban, ``quantity`` for one with a number, else an empty text."""
    if _BAN.search(clause):
        return "other"
    if _COUNT.search(clause):
        return "quantity"
    return ""


def _command_conditions(start: int, clause: str) -> tuple[list[Condition], int, str]:
    """Return the conditions of a clause's command and number, then the start and the text of the rest of the clause."""
    indent = _indent(clause)
    words = clause[indent:]
    command = _COMMAND.match(words)
    if command is None:
        return [], start, clause
    start += indent
    command_conditions = [Condition("action", command[0], start)]
    start += command.end()
    words = words[command.end() :]
    count = _COUNT.search(words[:_COUNT_WITHIN])
    if count:
        command_conditions.append(Condition("quantity", count[0], start + count.start()))
        start += count.end()
        words = words[count.end() :]
    return command_conditions, start, words


def _indent(text: str) -> int:
    """Return the number of blanks at the beginning of a text."""
    return len(text) - len(text.lstrip())


def _phrases_of_language(values: Inputs) -> dict[str, Any]:
    """Return the phrases of the language that a request names."""
    phrases: dict[str, Any] = _PHRASES["chinese" if "Chinese" in values.get("language", "") else "english"]
    return phrases


def write_fact_query(values: Inputs, sampler: Sampler) -> Written:
    """Return a query for facts about a concept; set phrases add conditions beyond the three of the basic phrase."""
    phrases = _phrases_of_language(values)
    concept = (values["concept"] or values.get("topic", "")).strip()
    if not concept:
        return {"query": ""}
    further_conditions = max(0, int(values.get("conditions") or _FACT_CONDITIONS) - _FACT_CONDITIONS)
    extras = "".join(phrases["extras"][:further_conditions])
    return {"query": phrases["fact"].format(concept=concept) + extras + phrases["stop"]}


def write_creative_query(values: Inputs, sampler: Sampler) -> Written:
    """Return a query for a text of a form, such as a poem, with all requirements as its conditions."""
    phrases = _phrases_of_language(values)
    requirements = listed_entries(values["requirements"])
    if not requirements:
        return {"query": ""}
    form = values.get("form", "")
    opening = phrases["creative"].format(form=phrases["forms"].get(form, form))
    return {"query": opening + phrases["join"].join(requirements) + phrases["stop"]}


def write_article_query(values: Inputs, sampler: Sampler) -> Written:
    """Return a question about the content of an article, and its first sentence as an incomplete response."""
    sentences = split(values["article"])
    response = sentences[0].text if sentences else ""
    return {"question": _phrases_of_language(values)["what_it_tells"], "response": response}


def write_analysis_query(values: Inputs, sampler: Sampler) -> Written:
    """Return the instruction to summarise articles, or to say how they are related."""
    kind = "relationship" if values.get("kind") == "relationship" else "summary"
    return {"instruction": _phrases_of_language(values)[kind]}


def write_reading(values: Inputs, sampler: Sampler) -> Written:
    """Return the reading of a query: missing parts, conditions, whether it can be answered, and a response.

    The response names the missing parts, or says that the answer is not known.
    """
    query = values["query"]
    phrases = _PHRASES["chinese" if is_chinese(query) else "english"]
    missing = missing_parts(query)
    query_conditions = conditions(query)
    constraints: list[dict[str, str]] = []
    if not missing:
        for condition in query_conditions:
            text = neutralise(condition.anchor)
            constraints.append({"category": condition.category, "anchor": condition.anchor, "text": text})
    response = phrases["unknown"]
    if missing:
        response = phrases["sorry"].format(parts=" and the ".join(missing))
    return {
        "subject": _anchors(query_conditions, "subject"),
        "action": _anchors(query_conditions, "action"),
        "context": [],  # places and times are read as clauses like any other
        "missing": missing,
        "constraints": constraints,
        "answerable": bool(query_conditions) and not missing,
        "reason": ", ".join(f"the {part} is missing" for part in missing),
        "response": response,
    }


def _anchors(query_conditions: list[Condition], category: str) -> list[str]:
    """Return the words of all conditions of a category."""
    anchors: list[str] = []
    for condition in query_conditions:
        if condition.category == category:
            anchors.append(condition.anchor)
    return anchors
