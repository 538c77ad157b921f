"""``jurist prove`` tests at three numbers of labels: when it ends, what it keeps, and what cannot be done twice."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from forked import Forked
from proving import VERSION, compiled_house_rule
from small import cli, ok, tree, write_jsonl

import jurist
from jurist.errors import GoldError, JuristError
from jurist.jobs.label_plan import LabelPlan, PlannedUnit
from jurist.keeping.artifacts import Store

STORE = Path("compiled")
PLAN = STORE / ".checkpoints" / "prove-may-send-1" / "plan.json"


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a version, and a plan of labels for it."""
    folder = tmp_path_factory.mktemp("planned")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        compiled_house_rule()
        ok("prove", VERSION, "--rows", "new.jsonl", "--trust")
    return folder


@pytest.fixture(autouse=True)
def plan(planned: Path, tmp_path: Path) -> LabelPlan:
    """The plan, in a folder of the test's own."""
    shutil.copytree(planned, tmp_path, dirs_exist_ok=True)
    plan = jurist.prove(VERSION, store=STORE, trust=True)
    assert [look.labels for look in plan.looks] == [15, 19]
    return plan


def won(unit: PlannedUnit) -> Any:
    """Return the label by which the version wins a unit."""
    return unit.compiled


def lost(unit: PlannedUnit) -> Any:
    """Return the label by which it loses one."""
    return unit.basic


Labelling = Callable[[PlannedUnit], Any]


def won_and_lost(wins: int, losses: int) -> list[Labelling]:
    """Return so many of both, by turns as long as there are some of both."""
    labellings: list[Labelling] = []
    for place in range(max(wins, losses)):
        if place < wins:
            labellings.append(won)
        if place < losses:
            labellings.append(lost)
    return labellings


def labelled(plan: LabelPlan, labellings: Sequence[Labelling], *, first: int = 0) -> list[dict[str, Any]]:
    """Return rows with the labels of units from the unit at place ``first`` on."""
    rows = {case.id: case.inputs for case in plan.gold(jurist.judge("may_send.py:judge")).cases}
    content: dict[tuple[str, str], Mapping[str, object]] = {}
    for row in plan.content:
        content[str(row["policy"]), str(row["reply"])] = row
    answers = []
    for unit, labelling in zip(plan.units[first:], labellings, strict=False):
        inputs = rows[unit.case]
        row = content[str(inputs["policy"]), str(inputs["reply"])]
        answers.append({**row, "verdict": labelling(unit)})
    return answers


def give(answers: Sequence[Mapping[str, Any]]) -> LabelPlan:
    return jurist.prove(VERSION, answers=list(answers), store=STORE, trust=True)


def test_a_win_at_the_first_look_ends_the_plan(plan: LabelPlan) -> None:
    decided = give(labelled(plan, [won] * 15))
    decision = decided.decision
    assert decision is not None
    assert (decision["verdict"], decision["labels"], decision["planned"]) == ("better", 15, 19)
    assert decision["p"] < decision["level"] < decision["level_of_all_looks"] == 0.025
    assert [result["labels"] for result in decision["results"]] == [15]
    assert decided.labels_missing == 0
    (kept,) = Store(STORE).load(VERSION).label_proofs
    assert (kept.labels, kept.planned) == (15, 19)
    shown = ok("artifacts", "show", VERSION, "--trust").out
    assert "of 15 labelled units (19 were planned) 15 won" in shown
    ok("artifacts", "verify", VERSION)


def test_a_look_that_shows_nothing_says_how_many_labels_the_next_one_takes(plan: LabelPlan) -> None:
    write_jsonl(Path("first.jsonl"), labelled(plan, won_and_lost(9, 6)))
    told = ok("prove", VERSION, "--answers", "first.jsonl", "--trust")
    assert "after 15 labels: 9 won, 6 lost, 0 tied, p = " in told.out
    assert "nothing is shown yet, and the next test takes 4 labels more" in told.out
    assert "label units 16 to 19 of the plan, in the order of the sheet, then run: jurist prove" in told.err
    assert not Store(STORE).load(VERSION).disagreements
    again = ok("prove", VERSION, "--trust")
    assert "after 15 labels: 9 won" in again.out
    data = ok("prove", VERSION, "--trust", "--json").json
    assert (data["decision"], data["labels_missing"]) == (None, 4)
    assert [result["labels"] for result in data["results"]] == [15]
    # the sheet has what is still to label, and its labels alone decide
    sheet = ok("prove", VERSION, "--sheet", "rest.csv", "--trust")
    assert "4 units written" in sheet.out
    decision = give(labelled(plan, [won] * 4, first=15)).decision
    assert decision is not None
    assert (decision["wins"], decision["losses"], decision["labels"]) == (13, 6, 19)
    assert [result["labels"] for result in decision["results"]] == [15, 19]


