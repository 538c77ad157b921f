"""Verdicts in a log as a judge: found by id or by inputs, in labels, probabilities and scores, at no call."""

import json
from pathlib import Path
from typing import Any

import pytest
from judges import PAIR
from small import claims, cli, ok, write_jsonl

import jurist
from jurist.errors import UsageError

ROWS = [
    {"id": f"r{number}", "question": f"What is thing {number}?", "answer": f"It is the {number}th thing of all.",
     "human": ("good", "Bad", "good", "bad ")[number % 4], "group": f"g{number // 2}"}
    for number in range(24)
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), ROWS)
    return tmp_path


def written(rows: list[dict[str, Any]], name: str = "log.jsonl") -> None:
    write_jsonl(Path(name), rows)


def right(row: dict[str, Any]) -> bool:
    return row["human"].strip().lower() == "good"


def evaluated(*options: str) -> Any:
    return ok("evaluate", "recorded:log.jsonl", "--gold", "gold.jsonl", "--json", *options).json


LOGS = {
    "by id, other case": lambda row: {"id": row["id"], "verdict": "GOOD" if right(row) else " bad"},
    "by inputs": lambda row: {
        "question": row["question"].upper(), "answer": row["answer"], "prediction": "good" if right(row) else "bad",
        "cost": 0.01,
    },
    "a probability of the positive label": lambda row: {"id": row["id"], "score": 0.2 if right(row) else 0.9},
    "a probability of each": lambda row: {
        "id": row["id"], "verdict": {"good": 0.7, "bad": 0.3} if right(row) else {"good": 0.1, "bad": 0.9}
    },
}  # fmt: skip


@pytest.mark.parametrize("log", LOGS)
def test_a_log_that_is_right_is_right_however_it_says_so(log: str) -> None:
    written([LOGS[log](row) for row in ROWS])
    found = evaluated()
    assert (found["scores"]["accuracy"]["value"], found["spend"]["calls"], found["cases"]) == (1.0, 0, 24)
    assert found["model"] == "recorded:log.jsonl"


def test_a_nested_log_is_its_own_gold() -> None:
    written([
        {"trace": {"session_id": row["group"]}, "input": {"documents": [{"text": row["question"]}]},
         "output": row["answer"], "feedback": {"expert": row["human"]}, "gpt_verdict": "good" if right(row) else "bad"}
        for row in ROWS
    ])  # fmt: skip
    log, names = "recorded:log.jsonl#gpt_verdict", ("--column", "feedback.expert=label")
    found = ok("evaluate", log, "--gold", "log.jsonl", *names, "--json").json
    assert (found["scores"]["accuracy"]["value"], found["spend"]["calls"]) == (1.0, 0)
    Path("p.md").write_text("Good or bad?\n\n{{document}}\n\n{{answer}}", "utf-8")
    columns = ("--column", "input.documents.0.text=document", "--column", "output=answer", *names)
    ok("new", "mine", "--from", "p.md", "--gold", "log.jsonl", *columns)
    both = ok("compare", "mine.py:judge:basic", log, "--gold", "log.jsonl", "--json").json
    assert both["judges"][1]["scores"]["accuracy"]["value"] == 1.0


def test_what_is_missing_or_unreadable_is_not_answered_and_is_said() -> None:
    rows = [{"id": row["id"], "verdict": "good" if right(row) else "bad"} for row in ROWS]
    rows[1]["verdict"], rows[2]["verdict"] = "perhaps", ""
    written([*rows[:20], {"id": "r5", "verdict": "good"}, {"id": "", "verdict": "good"}])
    write_jsonl(Path("gold.jsonl"), [*ROWS[:23], {**ROWS[23], "id": ""}])
    done = cli("evaluate", "recorded:log.jsonl", "--gold", "gold.jsonl", "--json")
    units = done.json["counts"]["units"]
    assert (units["answered"], units["abstained"], done.json["scores"]["accuracy"]["value"]) == (17, 7, 1.0)
    for said in (
        "the column 'verdict' of 21 rows, found by id",
        "4 labelled rows not in it, such as gold.jsonl:",
        "1 row of it without a label",
        "1 row with verdicts that contradict each other",
        "2 rows without a label of the gold, such as 'perhaps'",
    ):
        assert said in done.err


