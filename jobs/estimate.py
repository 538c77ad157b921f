"""What work will cost, before anything is sent: calls, tokens and dollars, each as one expected figure and a range.

Models that are known to reason are expected to write some hidden tokens more. After the first replies the estimate is
revised by what they took. Retries after failures are not in it, and redraws of replies that cannot be read are counted
apart. :mod:`jurist.jobs.measuring` measures what a question takes.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..arguments.groups import Prices
from ..engines.ledger import Spend
from ..engines.meter import Budget
from ..engines.models import Model
from ..engines.prices import foreseen_cost
from ..errors import plural
from ..evaluation.plain import plain
from ..keeping.model_ends import warning_of_ends

_LISTED_ASKS = 4  # asks above which their calls are not listed one by one
_LEAST_REASONING = 0.25
"""The share of the hidden reasoning that is expected of a model, below which its mean will seldom lie."""
_MOST_REASONING = 3.0
"""The share of the hidden reasoning that is expected of a model, above which its mean will seldom lie."""
_LONGER = 0.1
"""The share of the way from the basic prompt to the longest one at which the mean prompt of a search is expected."""
_NOTABLE_RATIO = 1.5
"""The ratio of a revised estimate to the one before from which people are told."""


class Span(NamedTuple):
    """A range from ``low`` to ``high``, which is infinite without a limit."""

    low: float
    high: float

    def words(self, write: Callable[[float], str] = str) -> str:
        """Return ``3``, ``3 to 5``, ``3 or more``."""
        low = write(self.low)
        if self.high == math.inf:
            return f"{low} or more"
        high = write(self.high)
        if low == high:
            return low
        return f"{low} to {high}"

    def to_json(self) -> list[float | None]:
        """Return ``[low, high]``; ``high`` is ``None`` without a limit."""
        return [self.low, _finite(self.high)]


class Expected(NamedTuple):
    """The calls, tokens and dollars to expect, one figure each; ``None`` if not known."""

    calls: float
    tokens: float | None
    cost: float | None  # US dollars

    def to_json(self) -> dict[str, float | None]:
        """Return the figures, rounded."""
        return {
            "calls": round(self.calls),
            "tokens": None if self.tokens is None else round(self.tokens),
            "cost": None if self.cost is None else round(self.cost, 6),
        }


class Size(NamedTuple):
    """The size of one question: calls, and tokens of each; tokens are 0 if the program cannot be tried offline."""

    calls: float = 1.0
    input: float = 0.0
    output: float = 0.0

    @property
    def tokens(self) -> float:
        """Input and output tokens of one call."""
        return self.input + self.output

    @classmethod
    def of(cls, spend: Spend, questions: int | None = None) -> "Size":
        """Return the mean over what was spent on ``questions``, or on as many as there were calls."""
        calls = max(1, spend.calls)
        return cls(calls / (questions or calls), spend.input_tokens / calls, spend.output_tokens / calls)

    def with_reasoning(self, tokens: float) -> "Size":
        """Return the size of a call whose reply has so many hidden tokens besides."""
        return self._replace(output=self.output + tokens)

    def price(self, model: Model) -> float | None:
        """Return the price of one call in US dollars; ``None`` if the model's price is not known."""
        if is_free(model):
            return 0.0
        if model.members:
            prices = [self.price(member) for member in model.members]
            known_prices = [price for price in prices if price is not None]
            return sum(known_prices) / len(prices) if len(known_prices) == len(prices) else None
        return foreseen_cost(model.name, Prices.of(model), round(self.input), round(self.output))


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One kind of question."""

    role: str  # its name in the work
    models: tuple[Model, ...]  # who may answer; of several, nobody knows beforehand which one will
    calls: Span  # how many there will be
    size: Size = field(default_factory=Size)  # what one takes
    longest: Size | None = None  # the same for the longest prompts; default: as ``size``
    who: str = ""  # what people call it; empty if its calls need not be told apart
    # the calls to expect; default: the middle, or the least where there is no most
    expected: float | None = None

    @property
    def expected_calls(self) -> float:
        """The calls to expect."""
        if self.expected is not None:
            return max(self.calls.low, min(self.expected, self.calls.high))
        if self.calls.high == math.inf:
            return self.calls.low
        return (self.calls.low + self.calls.high) / 2

    @property
    def expected_size(self) -> Size:
        """The expected size of one call to the first model, which answers most calls."""
        longest = self.longest or self.size
        reasoning = self.models[0].expected_reasoning if self.models else 0
        return self.size._replace(
            input=self.size.input + _LONGER * (longest.input - self.size.input),
            output=self.size.output + _LONGER * (longest.output - self.size.output) + reasoning,
        )

    @property
    def expected_price(self) -> float:
        """US dollars that one call is expected to cost; what is not known counts as nothing."""
        if not self.models:
            return 0.0
        return self.expected_size.price(self.models[0]) or 0.0

    @property
    def paid(self) -> bool:
        """Whether any of the models costs something."""
        return not all(map(is_free, self.models))

    @property
    def tokens(self) -> Span:
        """Tokens of one call."""
        reasoning = [model.expected_reasoning for model in self.models] or [0]
        longest = self.longest or self.size
        return Span(
            self.size.tokens + _LEAST_REASONING * min(reasoning),
            longest.tokens + _MOST_REASONING * max(reasoning),
        )

    @property
    def prices(self) -> Span:
        """US dollars of one call; what is not known counts as nothing."""
        longest = self.longest or self.size
        low_prices: list[float] = []
        high_prices: list[float] = []
        for model in self.models:
            low = self.size.with_reasoning(_LEAST_REASONING * model.expected_reasoning)
            high = longest.with_reasoning(_MOST_REASONING * model.expected_reasoning)
            low_prices.append(low.price(model) or 0.0)
            high_prices.append(high.price(model) or 0.0)
        return Span(min(low_prices, default=0.0), max(high_prices, default=0.0))

    @property
    def is_measured(self) -> bool:
        """Whether the tokens of a call are known: they were measured, or all of its verdicts are in logs."""
        return bool(self.size.tokens) or all(model.recorded for model in self.models)


@dataclass(frozen=True, kw_only=True)
class CostEstimate:
    """The price of one piece of work."""

    what: str  # the sizes, in words
    asks: tuple[Ask, ...]  # each with a role of its own
    budget: Budget = field(default_factory=Budget)  # limits, which bound the upper ends
    needed: int = 0  # the --max-calls that is enough to end with a result; 0 if any number will do
    spare: int = 0  # those of them that are for requests that fail
    redraws: int = 0  # further calls at the most, where no reply can be read and each is drawn once more

    @property
    def calls(self) -> Span:
        """Requests of all asks."""
        return self._sum_asks(lambda ask: Span(1, 1), self.budget.calls)

    @property
    def tokens(self) -> Span | None:
        """Input and output tokens of all asks; ``None`` if not known."""
        if not all(ask.is_measured for ask in self.asks):
            return None
        return self._sum_asks(lambda ask: ask.tokens, self.budget.tokens)

    @property
    def cost(self) -> Span | None:
        """US dollars; ``None`` if a price or the tokens are not known."""
        if self.unpriced() or self.tokens is None:
            return None
        return self._sum_asks(lambda ask: ask.prices, self.budget.cost, digits=6)

    @property
    def paid(self) -> bool:
        """Whether anything of it costs something."""
        return any(ask.paid for ask in self.asks)

    @property
    def expected(self) -> Expected:
        """Calls, tokens and dollars to expect, within the limits."""
        calls = 0.0
        tokens = 0.0
        dollars = 0.0
        for ask in self.asks:
            calls += ask.expected_calls
            tokens += ask.expected_calls * ask.expected_size.tokens
            dollars += ask.expected_calls * ask.expected_price
        share = 1.0
        if self.budget.calls is not None and calls > self.budget.calls:
            share = self.budget.calls / calls
        expected_tokens = None
        if self.tokens is not None:
            expected_tokens = _cap(share * tokens, self.budget.tokens)
        expected_cost = None
        if self.cost is not None:
            expected_cost = _cap(share * dollars, self.budget.cost)
        return Expected(calls=share * calls, tokens=expected_tokens, cost=expected_cost)

    def revise(self, spend: Spend) -> Expected:
        """Return the expected spend of the whole job, scaled by the spend of its first replies."""
        expected = self.expected
        # The first requests have the prompt that was measured; later ones may be longer, as was foreseen.
        first = self._without_longest_prompts().expected
        scale = expected.calls / max(1, spend.calls - spend.failures - spend.retries)
        tokens = scale * (spend.input_tokens + spend.output_tokens)
        if first.tokens and expected.tokens:
            tokens *= expected.tokens / first.tokens
        cost = None
        if not spend.unpriced:
            cost = scale * spend.cost
            if first.cost and expected.cost:
                cost *= expected.cost / first.cost
            cost = _cap(cost, self.budget.cost)
        return Expected(calls=expected.calls, tokens=_cap(tokens, self.budget.tokens), cost=cost)

    def _without_longest_prompts(self) -> "CostEstimate":
        """Return the estimate for prompts that stay as long as they were measured."""
        asks: list[Ask] = []
        for ask in self.asks:
            asks.append(replace(ask, longest=None))
        return replace(self, asks=tuple(asks))

    def describe_revision(self, spend: Spend) -> str:
        """Return in a line what to expect after the first replies; empty where that hardly differs from before."""
        expected = self.expected
        revised = self.revise(spend)
        if revised.cost and expected.cost is not None:
            ratio = revised.cost / max(expected.cost, 1e-9)
            total = f"{revised.cost:.2f} USD and not {expected.cost:.2f}"
        elif revised.tokens and expected.tokens:
            ratio = revised.tokens / expected.tokens
            total = f"{_round_tokens(revised.tokens)} tokens and not {_round_tokens(expected.tokens)}"
        else:
            return ""
        if 1 / _NOTABLE_RATIO < ratio < _NOTABLE_RATIO:
            return ""
        replies = max(1, spend.calls - spend.failures - spend.retries)
        size = f"{spend.output_tokens / replies:,.0f} tokens"
        if spend.reasoning_tokens:
            size += f", {spend.reasoning_tokens / replies:,.0f} of them hidden reasoning"
        return f"after {plural(replies, 'reply', 'replies')}: about {total} in all; a reply takes {size}"

    def unpriced(self, *, hosted: bool = False) -> tuple[str, ...]:
        """Return the models whose price is not known, all or those that are ``hosted`` at their provider's address."""
        names: dict[str, None] = {}
        for ask in self.asks:
            for asked_model in ask.models:
                for model in asked_model.each:
                    if ask.size.price(model) is None and not (hosted and model.api_base):
                        names[model.name] = None
        return tuple(names)

    @property
    def ending(self) -> str:
        """A warning that models which are asked have ended, or end within 90 days; empty without any."""
        models: list[Model] = []
        for ask in self.asks:
            for asked_model in ask.models:
                models.extend(asked_model.each)
        return warning_of_ends(models)

    @property
    def without_limits(self) -> "CostEstimate":
        """The estimate without limits; a job that was planned for its limits keeps them."""
        if self.needed:
            return self
        return replace(self, budget=Budget())

    @property
    def words(self) -> str:
        """One line for people: of the whole work, whether or not the limits allow it."""
        unlimited = self.without_limits
        details = ", ".join(self._list_details())
        calls = f"{unlimited.calls.words()} calls"
        if details:
            calls += f" ({details})"
        return f"{self.what}: {calls}; {unlimited._describe_tokens()}; {unlimited._describe_cost()}"

    def _list_details(self) -> list[str]:
        """Return the calls of each kind of question, the limit that is needed, and redraws, in words."""
        details: list[str] = []
        for ask in self.asks:
            if ask.who:
                details.append(f"{ask.calls.words()} {ask.who}")
        if len(details) > _LISTED_ASKS:
            details = []
        if self.needed:
            limit = f"set --max-calls to at least {self.needed}"
            if self.spare:
                limit += f", of which {self.spare} are spare for requests that fail"
            details.append(limit)
        if self.redraws:
            details.append(f"at most {self.redraws} more for replies that cannot be read")
        return details

    def _describe_tokens(self) -> str:
        """Return the tokens of all asks in words."""
        expected = self.expected
        if self.tokens is None or expected.tokens is None:
            return "tokens not known"
        words = f"about {_with_range(expected.tokens, self.tokens, _round_tokens)} tokens"
        reasoning = 0
        for ask in self.asks:
            for model in ask.models:
                reasoning = max(reasoning, model.expected_reasoning)
        if reasoning:
            words += f", with {reasoning} of hidden reasoning a reply"
        return words

    def _describe_cost(self) -> str:
        """Return the cost of all asks in words."""
        if not self.paid:
            return "no cost"
        expected = self.expected
        if self.cost is not None and expected.cost is not None:
            return f"about {_with_range(expected.cost, self.cost, '{:.2f}'.format)} USD"
        unpriced = ", ".join(self.unpriced())
        if unpriced:
            return f"the price of {unpriced} is not known"
        return "cost not known"

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as plain JSON types; ranges as ``[low, high]``."""
        parts: dict[str, object] = {}
        for ask in self.asks:
            models = [model.name for model in ask.models]
            parts[ask.role] = {"models": models, "calls": ask.calls.to_json()}
        tokens = self.tokens
        cost = self.cost
        return {
            "what": self.what,
            "parts": parts,
            "calls": self.calls.to_json(),
            "tokens": tokens and tokens.to_json(),
            "cost": cost and cost.to_json(),
            "expected": self.expected.to_json(),
            "unpriced": plain(self.unpriced()),
            "needed": self.needed,
            "spare": self.spare,
            "redraws": self.redraws,
        }

    def remaining(
        self, paid: Mapping[str, int], spent: int = 0, *, counted: bool = True
    ) -> tuple[int | None, float | None]:
        """Return the requests to models that are not free and their cost, both at most; ``None`` if not known.

        Args:
            paid: role -> answers that were paid for before.
            spent: further calls that were made before.
            counted: whether the answers count towards the limits.
        """
        unused_answers = Counter(paid)
        if counted:
            spent += unused_answers.total()
        calls_left = None
        if self.budget.calls is not None:
            calls_left = max(0, self.budget.calls - spent)
        if calls_left == 0:
            return 0, None if self.cost is None else 0.0
        asks: list[Ask] = []
        for ask in self.asks:
            if ask.paid:
                paid_calls = min(ask.calls.high, unused_answers[ask.role])
                unused_answers[ask.role] -= math.ceil(paid_calls)
                asks.append(replace(ask, calls=Span(0, ask.calls.high - paid_calls)))
        remainder = replace(self, asks=tuple(asks), budget=replace(self.budget, calls=calls_left))
        calls = _finite(remainder.calls.high)
        cost = None
        if self.cost is not None and remainder.cost is not None:
            cost = _finite(remainder.cost.high)
        return None if calls is None else round(calls), cost

    def _sum_asks(
        self, measure_call: Callable[[Ask], Span], limit: float | None, digits: int | None = None
    ) -> Span:
        """Return the smallest and largest total over all calls, within the limits.

        Args:
            measure_call: what one call takes.
            limit: of the total.
            digits: to which it is rounded; ``None`` for whole numbers.
        """
        most_calls = math.inf if self.budget.calls is None else self.budget.calls
        low_total = 0.0
        fewest_calls = 0.0
        ranges: list[tuple[float, float]] = []  # of each ask the most that a call takes, and its most calls
        for ask in self.asks:
            per_call = measure_call(ask)
            low_total += ask.calls.low * per_call.low
            fewest_calls += ask.calls.low
            ranges.append((per_call.high, ask.calls.high))
        low_total *= min(1.0, most_calls / max(1, fewest_calls))

        high_total = 0.0
        calls_left = most_calls
        for per_call_high, ask_calls in sorted(ranges, key=lambda item: -item[0]):  # the dearest calls first
            calls = min(ask_calls, calls_left)
            calls_left -= calls
            if per_call_high:
                high_total += calls * per_call_high
        high_total = _cap(high_total, limit)
        return Span(_round(min(low_total, high_total), digits), _round(high_total, digits))


def _finite(figure: float) -> float | None:
    """Return a figure, or ``None`` for an infinite one."""
    if figure == math.inf:
        return None
    return figure


def _round(figure: float, digits: int | None) -> float:
    """Return a figure, rounded unless it is infinite."""
    if figure == math.inf:
        return figure
    return round(figure, digits)


def _cap(figure: float, limit: float | None) -> float:
    """Return a figure, or the limit where that is smaller."""
    if limit is None:
        return figure
    return min(figure, limit)


def _with_range(figure: float, span: Span, write: Callable[[float], str]) -> str:
    """Return ``0.53 (0.05 to 1.20)``, or the figure alone where the ends read like it."""
    words = write(figure)
    ends = span.words(write)
    if ends == words:
        return words
    return f"{words} ({ends})"


def _round_tokens(number: float) -> str:
    """Return a number of tokens in two digits: ``950``, ``41 thousand``, ``9.2 million``."""
    for size, name in ((1_000_000, " million"), (1000, " thousand")):
        if number >= 10 * size:
            return f"{number / size:.0f}{name}"
        if number >= size:
            return f"{number / size:.1f}{name}"
    return f"{number:.0f}"


def is_free(model: Model) -> bool:
    """Say whether a model costs nothing: the offline engine, or verdicts that were given before."""
    return model.offline or model.recorded
