"""``jurist prove`` of a version that differs from basic by a threshold alone asks the model once."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prepared import begin_with
from small import ok, write_jsonl

import jurist
from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.gold.goldset import Gold
from jurist.jobs.unlabelled import Unlabelled, load_both
from jurist.keeping.artifacts import Store
from jurist.programs.asking import Asker
from jurist.programs.fect import FECT
from jurist.programs.settings import AskSettings


def rows_with_shares() -> list[tuple[dict[str, Any], float]]:
    """Return the rows of the bundled set, and how sure the engine is that each is not factual."""
    gold = Gold.load("fect-mini", FECT)
    lm = connect(Model(temperature=0.0), CallContext.fresh())
    asker = Asker(judge=FECT, program=FECT.basic(), lm=lm, settings=AskSettings(probabilities="tokens"))
    rows = []
    for number, (case, verdict) in enumerate(zip(gold.cases, asker.ask_all(gold.cases), strict=True)):
        share = FECT.answer.scale.probability(verdict.probabilities[0]) or 0.0
        rows.append(({**case.inputs, "group": f"g{number}"}, share))
    return rows


@pytest.fixture
def version() -> str:
    """A version whose threshold alone is another one, with ``new.jsonl`` in the folder."""
    begin_with(_compile_threshold)
    return "fect@1"


def _compile_threshold() -> None:
    rows = rows_with_shares()
    cut = sorted(share for _, share in rows)[len(rows) * 3 // 4]
    labelled = [{**row, "factual": share < cut} for row, share in rows]
    write_jsonl(Path("gold.jsonl"), labelled[::2])
    write_jsonl(Path("new.jsonl"), [row for row, _ in rows[1::2]])
    made = jurist.compile(
        "fect", gold="gold.jsonl", optimizer="threshold", model=jurist.Model(temperature=0.0)
    )
    assert made.artifact.state.id == made.result.board.basic.state.id


def test_replies_that_both_get_are_asked_for_once(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = ok("prove", version, "--rows", "new.jsonl")
    assert "forecast: 1 judge on" in told.err
    plan = jurist.prove(version)
    assert plan.units
    shutil.rmtree(Path("compiled") / ".checkpoints")
    monkeypatch.setattr(Unlabelled, "replies_are_shared", False)
    both = ok("prove", version, "--rows", "new.jsonl", "--json")
    assert "forecast: 2 judges on" in both.err
    assert both.json["surveyed"] == plan.surveyed
    assert jurist.prove(version).units == plan.units


def test_a_version_that_words_decide_too_is_asked_itself(version: str) -> None:
    store = Store("compiled")
    basic, threshold = load_both(store.load(version), store)
    gold = Gold.load("new.jsonl", FECT, labelled=False)
    work = Unlabelled(contenders=(basic, threshold), gold=gold)
    assert work.replies_are_shared
    assert list(work.contenders_to_ask) == [version]
    words: Any = object()  # a rule of words, which is not asked for anything here
    by_words = replace(threshold, settings=replace(threshold.settings, words=words))
    assert not Unlabelled(contenders=(basic, by_words), gold=gold).replies_are_shared
    other_prompt = replace(threshold, state=replace(threshold.state, predictors={}))
    assert not Unlabelled(contenders=(basic, other_prompt), gold=gold).replies_are_shared
