"""Write the reply in the adapter's own format, so that the adapter parses exactly its own fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ...text.terms import neutralise, shorten
from .echo import echoed
from .judge import Decision
from .pieces import Piece, wording_kind
from .request import Adapter, Field
from .shapes import Shape

__all__ = ["NO_TEXT", "explain", "pieces_value", "value_of", "write_reply"]

NO_TEXT: Final = (
    "The offline engine is an evidence reader and does not write text; use a language model for this field."
)
_QUOTE_LIMIT: Final = 160
_REASON_LIMIT: Final = 300
_REASON_NAMES: Final = (
    "reasoning", "rationale", "explanation", "justification", "analysis", "thought", "thoughts", "why",
    "reason", "feedback", "comment", "推理", "理由", "解释", "分析",
)  # fmt: skip
_QUOTE_NAMES: Final = (
    "evidence",
    "quote",
    "span",
    "citation",
    "support_text",
    "evidence_quote",
    "引用",
    "证据",
)


def explain(decisions: list[Decision]) -> str:
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


def pieces_value(shape: Shape, found: list[Piece]) -> list[dict[str, Any]]:
    """Return the value of a field of pieces; a kind that the closed set lacks gets its first label."""
    kinds = {wording_kind(label): label for label in reversed(shape.labels)}
    value = []
    for piece in found:
        said = {
            "label": kinds.get(piece.kind, shape.labels[0]),
            "flag": piece.verified,
            "score": round(piece.coverage, 3),
        }
        texts = iter((neutralise(piece.text), neutralise(piece.reasoning)))
        value.append({name: next(texts, "") if role == "text" else said[role] for name, role in shape.parts})
    return value


def value_of(field: Field, decisions: list[Decision]) -> Any:
    """Return the JSON-like value of one output field from its decisions (empty for free text)."""
    shape = field.shape
    first = decisions[0] if decisions else None
    if shape.kind == "bool":
        return first is not None and first.label == "True"
    if shape.kind == "label":
        return first.label if first else shape.labels[0]
    if shape.kind == "labels":
        return [d.label for d in decisions]
    if shape.kind == "bools":
        return [d.label == "True" for d in decisions]
    if shape.kind == "tags":
        return [_tag(shape, d) for d in decisions]
    if shape.kind == "echo":
        return echoed([(d.label, d.unit.text) for d in decisions])
    if shape.kind == "tag":
        return _tag(shape, first) if first else {}
    if shape.kind == "indices":
        return [d.unit.number for d in decisions if d.label == "True"]
    if shape.kind == "texts":
        return [neutralise(d.unit.text) for d in decisions if d.label == "True"]
    if shape.kind == "number":
        value = shape.low + (shape.high - shape.low) * (first.support if first else 0.0)
        return round(value) if shape.whole else round(value, 3)
    return {} if shape.kind == "map" else text_value(field, decisions)


def text_value(field: Field, decisions: list[Decision]) -> str:
    """Return the text of a free-text field: an explanation, a quote, or an honest refusal."""
    name = field.name.lower()
    if name in _REASON_NAMES or name.split("_")[-1] in _REASON_NAMES or name.split("_")[0] in _REASON_NAMES:
        return explain(decisions)
    if name in _QUOTE_NAMES and decisions:
        return neutralise(shorten(decisions[0].quote, _REASON_LIMIT)) or NO_TEXT
    return NO_TEXT


def _tag(shape: Shape, decision: Decision) -> dict[str, Any]:
    filled: dict[str, Any] = {}
    for name, role in shape.parts:
        filled[name] = {
            "number": decision.unit.number,
            "label": decision.label,
            "flag": decision.label == "True",
            "score": round(decision.support, 3),
            "text": explain([decision]),
        }[role]
    return filled


def write_reply(adapter: Adapter, values: Mapping[str, Any]) -> str:
    """Render values by field name as the adapter's assistant message."""
    if adapter == "json":
        return json.dumps(dict(values), ensure_ascii=False, indent=2)
    if adapter == "chat":
        parts = [f"[[ ## {name} ## ]]\n{_plain(value)}" for name, value in values.items()]
        return "\n\n".join([*parts, "[[ ## completed ## ]]"])
    return "\n\n".join(_xml(name, value, top=True) for name, value in values.items())


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else str(value)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _xml(tag: str, value: Any, *, top: bool = False) -> str:
    if isinstance(value, list):
        return f"<{tag}>{''.join(_xml('item', item) for item in value)}</{tag}>"
    if isinstance(value, dict):
        return f"<{tag}>{''.join(_xml(name, item) for name, item in value.items())}</{tag}>"
    gap = "\n" if top else ""
    return f"<{tag}>{gap}{_escape(str(value))}{gap}</{tag}>"
