"""What work will cost, before anything is sent: calls, tokens and dollars, each as a range.

What a call takes is measured on a few prompts that the program renders and the offline engine answers. Retries after
failures and hidden reasoning are not in it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from dspy.clients.costs import estimate_cost
from dspy.lm15 import Message, Response, Usage

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Spend
from ..engines.meter import Budget
from ..engines.models import Model, connect, shipped_prices
from ..errors import JuristError
from ..keeping.loading import LoadedJudge
from ..programs.asking import Asker, room_for
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from ..text.json_lines import plain
from ..text.terms import count_tokens
from ..text.wording import strings

_TOLD = ("calls", "billed", "tokens", "cost", "unpriced", "needed")
_DETAILED = 4  # asks above which their calls are not listed one by one
_RENDERED = 4
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


class Size(NamedTuple):
    """What one question takes: calls, and tokens of each, which are 0 if the program could not be tried offline."""

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

    def price(self, model: Model) -> float | None:
        """Return what one call costs in US dollars, ``None`` if the model's price is not known."""
        if free(model):
            return 0.0
        shipped_prices()
        provider, _, name = model.name.partition("/")
        reply = Response(
            id=None,
            model=name,
            message=Message.assistant(""),
            finish_reason="stop",
            usage=Usage(input_tokens=round(self.input), output_tokens=round(self.output)),
        )
        cost, _ = estimate_cost(reply, provider=provider, requested_model=name)
        return None if cost is None else float(cost)


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One kind of question."""

    role: str  # its name in the work
    models: tuple[Model, ...]  # who may answer; of several, nobody knows beforehand which one will
    calls: Span  # how many there will be
    size: Size = field(default_factory=Size)  # what one takes
    longest: Size | None = None  # the same for the longest prompts; default: as ``size``
    who: str = ""  # what people call it; empty if its calls need not be told apart

    @property
    def paid(self) -> bool:
        """Whether any of the models costs something."""
        return not all(map(free, self.models))

    @property
    def known(self) -> bool:
        """Whether its tokens are known; a classifier takes none."""
        return bool(self.size.tokens) or all(model.classifier for model in self.models)

    @property
    def prices(self) -> tuple[float, float]:
        """US dollars of one call, from least to most; what is not known counts as nothing."""
        longest = self.longest or self.size
        return min(self.size.price(model) or 0.0 for model in self.models), max(
            longest.price(model) or 0.0 for model in self.models
        )


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The price of one piece of work."""

    what: str  # the sizes, in words
    asks: tuple[Ask, ...]  # each with a role of its own
    budget: Budget = field(default_factory=Budget)  # limits, which bound the upper ends
    needed: int = 0  # the least --max-calls, below which the work is not begun; 0 if any number will do

    @property
    def calls(self) -> Span:
        """Requests of all asks."""
        return self._priced(self.asks, lambda ask: (1, 1), self.budget.calls)

    @property
    def billed(self) -> Span:
        """Those of them that go to a model that does not run here."""
        paid = [ask for ask in self.asks if ask.paid]
        billed = self._priced(paid, lambda ask: (1, 1), self.budget.calls)
        free_too = any(free(model) for ask in self.asks for model in ask.models)
        return billed._replace(least=0) if free_too else billed

    @property
    def tokens(self) -> Span | None:
        """Input and output tokens of all asks; ``None`` if not known."""
        if not all(ask.known for ask in self.asks):
            return None
        sizes = lambda ask: (ask.size.tokens, (ask.longest or ask.size).tokens)  # noqa: E731
        return self._priced(self.asks, sizes, self.budget.tokens)

    @property
    def cost(self) -> Span | None:
        """US dollars; ``None`` if a price or the tokens are not known."""
        if self.unpriced or not all(ask.known for ask in self.asks):
            return None
        return self._priced(self.asks, lambda ask: ask.prices, self.budget.cost, digits=6)

    @property
    def _unpriced(self) -> list[Model]:
        return [model for ask in self.asks for model in ask.models if ask.size.price(model) is None]

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Models whose price is not known."""
        return tuple(dict.fromkeys(model.name for model in self._unpriced))

    @property
    def hosted(self) -> tuple[str, ...]:
        """Those of them that are asked at their provider's own address."""
        return tuple(dict.fromkeys(model.name for model in self._unpriced if model.api_base is None))

    @property
    def whole(self) -> "Estimate":
        """The same without limits; what is made for its limits, as it needs some to begin, stays as it is."""
        return self if self.needed else replace(self, budget=Budget())

    @property
    def payable(self) -> bool:
        """Whether the limit on calls allows what is needed to begin."""
        return self.budget.calls is None or self.needed <= self.budget.calls

    @property
    def words(self) -> str:
        """One line for people: of the whole work, whether or not the limits allow it."""
        whole = self.whole
        named = [f"{ask.calls.words()} {ask.who}" for ask in self.asks if ask.who]
        told = named if len(named) <= _DETAILED else []
        told += [f"set --max-calls to at least {self.needed}"] if self.needed else []
        detail = f" ({', '.join(told)})" if told else ""
        tokens = f"about {whole.tokens.words(_counted)} tokens" if whole.tokens else "tokens not known"
        if not any(ask.paid for ask in self.asks):
            cost = "no cost"
        elif whole.cost is not None:
            cost = f"about {whole.cost.words('{:.2f}'.format)} USD without hidden reasoning"
        else:
            unpriced = ", ".join(self.unpriced)
            cost = f"the price of {unpriced} is not known" if unpriced else "cost not known"
        return f"{self.what}: {whole.calls.words()} calls{detail}; {tokens}; {cost}"

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as plain JSON types; ranges as ``[least, most]``."""
        parts = {
            ask.role: {"models": [model.name for model in ask.models], "calls": ask.calls.to_json()}
            for ask in self.asks
        }
        values = ((name, getattr(self, name)) for name in _TOLD)
        told = {name: one.to_json() if isinstance(one, Span) else plain(one) for name, one in values}
        return {"what": self.what, "parts": parts, **told}

    def left(self, paid: Mapping[str, int], spent: int = 0) -> tuple[int | None, float | None]:
        """Return the requests to models that are not free and their cost, both at most; ``None`` if not known."""
        still = [
            (max(0, ask.calls.most - paid.get(ask.role, 0)), ask.prices[1]) for ask in self.asks if ask.paid
        ]
        room = None if self.budget.calls is None else max(0, self.budget.calls - sum(paid.values()) - spent)
        calls = _filled([(number, 1.0) for number, _ in still], room)
        number = None if calls == math.inf else round(calls)
        if self.cost is None:
            return number, None
        cost = min(_filled(still, room), math.inf if self.budget.cost is None else self.budget.cost)
        return number, None if cost == math.inf else cost

    def _priced(
        self,
        asks: Sequence[Ask],
        each: Callable[[Ask], tuple[float, float]],
        limit: float | None,
        digits: int | None = None,
    ) -> Span:
        """Return what asks come to, by what one call of each takes at the least and at the most, within the limits."""
        room, most = self.budget.calls, math.inf if limit is None else limit
        low = abs(_filled([(ask.calls.least, -each(ask)[0]) for ask in asks], room))
        high = _filled([(ask.calls.most, each(ask)[1]) for ask in asks], room)
        low, high = (
            end if end == math.inf else round(end, digits) for end in (min(low, most), min(high, most))
        )
        return Span(min(low, high), high)


def _filled(numbers: Sequence[tuple[float, float]], room: float | None) -> float:
    """Return what (number, value of each) come to if no more than ``room`` of them fit, the most valuable first."""
    total, left = 0.0, math.inf if room is None else room
    for number, value in sorted(numbers, key=lambda pair: -pair[1]):
        total += min(number, left) * value if value else 0.0
        left -= min(number, left)
    return total


def _counted(number: float) -> str:
    """Return a number of tokens in two digits: ``950``, ``41 thousand``, ``9.2 million``."""
    for size, name in ((1_000_000, " million"), (1000, " thousand")):
        if number >= size:
            return f"{number / size:.1f}{name}" if number < 10 * size else f"{number / size:.0f}{name}"
    return f"{number:.0f}"


def free(model: Model) -> bool:
    """Say whether a model runs here and costs nothing: the offline engine, or a classifier."""
    return model.offline or bool(model.classifier)


def ask_of(
    role: str,
    asker: Asker,
    models: Sequence[Model],
    cases: Sequence[Case],
    number: tuple[int, int],
    *,
    who: str = "",
    size: Size | None = None,
) -> Ask:
    """Return what asking takes: at the least a call a question, at the most every prompt and a quarter more."""
    if all(model.classifier for model in models):
        return Ask(role=role, models=tuple(models), calls=Span(*number), who=who)
    calls = Span(number[0] * asker.judge.answer.presentations, room_for(asker.judge, number[1], 1))
    measured = size or (size_of(asker, cases) if cases else Size())
    return Ask(role=role, models=tuple(models), calls=calls, size=measured, who=who)


def judging(judge: LoadedJudge, questions: int, shown: Any) -> Ask:
    """Return what labelling takes: from votes that are settled at once to incomplete replies in every fourth sample."""
    number = questions * judge.questions[0], questions * judge.questions[1]
    return ask_of(
        "judge", judge.asker(), judge.models, shown, number, who=f"of the judge ({judge.model.name})"
    )


def shared_out(ask: Ask, asker: Asker, verifier: Model | None, cases: Sequence[Case]) -> tuple[Ask, ...]:
    """Return an ask as it is, or as two, by the calls of a few cases, where ``verifier`` answers the frozen steps."""
    own, frozen = CallContext.fresh(), CallContext.fresh()
    answered = verifier is not None and tried(asker, some(cases), own, frozen)
    counts = [context.ledger.spend().calls for context in (own, frozen)]
    if verifier is None or not answered or not all(counts):
        return (ask,)
    share = counts[1] / sum(counts)
    theirs = Span(*(end if end == math.inf else round(end * share) for end in ask.calls))
    ours = ask.calls.most if ask.calls.most == math.inf else ask.calls.most - theirs.most
    size = _for_all(Size.of(own.ledger.spend()), cases)
    added = ((ask.longest or ask.size).input - ask.size.input) / (1 - share)
    tuned = replace(
        ask,
        models=tuple(model for model in ask.models if model != verifier) or ask.models,
        calls=Span(ask.calls.least - theirs.least, ours),
        size=size,
        longest=size._replace(input=size.input + added),
    )
    return tuned, Ask(
        role=f"{ask.role}, verifying",
        models=(verifier,),
        calls=theirs,
        size=_for_all(Size.of(frozen.ledger.spend()), cases),
        who=f"{ask.who} (verifiers)" if ask.who else "",
    )


def with_examples(
    asker: Asker, cases: Sequence[Case], basic: Size, examples: Sequence[Case], shown: int
) -> Size:
    """Return the size of the prompt with as many examples as it may show, by what a few of them add."""
    labelled = [case for case in examples if case.known]
    few, shown = some(labelled), min(shown, len(labelled))
    if not shown or not basic.input:
        return basic
    state = PromptState.of(asker.program)
    for case in few:
        for name, demo in asker.judge.demos(case).items():
            state = state.with_demos(name, (*state.predictors[name].demos, demo))
    more = replace(asker, program=state.apply(asker.judge.basic()))
    added = size_of(more, cases).input - basic.input
    return basic._replace(input=basic.input + shown * max(0.0, added / len(few)))


def size_of(asker: Asker, cases: Sequence[Case]) -> Size:
    """Return what one question takes on the mean of all cases (at least one): a few are asked of the offline engine."""
    context, few = CallContext.fresh(), some(cases)
    if not tried(asker, few, context):
        return Size()
    return _for_all(Size.of(context.ledger.spend(), len(few)), cases)


def _for_all(size: Size, cases: Sequence[Case]) -> Size:
    """Add what the inputs of all cases are longer or shorter than those of a few: one long case outweighs many."""
    longer = _length(cases) - _length(some(cases))
    return size._replace(input=max(0.0, size.input + longer))


def _length(cases: Sequence[Case]) -> float:
    return sum(count_tokens(text) for case in cases for text in strings(case.inputs)) / len(cases)


def tried(
    asker: Asker, cases: Sequence[Case], context: CallContext, frozen: CallContext | None = None
) -> list[Verdict]:
    """Return what is said if the offline engine answers once; nothing where the program cannot take its answers."""
    offline = Model(temperature=0.0)
    lm = connect(offline, context, asker.judge.role)
    dry = asker.tried_by(lm, connect(offline, frozen or context))
    try:
        return dry.ask_all(cases)
    except JuristError:  # it is still worth counting
        return []


def some(cases: Sequence[Item], most: int = _RENDERED) -> list[Item]:
    """Return a few cases (or whatever is asked about), evenly spread; by default enough to measure a prompt by."""
    size, few = len(cases), min(most, len(cases))
    return [cases[number * size // few] for number in range(few)]
