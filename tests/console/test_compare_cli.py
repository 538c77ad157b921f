"""``jurist compare``: the same rows for all, none that a judge was compiled on, and a test for each pair."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from judges import changed
from loopback import field_of
from small import FAST, Done, claims, cli, ok, write_jsonl

from jurist.gold.goldset import Gold
from jurist.gold.sources import read
from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def test_rows_that_a_judge_was_compiled_on_are_left_out() -> None:
    ok("compile", "fect", "--gold", "gold.jsonl", *FAST, "--force")
    done = ok("compare", "fect", "fect:basic", "--gold", "gold.jsonl", "--json")
    test = Gold.load("gold.jsonl", FECT).split(0).test
    found = done.json
    assert (found["cases"], found["left_out"]) == (len(test), 42 - len(test))
    assert [one["name"] for one in found["judges"]] == ["fect@1", "fect:basic"]
    assert f"{42 - len(test)} left out because a judge was compiled on them" in done.people
    fresh = [row for row in claims(20) if row["group"] not in {r["group"] for r in claims()}]
    write_jsonl(Path("fresh.jsonl"), fresh)
    assert cli("compare", "fect", "fect:basic", "--gold", "fresh.jsonl", "--json").json["left_out"] == 0
    seen = [row for row in claims() if row["claim"] not in {case.inputs["claim"] for case in test}]
    write_jsonl(Path("seen.jsonl"), seen)
    refused = cli("compare", "fect", "fect:basic", "--gold", "seen.jsonl")
    assert refused.code == 1
    assert refused.lines[-1].startswith(f"error: all {len(seen)} rows of seen were used to compile")


def test_the_scores_on_the_sealed_rows_are_those_of_the_card() -> None:
    write_jsonl(Path("gold.jsonl"), claims(20, 4))
    card = cli("compile", "fect", "--gold", "gold.jsonl", *FAST, "--force", "--json").json
    found = cli("compare", "fect", "fect:basic", "--gold", "gold.jsonl", "--json").json
    for judge, side in zip(found["judges"], ("compiled", "basic"), strict=True):
        assert {name: score["value"] for name, score in judge["scores"].items()} == {
            name: score["value"] for name, score in card["scores"][side].items()
        }


def test_the_next_command_compares_the_same_in_detail() -> None:
    Path("kept").mkdir()
    command = ["compare", "fect-3d:basic", "fect:basic", "--gold", "gold.jsonl", "--model", "offline"]
    command += ["--repeats", "2", "--store", "kept"]
    (line,) = [line for line in ok(*command).out.splitlines() if line.startswith("next: ")]
    following = shlex.split(line.removeprefix("next: ").partition(" (")[0])
    assert following == ["jurist", *command, "--verbose"]
    assert "Holm" in ok(*following[1:]).out


def test_a_judge_against_itself_shows_nothing() -> None:
    done = cli("compare", "fect:basic", "fect:basic", "--gold", "gold.jsonl", "--json")
    first, second = done.json["judges"]
    assert [first["name"], second["name"]] == ["fect:basic", "fect:basic (2)"]
    (test,) = done.json["tests"]
    assert (test["p"], test["mcnemar"]["b"], test["mcnemar"]["c"], test["p_holm"]) == (1.0, 0, 0, 1.0)
    assert test["verdict"] == "not shown to differ"
    assert first["scores"] == second["scores"]


def _truth(claim: str) -> bool:
    return "reports" in claim or "promises" in claim


def _server(serve: Callable[..., Any]) -> Any:
    """A server that is right under the instruction "Exact.", and says True to everything else."""

    def answers(messages: list[dict[str, Any]]) -> str:
        claim = field_of(str(messages[-1]["content"]), "claim")
        right = _truth(claim) or "Exact." not in str(messages[0]["content"])
        return f"[[ ## factual ## ]]\n{right}\n\n[[ ## completed ## ]]"

    return serve(answers)


def _compared(server: Any, *more: str) -> Done:
    store = Store("compiled")
    for text in ("Exact.", "Other."):
        store.save(FECT, changed(FECT, text), {}, [], make_latest=False)
    model = ("--model", "openai/x", "--api-base", server.url)
    return ok("compare", "fect@1", "fect:basic", "fect@2", "--gold", "gold.jsonl", *more, *model, "--json")


def test_a_better_judge_is_said_to_be_better_and_holm_corrects(serve: Callable[..., Any]) -> None:
    server = _server(serve)
    done = _compared(server, "--repeats", "2")
    exact, basic, other = done.json["judges"]
    assert exact["scores"]["accuracy"]["value"] == 1.0
    assert exact["repeats"]["f1"] == {"values": [1.0, 1.0], "mean": 1.0, "sd": 0.0, "low": 1.0, "high": 1.0}
    assert basic["repeats"]["recall"]["values"] == [0.0, 0.0]
    for one in (basic, other):
        assert one["consistency"]["agreement"] == one["consistency"]["unanimous"] == 1.0
        assert one["spend"]["calls"] == 2 * 42
    assert [test["second"] for test in done.json["tests"]] == ["fect:basic", "fect@2"]
    for test in done.json["tests"]:
        assert (test["verdict"], test["test"], test["mcnemar"]) == (
            "better",
            "the two-sided t-test over groups, with a pair of units added in each class",
            None,
        )
        t = test["clustered_t"]
        assert t["p"] == test["p"] < 0.001  # 14 groups differ, all in one direction
        assert t["degrees"] == pytest.approx(13, abs=1)
        assert test["p_holm"] == pytest.approx(2 * test["p"])
    assert server.count == 3 * 2 * 42
    assert "fect@1 against fect:basic: better" in done.people
    assert "over 2 repeats" in done.people
    for metric in ("f1", "precision", "recall"):
        assert f"{metric} (mean ± sd over 2 repeats)" in done.people


def test_scores_are_compared_by_their_deviation() -> None:
    write_jsonl(Path("scored.jsonl"), [row for _, row in read("faithqa-mini").rows[:3]])
    asked = ("compare", "constraint-score:basic", "intent-baseline:basic", "--gold", "scored.jsonl")
    done = ok(*asked, "--verbose")
    for name in ("mse;", "mean_deviation;", "within_one;"):
        assert name in done.out
    assert done.out.count("spent: ") == done.out.count("engine: ") == 1
