"""The probability of labels, read from the tokens of a reply: by any prompt format, however the tokens are cut."""

import json
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from asking import CASES, FECT
from dspy.lm15 import TokenLogprob, TopLogprob
from loopback import Loopback
from small import ok

from jurist.engines.adapters import ADAPTERS
from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Meter
from jurist.engines.models import Model, connect
from jurist.engines.token_probabilities import label_probabilities
from jurist.programs.asking import Asker
from jurist.programs.catalogue import find
from jurist.programs.settings import AskSettings

Serve = Callable[..., Loopback]
TIERS = ("irrelevant", "irrefutable", "reliable", "invented")


class One(dspy.Signature):
    """Judge."""

    text: str = dspy.InputField()
    reasoning: str = dspy.OutputField()
    tier: Literal["irrelevant", "irrefutable", "reliable", "invented"] = dspy.OutputField()


class Yes(dspy.Signature):
    """Judge."""

    text: str = dspy.InputField()
    factual: bool = dspy.OutputField()


def token(text: str, share: float = 1.0, others: Mapping[str, float] | None = None) -> TokenLogprob:
    top = tuple(TopLogprob(token=name, logprob=math.log(one)) for name, one in (others or {}).items())
    return TokenLogprob(token=text, logprob=math.log(share), top=top)


LEAD = {"chat": "[[ ## factual ## ]]\n", "json": '{"factual": '}


@pytest.mark.parametrize("lead", LEAD.values(), ids=LEAD)
@pytest.mark.parametrize(
    ("said", "found"),
    [
        ([token("True", 0.6, {"False_": 0.4})], 1.0),  # False_ is no label
        ([token("True", 0.6, {"False": 0.4})], 0.6),
        ([token("true", 0.5, {"true_": 0.1, "false": 0.3, " True": 0.2})], 0.7),
        ([token("Tr", 0.6, {"Fal": 0.2, "None": 0.2}), token("ue", 0.9, {"uth": 0.1})], 0.75),
        ([token("False", 0.9, {"True_": 0.05, "true": 0.1})], 0.1),
        ([token("True", 10**400, {"False": 10**400})], 0.5),  # more than certain
        ([token("True")], None),  # no alternatives: nothing is known
    ],
)
def test_a_yes_or_no(lead: str, said: list[TokenLogprob], found: float | None) -> None:
    read = label_probabilities(Yes, "factual", [token(lead), *said, token("\n")])
    assert ([one["True"] for one in read] or [None])[0] == pytest.approx(found, abs=1e-6)


class Send(dspy.Signature):
    """Judge."""

    text: str = dspy.InputField()
    verdict: Literal["send", "hold"] = dspy.OutputField()


SEND = token("Send", 0.6, {"Hold": 0.4})
HOLD = token("hold", 0.9, {"send": 0.1})


@pytest.mark.parametrize(
    ("reply", "share"),
    [
        ([SEND], 0.6),
        ([token("**"), SEND, token("**\n")], 0.6),
        ([token("Verdict: "), HOLD, token(".")], 0.1),
        ([token('{"why": "it promises a refund", "verdict": "'), HOLD, token('"}')], 0.1),
        (
            [token("One could "), SEND, token(" it.\nVerdict: "), HOLD],
            None,
        ),  # which of both is meant is not known
        ([token("I cannot say.")], None),
    ],
)
def test_a_label_in_words(reply: list[TokenLogprob], share: float | None) -> None:
    read = label_probabilities(Send, "verdict", reply, has_fields=False)
    assert [one["send"] for one in read] == ([] if share is None else [pytest.approx(share)])


def test_labels_that_begin_alike_share_until_they_part() -> None:
    reply = [
        token('{"reasoning": "irrelevant it is not", "tier": "'),
        token("ir", 0.8, {"re": 0.15, "in": 0.05}),
        token("ref", 0.75, {"rel": 0.25}),
        token('utable"}', 1.0),
    ]
    (read,) = label_probabilities(One, "tier", reply)
    assert read == {
        label: pytest.approx(share, abs=1e-6)
        for label, share in zip(TIERS, (0.2, 0.6, 0.15, 0.05), strict=True)
    }


def test_the_last_section_counts_and_not_a_draft() -> None:
    reply = [
        token("<think>[[ ## factual ## ]] "),
        token("True", 0.9, {"False": 0.1}),
        token("</think>\n[[ ## factual ## ]]\n"),
        token("False", 0.7, {"True": 0.3}),
    ]
    assert label_probabilities(Yes, "factual", reply) == [{"True": 0.3, "False": 0.7}]


