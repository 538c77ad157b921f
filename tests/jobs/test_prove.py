"""``jurist prove``: labels where a version differs from its basic prompt, from the plan to the card."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import field_of, truth_of
from proving import VERSION, compiled_house_rule, filled, house_rule, labeller, labeller_of, plan_of
from small import cli, ok, read_jsonl, write_jsonl

import jurist
from jurist.errors import GoldError
from jurist.gold.sheets import SheetLine
from jurist.jobs.label_plan import (
    LabelPlan,
    PlannedUnit,
    count_missing,
    draw_units,
    keep_decision,
    read_planned_labels,
)
from jurist.jobs.openings import Openings
from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT
from jurist.programs.state import PromptState
from jurist.report.reviewing import Review

STORE = Path("compiled")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a version, its gold, and rows without labels."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        compiled_house_rule()
    return folder


@pytest.fixture(autouse=True)
def rows(made: Path, tmp_path: Path) -> list[dict[str, Any]]:
    """The labelled rows behind those of ``new.jsonl``, in a folder of the test's own."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return house_rule()


def draw(*more: object) -> Any:
    return ok("prove", VERSION, "--rows", "new.jsonl", "--trust", *more)


# -- from end to end ----------------------------------------------------------------------------


def test_from_rows_without_labels_to_a_decision_on_the_card(rows: list[dict[str, Any]]) -> None:
    card = (STORE / "may-send" / "1" / "card.json").read_bytes()
    told = draw()
    assert "forecast: 2 judges on 120 cases" in told.err
    assert "of 120 units" in told.out
    assert "will mostly confirm a win on" in told.out
    ok("prove", VERSION, "--sheet", "sheet.csv", "--trust")
    plan = plan_of(STORE)
    partly = filled(Path("sheet.csv"), labeller(rows), most=5)
    early = cli("prove", VERSION, "--answers", partly, "--trust")
    assert early.code == 1
    first_look = plan["looks"][0]["labels"]
    assert f"5 of {len(plan['units'])} planned units are labelled" in early.err
    assert f"when the first {first_look} are, and {first_look - 5} of these have no label yet" in early.err
    assert plan_of(STORE) == plan
    sheet = filled(Path("sheet.csv"), labeller(rows))
    done = ok("prove", VERSION, "--answers", sheet, "--json", "--trust")
    decision = done.json["decision"]
    units = plan["units"]
    truth = {case.id: case.gold[0] for case in jurist.Gold.of(rows, jurist.judge("may_send.py:judge")).cases}
    assert decision["wins"] == sum(unit["compiled"] == truth[unit["case"]] for unit in units)
    assert decision["wins"] + decision["losses"] == len(units) == decision["labels"]
    assert (decision["gain_in"], decision["metric"]) == ("balanced_accuracy", "balanced_accuracy")
    assert (decision["verdict"] == "better") == (decision["p"] < decision["level"])
    gain = decision["gain"]
    assert gain["low"] < gain["value"] < gain["high"]
    assert (decision["verdict"] == "better") == (gain["low"] > 0)
    # it is a proof of its own beside the card, which stays as it was sealed
    assert (STORE / "may-send" / "1" / "card.json").read_bytes() == card
    assert Store(STORE).load(VERSION).disagreements == (decision,)
    ok("artifacts", "verify", VERSION)
    assert "where the two differ" in cli("artifacts", "show", VERSION, "--trust").out
    assert "labels where it differs" in ok("artifacts", "list").out
    ok("report", VERSION, "--gold", "gold.jsonl", "-o", "report.html", "--trust")
    assert "one-sided test by what each counts" in Path("report.html").read_text()
    # and it is shown again, and decided once and for all
    assert ok("prove", VERSION, "--json", "--trust").json["decision"] == decision
    again = cli("prove", VERSION, "--answers", sheet, "--trust")
    assert (again.code, "is decided" in again.err) == (2, True)


