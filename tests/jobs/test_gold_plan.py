"""What more labels could show: from labels, and from the proof of a version."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from small import claims, cli, ok, write_jsonl

import jurist
from jurist.errors import ArtifactError, UsageError
from jurist.evaluation.power import AnswerPool
from jurist.jobs.gold_plan import GoldPlan
from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT
from jurist.programs.state import PromptState
from jurist.report.next_step import choose_next_step, outcome_of

NON_FACTUAL, FACTUAL = "non_factual", "factual"


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw fewer tests for each probability: what is said of them stays."""
    for method in (AnswerPool.power, AnswerPool.smallest_gain, AnswerPool.is_mostly_shown):
        monkeypatch.setitem(method.__kwdefaults__, "runs", 20)


def save_version(wins: int, losses: int, gain: float = 0.0, units: int = 40) -> None:
    """Keep a version whose compiled prompt wins some units of its sealed test, and loses others."""
    lines = []
    for unit in range(units):
        gold, wrong = (NON_FACTUAL, FACTUAL) if unit % 2 else (FACTUAL, NON_FACTUAL)
        basic = wrong if unit < wins else gold
        compiled = wrong if unit >= units - losses else gold
        line: dict[str, Any] = {"case": f"c{unit}", "group": f"g{unit}", "gold": [gold]}
        for name, answer in (("basic", basic), ("compiled", compiled)):
            line[name] = {"status": "verdict", "values": [answer], "votes": [{answer: 1}]}
        lines.append(line)
    card: dict[str, Any] = {"gold": {"name": "labels", "train": 24, "dev": 16, "test": units}}
    card["decision"] = {"verdict": "not shown to be better", "p": 0.2, "tested": 0.025}
    card["decision"] |= {"difference": gain, "constant": {"better": False}}
    Store("compiled").save(
        FECT, PromptState.of(FECT.basic()), card, [], make_latest=False, records={"proof.jsonl": lines}
    )


def test_labels_say_what_more_of_them_show() -> None:
    write_jsonl(Path("gold.jsonl"), claims(groups=20))
    done = ok("gold", "plan", "fect", "gold.jsonl", "--json")
    plan = done.json
    assert (plan["judge"], plan["metric"], plan["level"]) == ("fect", "f1", 0.025)
    numbers = [forecast["labels"] for forecast in plan["forecasts"]]
    assert numbers == sorted({plan["labels"], 100, 200, 400})
    assert plan["assumed"] == "both prompts are right on 70% of the units of each kind"
    assert (plan["estimated_gain"], plan["enough_labels"]) == (None, None)
    for forecast in plan["forecasts"]:
        assert [entry["gain"] for entry in forecast["power"]] == [0.05, 0.1]
        assert all(0.0 <= entry["probability"] <= 1.0 for entry in forecast["power"])
    shown = ok("gold", "plan", "fect", "--gold", "gold.jsonl", "--split", "10/10/80").out
    assert "gain in f1 shown in 4 of 5" in shown
    assert "groups of test" in shown


def test_a_version_says_how_many_labels_show_its_gain() -> None:
    save_version(wins=8, losses=4, gain=0.1)
    plan = jurist.plan_gold("fect@1", labels=(100, 800))
    assert plan.labels == 80
    assert plan.assumed == ""
    assert plan.estimated_gain == pytest.approx(0.1, abs=0.02)
    assert plan.enough_labels is not None
    assert 200 < plan.enough_labels <= 2000
    few, many = plan.forecasts[1], plan.forecasts[2]
    assert (few.labels, many.labels) == (100, 800)
    assert few.power[-1].probability < many.power[-1].probability
    assert (many.smallest_gain or 1.0) < (few.smallest_gain or 1.0)
    outcome = outcome_of(Store("compiled").load("fect@1"), FECT)
    assert outcome.labels_to_prove is None, "it is not shown to be better than a constant answer"
    step = choose_next_step(outcome, "--gold labels.csv")
    assert step.command == "jurist gold plan fect@1"
    assert f"about {outcome.labels_in_all} labels" in step.reason
    words = ok("gold", "plan", "fect@1").out
    assert f"which about {plan.enough_labels} labels show in four of five compilations" in words


def test_a_version_that_gained_nothing_names_no_number() -> None:
    save_version(wins=3, losses=6)
    plan = jurist.plan_gold("fect@1", labels=(100,))
    assert plan.enough_labels is None
    assert (plan.estimated_gain or 0.0) < 0.0
    assert "estimated a gain of -" in ok("gold", "plan", "fect@1").out


def rows(groups: int, size: int, rare: int) -> list[dict[str, object]]:
    """Return claims in groups, of which each so many-th is not factual."""
    lines: list[dict[str, object]] = []
    for unit in range(groups * size):
        group = unit // size
        lines.append(
            {
                "group": f"g{group}",
                "conversation": f"Talk {group * 7919} of matter {group * 104729}.",
                "claim": f"Claim {unit * 15485863} stands.",
                "factual": unit % rare != 0,
            }
        )
    return lines


ADVICE = {
    "rows of large groups": (rows(12, 6, 2), ["label rows of new groups: 6.0 labels are of one group"]),
    "a rare positive label": (
        rows(60, 1, 10),
        ["label more rows that may be 'non_factual': only 10% of the labels are"],
    ),
    "neither": (rows(60, 1, 2), []),
}


@pytest.mark.parametrize("name", ADVICE)
def test_which_labels_help_most(name: str) -> None:
    lines, starts = ADVICE[name]
    plan: GoldPlan = jurist.plan_gold("fect", lines, labels=(100,))
    assert len(plan.advice) == len(starts)
    for advice, start in zip(plan.advice, starts, strict=True):
        assert advice.startswith(start)


def test_what_cannot_be_planned_says_what_can() -> None:
    with pytest.raises(UsageError, match="no gold is named"):
        jurist.plan_gold("fect")
    with pytest.raises(UsageError, match="is a version, and gold is named too"):
        jurist.plan_gold("fect@1", "fect-mini")
    with pytest.raises(UsageError, match="below 1"):
        jurist.plan_gold("fect", "fect-mini", labels=(0,))
    Store("compiled").save(FECT, PromptState.of(FECT.basic()), {}, [], make_latest=False)
    with pytest.raises(ArtifactError, match="kept no answers of a sealed test"):
        jurist.plan_gold("fect@1")
    assert "jurist gold plan fect --gold F" in cli("gold", "plan", "fect@1").err
    for named_gold in (("--gold", "fect-mini"), ("fect-mini",)):
        refused = cli("gold", "plan", "fect@1", *named_gold).err
        assert "fect@1 is a version, and gold is named too; leave out the gold" in refused
    assert "add --gold" in cli("gold", "plan", "fect").err


def test_more_labels_show_no_less_and_a_test_that_does_not_grow_is_explained() -> None:
    plan: GoldPlan = jurist.plan_gold("fect", rows(58, 4, 3))
    forecasts = sorted(plan.forecasts, key=lambda forecast: forecast.test_groups)
    for few, many in pairwise(forecasts):
        assert (many.smallest_gain or 9.0) <= (few.smallest_gain or 9.0)
        for first, second in zip(few.power, many.power, strict=True):
            assert second.probability >= first.probability
    words = f"with 400 labels the test has {plan.forecasts[-1].test_labels}, and with 232 it has"
    assert any(line.startswith(words) for line in plan.advice)
    assert not any(line.startswith("with 200 labels") for line in plan.advice)
