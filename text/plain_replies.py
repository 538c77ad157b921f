"""Which label a reply in plain words states: one to a prompt of a user's own, which asks for no format of ours.

A reply states a label in one of these ways, and all the ways that it uses must state the same one:

- the whole reply is the label: ``**Send.**``;
- a line is nothing but the label, or names it after a word for a verdict: ``Verdict: send``, ``The answer is send.``,
  ``结论：send``, ``<verdict>send</verdict>``;
- the reply is a JSON object, and all of its values that are labels are the same:
  ``{"reason": "...", "verdict": "send"}``;
- the reply begins with the label as a sentence of its own, and no other label and no "but" follows:
  ``Hold. The reply promises a refund.``

Labels are read as in every other form (:func:`jurist.text.replies.choice`). A sentence that merely mentions a label, as
``I would not send this``, states none.
"""

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from .drafts import without_drafts
from .replies import choice, same, structures, unframed

_VERDICT: Final = "|".join(
    [
        *(
            "answer",
            "verdict",
            "label",
            "decision",
            "judge?ment",
            "rating",
            "score",
            "classification",
            "category",
        ),
        *("conclusion", "result", "output", "grade", "class", "choice", "preference", "winner", "response"),
        *(
            "antwort",
            "urteil",
            "ergebnis",
            "bewertung",
            "entscheidung",
            "réponse",
            "verdicte?",
            "décision",
            "note",
        ),
        *(
            "respuesta",
            "veredicto",
            "decisión",
            "resultado",
            "resposta",
            "decisão",
            "risposta",
            "verdetto",
            "esito",
        ),
        *(
            "ответ",
            "вердикт",
            "оценка",
            "решение",
            "вывод",
            "метка",
            "الإجابة",
            "الجواب",
            "الحكم",
            "النتيجة",
            "القرار",
        ),
        *(
            "答案",
            "结论",
            "結論",
            "判定",
            "判断",
            "判斷",
            "结果",
            "結果",
            "标签",
            "標籤",
            "评分",
            "評分",
            "裁决",
            "分类",
        ),
        *(
            "回答",
            "答え",
            "ラベル",
            "評価",
            "정답",
            "답변?",
            "결론",
            "판정",
            "결과",
            "라벨",
            "점수",
            "उत्तर",
            "निर्णय",
        ),
    ]
)
_LEAD: Final = re.compile(
    rf"(?:(?:the|my|our|final|overall|so|therefore|thus|die|das|mein|la|le|el|ma|mi|最终|最終|我的)[\s,]*)*"
    rf"(?:{_VERDICT})(?:\s*(?:[:：=]|\bis\b|\bist\b|\best\b|\bes\b|是|为|為|は)\s*)+(?P<content>.*)",
    re.IGNORECASE,
)
_TAG: Final = re.compile(
    rf"<(?P<name>{_VERDICT})>(?P<content>.{{0,200}}?)</(?P=name)>", re.IGNORECASE | re.DOTALL
)
_LINE: Final = 300
"""Characters of a line that states a label, at most."""
_LINE_MARK: Final = re.compile(r"^(?:[#>\s]+|[-•]\s+)")
_OPENING: Final = re.compile(
    r"(?P<label>.{1,80}?)(?:[.!;。！；,，、：:]|\s[-–—]\s|[–—]|\n)(?P<rest>.*)", re.DOTALL
)
_BUT: Final = re.compile(
    r"\b(?:but|however|though|although|yet|except|unless|rather|instead|aber|jedoch|sondern|doch|mais|cependant|pourtant|"
    r"pero|sino|aunque|mas|porém|ma|però|но|однако)\b|但|不过|不過|然而|而是|しかし|ただし|하지만|그러나|لكن",
    re.IGNORECASE,
)
_ORDINARY: Final = frozenset(
    {"no", "not", "none", "a", "i", "to", "in", "on", "or", "so", "good", "bad", "right"}
)
"""Labels that are words of any sentence: these name a label only at the end of a clause."""


def label_stated(reply: str, allowed: Collection[Any]) -> Any:
    """Return the one of the allowed values (labels, True and False, whole numbers) that a plain reply states.

    Raises ``ValueError``, in one line, where it states none or two: the reply is an abstention.
    """
    text = unframed(without_drafts(reply))
    stated: list[Any] = []
    for value in (*_in_whole(text, allowed), *_in_lines(text, allowed), *_in_data(text, allowed)):
        if not any(same(value, other) for other in stated):
            stated.append(value)
    if not stated:
        stated = _in_opening(text, allowed)
    if len(stated) == 1:
        return stated[0]
    shown = text.strip()[:100]
    if stated:
        raise ValueError(f"it states {' and '.join(map(str, stated))}: {shown!r}")
    raise ValueError(f"it states none of {', '.join(map(str, allowed))}: {shown!r}")


def _in_whole(text: str, allowed: Collection[Any]) -> Iterator[Any]:
    try:
        yield choice(text, allowed)
    except ValueError:
        return


def _in_lines(text: str, allowed: Collection[Any]) -> Iterator[Any]:
    """Yield the label of each line that is one, or that names one after a word for a verdict."""
    for tag in _TAG.finditer(text):
        yield from _in_whole(tag["content"], allowed)
    for line in text.splitlines():
        if len(line) > _LINE:
            continue
        plain = _LINE_MARK.sub("", line).strip()
        yield from _in_whole(plain, allowed)
        lead = _LEAD.fullmatch(plain.replace("*", "").strip())
        if lead is not None:
            yield from _in_whole(lead["content"], allowed)


def _in_data(text: str, allowed: Collection[Any]) -> Iterator[Any]:
    """Yield the values of a JSON object that are labels; nothing if the reply is anything but one object."""
    try:
        found = structures(text)
    except ValueError:
        return
    if len(found) != 1 or not isinstance(found[0], dict):
        return
    for value in found[0].values():
        if isinstance(value, str | bool | int | float):
            try:
                yield choice(value, allowed)
            except ValueError:
                continue


def _in_opening(text: str, allowed: Collection[Any]) -> list[Any]:
    """Return the label that a reply begins with, if nothing after it takes that back; else nothing."""
    opening = _OPENING.match(text)
    if opening is None or _BUT.search(opening["rest"]):
        return []
    labels = list(_in_whole(opening["label"], allowed))
    for value in allowed:
        if labels and not same(value, labels[0]) and _names(opening["rest"], str(value)):
            return []
    return labels


def _names(text: str, label: str) -> bool:
    """Whether a text names a label as words of its own."""
    before = r"(?<!\w)" if label[:1].isascii() else ""
    after = r"(?!\w)" if label[-1:].isascii() else ""
    if label.lower() in _ORDINARY:
        after = r"(?=[\s\"'*`”’)]*(?:[.,;:!?。，]|$))"
    return re.search(before + re.escape(label) + after, text, re.IGNORECASE) is not None
