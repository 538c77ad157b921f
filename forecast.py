"""What an experiment will cost, before anything is sent.

A few cases are rendered into prompts by the judge's own program and answered by the offline engine, which costs
nothing; calls and tokens per case are taken from there. Prices are those of the table that DSPy ships.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dspy.clients.costs import estimate_cost
from dspy.lm15 import Message, Response, Usage

from .cases import Case
from .engines.channel import Desk
from .engines.models import Model
from .errors import JuristError
from .experiment import Experiment
from .loading import LoadedJudge
from .programs.asking import Sampling

__all__ = ["Forecast", "foresee", "price_of"]

_RENDERED = 4


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """An estimate; tokens are of prompts and visible replies, about one for four letters.

    Attributes:
        contenders, cases, repeats: the sizes that are multiplied, with each contender's samples.
        calls: requests, without retries.
        billed: those of them that go to a model other than the offline engine.
        input_tokens, output_tokens: of all calls; hidden reasoning is not known and not in them.
        cost: US dollars of the models whose price is known.
        unpriced: models whose price is not known.
    """

    contenders: int
    cases: int
    repeats: int
    calls: int
    billed: int
    input_tokens: int
    output_tokens: int
    cost: float
    unpriced: tuple[str, ...]

    @property
    def words(self) -> str:
        """One line for people."""
        if not self.billed:
            cost = "no cost"
        elif self.unpriced:
            known = f"{self.cost:.2f} USD and " if self.cost else ""
            cost = f"{known}an unknown price for {', '.join(self.unpriced)}"
        else:
            cost = f"about {self.cost:.2f} USD without hidden reasoning"
        sizes = (("contender", self.contenders), ("case", self.cases), ("repeat", self.repeats))
        product = " x ".join(f"{size} {name}{'s' if size != 1 else ''}" for name, size in sizes)
        return (
            f"{product}: {self.calls} calls, about {self.input_tokens} input and {self.output_tokens} output "
            f"tokens, {cost}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types."""
        return {**self.__dict__, "cost": round(self.cost, 6), "unpriced": list(self.unpriced)}


def foresee(experiment: Experiment) -> Forecast:
    """Estimate calls, tokens and cost of an experiment. Sends nothing."""
    size = len(experiment.cases)
    places = [number * size // _RENDERED for number in range(_RENDERED)] if size > _RENDERED else range(size)
    shown = [experiment.cases[place] for place in places]
    seen: dict[tuple[str, str, str], tuple[float, float, float]] = {}
    calls = billed = tokens_in = tokens_out = 0
    cost, unpriced = 0.0, []
    for one in experiment.contenders:
        key = (one.judge.name, one.state.id, one.adapter)
        if key not in seen:
            seen[key] = _per_question(one, shown)
        per_question, asked, said = seen[key]
        number = round(per_question * experiment.questions(one))
        calls += number
        tokens_in += round(number * asked)
        tokens_out += round(number * said)
        if one.model.offline:
            continue
        billed += number
        price = price_of(one.model, round(asked), round(said))
        cost += number * (price or 0.0)
        if price is None:
            unpriced.append(one.model.name)
    return Forecast(
        contenders=len(experiment.contenders),
        cases=size,
        repeats=experiment.repeats,
        calls=calls,
        billed=billed,
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cost=cost,
        unpriced=tuple(dict.fromkeys(unpriced)),
    )


def price_of(model: Model, input_tokens: int, output_tokens: int) -> float | None:
    """Return what one call costs in US dollars, ``None`` if the model's price is not known."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")  # as for the calls themselves
    provider, _, name = model.name.partition("/")
    reply = Response(
        id=None,
        model=name,
        message=Message.assistant(""),
        finish_reason="stop",
        usage=Usage(input_tokens=input_tokens, output_tokens=output_tokens),
    )
    cost, _ = estimate_cost(reply, provider=provider, requested_model=name)
    return None if cost is None else float(cost)


def _per_question(one: LoadedJudge, cases: Sequence[Case]) -> tuple[float, float, float]:
    """Return calls per question, and input and output tokens per call."""
    desk = Desk.fresh()
    dry = dataclasses.replace(one, model=Model(temperature=0.0), sampling=Sampling(), desk=desk)
    try:
        dry.ask(cases)
    except JuristError:  # a program that cannot take the offline engine's answers is still worth counting
        return 1.0, 0.0, 0.0
    spend = desk.ledger.spend()
    made = max(1, spend.calls)
    return made / len(cases), spend.input_tokens / made, spend.output_tokens / made
