"""A generator of one's own: compiled on unlabelled documents, proven, kept, run and compared like a judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import truth_of
from quiz import HINT, QUIZ, answer, by_role, documents
from small import cli, read_jsonl

import jurist
from jurist.engines.models import Model
from jurist.errors import GoldError, UsageError
from jurist.gold.goldset import Gold
from jurist.keeping.artifacts import Store
from jurist.programs.catalogue import find
from jurist.programs.generator import generator_of

REF = f"{QUIZ}:generator"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JURIST_STORE", raising=False)
    documents(Path("docs.jsonl"))


def compiled(server: Any, *more: object, optimizer: str = "opro") -> Any:
    return cli(
        *("compile", REF, "--gold", "docs.jsonl", "--split", "40/30/30", "--optimizer", optimizer),
        *("--model", "openai/x", "--api-base", server.url, "--yes", "--json"),
        *more,
    )


OPRO = ("--set", "steps=2", "--set", "candidates=1", "--set", "opening=4", "--set", "block=4")


def test_a_generator_is_compiled_on_documents_and_its_calls_are_counted_exactly(
    serve: Callable[..., Any], fake_key: str
) -> None:
    server = serve(answer)
    done = compiled(server, *OPRO)
    assert done.code == 0, done.err
    card, seen = done.json, by_role(server)
    spent = {name: one["calls"] for name, one in card["spend"]["by_purpose"].items()}
    assert spent == {"total": server.count, **seen}
    assert seen["judge"] == 2 * seen["generator"]  # two verifiers for each item that is written
    assert card["spend"]["calls"] == server.count
    assert card["decision"]["verdict"] == "better"
    rates = card["scores"]["compiled"]
    assert rates["validation_rate"]["value"] == 1.0
    assert {"holds_rate", "clear_rate", "short_rate"} <= set(rates)
    assert card["scores"]["basic"]["short_rate"]["value"] == 1.0
    assert card["scores"]["basic"]["validation_rate"]["value"] < 0.8
    program = json.loads((Path(card["artifact"]) / "program.json").read_text(encoding="utf-8"))
    assert HINT in json.dumps(program)
    assert "holds" not in json.dumps(program)  # the verifiers are no part of what was tuned


def test_the_artifact_is_run_compared_and_evaluated(serve: Callable[..., Any], fake_key: str) -> None:
    server = serve(answer)
    ends = ("--model", "openai/x", "--api-base", server.url, "--yes")
    assert compiled(server, *OPRO).code == 0
    documents(Path("new.jsonl"), 30)
    before = server.count
    done = cli("run", "quiz", "--input", "new.jsonl", "--output", "out.jsonl", *ends, "--json")
    assert done.code == 0, done.err
    assert (server.count - before, done.json["spend"]["calls"]) == (90, 90)
    rows = read_jsonl(Path("out.jsonl"))
    assert {row["passed"] for row in rows} == {1}
    (item,) = rows[0]["units"][0]["items"]
    assert item["item"]["question"] == "When was it opened?"
    assert item["checks"]["holds"] == {"verdict": "yes", "reason": "read in the document"}
    compared = cli("compare", "quiz", "quiz:basic", "--gold", "new.jsonl", *ends, "--json")
    assert compared.code == 0, compared.err
    one, two = compared.json["judges"]
    assert one["scores"]["validation_rate"]["value"] == 1.0 > two["scores"]["validation_rate"]["value"]
    basic = jurist.load("quiz:basic", model=Model(name="openai/x", api_base=server.url))
    measured = jurist.evaluate(basic, "new.jsonl")
    right = [truth_of(row["text"], (True, False, False)) for row in read_jsonl(Path("new.jsonl"))]
    assert measured["validation_rate"].value == sum(right) / 30
    assert measured["short_rate"].value == 1.0


@pytest.mark.parametrize("optimizer", ["bootstrap", "copro"])
def test_dspys_optimizers_tune_the_writer_only(
    optimizer: str, serve: Callable[..., Any], fake_key: str
) -> None:
    server = serve(answer)
    done = compiled(server, "--max-calls", "400", optimizer=optimizer)
    assert done.code == 0, done.err
    card, seen = done.json, by_role(server)
    assert card["spend"]["calls"] == server.count <= 400
    assert seen["judge"] == 2 * seen["generator"]
    artifact = Store(None).load("quiz@1")
    assert list(artifact.state.predictors) == ["write"]


def test_gold_alone_makes_no_demonstrations(serve: Callable[..., Any], fake_key: str) -> None:
    done = compiled(serve(answer), optimizer="fewshot")
    assert done.code == 1
    assert "makes no demonstrations" in done.err


def test_verifiers_may_have_a_model_of_their_own(serve: Callable[..., Any], fake_key: str) -> None:
    writer, verifier = serve(answer), serve(answer)
    done = cli(
        *("run", f"{REF}:basic", "--input", "docs.jsonl", "--output", "out.jsonl", "--model", "openai/x"),
        *("--api-base", writer.url, "--judge-model", "openai/y", "--judge-api-base", verifier.url, "--yes"),
    )
    assert done.code == 0, done.err
    assert (dict(by_role(writer)), dict(by_role(verifier))) == ({"generator": 48}, {"judge": 96})
    assert {hit.body["model"] for hit in verifier.hits} == {"y"}
    assert read_jsonl(Path("out.jsonl"))[0]["judge_model"] == "openai/y"


def test_a_judge_without_frozen_steps_takes_no_other_model() -> None:
    with pytest.raises(UsageError, match="has no frozen steps"):
        jurist.load("fect:basic", verifier="offline")


def test_documents_are_gold_in_every_form(tmp_path: Path) -> None:
    generator = generator_of(find(REF))
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.md").write_text("# Mill\n\nThe mill stands.\n", encoding="utf-8")
    (folder / "b.txt").write_text("The tower fell.\n", encoding="utf-8")
    texts = Gold.load(folder, generator)
    assert [(case.inputs["document"], case.group) for case in texts.cases] == [
        ("The mill stands.", "a"),
        ("The tower fell.", "b"),
    ]
    assert all(case.gold == (generator.checked.expected,) for case in texts.cases)
    assert len(Gold.load("docs.jsonl", generator).cases) == 48
    assert generator.calls == 3
    Path("bad.jsonl").write_text('{"id": 1}\n', encoding="utf-8")
    with pytest.raises(GoldError, match="no text"):
        Gold.load("bad.jsonl", generator)


def test_unlabelled_rows_stay_an_error_for_a_judge() -> None:
    Path("rows.jsonl").write_text('{"conversation": "a", "claim": "b"}\n', encoding="utf-8")
    with pytest.raises(GoldError, match="has a label"):
        Gold.load("rows.jsonl", find("fect"))


def test_a_judge_is_no_generator() -> None:
    with pytest.raises(UsageError, match="writes nothing"):
        generator_of(find("fect"))
