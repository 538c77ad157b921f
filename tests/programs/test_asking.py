"""Asking with a scripted engine: verdicts, samples, users' own programs, Ctrl-C."""

import asyncio
import dataclasses
import signal
import threading
import time
from typing import Any, Literal

import dspy
import pytest
from asking import scripted
from dspy import LMRateLimitError
from dspy.lm15 import Request
from fakes import Scripted, reply, system_of

from jurist.cases import Case
from jurist.errors import JudgeError
from jurist.evaluation.votes import Sampling
from jurist.programs.asking import Asker
from jurist.programs.catalogue import find
from jurist.programs.judge import Judge

FECT, COGNI = find("fect"), find("cognibench")
CASE = Case(inputs={"conversation": "Agent: hello", "claim": "The agent greeted."})
YES, NO = reply("chat", factual=True), reply("chat", factual=False)


def asker(inner: Any, judge: Judge = FECT, **settings: Any) -> Asker:
    return scripted(judge, inner, **settings)


class Slow(Scripted):
    """Takes its time, as endpoints do."""

    async def acomplete(self, request: Request) -> Any:
        self.now += 1
        self.peak = max(self.peak, self.now)
        await asyncio.sleep(0.05)
        self.now -= 1
        return self.complete(request)


@pytest.mark.parametrize(
    ("script", "threshold", "status", "label"),
    [
        ([YES, YES, NO], None, "verdict", "factual"),
        ([NO, YES, NO], None, "verdict", "non_factual"),
        ([NO, YES, YES], 1, "verdict", "non_factual"),
        ([NO, NO, YES], 3, "verdict", "factual"),
        (["?", YES, YES], None, "verdict", "factual"),
        (["?", YES, NO], None, "abstained", None),
        (["?", "no", "?"], None, "abstained", None),
        (["?", NO, NO], 3, "abstained", None),
    ],
)
def test_samples_are_voted(script: list[str], threshold: int | None, status: str, label: str | None) -> None:
    sampling = Sampling(samples=3, threshold=threshold)
    verdict = asker(Scripted(script), sampling=sampling).ask(CASE)
    assert (verdict.status, verdict.label) == (status, label)
    assert verdict.usage.calls == 3
    assert bool(verdict.error) == (status != "verdict")
    assert sum(verdict.votes[0].values()) == sum(text in (YES, NO) for text in script) == len(verdict.samples)


@pytest.mark.usefixtures("no_waiting")
def test_a_failure_in_one_sample_fails_the_case_and_keeps_the_others() -> None:
    inner = Scripted([YES] + [LMRateLimitError("slow", retry_after=0.0)] * 8)
    verdict = asker(inner, sampling=Sampling(samples=3)).ask(CASE)
    assert (verdict.status, verdict.values, verdict.samples) == ("failed", (None,), (("factual",),))
    assert verdict.error.startswith("rate limit: ")
    assert (verdict.usage.calls, verdict.usage.retries, verdict.usage.failures) == (9, 7, 1)


class Grade(dspy.Signature):
    """Grade an essay."""

    essay: str = dspy.InputField()
    why: str = dspy.OutputField()
    grade: Literal["pass", "fail"] = dspy.OutputField()


class ForwardOnly(dspy.Module):  # type: ignore[misc]
    """A program as users write it: no ``aforward``, no ``config``."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = dspy.Predict("essay -> summary"), dspy.Predict(Grade)

    def forward(self, essay: str) -> dspy.Prediction:
        return self.second(essay=self.first(essay=essay).summary)


class Both(ForwardOnly):
    """The same with an asynchronous face."""

    async def aforward(self, essay: str) -> dspy.Prediction:
        return await self.second.acall(essay=(await self.first.acall(essay=essay)).summary)


def grades(request: Request) -> str:
    if "`summary`" in system_of(request):
        return reply("chat", summary="short")
    return reply("chat", why="because", grade="fail" if request.config.seed == 1 else "pass")


@pytest.mark.parametrize("program", [ForwardOnly, Both, lambda: dspy.ChainOfThought(Grade)])
def test_a_users_own_program_is_asked_like_a_built_in(program: Any) -> None:
    judge = Judge(name="essays", signature=Grade, positive=frozenset({"fail"}), program=program)

    def answers(request: Request) -> str:
        text = grades(request)
        return reply("chat", reasoning="r") + "\n\n" + text if "`reasoning`" in system_of(request) else text

    inner = Scripted(answers)
    cases = [Case(inputs={"essay": f"essay {n}"}) for n in range(9)]
    found = asker(inner, judge, sampling=Sampling(samples=3)).ask_all(cases)
    assert [verdict.label for verdict in found] == ["pass"] * 9
    assert all(verdict.votes == ({"pass": 2, "fail": 1},) for verdict in found)
    assert {request.config.seed for request in inner.requests} == {0, 1, 2}
    assert sum(verdict.usage.calls for verdict in found) == len(inner.requests)


def test_ctrl_c_in_a_running_loop_does_not_wait_for_the_rest() -> None:
    inner, loop = Slow(lambda request: YES), asyncio.new_event_loop()
    cases = [Case(inputs={**CASE.inputs, "claim": f"c{n}"}) for n in range(400)]

    async def notebook() -> None:
        asker(inner, concurrency=2).ask_all(cases)

    def press() -> None:
        while len(inner.requests) < 4:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(notebook())
    loop.close()
    assert 4 <= len(inner.requests) < 100


@pytest.mark.parametrize("given", ["true", None, True])
def test_a_program_that_returns_no_prediction_is_named(given: Any) -> None:
    class Bare(dspy.Module):
        def forward(self, **inputs: Any) -> Any:
            return given

    bare = dataclasses.replace(asker(Scripted([])), program=Bare())
    with pytest.raises(JudgeError, match=f"returned {type(given).__name__}, not a prediction"):
        bare.ask(CASE)


@pytest.mark.parametrize(
    "bug", [AssertionError("no essay"), RuntimeError("not ready"), OSError("no file"), KeyError("x")]
)
def test_a_program_that_breaks_is_named(bug: Exception) -> None:
    class Broken(dspy.Module):
        def forward(self, **inputs: Any) -> Any:
            raise bug

    broken = dataclasses.replace(asker(Scripted([])), program=Broken())
    with pytest.raises(JudgeError, match=f"raised {type(bug).__name__}: "):
        broken.ask(CASE)


REPLIES = {
    "list": "[" * 20_000,
    "object": '{"FIELD":' * 3_000,
    "braces": "{" * 3_000,
    "field": "[[ ## FIELD ## ]]\n" + "[" * 5_000,
    "tags": "<FIELD>" * 2_000,
    "digits": "[[ ## FIELD ## ]]\n" + "9" * 6_000,
}


@pytest.mark.parametrize("adapter", ["chat", "json"])
@pytest.mark.parametrize("name", ["fect", "cognibench"])
@pytest.mark.parametrize("reply", REPLIES)
def test_nested_replies_are_abstentions(name: str, adapter: str, reply: str) -> None:
    judge = find(name)
    row: dict[str, Any] = {"conversation": "c", "claim": "c", "reference": "r", "sentences": ["a", "b"]}
    said = REPLIES[reply].replace("FIELD", judge.answer.field)
    verdict = scripted(judge, lambda request: said, adapter=adapter).ask(judge.case(row))
    assert verdict.status == "abstained"
    assert set(verdict.values) == {None}
    assert verdict.error.startswith("unusable reply")
