"""Which label a reply in plain words states: one to a prompt of a user's own, which asks for no format of ours.

A reply states a label in one of these ways, and all the ways that it uses must state the same one:

- the whole reply is the label: ``**Send.**``;
- a line is nothing but the label, or names it after a word for a verdict: ``Verdict: send``, ``The answer is send.``,
  ``结论：send``, ``<verdict>send</verdict>``;
- the reply is a JSON object, and all of its values that are labels are the same:
  ``{"reason": "...", "verdict": "send"}``;
- the reply begins with the label as a sentence of its own, and no other label and no "but" follows:
  ``Hold. The reply promises a refund.``

Labels are read as in every other form (:func:`jurist.text.replies.match_value`). A sentence that merely mentions a
label, as ``I would not send this``, states none.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Final, TypeAlias

from .drafts import without_drafts
from .replies import TypeSchema, match_value, same, structures, typed, unframed

_VERDICT: Final = (
    "answer|verdict|label|decision|judge?ment|rating|score|classification|category|conclusion|result"
    "|output|grade|class|choice|preference|winner|response|antwort|urteil|ergebnis|bewertung"
    "|entscheidung|réponse|verdicte?|décision|note|respuesta|veredicto|decisión|resultado|resposta"
    "|decisão|risposta|verdetto|esito|ответ|вердикт|оценка|решение|вывод|метка|الإجابة|الجواب|الحكم"
    "|النتيجة|القرار|答案|结论|結論|判定|判断|判斷|结果|結果|标签|標籤|评分|評分|裁决|分类|回答|答え|ラベル|評価|정답|답변?|결론|판정|결과|라벨|점수"
    "|उत्तर|निर्णय"
)
# The module re compiles these at their first use: few replies are in plain words.
_LEAD: Final = (
    rf"(?i)(?:(?:the|my|our|final|overall|so|therefore|thus|die|das|mein|la|le|el|ma|mi|最终|最終|我的)[\s,]*)*"
    rf"(?:{_VERDICT}|是否[^\s:：]{{1,8}}(?=[:：]))"
    r"(?:\s*(?:\bis\b|\bist\b|\best\b|\bes\b|是|为|為|は)\s*(?:[:：=]\s*)*|\s*(?:[:：=]\s*)+)(?P<content>.*)"
)
_TAG: Final = rf"(?is)<(?P<name>{_VERDICT})>(?P<content>.{{0,200}}?)</(?P=name)>"
_LONGEST_LINE: Final = 300
"""Characters of a line that states a label, at most."""
_LINE_MARK: Final = r"^(?:[#>\s]+|[-•]\s+)"
_OPENING: Final = r"(?s)(?P<label>.{1,80}?)(?:[.!;。！；,，、：:]|\s[-–—]\s|[–—]|\n)(?P<rest>.*)"
_REMARK: Final = r"(?s)(?P<label>[^(（]{1,80}?)\s*[(（](?P<rest>[^()（）]*)[)）]\W*"
_DOUBT: Final = (
    r"(?i)\b(?:not|probably|maybe|perhaps|possibly|unsure|if|unless|partly|partially)\b"
    r"|不|可能|也许|如果|除非|部分"
)
"""Words of a remark in brackets that take back what stands before it."""
_BUT: Final = (
    r"(?i)\b(?:but|however|though|although|yet|except|unless|rather|instead|aber|jedoch|sondern|doch|mais|cependant|pourtant|"
    r"pero|sino|aunque|mas|porém|ma|però|но|однако)\b|但|不过|不過|然而|而是|しかし|ただし|하지만|그러나|لكن"
)
_ORDINARY: Final = frozenset(
    {"no", "not", "none", "a", "i", "to", "in", "on", "or", "so", "good", "bad", "right"}
)
"""Labels that are words of any sentence: these name a label only at the end of a clause."""


Read: TypeAlias = Callable[[object], object]
"""A text, or data -> the value that all of it is. Raises ``ValueError`` if it is none."""


def label_stated(reply: str, allowed: Collection[object]) -> object:
    """Return the one of the allowed values (labels, True and False, whole numbers) that a plain reply states.

    Raises ``ValueError``, in one line, where it states none or two: the reply is an abstention.
    """
    return _stated_value(reply, lambda raw: match_value(raw, allowed), allowed)


def value_stated(reply: str, schema: TypeSchema, other_words: Mapping[str, object]) -> object:
    """Return the value of a type, as a JSON Schema says it, that a plain reply states in its own or in other words.

    ``other_words`` is word -> the value that it stands for. Raises ``ValueError`` as :func:`label_stated` does.
    """

    def read_value(raw: object) -> object:
        if isinstance(raw, str) and other_words:
            with suppress(ValueError):
                return other_words[str(match_value(raw, tuple(other_words)))]
        return typed(schema, raw)

    names: list[object] = list(schema.get("enum") or ())
    if not names and schema.get("type") == "boolean":
        names = [True, False]
    return _stated_value(reply, read_value, names + list(other_words))


def _stated_value(reply: str, read_value: Read, names: Collection[object]) -> object:
    """Return the one value that a reply states; ``names`` are those of all values, as far as they are few."""
    text = unframed(without_drafts(reply))
    values: list[object] = []
    for value in chain(
        _value_of_all(text, read_value),
        _values_in_lines(text, read_value, names),
        _values_in_data(text, read_value),
    ):
        if not any(same(value, stated_value) for stated_value in values):
            values.append(value)
    if not values:
        values = _value_in_opening(text, read_value, names)
    if len(values) == 1:
        return values[0]
    beginning = text.strip()[:100]
    if values:
        raise ValueError(f"it states {' and '.join(map(str, values))}: {beginning!r}")
    if names:
        raise ValueError(f"it states none of {', '.join(map(str, names))}: {beginning!r}")
    raise ValueError(f"it states no number on the scale: {beginning!r}")


def _value_of_all(raw: object, read_value: Read) -> Iterator[object]:
    """Yield the value that all of a text or data is, if it is one."""
    try:
        yield read_value(raw)
    except ValueError:
        return


def _values_in_lines(text: str, read_value: Read, names: Collection[object]) -> Iterator[object]:
    """Yield the value of each line that is one, or that names one after a word for a verdict."""
    for tag in re.finditer(_TAG, text):
        yield from _value_of_all(tag["content"], read_value)
    for line in text.splitlines():
        if len(line) > _LONGEST_LINE:
            continue
        plain = re.sub(_LINE_MARK, "", line).strip()
        yield from _value_of_all(plain, read_value)
        lead = re.fullmatch(_LEAD, plain.replace("*", "").strip())
        if lead is not None:
            values = list(_value_of_all(lead["content"], read_value))
            yield from values or _value_in_opening(lead["content"], read_value, names)


def _values_in_data(text: str, read_value: Read) -> Iterator[object]:
    """Yield the values in the fields of a JSON object; nothing if the reply is anything but one object."""
    try:
        objects = structures(text)
    except ValueError:
        return
    if len(objects) != 1 or not isinstance(objects[0], dict):
        return
    for value in objects[0].values():
        if isinstance(value, str | bool | int | float):
            yield from _value_of_all(value, read_value)


def _value_in_opening(text: str, read_value: Read, names: Collection[object]) -> list[object]:
    """Return the value that a reply begins with, if nothing after it takes that back; else nothing."""
    opening = re.match(_OPENING, text)
    remark = re.fullmatch(_REMARK, text)
    if remark is not None and not re.search(_DOUBT, remark["rest"]):
        opening = remark
    if opening is None or re.search(_BUT, opening["rest"]):
        return []
    values = list(_value_of_all(opening["label"], read_value))
    if not values:
        return []
    is_number = isinstance(values[0], int | float) and not isinstance(values[0], bool)
    if is_number and re.search(r"\d", opening["rest"]):  # 4.5, or another number
        return []
    for name in names:
        is_other = all(not same(value, values[0]) for value in _value_of_all(name, read_value))
        if is_other and _has_label(opening["rest"], str(name)):
            return []
    return values


def _has_label(text: str, label: str) -> bool:
    """Return whether a text has a label as words of its own."""
    boundary_before = r"(?<!\w)" if label[:1].isascii() else ""
    boundary_after = r"(?!\w)" if label[-1:].isascii() else ""
    if label.lower() in _ORDINARY:
        boundary_after = r"(?=[\s\"'*`”’)]*(?:[.,;:!?。，]|$))"
    pattern = boundary_before + re.escape(label) + boundary_after
    return re.search(pattern, text, re.IGNORECASE) is not None
