"""How far the evidence reader sees that a response meets a condition of its query.

By the condition's own words in the response, by years against a period, by items against a number, by names against
a place; what must not occur is looked for. It knows nothing of the world: that Magellan was born in Portugal, that a
poem rhymes in the ear, or that a story surprises is not seen, and then the condition passes as met.
"""

import re
from typing import Final, NamedTuple

from ...text.measures import as_number, parts
from ...text.sentences import split
from ...text.tables import table
from ...text.terms import content_terms, is_cjk, shorten
from .conditions import Condition, instruction_of

__all__ = ["Seen", "mark"]

_DATA: Final = table(__package__, "conditions")["marks"]
_NAME: Final = re.compile(r"(?<![.!?\n] )(?<!^)\b[A-Z][a-z]{2,}")
_NEGATION: Final = frozenset(_DATA["exclusion"].split())
_PERIOD: Final = re.compile(
    r"(?P<relation>before|after|since|in|until)(?: the)? (?:(?P<year>\d{3,4})(?P<decade>s)?|(?P<century>\w+) century)"
)
_ORDINALS: Final = {word: number for number, word in enumerate(_DATA["ordinals"].split(), 1)}


class Seen(NamedTuple):
    """What is seen of one condition: its mark and the evidence for it."""

    label: str
    evidence: str


def mark(condition: Condition, text: str, query: str, response: str) -> Seen:
    """Return what a response does with a condition.

    Args:
        condition: its category and the words of the query that set it; without words, it is about missing material.
        text: what the response must do.
        query: the whole query.
        response: what is judged.
    """
    if not condition.anchor:
        return _of_missing(text, response)
    by_anchor = {"action": _action, "time": _time, "quantity": _quantity, "other": _excluded}
    if condition.category in by_anchor:
        return by_anchor[condition.category](condition.anchor, response)
    return _named(condition, query, response)


def _found(name: str, response: str) -> re.Match[str] | None:
    return re.search(_DATA[name], response, re.IGNORECASE | re.MULTILINE)


def _quote(found: re.Match[str]) -> str:
    start = max(0, found.start() - 30)
    return shorten(found.string[start : found.end() + 60], 120)


def _of_missing(text: str, response: str) -> Seen:
    """Say whether a response notices missing material, asks for it, or makes it up."""
    noticed, asked, assumed = (_found(name, response) for name in ("missing", "asks", "assumes"))
    if re.search("says|指出", text):
        if noticed:
            return Seen("satisfied", _quote(noticed))
        return Seen("misinterpreted" if _claims_part(text, response) else "omitted", "no word about it")
    if re.search("asks|declines|请求", text):
        return Seen("satisfied", _quote(asked)) if asked else Seen("misinterpreted", "it goes on without it")
    if assumed or (not noticed and _claims_part(text, response)):
        return Seen("misinterpreted", _quote(assumed) if assumed else "it speaks of it as if it were there")
    return Seen("satisfied", "nothing is made up")


def _claims_part(text: str, response: str) -> bool:
    """Whether a response speaks of what a missing part says."""
    part = re.search(r"\b(article|response|query)(?: (\d))?\b", text)
    if part is None:
        return False
    words = f"article ?{part[2]}|文章{part[2]}" if part[2] else f"the (?:{_DATA['claims'][part[1]]})|文章"
    return re.search(words, response, re.IGNORECASE) is not None


def _action(anchor: str, response: str) -> Seen:
    if not response.strip() or _found("refuses", response):
        return Seen("omitted", "it declines")
    if re.match(_DATA["creates"], anchor, re.IGNORECASE):
        return Seen("satisfied", shorten(response, 80))
    wanted = _terms(anchor)[1:]  # the command itself is no word of an answer
    if "year" in wanted:
        years = re.findall(_DATA["year"], response)
        return Seen("satisfied", ", ".join(years)) if years else Seen("omitted", "no year")
    if "quote" in anchor:
        quoted = re.search(r"[\"“][^\"“”]{12,}[\"”]", response)
        return Seen("satisfied", quoted[0]) if quoted else Seen("omitted", "no quotation")
    held = _held(wanted, response)
    if len(wanted) < 2 or held:
        return Seen("satisfied", ", ".join(held) or shorten(response, 80))
    return Seen("omitted", f"no word of: {anchor}")


