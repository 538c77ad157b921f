"""The one path of a call to a model: it is looked up in the journal, reserved in the budget, sent, and booked.

Retries happen here and not in DSPy, so that each one is reserved in the budget like a first attempt.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import dspy
from dspy import LMError
from dspy.lm15 import Request, Response

from ..errors import BudgetExhausted, CheckpointError, plural, unknown_price
from .conversion import answer_of, content_of, reply_text, response_of
from .draws import (
    current_draw,
    note_answer,
    number_of_draw,
    probabilities_of,
    request_of_draw,
    request_with_number,
)
from .failure_kinds import FailureKind
from .failures import (
    ATTEMPTS,
    FATAL,
    ROW_REFUSED,
    TOO_MUCH,
    UNAVAILABLE,
    Breaker,
    LongLimitError,
    RefusedRowError,
    UnusableReplyError,
    attempts_for,
    backoff,
    brief,
    kind_of,
    met_nobody,
)
from .journal import WITHOUT_END, Failed, Journal, Past, StoredResponse, request_key
from .kept_answers import KeptAnswers
from .ledger import FirstReplies, Ledger, Purpose, Spend
from .meter import Amount, Budget, CallEstimate, Meter, size_of
from .once import SharedAnswers
from .pace import Pace
from .terms import Terms

_STEP: Final = 0.1
"""Seconds of one step of a longer wait: after each the job may be over."""
_MOST_RESUMED_ATTEMPTS: Final = 3
"""Failed attempts of an earlier process that count, at most, so that the request is sent at least once more."""
_MOST_FAILURE_CHARACTERS: Final = 120
"""Characters of a failure that are shown while the work goes on."""
_POLL: Final = 0.002
"""Seconds between two looks whether the calls in flight have left room in the budget for one more."""
_MOST_LOOKS_WITHOUT_REPLAY: Final = 25
"""Looks without a replay of the journal in between, after which a call no longer waits for such replays."""


class InnerEngine(ABC):
    """The endpoint or offline engine behind a channel. A subclass overrides what is otherwise with it."""

    @property
    def is_local(self) -> bool:
        """Whether it runs in this process: how long a call takes says nothing of a model."""
        return False

    @property
    def has_price(self) -> bool:
        """Whether the cost of a call is known beforehand."""
        return True

    @property
    def settings(self) -> Mapping[str, object]:
        """The values that decide the answers beside the request itself."""
        return {}

    @property
    def gives_probabilities(self) -> bool:
        """Whether a reply is made of the probabilities of labels, so that a further reply would be the same."""
        return False

    @abstractmethod
    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Return the response and its cost in US dollars, ``None`` if not known."""

    @abstractmethod
    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Complete a request inside a running event loop."""

    def check(self, request: Request) -> None:  # noqa: B027  # most engines answer every request
        """Refuse a request that it cannot answer, before the request is counted."""

    def settings_of(self, request: Request) -> frozenset[str]:
        """Return the names of the settings with which a request would be sent now."""
        return frozenset()

    def split_request(self, request: Request) -> Sequence[Request]:
        """Return the requests in which one is sent; several where it is too large for one."""
        return (request,)

    def join_responses(self, responses: Sequence[Response]) -> Response:
        """Return one response, made of those to the parts of a request."""
        (response,) = responses
        return response


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
    kept_answers: KeptAnswers | None = None
    """The answers of finished jobs, where they are used again, and those of this one are to be kept."""
    counts_kept: bool = False
    """Whether kept answers count towards the limits, so that work which plans by them takes the same steps again."""
    only_kept: bool = False
    """Whether nothing is sent: a call without a kept answer fails, which counts as a failure."""
    first_replies: FirstReplies | None = None
    """Counts the first replies, if somebody wants to know when they have come."""
    embedders: dict[Any, Any] = field(default_factory=dict)
    """Model -> its embedder in the job."""
    shared_answers: SharedAnswers = field(default_factory=SharedAnswers)
    """Answers that several cases share, such as the model's own answer to their task."""
    unusable_proposals: Counter[str] = field(default_factory=Counter)
    """Kind of proposal -> how many could not be used; "KIND in a row" -> how many of them came last."""

    def __post_init__(self) -> None:
        """Tell the meter what the journal holds: it is spent, even if nobody asks for it again."""
        for phase, prior in self.journal.earlier_amounts():
            self.meter.add_prior(phase, prior)

    @property
    def trouble(self) -> str:
        """A line about failed calls and the last failure; empty where no call has failed."""
        spend = self.ledger.spend()
        if not (spend.retries or spend.failures):
            return ""
        line = (
            f"{plural(self.meter.in_flight, 'call')} in flight; {spend.retries + spend.failures} failed, of which "
            f"{spend.retries} were sent again and {spend.failures} given up"
        )
        if self.breaker.last_failure:
            line += f"; the last failure: {' '.join(self.breaker.last_failure.split())}"
        return line

    @classmethod
    def fresh(cls, budget: Budget | None = None) -> CallContext:
        """Return a context with an empty ledger and a journal that keeps nothing; without a budget it has no limits."""
        return cls(ledger=Ledger(), meter=Meter(budget), journal=Journal())


