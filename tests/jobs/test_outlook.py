"""Before a compilation: the estimate holds the truth between its ends, and much is asked about."""

import io
import os
import pty
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judges import SENTENCE_JUDGE
from small import FAST, claims, cli, ok, write_jsonl

from jurist.console.questions import approve
from jurist.engines.ledger import Spend
from jurist.engines.meter import Budget
from jurist.engines.models import Model
from jurist.errors import UsageError
from jurist.evaluation.votes import Sampling
from jurist.gold.goldset import Gold
from jurist.jobs.estimate import Ask, CostEstimate, Size, Span
from jurist.jobs.plan import Plan, foresee_compilation
from jurist.programs.fect import FECT
from jurist.programs.settings import FOR_SEARCHES

COMPILE = ("compile", "fect", "--gold", "gold.jsonl", *FAST)
END_OF_FILE = b"\x04"  # Ctrl-D
PRICED = Model(name="openai/gpt-4.1-mini", temperature=0.0)


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def plan(**more: Any) -> Plan:
    given = {"optimizer": "fewshot", "budget": Budget(calls=500), **more}
    return Plan(judge=FECT, gold=Gold.load("gold.jsonl", FECT), **given)


@pytest.mark.parametrize(
    "more", [(), ("--samples", "3"), ("--max-calls", "70"), ("--optimizer", "opro", "--set", "steps=3")]
)
def test_what_is_spent_lies_within_the_estimate(more: tuple[str, ...]) -> None:
    argv = ("compile", "fect", "--gold", "gold.jsonl") if "--optimizer" in more else COMPILE
    done = ok(*argv, *more, "--json")
    seen, spend = done.json["forecast"], done.json["spend"]
    for name in ("calls", "tokens"):
        least, most = seen[name]
        assert least <= spend[name] <= most, name
    assert seen["cost"] == [0.0, 0.0]
    assert seen["calls"][0] <= seen["needed"] <= seen["calls"][1]
    assert f"forecast: {seen['what']}: " in done.err
    assert f"set --max-calls to at least {seen['needed']})" in done.err


def spans(seen: CostEstimate) -> list[Span]:
    return [part.calls for part in seen.asks]


def test_limits_bound_the_estimate_and_prices_are_multiplied() -> None:
    seen = foresee_compilation(plan(model=PRICED))
    assert seen.calls.high == 500
    optimizing, proving = spans(seen)
    assert optimizing.high == 500 - proving.low
    assert seen.cost is not None
    assert seen.tokens is not None
    assert 0 < seen.cost.low < (seen.cost.high or 0)
    ends = foresee_compilation(plan(model=PRICED, budget=Budget(calls=500, cost=0.001, tokens=9000)))
    assert ends.cost is not None
    assert ends.tokens is not None
    assert (ends.cost.high, ends.tokens.high) == (0.001, 9000)
    double = foresee_compilation(plan(model=PRICED, budget=Budget(calls=1000)))
    assert double.cost is not None
    assert double.cost.high == pytest.approx(2 * (seen.cost.high or 0), rel=1e-4)
    samples = foresee_compilation(plan(settings=replace(FOR_SEARCHES, sampling=Sampling(samples=3))))
    assert spans(samples)[1].high == 3 * (proving.high or 0)
    assert foresee_compilation(plan(budget=Budget())).words.count("or more") >= 2


WORRIES: list[tuple[int | None, float | None, Budget, str]] = [
    (1000, None, Budget(), ""),
    (1001, None, Budget(), "this makes up to 1001 calls to a real model"),
    (None, None, Budget(), "this makes an unlimited number of calls to a real model"),
    (10, 1.01, Budget(), "this makes up to 10 calls to a real model and may cost 1.01 USD"),
    (10, 1.0, Budget(), ""),
    (5000, 0.9, Budget(), "this makes up to 5000 calls to a real model and may cost 0.90 USD"),
    (5000, 0.9, Budget(cost=1.0), ""),
    (5000, 2.0, Budget(cost=2.0), "this makes up to 5000 calls to a real model and may cost 2.00 USD"),
]


