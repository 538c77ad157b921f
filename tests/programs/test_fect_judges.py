"""The four prompts of FECT: one task, four ways of asking, and replies that contradict themselves."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import scripted
from dspy.lm15 import Request
from fakes import Scripted, lm_of, reply, system_of
from hypothesis import given, settings
from hypothesis import strategies as st
from small import claims

from jurist.cases import Case
from jurist.evaluation.votes import Sampling
from jurist.gold.goldset import Gold
from jurist.jobs.compiling import compile_judge
from jurist.jobs.plan import Plan
from jurist.keeping.artifacts import Store
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT_3D
from jurist.programs.judge import Judge
from jurist.programs.verdicts import Verdict

ADAPTERS = ("chat", "json")
CASE = Case(inputs={"conversation": "Customer: I take the plan.", "claim": "The customer took the plan."})


JUDGES = {"abstain": find("fect-3d-reasoning"), "label": find("fect-3d-reasoning-label")}


def unit(verified: bool, text: str = "plan", kind: str = "concrete") -> dict[str, Any]:
    return {"text": text, "kind": kind, "reasoning": "it is named", "verified": verified}


def ask(judge: Judge, texts: Any, *, adapter: str = "chat", case: Case = CASE, samples: int = 1) -> Verdict:
    return scripted(judge, texts, adapter=adapter, sampling=Sampling(samples=samples)).ask(case)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("policy", ["abstain", "label"])
@pytest.mark.parametrize(
    ("units", "factual", "labels"),
    [
        ([unit(True), unit(True, kind="relation")], True, {}),
        ([unit(True), unit(False, kind="relation")], False, {}),
        ([], False, {}),
        ([unit(True), unit(False)], True, {"label": "factual"}),
        ([unit(True), unit(True)], False, {"label": "non_factual"}),
        ([], True, {"label": "factual"}),
    ],
)
def test_units(policy: Any, adapter: str, units: list[Any], factual: bool, labels: dict[str, str]) -> None:
    verdict = ask(JUDGES[policy], [reply(adapter, units=units, factual=factual)], adapter=adapter)
    consistent = {"factual": True, "non_factual": False}
    expected = labels.get(policy) if labels else next(k for k, v in consistent.items() if v is factual)
    assert verdict.label == expected
    assert verdict.status == ("verdict" if expected else "abstained")
    assert verdict.inconsistent == bool(labels)
    assert verdict.reasoning.count("verified: ") == len(units)
    assert ("contradict" in verdict.error) is (bool(labels) and policy == "abstain")


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("policy", ["abstain", "label"])
@pytest.mark.parametrize(
    "fields",
    [
        {"factual": True},
        {"units": [unit(True)]},
        {"units": "Not supplied for this particular example.", "factual": True},
        {"units": [{**unit(True), "kind": "feeling"}], "factual": True},
        {"units": [{**unit(True), "verified": "perhaps"}], "factual": True},
        {"units": [{"text": "plan"}], "factual": True},
        {"units": [unit(True)], "factual": "perhaps"},
    ],
)
def test_a_reply_without_a_field_is_unusable(fields: dict[str, Any], policy: Any, adapter: str) -> None:
    verdict = ask(JUDGES[policy], [reply(adapter, **fields)], adapter=adapter)
    assert (verdict.status, verdict.label, verdict.inconsistent) == ("abstained", None, 0)
    assert verdict.error.startswith("unusable reply")


def test_contradictions_are_counted_by_sample_and_survive_a_revote() -> None:
    good, bad = (reply("chat", units=[unit(True)], factual=factual) for factual in (True, False))
    judge = find("fect-3d-reasoning")
    verdict = ask(judge, [good, bad, good], samples=3)
    assert (verdict.label, verdict.inconsistent, verdict.votes) == ("factual", 1, ({"factual": 2},))
    assert verdict.samples == (("factual",), (None,), ("factual",))
    again = scripted(judge, [], sampling=Sampling(samples=3, threshold=1)).revote(CASE, verdict)
    assert (again.status, again.inconsistent, again.reasoning) == ("abstained", 1, verdict.reasoning)
    assert "1 of 3 answers contradict themselves" in again.error


@settings(max_examples=60)
@given(st.text(max_size=60), st.text(max_size=60), st.booleans())
def test_whatever_a_unit_says_comes_back_on_one_line(text: str, why: str, verified: bool) -> None:
    given_unit = {"text": text, "kind": "relation", "reasoning": why, "verified": verified}
    verdict = ask(
        find("fect-3d-reasoning"), [json.dumps({"units": [given_unit], "factual": verified})], adapter="json"
    )
    assert verdict.status == "verdict"
    assert "\n" not in verdict.reasoning
    assert verdict.reasoning.startswith("verified: relation" if verified else "not verified: relation")


def test_the_card_counts_contradictions_on_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def contradict(request: Request) -> str:
        assert "`units`" in system_of(request)
        # The model is right where demonstrations are shown, so that there is something to prove.
        if len(request.messages) > 1:
            claim = str(request.messages[-1].text).split("[[ ## claim ## ]]")[1].split("\n")[1]
            factual = "reports" in claim or "promises" in claim
            return reply("chat", units=[unit(factual)], factual=factual)
        return reply("chat", units=[unit(False)], factual=True)

    monkeypatch.setattr(
        "jurist.jobs.plan.connect",
        lambda model, context, purpose="judge": lm_of(Scripted(contradict), context, purpose),
    )
    judge = JUDGES["label"]
    options = {"sizes": (2,), "sets": 2, "block": 4, "sample": 6, "steps": 2}
    gold = Gold.of(claims(30), judge, "small")
    plan = Plan(judge=judge, gold=gold, optimizer="fewshot", options=options)
    card = compile_judge(plan, store=Store(tmp_path)).artifact.card
    assert card["inconsistent"]["basic"] == card["gold"]["test"] > 0
    assert card["scores"]["basic"]["recall"]["value"] == 0.0  # the label counts: all is factual


json_values = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["yes", 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("verified"), inner),
)
BOTH: Any = find("fect-3d-reasoning").answer


@given(json_values, json_values, st.sampled_from(["abstain", "label"]))
def test_reading_any_units_never_guesses(units: Any, said: Any, policy: Any) -> None:
    answer = replace(BOTH, policy=policy).read({"units": units, "factual": said}, {})
    assert set(answer.values) <= {"factual", "non_factual", None}
    if answer.values != (None,):
        assert isinstance(units, list)
        assert said in (True, False)


def test_the_examples_of_3d_rest_on_what_their_conversation_says() -> None:
    text = FECT_3D.signature.instructions
    talk, _, examples = text.partition("Examples, for this conversation:\n")[2].partition('\n"')
    assert [line.partition(":")[0] for line in talk.splitlines()] == ["Customer", "Agent", "Customer"]
    plain = " ".join(examples.split())
    assert (plain.count('" factual:'), plain.count('" not factual:')) == (1, 2)
    for evidence in ("just send it", "third call", "just"):
        assert evidence in talk.lower()
        assert evidence in plain
    # Whoever asked for the express delivery, it was not the agent; nobody says a word of pleasure.
    (agent,) = [line for line in talk.splitlines() if line.startswith("Agent")]
    assert "express" not in agent
    assert not {"thanks", "great", "lovely", "pleased"} & set(re.findall(r"[a-z]+", talk.lower()))
