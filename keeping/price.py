"""What a verdict costs, as a card says it, in words: tokens and dollars a row, before and after compiling."""

from collections.abc import Mapping
from typing import Any

from .artifact_card import Artifact


def tokens_words(card: Mapping[str, Any]) -> str:
    """Return ``396 -> 3,481 (8.8 times)``, basic and compiled; empty where a card does not tell."""
    per_row = card.get("tokens_per_row") or {}
    before, after = (sum((per_row.get(name) or {}).values()) for name in ("basic", "compiled"))
    return _changed(before, after, ",.0f") if before or after else ""


def price_words(card: Mapping[str, Any]) -> str:
    """Return what a row takes, in one line; empty where a card does not tell."""
    tokens = tokens_words(card)
    if not tokens:
        return ""
    output = (f"{card['tokens_per_row'][name]['output']:,.0f}" for name in ("basic", "compiled"))
    said = f"tokens a row: {tokens}, of these output {' -> '.join(output)}"
    dollars = card.get("dollars_per_1000_rows")
    return f"{said}; dollars per 1,000 rows: {_changed(**dollars, form='.3g')}" if dollars else said


def cheaper_words(artifact: Artifact) -> list[str]:
    """Return a line for each candidate that is within one error of the chosen one and costs at most half."""
    return [
        f"cheaper: {one['name']} takes {one['price']:.0%} of the price a row; its gain on train and dev is less by "
        f"{one['less']:.3f}, within one error ({one['error']:.3f}): "
        f"jurist artifacts choose {artifact.ref} {one['name']}"
        for one in artifact.card.get("cheaper") or ()
    ]


def _changed(basic: float, compiled: float, form: str) -> str:
    times = f" ({compiled / basic:.1f} times)" if basic else ""
    return f"{basic:{form}} -> {compiled:{form}}{times}"