@pytest.mark.parametrize(("calls", "cost", "budget", "said"), WORRIES)
def test_when_a_person_is_asked(
    calls: int | None, cost: float | None, budget: Budget, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(UsageError, match=f"^{said}; add --yes") if said else nullcontext():
        approve(calls, cost, budget, yes=False)


def test_an_unknown_price_of_a_provider_is_asked_about_unless_calls_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    named = {"unpriced": ("p/m",), "hosted": ("p/m",)}
    approve(0, None, Budget(), yes=False, **named)
    approve(10, None, Budget(calls=10), yes=False, **named)
    with pytest.raises(UsageError, match="up to 10 calls to p/m, whose price is not known"):
        approve(10, None, Budget(), yes=False, **named)
    with pytest.raises(
        UsageError, match=r"budget=jurist.Budget\(cost=...\) cannot be kept: the price of p/m"
    ):
        approve(10, None, Budget(cost=1.0), yes=True, **named)


@pytest.fixture(name="typed")
def _typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str | None], None]]:
    """Make standard input a pseudo-terminal in which a person types a line; ``None``: nobody is there."""
    with ExitStack() as stack:

        def typed(line: str | None) -> None:
            outside, inside = pty.openpty()
            stack.callback(os.close, outside)
            if line is not None:
                os.write(outside, line.encode() or END_OF_FILE)
            monkeypatch.setattr("sys.stdin", stack.enter_context(os.fdopen(inside)))

        yield typed


