"""What work will cost, before anything is sent: calls, tokens and dollars, each as one expected figure and a range.

What a call takes is measured on a few prompts that the program renders and the offline engine answers. Models that are
known to reason are expected to write some hidden tokens more. After the first replies the forecast is made anew from
what they took. Retries after failures are not in it, and redraws of replies that cannot be read are said apart.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from ..arguments.groups import Prices
from ..cases import Case
from ..engines.channel import CallContext
from ..engines.embedding import embedder_beside, requests_for
from ..engines.ledger import Spend
from ..engines.meter import Budget
from ..engines.models import Model, connect
from ..engines.prices import foreseen_cost
from ..errors import JuristError, plural
from ..evaluation.plain import plain
from ..keeping.loading import LoadedJudge
from ..programs.asking import Asker, room_for
from ..programs.verdicts import Verdict
from ..text.terms import count_tokens
from ..text.wording import strings

_DETAILED = 4  # asks above which their calls are not listed one by one
_RENDERED = 4
_LEAST_REASONING, _MOST_REASONING = 0.25, 3.0
"""Shares of the hidden reasoning that is expected of a model, between which its mean will mostly lie."""
_LONGER = 0.1
"""How far from the basic prompt to the longest one the mean prompt of a search is expected to be."""
_DIFFERS = 1.5
"""By how much a new forecast must differ from the one before to be said."""
Item = TypeVar("Item")


class Span(NamedTuple):
    """From least to most, infinite without a limit."""

    least: float
    most: float

    def words(self, written: Callable[[float], str] = str) -> str:
        """Return ``3``, ``3 to 5``, ``3 or more``."""
        least = written(self.least)
        if self.most == math.inf:
            return f"{least} or more"
        most = written(self.most)
        return least if least == most else f"{least} to {most}"

    def to_json(self) -> list[float | None]:
        """Return ``[least, most]``, ``None`` without a limit."""
        return [self.least, None if self.most == math.inf else self.most]


class Expected(NamedTuple):
    """One figure each of what is to be expected; ``None`` if not known."""

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
        made = max(1, spend.calls)
        return cls(made / (questions or made), spend.input_tokens / made, spend.output_tokens / made)

    def with_reasoning(self, tokens: float) -> "Size":
        """Return the size of a call whose reply has so many hidden tokens besides."""
        return self._replace(output=self.output + tokens)

    def price(self, model: Model) -> float | None:
        """Return the price of one call in US dollars; ``None`` if the model's price is not known."""
        if free(model):
            return 0.0
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
    expected: float | None = (
        None  # the calls to expect; default: the middle, or the least where there is no most
    )

    @property
    def expected_calls(self) -> float:
        """The calls to expect."""
        if self.expected is not None:
            return max(self.calls.least, min(self.expected, self.calls.most))
        if self.calls.most == math.inf:
            return self.calls.least
        return (self.calls.least + self.calls.most) / 2

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
        return (self.expected_size.price(self.models[0]) or 0.0) if self.models else 0.0

    @property
    def paid(self) -> bool:
        """Whether any of the models costs something."""
        return not all(map(free, self.models))

    @property
    def tokens(self) -> tuple[float, float]:
        """Tokens of one call, from least to most."""
        reasoning = [model.expected_reasoning for model in self.models] or [0]
        least = self.size.tokens + _LEAST_REASONING * min(reasoning)
        return least, (self.longest or self.size).tokens + _MOST_REASONING * max(reasoning)

    @property
    def prices(self) -> tuple[float, float]:
        """US dollars of one call, from least to most; what is not known counts as nothing."""
        least, most = [], []
        for model in self.models:
            low = self.size.with_reasoning(_LEAST_REASONING * model.expected_reasoning)
            high = (self.longest or self.size).with_reasoning(_MOST_REASONING * model.expected_reasoning)
            least.append(low.price(model) or 0.0)
            most.append(high.price(model) or 0.0)
        return min(least), max(most)