@pytest.mark.parametrize("form", ADAPTERS)
@pytest.mark.parametrize("name", ["fect", "cognibench", "statement-type", "fect-3d-reasoning"])
def test_the_offline_engine_tells_its_own(form: str, name: str) -> None:
    judge = find(name)
    row = {
        "conversation": "Agent: we ship on Monday.",
        "claim": "It ships on Monday.",
        "reference": "It ships on Monday.",
        "before": "",
        "dialogue": "",
        "sentence": "It ships on Friday.",
        "sentences": ["It ships on Monday.", "You will love it."],
        "response": "It ships on Friday.",
    }
    lm = connect(Model(), CallContext.fresh())
    verdict = Asker(
        judge=judge, program=judge.basic(), lm=lm, settings=AskSettings(adapter=form, probabilities="tokens")
    ).ask(judge.case(row))
    assert verdict.measured == 1
    for shares, value in zip(verdict.probabilities, verdict.values, strict=True):
        assert sum(shares.values()) == pytest.approx(1.0, abs=1e-4)
        assert 0.0 < shares[value] < 1.0


def with_tokens(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a server tells about the tokens of the answer True, as OpenAI's clients know it."""
    if not body.get("logprobs"):
        return None
    tops = [{"token": "True", "logprob": math.log(0.8)}, {"token": "False", "logprob": math.log(0.2)}]
    said = {"token": "True", "logprob": math.log(0.8), "bytes": None, "top_logprobs": tops}
    lead = {"token": "[[ ## factual ## ]]\n", "logprob": 0.0, "bytes": None, "top_logprobs": []}
    return {"content": [lead, said, {**lead, "token": "\n\n[[ ## completed ## ]]"}]}


def asked(server: Loopback, context: CallContext | None = None, **settings: Any) -> Asker:
    lm = connect(Model(name="openai/some-model", api_base=server.url), context or CallContext.fresh())
    return Asker(
        judge=FECT, program=FECT.basic(), lm=lm, settings=AskSettings(probabilities="tokens", **settings)
    )


def yes(messages: list[dict[str, Any]]) -> str:
    return "[[ ## factual ## ]]\nTrue\n\n[[ ## completed ## ]]"


def test_an_endpoint_tells_them_and_the_journal_keeps_them(serve: Serve, tmp_path: Path) -> None:
    server = serve(yes, logprobs=with_tokens)
    found = []
    for _ in range(2):
        journal = Journal(tmp_path / "journal.jsonl")
        context = CallContext(ledger=Ledger(), meter=Meter(), journal=journal)
        found.append(asked(server, context).ask(CASES[0]))
        journal.close()
    assert found[0] == found[1]
    assert found[0].probabilities == ({"factual": 0.8, "non_factual": 0.2},)
    assert (found[0].measured, server.count, server.hits[0].body["top_logprobs"]) == (1, 1, 20)


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("Requested sample logprobs of 20, which is greater than max allowed: 5", [20, 5, 5]),
        ("Invalid 'top_logprobs': must be between 0 and 8", [20, 8, 8]),
        ("some-model has no logprobs", [20, None, None]),
        ("no logprobs of 3", [20, 3, None, None]),
    ],
)
def test_fewer_alternatives_are_asked_for_where_refused(
    serve: Serve, said: str, sent: list[int | None]
) -> None:
    most = sent[1] if len(sent) == 3 else 0
    server = serve(
        yes,
        logprobs=with_tokens,
        refuses=lambda body: said if body.get("top_logprobs", 0) > (most or 0) else "",
    )
    judge = asked(server)
    verdicts = [judge.ask(case) for case in CASES[:2]]
    assert [hit.body.get("top_logprobs") for hit in server.hits] == sent
    assert [one.measured for one in verdicts] == [bool(most)] * 2


@pytest.mark.parametrize("refuses", [True, False])
def test_votes_stand_in_where_none_are_told(
    serve: Serve, caplog: pytest.LogCaptureFixture, refuses: bool
) -> None:
    said = "This model does not support logprobs."
    server = serve(yes, refuses=lambda body: said if refuses and body.get("logprobs") else "")
    judge = asked(server)
    with caplog.at_level(logging.WARNING, "jurist"):
        verdicts = [judge.ask(case) for case in CASES[:3]]
    assert [one.probabilities for one in verdicts] == [({"factual": 1.0},)] * 3
    assert [one.measured for one in verdicts] == [0] * 3
    assert [bool(hit.body.get("logprobs")) for hit in server.hits] == [True, *[False] * (3 if refuses else 2)]
    assert len(caplog.messages) == 1
    assert "shares of votes" in caplog.messages[0]


def test_what_was_refused_stays_known(serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And to that alone: it is no failure that either of them speaks of."""
    server = serve(yes, refuses=lambda body: "no logprobs here" if body.get("logprobs") else "")
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"conversation": "Agent: on Monday.", "claim": "on Friday"}) + "\n")
    for number in range(2):
        output = ("--output", tmp_path / f"{number}.jsonl", "--probabilities", "tokens")
        model = ("--model", "openai/x", "--api-base", server.url)
        assert "the last failure" not in ok("run", "fect:basic", "--input", rows, *output, *model).err
    assert [bool(hit.body.get("logprobs")) for hit in server.hits] == [True, False, False]
    first, second = caplog.messages
    assert "refuses logprobs" in first
    assert "refused before, and is not asked for: logprobs" in second
