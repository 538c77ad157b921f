"""Experiments against a server: budgets, kills and resumption, questions, models x variants, output."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small import claims, cli, ok, write_jsonl

import jurist
from jurist.errors import UsageError

CASES, REPEATS = 21, 3
WHOLE = 2 * CASES * REPEATS
IN_FLIGHT = 4


@pytest.fixture(autouse=True)
def _folder(no_waiting: None) -> None:
    write_jsonl(Path("gold.jsonl"), claims(7))


def argv(server: Any, *more: object) -> tuple[object, ...]:
    named = ("--model", "openai/x", "--model", "openai/y", "--api-base", server.url)
    common = ("--gold", "gold.jsonl", "--repeats", REPEATS, "--concurrency", IN_FLIGHT)
    return ("compare", "fect:basic", *common, *named, *more)


def results(found: dict[str, Any]) -> list[Any]:
    keys = ("name", "scores", "counts", "repeats", "consistency")
    return [[{key: judge[key] for key in keys} for judge in found["judges"]], found["tests"]]


def test_models_times_repeats_at_a_temperature_at_which_draws_differ(serve: Callable[..., Any]) -> None:
    server = serve()
    done = ok(*argv(server, "--json"))
    assert server.count == WHOLE
    assert {hit.body["temperature"] for hit in server.hits} == {0.7}
    assert Counter(hit.body["model"] for hit in server.hits) == {"x": WHOLE // 2, "y": WHOLE // 2}
    assert [judge["name"] for judge in done.json["judges"]] == [
        "fect:basic / openai/x",
        "fect:basic / openai/y",
    ]
    assert done.json["forecast"]["calls"] == [WHOLE, WHOLE]
    assert done.json["forecast"]["unpriced"] == ["openai/x", "openai/y"]
    assert f"{WHOLE} calls" in done.lines[0]
    assert f"spent: {WHOLE} calls, {110 * WHOLE:,} tokens" in done.people
    left = sorted(path.name for path in Path("compiled").rglob("*") if path.is_file())
    assert left == [".gitignore", "answers.sqlite"]  # its checkpoint is gone


def test_a_result_that_cannot_be_written_any_more_is_not_paid_again(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    Path("file").write_text("")
    # it still could at the start
    monkeypatch.setattr("jurist.console.inputs.check_files", lambda *paths: None)
    failed = cli(*argv(server, "--output", "file/result.json"))
    assert (failed.code, server.count) == (2, WHOLE)
    done = ok(*argv(server, "--resume", "--output", "results/result.json", "--json"))
    assert server.count == WHOLE
    assert json.loads(Path("results/result.json").read_text()) == done.json


def test_what_is_not_answered_is_counted_and_bounded(serve: Callable[..., Any]) -> None:
    # One conversation of seven, whatever the order in which requests arrive: which answers are lost moves the bounds.
    server = serve(faults=lambda index, body: "garbage" if "this is desk 12" in str(body) else None)
    done = ok(*argv(server, "--verbose", "--json"))
    for judge in done.json["judges"]:
        units, f1 = judge["counts"]["units"], judge["scores"]["f1"]
        assert units["answered"] + units["abstained"] == CASES * REPEATS
        assert units["abstained"] == CASES * REPEATS / 7
        assert f1["worst"] < f1["value"] < f1["best"]
        assert judge["consistency"]["unanimous"] < 1.0  # what abstained agrees with nothing
    assert "if all were answered" in done.people


def test_from_python_a_gold_set_and_versions_can_be_given(serve: Callable[..., Any]) -> None:
    gold = jurist.Gold.load("gold.jsonl", jurist.judge("fect"))
    compiled = jurist.compile(
        "fect",
        gold=gold,
        optimizer="fewshot",
        options={"sample": 8},
        seed=1,
        shares=(0.4, 0.3, 0.3),
        adapter="json",
        anyway=True,
    )
    card = compiled.artifact.card
    assert (card["adapter"], card["gold"]["shares"]) == ("json", [0.4, 0.3, 0.3])
    found = jurist.compare(["fect:basic", "fect@1"], gold=gold)
    assert (found.left_out, found.cases + found.left_out) == (len(card["gold"]["seen"]), CASES)
    assert len(found.tests) == 1
    with pytest.raises(UsageError, match="have different labels"):
        jurist.compare(["fect:basic", "cognibench:basic"], gold=gold)


SAMPLED: dict[tuple[int, ...], list[str]] = {
    (1, 3): ["fect:basic, 1 sample", "fect:basic, 3 samples"],
    (3, 3): ["fect:basic", "fect:basic (2)"],
    (1, 3, 3): ["fect:basic, 1 sample", "fect:basic, 3 samples", "fect:basic, 3 samples (2)"],
}


@pytest.mark.parametrize("samples", SAMPLED)
def test_one_judge_with_several_numbers_of_samples_is_told_apart_by_them(samples: tuple[int, ...]) -> None:
    judges = [jurist.load("fect:basic", samples=number) for number in samples]
    compared = jurist.compare(judges, claims(8, 2))
    assert [contender.name for contender in compared.contenders] == SAMPLED[samples]
