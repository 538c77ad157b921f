"""Model strings: which of them name one model, and which a decision model; imports no DSPy."""

from typing import Final

DECISION_PROVIDERS: Final = ("systemone", "typesafe", "decisions")
"""What the names of decision models begin with: a server of System One, TypeSafe's own, and OpenAI's."""
PANEL: Final = "panel of "
"""The start of a panel's name."""


def is_decision_model(name: str) -> bool:
    """Say whether a model string names a decision model."""
    return name.partition("/")[0] in DECISION_PROVIDERS


def same_model(first: str, second: str) -> bool:
    """Say whether two model strings name one model: providers, through which it is reached, do not count."""
    # ``openai/gpt-6-luna``, ``azure/gpt-6-luna`` and ``openrouter/openai/gpt-6-luna`` do; addresses are no part.
    if first == second:
        return True
    if PANEL in (first[: len(PANEL)], second[: len(PANEL)]):
        return _panel_names(first) == _panel_names(second)
    if "/" not in first or "/" not in second or is_decision_model(first) != is_decision_model(second):
        return False
    return first.lower().rpartition("/")[2] == second.lower().rpartition("/")[2]


def _panel_names(name: str) -> list[str]:
    """Return the names of the members of a panel, without the providers through which they are reached."""
    names = name.removeprefix(PANEL).lower().split(" + ")
    return sorted(member.rpartition("/")[2] for member in names)
