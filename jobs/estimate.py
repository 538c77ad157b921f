"""What work will cost, before anything is sent: calls, tokens and dollars, each as a range.

An estimate has parts, one for each kind of question: who answers, how many calls there will be, and what a call
takes (measured by :mod:`.measuring`). How many calls there will be is known between two ends only: units may be asked
for again, a program may stop early, and a search may find much or nothing. Prices are those of the table that DSPy
ships. Retries after failures and hidden reasoning are not in it.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dspy.clients.costs import estimate_cost
from dspy.lm15 import Message, Response, Usage

from ..engines.ledger import Spend
from ..engines.meter import Budget
from ..engines.models import Model, shipped_prices
from ..text.json_lines import plain

_TOLD = ("calls", "billed", "tokens", "cost", "unpriced", "needed")
_DETAILED = 4  # parts above which their calls are not listed one by one


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
    """What one question takes."""

    # requests per question. input_tokens, output_tokens: per call; both 0 if the program could not be tried
    # offline
    calls: float = 1.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0

    @property
    def tokens(self) -> float:
        """Input and output tokens of one call."""
        return self.input_tokens + self.output_tokens

    @classmethod
    def of(cls, spend: Spend, questions: int | None = None) -> "Rate":
        """Return the mean over what was spent on ``questions``, or on as many as there were calls."""
        made = max(1, spend.calls)
        return cls(
            calls=made / (questions or made),
            input_tokens=spend.input_tokens / made,
            output_tokens=spend.output_tokens / made,
        )


@dataclass(frozen=True, kw_only=True)
class Part:
    """One kind of question."""

    role: str  # its name in the work
    models: tuple[
        Model, ...
    ]  # who may answer; where there are several, nobody knows beforehand which one will
    calls: Span  # requests
    rate: Rate = Rate()  # what one takes
    longest: Rate | None = None  # the same for the longest prompts; default: as ``rate``
    who: str = ""  # what people call it; empty if its calls need not be told apart

    @property
    def paid(self) -> bool:
        """Whether any of the models costs something."""
        return not all(map(free, self.models))

    @property
    def known(self) -> bool:
        """Whether its tokens are known; a classifier takes none."""
        return bool(self.rate.tokens) or all(model.classifier for model in self.models)

    @property
    def tokens(self) -> tuple[float, float]:
        """Tokens of one call, from least to most."""
        return self.rate.tokens, (self.longest or self.rate).tokens

    @property
    def prices(self) -> tuple[float, float]:
        """US dollars of one call, from least to most; what is not known counts as nothing."""
        low = [_price(model, self.rate) or 0.0 for model in self.models]
        high = [_price(model, self.longest or self.rate) or 0.0 for model in self.models]
        return min(low), max(high)

    @property
    def unpriced(self) -> tuple[Model, ...]:
        """The models whose price is not known."""
        return tuple(model for model in self.models if _price(model, self.rate) is None)

    @property
    def number(self) -> tuple[float, float]:
        """The calls as two numbers."""
        return self.calls.least, math.inf if self.calls.most is None else self.calls.most


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An estimate for one piece of work."""

    what: str  # the sizes, in words
    parts: tuple[Part, ...]  # the kinds of questions; each has a role of its own
    budget: Budget = field(default_factory=Budget)  # limits, which bound the upper ends
    needed: int = 0  # the calls that a limit has to allow, or the work is not begun; 0 if any number will do

    @property
    def calls(self) -> Span:
        """Requests of all parts."""
        return self._sum(self.parts, lambda part: (1, 1), self.budget.calls)

    @property
    def billed(self) -> Span:
        """Those of them that go to a model that does not run here."""
        free_too = [part for part in self.parts if not all(not free(model) for model in part.models)]
        found = self._sum([part for part in self.parts if part.paid], lambda part: (1, 1), self.budget.calls)
        return dataclasses.replace(found, least=0) if free_too else found

    @property
    def tokens(self) -> Span | None:
        """Input and output tokens of all parts; ``None`` if not known."""
        if not all(part.known for part in self.parts):
            return None
        return self._sum(self.parts, lambda part: part.tokens, self.budget.tokens)

    @property
    def cost(self) -> Span | None:
        """US dollars; ``None`` if a price or the tokens are not known."""
        if self.unpriced or not all(part.known for part in self.parts):
            return None
        return self._sum(self.parts, lambda part: part.prices, self.budget.cost, digits=6)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Models whose price is not known."""
        return tuple(dict.fromkeys(model.name for part in self.parts for model in part.unpriced))

    @property
    def hosted(self) -> tuple[str, ...]:
        """Those of them that are asked at their provider's own address."""
        models = [model for part in self.parts for model in part.unpriced if model.api_base is None]
        return tuple(dict.fromkeys(model.name for model in models))

    @property
    def whole(self) -> "Estimate":
        """The same without limits; what is made for its limits, as it needs some to begin, stays as it is."""
        return self if self.needed else dataclasses.replace(self, budget=Budget())

    @property
    def payable(self) -> bool:
        """Whether the limit on calls allows what is needed to begin."""
        return self.budget.calls is None or self.needed <= self.budget.calls

    @property
    def words(self) -> str:
        """One line for people: of the whole work, whether or not the limits allow it."""
        whole = self.whole
        tokens = f"about {spanned(whole.tokens, counted)} tokens" if whole.tokens else "tokens not known"
        return f"{self.what}: {spanned(whole.calls, str)} calls{self._detail}; {tokens}; {whole._cost}"

    @property
    def _detail(self) -> str:
        named = [f"{spanned(part.calls, str)} {part.who}" for part in self.parts if part.who]
        needed = [f"a limit has to allow {self.needed}"] if self.needed else []
        said = (named if len(named) <= _DETAILED else []) + needed
        return f" ({', '.join(said)})" if said else ""

    @property
    def _cost(self) -> str:
        if not any(part.paid for part in self.parts):
            return "no cost"
        if self.cost is None:
            unpriced = ", ".join(self.unpriced)
            return f"the price of {unpriced} is not known" if unpriced else "cost not known"
        return f"about {spanned(self.cost, '{:.2f}'.format)} USD without hidden reasoning"

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as plain JSON types; ranges as ``[least, most]``."""
        parts = {
            part.role: {"models": [model.name for model in part.models], "calls": part.calls.to_json()}
            for part in self.parts
        }
        return {
            "what": self.what,
            "parts": parts,
            **{name: plain(getattr(self, name)) for name in _TOLD},
        }

    def left(self, paid: Mapping[str, int], spent: int = 0) -> tuple[int | None, float | None]:
        """Return the requests to models that are not free and their cost, both at most; ``None`` if not known."""
        open_ = [(max(0, part.number[1] - paid.get(part.role, 0)), part) for part in self.parts if part.paid]
        room = None if self.budget.calls is None else max(0, self.budget.calls - sum(paid.values()) - spent)
        calls = _filled([(number, 1.0) for number, _ in open_], room)
        if self.cost is None:
            return _whole(calls), None
        cost = _filled([(number, part.prices[1]) for number, part in open_], room)
        cost = cost if self.budget.cost is None else min(cost, self.budget.cost)
        return _whole(calls), None if cost == math.inf else cost

    def _sum(
        self,
        parts: Sequence[Part],
        each: Callable[[Part], tuple[float, float]],
        limit: float | None,
        digits: int | None = None,
    ) -> Span:
        room = self.budget.calls
        least = _filled([(part.number[0], -each(part)[0]) for part in parts], room)
        most = _filled([(part.number[1], each(part)[1]) for part in parts], room)
        ends = [abs(least), most] if limit is None else [min(abs(least), limit), min(most, limit)]
        low, high = (end if end == math.inf else round(end, digits) for end in ends)
        return Span(least=min(low, high), most=None if high == math.inf else high)


def _filled(numbers: Sequence[tuple[float, float]], room: float | None) -> float:
    """Return what (number, value of each) come to if no more than ``room`` of them fit, the most valuable first."""
    total, left = 0.0, math.inf if room is None else room
    for number, value in sorted(numbers, key=lambda pair: -pair[1]):
        total += min(number, left) * value if value else 0.0
        left -= min(number, left)
    return total


def _whole(number: float) -> int | None:
    return None if number == math.inf else round(number)


def free(model: Model) -> bool:
    """Say whether a model runs here and costs nothing: the offline engine, or a classifier."""
    return model.offline or bool(model.classifier)


def _price(model: Model, rate: Rate) -> float | None:
    return 0.0 if free(model) else price_of(model, round(rate.input_tokens), round(rate.output_tokens))


def price_of(model: Model, input_tokens: int, output_tokens: int) -> float | None:
    """Return what one call costs in US dollars, ``None`` if the model's price is not known."""
    shipped_prices()
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
