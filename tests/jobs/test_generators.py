"""A generator of one's own: compiled on unlabelled documents, proven, kept, run and compared like a judge."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import field_of, truth_of
from quiz import HINT, QUIZ, answer, by_role, documents, role_of
from small import cli, ok, read_jsonl

import jurist
from jurist.engines.models import Model
from jurist.gold.goldset import Gold
from jurist.programs.catalogue import find
from jurist.programs.generator import generator_of

REF = f"{QUIZ}:generator"


@pytest.fixture(autouse=True)
def _folder() -> None:
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
    documents(Path("docs.jsonl"), 72)
    server = serve(answer)
    done = compiled(server, *OPRO)
    assert done.code == 0, done.err
    card, seen = done.json, by_role(server)
    spent = {name: one["calls"] for name, one in card["spend"]["by_purpose"].items()}
    assert spent == {"total": server.count, **seen}
    assert seen["judge"] == 2 * seen["generator"]  # two verifiers for each item that is written
    proposals = [
        str(hit.body["messages"]) for hit in server.hits if role_of(hit.body["messages"]) == "proposer"
    ]
    assert all("a step that writes" in asked for asked in proposals)
    assert not any(word in asked for asked in proposals for word in ("judge", "positive", "label"))
    assert "holds: no: invented" in "".join(proposals)
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
    documents(Path("docs.jsonl"), 72)
    server = serve(answer)
    ends = ("--model", "openai/x", "--api-base", server.url, "--yes")
    assert compiled(server, *OPRO).code == 0
    documents(Path("new.jsonl"), 30)
    before = server.count
    done = ok("run", "quiz", "--input", "new.jsonl", "--output", "out.jsonl", *ends, "--json")
    assert (server.count - before, done.json["spend"]["calls"]) == (90, 90)
    rows = read_jsonl(Path("out.jsonl"))
    assert {row["passed"] for row in rows} == {1}
    (item,) = rows[0]["units"][0]["items"]
    assert item["item"]["question"] == "When was it opened?"
    assert item["checks"]["holds"] == {"verdict": "yes", "reason": "read in the document"}
    compared = ok("compare", "quiz", "quiz:basic", "--gold", "new.jsonl", *ends, "--json")
    one, two = compared.json["judges"]
    assert one["scores"]["validation_rate"]["value"] == 1.0 > two["scores"]["validation_rate"]["value"]
    basic = jurist.load("quiz:basic", model=Model(name="openai/x", api_base=server.url))
    measured = jurist.evaluate(basic, "new.jsonl")
    right = [truth_of(row["text"], (True, False, False)) for row in read_jsonl(Path("new.jsonl"))]
    assert measured["validation_rate"].value == sum(right) / 30
    assert measured["short_rate"].value == 1.0


@pytest.mark.parametrize(("optimizer", "calls"), [("fewshot", 102), ("optuna", 0)])
def test_gold_alone_makes_no_demonstrations(
    serve: Callable[..., Any], fake_key: str, optimizer: str, calls: int
) -> None:
    server = serve(answer)
    done = compiled(server, optimizer=optimizer)
    assert (done.code, server.count) == (1, calls)
    assert "makes no demonstrations" in done.err


def test_verifiers_may_have_a_model_of_their_own(serve: Callable[..., Any], fake_key: str) -> None:
    writer, verifier = serve(answer), serve(answer)
    ok(
        *("run", f"{REF}:basic", "--input", "docs.jsonl", "--output", "out.jsonl", "--model", "openai/x"),
        *("--api-base", writer.url, "--judge-model", "openai/y", "--judge-api-base", verifier.url, "--yes"),
    )
    assert (dict(by_role(writer)), dict(by_role(verifier))) == ({"generator": 48}, {"judge": 96})
    assert {hit.body["model"] for hit in verifier.hits} == {"y"}
    assert read_jsonl(Path("out.jsonl"))[0]["judge_model"] == "openai/y"


@pytest.mark.parametrize("command", ["generate", "compile"])
def test_verifiers_that_cost_are_asked_about_though_the_writer_is_free(command: str) -> None:
    """Without a terminal and without --yes, nothing is sent to a model of unknown price."""
    ends = ("--judge-model", "openai/nobody-knows")
    gold = ("--gold", "docs.jsonl")
    argv = (f"{REF}:basic", "--input", "docs.jsonl", "--output", "o.jsonl")
    done = cli(command, *((REF, *gold) if command == "compile" else argv), *ends)
    assert done.code == 2, done.err
    assert "--yes" in done.err


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
    assert all(case.gold == (generator.checked.scale.expected,) for case in texts.cases)
    assert len(Gold.load("docs.jsonl", generator).cases) == 48
    assert generator.calls == 3


# jurist generate NAME


def generated(server: Any, *more: object, output: str = "q.jsonl") -> Any:
    return cli(
        *("generate", f"{REF}:basic", "--input", "docs.jsonl", "--output", output, "--model", "openai/x"),
        *("--api-base", server.url, "--yes", "--json", "--max-rejected", 1, *more),
    )


def holds() -> list[str]:
    """Return the documents whose items pass at the first attempt."""
    rows = read_jsonl(Path("docs.jsonl"))
    return [row["id"] for row in rows if truth_of(row["text"], (True, False, False))]


def test_items_that_pass_are_kept_and_the_others_have_reasons(
    serve: Callable[..., Any], fake_key: str
) -> None:
    server = serve(answer)
    done = generated(server)
    assert done.code == 0, done.err
    kept, rejected = read_jsonl(Path("q.jsonl")), read_jsonl(Path("q.rejects.jsonl"))
    assert [row["id"] for row in kept] == holds()
    assert len(kept) + len(rejected) == 48 == done.json["kept"] + done.json["rejected"]
    assert kept[0]["question"] == "When was it opened?"
    about = kept[0]["provenance"]
    assert (about["document"], about["calls"], about["generator"]) == (kept[0]["id"], 3, "quiz:basic")
    assert about["source"].startswith("docs.jsonl:")
    assert rejected[0]["status"] == "rejected"
    assert rejected[0]["reasons"] == ["holds: no: invented", "clear: no: invented"]
    spent = {name: one["calls"] for name, one in done.json["spend"].items()}
    assert spent == {"total": server.count, **by_role(server)} == {"total": 144, "generator": 48, "judge": 96}
    seen = done.json["forecast"]
    assert seen["calls"] == [144, 144]
    assert seen["parts"]["judge"]["calls"] == [96, 96]
    again = generated(server, "--resume")
    assert (again.code, again.json["done_before"], server.count) == (0, True, 144)


def test_a_document_is_tried_until_what_is_written_passes(serve: Callable[..., Any], fake_key: str) -> None:
    tries: dict[str, int] = {}

    def patient(messages: list[dict[str, Any]]) -> str:
        """Let the writer succeed at the second attempt."""
        text = answer(messages)
        if role_of(messages) != "generator":
            return text
        document = field_of(str(messages[-1]["content"]), "document")
        tries[document] = tries.get(document, 0) + 1
        return (
            answer([{"content": f"{messages[0]['content']} {HINT}"}, *messages[1:]])
            if tries[document] > 1
            else text
        )

    done = generated(serve(patient), "--attempts", 3)
    assert done.code == 0, done.err
    assert (done.json["kept"], done.json["rejected"]) == (48, 0)
    assert not Path("q.rejects.jsonl").exists()
    first = len(holds())
    assert sum(tries.values()) == first + 2 * (48 - first)


def test_the_page_shows_the_file_that_is_tested_here() -> None:
    page = (QUIZ.parent / "generators.md").read_text(encoding="utf-8")
    shown = page.partition('```python title="quiz.py"\n')[2].partition("```")[0]
    assert shown == QUIZ.read_text(encoding="utf-8")
    assert sum(bool(line.strip()) for line in shown.splitlines()) < 40