@dataclass(frozen=True, kw_only=True)
class _Call:
    """One call, with its outcome in earlier processes."""

    request: Request
    sent: Request
    """The request as it is sent: a further draw of an equal request has a seed of its own."""
    key: str
    name: bytes | None
    """The name under which its answer is kept for later jobs; ``None`` where it is not."""
    size: int
    """The bytes of its texts."""
    past: Past


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    """A request that was sent: its number in the journal, and what it has reserved of the budget."""

    number: int
    reservation: Amount | None


@dataclass(slots=True)
class _AttemptCounts:
    """The attempts of one call so far."""

    failures: int
    """Attempts that failed otherwise; the kind of the failure limits their number."""
    refusals: int
    """Attempts that came too soon for an endpoint that answers; time limits these, not their number."""
    first_begun: float = 0.0
    """When the first attempt left; 0 before."""


class _Way(NamedTuple):
    """The functions by which a call is sent and waits: they block the thread, or are awaited in an event loop."""

    send: Callable[[Request], Awaitable[tuple[Response, float | None]]]
    sleep: Callable[[float], Awaitable[None]]
    may_wait: bool = True
    """Whether other calls in flight go on while this one waits."""


class Channel:
    """A synchronous DSPy engine with journal, meter, retries and ledger."""

    def __init__(
        self,
        inner: InnerEngine,
        context: CallContext,
        purpose: Purpose,
        pace: Pace | None = None,
        endpoint: str = "",
    ) -> None:
        self.inner, self.context, self.purpose = inner, context, purpose
        self.pace = pace or Pace()
        self._endpoint = endpoint
        """The name of the model under which later jobs find the answers; empty where none are kept."""
        self._estimate = CallEstimate()
        self._has_earlier_estimate = False

    @property
    def identity(self) -> str:
        """The endpoint and the further values that decide the answers, for what is kept within a job."""
        return f"{id(self.pace)} {sorted(self.inner.settings.items())}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Channel:
        """Return itself: copies of a program share one meter."""
        return self

    def lm(self, name: str, **settings: Any) -> dspy.LM:
        """Return the language model of this name whose every call goes through here."""
        return dspy.LM(
            name, engine=self, async_engine=_Asynchronous(self), cache=False, num_retries=0, **settings
        )

    def complete(self, request: Request) -> Response:
        """Answer a request, from the journal if it was paid before."""

        async def send(sent: Request) -> tuple[Response, float | None]:
            return self.inner.complete(sent)

        async def sleep(seconds: float) -> None:
            time.sleep(seconds)

        # Waiting inside an event loop would stop the very calls that are waited for.
        way = _Way(send, sleep, may_wait=not is_in_event_loop())
        # Both functions block and never suspend, so the coroutine runs to its end without an event loop.
        try:
            self._answer(request, way).send(None)
        except StopIteration as end:
            response: Response = end.value
            return response
        raise AssertionError("the blocking path was suspended")

    async def acomplete(self, request: Request) -> Response:
        """Complete a request inside a running event loop."""
        return await self._answer(request, _Way(self.inner.acomplete, asyncio.sleep))

    async def _answer(self, request: Request, way: _Way) -> Response:
        """Return the response to a request, each part of which is a call of its own."""
        parts = self.inner.split_request(request)
        if len(parts) == 1:
            return await self._answer_part(request, way)
        responses: list[Response] = []
        for part in parts:
            responses.append(await self._answer_part(part, way))
        joined = self.inner.join_responses(responses)
        note_answer(answer_of(joined, None, probabilities_of(joined)))
        return joined

    async def _answer_part(self, request: Request, way: _Way) -> Response:
        """Return the response from the journal, or that of the endpoint."""
        call = self._look_up(request_of_draw(request))
        if call.past.kept_at:
            await self._reuse(call, way)
        if call.past.answer:
            return response_of(call.past.answer, call.request)
        if call.past.refusal:
            raise RefusedRowError(FailureKind(call.past.refusal), call.past.error)
        if self.context.only_kept:
            self._count(Spend(failures=1))
            raise RefusedRowError(FailureKind.SETTINGS, "its answer is not kept")
        self._check(call)
        return await self._send_until_answered(call, way)

    async def _send_until_answered(self, call: _Call, way: _Way) -> Response:
        """Send a call that the journal has no answer to, repeatedly where failures may pass; return the response."""
        resumed_attempts = min(call.past.retried, _MOST_RESUMED_ATTEMPTS)
        counts = _AttemptCounts(failures=resumed_attempts, refusals=resumed_attempts)
        while True:
            settings = await self._wait_for_turn(call, way)
            attempt = self._note_sending(call, await self._reserve(call, way))
            begun = self.pace.begin(settings)
            shows_settings = False
            counts.first_begun = counts.first_begun or begun
            try:
                response, cost = await way.send(call.sent)
                answer = answer_of(response, cost, probabilities_of(response))
                if not says_something(response):
                    raise UnusableReplyError(answer)
            except LMError as failure:
                error = self._with_long_limit(failure)
                kind = kind_of(error)
                # Trouble while the endpoint worked on the request shows that it takes the settings; a refusal because
                # of too many requests shows nothing of them.
                shows_settings = kind in UNAVAILABLE - TOO_MUCH
                pause = self._book_failure(attempt, error, kind, counts, begun)
            except BaseException:
                with suppress(CheckpointError):  # it would hide why the call was given up
                    self._settle(attempt, Spend(calls=1, failures=1), "dropped")
                raise
            else:
                shows_settings = True
                self._book_answer(call, attempt, answer, begun)
                return response if answer.text == response.text else response_of(answer, call.request)
            finally:
                self.pace.end(settings, shows_settings=shows_settings)
            await self._pause(pause, way)
            self._check(call)

    def _with_long_limit(self, error: LMError) -> LMError:
        """Return the error itself, or the one that ends the work where the endpoint asks to wait too long."""
        seconds = error.retry_after or 0.0
        if kind_of(error) in ATTEMPTS and seconds > self.pace.longest_wait:
            return LongLimitError(error, seconds)
        return error

    def _check(self, call: _Call) -> None:
        """Refuse a call that the inner engine cannot answer, and one whose price a limit on cost needs to know."""
        if self.context.meter.budget.cost is not None and not self.inner.has_price:
            raise unknown_price(call.request.model)
        self.inner.check(call.sent)

    async def _wait_for_turn(self, call: _Call, way: _Way) -> frozenset[str]:
        """Wait until the endpoint takes one more request; return the names of the settings it would be sent with."""
        await self._pause(self.pace.take_slot(), way)
        while True:
            settings = self.inner.settings_of(call.sent)
            # A call that blocks an event loop would stop the very calls that are waited for.
            wait = self.pace.seconds_until_look(settings) if way.may_wait else 0.0
            if not wait or self.context.meter.is_over:
                return settings
            await self._pause(wait, way)

    async def _pause(self, seconds: float, way: _Way) -> None:
        """Wait in short steps, and only as long as the job goes on."""
        # A stop, or the end of the job's seconds, must not wait for a server that asked for a minute.
        end = time.monotonic() + seconds
        remaining = seconds
        while remaining > 0 and not self.context.meter.is_over:
            await way.sleep(min(remaining, _STEP))
            remaining = end - time.monotonic()

    async def _reserve(self, call: _Call, way: _Way) -> Amount | None:
        """Reserve a new call in the budget, after waiting for room; return the amount, ``None`` without an estimate.

        Raises:
            BudgetExhausted: there is no room.
            LMError: there is no room for a call that failed for good in an earlier process; it has failed again.
        """
        # Answers of the journal are asked for in another order than they were paid. A call without room that ended the
        # work at once would leave out answers that were paid, so it waits as long as such answers are being asked for.
        meter = self.context.meter
        looks = 0
        replays_before = -1
        while True:
            if meter.replays != replays_before:
                looks = 0
            looks += 1
            replays_before = meter.replays
            reservation = self._estimate.of(call.request) if meter.needs_estimates else Amount()
            replays_first = way.may_wait and looks <= _MOST_LOOKS_WITHOUT_REPLAY
            try:
                if meter.reserve(reservation, may_wait=way.may_wait, replays_first=replays_first):
                    return reservation
            except BudgetExhausted as stop:
                if not call.past.failed_attempts or stop.limit == "seconds":
                    raise
                self._book_earlier_failures(call.past, call.past.failed_attempts)
                raise LMError(call.past.error) from stop
            await way.sleep(_POLL)

    def _note_sending(self, call: _Call, reservation: Amount | None) -> _Attempt:
        """Write to the journal that an attempt is about to be sent, and return it."""
        request, phase = call.request, self.context.meter.phase
        try:
            number = self.context.journal.note_sending(
                call.key,
                call.past.occurrence,
                phase=phase,
                asker=self._asker(request),
                size=call.size,
                call=call.name,
            )
        except CheckpointError:
            self.context.meter.settle(tokens=0, cost=0.0, reservation=reservation)
            raise
        return _Attempt(number=number, reservation=reservation)

    def _asker(self, request: Request) -> str:
        """Return the name under which the journal holds attempts of this purpose and model."""
        return f"{self.purpose} {request.model}"

    def _look_up(self, request: Request) -> _Call:
        """Look a request up in the journal, book what is there, and return the call."""
        content = content_of(request)
        content.update(self.inner.settings)
        key = request_key(content)
        past = self.context.journal.look_up(key)
        name = None
        kept_answers = self.context.kept_answers
        if kept_answers is not None and self._endpoint:
            name = kept_answers.name_call(self._endpoint, key)
            if not past.is_known:
                past = kept_answers.look_up(name, past)
        # A new call may come before any replay, so the estimate starts with the largest answers of the journal.
        if not self._has_earlier_estimate:
            self._estimate.raise_to(self.context.journal.largest_ratios(self._asker(request)))
            self._has_earlier_estimate = True
        # A kept outcome is booked later, once there is room for it.
        if past.answer and not past.kept_at:
            self._replay(request, past.answer, past)
        elif past.refusal and not past.kept_at:
            self._book_earlier_failures(past, past.retried + 1)
        elif past.retried:  # an earlier process was interrupted between two attempts
            self._book_earlier_failures(past, past.retried)
        sent = request_with_number(request, number_of_draw(key, past.occurrence))
        return _Call(request=request, sent=sent, key=key, name=name, size=size_of(request), past=past)

    def _replay(self, request: Request, answer: StoredResponse, past: Past) -> None:
        """Book an answer that was paid before, and the attempts that failed before it."""
        paid = Amount(calls=1 + past.retried, tokens=answer.tokens, cost=answer.cost or 0.0)
        self.context.meter.replay(paid, phase=past.phase)
        self.pace.note_earlier_answer()
        self._count(replace(_spend_before(answer), failed_before=past.retried))
        self._note_earlier_answer(request, answer)
        self.context.meter.settle(tokens=answer.tokens, cost=answer.cost, reservation=paid)

    async def _reuse(self, call: _Call, way: _Way) -> None:
        """Book an outcome that a finished job has kept; it is not paid, but may count towards the limits.

        Raises:
            BudgetExhausted: it counts, and there is no room.
        """
        answer = call.past.answer
        if self.context.counts_kept:
            reservation = await self._reserve(call, way)
            taken = Amount(calls=1)
            if answer is not None:
                taken = Amount(calls=1, tokens=answer.tokens, cost=answer.cost or 0.0)
            self.context.meter.settle_kept(taken, reservation, failed=answer is None)
        if answer is None:
            self._count(Spend(failed_before=1))
            return
        self._count(replace(_spend_before(answer), reused=1, reused_since=call.past.kept_at))
        self._note_earlier_answer(call.request, answer)

    def _note_earlier_answer(self, request: Request, answer: StoredResponse) -> None:
        """Let the draw, the case in hand and the estimate of costs know an answer that was paid before."""
        note_answer(answer)
        case_spend = current_draw.get().spend
        if case_spend is not None:  # tokens and cost of a case are its own, in whichever run they were paid
            case_spend.add(replace(_spend_of(answer), calls=0))
        self._estimate.learn(size_of(request), answer.input_tokens, answer.output_tokens, answer.cost)

    def _book_earlier_failures(self, past: Past, attempts: int) -> None:
        """Book attempts that failed in an earlier process."""
        self.context.meter.count_earlier_failures(past.phase, attempts)
        self._count(Spend(failed_before=attempts))

    def _count(self, spend: Spend) -> None:
        """Add to the counts of the job, and to those of the case in hand."""
        self.context.ledger.add(self.purpose, spend)
        case_spend = current_draw.get().spend
        if case_spend is not None:
            case_spend.add(spend)

    def _settle(self, attempt: _Attempt, spend: Spend, end: StoredResponse | Failed, error: str = "") -> None:
        """Book the end of an attempt: its spend, and its answer or how it failed."""
        is_answered = isinstance(end, StoredResponse)
        try:
            self._count(spend)
            if isinstance(end, StoredResponse):
                self.context.journal.note_answer(attempt.number, end)
                note_answer(end)
            else:
                self.context.journal.note_failure(attempt.number, end, error)
        finally:  # other calls may be waiting for the room that this one leaves in the budget
            self.context.meter.settle(
                tokens=spend.input_tokens + spend.output_tokens,
                cost=None if spend.unpriced else spend.cost,
                reservation=attempt.reservation,
                failed=not is_answered,
            )
        if is_answered and self.context.first_replies is not None:
            self.context.first_replies.count()

    def _book_answer(self, call: _Call, attempt: _Attempt, answer: StoredResponse, begun: float) -> None:
        """Book an attempt that was answered; estimate and pace learn from the answer."""
        self._estimate.learn(call.size, answer.input_tokens, answer.output_tokens, answer.cost)
        self.pace.note_answer(begun)
        waited = 0.0
        if not self.inner.is_local:
            waited = time.monotonic() - begun
        self._settle(attempt, _spend_of(answer, seconds=waited), answer)

    def _book_failure(
        self, attempt: _Attempt, error: LMError, kind: FailureKind, counts: _AttemptCounts, begun: float
    ) -> float:
        """Book a failed attempt; return the seconds to wait before the next, or raise the error."""
        wait = self.pace.note_absence(begun) if met_nobody(error, is_away=self.pace.is_away) else None
        if wait is None:
            wait = self._wait_before_next(error, kind, counts)
        is_sent_again = wait is not None
        if kind is not FailureKind.LEARNT:
            self.context.breaker.last_failure = f"{kind}: {brief(error, _MOST_FAILURE_CHARACTERS)}"
        spend = _spend_of(error.answer) if isinstance(error, UnusableReplyError) else Spend(calls=1)
        spend = replace(spend, retries=int(is_sent_again), failures=int(not is_sent_again))
        end, words = _end_of_failure(error, kind, is_sent_again=is_sent_again)
        self._settle(attempt, spend, end, words)
        if wait is None:
            raise error
        if kind in TOO_MUCH:
            self.pace.note_refusal(begun, wait, error.retry_after)
        return wait

    def _wait_before_next(self, error: LMError, kind: FailureKind, counts: _AttemptCounts) -> float | None:
        """Return the seconds after which a request is sent again; ``None`` if it is given up."""
        # The endpoint refused a setting that is now left out, which counts as no attempt.
        if kind is FailureKind.LEARNT:
            return backoff(error, counts.failures)
        if kind in TOO_MUCH and self.pace.has_answered:
            if not self.pace.has_patience(counts.first_begun, error.retry_after):
                return None
            counts.refusals += 1
            return backoff(error, counts.refusals - 1)
        is_there = self.pace.has_answered and not met_nobody(error, is_away=False)
        counts.failures += 1
        if counts.failures >= attempts_for(kind, is_there=is_there):
            return None
        return backoff(error, counts.failures - 1)