def test_a_column_of_the_gold_itself_and_several_in_one_comparison() -> None:
    rows = [{**row, "machine:a": row["human"], "machine:b": "good"} for row in ROWS]
    names = {"id": "Ticket #", "question": "Question (EN)", "answer": "Bot's answer"}
    rows = [{names.get(key, key): value for key, value in row.items()} for row in rows]
    write_jsonl(Path("gold.jsonl"), [*rows, {**dict.fromkeys(rows[0], ""), "Ticket #": "24"}])
    logs = [f"recorded:gold.jsonl#machine:{name}" for name in "ab"]
    found = ok("compare", *logs, "--gold", "gold.jsonl", "--json").json
    assert [one["scores"]["balanced_accuracy"]["value"] for one in found["judges"]] == [1.0, 0.5]
    assert [one["judge"] for one in found["judges"]] == logs
    assert found["tests"][0]["verdict"] == "better"


def test_beside_a_judge_the_labels_are_the_judges_and_a_threshold_decides(folder: Path) -> None:
    gold = [json.loads(line) for line in Path(jurist.__file__).with_name("datasets").joinpath(
        "support-desk", "gold.jsonl").read_text().splitlines()[:60]]  # fmt: skip
    write_jsonl(Path("desk.jsonl"), gold)
    written([{"policy": one["policy"], "reply": one["reply"], "p": 0.6 if one["verdict"] == "hold" else 0.4}
             for one in gold])  # fmt: skip
    judge = str(Path(jurist.__file__).with_name("docs") / "may_send.py") + ":judge:basic"
    command = ("compare", judge, "recorded:log.jsonl#p", "--gold", "desk.jsonl", "--json")
    live, log = ok(*command).json["judges"]
    assert (log["scores"]["f1"]["value"], log["spend"]["calls"], live["spend"]["calls"]) == (1.0, 0, 60)
    low = ok(*command, "--threshold", "0.3").json["judges"][1]
    assert (low["scores"]["recall"]["value"], low["scores"]["precision"]["value"] < 0.6) == (1.0, True)
    gate = ("gate", "recorded:log.jsonl#p", "--gold", "desk.jsonl", "--min", "f1=0.9")
    assert (cli(*gate).code, cli(*gate[:-1], "f1=1", "--threshold", "0.7").code) == (0, 3)


SCALES = {
    "a score": (lambda n: n % 5 + 1, "quadratic_kappa"),
    "yes and no": (lambda n: "Yes" if n % 3 else "no", "f1"),
    "people who are unsure": (lambda n: ("unsure", "Y", "no")[n % 3], "f1"),
    "a preference": (lambda n: ("first", "second", "tie")[n % 3], "macro_f1"),
}


@pytest.mark.parametrize("scale", SCALES)
def test_what_the_labels_are_is_read_from_them(scale: str) -> None:
    value, metric = SCALES[scale]
    write_jsonl(Path("gold.jsonl"), [{**row, "human": value(n)} for n, row in enumerate(ROWS)])
    written([{"id": row["id"], "judged": value(n)} for n, row in enumerate(ROWS)])
    assert evaluated()["scores"][metric]["value"] == 1.0


@pytest.mark.parametrize("name", ["log.jsonl", "log.csv"])
def test_what_a_run_wrote_is_a_log(folder: Path, name: str) -> None:
    write_jsonl(Path("claims.jsonl"), claims())
    ok("run", "fect:basic", "--input", "claims.jsonl", "--output", name)
    live = ok("evaluate", "fect:basic", "--gold", "claims.jsonl", "--json").json
    both = ok("compare", "fect:basic", f"recorded:{name}", "--gold", "claims.jsonl", "--json").json
    alone = ok("evaluate", f"recorded:{name}", "--gold", "claims.jsonl", "--json").json
    for one in (both["judges"][1], alone):  # the log says whose it is
        assert one["scores"]["f1"]["value"] == live["scores"]["f1"]["value"]


