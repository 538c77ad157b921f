"""``jurist gate``, ``jurist.gate`` and ``jurist.assert_judge``: what passes, what fails, and that it is said."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from judges import changed
from small import claims, cli, write_jsonl

import jurist
from jurist import assert_judge
from jurist.errors import UsageError
from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT


def hard() -> list[dict[str, Any]]:
    """Return the small gold with every fourth label the other way: nobody gets all of it."""
    return [
        {**row, "factual": not row["factual"]} if place % 4 == 0 else row
        for place, row in enumerate(claims())
    ]


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), hard())


@pytest.fixture(scope="module")
def f1(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the basic judge's own F1 on the small gold."""
    gold = write_jsonl(tmp_path_factory.mktemp("gold") / "gold.jsonl", hard())
    return jurist.evaluate("fect:basic", str(gold), store=gold.parent)["f1"]


def run(*argv: object, code: int = 0) -> Any:
    done = cli("gate", "fect:basic", "--gold", "gold.jsonl", *argv, "--json")
    assert done.code == code, done.err
    return done.json


def test_limits_pass_at_the_value_and_fail_above_it(f1: Any) -> None:
    assert run("--min", f"f1={f1.value!r}", "--max", f"f1={f1.value!r}")["passed"]
    found = run("--min", f"f1={f1.value + 1e-9!r}", "--min", "f1=0", code=3)
    assert [one["passed"] for one in found["checks"]] == [False, True, True]
    assert "fails 1 of 3 checks" in found["words"]
    # as many without an answer as are allowed
    rows = [{**row, "id": str(place)} for place, row in enumerate(hard()[:20])]
    gold, log = write_jsonl(Path("all.jsonl"), rows), write_jsonl(Path("log.jsonl"), rows[:19])
    asked = ("gate", f"recorded:{log}", "--gold", gold, "--max-unusable", 0.05, "--markdown")
    assert cli(*asked, "--min", "f1=0.1").code == 0
    assert "| FAIL | f1 \\<= 0.1 |" in cli(*asked, "--max", "f1=0.1").out


def test_a_judge_that_is_held_against_itself_is_asked_once() -> None:
    found = run("--not-worse-than", ":basic")
    said, words = found["checks"][0], "it is the same judge, and asked once"
    assert said == {"name": "not worse than fect:basic", "passed": True, "words": words}
    assert [one["spend"]["calls"] for one in found["comparison"]["judges"]] == [len(claims())]


def test_judges_of_one_name_and_prompt_are_both_asked() -> None:
    """They differ in their code alone, as two states of a file do."""

    class Doubting(dspy.Predict):
        def forward(self, **inputs: Any) -> dspy.Prediction:
            return dspy.Prediction(factual=False)

    judges = [
        jurist.load(replace(FECT, program=program), version="basic")
        for program in (lambda: dspy.Predict(FECT.signature), lambda: Doubting(FECT.signature))
    ]
    found = jurist.gate(judges[0], claims(), not_worse_than=judges[1])
    assert "asked once" not in found.words
    assert len(found.comparison.contenders) == 2


def test_to_be_sure_is_to_hold_the_end_of_the_interval(f1: Any) -> None:
    between = (f1.interval.low + f1.value) / 2
    assert f1.interval.low < between < f1.value
    assert run("--min", f"f1={between}")["passed"]
    assert not run("--min", f"f1={between}", "--sure", code=3)["passed"]
    assert not run("--max", f"f1={(f1.interval.high + f1.value) / 2}", "--sure", code=3)["passed"]


def test_a_worse_judge_does_not_pass_and_the_better_one_does() -> None:
    store = Store("compiled")
    silly = changed(FECT, "Every claim is factual, whatever the conversation says: always answer True.")
    store.save(FECT, silly, {}, [], make_latest=True)
    store.tag("fect@1", "prod")
    same = run("--not-worse-than", "@prod", "--margin", "1")
    assert same["checks"][0]["name"] == "not worse than fect@1 by more than 1"
    one, two = (
        ("fect:basic", "fect@1")
        if same["comparison"]["tests"][0]["difference"] > 0
        else ("fect@1", "fect:basic")
    )
    better = jurist.gate(one, "gold.jsonl", not_worse_than=two, max_unusable=1)
    worse = jurist.gate(two, "gold.jsonl", not_worse_than=one, margin=0.0, max_unusable=1)
    assert (better.passed, worse.passed) == (True, False)
    shown = jurist.gate(two, "gold.jsonl", not_worse_than=one, max_unusable=1)
    assert shown.passed == (shown.comparison.tests[0].verdict != "worse")
    few = write_jsonl(Path("few.jsonl"), hard()[:12])
    said = jurist.gate(two, str(few), not_worse_than=one, max_unusable=1)
    assert "groups cannot show that it is worse" in said.words
    assert "cannot show that it is worse" not in shown.words


def test_the_helper_fails_a_test_with_the_numbers() -> None:
    assert assert_judge("fect:basic", "gold.jsonl", minimum={"f1": 0.0}).passed
    with pytest.raises(AssertionError, match=r"fect:basic on .* fails 1 of 2 checks: f1 >= 1 \(f1 0\."):
        assert_judge("fect:basic", "gold.jsonl", minimum={"f1": 1.0})
    with pytest.raises(UsageError, match="nope"):
        assert_judge("fect:basic", "gold.jsonl", maximum={"nope": 2.0})
