"""How strict an application needs its answers to be (CogniBench section 2.2), and what then counts as hallucinated.

``rational`` suits entertainment, ``grounded`` assistants (the paper's own choice
for its detection results), ``irrefutable`` decisions about people's health, money
or rights. What falls below the chosen test is a hallucination; an invented fact
is one under all three.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, get_args

from ..cases import Label
from ..errors import UsageError
from .answers.infer import closed
from .judge import Judge

Strictness = Literal["rational", "grounded", "irrefutable"]
LEVELS: tuple[str, ...] = get_args(Strictness)
DEFAULT: Final = "grounded"

BELOW: Final[Mapping[str, frozenset[Label]]] = {
    "rational": frozenset({"invented", "misleading"}),
    "grounded": frozenset({"invented", "misleading", "speculative"}),
    "irrefutable": frozenset({"invented", "misleading", "speculative", "reliable"}),
}
"""Strictness -> the sentence labels that are hallucinations under it."""


def with_strictness(judge: Judge, strictness: str) -> Judge:
    """Return the judge with everything below ``strictness`` as its positive labels.

    Its prompts stay as they are: they ask for the tier. What changes is what is searched for, counted and voted on.
    """
    levels = judge.answer.levels
    if not levels:
        raise UsageError(
            f"judge {judge.name} has no tiers, so it cannot be more or less strict",
            hint="leave out --strictness, or use cognibench, cognibench-staged or tier",
        )
    if strictness not in levels:
        raise UsageError(
            f"{strictness!r} is no strictness of judge {judge.name}", hint=f"use one of {', '.join(levels)}"
        )
    answer = closed(judge.answer)
    return replace(judge, answer=replace(answer, positive=answer.tiers[strictness]))
