"""Asking a program for messages, many at once: one call, its usable reply or what was wrong with it.

As everywhere, a reply that cannot be parsed is the model's fault and is reported back; an error that every call
would meet ends the work; any other failure of the machinery is told apart from both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError, LMTransportError

from ..engines.draws import drawing
from ..engines.failures import brief, fatal, model_error, our_own
from ..errors import UsageError
from ..programs.together import asking_of, collect, together
from ..text.escaping import well_formed

__all__ = ["Reply", "Speaker", "each"]

Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What one call gave: messages by field, or one of two kinds of fault.

    Attributes:
        messages: output field -> text; empty if there is none.
        unreadable: the reply could not be parsed.
        failed: what went wrong with the machinery; empty if nothing did.
    """

    messages: dict[str, str]
    unreadable: bool = False
    failed: str = ""


@dataclass(frozen=True, kw_only=True)
class Speaker:
    """A program with a model.

    Attributes:
        program: :class:`~jurist.programs.dialogue.Converse` or ``Respond``.
        lm: a connected language model.
        adapter: DSPy's prompt format.
        concurrency: conversations in flight at once.
    """

    program: dspy.Module
    lm: dspy.LM
    adapter: str = "chat"
    concurrency: int = 8

    def __post_init__(self) -> None:
        """Refuse a concurrency that would wait for ever."""
        if self.concurrency < 1:
            raise UsageError(f"a concurrency of {self.concurrency} asks nothing", hint="give 1 or more")

    async def say(self, **inputs: Any) -> Reply:
        """Make one call, inside :func:`each`.

        Raises:
            ModelError: the model cannot be used at all.
            BudgetExhausted: the call would go over a limit.
        """
        try:
            prediction = await self.program.acall(**inputs)
        except AdapterParseError:
            return Reply(messages={}, unreadable=True)
        except LMError as error:
            ours = our_own(error)
            if ours is not None:
                raise ours from error
            if fatal(error) or (isinstance(error, LMTransportError) and not self._reached()):
                raise model_error(error) from error
            return Reply(messages={}, failed=f"{type(error).__name__}: {brief(error)[:200]}")
        return Reply(
            messages={name: well_formed(str(value or "")).strip() for name, value in prediction.items()}
        )

    def _reached(self) -> bool:
        """Whether any call of this job was ever answered: an address that never answers is a wrong address."""
        spend = self.lm._engine_spec.context.ledger.spend()
        return bool(spend.calls > spend.failures + spend.retries or spend.replayed)


def each(
    speaker: Speaker,
    items: Sequence[Item],
    work: Callable[[Item], Awaitable[Found]],
    *,
    draw: Callable[[Item], int],
    on_done: Callable[[], None] = lambda: None,
) -> list[Found]:
    """Do ``work`` for every item, several at once; the result is in the order of ``items``.

    Args:
        speaker: whose model and format the calls inside ``work`` use.
        items: what is to be done.
        work: does one, by calling :meth:`Speaker.say`.
        draw: the sample number of all calls made for an item.
        on_done: called after each item.

    Raises:
        ModelError: the model cannot be used at all.
        BudgetExhausted: a limit was reached; what was in flight has been paid and kept.
    """

    async def one(item: Item) -> Found:
        drawing(sample=draw(item), asked=Counter())  # in this task's own context
        found = await work(item)
        on_done()
        return found

    with asking_of(speaker.lm, speaker.adapter):
        result: list[Found] = collect(together(items, one, concurrency=speaker.concurrency))
    return result
