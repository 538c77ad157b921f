"""Samples that need not be drawn, units that are asked for again, replies that are all the same."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import scripted
from dspy import LMRateLimitError
from fakes import Scripted, context_with, reply, user_of
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Loopback, field_of

from jurist.cases import Case
from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal
from jurist.engines.meter import Budget
from jurist.engines.models import Model, connect
from jurist.errors import BudgetExhausted, UsageError
from jurist.evaluation.votes import Sampling
from jurist.programs.asking import Asker
from jurist.programs.catalogue import find
from jurist.programs.settings import AskSettings

FECT, COGNI = find("fect"), find("cognibench")
CLAIM = Case(inputs={"conversation": "Agent: hello", "claim": "The agent greeted."})
YES, NO = reply("chat", factual=True), reply("chat", factual=False)
THREE = COGNI.case({"reference": "r", "question": "q", "sentences": ["One.", "Two.", "Three."]})


def tags(*pairs: tuple[int, str], adapter: str = "chat") -> str:
    return reply(adapter, labels=[{"n": n, "label": label} for n, label in pairs])


def asker(inner: Any, judge: Any = FECT, **more: Any) -> Asker:
    return scripted(judge, inner, **more)


@pytest.mark.parametrize(
    ("script", "threshold", "drawn"),
    [
        ([YES, YES, YES, NO, NO], None, 3),
        ([YES, NO, YES, NO, NO], None, 5),
        ([NO, YES, YES, YES, YES], 1, 1),
        ([YES, YES, YES, YES, NO], 1, 5),
        (["?", "?", "?", YES, NO], None, 3),
        (["?", YES, YES, YES, NO], None, 4),
    ],
)
def test_no_sample_is_paid_in_vain(script: list[str], threshold: int | None, drawn: int) -> None:
    sampling = Sampling(samples=5, threshold=threshold)
    whole = asker(Scripted(script), sampling=sampling).ask(CLAIM)
    early = asker(Scripted(script), sampling=sampling, stopping="settled").ask(CLAIM)
    assert (early.status, early.values) == (whole.status, whole.values)
    assert (early.drawn, early.saved, early.usage.calls) == (drawn, 5 - drawn, drawn)
    assert (whole.drawn, whole.saved, whole.usage.calls) == (5, 0, 5)
    assert sum(early.votes[0].values()) == len(early.samples) <= drawn


labels = st.sampled_from([*COGNI.answer.labels, None])


@settings(max_examples=40)
@given(st.lists(st.lists(labels, min_size=2, max_size=2), min_size=1, max_size=6), st.data())
def test_early_it_decides_what_it_does_at_the_end(draws: list[list[str | None]], data: st.DataObject) -> None:
    case = COGNI.case({"reference": "r", "sentences": ["One.", "Two."]})
    samples = len(draws)
    sampling = Sampling(samples=samples, threshold=data.draw(st.integers(1, samples)))

    def answers(request: Any) -> str:
        shown = field_of(user_of(request), "sentences")
        if not shown.startswith("1. One.\n2. "):
            return reply("chat", labels=[])  # what is missing stays missing
        said = draws[request.config.seed]
        return tags(*((n, label) for n, label in enumerate(said, 1) if label))

    whole = asker(Scripted(answers), COGNI, sampling=sampling).ask(case)
    early = asker(Scripted(answers), COGNI, sampling=sampling, stopping="settled").ask(case)
    assert (early.status, early.values) == (whole.status, whole.values)
    assert early.drawn + early.saved == samples == whole.drawn


@pytest.mark.usefixtures("no_waiting")
def test_a_failure_is_no_saving() -> None:
    slow = [LMRateLimitError("slow", retry_after=0.0)] * 8
    verdict = asker(Scripted([YES, *slow]), sampling=Sampling(samples=5), stopping="settled").ask(CLAIM)
    assert (verdict.status, verdict.drawn, verdict.saved) == ("failed", 2, 0)


def test_votes_that_were_not_cast_cannot_be_counted_again() -> None:
    sampling = Sampling(samples=3)
    early = asker(Scripted([YES, YES]), sampling=sampling, stopping="settled").ask(CLAIM)
    with pytest.raises(UsageError, match=r"1 samples of case \w+ were not drawn"):
        asker(Scripted([]), sampling=Sampling(samples=3, threshold=1)).revote(CLAIM, early)


@pytest.mark.parametrize(
    ("first", "second", "shown", "found", "extra", "duplicated"),
    [
        (((1, "faithful"), (3, "faithful")), ((2, "invented"),), ["2. Two."], ("faithful", "invented", "faithful"), 0, 0),  # noqa: E501
        (((2, "faithful"),), ((3, "invented"),), ["1. One.", "3. Three."], (None, "faithful", "invented"), 0, 0),
        (
            ((1, "faithful"), (1, "invented"), (2, "faithful"), (3, "faithful")),
            ((1, "reliable"), (2, "invented")),
            ["1. One."],
            ("reliable", "faithful", "faithful"),
            1,
            1,
        ),
        (((1, "faithful"), (2, "faithful")), ((1, "faithful"),), ["3. Three."], ("faithful", "faithful", None), 1, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("adapter", ["chat", "json"])
def test_only_what_is_missing_or_contradicted_is_asked_again(
    first: Any, second: Any, shown: list[str], found: Any, extra: int, duplicated: int, adapter: str
) -> None:
    inner = Scripted([tags(*first, adapter=adapter), tags(*second, adapter=adapter)])
    verdict = asker(inner, COGNI, adapter=adapter).ask(THREE)
    assert verdict.values == found
    assert (verdict.reasked, verdict.extra, verdict.duplicated) == (1, extra, duplicated)
    assert verdict.status == ("abstained" if None in found else "verdict")
    one, two = inner.requests
    assert (one.config.seed, two.config.seed) == (0, 0)  # the same sample, and no other draw
    assert [line for line in user_of(two).split("\n") if line[:3] in ("1. ", "2. ", "3. ")] == shown
    assert one.system == two.system
    if adapter == "chat":
        for name in ("reference", "dialogue"):
            assert field_of(user_of(one), name) == field_of(user_of(two), name)


def test_an_unreadable_second_reply_leaves_the_first_as_it_is() -> None:
    verdict = asker(Scripted([tags((1, "faithful")), "prose"]), COGNI).ask(THREE)
    assert (verdict.values, verdict.status) == (("faithful", None, None), "abstained")
    assert verdict.error.startswith("unusable reply")


def leaving_out(messages: list[dict[str, Any]]) -> str:
    """Leave out every second sentence of those that are asked for, but a last one."""
    shown = field_of(str(messages[-1]["content"]), "sentences").split("\n")
    numbers = [int(line.partition(".")[0]) for line in shown][::2]
    return tags(*((n, "faithful") for n in numbers))


def test_over_http_and_resumed_from_the_journal(serve: Callable[..., Loopback], tmp_path: Path) -> None:
    server = serve(leaving_out)
    path = tmp_path / "journal.jsonl"
    cases = [COGNI.case({"reference": f"r{n}", "sentences": ["One.", "Two.", "Three."]}) for n in range(12)]

    def judge(budget: Budget | None = None) -> tuple[Asker, CallContext]:
        context = context_with(budget, Journal(path))
        lm = connect(Model(name="openai/x", api_base=server.url, temperature=0.7), context)
        settings = AskSettings(sampling=Sampling(samples=2), concurrency=3)
        return Asker(judge=COGNI, program=COGNI.basic(), lm=lm, settings=settings), context

    cut, context = judge(Budget(calls=19))
    with pytest.raises(BudgetExhausted):
        cut.ask_all(cases)
    context.journal.close()
    assert server.count == 19  # never one more
    again, context = judge()
    found = again.ask_all(cases)
    context.journal.close()
    assert server.count == 48 == context.ledger.spend().calls + context.ledger.spend().replayed
    assert all(verdict.values == ("faithful",) * 3 and verdict.reasked == 2 for verdict in found)
    each = Counter(json.dumps(hit.body) for hit in server.hits)
    assert set(each.values()) == {2}  # each question once a sample
    replayed, context = judge()
    assert replayed.ask_all(cases) == found
    assert server.count == 48
    assert context.ledger.spend().calls == 0
    context.journal.close()