def test_a_look_is_taken_once(plan: LabelPlan) -> None:
    first = labelled(plan, won_and_lost(9, 6))
    give(first)
    kept = PLAN.read_bytes()
    assert give(first).result_words.startswith("after 15 labels: 9 won")
    relabelled = labelled(plan, [won] * 15)
    with pytest.raises(GoldError, match="label 2 of the plan of may-send@1 is another one than when"):
        give(relabelled)
    with pytest.raises(GoldError, match="is another one than when jurist tested the first 15 labels"):
        give(labelled(plan, [won] * 19))
    unsure = [{**row, "ambiguity": "other", "verdict": None} for row in first[:1]]
    with pytest.raises(GoldError, match="and is ambiguous"):
        give(unsure + first[1:])
    with pytest.raises(
        JuristError, match="17 of 19 planned units are labelled; nothing is decided before all are"
    ):
        give(labelled(plan, won_and_lost(9, 6) + [won] * 2))
    assert PLAN.read_bytes() == kept
    assert give(first + labelled(plan, [lost] * 4, first=15)).decision is not None


def test_labels_out_of_order_wait_for_those_before_them(plan: LabelPlan) -> None:
    kept = PLAN.read_bytes()
    with pytest.raises(
        JuristError, match="jurist tests when the first 15 are, and 1 of these have no label yet"
    ):
        give(labelled(plan, [won] * 18, first=1))
    assert PLAN.read_bytes() == kept


def test_labels_that_come_all_at_once_are_tested_once_at_the_last_level(plan: LabelPlan) -> None:
    decision = give(labelled(plan, won_and_lost(14, 5))).decision
    assert decision is not None
    assert [result["labels"] for result in decision["results"]] == [19]
    by_parts_level = decision["level"]
    assert by_parts_level <= 0.025
    assert (decision["verdict"] == "better") == (decision["p"] < by_parts_level)


def test_a_plan_of_an_earlier_jurist_is_tested_when_all_labels_are_in(plan: LabelPlan) -> None:
    old = json.loads(PLAN.read_text())
    for name in ("looks", "results", "labelled"):
        del old[name]
    PLAN.write_text(json.dumps(old))
    with pytest.raises(
        JuristError, match="15 of 19 planned units are labelled; nothing is decided before all are"
    ):
        give(labelled(plan, [won] * 15))
    decision = give(labelled(plan, [won] * 19)).decision
    assert decision is not None
    assert (decision["level"], decision["labels"], len(decision["results"])) == (0.025, 19, 1)


_KILLED = """
import os, signal
argv, number = argv[:-1], int(argv[-1])
writes = 0

def write_or_die(source, target, _replace=os.replace):
    global writes
    writes += 1
    if writes == number:
        os.kill(os.getpid(), signal.SIGKILL)
    _replace(source, target)

os.replace = write_or_die
from pathlib import Path
Path.replace = lambda self, target: (write_or_die(self, target), Path(target))[1]
raise SystemExit(main(argv))
"""


def files_of_store() -> dict[str, Any]:
    """Return the files of the store, without the time of a decision and the hash over it."""
    files: dict[str, Any] = {}
    for name, content in tree(STORE).items():
        if name.endswith((".part", "lock")) or Path(name).name.startswith(".disagreements"):
            continue  # a part of a file, which nothing reads
        files[name] = content
        if name.endswith(("plan.json", "disagreements.json")):
            data = json.loads(content)
            data.pop("sha256", None)
            for decision in [data.get("decision"), *data.get("measured", [])]:
                if decision:
                    del decision["decided"]
            files[name] = data
    return files


@pytest.mark.parametrize("wins", [9, 15])
def test_a_command_that_is_killed_at_any_write_takes_each_look_once(
    plan: LabelPlan, tmp_path: Path, wins: int
) -> None:
    """The files are those of a command that nobody killed, whatever was written at the kill."""
    write_jsonl(Path("labels.jsonl"), labelled(plan, won_and_lost(wins, 15 - wins)))
    shutil.copytree(STORE, "before")
    argv = ("prove", VERSION, "--answers", "labels.jsonl", "--trust")
    ok(*argv)
    whole = files_of_store()
    kills = 0
    for number in range(1, 9):
        shutil.rmtree(STORE)
        shutil.copytree("before", STORE)
        process = Forked(*argv, number, cwd=tmp_path, code=_KILLED)
        process.communicate(timeout=60)
        if process.returncode == 0:
            break
        assert process.returncode == -9, process.said
        kills += 1
        cli(*argv)  # an error where it was decided: the decision is completed all the same
        assert files_of_store() == whole
    assert kills >= 1
