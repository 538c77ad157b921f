"""Reasons: who is shown them, what rules are made of them, and what the quick way takes."""

import csv
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from judges import CHECK, ROWS
from loopback import Loopback
from small import cli, ok, read_jsonl, write_jsonl
from tickets import chat, most_like, rows, settled_in

import jurist
from jurist.gold.goldset import Gold, convert_gold
from jurist.gold.mapping import RowMapping
from jurist.jobs.derived_versions import forget
from jurist.jobs.renewing import remember_cases
from jurist.programs.catalogue import find
from jurist.programs.state import PromptState


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settled_in(tmp_path, monkeypatch)
    reasoned = [{**row, "reason": f"because{number}x"} for number, row in enumerate(rows())]
    write_jsonl(Path("gold.jsonl"), reasoned)
    return tmp_path


def taught(messages: list[dict[str, Any]]) -> str:
    """Judge as ``most_like`` does; write the rules that are asked for, one of them of no case."""
    if "`rules`" in str(messages[0]["content"]):
        text = (
            "1. Tickets that name a place go to red. [cases 1, 3]\n- Anything else: blue (cases 2)\nNo cases."
        )
        return f"[[ ## rules ## ]]\n{text}\n[case 99] too [cases 99]\n\n[[ ## completed ## ]]"
    return most_like(messages)


def told(text: str) -> set[str]:
    return set(re.findall(r"because\d+x", text))


def reasons_by_part() -> dict[str, set[str]]:
    split = Gold.load("gold.jsonl", find("route.py:judge")).split(0)
    every = {row["ticket"]: row["reason"] for row in read_jsonl(Path("gold.jsonl"))}
    return {
        part: {every[case.inputs["ticket"]] for case in split.part(part)} for part in ("train", "dev", "test")
    }


@pytest.mark.parametrize("optimizer", ["opro", "gepa", "race", "teach"])
def test_proposers_see_reasons_of_train_and_never_another(project: Path, optimizer: str) -> None:
    with Loopback(taught) as server:
        ok("compile", "route.py:judge", "--gold", "gold.jsonl", "--optimizer", optimizer, *chat(server.url),
           "--max-calls", "600")  # fmt: skip
        seen = told("".join(json.dumps(hit.body) for hit in server.hits))
        judging = [hit for hit in server.hits if "`desk`" in json.dumps(hit.body["messages"][0])]
    parts = reasons_by_part()
    assert seen
    assert seen <= parts["train"]
    assert not told(json.dumps([hit.body for hit in judging]))  # a judge is shown rules, and no reasons


