"""Drafts: what a model marks as its thinking, in whichever mark, is no part of its answer.

Judged text can hold such marks too, so :mod:`.escaping` defuses them before they reach a prompt. Only the standard
library: exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

import re
from typing import Final

_NAMES: Final = (
    "think|thinking|thoughts?|thought_process|reasoning|reflect|reflections?|scratchpad|analysis"
    "|rationale|deliberation|cot|chain_of_thought|inner_monologue|monologue|inner_thoughts?"
    "|internal_thoughts?|antthinking|draft|思考|思考过程|思考過程|推理|推理过程|分析|反思|생각|추론|рассуждение|размышление"
    "|gedanken|überlegung|réflexion|raisonnement|razonamiento|pensamiento|raciocínio|تفكير"
)
_LEFT: Final = r"(?:[<＜]|&lt;)"
_RIGHT: Final = r"(?:[>＞]|&gt;)"
_SLASH: Final = r"[/／]"
_PREFIX: Final = r"(?:[a-z]+:)?"  # of a namespace: <seed:think>
_ATTRIBUTES: Final = r"(?:\s+[\w-]+\s*=[^<>]*)?"
_MARKS: Final[tuple[tuple[str, str], ...]] = (
    # tags, as <think> and </think>
    (
        rf"{_LEFT}\s*{_PREFIX}(?:{_NAMES}){_ATTRIBUTES}\s*{_RIGHT}",
        rf"{_LEFT}\s*{_SLASH}\s*{_PREFIX}(?:{_NAMES})\s*{_RIGHT}",
    ),
    # Kimi
    (rf"◁\s*(?:{_NAMES})\s*▷", rf"◁\s*{_SLASH}\s*(?:{_NAMES})\s*▷"),
    # Magistral; other names in square brackets are headings
    (r"[\[【]\s*(?:think|thinking|思考)\s*[\]】]", rf"[\[【]\s*{_SLASH}\s*(?:think|thinking|思考)\s*[\]】]"),
    # OpenThinker, Command R: <|begin_of_thought|>, <|START_THINKING|>
    (
        rf"<\|\s*(?:(?:begin|start)_(?:of_)?)?(?:{_NAMES})\s*\|>",
        rf"<\|\s*(?:end_(?:of_)?|/\s*)(?:{_NAMES})\s*\|>",
    ),
    # gpt-oss, Gemma: every channel but the final one
    (
        r"<\|channel\|?>\s*(?!final\b)\w+",
        r"<\|channel\|?>\s*final\b(?:\s*<\|constrain\|>\s*\w+)?(?:\s*<\|message\|>)?|<channel\|>",
    ),
    # MedGemma
    (r"<unused94>", r"<unused95>"),
)
"""(pattern of the mark that begins a draft, pattern of the mark that ends it) of each kind of draft."""
_CHANNEL: Final = 4  # its marks follow each other and do not nest
_MARK_PATTERNS: Final = [f"(?P<o{row}>{begin})|(?P<c{row}>{end})" for row, (begin, end) in enumerate(_MARKS)]
# The module re compiles these at their first use: most texts hold no sign of a draft.
_MARK: Final = "(?i)" + "|".join(_MARK_PATTERNS)
_FENCE: Final = rf"(?is)```[ \t]*(?:{_NAMES})\b.*?(?:```|\Z)"
_ASCII_SIGNS: Final = ("<", "&lt;", "think", "```")
"""Signs of drafts in ASCII, in lower case: a text in ASCII without any of them holds no mark of a draft."""
_BEGINNINGS: Final = (
    (rf"(?i){_LEFT}(?=\s*(?:{_SLASH}\s*)?{_PREFIX}(?:{_NAMES})\b)", "‹"),
    (rf"(?i)◁(?=\s*(?:{_SLASH}\s*)?(?:{_NAMES})\b)", "‹"),
    (rf"(?i)[\[【](?=\s*(?:{_SLASH}\s*)?(?:think|thinking|思考)\b)", "("),
    (rf"(?i)<(?=\|\s*(?:(?:begin|start|end)_(?:of_)?|/\s*)?(?:{_NAMES})\b)", "‹"),
    (r"(?i)<(?=\|?channel\|?>|unused9[45]>)", "‹"),
    (rf"(?i)```(?=[ \t]*(?:{_NAMES})\b)", "'''"),
)
"""(pattern of the first character of a mark, what it becomes) of each kind of mark."""


def _may_hold_marks(text: str) -> bool:
    """Return whether a text may hold a mark of a draft; most do not, by a look that takes no time."""
    if not text.isascii():
        return True
    lowered = text.lower()
    return any(sign in lowered for sign in _ASCII_SIGNS)


def without_drafts(text: str) -> str:
    """Return the text of a reply outside of its drafts."""
    # What follows the beginning of a draft that has no end is a draft, and so is what comes before an end that has
    # no beginning.
    if not _may_hold_marks(text):
        return text
    text = re.sub(_FENCE, "", text)
    outside: list[str] = []
    depth = position = 0
    kind = ""
    for mark in re.finditer(_MARK, text):
        group = str(mark.lastgroup)
        begins = group[0] == "o"
        row = group[1:]
        if depth and row != kind:
            continue
        if not depth:
            outside.append(text[position : mark.start()])
            kind = row
        position = mark.end()
        if begins and row == str(_CHANNEL):
            depth = 1
        elif begins:
            depth += 1
        elif depth:
            depth -= 1
        else:
            outside.clear()
    if not depth:
        outside.append(text[position:])
    return "".join(outside)


def defuse_drafts(text: str) -> str:
    """Return a text in which no mark of a draft is left, each visibly changed in its first character."""
    if not _may_hold_marks(text):
        return text
    for beginning, replacement in _BEGINNINGS:
        text = re.sub(beginning, replacement, text)
    return text
