"""The benchmark builder: plans, queries with a part removed, verification, statistics, and resumption."""

import json
from pathlib import Path
from typing import Any

import pytest
from small import cli, ok, read_jsonl

from jurist.errors import GoldError, UsageError
from jurist.gold.documents import Document, read_documents
from jurist.papers.faithqa.benchmark import plan_rows, query_statistics
from jurist.programs.faithqa.offline import missing_parts
from jurist.programs.faithqa.writing import ANALYSIS, LIMIT, OMISSION, QueryPlan, WriteQuery
from jurist.text.tables import read_table

from .test_judges import Scripted

DOCUMENTS = read_documents("faithqa-documents")


def rows(size: int = 300, **more: Any) -> list[dict[str, Any]]:
    return list(plan_rows(DOCUMENTS, size=size, **more))


def test_a_longer_plan_begins_like_a_shorter_one() -> None:
    assert rows(40) == rows(90)[:40]
    assert rows(40) != rows(40, seed=1)
    assert len({row["id"] for row in rows()}) == 300


def test_the_reports_of_an_analysis_are_those_nearest_to_one_of_them() -> None:
    words = {
        "tide": "tide moon coast harbour",
        "loom": "loom thread weaver cloth",
        "kiln": "kiln clay glaze potter",
    }
    documents = tuple(
        Document(id=f"{name} {number}", topic="one", text=f"{text} {name} number{number}." * 3)
        for name, text in words.items()
        for number in range(4)
    )
    texts = [row["texts"] for row in plan_rows(documents, size=120) if row["task"] in ANALYSIS]
    assert texts
    assert all(len({text.split()[0] for text in three}) == 1 and len(set(three)) == 3 for three in texts)


def test_what_more_people_know_is_asked_about_in_easy_queries() -> None:
    seen = {"tide": 900, "moon": 500, "loom": 30, "kiln": 20, "urn": ""}
    documents = [
        Document(
            id=name, title=name, topic="one", text=f"All about the {name}.", extra={"popularity": number}
        )
        for name, number in seen.items()
    ]
    found: dict[str, set[str]] = {name: set() for name in seen}
    for row in plan_rows(documents, size=120, tasks=["fact"]):
        found[row["title"]].add(row["difficulty"])
        assert (row["conditions"] <= LIMIT) == (row["difficulty"] == "easy")
    assert found == {
        "tide": {"easy"},
        "moon": {"easy"},
        "loom": {"hard"},
        "kiln": {"hard"},
        "urn": {"easy", "hard"},
    }
    wrong = Document(id="a", text="A text.", source="d.jsonl:3", extra={"popularity": "high"})
    with pytest.raises(
        GoldError, match=r"d\.jsonl:3, field 'popularity': the popularity 'high' is no number"
    ):
        list(plan_rows([wrong], size=1, tasks=["fact"]))


def test_every_plan_is_one_that_can_be_written() -> None:
    for row in rows():
        plan = QueryPlan.model_validate(row)
        if plan.task in OMISSION:
            assert (plan.conditions <= LIMIT) == (plan.difficulty == "easy")
        if plan.task in ("relationship", "summary"):
            assert len(set(plan.texts)) == 3
            assert {one.topic for one in DOCUMENTS if one.text in plan.texts} == {plan.topic}


def test_requirements_of_one_query_do_not_exclude_each_other() -> None:
    pool = read_table("jurist.papers.faithqa", "requirements")["requirements"]
    assert len(pool) >= 40
    group = {one[language]: one["group"] for one in pool for language in ("en", "zh")}
    form = {one[language]: one.get("form") for one in pool for language in ("en", "zh")}
    for row in rows(tasks=("story", "poem")):
        groups = [group[one] for one in row["requirements"]]
        assert len(set(groups)) == len(groups)
        assert {form[one] for one in row["requirements"]} <= {None, row["task"]}


@pytest.mark.parametrize(
    "given",
    [
        {"documents": DOCUMENTS, "size": 0},
        {"documents": [], "size": 3},
        {"documents": [Document(id="a", text="A text.")], "size": 3},
        {"documents": DOCUMENTS, "size": 3, "tasks": ["song"]},
    ],
)
def test_a_plan_that_cannot_be_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        list(plan_rows(**given))