def _end_of_failure(error: LMError, kind: FailureKind, *, is_sent_again: bool) -> tuple[Failed, str]:
    """Return the end of a failed attempt for the journal, and the words of its error that are kept."""
    # A fatal error ends the work and says nothing of this row, so the attempt is dropped: a resumed job asks anew.
    if is_sent_again:
        return "again", ""
    if kind in ROW_REFUSED:
        return "refused", f"{kind}: {brief(error)}"
    if kind in FATAL:
        return "dropped", ""
    return "over", brief(error)


class _Asynchronous:
    """The engine of DSPy's asynchronous path: :meth:`Channel.acomplete`, under the name that DSPy looks for."""

    def __init__(self, channel: Channel) -> None:
        self.complete = channel.acomplete


def is_in_event_loop() -> bool:
    """Say whether this thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def says_something(response: Response) -> bool:
    """Say whether a reply has text or tool calls, or was ended by a limit or a filter, so that it may be empty."""
    if response.finish_reason in WITHOUT_END and response.finish_reason != "error":
        return True
    return bool(reply_text(response).strip() or response.tool_calls)


def _spend_before(answer: StoredResponse) -> Spend:
    """Return the count of one answer that was paid before."""
    return Spend(
        replayed=1,
        replayed_tokens=answer.tokens,
        replayed_cost=answer.cost or 0.0,
        replayed_unpriced=int(answer.cost is None),
    )


def _spend_of(answer: StoredResponse, seconds: float = 0.0) -> Spend:
    """Return the calls, tokens and cost of one answered call that was waited for so long."""
    return Spend(
        calls=1,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cached_tokens=answer.cached_tokens,
        reasoning_tokens=answer.reasoning_tokens,
        cost=answer.cost or 0.0,
        unpriced=int(answer.cost is None),
        seconds=seconds,
    )
