"""Asking the judges of a cascade: each row goes from one to the next until one is sure enough of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import dspy

from ..cases import Case
from ..engines.ledger import Spend
from ..evaluation.cascade import SureAnswer, Trust
from .asking import Asker
from .verdicts import PEOPLE, Verdict


def said_by(asker: Asker, verdict: Verdict) -> SureAnswer:
    """Return what a verdict on one unit says, and how sure it is: by its tokens, else by its votes."""
    (value,) = verdict.values
    if value is None:
        return None
    shares = verdict.probabilities[0] if verdict.measured else {}
    agreed = verdict.agreement[0]
    return asker.judge.answer.scale.text(value), shares.get(value, 1.0 if agreed is None else agreed)


@dataclass(frozen=True, kw_only=True)
class Member:
    """A judge of a cascade, ready to be asked."""

    name: str
    asker: Asker
    trust: Trust


@dataclass(frozen=True, kw_only=True)
class CascadeAsker(Asker):
    """Asks the first judge, and the next one where it is not sure enough; what none is sure of is left to people."""

    members: Sequence[Member]
    level: float  # how probable it must be that a judge agrees with people

    def tried_by(self, lm: dspy.LM, frozen_lm: dspy.LM) -> Asker:
        """Return what asks its last judge alone, whose prompt is mostly the longest."""
        return self.members[-1].asker.tried_by(lm, frozen_lm)

    async def judged(self, case: Case, usage: Spend | None = None) -> Verdict:
        """Judge one case by the first judge that is sure enough."""
        usage, doubts = usage or Spend(), []
        for member in self.members:
            async with member.asker.ready():
                verdict = await member.asker.judged(case, usage)
            probable = member.trust.of(said_by(member.asker, verdict))
            if verdict.status == "failed" or (verdict.status == "verdict" and probable >= self.level):
                return replace(verdict, by=member.name, usage=usage)
            doubts.append(f"{member.name} {probable:.2f}")
        unsure = f"no judge is sure enough ({', '.join(doubts)}; {self.level:g} is needed)"
        nobody: dict[str, Any] = {"values": (None,), "agreement": (None,), "error": unsure, "by": PEOPLE}
        return replace(verdict, status="abstained", usage=usage, **nobody)