PLAN = {"title": "Tides", "topic": "", "language": "en", "requirements": [], "removed": "", "conditions": 3}
MAPPED = [{"category": "action", "anchor": "Name", "text": "x"}]
MAPPED += [{"category": "quantity", "anchor": "two", "text": "x"}]


def written(
    plan: dict[str, Any], said: dict[str, Any], *, answerable: Any = True, mapped: Any = MAPPED
) -> Any:
    program = WriteQuery()
    for name in ("fact", "creative", "evaluation", "analysis"):
        setattr(program, name, Scripted(said))
    program.verify = Scripted({"answerable": answerable, "reason": "why not"})
    program.map = Scripted({"missing": [], "constraints": mapped})
    found = program(**{**PLAN, "difficulty": "easy", **plan})
    checks = {name: check.verdict for name, check in found["checks"][0].items()}
    return found["written"][0], checks, program


@pytest.mark.parametrize(
    ("plan", "said", "more", "failed"),
    [
        ({"difficulty": "hard"}, "Name two tides.", {}, {"conditions"}),
        ({}, "Name two tides.", {"answerable": False}, {"answerable"}),
        ({}, "Name two tides.", {"mapped": None}, {"conditions"}),
        ({"language": "zh"}, "Name two tides.", {}, {"language"}),
        ({"requirements": ["use 12 words"]}, "Name two tides.", {}, {"conditions"}),
        ({}, "Name two tides.", {"answerable": "maybe"}, {"answerable"}),
    ],
)
def test_what_fails_is_named(plan: dict[str, Any], said: str, more: dict[str, Any], failed: set[str]) -> None:
    _, checks, _ = written({"task": "fact", "texts": ["Tides rise."], **plan}, {"query": said}, **more)
    assert {name for name, verdict in checks.items() if verdict != "yes"} == failed


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("removed", ["query", "article", "response"])
def test_exactly_the_removed_part_of_an_evaluation_is_missing(removed: str, language: str) -> None:
    text, said = ("Tides rise.", "Why?") if language == "en" else ("潮水上涨。", "为什么？")
    plan = {"task": "evaluation", "texts": [text], "removed": removed, "language": language, "difficulty": ""}
    item, checks, program = written(plan, {"question": said, "response": said}, answerable=False)
    assert missing_parts(item["query"]) == [removed]
    assert item["constraints"] == [{"category": "missing", "anchor": "", "text": removed}]
    assert set(checks.values()) == {"yes"}
    assert program.map.asked == []


@pytest.mark.parametrize("removed", ["article 1", "article 2", "article 3"])
def test_exactly_the_removed_article_of_an_analysis_is_missing(removed: str) -> None:
    plan = {"task": "summary", "texts": ["One.", "Two.", "Three."], "removed": removed, "difficulty": ""}
    item, checks, _ = written(plan, {"instruction": "Compare the three articles."}, answerable=True)
    assert missing_parts(item["query"]) == [removed]
    assert checks["answerable"] == "no"  # a verifier that does not notice cannot vouch for it


def test_the_command_builds_counts_and_resumes() -> None:
    asked = ("generate", "faithqa", "--input", "faithqa-documents", "--output", "b.jsonl", "--size", "16")
    done = ok(*asked, "--json")
    made = read_jsonl(Path("b.jsonl"))
    rejects = read_jsonl(Path("b.rejects.jsonl")) if Path("b.rejects.jsonl").exists() else []
    assert len(made) + len(rejects) == 16
    assert all(row["reasons"] for row in rejects)
    assert done.json["statistics"] == json.loads(json.dumps(query_statistics(Path("b.jsonl"))))
    assert done.json["statistics"]["total"] == len(made) == done.json["kept"]
    for row in made:
        assert missing_parts(row["query"]) == ([row["missing"]] if row["missing"] else [])
    before = Path("b.jsonl").read_bytes()
    again = cli(*asked, "--resume", "--json")
    assert (again.code, again.json["done_before"]) == (0, True)
    assert Path("b.jsonl").read_bytes() == before
    refused = cli(*asked)
    assert refused.code == 2
    assert "exists" in refused.err
