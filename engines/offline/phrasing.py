"""Wordings of the conversing role: questions from sentences, rewordings, and statements of its own.

Simple on purpose: a question word by what the sentence holds, a fact with its opening moved or its commonest words
exchanged, and templates of inference, evaluation and speculation, English and Chinese (data/phrases.toml).
"""

import re
from typing import Any, Final, cast

from ...text.lexicons import NUMBER_WORDS, STOP_WORDS
from ...text.tables import table

__all__ = ["cognitive", "question_about", "reworded", "subject_of"]

_VERB: Final = (
    r"(?:was|were|is|are|has|had|have|began|opened|led|made|held|took|became|came|went|gave|won|lost|ran|rose|fell|"
    r"sold|built|lies|lives|runs|stands|holds|comes|carries|keeps|needs|contains|uses|makes|takes|serves|works|"
    r"covers|rises|grows|flies|fly|dig|can|could|must|may|found|kept|counts|shows|[a-z]{2,}ed)"
)
_SUBJECT: Final = re.compile(rf"((?:The |An? )?[\w'’-]+(?: [\w'’-]+){{0,5}}?) {_VERB}\b")
_COUNTS: Final = frozenset(NUMBER_WORDS) | {"nobody", "people"}
_WIDE_SUBJECT: Final = re.compile(
    r"([\u3007\u4e00-\u9fff]{2,10}?)(?:始于|位于|由|是|在|从|有|于|要|取自|为|只|不|与|把|开始)"
)
_OPENING: Final = re.compile(
    r"((?:In|On|Since|By|After|During|Within|From|At|Until) [^,]{3,40}), (.+?)([.!?]?)$"
)
_DATA: Final = table(__package__, "phrases")


def _phrases(chinese: bool) -> dict[str, Any]:
    return cast("dict[str, Any]", _DATA["chinese" if chinese else "english"])


def subject_of(sentence: str, *, chinese: bool) -> str:
    """Return the subject of a sentence where a pattern finds one, else an empty text."""
    if chinese:
        found = _WIDE_SUBJECT.match(sentence)
        return found[1] if found else ""
    match = _SUBJECT.match(sentence)
    if not match:
        return ""
    subject = match[1]
    determined = subject.startswith(("The ", "A ", "An "))
    words = subject.lower().split()[determined:]
    # "Before it", "Since then", "Each": no thing that a question could name.
    if not words or words[0] in STOP_WORDS or words[-1] in STOP_WORDS or words[0] in _COUNTS:
        return ""
    return subject[0].lower() + subject[1:] if determined else subject


def question_about(sentence: str, key: str, *, chinese: bool, first: bool, number: int = 0) -> str:
    """Return a question about ``key`` that a sentence answers, with its question word by what the sentence holds.

    Args:
        sentence: what answers it.
        key: what it is about.
        chinese: in which language.
        first: whether it opens the conversation.
        number: above 0 for a question that differs from all earlier ones by this number.
    """
    forms = _phrases(chinese)["questions"]
    if number:
        return str(forms["more"].format(key=key, point=number + 1))
    if first:
        return str(forms["first"].format(key=key))
    for row in forms["by_content"]:
        match = re.search(row["holds"], sentence)
        if match:
            return str(row["question"].format(key=key, held=match[match.lastindex or 0]))
    return str(forms["other"].format(key=key))


def reworded(sentence: str, number: int, *, chinese: bool) -> str:
    """Return a fact in slightly other words: a moved opening, exchanged words, a connective in front."""
    text, phrases = " ".join(sentence.split()), _phrases(chinese)
    lead = phrases["leads"][number % len(phrases["leads"])]
    if chinese:
        for old, new in phrases["swaps"].items():
            text = text.replace(old, new, 1)
        return str(lead + text) + ("" if text.endswith(("。", "！", "？")) else "。")
    moved = _OPENING.match(text)
    if moved and "," not in moved[2]:
        opening, body = moved[1], moved[2]
        text = f"{body[0].upper()}{body[1:]} {opening[0].lower()}{opening[1:]}."
    for old, new in phrases["swaps"].items():
        text = re.sub(rf"\b{old}\b", new, text, count=1)
    if lead and re.match(r"(?:The|A|An|It|They|This|These|Its|Their|In|On|By|Since|There)\b", text):
        text = lead + text[0].lower() + text[1:]
    return text if text[-1:] in ".!?\"”'" else text + "."


def cognitive(key: str, number: int, *, grounded: bool, chinese: bool) -> str:
    """Return an inference or evaluation about ``key``; the ungrounded ones claim what no text says."""
    choice = _phrases(chinese)["grounded" if grounded else "ungrounded"]
    return str(choice[number % len(choice)].format(key=key))