def _time(anchor: str, response: str) -> Seen:
    named = re.findall(_DATA["year"], anchor)  # to repeat the period is no evidence of it
    years = [int(year) for year in re.findall(_DATA["year"], response) if year not in named]
    period = _PERIOD.search(anchor)
    if period and years:
        low, high = _bounds(period)
        outside = [year for year in years if not low <= year <= high]
        label = "misinterpreted" if len(outside) * 2 > len(years) else "satisfied"
        return Seen(label, f"years: {', '.join(map(str, years))}")
    held = _held(_terms(anchor), response)
    return _related(anchor, response) or Seen("satisfied", ", ".join(held) or "no year speaks against it")


def _related(anchor: str, response: str) -> Seen | None:
    """Return what is seen of a word that other words may stand for; ``None`` if the anchor holds none."""
    for word, related in _DATA["related"].items():
        if word in anchor:
            found = re.search(related, response, re.IGNORECASE)
            return Seen("satisfied", _quote(found)) if found else Seen("misinterpreted", f"no {word}")
    return None


def _bounds(period: re.Match[str]) -> tuple[int, int]:
    """Return the first and the last year of a period."""
    if period["century"]:
        number = _ORDINALS.get(period["century"].lower(), int(re.sub(r"\D", "", period["century"]) or 0))
        first, last = 100 * (number - 1), 100 * number
    else:
        first = int(period["year"])
        last = first + (9 if period["decade"] else 0)
    match period["relation"]:
        case "before" | "until":
            return 0, first - (period["relation"] == "before")
        case "after" | "since":
            return last + (period["relation"] == "after"), 9999
        case _:
            return first, last


def _quantity(anchor: str, response: str) -> Seen:
    number = next(
        (found for word in re.findall(r"[a-z]+|[^\W\d_]|\d+", anchor.lower()) if (found := as_number(word))),
        None,
    )
    items = len(parts(response, "item"))
    if number is None or not items:
        return Seen("satisfied", "no list to count")
    label = "satisfied" if items == number else "omitted" if items < number else "misinterpreted"
    return Seen(label, f"{items} items")


def _excluded(anchor: str, response: str) -> Seen:
    bare = re.sub(_DATA["negates"], " ", anchor, flags=re.IGNORECASE)
    forbidden = [word for word in _terms(bare) if word not in _NEGATION]
    held = _held(forbidden, response)
    denied = any(
        _held(held, part.text) and re.search(_DATA["negates"], part.text, re.IGNORECASE)
        for part in split(response)
    )
    if held and len(held) * 2 > len(forbidden) and not denied:
        return Seen("misinterpreted", f"it has: {', '.join(held)}")
    return Seen("satisfied", f"none of: {', '.join(forbidden)}")


def _named(condition: Condition, query: str, response: str) -> Seen:
    """Say whether a subject, place or quality is in the response by its words."""
    if (related := _related(condition.anchor, response)) is not None:
        return related
    wanted = _terms(condition.anchor)
    held = _held(wanted, response)
    if held or not wanted:
        return Seen("satisfied", ", ".join(held))
    if condition.category == "location":
        own = set(_NAME.findall(instruction_of(query)))
        other = [name for name in _NAME.findall(response) if name not in own]
        return Seen("misinterpreted", f"it names {other[0]}") if other else Seen("omitted", "no place")
    lists = re.match(_DATA["lists"], instruction_of(query), re.IGNORECASE)
    if condition.category == "qualifier" or lists:  # a list names things, not what kind they are
        return Seen("satisfied", "nothing speaks against it")
    return Seen("misinterpreted", f"no word of: {condition.anchor}")


def _terms(text: str) -> list[str]:
    return list(dict.fromkeys(content_terms(text)))


def _held(wanted: list[str], response: str) -> list[str]:
    given = set(content_terms(response)) | ({*response} if is_cjk(response) else set())
    return [word for word in wanted if word in given]
