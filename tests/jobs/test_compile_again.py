"""A compilation that has finished, started again: its version is returned, unless anything that decides has changed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import dspy
import pytest
from judges import CHECK, ROWS
from proving import FEW, VERSION, compiled_house_rule
from small import ok, write_jsonl

import jurist
from jurist.engines.meter import Budget
from jurist.errors import UsageError
from jurist.gold.goldset import Gold
from jurist.jobs.compiling import Compiled
from jurist.jobs.conclusion import restore_proof
from jurist.jobs.plan import Plan
from jurist.optimizers.named.threshold import Threshold


def compile_check(**arguments: object) -> Compiled:
    settings = {"sizes": (2,), "sets": 2, "sample": 6}
    return jurist.compile(CHECK, gold=ROWS, optimizer="fewshot", options=settings, store="store", **arguments)


def test_the_same_call_returns_its_version_in_one_line_and_asks_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = compile_check()
    assert not first.done_before
    monkeypatch.setattr("jurist.engines.channel.Channel.complete", None)  # a call would fail
    said = "check@1 was compiled by the same call before: .*; fresh=True compiles it anew"
    with pytest.warns(UserWarning, match=said) as told:
        again = compile_check()
    assert len(told) == 1
    assert again.done_before
    assert (again.artifact.path, again.words, again.latest) == (
        first.artifact.path,
        first.words,
        first.latest,
    )
    with pytest.raises(UsageError, match=r"artifact.history lists its candidates; fresh=True"):
        _ = again.result


@pytest.mark.parametrize(
    "how", [{"fresh": True}, {"resume": False}, {"seed": 1}, {"budget": Budget(calls=900)}]
)
def test_another_call_compiles_anew(how: dict[str, object]) -> None:
    compile_check()
    assert compile_check(**how).artifact.version == 2


def test_by_force_the_finished_version_becomes_the_latest() -> None:
    assert not compile_check().latest
    with pytest.warns(UserWarning, match="same call before"):
        forced = compile_check(force=True)
    assert (forced.artifact.version, forced.latest) == (1, True)
    assert jurist.Store("store").load("check").version == 1


def test_a_command_returns_its_version_with_resume() -> None:
    write_jsonl(Path("gold.jsonl"), ROWS)
    Path("check.py").write_text(
        "import dspy, jurist\nfrom typing import Literal\n"
        "class Check(dspy.Signature):\n"
        '    """May the reply be sent?"""\n'
        "    policy: str = dspy.InputField()\n    reply: str = dspy.InputField()\n"
        "    verdict: Literal['send', 'hold'] = dspy.OutputField()\n"
        "judge = jurist.Judge(name='check', signature=Check, positive='hold')\n"
    )
    command = ("compile", "check.py:judge", "--gold", "gold.jsonl", "--optimizer", "threshold", "--anyway")
    first = ok(*command)
    again = ok(*command, "--resume")
    assert (
        "check@1 was compiled by the same call before: no model was asked; --fresh compiles it anew"
        in again.err
    )
    assert again.out == first.out
    assert ok(*command, "--resume", "--json").json["done_before"]
    assert ok(*command, "--json").json["version"] == 2
    assert not ok(*command, "--fresh", "--json").json["done_before"]


def plan(**changes: object) -> Plan:
    return replace(Plan(judge=CHECK, gold=Gold.of(ROWS, CHECK)), **changes)


def own_metric(gold: list[object], predicted: list[object]) -> float:
    return float(gold == predicted)


OTHER = "send" if ROWS[0]["verdict"] == "hold" else "hold"
HOLD = CHECK.signature.with_instructions("Hold what is rude.")
CHANGES: dict[str, Callable[[], Plan]] = {
    "the prompt": lambda: plan(judge=replace(CHECK, signature=HOLD)),
    "a description": lambda: plan(
        judge=replace(CHECK, signature=CHECK.signature.with_updated_fields("reply", desc="the draft"))
    ),
    "the positive class": lambda: plan(
        judge=jurist.Judge(name="check", signature=CHECK.signature, positive="send")
    ),
    "a label": lambda: plan(gold=Gold.of([{**ROWS[0], "verdict": OTHER}, *ROWS[1:]], CHECK)),
    "the limit": lambda: plan(budget=Budget(calls=77)),
    "the model": lambda: plan(model=jurist.Model(name="openai/x")),
    "no words": lambda: plan(words=False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_decides_is_part_of_the_call(change: str) -> None:
    assert plan().call_hash == plan(gold=Gold.of(ROWS[::-1], CHECK)).call_hash is not None
    changed = CHANGES[change]().call_hash
    assert changed is not None
    assert changed != plan().call_hash


class Wrapped(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.check = dspy.Predict(CHECK.signature)


UNSEEN: dict[str, Callable[[], Plan]] = {
    "a function": lambda: plan(judge=replace(CHECK, metric=own_metric)),
    "a program": lambda: plan(judge=replace(CHECK, program=Wrapped)),
    "an optimizer": lambda: plan(optimizer=Threshold()),
}


@pytest.mark.parametrize("code", UNSEEN)
def test_code_whose_changes_nobody_sees_is_compiled_anew(code: str) -> None:
    assert UNSEEN[code]().call_hash is None


def test_a_restored_proof_is_the_proof() -> None:
    compiled_house_rule()
    artifact = jurist.Store().load(VERSION)
    judge = jurist.judge("may_send.py:judge")
    again = Plan(judge=judge, gold=Gold.load("gold.jsonl", judge))
    proof = restore_proof(again, artifact)
    assert proof is not None
    restored = json.loads(json.dumps(proof.to_card()))
    assert {name: artifact.card[name] for name in restored} == restored
    assert ok("compile", "may_send.py:judge", "--gold", "gold.jsonl", *FEW, "--resume", "--json").json[
        "done_before"
    ]
