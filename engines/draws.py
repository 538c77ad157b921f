"""What a call belongs to: a sample, a case. It travels beside the programs, which need not know of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from typing import Any, Final

from .journal import Answer
from .ledger import Spend


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What the calls made in a context belong to. Whoever asks sets it, so that no program has to pass it on."""

    sample: int | None = (
        None  # the number of the sample in hand, for requests that do not carry one themselves
    )
    asked: Counter[str] | None = None  # how often this sample has asked each thing, by request key
    # where the texts that answer this sample are kept, if someone wants to compare samples
    replies: list[str] | None = None
    labels: str = (
        ""  # the output field of whose labels the probabilities are wanted; empty if nobody wants them
    )
    # where they are kept: for each call whose reply has that field, label -> probability for each label, in
    # the order of the reply
    probabilities: list[Sequence[Mapping[str, float]]] | None = None
    cut: list[Answer] | None = None  # where the replies are kept that lack their end
    case: str = ""  # the id of the case in hand; empty outside of one
    spend: Spend | None = (
        None  # where the calls of the case in hand are counted too, if someone wants them apart
    )


_NOBODY: Final = Draw()
current_draw: ContextVar[Draw] = ContextVar("jurist_draw", default=_NOBODY)
"""The draw of the calls made in this context."""


def drawing(**changes: Any) -> Token[Draw]:
    """Change what the calls of this context belong to; the token takes it back."""
    return current_draw.set(replace(current_draw.get(), **changes))