@pytest.mark.parametrize("reasons", [True, False])
def test_teaching_takes_two_passes_and_a_proposal_for_twenty_labels(project: Path, reasons: bool) -> None:
    if not reasons:
        write_jsonl(Path("gold.jsonl"), rows())
    with Loopback(taught) as server:
        done = ok("compile", "route.py:judge", "--gold", "gold.jsonl", "--optimizer", "teach", *chat(server.url),
                  "--json", "--yes", "--no-words")  # fmt: skip
        asked = [json.dumps(hit.body["messages"]) for hit in server.hits]
    split = Gold.load("gold.jsonl", find("route.py:judge")).split(0)
    proposals = [text for text in asked if "current_instruction" in text]
    assert 1 <= len(proposals) <= -(-len(split.train) // 20)
    looked = 0 if reasons else 20  # train cases, to find errors
    assert len(asked) - len(proposals) == 2 * len(split.dev) + 2 * len(split.test) + looked
    card = jurist.Store().load("route").card
    assert done.json["decision"]["verdict"] == "better"
    first, second = card["guidelines"]
    assert first["rule"] == "Tickets that name a place go to red."
    assert set(first["cases"]) | set(second["cases"]) <= {case.id for case in split.train}
    assert len(first["cases"]) == 2 * len(second["cases"])
    (prompt,) = jurist.Store().load("route").state.predictors.values()
    assert prompt.instructions.endswith(f"1. {first['rule']}\n2. {second['rule']}")
    assert prompt.remembered is not None


def test_a_forgotten_row_leaves_no_trace(project: Path) -> None:
    with Loopback(taught) as server:
        asked = shlex.split("compile route.py:judge --gold gold.jsonl --optimizer teach --yes --no-words")
        assert "or: the same without --optimizer teach: a search, " in ok(*asked, *chat(server.url)).out
        first = jurist.Store().load("route")
        row = first.card["guidelines"][0]["cases"][0]
        done = ok("artifacts", "forget", "route@1", row, "--json")
        made = jurist.Store().load(done.json["artifact"])
        files = b"".join(path.read_bytes() for path in made.path.iterdir()).decode()
        ticket = first.state.predictors["self"].remembered.rows[row]["ticket"]  # type: ignore[union-attr]
        assert row not in files
        assert ticket not in files
        assert [one["rule"] for one in made.card["guidelines"]] == ["Anything else: blue"][
            : len(made.card["guidelines"])
        ]
        assert "Tickets that name a place" not in files
        ok("artifacts", "verify", made.ref)
        ok("artifacts", "show", made.ref)
        write_jsonl(Path("new.jsonl"), [{"ticket": ticket}])
        ok("run", made.ref, "--input", "new.jsonl", "--output", "o.jsonl", *chat(server.url))
    refused = cli("artifacts", "forget", "route@1", "0123456789abcdef")
    assert (refused.code, "was not compiled on" in refused.err) == (1, True)


def test_a_row_is_forgotten_in_every_step_that_shows_something_of_it() -> None:
    judge, store = find("constraint-score"), jurist.Store()
    inputs = [{"query": f"the query {n}", "response": f"the response {n}"} for n in (0, 1, 12)]
    shown = tuple({"query": f"{one['query']}, and more", "constraints": "c"} for one in inputs[:2])
    state = PromptState.of(judge.basic()).with_demos("map", shown)
    seen = [jurist.Case(inputs=one).id for one in inputs]
    card = {"judge_ref": judge.name, "optimizer": {}, "gold": {"name": "g", "seen": seen}}
    store.save(judge, state.with_demos("satisfaction.judge", tuple(inputs)), card, [], make_latest=True)
    made = forget("constraint-score@1", seen[1:2], store).state.predictors
    assert made["map"].demos == shown[:1]
    assert made["satisfaction.judge"].demos == (inputs[0], inputs[2])


def test_a_demonstration_takes_the_label_that_people_give_later() -> None:
    first, second = (CHECK.case(row) for row in ROWS[:2])
    reasoned = {**CHECK.demo(second), "reasoning": "so"}
    state = PromptState.of(CHECK.basic()).with_demos("self", (CHECK.demo(first), reasoned))
    plan: Any = SimpleNamespace(judge=CHECK, candidate=SimpleNamespace(state=state))
    (prompt,) = remember_cases(plan, [replace(first, gold=("send",)), second]).predictors.values()
    assert prompt.demos == ({**CHECK.demo(first), "verdict": "send"}, reasoned)


# -- how gold says why -------------------------------------------------------------------------------------

WHY = {"anna": "it is hers", "ben": "no place"}
TOLD = "anna: it is hers\nben: no place"
TICKET = {"ticket": "my lamp", "desk": "red"}


@pytest.mark.parametrize(
    ("given", "columns", "reason"),
    [
        ([{**TICKET, "reason": "it is hers"}], {}, "it is hers"),
        ([{**TICKET, "why": " it is hers\n"}], {"why": "reason"}, "it is hers"),
        ([{**TICKET, "reason": WHY}], {}, TOLD),
        ([{**TICKET, "reason:anna": WHY["anna"], "reason:ben": WHY["ben"]}], {}, TOLD),
        ([{**TICKET, "a": WHY["anna"]}], {"a": "reason:anna"}, "anna: it is hers"),
        ([{**TICKET, "rater": who, "reason": why} for who, why in WHY.items()], {}, TOLD),
        ([{**TICKET, "reason": "one"}, {**TICKET, "reason": "two"}], {}, "one\ntwo"),
        ([{**TICKET, "reason": None}, TICKET], {}, ""),
    ],
)
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_row_says_why_in_any_column_and_of_each_rater(
    project: Path, given: list[dict[str, Any]], columns: dict[str, str], reason: str, suffix: str
) -> None:
    judge, file = find("route.py:judge"), Path(f"why.{suffix}")
    every = [*given, {"ticket": "their lamp", "desk": "blue"}]
    if suffix == "jsonl":
        write_jsonl(file, every)
    else:
        cells = [
            {key: json.dumps(value) if isinstance(value, dict) else value for key, value in row.items()}
            for row in every
        ]
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, list(dict.fromkeys(key for row in cells for key in row)))
            writer.writeheader()
            writer.writerows(cells)
    gold = convert_gold(file, judge, "again.jsonl", mapping=RowMapping(columns=columns), merge="majority")
    assert [case.reason for case in gold.cases] == [reason, ""]
    assert [case.reason for case in Gold.load("again.jsonl", judge).cases] == [reason, ""]