def test_replies_that_cannot_be_read_are_drawn_once_more(serve: Callable[..., Any]) -> None:
    requests = Counter[str]()

    def first_reply_of_some(index: int, body: dict[str, Any]) -> str | None:
        """Return the fault of the first reply to the requests for every fourth row."""
        prompt = json.dumps(body["messages"])
        requests[prompt] += 1
        reply = field_of(body["messages"][-1]["content"], "reply")
        if requests[prompt] == 1 and truth_of(reply, ("garbage", "", "", "")):
            return "garbage"
        return None

    def verdict_by_prompt(messages: list[dict[str, Any]]) -> str:
        label = truth_of(json.dumps(messages), ("send", "hold"))
        return f"[[ ## verdict ## ]]\n{label}\n\n[[ ## completed ## ]]"

    server = serve(verdict_by_prompt, faults=first_reply_of_some)
    draw("--model", "openai/m", "--api-base", server.url, "--yes")
    plan = plan_of(STORE)
    unreadable = sum(hit.fault == "garbage" for hit in server.hits)
    assert unreadable > 20
    assert server.count == 2 * 120 + unreadable
    assert set(requests.values()) == {1, 2}
    assert (plan["surveyed"]["units"], plan["surveyed"]["failed"]) == (120, 0)
    assert plan["units"]
    for unit in plan["units"]:
        assert {unit["basic"], unit["compiled"]} == {"send", "hold"}, "neither prompt abstained"


def test_from_python_rows_give_the_labels(rows: list[dict[str, Any]]) -> None:
    plan = jurist.prove(VERSION, "new.jsonl", labels=12, store=STORE, trust=True)
    assert (len(plan.units), plan.decision) == (12, None)
    label = labeller(rows)
    own = [{**row, "verdict": label(row)} for row in plan.content]
    told = jurist.prove(VERSION, answers=own, store=STORE, trust=True)
    assert told.decision is not None
    assert told.decision["labels"] == 12


def test_promotion_takes_the_constant_answer_too() -> None:
    """The sealed test has not shown this version to be better than a constant answer."""
    plan = jurist.prove(VERSION, "new.jsonl", store=STORE, trust=True)
    right = {unit.case: unit.compiled for unit in plan.units}
    cases = plan.gold(jurist.judge("may_send.py:judge")).cases
    by_text = {(case.inputs["policy"], case.inputs["reply"]): right[case.id] for case in cases}
    own = [{**row, "verdict": labeller_of(by_text)(row)} for row in plan.content]
    decision = jurist.prove(VERSION, answers=own, store=STORE, trust=True).decision
    assert decision is not None
    assert decision["verdict"] == "better"
    assert [one.latest for one in Store(STORE).list("may-send")] == [False]
    settled = keep_decision(Store(STORE), Store(STORE).load(VERSION), plan, decision)
    assert "not shown it to be better than a constant answer" in settled[1]
    said = ok("report", VERSION, "--store", STORE, "--trust").out
    assert "you started with, but not shown to be better than a constant answer (offline" in said


def test_a_version_asked_otherwise_than_in_its_proof_is_not_made_latest() -> None:
    artifact = Store(STORE).load(VERSION)
    plan = jurist.prove(VERSION, "new.jsonl", store=STORE, trust=True)
    decision = {"verdict": "better", "conditions": ["model other and not offline"]}
    shown = {**plan.to_json(), **decision, "decided": "2026-01-01T00:00:00Z"}
    latest, words = keep_decision(Store(STORE), artifact, plan, shown)
    assert not latest
    assert "asked otherwise than in its proof: model other and not offline" in words


# -- the plan -----------------------------------------------------------------------------------


def test_the_plan_is_fixed_and_another_one_counts() -> None:
    first = draw("--labels", "10")
    units = plan_of(STORE)["units"]
    assert draw("--labels", "30", "--seed", "5").out == first.out  # the open plan of these rows stays
    assert plan_of(STORE)["units"] == units
    write_jsonl(Path("other.jsonl"), read_jsonl(Path("new.jsonl"))[:60])
    refused = cli("prove", VERSION, "--rows", "other.jsonl", "--trust")
    assert refused.code == 2
    assert "not decided yet" in refused.err
    again = draw("--labels", "10", "--seed", "5", "--fresh", "--json").json
    assert (again["opening"], round(again["level"], 5)) == (2, 0.0125)
    both = {(unit["case"], unit["unit"]) for unit in units} & {
        (unit["case"], unit["unit"]) for unit in plan_of(STORE)["units"]
    }
    assert both == set()  # what was labelled before is not drawn again
    shutil.rmtree(STORE / ".checkpoints")
    forgotten = draw("--labels", "10", "--json").json
    assert forgotten["opening"] == 3


@given(st.lists(st.integers(0, 8), max_size=40), st.integers(1, 12), st.integers(0, 9), st.data())
def test_units_are_drawn_at_random_one_a_group(
    groups: list[int], labels: int, seed: int, data: st.DataObject
) -> None:
    units = [
        PlannedUnit(case=f"c{n}", unit=0, group=f"g{group}", basic="a", compiled="b")
        for n, group in enumerate(groups)
    ]
    known = data.draw(st.lists(st.sampled_from(units), max_size=5)) if units else []
    chosen = draw_units(units, labels, seed=seed, without=[unit.key for unit in known])
    assert chosen == draw_units(units[::-1], labels, seed=seed, without=[unit.key for unit in known])
    assert not {unit.key for unit in chosen} & {unit.key for unit in known}
    left = {unit.group for unit in units if unit not in known}
    assert len(chosen) == len({unit.group for unit in chosen}) == min(labels, len(left))


