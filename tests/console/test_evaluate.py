"""``jurist evaluate`` and ``jurist.evaluate``: one judge of any kind of answer, scored and explained."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small import claims, cli, ok, write_jsonl

import jurist

SCORES = '''
from typing import Literal

import dspy

import jurist


class Helpful(dspy.Signature):
    """Score how helpful a reply is, from 1 (not at all) to 5 (fully)."""

    question: str = dspy.InputField()
    reply: str = dspy.InputField()
    score: Literal[1, 2, 3, 4, 5] = dspy.OutputField()


judge = jurist.Judge(name="helpful", signature=Helpful)
'''


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def asking(server: Any) -> tuple[object, ...]:
    return ("--model", "openai/x", "--api-base", server.url, "--yes")


def evaluated(*argv: object) -> Any:
    done = ok("evaluate", *argv, "--json")
    return done.json


def test_the_numbers_fit_each_other(serve: Callable[..., Any]) -> None:
    found = evaluated("fect:basic", "--gold", "gold.jsonl", *asking(serve()))
    units = found["counts"]["units"]
    assert (found["cases"], units["answered"], found["left_out"]) == (42, 42, 0)
    right = sum(found["confusion"][label][label] for label in found["confusion"])
    assert sum(sum(judged.values()) for judged in found["confusion"].values()) == 42
    assert found["scores"]["accuracy"]["value"] == pytest.approx(right / 42)
    assert len(found["disagreements"]) == 42 - right > 0
    for one in found["classes"]:
        judged = {gold: row[one["label"]] for gold, row in found["confusion"].items()}
        assert one["gold"] == sum(found["confusion"][one["label"]].values())
        assert one["recall"]["value"] == pytest.approx(judged[one["label"]] / one["gold"])
        assert one["precision"]["value"] == pytest.approx(judged[one["label"]] / max(1, sum(judged.values())))
        assert one["f1"]["low"] <= one["f1"]["value"] <= one["f1"]["high"]


def test_python_and_the_command_take_one_path() -> None:
    found = jurist.evaluate("fect:basic", "gold.jsonl")
    shown = evaluated("fect:basic", "--gold", "gold.jsonl")
    assert json.loads(json.dumps(found.to_json())) == {key: shown[key] for key in shown if key != "forecast"}
    assert found["f1"].value == shown["scores"]["f1"]["value"]


def test_people_read_tables_and_the_worst_first(serve: Callable[..., Any]) -> None:
    model = asking(serve())
    done = ok("evaluate", "fect:basic", "--gold", "gold.jsonl", "--worst", 2, *model)
    assert done.out.startswith("fect:basic on gold: 42 cases\n")
    for said in ("each class against the rest", "what people said (rows)", "according to people", "accuracy"):
        assert said in done.out
    assert done.out.count("  difference: ") == 2
    assert "only 14 groups: intervals are wide" in done.lines, "nothing is compared: no word on differences"
    assert "difference" not in cli("evaluate", "fect:basic", "--gold", "gold.jsonl", "--worst", 0, *model).out


def test_what_is_not_answered_is_a_column_and_a_disagreement(serve: Callable[..., Any]) -> None:
    server = serve(faults=lambda index, body: "garbage" if index % 6 == 0 else None)
    found = evaluated("fect:basic", "--gold", "gold.jsonl", *asking(server), "--concurrency", 1)
    assert server.count == 42
    units = found["counts"]["units"]
    assert (units["abstained"], units["answered"]) == (7, 35)
    assert sum(row["no answer"] for row in found["confusion"].values()) == 7
    assert sum(one["status"] == "abstained" for one in found["disagreements"]) == 7
    f1 = found["scores"]["f1"]
    assert f1["worst"] < f1["best"]


def test_a_judge_of_scores_has_the_metrics_of_scores() -> None:
    Path("helpful.py").write_text(SCORES, encoding="utf-8")
    rows = [
        {
            "question": f"Where is order {n}?",
            "reply": f"Order {n} " + "is on its way. " * (n % 5),
            "score": 1 + n % 5,
        }
        for n in range(30)
    ]
    write_jsonl(Path("scores.jsonl"), rows)
    found = evaluated("helpful.py:judge:basic", "--gold", "scores.jsonl")
    assert {"mae", "quadratic_kappa"} <= set(found["scores"])
    assert found["classes"] == []
    assert sum(sum(judged.values()) for judged in found["confusion"].values()) == 30
    scores = [one["score"] for one in found["disagreements"]]
    assert scores == sorted(scores)
    ok("evaluate", "helpful.py:judge:basic", "--gold", "scores.jsonl")