def test_python_takes_tables() -> None:
    written([{"id": row["id"], "verdict": "good" if right(row) else "bad"} for row in ROWS])
    with pytest.warns(UserWarning, match="found by id"):
        assert jurist.evaluate("recorded:log.jsonl", ROWS)["accuracy"].value == 1.0


def test_what_a_judge_of_today_said_stands_beside_the_compiled_one() -> None:
    # labels that the basic prompt gets wrong, so that something better is found and proven
    write_jsonl(Path("claims.jsonl"), [{**row, "factual": not row["factual"]} for row in claims()])
    gold = [json.loads(line) for line in Path("claims.jsonl").read_text("utf-8").splitlines()]
    texts = ("conversation", "claim")
    written([{**{name: row[name] for name in texts}, "verdict": row["factual"]} for row in gold])
    done = ok("compile", "fect", "--gold", "claims.jsonl", "--beside", "recorded:log.jsonl", "--max-calls", "400",
              "--anyway", "--json")  # fmt: skip
    card = done.json
    assert card["references"]["recorded:log.jsonl"]["score"] == 1.0
    level = "compiled is not told apart from recorded:log.jsonl: f1 1.000 and 1.000"
    assert any(level in warning for warning in card["warnings"])
    ok("report", "fect@1", "--output", "r.html")
    assert "recorded:log.jsonl: verdicts given before" in Path("r.html").read_text("utf-8")


WRONG = {
    "evaluate recorded:log.jsonl --gold gold.jsonl": "it has id, a, b; say which one it is: recorded:log.jsonl#",
    "evaluate recorded:log.jsonl#c --gold gold.jsonl": "no row has the column 'c'",
    "evaluate recorded:log.jsonl#a --gold other.jsonl": "none of the 2 labelled rows is in the log by id",
    "evaluate recorded: --gold gold.jsonl": "recorded: names no file",
    "evaluate recorded:gone.csv --gold gold.jsonl": "gone.csv",
    "run recorded:log.jsonl#a --input gold.jsonl --output out.jsonl": "they judge no new rows",
    "compile recorded:log.jsonl#a --gold gold.jsonl": "recorded:log.jsonl#a",
    "compile fect --gold fect-mini --beside fect:basic": "fect:basic is no log of verdicts",
}


@pytest.mark.parametrize("command", WRONG)
def test_what_cannot_be_held_against_gold_is_one_line(command: str) -> None:
    written([{"id": f"r{n}", "a": "good", "b": "bad"} for n in range(3)])
    write_jsonl(
        Path("other.jsonl"), [{"id": f"x{n}", "q": f"row number {n}", "label": "bg"[n]} for n in range(2)]
    )
    done = cli(*command.split())
    assert done.code in (1, 2), done.err
    assert WRONG[command] in done.lines[-1]
    assert "Traceback" not in done.err


def test_a_pair_that_was_judged_in_both_orders_is_one_verdict() -> None:
    """Exchanged rows are found by their texts; verdicts that contradict each other are a tie, or none."""
    pairs = [{"first": f"answer number {n}", "second": f"reply no. {n}", "better": ("first", "second", "tie")[n % 3]}
             for n in range(12)]  # fmt: skip
    write_jsonl(Path("pairs.jsonl"), pairs)
    other = {"first": "second", "second": "first", "tie": "tie"}
    right = [{**row, "verdict": row["better"]} for row in pairs]
    turned = [
        {"first": row["second"], "second": row["first"], "verdict": other[row["better"]]} for row in pairs
    ]
    biased = [{**row, "verdict": "first"} for row in turned]
    for rows, accuracy in ((right + turned, 1.0), (turned, 1.0), (right + biased, 8 / 12)):
        written([{key: value for key, value in row.items() if key != "better"} for row in rows])
        found = jurist.compare([jurist.load(PAIR, version="basic"), "recorded:log.jsonl"], "pairs.jsonl")
        assert found.contenders[1].scores["accuracy"].value == pytest.approx(accuracy)


def test_a_log_is_loaded_as_no_judge() -> None:
    with pytest.raises(UsageError, match="they judge no new rows") as refused:
        jurist.load("recorded:log.jsonl")
    assert refused.value.hint.endswith('jurist.evaluate("recorded:log.jsonl", gold="labels.csv")')
