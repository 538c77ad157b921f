"""A candidate: a prompt that was tried under a setting; and the mean spend and price of a case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..engines.ledger import Spend
from ..programs.own_answer import OwnAnswer
from ..programs.state import PromptState
from ..programs.word_rule import WordRule


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A candidate's own adapter, threshold, weights and rule of words; ``None`` stands for the job's.

    Attributes:
        threshold: votes for a positive verdict, 1..samples; below 1 the probability of one. It changes no request:
            verdicts under another threshold follow from the votes and probabilities that are stored.
        weights: label -> the factor of its probability, in place of a threshold; it changes no request either.
        form: the adapter, ``chat``, ``json`` or ``plain``; unlike the others it changes the request.
        words: the rule by which words decide, alone or with the reply; it changes no request.
        asks_model: whether a model is asked at all: False where words decide alone.
        own_answer: how the model is asked for its own answer to the task first; like ``form`` it changes the request.
    """

    threshold: float | None = None
    weights: Mapping[str, float] | None = field(default=None, hash=False)
    form: str | None = None
    words: WordRule | None = None
    asks_model: bool = True
    own_answer: OwnAnswer | None = None

    @property
    def of_request(self) -> Setting:
        """The setting with what changes a request alone: the adapter, an own answer, and whether there is a request."""
        return Setting(form=self.form, asks_model=self.asks_model, own_answer=self.own_answer)

    def id_of(self, prompt_id: str) -> str:
        """Return the id of a candidate with this setting: that of its prompt where the setting is the job's own."""
        data = self.to_json()
        if not data:
            return prompt_id
        text = json.dumps([prompt_id, data], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """Return name -> value of all that differs from the job's setting; empty if nothing differs."""
        data: dict[str, Any] = {}
        if self.threshold is not None:
            data["threshold"] = self.threshold
        if self.weights is not None:
            data["weights"] = dict(self.weights)
        if self.form is not None:
            data["form"] = self.form
        if self.words is not None:
            data["words"] = {"decide": self.words.name, "digest": self.words.digest}
        if not self.asks_model:
            data["asks_model"] = False
        if self.own_answer is not None:
            data["own_answer"] = self.own_answer.to_json()
        return data


DEFAULT_SETTING = Setting()
"""The job's own setting."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A prompt that was tried, under a setting."""

    state: PromptState
    parent: str | None  # the id of the candidate it was made from
    source: str  # the name of the step that made it
    step: int  # the optimizer's round, from 1; 0 outside rounds
    calls: int  # the calls that the job had made before it
    setting: Setting = DEFAULT_SETTING
    demo_ids: tuple[str, ...] = ()  # the ids of the cases that are its demonstrations
    # the choices that made it, for the record: JSON values by name
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    # case id -> the threshold, weights or rule of words that were fitted without this case, by which it is scored
    cross_fitted: Mapping[str, Setting] = field(default_factory=dict, hash=False)

    @cached_property
    def id(self) -> str:
        """The id of its prompt; under another setting than the job's own, the hash of both."""
        return self.setting.id_of(self.state.id)

    @cached_property
    def asked_id(self) -> str:
        """The id of what the model is asked; candidates that differ in threshold, weights or words alone share it."""
        return self.setting.of_request.id_of(self.state.id)


# -- the spend of a case ----------------------------------------------------------------------------------

OUTPUT_PRICE = 4.0
"""The assumed price of an output token in input tokens, where prices are not known; with most models it is 4 to 5."""


@dataclass(frozen=True, kw_only=True)
class MeanSpend:
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
        """Return the tokens of a row as a card has them: ``input`` and ``output``, to one decimal."""
        return {"input": round(self.input_tokens, 1), "output": round(self.output_tokens, 1)}


def mean_spend(spends: Sequence[Spend]) -> MeanSpend:
    """Return the mean of the spends of cases, of which there is at least one."""
    input_tokens = output_tokens = 0
    dollars = 0.0
    waits: list[float] = []
    for spend in spends:
        input_tokens += spend.input_tokens
        output_tokens += spend.output_tokens
        dollars += spend.cost
        if spend.seconds and not spend.replayed:
            waits.append(spend.seconds)
    count = len(spends)
    cost = None
    if not any(spend.unpriced for spend in spends):
        cost = dollars / count
    seconds = None
    if waits:
        seconds = sum(waits) / len(waits)
    return MeanSpend(
        input_tokens=input_tokens / count, output_tokens=output_tokens / count, cost=cost, seconds=seconds
    )


def price_cases(spends: Sequence[MeanSpend]) -> list[float]:
    """Return the price of a case under each mean spend: in dollars if all are known and not 0, else in input tokens."""
    dollars = [spend.cost for spend in spends if spend.cost]
    if len(dollars) == len(spends):
        return dollars
    return [spend.input_tokens + OUTPUT_PRICE * spend.output_tokens for spend in spends]
