"""The chain against an OpenAI-compatible endpoint: kills, faults, replies that cannot be read, models side by side."""

import json
from pathlib import Path

import pytest
from fakes import reply
from loopback import field_of
from small import cli, killed, ok, read_jsonl, write_jsonl

from .test_command import TEXT

FIELDS = (
    "definition",
    "type",
    "hallucinated_answer",
    "answer",
    "hallucinated_answers",
    "correct_answer",
    "knowledge",
)
IN_FLIGHT = 4


@pytest.fixture(autouse=True)
def _folder(no_waiting: None):
    rows = [{"id": f"d{n}", "topic": "music", "title": "Sax", "text": f"{TEXT} Nr {n}."} for n in range(5)]
    Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def say(messages):
    """Write and verify as a good model would; of every question the third answer is of a type that does not fit."""
    text = messages[-1]["content"]
    given = {name: field_of(text, name) for name in FIELDS}
    if given["definition"]:
        verdict = "no" if given["type"] == "relation" else "yes"
        return reply("chat", reason="the definition", fits=verdict)
    if given["hallucinated_answer"]:
        return reply("chat", reason="the document", hallucinated="yes")
    if given["answer"]:
        return reply("chat", reason="the document", correct="yes")
    if given["hallucinated_answers"]:
        return reply("chat", types=["entity", "entity", "relation"])
    if given["correct_answer"]:
        return reply("chat", hallucinated_answers=["Ada Lovelace", "Clara Schumann", "Paul Klee"])
    number = given["knowledge"].rsplit("Nr ", 1)[1]
    passage = "The saxophone was invented by Adolphe Sax."
    question = f"Who invented what text {number} of type {given['type']} is about?"
    return reply("chat", question=question, correct_answer="Adolphe Sax", passage=passage)


def argv(server, output, *more):
    named = ("--model", "openai/x", "--api-base", server.url, "--concurrency", IN_FLIGHT, "--yes")
    asked = ("generate", "haluagent", "--input", "docs.jsonl", "--output", output)
    # processes of their own would take the version that ships
    return (*asked, "--generator", "haluagent:basic", "--per-document", 1, *named, *more)


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*.*"))}


def test_a_killed_generation_goes_on_and_pays_nothing_twice(serve, tmp_path):
    server = serve(say)
    done = ok(*argv(server, "whole"))
    kept = read_jsonl(Path("whole/verified.jsonl"))
    assert [row["question_id"].split("/")[0] for row in kept] == [f"d{n}" for n in range(5) for _ in "ab"]
    requests, server.hits[:], server.delay = server.count, [], 0.02
    for number, after in enumerate((12, 15)):
        killed(server, after, *argv(server, "parts", "--resume" if number else "--fresh"), cwd=tmp_path)
        assert not Path("parts/benchmark.jsonl").exists()
    done = ok(*argv(server, "parts", "--resume", "--json"))
    assert requests <= server.count <= requests + 2 * IN_FLIGHT
    assert done.json["spend"]["total"]["replayed"] > 0
    assert files("parts") == files("whole")


def test_a_verifier_that_cannot_be_read_passes_nothing_and_is_counted(serve):
    def answers(messages):
        text = messages[-1]["content"]
        return "Hm." if field_of(text, "definition") else say(messages)

    server = serve(answers, faults=lambda index, body: "503" if index % 7 == 3 else None)
    done = cli(*argv(server, "bench", "--json"))
    assert (done.code, done.json["kept"]) == (3, 0)
    rejected = read_jsonl(Path("bench/verified.rejects.jsonl"))
    reasons = [reason for row in rejected for reason in row["reasons"]]
    assert any(reason.startswith("label: unusable") for reason in reasons)
    assert done.json["acceptance"]["label"]["value"] == 0.0


def test_models_side_by_side(serve):
    server = serve(say)
    ok(*argv(server, "bench"))

    def answers(messages):
        model_knows = field_of(messages[-1]["content"], "response")
        return reply("chat", conflict=False) if model_knows else reply("chat", response="true")

    server = serve(answers)
    asked = ("assess", "offline", "openai/x", "openai/y", "--api-base", server.url, "--yes")
    done = ok(*asked, "--benchmark", "bench/benchmark.jsonl", "--max-unusable", 1, "--json")
    assert [one["model"] for one in done.json["models"]] == ["offline", "openai/x", "openai/y"]
    assert done.json["models"][1]["errors"]["false_negative"]["value"] == 1.0
    settings = {(hit.body["temperature"], hit.body["top_p"]) for hit in server.hits}
    assert settings == {(1.0, 0.7)}  # section 4.2


def test_replies_without_an_answer_are_shown_and_kept(serve):
    server = serve(say)
    ok(*argv(server, "bench"))

    def answers(messages):
        model_knows = field_of(messages[-1]["content"], "response")
        return (
            reply("chat", conflict=False)
            if model_knows
            else reply("chat", response="I would rather not say.")
        )

    server = serve(answers)
    asked = ("assess", "openai/x", "--api-base", server.url, "--yes", "--max-unusable", 1)
    done = ok(*asked, "--benchmark", "bench/benchmark.jsonl", "--answers", "answers.jsonl", "--json")
    unanswered = done.json["unanswered_replies"]
    assert {line["reply"] for line in unanswered} == {"I would rather not say."}
    assert {line["format"] for line in unanswered} == {"true-false"}
    assert len(unanswered) == sum(done.json["models"][0]["unanswered"].values())
    kept = [line["id"] for line in read_jsonl(Path("answers.jsonl")) if line["hallucinated"] is None]
    assert kept == [line["id"] for line in unanswered]
    assert f"closed questions without an answer: 5 of {len(unanswered)} " in done.people
    assert "engine: offline" in done.people  # it judged the open questions

    closed = [row for row in read_jsonl(Path("bench/benchmark.jsonl")) if row["format"] != "generative"]
    write_jsonl(Path("closed.jsonl"), closed)
    without_judge = ok(*asked, "--benchmark", "closed.jsonl")
    assert "no judge was asked" in without_judge.people
    assert "engine: offline" not in without_judge.people
