"""A finished job that is started again: its answers are used, unless who is asked, or what, has changed."""

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import answer
from quiz import QUIZ, documents
from quiz import answer as quizzing
from small import FAST, Done, claims, cli, ok, write_jsonl
from talks import conversing

import jurist
from jurist.errors import StoppedError
from jurist.keeping.artifacts import Store

ANSWERS = Path("compiled/.checkpoints/answers.sqlite")
ROWS = claims(8)
GOLD = ("--gold", "gold.jsonl")
CHANGING = {"spend", "forecast", "spent"}


def plain(data: Any) -> Any:
    """Return a result without what it cost."""
    if isinstance(data, dict):
        return {name: plain(value) for name, value in data.items() if name not in CHANGING}
    return [plain(one) for one in data] if isinstance(data, list) else data


def responses(name: str, count: int) -> list[dict[str, Any]]:
    """Return labelled responses about mills."""
    return [
        {
            "group": f"{name}{n}",
            "reference": f"The {name} mill number {n} was built in {1800 + n} and has two wheels.",
            "question": f"What of mill {n}?",
            "sentences": [f"It was built in {1800 + n}.", "It has nine wheels."],
            "labels": ["faithful", "invented"],
        }
        for n in range(count)
    ]


@pytest.fixture(autouse=True)
def _rows(no_waiting: None, fake_key: str) -> None:
    write_jsonl(Path("gold.jsonl"), ROWS)
    write_jsonl(Path("known.jsonl"), responses("known", 8))
    write_jsonl(Path("prompts.jsonl"), responses("new", 5))


@pytest.fixture
def server(serve: Callable[..., Any]) -> Any:
    """Return a server whose verdict on a claim is another one each time, so that a new answer would be seen."""
    said = iter("ynnynyyynnnnyynyyyyynnynyny" * 100)

    def changing(messages: list[dict[str, Any]]) -> str:
        return f"[[ ## factual ## ]]\n{next(said) == 'y'}\n\n[[ ## completed ## ]]"

    return serve(changing)


def asked(server: Any, *argv: object) -> tuple[Done, int]:
    """Return how a command ends, and how many requests it sends."""
    before = server.count
    done = ok(*argv, "--api-base", server.url, "--concurrency", 1, "--yes")
    return done, server.count - before


