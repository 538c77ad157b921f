"""What an experiment will cost, before anything is sent.

A few cases are rendered into prompts by the judge's own program and answered by the offline engine, which costs
nothing; calls and tokens per case are taken from there. Prices are those of the table that DSPy ships. What a
compilation will cost is in :mod:`jurist.jobs.outlook`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dspy.clients.costs import estimate_cost
from dspy.lm15 import Message, Response, Usage

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Spend
from ..engines.models import Model, connect
from ..errors import JuristError
from ..programs.asking import Asker, Sampling, room_for
from .experiment import Experiment

__all__ = [
    "Forecast",
    "Rate",
    "Span",
    "counted",
    "foresee",
    "free",
    "price_of",
    "rate",
    "some",
    "spanned",
]

_RENDERED = 4
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Span:
    """From least to most; ``most`` is ``None`` without a limit."""

    least: float
    most: float | None

    def to_json(self) -> list[float | None]:
        """Return ``[least, most]``."""
        return [self.least, self.most]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What one question takes.

    Attributes:
        calls: requests per question.
        input_tokens, output_tokens: per call; both 0 if the program could not be tried offline.
    """

    calls: float = 1.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0

    @classmethod
    def of(cls, spend: Spend, questions: int | None = None) -> Rate:
        """Return the mean over what was spent on ``questions``, or on as many as there were calls."""
        made = max(1, spend.calls)
        return cls(
            calls=made / (questions or made),
            input_tokens=spend.input_tokens / made,
            output_tokens=spend.output_tokens / made,
        )


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
        again: room for further calls, where replies may leave out units that are asked for again.
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
    again: int = 0

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
            + (f"; up to {self.again} calls more for incomplete replies" if self.again else "")
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types."""
        return {**self.__dict__, "cost": round(self.cost, 6), "unpriced": list(self.unpriced)}


def foresee(experiment: Experiment) -> Forecast:
    """Estimate calls, tokens and cost of an experiment. Sends nothing."""
    size = len(experiment.cases)
    shown = some(experiment.cases)
    seen: dict[tuple[str, str, str], Rate] = {}
    calls = billed = tokens_in = tokens_out = again = 0
    cost, unpriced = 0.0, []
    for one in experiment.contenders:
        key = (one.judge.name, one.state.id, one.adapter)
        if key not in seen:
            seen[key] = Rate() if one.model.classifier else rate(one.asker, shown)
        asked, said = seen[key].input_tokens, seen[key].output_tokens
        number = round(seen[key].calls * experiment.questions(one))
        calls += number
        asked_once = experiment.questions(one)
        again += room_for(one.judge, asked_once, 1) - asked_once * one.judge.calls
        tokens_in += round(number * asked)
        tokens_out += round(number * said)
        if one.model.offline or one.model.classifier:
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
        again=again,
    )


def free(model: Model) -> bool:
    """Say whether a model runs here and costs nothing: the offline engine, or a classifier."""
    return model.offline or bool(model.classifier)


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


def some(cases: Sequence[Item]) -> list[Item]:
    """Return a few cases (or whatever is asked about), evenly spread: enough to measure a prompt by."""
    size = len(cases)
    if size <= _RENDERED:
        return list(cases)
    return [cases[number * size // _RENDERED] for number in range(_RENDERED)]


def rate(asker: Callable[[], Asker], cases: Sequence[Case]) -> Rate:
    """Return what one question to a judge takes, measured on a few cases with the offline engine.

    Args:
        asker: gives what asks; its program, judge and adapter are used, its model is not.
        cases: the questions, at least one.
    """
    context = CallContext.fresh()
    offline = connect(Model(temperature=0.0), context)
    dry = dataclasses.replace(asker(), lm=offline, frozen_lm=None, sampling=Sampling())
    try:
        dry.ask_all(cases)
    except JuristError:  # a program that cannot take the offline engine's answers is still worth counting
        return Rate()
    return Rate.of(context.ledger.spend(), len(cases))


def spanned(span: Span, written: Callable[[float], str]) -> str:
    """Return a range in words: ``3``, ``3 to 5``, ``3 or more``."""
    least = written(span.least)
    if span.most is None:
        return f"{least} or more"
    most = written(span.most)
    return least if least == most else f"{least} to {most}"


def counted(number: float) -> str:
    """Return a number of tokens in two digits: ``950``, ``41 thousand``, ``9.2 million``."""
    for size, name in ((1_000_000, " million"), (1000, " thousand")):
        if number >= size:
            return f"{number / size:.1f}{name}" if number < 10 * size else f"{number / size:.0f}{name}"
    return f"{number:.0f}"
