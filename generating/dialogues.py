"""Conversations grounded in documents, written turn by turn and checked turn by turn.

RefGPT, which CogniBench builds on (its section 2.1), writes a whole dialogue in one call. Here every exchange is
a call of its own: a fault costs one exchange and not the dialogue, every exchange is checked before the next one
rests on it, and the history grows as it does in use, which is what Figures 5 and 7 of the paper are about. The
price is that the reference is sent once a turn. An exchange that fails a check is asked again with the
complaint; if it fails as often as is allowed, the whole dialogue is rejected with its reasons, never kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..engines.draws import drawing
from ..engines.ledger import Spend
from ..programs.dialogue import rendered
from .checks import complaints, coverage
from .plans import Plan
from .speaking import Speaker, each

__all__ = ["Dialogue", "Turn", "converse"]

Turn: TypeAlias = dict[str, str]
"""``{"role": "user" | "assistant", "content": str}``."""

_UNREADABLE = "The reply could not be read; give every output field in the form that is asked for."


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """What became of one plan.

    Attributes:
        plan: what was wished for.
        turns: user and assistant in turn; of a rejected dialogue, those that passed.
        status: ``kept``; ``rejected`` by the checks; ``failed`` because the machinery did.
        reasons: the complaints of the exchange that was given up, one list an attempt; or what failed.
        retried: exchanges that were asked again, by the complaint.
        usage: the calls it took.
    """

    plan: Plan
    turns: tuple[Turn, ...]
    status: Literal["kept", "rejected", "failed"]
    reasons: tuple[str, ...] = ()
    retried: tuple[str, ...] = ()
    usage: Spend = field(default_factory=Spend, compare=False)

    def to_json(self, stamp: Mapping[str, Any]) -> dict[str, Any]:
        """Return the dialogue as one row, with where it comes from.

        Answers that were paid by an earlier start of the same job count as calls: the row of a job that was
        interrupted is the row of one that was not.
        """
        document, usage = self.plan.document, self.usage
        row: dict[str, Any] = {
            "id": self.plan.id,
            "group": document.id,
            "topic": self.plan.topic,
            "title": document.title,
            "language": self.plan.language,
            "reference": document.text,
            "turns": list(self.turns),
        }
        if self.status == "kept":
            row["coverage"] = [
                round(coverage(document.text, turn["content"]), 4)
                for turn in self.turns
                if turn["role"] == "assistant"
            ]
        else:
            row["status"], row["reasons"] = self.status, list(self.reasons)
        provenance = {
            "document": document.id,
            "source": document.source,
            "calls": usage.calls - usage.retries - usage.failures + usage.replayed,
            "asked_again": len(self.retried),
        }
        return {**row, "provenance": {**provenance, **stamp}}


def converse(
    speaker: Speaker,
    plans: Sequence[Plan],
    *,
    attempts: int = 3,
    on_done: Callable[[], None] = lambda: None,
) -> list[Dialogue]:
    """Make dialogues, several at once; the result is in the order of ``plans``.

    Args:
        speaker: a :class:`~jurist.programs.dialogue.Converse` with its model.
        plans: what to make.
        attempts: how often one exchange may be asked for, 1 or more.
        on_done: called after each dialogue.

    Raises:
        ModelError: the model cannot be used at all.
        BudgetExhausted: a limit was reached.
    """

    async def one(plan: Plan) -> Dialogue:
        usage = Spend()
        drawing(spend=usage)
        turns: list[Turn] = []
        retried: list[str] = []
        for _ in range(plan.turns):
            exchange, faults, failed = await _exchange(speaker, plan, turns, attempts)
            retried += faults
            if exchange is None:
                status: Literal["rejected", "failed"] = "failed" if failed else "rejected"
                reasons = (failed,) if failed else tuple(faults)
                return Dialogue(
                    plan=plan,
                    turns=tuple(turns),
                    status=status,
                    reasons=reasons,
                    retried=tuple(retried),
                    usage=usage,
                )
            turns += exchange
        return Dialogue(plan=plan, turns=tuple(turns), status="kept", retried=tuple(retried), usage=usage)

    return each(speaker, plans, one, draw=lambda plan: plan.draw, on_done=on_done)


async def _exchange(
    speaker: Speaker, plan: Plan, turns: Sequence[Turn], attempts: int
) -> tuple[list[Turn] | None, list[str], str]:
    """Return the exchange (or nothing), the complaints of the attempts before it, and what failed."""
    given: list[str] = []
    for _ in range(attempts):
        reply = await speaker.say(
            reference=plan.document.text,
            topic=plan.topic,
            dialogue=rendered(turns),
            language=plan.language_name,
            length=plan.length,
            complaint=given[-1] if given else "",
        )
        if reply.failed:
            return None, given, reply.failed
        user, assistant = reply.messages.get("user_message", ""), reply.messages.get("assistant_message", "")
        faults = (_UNREADABLE,) if reply.unreadable else complaints(plan, turns, user, assistant)
        if not faults:
            return [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}], given, ""
        given.append(" ".join(faults))
    return None, given, ""
