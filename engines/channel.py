"""The one path of a call: journal, meter, engine, retries (none are DSPy's: each is reserved), ledger."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import dspy
from dspy import LMError
from dspy.lm15 import Request, Response

from ..errors import BudgetExhausted, CheckpointError, unknown_price
from .conversion import answer_of, content_of, reply_text, response_of
from .draws import (
    current_draw,
    note_answer,
    number_of_draw,
    probabilities_of,
    request_of_draw,
    request_with_number,
)
from .failures import (
    ATTEMPTS,
    FATAL,
    ROW_REFUSED,
    TOO_MUCH,
    UNAVAILABLE,
    Breaker,
    FailureKind,
    LongLimitError,
    RefusedRowError,
    UnusableReplyError,
    absent,
    attempts_for,
    backoff,
    brief,
    kind_of,
)
from .journal import WITHOUT_END, Answer, Failed, Journal, Past, request_key
from .ledger import FirstReplies, Ledger, Purpose, Spend
from .meter import Amount, Budget, Estimate, Meter, size_of
from .pace import Pace
from .terms import Terms

_STEP = 0.1  # seconds; longer waits are made of such steps
_RESUMED = 3  # attempts of an earlier process that count, at most: the request is sent at least once more
_TOLD = 120
"""Characters of a failure that are shown while the work goes on."""
_LOOKS = 25  # at what was paid before; if none of it was asked for meanwhile, it is not waited for
_POLL = 0.002  # seconds between two looks whether the calls in flight have left room for one more


class Inner(Protocol):
    """The endpoint or engine behind a channel.

    Some have more: ``check(request)`` refuses what cannot be answered, ``settings`` are further values that decide the
    answers, and ``has_price`` says whether a call's cost is known beforehand.
    """

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Return the response and its cost in US dollars, ``None`` if not known."""
        ...

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Complete a request inside a running event loop."""
        ...


@dataclass(frozen=True, kw_only=True)
class CallContext:
    """The state that all channels of a job share: limits, journal, ledger, pace."""

    ledger: Ledger
    meter: Meter
    journal: Journal
    breaker: Breaker = field(default_factory=Breaker)
    paces: dict[str, Pace] = field(default_factory=dict)
    terms: dict[str, Terms] = field(default_factory=dict)
    stored_terms: Mapping[str, str] = field(default_factory=dict)
    """Endpoint -> its terms as earlier jobs found them, as JSON."""
    first_replies: FirstReplies | None = None  # what is told of them, if somebody wants to know
    embedders: dict[Any, Any] = field(default_factory=dict)  # model -> what embeds texts in the job
    # proposals that could not be used, by what was asked
    unread: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Tell the meter what the journal holds: it is spent, even if nobody asks for it again."""
        for phase, prior in self.journal.taken():
            self.meter.add_prior(phase, prior)

    @property
    def trouble(self) -> str:
        """A line about the current wait and its cause; empty without trouble."""
        spend = self.ledger.spend()
        if not (spend.retries or spend.failures):
            return ""
        last = " ".join(("; the last failure:", *self.breaker.last.split())) if self.breaker.last else ""
        return (
            f"{self.meter.in_flight} calls in flight; {spend.retries + spend.failures} failed, of which "
            f"{spend.retries} were sent again and {spend.failures} given up{last}"
        )

    @classmethod
    def fresh(cls, budget: Budget | None = None) -> CallContext:
        """Return a context without memory, and without limits unless some are given."""
        return cls(ledger=Ledger(), meter=Meter(budget), journal=Journal())


@dataclass(frozen=True, kw_only=True)
class _Call:
    """One question on its way, and what earlier processes made of it."""

    request: Request
    sent: Request  # with the number of the draw
    key: str
    past: Past


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    """A request that was sent: its number in the journal, and what it has reserved of the budget."""

    number: int
    reservation: Amount | None


@dataclass(slots=True)
class _Tries:
    """The attempts of one call so far."""

    failures: int
    """Attempts that failed and count: the kind of a failure says how many there may be."""
    refusals: int
    """Attempts that came too soon for an endpoint that answers: these are waited out by time."""
    first_begun: float = 0.0
    """When the first attempt left; 0 before."""


