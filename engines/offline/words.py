"""What a free-text field gets that tells of a decision: an explanation, a quote, or an honest refusal."""

from collections.abc import Sequence
from typing import Final

from ...text.terms import neutralise, shorten
from .decisions import Decision

NO_TEXT: Final = (
    "This engine scores how texts overlap and does not write text; use a language model for this field."
)
_QUOTE_LIMIT: Final = 160
_REASON_LIMIT: Final = 300
_REASON_NAMES: Final = frozenset({
    "reasoning", "rationale", "explanation", "justification", "analysis", "thought", "thoughts", "why", "reason",
    "feedback", "comment", "推理", "理由", "解释", "分析",
})  # fmt: skip
_QUOTE_NAMES: Final = frozenset(
    {"evidence", "quote", "span", "citation", "support_text", "evidence_quote", "引用", "证据"}
)


def explain(decisions: Sequence[Decision]) -> str:
    """Return one line: the verdicts, the best quote of the first unsupported unit, what decided."""
    if not decisions:
        return "There is nothing to judge: the judged field is empty."
    doubtful = min(decisions, key=lambda d: d.support)
    quote = shorten(doubtful.quote, _QUOTE_LIMIT)
    about = f"unit {doubtful.unit.number} " if len(decisions) > 1 else ""
    found = (
        f'Closest evidence for {about or "it"}: "{quote}".'
        if quote
        else f"No evidence shares a word with {about or 'it'}."
    )
    why = f" Decided by {', '.join(doubtful.reasons)}." if doubtful.reasons else ""
    return shorten(neutralise(f"{found}{why} Verdict: {doubtful.label}."), _REASON_LIMIT)


def text_value(name: str, decisions: Sequence[Decision]) -> str:
    """Return the text of a free-text field by its name: an explanation, a quote, or an honest refusal."""
    lowered = name.lower()
    if {lowered, lowered.split("_")[-1], lowered.split("_")[0]} & _REASON_NAMES:
        return explain(decisions)
    if lowered in _QUOTE_NAMES and decisions:
        return neutralise(shorten(decisions[0].quote, _REASON_LIMIT)) or NO_TEXT
    return NO_TEXT