EVALUATE = ("evaluate", "fect:basic", *GOLD, "--model", "openai/x")
SAME = {
    "evaluate": EVALUATE,
    "several samples": (*EVALUATE, "--samples", 3),
    "compare models": ("compare", "fect:basic", *GOLD, "--model", "openai/x", "--model", "openai/y"),
    "repeats": ("compare", "fect:basic", *GOLD, "--model", "openai/x", "--repeats", 3),
    "one judge twice": (
        *("compare", "fect:basic", "fect:basic", *GOLD, "--model", "openai/x"),
        *("--temperature", 1),
    ),
    "harden": ("evaluate", "harden", "fect:basic", *GOLD, "--model", "openai/x", "--only", "role"),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_command_has_the_same_result_and_pays_nothing(name: str, server: Any) -> None:
    first, paid = asked(server, *SAME[name], "--json")
    again, paid_again = asked(server, *SAME[name], "--json")
    assert paid > 0
    assert paid_again == 0
    assert plain(again.json) == plain(first.json)
    assert re.search(
        rf"^forecast: .*: {paid} calls, 0 paid: answers of 20\S+ \S+ UTC are used again; --fresh asks",
        again.err,
    )
    people, _ = asked(server, *SAME[name])
    assert f"{paid} calls, 0 paid: answers of 20" in people.out


def test_an_assessment_is_used_again(serve: Callable[..., Any]) -> None:
    server = serve(conversing)
    argv = ("assess", "openai/x", "--benchmark", "prompts.jsonl", "--calibration", "known.jsonl")
    argv = (*argv, "--judge", "cognibench:basic", "--judge-model", "openai/y", "--samples", 2)
    argv = (*argv, "--judge-api-base", server.url)
    first, paid = asked(server, *argv, "--json")
    again, paid_again = asked(server, *argv, "--json")
    assert (paid > 0, paid_again) == (True, 0)
    assert plain(again.json) == plain(first.json)


def test_a_table_of_detectors_is_used_again(serve: Callable[..., Any]) -> None:
    server = serve(answer)
    argv = ("table", "cognibench-3", "--gold", "cognibench-mini", "--detector", "cognibench:basic")
    argv = (*argv, "--model", "openai/x", "--json")
    first, paid = asked(server, *argv)
    again, paid_again = asked(server, *argv)
    assert (paid > 0, paid_again) == (True, 0)
    assert plain(again.json) == plain(first.json)


CHANGED_PROMPT = """
from dataclasses import replace
from jurist.programs.fect import FECT

judge = replace(FECT, signature=FECT.signature.with_instructions("Is the claim true of the conversation?"))
"""
OTHER: dict[str, tuple[tuple[object, ...], int]] = {
    "another model": (("evaluate", "fect:basic", *GOLD, "--model", "openai/y"), len(ROWS)),
    "another prompt": (("evaluate", "own.py:judge:basic", *GOLD, "--model", "openai/x"), len(ROWS)),
    "another judge": (("evaluate", "fect-3d:basic", *GOLD, "--model", "openai/x"), len(ROWS)),
    "another temperature": ((*EVALUATE, "--temperature", 0.7), len(ROWS)),
    "another limit": ((*EVALUATE, "--max-tokens", 77), len(ROWS)),
    "another seed": ((*EVALUATE, "--seed", 5), len(ROWS)),
    "fresh answers": ((*EVALUATE, "--fresh"), len(ROWS)),
    "a gate": (("gate", "fect:basic", *GOLD, "--model", "openai/x", "--min", "f1=0.01"), len(ROWS)),
    "two changed rows": (("evaluate", "fect:basic", "--gold", "changed.jsonl", "--model", "openai/x"), 2),
    "a changed label": (("evaluate", "fect:basic", "--gold", "relabelled.jsonl", "--model", "openai/x"), 0),
    "fewer rows": (("evaluate", "fect:basic", "--gold", "fewer.jsonl", "--model", "openai/x"), 0),
    "a limit on calls": ((*EVALUATE, "--max-calls", 1), 0),
}


@pytest.mark.parametrize("change", OTHER)
def test_what_another_command_pays(change: str, server: Any) -> None:
    Path("own.py").write_text(CHANGED_PROMPT, encoding="utf-8")
    changed = [{**row, "claim": f"{row['claim']} Really."} for row in ROWS[:2]]
    write_jsonl(Path("changed.jsonl"), [*changed, *ROWS[2:]])
    write_jsonl(Path("relabelled.jsonl"), [{**ROWS[0], "factual": not ROWS[0]["factual"]}, *ROWS[1:]])
    write_jsonl(Path("fewer.jsonl"), ROWS[3:])
    assert asked(server, *EVALUATE)[1] == len(ROWS)
    argv, expected = OTHER[change]
    before = server.count
    done = cli(*argv, "--api-base", server.url, "--yes")
    assert done.code in (0, 3), done.err
    assert server.count - before == expected
    assert (f"{len(ROWS) - expected} more not paid: answers of 20" in done.out) == (0 < expected < len(ROWS))
    assert asked(server, *argv)[1] == (expected if argv[0] == "gate" or "--fresh" in argv else 0)


def test_another_address_is_paid(server: Any, serve: Callable[..., Any]) -> None:
    elsewhere = serve(answer)
    assert asked(server, *EVALUATE)[1] == asked(elsewhere, *EVALUATE)[1] == len(ROWS)


def test_fresh_answers_take_the_place_of_those_before(server: Any) -> None:
    first, _ = asked(server, *EVALUATE, "--json")
    fresh, _ = asked(server, *EVALUATE, "--fresh", "--json")
    again, paid = asked(server, *EVALUATE, "--json")
    assert paid == 0
    assert plain(again.json) == plain(fresh.json) != plain(first.json)


def test_a_fresh_run_that_was_stopped_goes_on_without_earlier_answers(server: Any) -> None:
    asked(server, *EVALUATE)
    stopped = cli(*EVALUATE, "--api-base", server.url, "--fresh", "--max-calls", 5)
    assert stopped.code == 1
    done, paid = asked(server, *EVALUATE, "--resume", "--json")
    assert paid == len(ROWS) - 5
    assert "reused" not in done.json["spend"]
    assert asked(server, *EVALUATE)[1] == 0


def test_repeats_draw_anew_and_further_ones_use_those_before(server: Any) -> None:
    compare = ("compare", "fect:basic", *GOLD, "--model", "openai/x", "--repeats")
    two, paid = asked(server, *compare, 2, "--json")
    assert paid == 2 * len(ROWS)
    five, paid = asked(server, *compare, 5, "--json")
    assert paid == 3 * len(ROWS)
    (first,), (further,) = two.json["judges"], five.json["judges"]
    values = further["repeats"]["f1"]["values"]
    assert values[:2] == first["repeats"]["f1"]["values"]
    assert len(set(values)) > 2
    assert further["spend"]["reused"] == 2 * len(ROWS)


def test_sealed_rows_are_not_opened_again(server: Any) -> None:
    write_jsonl(Path("gold.jsonl"), claims(20, 4))
    ok("compile", "fect", *GOLD, *FAST, "--no-words", "--force")
    compare = ("compare", "fect@1", "fect:basic", *GOLD, "--model", "openai/x", "--json")
    first, paid = asked(server, *compare)
    again, paid_again = asked(server, *compare)
    assert (first.json["opening"] > 0, paid > 0, paid_again) == (True, True, 0)
    assert plain(again.json) == plain(first.json)
    assert "no row is opened again" in again.err


def test_more_samples_use_those_before(server: Any) -> None:
    three, paid = asked(server, *EVALUATE, "--samples", 3, "--json")
    five, further = asked(server, *EVALUATE, "--samples", 5, "--json")
    assert three.json["spend"]["calls"] == paid > len(ROWS)
    assert five.json["spend"]["reused"] == paid
    assert 0 < further <= 5 * len(ROWS) - paid


def test_a_stopped_job_keeps_its_own_answers_until_it_is_finished(server: Any) -> None:
    stopped = cli(*EVALUATE, "--api-base", server.url, "--max-calls", 5)
    assert (stopped.code, ANSWERS.exists()) == (1, False)
    done, paid = asked(server, *EVALUATE, "--resume", "--json")
    assert paid == len(ROWS) - 5
    assert "reused" not in done.json["spend"]
    assert done.json["spend"]["replayed"] == 5
    again, paid = asked(server, *EVALUATE, "--json")
    assert (paid, plain(again.json)) == (0, plain(done.json))


def test_rows_that_failed_are_asked_again_and_refused_ones_are_not(serve: Callable[..., Any]) -> None:
    def fails(index: int, body: dict[str, Any]) -> str | None:
        return "500" if ROWS[0]["claim"] in str(body) else None

    def refuses(body: dict[str, Any]) -> str:
        return "This model's maximum context length is 10 tokens." if ROWS[1]["claim"] in str(body) else ""

    def missing(done: Done) -> tuple[int, int]:
        units = done.json["counts"]["units"]
        return units["failed"], units["abstained"]

    server = serve(answer, faults=fails, refuses=refuses)
    first, _ = asked(server, *EVALUATE, "--json")
    assert missing(first) == (1, 1)
    server.faults = {}
    again, paid = asked(server, *EVALUATE, "--json")
    assert (paid, missing(again)) == (1, (0, 1))


def test_python_says_that_it_uses_answers_again_and_asks_anew_where_it_is_told(server: Any) -> None:
    model = jurist.Model(name="openai/x", api_base=server.url)

    def evaluate(**options: Any) -> Any:
        return jurist.evaluate("fect:basic", ROWS, model=model, **options)

    first = evaluate()
    before = server.count
    with pytest.warns(
        UserWarning, match=r"answers of 20\S+ \S+ UTC are used again; fresh=True asks anew"
    ) as told:
        again = evaluate()
    other = jurist.Model(name="openai/y", api_base=server.url)
    compared = jurist.compare("fect:basic", ROWS, models=[model, other])
    assert "; 24 of 48 calls paid: answers of 20" in repr(compared)
    before = server.count
    alone = jurist.evaluate("fect:basic", ROWS, model=other)  # a part of what was compared
    assert server.count == before
    assert "; 24 calls, 0 paid: answers of 20" in repr(alone)
    assert server.count == before
    assert again.to_json() | {"spend": None} == first.to_json() | {"spend": None}
    assert again.spend["calls"] == 0
    assert again.spend["reused"] == len(ROWS)
    assert "24 calls, 0 paid: answers of 20" in again._repr_html_()
    assert "; 24 calls, 0 paid: answers of 20" in repr(again)
    assert "paid" not in repr(first)
    assert told[0].filename == __file__
    evaluate(fresh=True)
    assert server.count == before + len(ROWS)


def test_a_limit_counts_what_is_paid_in_this_run(server: Any) -> None:
    asked(server, *EVALUATE)
    compare = ("compare", "fect:basic", *GOLD, "--model", "openai/x", "--model", "openai/y")
    done, paid = asked(server, *compare, "--temperature", 0, "--max-calls", len(ROWS))
    assert paid == len(ROWS)
    assert f"{len(ROWS)} more not paid" in done.out
    with pytest.raises(StoppedError):
        jurist.evaluate(
            "fect:basic",
            ROWS,
            model=jurist.Model(name="openai/z", api_base=server.url),
            budget=jurist.Budget(calls=1),
        )


@pytest.mark.parametrize(("limit", "code"), [(7, 1), (12, 0)])
def test_a_limit_holds_to_the_call_beside_kept_answers(limit: int, code: int, server: Any) -> None:
    write_jsonl(Path("half.jsonl"), ROWS[:12])
    asked(server, "evaluate", "fect:basic", "--gold", "half.jsonl", "--model", "openai/x")
    before = server.count
    done = cli(*EVALUATE, "--api-base", server.url, "--yes", "--max-calls", limit)
    assert (done.code, server.count - before) == (code, limit)
    assert ("--max-calls 7 will stop it before the end" in done.err) == bool(code)


def test_what_is_kept_holds_no_key_no_address_and_no_prompt(server: Any, fake_key: str) -> None:
    asked(server, *EVALUATE)
    kept = ANSWERS.read_bytes()
    for secret in (fake_key, "127.0.0.1", ROWS[0]["claim"], ROWS[0]["conversation"][:40]):
        assert secret.encode() not in kept
    assert (ANSWERS.parent / ".gitignore").read_text() == "*\n"
    assert Store().list() == []


def test_without_an_endpoint_nothing_is_kept() -> None:
    ok("evaluate", "fect:basic", *GOLD)
    assert not Path("compiled").exists()


def test_without_its_file_all_is_paid_again(server: Any) -> None:
    asked(server, *EVALUATE)
    ANSWERS.unlink()
    assert asked(server, *EVALUATE)[1] == len(ROWS)


@pytest.mark.parametrize("intact", [0, 8192])  # bytes: nothing, and the pages that describe the tables
def test_a_damaged_file_is_named_and_costs_no_result(intact: int, server: Any) -> None:
    asked(server, *EVALUATE)
    data = ANSWERS.read_bytes()
    assert len(data) > intact + 4096
    ANSWERS.write_bytes(data[:intact] + b"this is no database" * (len(data) // 19))
    done, paid = asked(server, *EVALUATE, "--json")
    assert paid == len(ROWS)
    assert re.search(
        r"answers of earlier runs (are|were) not used: \S+answers.sqlite: .*; remove the file", done.err
    )
    assert done.json["cases"] == len(ROWS)


def test_only_the_newest_answers_are_kept(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jurist.engines.kept_answers._MOST_ANSWERS", 30)
    asked(server, *EVALUATE)
    asked(server, *EVALUATE, "--temperature", 0.5)
    with sqlite3.connect(ANSWERS) as data:
        assert data.execute("SELECT count(*) FROM answers").fetchone() == (30,)
    assert asked(server, *EVALUATE, "--temperature", 0.5)[1] == 0
    assert 0 < asked(server, *EVALUATE)[1] < len(ROWS)


def test_a_generation_whose_output_is_there_asks_nothing(serve: Callable[..., Any]) -> None:
    server = serve(quizzing)
    argv = ("generate", f"{QUIZ}:generator:basic", "--input", "texts.jsonl", "--output", "q.jsonl")
    argv = (*argv, "--model", "openai/x", "--max-rejected", 1)
    documents(Path("texts.jsonl"))
    _, paid = asked(server, *argv)
    again, paid_again = asked(server, *argv, "--resume", "--json")
    assert (paid > 0, paid_again, json.loads(again.out)["done_before"]) == (True, 0, True)
