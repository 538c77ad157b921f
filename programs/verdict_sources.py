"""Where verdicts come from: what every source of them offers, and the choice of prompts whose replies can be read."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from ..cases import Case
from ..errors import ModelError
from .judge import Judge
from .verdicts import CUT_OFF, UNREADABLE, OnVerdict, Verdict


class VerdictSource(Protocol):
    """Whatever gives a verdict on each case: a judge with a model, a cascade of judges, a log of verdicts."""

    @property
    def name(self) -> str:
        """Its name in tables and files."""

    @property
    def judge(self) -> Judge:
        """The judge whose answers its verdicts are."""

    def verdicts(
        self, cases: Sequence[Case], *, repeat: int = 0, on_verdict: OnVerdict | None = None
    ) -> list[Verdict]:
        """Return a verdict on each case, in their order.

        Args:
            cases: what is judged.
            repeat: which repeat of an experiment it is, from 0; each draws other samples.
            on_verdict: called with each verdict as it comes, in any order.

        Raises:
            ModelError: the model cannot be used at all. BudgetExhausted: a limit was reached.
        """


FIRST_CASES = 8
"""The first cases, by whose replies a job sees whether it can read the model's replies."""
_Asked = TypeVar("_Asked")


def check_readable(verdicts: Sequence[Verdict], adapter: str) -> None:
    """Refuse a model if not one of its first replies can be read, in a prompt of one format alone.

    Raises:
        ModelError: the verdicts are those of the first few cases, and all replies were unusable.
    """
    unread = [verdict for verdict in verdicts if verdict.error_kind in (UNREADABLE, CUT_OFF)]
    if len(unread) == FIRST_CASES:
        raise unreadable_error(unread[-1].error, adapter)


def unreadable_error(error: str, adapter: str) -> ModelError:
    """Return the error for a model of which none of the first replies can be read; ``error`` is the last one's."""
    return ModelError(
        f"none of the first {FIRST_CASES} replies can be read: {error}; look at the prompt, or try a larger --model; "
        f"--adapter {adapter} goes on all the same"
    )


def with_readable_adapter(
    candidates: Iterable[_Asked], ask: Callable[[_Asked], Sequence[Verdict]]
) -> tuple[_Asked, str]:
    """Return the first of two candidates of which most replies can be read, and why it is the second one, in words.

    Args:
        candidates: the same judge with chat prompts, then with JSON prompts.
        ask: returns the verdicts of a candidate on the first few cases.

    Raises:
        ModelError: most replies to either cannot be read.
    """
    unread: list[list[Verdict]] = []
    for candidate in candidates:
        verdicts = ask(candidate)
        unread.append([verdict for verdict in verdicts if verdict.unread])
        if 2 * len(unread[-1]) > len(verdicts):
            continue
        if len(unread) == 1:
            return candidate, ""
        why = f"{len(unread[0])} of the first {len(verdicts)} replies to chat prompts cannot be read"
        return candidate, f"{why}: asked with --adapter json from now on"
    chat, as_json = map(len, unread)
    raise ModelError(
        f"of the first {len(verdicts)} replies {chat} to chat prompts and {as_json} to JSON prompts cannot be read: "
        f"{unread[-1][0].error}",
        hint="try a larger --model; --adapter chat goes on all the same",
    )
