"""FAITHQA against a real endpoint: mapping, scoring, the builder and an assessment through DSPy's own client."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fakes import reply
from loopback import Loopback, field_of
from small import cli, ok, read_jsonl, write_jsonl

from jurist.programs.faithqa.offline import missing_parts

MAPPED = [
    {"category": "action", "anchor": "Name", "text": "it names something"},
    {"category": "quantity", "anchor": "three", "text": "three are named"},
    {"category": "location", "anchor": "in Peru", "text": "they are in Peru"},
    {"category": "time", "anchor": "in 1950", "text": "they were found in 1950"},  # no words of the query
]
QUERY = "Name three rivers in Peru."


def answers(messages: list[dict[str, Any]]) -> str:
    """A model that maps as scripted, finds that the place is misread, and writes what the builder asks for."""
    system, last = str(messages[0]["content"]), str(messages[-1]["content"])
    query, outputs = field_of(last, "query"), system.partition("Your output fields are:")[2]

    def wants(name: str) -> bool:
        return f"`{name}`" in outputs

    if wants("marks"):
        numbers = [int(line.split(".")[0]) for line in field_of(last, "constraints").splitlines()]
        labels = dict.fromkeys(numbers, "satisfied") | {3: "misinterpreted"}
        return reply("chat", marks=[{"n": n, "evidence": "Thames", "label": labels[n]} for n in numbers])
    if wants("score"):
        parts = {
            "constraints": ["three"],
            "fulfilment": ["yes"],
            "omission": "none",
            "misinterpretation": "Thames",
        }
        return reply("chat", **parts, score=7)
    if wants("constraints"):
        lacking = missing_parts(query)
        kept = [one for one in MAPPED if one["anchor"] in query or query == QUERY]
        return reply("chat", missing=lacking, constraints=[] if lacking else kept)
    if wants("answerable"):
        return reply("chat", answerable=str(not missing_parts(query)), reason="a part is missing")
    if wants("verdict"):
        return reply("chat", verdict="accurate")
    if wants("question"):
        return reply("chat", question="Why do tides rise?", response="Because of the moon.")
    if wants("instruction"):
        return reply("chat", instruction="Compare the three articles.")
    answer = "Amazon, Rimac and Thames."
    return reply("chat", query=f"{QUERY} Be brief.") if wants("query") else reply("chat", response=answer)


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")


def at(server: Loopback) -> tuple[str, ...]:
    return ("--model", "openai/m", "--api-base", server.url, "--yes")


def test_queries_are_mapped_and_one_without_its_article_is_refused_by_name() -> None:
    write_jsonl(Path("q.jsonl"), [{"query": QUERY}, {"query": "Name the point of the article.\n\nArticle:"}])
    with Loopback(answers) as server:
        done = cli("run", "constraints:basic", "--input", "q.jsonl", "--output", "o.jsonl", *at(server))
    assert done.code == 0, done.err
    whole, lacking = read_jsonl(Path("o.jsonl"))
    assert "article" in json.dumps(lacking)
    assert lacking["missing"] == ["article"]
    assert (whole["missing"], server.count) == ([], 2)
    assert "the query does not say 'in 1950'" in whole["reasoning"]
    assert "unanchored 1; incomplete 1" in done.people


def test_a_response_is_scored_by_what_the_model_marks_and_the_baseline_by_two_that_agree() -> None:
    row = {"query": QUERY, "response": "Amazon, Rimac and Thames."}
    write_jsonl(Path("r.jsonl"), [row])
    with Loopback(answers) as server:
        ok("run", "constraint-score:basic", "--input", "r.jsonl", "--output", "s.jsonl", *at(server))
        assert server.count == 2
        rated = cli("run", "intent-baseline:basic", "--input", "r.jsonl", "--output", "b.jsonl", *at(server))
        assert (rated.code, server.count) == (0, 4)
    (found,) = read_jsonl(Path("s.jsonl"))
    assert found["value"] == pytest.approx(
        10 * (3 + 2 + 3) / (3 + 2 + 3 + 3)
    )  # section 4.2: the place is misread
    assert found["counts"] == {"unanchored": 1}
    assert "misinterpreted: Thames" in found["reasoning"]
    (rating,) = read_jsonl(Path("b.jsonl"))
    assert rating["value"] == 7
    assert "misinterpretation: Thames" in rating["reasoning"]


def test_the_builder_resumes_after_faults_and_its_benchmark_assesses_a_model() -> None:
    build = ("generate", "faithqa", "--input", "faithqa-documents", "--output", "b.jsonl", "--size", "12")
    build += ("--tasks", "fact,evaluation,summary", "--attempts", "1", "--max-rejected", "1")
    with Loopback(answers, faults={3: "500", 5: "garbage", 7: "reset"}) as server:
        done = cli(*build, *at(server), "--max-calls", "6")
        assert done.code == 1, done.err
        assert "--resume" in done.err
        assert server.count <= 6
        done = ok(*build, *at(server), "--resume")
        made = read_jsonl(Path("b.jsonl"))
        rejects = read_jsonl(Path("b.rejects.jsonl")) if Path("b.rejects.jsonl").exists() else []
        assert len(made) + len(rejects) == 12
        assert all(row["reasons"] for row in rejects)
        for row in made:
            assert missing_parts(row["query"]) == ([row["missing"]] if row["missing"] else [])
        before = server.count
        assess = ("assess", "openai/m", "--benchmark", "b.jsonl", "--api-base", server.url, "--yes", "--json")
        judge = ("--judge-model", "openai/j", "--judge-api-base", server.url, "--samples", "1")
        found = cli(*assess, *judge)
    assert found.code == 0, found.err
    assert server.count > before
    asked = [hit.body for hit in server.hits[before:] if hit.body["model"] == "j"]
    draws = [one["temperature"] for one in asked if "`verdict`" in str(one["messages"])]
    facts = Counter(one["task"] for one in made)["fact"]
    assert draws == [0.3] * (5 * facts)  # appendix A.5.3; at the 0 of the marks the five would be one
    assert {one["temperature"] for one in asked} == {0.0, 0.3}
    cells = found.json["models"][0]["overview"]
    assert Counter({name: int(cell["score"]["of"]) for name, cell in cells.items()}) == Counter(
        row["task"] for row in made
    )
    assert all(cell["perfect"]["value"] == 0 for cell in cells.values())  # the third constraint is never met
