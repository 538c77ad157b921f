"""Going on within a budget: the limit holds over all processes of a job, and a job ends where it would have."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from attempts import attempts, forget_after, left_by_a_kill, put_back, states
from dspy import LMAuthError, LMError, LMServerError, LMTimeoutError
from dspy.lm15 import Request, Response
from fakes import Scripted, context_with, lm_of, reply, user_of
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Loopback
from scripted_runs import hashed

from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Budget, Meter
from jurist.engines.models import Endpoint, Model
from jurist.errors import BudgetExhausted, StopRequested
from jurist.evaluation.votes import Sampling
from jurist.programs.asking import Asker
from jurist.programs.fect import FECT
from jurist.programs.settings import AskSettings
from jurist.programs.verdicts import Verdict

pytestmark = pytest.mark.usefixtures("no_waiting")

CASES = [FECT.case({"conversation": f"Agent: hello {n}", "claim": f"claim {n}"}) for n in range(10, 30)]
YES = reply("chat", factual=True)


class Failing(Scripted):
    """Fails up to twice, depending on the question and on how often it was sent to any of its engines.

    Ctrl-C comes instead of its answer number ``stop``; a request that is in flight then is answered nowhere.
    """

    def __init__(self, sent: Counter[str], *, stop: int = 0, seed: int = 0) -> None:
        super().__init__(self.said)
        self.sent, self.stop, self.random, self.calls = sent, stop, random.Random(seed), 0

    def said(self, request: Request) -> str | BaseException:
        self.calls += 1
        if self.calls == self.stop:
            return KeyboardInterrupt()
        question = f"{user_of(request)} {request.config.seed}"
        self.sent[question] += 1
        if self.sent[question] <= hashed(question) % 6 - 3:
            return LMServerError("down")
        return reply("chat", factual=hashed(question) % 2 == 0)

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)
        return await super().acomplete(request)


class Killed(Failing):
    """A request number ``stop`` that leaves is the last: the journal stays as a SIGKILL would leave it then."""

    def __init__(self, sent: Counter[str], journal: Path, *, stop: int = 0, seed: int = 0) -> None:
        super().__init__(sent, seed=seed)
        self.journal, self.last, self.arrived = journal, stop, 0
        self.left: dict[str, bytes] | None = None

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        self.arrived += 1
        if self.arrived == self.last:
            self.left = left_by_a_kill(self.journal)
            raise KeyboardInterrupt
        return await super().acomplete(request)


def ask(
    inner: Scripted, context: CallContext, *, samples: int = 1, concurrency: int = 1, cases: int = len(CASES)
) -> dict[int, Verdict]:
    """Ask about the cases as far as it goes; nothing is said about how it ended."""
    found: dict[int, Verdict] = {}
    asker = Asker(
        judge=FECT,
        program=FECT.basic(),
        lm=lm_of(inner, context),
        settings=AskSettings(sampling=Sampling(samples=samples), concurrency=concurrency),
    )
    try:
        asker.ask_all(CASES[:cases], found.__setitem__)
    except (BudgetExhausted, KeyboardInterrupt):
        pass
    finally:
        context.journal.close()
    return found


def booked(context: CallContext) -> int:
    spend = context.ledger.spend()
    return spend.calls + spend.replayed + spend.failed_before


def said(found: dict[int, Verdict]) -> dict[int, tuple[object, ...]]:
    return {index: verdict.samples for index, verdict in found.items()}


@settings(max_examples=25)
@given(
    limit=st.integers(3, 60),
    ends=st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=5),
    samples=st.sampled_from([1, 3]),
    concurrency=st.sampled_from([1, 3, 8]),
    seed=st.integers(0, 99),
)
def test_the_limit_holds_over_all_processes_however_they_end(
    tmp_path_factory: pytest.TempPathFactory,
    limit: int,
    ends: list[tuple[bool, int]],
    samples: int,
    concurrency: int,
    seed: int,
) -> None:
    """Some are killed at a call, others interrupted there, and the last two end by themselves."""
    path, sent, total = tmp_path_factory.mktemp("j") / "j", Counter[str](), 0
    for number, (killed, stop) in enumerate([*ends, (False, 0), (False, 0)]):
        inner = (
            Killed(sent, path, stop=stop, seed=seed + number)
            if killed
            else Failing(sent, stop=stop, seed=seed + number)
        )
        context = context_with(Budget(calls=limit), Journal(path))
        ask(inner, context, samples=samples, concurrency=concurrency)
        total += inner.arrived if isinstance(inner, Killed) else inner.calls
        assert total <= limit
        assert context.meter.calls == booked(context)
        if isinstance(inner, Killed) and inner.left is not None:
            put_back(path, inner.left)


class Dying(Endpoint):
    """An endpoint whose process is killed at request number ``at``: before it leaves, or with its answer in hand."""

    def __init__(self, model: Model, journal: Path, at: int, answered: bool) -> None:
        super().__init__(model)
        self.journal, self.at, self.answered, self.calls = journal, at, answered, 0
        self.left: dict[str, bytes] | None = None

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        self.calls += 1
        if self.calls == self.at and not self.answered:
            self._die()
        try:
            return await super().acomplete(request)
        finally:
            if self.calls == self.at and self.answered:
                self._die()

    def _die(self) -> None:
        self.left = left_by_a_kill(self.journal)
        raise KeyboardInterrupt


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("answered", [False, True])
def test_killed_at_any_call_and_resumed_it_ends_as_if_it_had_not_been(
    serve: Callable[..., Loopback], tmp_path: Path, answered: bool, limited: bool
) -> None:
    """Against a server that fails each fifth request."""
    server = serve(faults=lambda index, body: "503" if index % 5 == 3 else None)

    def start(path: Path, limit: int | None, at: int = 0) -> tuple[dict[int, Verdict], Dying, CallContext]:
        context = context_with(Budget(calls=limit), Journal(path))
        inner = Dying(Model(name="openai/x", api_base=server.url), path, at, answered)
        return ask(inner, context, samples=2, cases=5), inner, context

    whole, inner, context = start(tmp_path / "whole", None)
    calls = inner.calls
    assert (len(whole), context.meter.calls, server.count) == (5, calls, calls)
    for at in range(1, calls + 1):
        path, before = tmp_path / f"{at}", server.count
        limit = calls if limited else None
        _, killed, _ = start(path, limit, at)
        assert killed.left is not None
        put_back(path, killed.left)
        kept = states(path)
        assert (len(kept), kept.count("sent")) == (at, 1), "each was noted before it left"
        found, inner, context = start(path, limit)
        sent = server.count - before
        assert sent <= killed.calls + inner.calls
        answers = [(row["key"], row["n"]) for row in attempts(path) if row["state"] == "answered"]
        assert len(set(answers)) == len(answers), "no answer is paid twice"
        assert said(found).items() <= said(whole).items()
        if limited:
            assert killed.calls + inner.calls <= calls, "the limit holds over both"
        else:
            assert said(found) == said(whole)


@settings(max_examples=20)
@given(limit=st.integers(3, 60), stop=st.integers(1, 40), samples=st.sampled_from([1, 3]))
def test_a_kill_changes_no_end(
    tmp_path_factory: pytest.TempPathFactory, limit: int, stop: int, samples: int
) -> None:
    path = tmp_path_factory.mktemp("j") / "j.jsonl"
    plain, sent = context_with(Budget(calls=limit), Journal(path)), Counter[str]()
    whole = ask(Failing(sent), plain, samples=samples)
    made = len(attempts(path))
    assert made == plain.meter.calls
    forget_after(path, stop)
    after: Counter[str] = Counter()
    known = Failing(Counter())  # the same attempts again, for the engine to know how often it was asked
    ask(known, context_with(Budget(calls=min(stop, made))), samples=samples)
    after.update(known.sent)
    context, inner = context_with(Budget(calls=limit), Journal(path)), Failing(after)
    assert said(ask(inner, context, samples=samples)) == said(whole)
    assert inner.calls == max(0, made - stop)
    assert (context.meter.calls, context.meter.tokens) == (plain.meter.calls, plain.meter.tokens)
    assert booked(context) == booked(plain)
    assert after == sent


@settings(max_examples=25)
@given(
    budget=st.builds(Budget, calls=st.integers(3, 50))
    | st.builds(Budget, tokens=st.integers(20, 500))
    | st.builds(Budget, cost=st.floats(0.02, 0.5)),
    samples=st.sampled_from([1, 3]),
    concurrency=st.sampled_from([1, 3, 8]),
    seed=st.integers(0, 99),
)
def test_a_job_whose_budget_ended_pays_nothing_more_and_has_the_same_verdicts(
    tmp_path_factory: pytest.TempPathFactory, budget: Budget, samples: int, concurrency: int, seed: int
) -> None:
    """In whatever order answers come: the third sample of one case may be paid, the second of another not."""
    path, sent = tmp_path_factory.mktemp("j") / "j.jsonl", Counter[str]()
    ends = []
    for number in range(3):
        inner, context = Failing(sent, seed=seed + number), context_with(budget, Journal(path))
        inner.cost = 0.01
        found = ask(inner, context, samples=samples, concurrency=concurrency)
        ends.append((said(found), context.meter.calls, context.meter.tokens, round(context.meter.cost, 9)))
        assert inner.calls == 0 or number == 0
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.parametrize(("limit", "sent", "label"), [(9, 1, "factual"), (4, 0, None)])
def test_what_failed_is_asked_again_with_room(
    tmp_path: Path, limit: int, sent: int, label: str | None
) -> None:
    ask(Scripted([LMTimeoutError("down \ud800")] * 4), context_with(journal=Journal(tmp_path / "j")), cases=1)
    inner = Scripted([YES] * sent)
    context = context_with(Budget(calls=limit), Journal(tmp_path / "j"))
    verdict = ask(inner, context, cases=1)[0]
    assert (verdict.label, len(inner.requests)) == (label, sent)
    if label is None:  # it failed as it had
        assert (verdict.status, context.meter.calls, booked(context)) == ("failed", 4, 4)
    assert context.meter.calls + context.meter._outstanding().calls == 4 + sent


def test_what_ends_the_work_is_not_replayed_as_a_row_that_failed(tmp_path: Path) -> None:
    context = context_with(journal=Journal(tmp_path / "j"))
    with pytest.raises(LMError):
        lm_of(Scripted([LMAuthError("who?")]), context)("a question")
    context.journal.close()
    context = context_with(Budget(calls=1), Journal(tmp_path / "j"))
    with pytest.raises(BudgetExhausted):
        lm_of(Scripted([]), context)("a question")


def test_several_journals_with_one_meter(tmp_path: Path) -> None:
    def contexts() -> list[CallContext]:
        meter = Meter(Budget(calls=30))
        return [
            CallContext(ledger=Ledger(), meter=meter, journal=Journal(tmp_path / str(number)))
            for number in (0, 1)
        ]

    first, second = contexts()
    ask(Scripted(lambda request: YES), first)
    ask(Scripted(lambda request: YES), second)
    first, second = contexts()
    inner = Scripted(lambda request: YES)
    lm = lm_of(inner, first)
    with pytest.raises(BudgetExhausted):  # the limit was used up by both
        lm("another question")
    assert len(ask(inner, first)) == 20
    assert len(ask(inner, second)) == 10
    assert inner.requests == []


def test_a_new_call_is_measured_by_what_was_answered_before(tmp_path: Path) -> None:
    """A call may come before all that this process could have learned from."""
    ask(Scripted([YES] * 5), context_with(journal=Journal(tmp_path / "j")), cases=5)
    context = context_with(Budget(tokens=61), Journal(tmp_path / "j"))  # 60 were paid
    with pytest.raises(BudgetExhausted):
        lm_of(Scripted([]), context)("another question")


def test_a_stop_begins_nothing_and_lets_what_is_in_flight_arrive(tmp_path: Path) -> None:
    context = context_with(journal=Journal(tmp_path / "j"))

    class Stopping(Failing):
        def said(self, request: Request) -> str | BaseException:
            context.meter.stop(15)
            return YES

    inner = Stopping(Counter())
    settings = AskSettings(concurrency=3)
    asker = Asker(judge=FECT, program=FECT.basic(), lm=lm_of(inner, context), settings=settings)
    with pytest.raises(StopRequested, match="stopped by SIGTERM"):
        asker.ask_all(CASES)
    assert 1 <= len(inner.requests) <= 3
    assert len(context.journal) == len(inner.requests)
    assert context.meter.in_flight == 0
