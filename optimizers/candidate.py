"""A candidate: a prompt that was tried, how it is asked, and what asking it takes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from ..engines.ledger import Spend
from ..programs.state import PromptState


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How a candidate is asked and its votes are counted; ``None`` is as the job has it."""

    # votes for a positive verdict, 1..samples, or below 1 the probability of one. It changes no request:
    # verdicts under another threshold follow from the votes and probabilities that are stored
    threshold: float | None = None
    # what the probability of each label is multiplied by, in place of a threshold; it changes no request either
    weights: Mapping[str, float] | None = field(default=None, hash=False)
    # the form of the prompt: ``chat``, ``json`` or ``plain``; unlike the others it changes the request
    form: str | None = None

    @property
    def asking(self) -> Setting:
        """The part of it that changes the request."""
        return Setting(form=self.form)

    def id_of(self, prompt: str) -> str:
        """Return the id of a candidate with the prompt of that id: the prompt's own under the job's setting."""
        data = self.to_json()
        if not data:
            return prompt
        text = json.dumps([prompt, data], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """Return setting -> value where it differs from the job's; empty if nothing differs."""
        return {name: value for name, value in asdict(self).items() if value is not None}


DEFAULT_SETTING = Setting()
"""The job's own."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A prompt that was tried, under a setting."""

    state: PromptState
    parent: str | None  # the candidate it was made from
    source: str  # what made it
    step: int  # the optimizer's round, from 1; 0 outside rounds
    calls: int  # the calls the job had made by then
    setting: Setting = DEFAULT_SETTING
    demo_ids: tuple[str, ...] = ()  # the cases that are its demonstrations
    # the choices that made it, for the record: JSON values by name
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    # for the cases on which its threshold or weights were fitted, what was fitted without them: so they are scored
    crossed: Mapping[str, Setting] = field(default_factory=dict, hash=False)

    @cached_property
    def id(self) -> str:
        """The id of its prompt; under another setting than the job's own, the hash of both."""
        return self.setting.id_of(self.state.id)

    @cached_property
    def asked_id(self) -> str:
        """The id of what is asked: the same for candidates that differ in their threshold or weights only."""
        return self.setting.asking.id_of(self.state.id)


# -- what asking it takes ----------------------------------------------------------------------------------

OUTPUT_PRICE = 4.0
"""What an output token costs beside an input token, where prices are not known; it is 4 to 5 times with most models."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The mean spend of one case, whether its answers were paid in this run or replayed from the journal."""

    input_tokens: float  # of the prompt
    output_tokens: float  # of the reply
    cost: float | None  # US dollars; ``None`` if the price of a call is not known
    seconds: float | None = None  # waited for its answers; ``None`` if all were replayed

    @property
    def tokens(self) -> float:
        """Input and output tokens."""
        return self.input_tokens + self.output_tokens

    def per_row(self) -> dict[str, float]:
        """Return the tokens as a card has them."""
        return {"input": round(self.input_tokens, 1), "output": round(self.output_tokens, 1)}


def spent(usages: Sequence[Spend]) -> Spent:
    """Return the means over cases; at least one."""
    input_tokens = output_tokens = 0
    dollars = 0.0
    waits: list[float] = []
    for usage in usages:
        input_tokens += usage.input_tokens
        output_tokens += usage.output_tokens
        dollars += usage.cost
        if usage.seconds and not usage.replayed:
            waits.append(usage.seconds)
    count = len(usages)
    cost = None
    if not any(usage.unpriced for usage in usages):
        cost = dollars / count
    seconds = None
    if waits:
        seconds = sum(waits) / len(waits)
    return Spent(
        input_tokens=input_tokens / count, output_tokens=output_tokens / count, cost=cost, seconds=seconds
    )


def prices(spends: Sequence[Spent]) -> list[float]:
    """Return the price of a case of each: in dollars where all are known and not nothing, else in input tokens."""
    dollars = [spend.cost for spend in spends if spend.cost]
    if len(dollars) == len(spends):
        return dollars
    return [spend.input_tokens + OUTPUT_PRICE * spend.output_tokens for spend in spends]
