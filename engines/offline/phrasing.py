"""Wordings of the conversing role: questions from sentences, rewordings, and statements of its own. Data and rules.

Simple on purpose: a question word by what the sentence holds, a fact with its opening moved or its commonest words
exchanged, and templates of inference, evaluation and speculation, English and Chinese.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ...text.lexicons import NUMBER_WORDS, STOP_WORDS

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
_SWAPS: Final = tuple(
    (re.compile(rf"\b{old}\b"), new)
    for old, new in (
        ("began", "started"),
        ("built", "constructed"),
        ("about", "around"),
        ("because", "since"),
        ("however", "yet"),
        ("many", "a good number of"),
        ("needed", "required"),
        ("bought", "purchased"),
        ("helped", "assisted"),
        ("ended", "came to an end"),
    )
)
_WIDE_SWAPS: Final = (
    ("开始", "起初"),
    ("大约", "约"),
    ("因为", "由于"),
    ("但是", "不过"),
    ("需要", "必须"),
    ("建造", "修建"),
)
_LEADS: Final = ("", "", "Beyond that, ", "In addition, ", "", "At the same time, ")
_WIDE_LEADS: Final = ("", "", "此外，", "同时，", "", "另外，")

_GROUNDED: Final = (
    "All of this shows that {key} mattered to what followed.",
    "Taken together, these facts explain the part that {key} plays here.",
    "It follows that {key} cannot be understood apart from these circumstances.",
    "This makes {key} a notable part of the picture.",
    "These details suggest how closely {key} is tied to the rest.",
    "So the details about {key} fit together well.",
)
_UNGROUNDED: Final = (
    "It is likely that {key} inspired many people elsewhere to do the same.",
    "This probably gave {key} a lasting place in the hearts of the public.",
    "Visitors should certainly see {key} for themselves, as the experience is unforgettable.",
    "Experts today regard {key} as one of the finest examples of its kind in the world.",
    "Without {key}, the whole economy of the region might well have collapsed.",
    "The success of {key} was surely due to the enthusiasm of everybody involved.",
)
_WIDE_GROUNDED: Final = (
    "由此可见，{key}在其中起着重要作用。",
    "这些事实合在一起，说明了{key}的特点。",
    "因此，要理解{key}，离不开上述情况。",
    "这使{key}成为其中值得注意的一部分。",
    "从这些细节可以看出，{key}与其他方面联系紧密。",
)
_WIDE_UNGROUNDED: Final = (
    "{key}很可能激励了许多外地人纷纷效仿。",
    "可以想见，{key}在人们心中留下了难忘的印象。",
    "专家普遍认为，{key}堪称世界上同类中的典范。",
    "如果没有{key}，当地的经济也许早已崩溃。",
    "建议大家一定要亲自体验{key}，那将终生难忘。",
)


@dataclass(frozen=True, kw_only=True)
class _Questions:
    """The questions of one language; ``{key}`` is what they are about.

    Attributes:
        first: of a conversation.
        more: if all others were asked; ``{point}`` tells them apart.
        by_content: what a sentence holds -> the question that it answers; ``{held}`` is what was found.
        other: for sentences that hold none of it.
    """

    first: str
    more: str
    by_content: tuple[tuple[re.Pattern[str], str], ...]
    other: str


_QUESTIONS: Final = _Questions(
    first="I would like to know more about {key}. What should I know first?",
    more="What else can be said about {key}, and what do you make of point {point}?",
    by_content=(
        (
            re.compile(r"\b(?:in|on|since|until|by) ((?:\d{1,2} )?(?:[A-Z][a-z]+ )?\d{4})"),
            "What happened to {key} around {held}?",
        ),
        (re.compile(r"\d"), "How much or how many are we talking about when it comes to {key}?"),
        (
            re.compile(r"\b(?:because|since|due to|so that|therefore)\b"),
            "Why is that, as far as {key} is concerned?",
        ),
    ),
    other="What is there to say about {key}, and why does it matter?",
)
_WIDE_QUESTIONS: Final = _Questions(
    first="我想了解一下{key}，能先介绍一下吗？",
    more="关于{key}，还有什么可说的？第{point}点您怎么看？",
    by_content=(
        (re.compile(r"[〇零一二三四五六七八九\d]{2,4}年"), "{key}是什么时候的事？当时发生了什么？"),
        (re.compile(r"[\d一二三四五六七八九十百千万]+[个次把人天年倍成种]"), "说到{key}，数量大概有多少？"),
        (re.compile(r"因为|由于|以便|为了"), "{key}为什么会这样？"),
    ),
    other="{key}的情况如何？为什么值得注意？",
)


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
    forms = _WIDE_QUESTIONS if chinese else _QUESTIONS
    if number:
        return forms.more.format(key=key, point=number + 1)
    if first:
        return forms.first.format(key=key)
    for pattern, form in forms.by_content:
        match = pattern.search(sentence)
        if match:
            return form.format(key=key, held=match[match.lastindex or 0])
    return forms.other.format(key=key)


def reworded(sentence: str, number: int, *, chinese: bool) -> str:
    """Return a fact in slightly other words: a moved opening, exchanged words, a connective in front."""
    text = " ".join(sentence.split())
    if chinese:
        for old, new in _WIDE_SWAPS:
            text = text.replace(old, new, 1)
        lead = _WIDE_LEADS[number % len(_WIDE_LEADS)]
        return lead + text + ("" if text.endswith(("。", "！", "？")) else "。")
    moved = _OPENING.match(text)
    if moved and "," not in moved[2]:
        opening, body = moved[1], moved[2]
        text = f"{body[0].upper()}{body[1:]} {opening[0].lower()}{opening[1:]}."
    for pattern, new in _SWAPS:
        text = pattern.sub(new, text, count=1)
    lead = _LEADS[number % len(_LEADS)]
    if lead and re.match(r"(?:The|A|An|It|They|This|These|Its|Their|In|On|By|Since|There)\b", text):
        text = lead + text[0].lower() + text[1:]
    return text if text[-1:] in ".!?\"”'" else text + "."


def cognitive(key: str, number: int, *, grounded: bool, chinese: bool) -> str:
    """Return an inference or evaluation about ``key``; the ungrounded ones claim what no text says."""
    choices = (_WIDE_UNGROUNDED, _WIDE_GROUNDED) if chinese else (_UNGROUNDED, _GROUNDED)
    choice = choices[grounded]
    return choice[number % len(choice)].format(key=key)