class _Way(NamedTuple):
    """How a call is made and waited for: where it blocks whoever asks, or where it is awaited."""

    send: Callable[[Request], Awaitable[tuple[Response, float | None]]]
    sleep: Callable[[float], Awaitable[None]]
    may_wait: bool = True  # whether what is waited for goes on meanwhile


class Channel:
    """A synchronous DSPy engine with journal, meter, retries and ledger."""

    def __init__(
        self, inner: Inner, context: CallContext, purpose: Purpose, pace: Pace | None = None
    ) -> None:
        self.inner, self.context, self.purpose = inner, context, purpose
        self._refuses = getattr(inner, "check", None)
        self._settings_of: Callable[[Request], frozenset[str]] | None = getattr(inner, "settings_of", None)
        self._timed = not getattr(inner, "local", False)
        self.pace = pace or Pace()
        self._estimate, self._primed = Estimate(), False
        self._settings: Mapping[str, Any] = getattr(inner, "settings", {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Channel:
        """Return itself: copies of a program share one meter."""
        return self

    def lm(self, name: str, **settings: Any) -> dspy.LM:
        """Return the language model of this name whose every call goes through here."""
        return dspy.LM(name, engine=self, async_engine=_Awaited(self), cache=False, num_retries=0, **settings)

    def complete(self, request: Request) -> Response:
        """Answer a request, from the journal if it was paid before."""

        async def send(sent: Request) -> tuple[Response, float | None]:
            return self.inner.complete(sent)

        async def sleep(seconds: float) -> None:
            time.sleep(seconds)

        # Waiting inside an event loop would stop the very calls that are waited for.
        try:
            self._answered(request, _Way(send, sleep, may_wait=not _looping())).send(None)
        except StopIteration as end:
            response: Response = end.value
            return response
        raise AssertionError("what blocks never waits")

    async def acomplete(self, request: Request) -> Response:
        """Complete a request inside a running event loop."""
        return await self._answered(request, _Way(self.inner.acomplete, asyncio.sleep))

    async def _answered(self, request: Request, way: _Way) -> Response:
        call = self._begin(request_of_draw(request))
        if call.past.answer:
            return response_of(call.past.answer, call.request)
        if call.past.refusal:
            raise RefusedRowError(FailureKind(call.past.refusal), call.past.error)
        self._check(call)
        return await self._tried(call, way)

    async def _tried(self, call: _Call, way: _Way) -> Response:
        """Go through the attempts of a call that is not in the journal."""
        request = call.request
        counted = min(call.past.retried, _RESUMED)
        tries = _Tries(failures=counted, refusals=counted)
        while True:
            settings = await self._turn(call, way)
            attempt = self._leave(call, await self._reserved(call, way))
            begun, tried = self.pace.begin(settings), False
            tries.first_begun = tries.first_begun or begun
            try:
                response, cost = await way.send(call.sent)
                answer = answer_of(response, cost, probabilities_of(response))
                if not says_something(response):
                    raise UnusableReplyError(answer)
            except LMError as failure:
                error = self._named(failure)
                kind = kind_of(error)
                tried = kind in UNAVAILABLE - TOO_MUCH
                wait = self.pace.absent(begun) if absent(error, self.pace.away) else None
                pause = self._failed(attempt, error, kind, tries, wait)
                if kind in TOO_MUCH:
                    self.pace.refused(begun, pause, error.retry_after)
            except BaseException:
                with suppress(CheckpointError):  # it would hide why the call was given up
                    self._over(attempt, Spend(calls=1, failures=1), "dropped")
                raise
            else:
                tried = True
                self._estimate.learn(size_of(request), answer.input_tokens, answer.output_tokens, cost)
                self.pace.answered(begun)
                waited = time.monotonic() - begun if self._timed else 0.0
                self._over(attempt, replace(_taken(answer), seconds=waited), answer)
                return response if answer.text == response.text else response_of(answer, request)
            finally:
                self.pace.end(settings, tried=tried)
            await self._paused(pause, way)
            self._check(call)

    def _named(self, error: LMError) -> LMError:
        """Return a failure; where the endpoint asks to wait longer than anybody does, the error that ends the work."""
        seconds = error.retry_after or 0.0
        if kind_of(error) in ATTEMPTS and seconds > self.pace.longest_wait:
            return LongLimitError(error, seconds)
        return error

    def _check(self, call: _Call) -> None:
        """Let what answers say beforehand that it cannot, and keep a limit on cost that could not be kept otherwise."""
        if self.context.meter.budget.cost is not None and not getattr(self.inner, "has_price", True):
            raise unknown_price(call.request.model)
        if self._refuses:
            self._refuses(call.sent)

    async def _turn(self, call: _Call, way: _Way) -> frozenset[str]:
        """Wait until the endpoint takes one more; return the settings of the request as it would be sent now."""
        await self._paused(self.pace.booked(), way)
        while True:
            settings = self._settings_of(call.sent) if self._settings_of else frozenset[str]()
            # A call that blocks an event loop would stop the very calls that are waited for.
            wait = self.pace.busy(settings) if way.may_wait else 0.0
            if not wait or self.context.meter.is_over:
                return settings
            await self._paused(wait, way)

    async def _paused(self, seconds: float, way: _Way) -> None:
        """Wait in short steps, and no longer than the job goes on."""
        # A stop, or the end of the job's seconds, must not wait for a server that asked for a minute.
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self.context.meter.is_over:
            await way.sleep(min(left, _STEP))

    async def _reserved(self, call: _Call, way: _Way) -> Amount | None:
        """Take a new call from the budget. One that failed for good before has failed again if it has no room."""
        meter, looks, seen = self.context.meter, 0, -1
        while True:
            # Replays come in another order than payments: who begins nothing once the budget has ended would leave
            # out answers that are there. So it waits, as long as somebody is being answered.
            looks, seen = 1 + looks * (seen == meter.replays), meter.replays
            reservation = self._estimate.of(call.request) if meter.estimates else Amount()
            try:
                first = way.may_wait and looks <= _LOOKS
                if meter.reserve(reservation, may_wait=way.may_wait, replays_first=first):
                    return reservation
            except BudgetExhausted as stop:
                if not call.past.over or stop.limit == "seconds":
                    raise
                self._book(call.past, call.past.over)
                raise LMError(call.past.error) from stop
            await way.sleep(_POLL)

    def _leave(self, call: _Call, reservation: Amount | None) -> _Attempt:
        """Write down that an attempt is sent, before it is."""
        request, phase = call.request, self.context.meter.phase
        try:
            number = self.context.journal.send(
                call.key, call.past.occurrence, phase=phase, asker=self._asker(request), size=size_of(request)
            )
        except CheckpointError:
            self.context.meter.settle(tokens=0, cost=0.0, reservation=reservation)
            raise
        return _Attempt(number=number, reservation=reservation)

    def _asker(self, request: Request) -> str:
        return f"{self.purpose} {request.model}"

    def _begin(self, request: Request) -> _Call:
        key = request_key({**content_of(request), **self._settings})
        past = self.context.journal.ask(key)
        if not self._primed:  # a new call may come before all that it could be measured by
            self._estimate.know(self.context.journal.most(self._asker(request)))
            self._primed = True
        if past.answer:
            self._replay(request, past.answer, past)
        elif past.refusal:
            self._book(past, past.retried + 1)
        elif past.retried:  # it goes on with the attempt at which it was interrupted
            self._book(past, past.retried)
        sent = request_with_number(request, number_of_draw(key, past.occurrence))
        return _Call(request=request, sent=sent, key=key, past=past)

    def _replay(self, request: Request, kept: Answer, past: Past) -> None:
        known = Amount(calls=1 + past.retried, tokens=kept.tokens, cost=kept.cost or 0.0)
        self.context.meter.replay(known, phase=past.phase)
        self.pace.heard = self.pace.heard or -1.0  # it has answered an earlier process
        self._count(Spend(replayed=1, failed_before=past.retried))
        note_answer(kept)
        case = current_draw.get().spend
        if case is not None:  # a case takes what it takes, in whichever run it was paid
            case.add(replace(_taken(kept), calls=0))
        self._estimate.learn(size_of(request), kept.input_tokens, kept.output_tokens, kept.cost)
        self.context.meter.settle(tokens=kept.tokens, cost=kept.cost, reservation=known)

    def _book(self, past: Past, attempts: int) -> None:
        self.context.meter.book(past.phase, attempts)
        self._count(Spend(failed_before=attempts))

    def _count(self, spend: Spend) -> None:
        self.context.ledger.add(self.purpose, spend)
        case = current_draw.get().spend
        if case is not None:
            case.add(spend)

    def _over(self, attempt: _Attempt, spend: Spend, end: Answer | Failed, error: str = "") -> None:
        """Book an attempt that has left: what it took, and its answer or how it failed."""
        try:
            self._count(spend)
            if isinstance(end, Answer):
                self.context.journal.keep(attempt.number, end)
                note_answer(end)
            else:
                self.context.journal.fail(attempt.number, end, error)
        finally:  # whatever happens to the answer, others may be waiting for what it leaves of the budget
            tokens, cost = spend.input_tokens + spend.output_tokens, None if spend.unpriced else spend.cost
            self.context.meter.settle(
                tokens=tokens,
                cost=cost,
                reservation=attempt.reservation,
                failed=not isinstance(end, Answer),
            )
        if isinstance(end, Answer) and self.context.first_replies is not None:
            self.context.first_replies.count()

    def _failed(
        self, attempt: _Attempt, error: LMError, kind: FailureKind, tries: _Tries, wait: float | None
    ) -> float:
        """Book a failed attempt; return the seconds to wait before the next, or raise the error."""
        if wait is None:
            wait = self._wait_before_next(error, kind, tries)
        again = wait is not None
        if kind is not FailureKind.LEARNT:
            self.context.breaker.last = f"{kind}: {brief(error)[:_TOLD]}"
        taken = _taken(error.answer) if isinstance(error, UnusableReplyError) else Spend(calls=1)
        # What ends the work must not be taken for a row that failed: it is asked anew, or not at all.
        failed: Failed = "over"
        words = brief(error)
        if again:
            failed, words = "again", ""
        elif kind in ROW_REFUSED:
            failed, words = "refused", f"{kind}: {words}"
        elif kind in FATAL:
            failed, words = "dropped", ""
        taken = replace(taken, retries=int(again), failures=int(not again))
        self._over(attempt, taken, failed, words)
        if wait is None:
            raise error
        return wait

    def _wait_before_next(self, error: LMError, kind: FailureKind, tries: _Tries) -> float | None:
        """Return the seconds after which a request is sent again; ``None`` if it is given up."""
        if kind is FailureKind.LEARNT:  # a refusal that taught something is no attempt
            return backoff(error, tries.failures)
        if kind in TOO_MUCH and self.pace.heard:
            if not self.pace.has_patience(tries.first_begun, error.retry_after):
                return None
            tries.refusals += 1
            return backoff(error, tries.refusals - 1)
        is_there = bool(self.pace.heard) and not absent(error, False)
        tries.failures += 1
        if tries.failures >= attempts_for(kind, is_there=is_there):
            return None
        return backoff(error, tries.failures - 1)


class _Awaited:
    """A callable for DSPy's asynchronous path: :meth:`Channel.acomplete`, under the name that DSPy looks for."""

    def __init__(self, channel: Channel) -> None:
        self.complete = channel.acomplete


def _looping() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def says_something(response: Response) -> bool:
    """Whether there is anything to read; a limit or a filter before the first word is no fault of the endpoint."""
    ended = response.finish_reason in WITHOUT_END and response.finish_reason != "error"
    return ended or bool(reply_text(response).strip() or response.tool_calls)


def _taken(answer: Answer) -> Spend:
    """Return the calls, tokens and cost of one answered call."""
    return Spend(
        calls=1,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cached_tokens=answer.cached_tokens,
        reasoning_tokens=answer.reasoning_tokens,
        cost=answer.cost or 0.0,
        unpriced=int(answer.cost is None),
    )