@dataclass(frozen=True, kw_only=True)
class Estimate:
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
        return self._priced(lambda ask: (1, 1), self.budget.calls)

    @property
    def tokens(self) -> Span | None:
        """Input and output tokens of all asks; ``None`` if not known."""
        if not all(ask.size.tokens or all(model.recorded for model in ask.models) for ask in self.asks):
            return None
        return self._priced(lambda ask: ask.tokens, self.budget.tokens)

    @property
    def cost(self) -> Span | None:
        """US dollars; ``None`` if a price or the tokens are not known."""
        if self.unpriced() or self.tokens is None:
            return None
        return self._priced(lambda ask: ask.prices, self.budget.cost, digits=6)

    @property
    def paid(self) -> bool:
        """Whether anything of it costs something."""
        return any(ask.paid for ask in self.asks)

    @property
    def expected(self) -> "Expected":
        """Calls, tokens and dollars to expect, within the limits."""
        calls = sum(ask.expected_calls for ask in self.asks)
        share = 1.0
        if self.budget.calls is not None and calls > self.budget.calls:
            share = self.budget.calls / calls
        tokens = sum(ask.expected_calls * ask.expected_size.tokens for ask in self.asks)
        dollars = sum(ask.expected_calls * ask.expected_price for ask in self.asks)
        return Expected(
            calls=share * calls,
            tokens=None if self.tokens is None else _limited(share * tokens, self.budget.tokens),
            cost=None if self.cost is None else _limited(share * dollars, self.budget.cost),
        )

    def anew(self, spend: Spend) -> "Expected":
        """Return the expected spend of the whole job, scaled by the spend of its first replies."""
        before = self.expected
        # The first requests have the prompt that was measured; later ones may be longer, as was foreseen.
        first = replace(self, asks=tuple(replace(ask, longest=None) for ask in self.asks)).expected
        replies = before.calls / max(1, spend.calls - spend.failures - spend.retries)
        tokens = replies * (spend.input_tokens + spend.output_tokens)
        cost = None if spend.unpriced else replies * spend.cost
        if first.tokens and before.tokens:
            tokens *= before.tokens / first.tokens
        if cost is not None and first.cost and before.cost:
            cost *= before.cost / first.cost
        return Expected(
            calls=before.calls,
            tokens=_limited(tokens, self.budget.tokens),
            cost=None if cost is None else _limited(cost, self.budget.cost),
        )

    def anew_words(self, spend: Spend) -> str:
        """Return in a line what to expect after the first replies; empty where that hardly differs from before."""
        before, now = self.expected, self.anew(spend)
        made = max(1, spend.calls - spend.failures - spend.retries)
        if now.cost and before.cost is not None:
            ratio, total = now.cost / max(before.cost, 1e-9), f"{now.cost:.2f} USD and not {before.cost:.2f}"
        elif now.tokens and before.tokens:
            ratio = now.tokens / before.tokens
            total = f"{_counted(now.tokens)} tokens and not {_counted(before.tokens)}"
        else:
            return ""
        if 1 / _DIFFERS < ratio < _DIFFERS:
            return ""
        reply = f"{spend.output_tokens / made:,.0f} tokens"
        if spend.reasoning_tokens:
            reply += f", {spend.reasoning_tokens / made:,.0f} of them hidden reasoning"
        return f"after {plural(made, 'reply', 'replies')}: about {total} in all; a reply takes {reply}"

    def unpriced(self, *, hosted: bool = False) -> tuple[str, ...]:
        """Return the models whose price is not known, all or those that are ``hosted`` at their provider's address."""
        models = [model for ask in self.asks for model in ask.models if ask.size.price(model) is None]
        return tuple(dict.fromkeys(each.name for each in models if not (hosted and each.api_base)))

    @property
    def whole(self) -> "Estimate":
        """The estimate without limits; a job that was planned for its limits keeps them."""
        return self if self.needed else replace(self, budget=Budget())

    @property
    def words(self) -> str:
        """One line for people: of the whole work, whether or not the limits allow it."""
        whole = self.whole
        named = [f"{ask.calls.words()} {ask.who}" for ask in self.asks if ask.who]
        details = named if len(named) <= _DETAILED else []
        if self.needed:
            spare = f", of which {self.spare} are spare for requests that fail" if self.spare else ""
            details.append(f"set --max-calls to at least {self.needed}{spare}")
        if self.redraws:
            details.append(f"at most {self.redraws} more for replies that cannot be read")
        detail = f" ({', '.join(details)})" if details else ""
        expected = whole.expected
        if whole.tokens is None or expected.tokens is None:
            tokens = "tokens not known"
        else:
            tokens = f"about {_with_range(expected.tokens, whole.tokens, _counted)} tokens"
        reasoning = max((model.expected_reasoning for ask in self.asks for model in ask.models), default=0)
        if reasoning and whole.tokens:
            tokens += f", with {reasoning} of hidden reasoning a reply"
        if not self.paid:
            cost = "no cost"
        elif whole.cost is not None and expected.cost is not None:
            cost = f"about {_with_range(expected.cost, whole.cost, '{:.2f}'.format)} USD"
        else:
            unpriced = ", ".join(self.unpriced())
            cost = f"the price of {unpriced} is not known" if unpriced else "cost not known"
        return f"{self.what}: {whole.calls.words()} calls{detail}; {tokens}; {cost}"

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as plain JSON types; ranges as ``[least, most]``."""
        parts = {
            ask.role: {"models": [model.name for model in ask.models], "calls": ask.calls.to_json()}
            for ask in self.asks
        }
        spans = {name: getattr(self, name) for name in ("calls", "tokens", "cost")}
        return {
            "what": self.what,
            "parts": parts,
            **{name: span and span.to_json() for name, span in spans.items()},
            "expected": self.expected.to_json(),
            "unpriced": plain(self.unpriced()),
            "needed": self.needed,
            "spare": self.spare,
            "redraws": self.redraws,
        }

    def left(self, paid: Mapping[str, int], spent: int = 0) -> tuple[int | None, float | None]:
        """Return the requests to models that are not free and their cost, both at most; ``None`` if not known."""
        asks = tuple(
            replace(ask, calls=Span(0, max(0, ask.calls.most - paid.get(ask.role, 0))))
            for ask in self.asks
            if ask.paid
        )
        limit = self.budget.calls
        room = None if limit is None else max(0, limit - sum(paid.values()) - spent)
        if room == 0:
            return 0, None if self.cost is None else 0.0
        left = replace(self, asks=asks, budget=replace(self.budget, calls=room))
        calls, cost = left.calls.most, None if self.cost is None else left.cost
        return (
            None if calls == math.inf else round(calls),
            None if cost is None or cost.most == math.inf else cost.most,
        )

    def _priced(
        self, each: Callable[[Ask], tuple[float, float]], limit: float | None, digits: int | None = None
    ) -> Span:
        """Return the smallest and largest total of some asks within the limits."""
        room = math.inf if self.budget.calls is None else self.budget.calls
        least = sum(ask.calls.least for ask in self.asks)
        low = sum(ask.calls.least * each(ask)[0] for ask in self.asks) * min(1.0, room / max(1, least))
        high, left = 0.0, room
        for ask in sorted(self.asks, key=lambda ask: -each(ask)[1]):  # the dearest calls first
            made = min(ask.calls.most, left)
            high += made * each(ask)[1] if each(ask)[1] else 0.0
            left -= made
        most = min(high, math.inf if limit is None else limit)
        low, high = (end if end == math.inf else round(end, digits) for end in (min(low, most), most))
        return Span(low, high)


def _limited(figure: float, limit: float | None) -> float:
    return figure if limit is None else min(figure, limit)


def _with_range(figure: float, span: Span, written: Callable[[float], str]) -> str:
    """Return ``0.53 (0.05 to 1.20)``, or the figure alone where the ends read like it."""
    words, ends = written(figure), span.words(written)
    return words if ends == words else f"{words} ({ends})"


def _counted(number: float) -> str:
    """Return a number of tokens in two digits: ``950``, ``41 thousand``, ``9.2 million``."""
    for size, name in ((1_000_000, " million"), (1000, " thousand")):
        if number >= size:
            return f"{number / size:.1f}{name}" if number < 10 * size else f"{number / size:.0f}{name}"
    return f"{number:.0f}"


def free(model: Model) -> bool:
    """Say whether a model costs nothing: the offline engine, or verdicts that were given before."""
    return model.offline or model.recorded


def ask_of(
    role: str,
    asker: Asker,
    models: Sequence[Model],
    cases: Sequence[Case],
    number: tuple[int, int],
    *,
    who: str = "",
) -> Ask:
    """Return the range of calls for some questions: from a call each to every prompt and a quarter more."""
    calls = Span(number[0] * asker.judge.answer.presentations, room_for(asker.judge, number[1], 1))
    size = size_of(asker, cases) if cases else Size()
    # Units that a reply leaves out are asked for again, which is kept room for and seldom needed.
    expected = (calls.least + number[1] * asker.judge.calls) / 2
    return Ask(role=role, models=tuple(models), calls=calls, size=size, who=who, expected=expected)


def redraw_calls(judge: LoadedJudge, rows: int) -> int:
    """Return the calls at the most by which replies that cannot be read are drawn once more."""
    if all(map(free, judge.models)) or judge.judge.role != "judge":
        return 0
    return rows * judge.settings.redraws * judge.judge.calls


def judging(judge: LoadedJudge, questions: int, shown: Any) -> Ask:
    """Return the calls of a judge for some questions, from settled votes to incomplete replies in 1 of 4 samples."""
    number = questions * judge.questions[0], questions * judge.questions[1]
    who = f"of the judge ({judge.model.name})"
    return ask_of("judge", judge.asker(), judge.models, shown, number, who=who)


def embedding(role: str, asker: Asker, rows: int, shown: Sequence[Case]) -> list[Ask]:
    """Return the requests for embedding rows, many at once or one by one, and remembered rows beside them."""
    asks = []
    for at, (member, kept) in enumerate(asker.embedded, 1):
        if embedder := embedder_beside(member.lm, kept.embedder):
            texts, own = rows * member.judge.answer.presentations, requests_for(len(kept.rows))
            calls = Span(own + requests_for(texts), own + texts)
            tokens = length(shown) * (texts + len(kept.rows))
            low, high = (Size(1.0, tokens / number) for number in calls)
            asks.append(
                Ask(
                    role=f"{role}, embedder {at}",
                    who=f"of {kept.embedder}",
                    models=(embedder.model,),
                    calls=calls,
                    size=low,
                    longest=high,
                )
            )
    return asks


def size_of(asker: Asker, cases: Sequence[Case]) -> Size:
    """Return the mean size of a question over all cases (at least one); the offline engine answers a few of them."""
    context, few = CallContext.fresh(), some(cases)
    if not tried(asker, few, context):
        return Size()
    size = Size.of(context.ledger.spend(), len(few))
    # One long case outweighs many: count what the inputs of all are longer or shorter than those of the few.
    return size._replace(input=max(0.0, size.input + length(cases) - length(few)))


def length(cases: Sequence[Case]) -> float:
    """Return the tokens of the inputs of a case, on the mean."""
    return sum(count_tokens(text) for case in cases for text in strings(case.inputs)) / max(1, len(cases))


def tried(asker: Asker, cases: Sequence[Case], context: CallContext) -> list[Verdict]:
    """Return the verdicts of the offline engine on some cases; none where the program cannot take its answers."""
    lm = connect(Model(temperature=0.0), context, asker.judge.role)
    try:
        return asker.tried_by(lm, connect(Model(temperature=0.0), context)).ask_all(cases)
    except JuristError:  # it is still worth counting
        return []


def some(cases: Sequence[Item], most: int = _RENDERED) -> list[Item]:
    """Return a few cases (or whatever is asked about), evenly spread; by default enough to measure a prompt by."""
    size, few = len(cases), min(most, len(cases))
    return [cases[number * size // few] for number in range(few)]