def test_compiling_with_a_real_model_is_asked_about(
    serve: Callable[..., Any], typed: Callable[[str | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    argv = (*COMPILE, "--model", "openai/x", "--api-base", server.url)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    refused = cli(*argv)
    assert (refused.code, server.count) == (2, 0)
    assert refused.lines[-1] == "error: this makes up to 4000 calls to a real model; add --yes to go on"
    for said in ("n\n", "", "\n"):
        typed(said)
        declined = cli(*argv)
        assert (declined.code, server.count) == (1, 0)
        assert declined.lines[-1].endswith("error: nothing was sent; answer y, or add --yes")
    with monkeypatch.context() as patch:
        patch.setattr("jurist.console.questions.REPLY_SECONDS", 0.01)
        typed(None)
        unanswered = cli(*argv)
    assert (unanswered.code, server.count) == (2, 0)
    assert unanswered.lines[-1].endswith("and nobody answered the question; add --yes to go on")
    assert not Path("compiled").exists()
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert cli(*argv, "--max-calls", "200").code == 0, "a limit within 1000 calls needs no question"
    ok(*argv, "--yes", "--anyway")
    typed("y\n")
    ok(*argv, "--anyway")


REASONING = {
    # model, effort -> hidden tokens expected of a reply
    "openai/gpt-5-mini": (None, 600),
    "openrouter/openai/o4-mini": (None, 600),
    "gemini/gemini-2.5-flash": ("low", 200),
    "gemini/gemini-2.5-flash-lite": (None, 0),
    "anthropic/claude-haiku-4-5": (None, 0),
    "anthropic/claude-sonnet-4-5": ("high", 1500),
    "openai/gpt-4.1-mini": (None, 0),
    "openai/gpt-5.1": ("none", 0),
    "openai/gpt-5-chat-latest": (None, 0),
    "deepseek/deepseek-reasoner": (None, 600),
}


@pytest.mark.parametrize("name", REASONING)
def test_hidden_reasoning_is_in_the_forecast(name: str) -> None:
    effort, tokens = REASONING[name]
    model = Model(name, reasoning_effort=effort, price_in=1.0, price_out=2.0)
    ask = Ask(role="judge", models=(model,), calls=Span(10, 10), size=Size(1.0, 300.0, 20.0))
    expected = CostEstimate(what="10 rows", asks=(ask,)).expected
    assert expected.calls == 10
    assert expected.tokens == 10 * (320 + tokens)
    assert expected.cost == pytest.approx(10 * (300 + 2 * (20 + tokens)) / 1e6)


def first(output: int, reasoning: int = 0, cost: float = 0.0) -> Spend:
    """Return what 20 replies took."""
    spend = {"input_tokens": 6000, "output_tokens": 20 * output, "reasoning_tokens": 20 * reasoning}
    return Spend(calls=22, retries=2, cost=cost, **spend)


@pytest.mark.parametrize(
    ("spend", "words"),
    [
        (first(20, cost=20 * 340e-6), ""),  # as was expected
        (
            first(620, 600, cost=20 * 1540e-6),
            "after 20 replies: about 1.54 USD and not 0.34 in all; a reply takes 620 tokens, "
            "600 of them hidden reasoning",
        ),
    ],
)
def test_a_forecast_is_made_anew_by_the_first_replies(spend: Spend, words: str) -> None:
    model = Model("openai/x", price_in=1.0, price_out=2.0)
    ask = Ask(role="judge", models=(model,), calls=Span(1000, 1000), size=Size(1.0, 300.0, 20.0))
    assert CostEstimate(what="1000 rows", asks=(ask,)).describe_revision(spend) == words


def test_a_search_is_expected_to_have_longer_prompts_than_its_first_ones() -> None:
    model = Model("openai/x", price_in=1.0, price_out=2.0)
    sizes = {"size": Size(1.0, 300.0, 20.0), "longest": Size(1.0, 900.0, 20.0)}
    ask = Ask(role="judge", models=(model,), calls=Span(0, 2000), **sizes)
    estimate = CostEstimate(what="a search", asks=(ask,))
    before, now = estimate.expected, estimate.revise(first(20, cost=20 * 340e-6))
    assert (before.calls, before.tokens) == (1000, pytest.approx(1000 * 380))
    assert now == pytest.approx(before)


def test_the_first_replies_are_told_once_while_the_work_goes_on(serve: Callable[..., Any]) -> None:
    server = serve(thoughts="hm")
    write_jsonl(Path("rows.jsonl"), claims(groups=10))
    argv = ("run", "fect:basic", "--input", "rows.jsonl", "--output", "out.jsonl", "--yes")
    model = ("--model", "openai/o4-mini", "--api-base", server.url, "--price-in", "1", "--price-out", "2")
    done = ok(*argv, *model)
    # The server's replies have 10 tokens and 100 of input, whatever is asked.
    assert done.err.count("after 20 replies: ") == 1
    assert "a reply takes 10 tokens" in done.err


@pytest.mark.parametrize(("sentences", "requests"), [(2, 1), (400, 1), (401, 2), (901, 3)])
def test_a_search_counts_each_request_of_a_row(sentences: int, requests: int) -> None:
    """A decision model takes 400 questions in one request, and a sentence is a question."""
    texts = [f"Sentence {number}." for number in range(sentences)]
    rows = []
    for number in range(30):
        labels = [("supported", "unsupported")[(number + place) % 2] for place in range(sentences)]
        rows.append({"policy": f"policy {number}", "sentences": texts, "labels": labels})
    of_sentences = Plan(
        judge=SENTENCE_JUDGE,
        gold=Gold.of(rows, SENTENCE_JUDGE),
        model=Model("decisions/gpt-6-luna"),
        optimizer="threshold",
        budget=Budget(calls=5000),
    )
    estimate = foresee_compilation(of_sentences)
    optimizing, proving = estimate.asks
    split = of_sentences.split
    assert optimizing.calls.low == requests * len(split.train + split.dev)
    assert proving.calls.high >= 2 * requests * len(split.test)
    assert of_sentences.requests_per_call == requests
    assert estimate.needed >= optimizing.calls.low + proving.calls.high