# -- blind --------------------------------------------------------------------------------------


def test_nothing_that_a_person_sees_says_who_said_what(rows: list[dict[str, Any]]) -> None:
    """Turn every answer of the plan around: what people see stays the same to the byte."""
    plan = jurist.prove(VERSION, "new.jsonl", store=STORE, trust=True)
    judge = jurist.judge("may_send.py:judge")

    def seen(one: LabelPlan, name: str) -> list[Any]:
        store, artifact = Store(STORE), Store(STORE).load(VERSION)
        one.keep(store, artifact)
        ok("prove", VERSION, "--sheet", name, "--trust")
        gold = one.gold(judge)
        lines: list[SheetLine] = one.lines(gold)
        journal: Any = type("Journal", (), {"path": Path("labels.jsonl")})
        page = json.dumps(Review(gold=gold, lines=lines, journal=journal, guideline="").page_content("ann"))
        return [Path(name).read_bytes(), page, json.dumps(one.to_json())]

    turned = replace(
        plan, units=tuple(replace(unit, basic=unit.compiled, compiled=unit.basic) for unit in plan.units)
    )
    assert seen(plan, "one.csv") == seen(turned, "two.csv")


# -- wrong input --------------------------------------------------------------------------------


def test_labels_of_other_units_are_refused(rows: list[dict[str, Any]]) -> None:
    plan = jurist.prove(VERSION, "new.jsonl", labels=8, store=STORE, trust=True)
    judge, label = jurist.judge("may_send.py:judge"), labeller(rows)
    every = [{**row, "verdict": label(row)} for row in read_jsonl(Path("new.jsonl"))]
    with pytest.raises(GoldError, match="is labelled and not planned"):
        jurist.prove(VERSION, answers=every, store=STORE, trust=True)
    assert count_missing(plan.units, read_planned_labels(plan, plan.gold(judge))) == len(plan.units)
    assert jurist.prove(VERSION, store=STORE, trust=True).decision is None


def test_what_nobody_can_tell_is_a_tie(rows: list[dict[str, Any]]) -> None:
    plan = jurist.prove(VERSION, "new.jsonl", labels=10, store=STORE, trust=True)
    label = labeller(rows)
    told = [{**row, "verdict": label(row)} for row in plan.content[3:]]
    unsure = [{**row, "ambiguity": "other"} for row in plan.content[:3]]
    decision = jurist.prove(VERSION, answers=[*unsure, *told], store=STORE, trust=True).decision
    assert decision is not None
    assert decision["untold"] == 3
    assert decision["wins"] + decision["losses"] + decision["ties"] == 10
    assert decision["ties"] == decision["untold"]


def test_what_cannot_be_proven_is_said_in_a_line(rows: list[dict[str, Any]]) -> None:
    none = cli("prove", VERSION, "--trust")
    assert (none.code, "no labels are planned" in none.err) == (2, True)
    seen = cli("prove", VERSION, "--rows", "gold.jsonl", "--trust")
    assert (seen.code, "were used to compile" in seen.err) == (1, True)
    Store(STORE).save(FECT, PromptState.of(FECT.basic()), {}, [], make_latest=False)
    same = cli("prove", "fect@1", "--rows", "fect-mini")
    assert (same.code, "asks what the basic prompt asks: they differ on no row" in same.err) == (2, True)
    hot = cli("prove", VERSION, "--rows", "new.jsonl", "--trust", "--temperature", 3)
    assert (hot.code, "temperature" in hot.err) == (2, True)
    few = [row for row in read_jsonl(Path("new.jsonl")) if row["group"] == rows[0]["group"]]
    write_jsonl(Path("few.jsonl"), few or read_jsonl(Path("new.jsonl"))[:3])
    done = cli("prove", VERSION, "--rows", "few.jsonl", "--trust")
    assert done.code == 1
    assert "below 7 nothing can be shown" in done.err
    cases = jurist.Gold.load("few.jsonl", jurist.judge("may_send.py:judge"), labelled=False).cases
    assert {one.openings for one in Openings().of(cases)} == {0}
    assert cli("prove", "may-send:basic", "--rows", "new.jsonl").code == 2
