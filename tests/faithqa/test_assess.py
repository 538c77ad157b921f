"""Assessing models on the benchmark: tables by hand, and the command from its start to a resumed end."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import cli, ok, read_jsonl

from jurist.errors import GoldError
from jurist.papers.faithqa.assess import BREAKDOWNS, Assessed, Question, Response, read_questions

COMPLETE = (
    {"category": "action", "anchor": "Name", "text": "it names"},
    {"category": "quantity", "anchor": "two", "text": "two are named"},
)
SHORT = {"s": "satisfied", "o": "omitted", "m": "misinterpreted"}


def said(
    number: int, task: str, marks: str, *, missing: str = "", facts: str | None = None, **more: Any
) -> Response:
    lacking = ({"category": "missing", "text": missing},)
    question = Question.model_validate(
        {
            "id": f"q{number}",
            "task": task,
            "query": "Name two.",
            "constraints": lacking if missing else COMPLETE,
            "missing": missing,
            **more,
        }
    )
    words = tuple(SHORT.get(mark) for mark in marks)
    return Response(question=question, text="x", marks=words, facts=facts)


def model(*responses: Response, name: str = "a") -> Assessed:
    return Assessed(model=name, responses=responses)


def test_perfect_and_score_by_hand() -> None:
    about = {"topic": "tech", "difficulty": "easy"}
    found = model(
        said(1, "fact", "ss", **about),
        said(2, "fact", "so", facts="accurate", **about),  # 3 of 5
        said(3, "fact", "mo", facts="inaccurate", **about),
        said(4, "fact", "s?", **about),  # not all marked: in no table
    )
    assert BREAKDOWNS["overview"].of(found)["fact"]["score"].of == 3
    cell = BREAKDOWNS["facts"].of(found)["fact tech easy"]
    assert cell["score"].of == 3
    assert cell["perfect"].value == pytest.approx(1 / 3)
    assert cell["score"].value == pytest.approx((10 + 6 + 0) / 3)
    assert cell["factual"].value == 0.5
    assert cell["score"].low is not None
    assert 0 <= cell["score"].low <= cell["score"].high <= 10
    assert found.unusable == 0.25


def test_missing_material_by_hand() -> None:
    found = model(
        said(1, "evaluation", "sss", missing="query", topic="health"),
        said(2, "evaluation", "oms", missing="query", topic="health"),
        said(3, "evaluation", "mmm", missing="article", topic="health"),
        said(4, "summary", "oms", missing="article 2", topic="health"),  # T1: not mentioned
        said(5, "summary", "mmm", missing="article 1", topic="health"),  # T2: invented
        said(6, "summary", "sms", missing="article 3", topic="health"),  # neither
        said(7, "summary", "sss", missing="article 3", topic="health"),
        said(8, "summary", "so", topic="health"),  # nothing is missing: in neither table
        said(9, "evaluation", "so", topic="health"),
    )
    rates = BREAKDOWNS["missing"].of(found)
    assert rates["evaluation health"]["query"].value == 0.5
    assert rates["evaluation health"]["article"].value == 1.0
    failures = BREAKDOWNS["failures"].of(found)["summary health"]
    assert {name: share.value for name, share in failures.items()} == pytest.approx(
        {"T1": 1 / 3, "T2": 1 / 3, "other": 1 / 3}
    )


def test_violations_by_hand() -> None:
    assessed = model(said(1, "fact", "so"), said(2, "fact", "mo"), said(3, "poem", "ss"))
    found = {
        row: {mark: share.value for mark, share in shown.items()}
        for row, shown in BREAKDOWNS["violations"].of(assessed).items()
    }
    assert found == {
        "fact action": pytest.approx({"omitted": 0, "misinterpreted": 1 / 3}),
        "fact quantity": pytest.approx({"omitted": 2 / 3, "misinterpreted": 0}),
    }


@given(st.lists(st.tuples(st.sampled_from(["fact", "poem"]), st.sampled_from(["ss", "so", "mo", "om"]))))
def test_the_violations_of_a_task_sum_to_one(marked: list[tuple[str, str]]) -> None:
    assessed = model(*(said(number, task, marks) for number, (task, marks) in enumerate(marked)))
    found = BREAKDOWNS["violations"].of(assessed)
    for task in {row.split()[0] for row in found}:
        mine = [shown for row, shown in found.items() if row.startswith(task)]
        values = [share.value for shown in mine for share in shown.values()]
        assert sum(values) == pytest.approx(1)
    assert all(set(shown) == {"omitted", "misinterpreted"} for shown in found.values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"constraints": []}, "constraints"),
        ({"constraints": [{"category": "mood", "text": "x"}]}, "category"),
        ({"id": 7}, "id"),
    ],
)
def test_a_wrong_benchmark_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    row = {"id": "a", "task": "fact", "query": "Name two.", "constraints": list(COMPLETE)}
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "id": "b", **change}) + "\n")
    with pytest.raises(GoldError, match=words):
        read_questions(str(path))
    path.write_text(2 * (json.dumps(row) + "\n"))
    with pytest.raises(GoldError, match="occurs twice"):
        read_questions(str(path))


def test_the_command_from_building_to_assessing() -> None:
    ok("generate", "faithqa", "--input", "faithqa-documents", "--output", "b.jsonl", "--size", "12")
    asked = ("assess", "offline", "--benchmark", "b.jsonl", "--samples", "1", "--answers", "a.jsonl")
    done = ok(*asked, "--json")
    (found,) = done.json["models"]
    answers = read_jsonl(Path("a.jsonl"))
    assert done.json["queries"] == len(answers) == len(read_jsonl(Path("b.jsonl")))
    assert 0 <= found["overview"]["summary"]["perfect"]["value"] <= 1
    # The offline engine answers no query, and names what is missing.
    assert any("is missing. Please send it" in row["response"] for row in answers)
    for row in answers:
        assert len(row["marks"]) == len(row["constraints"])
    shown = cli(*asked[:6])
    assert "as Table 3" in shown.out
    assert "as Figure 4" in shown.out


def test_facts_are_checked_by_the_judge_that_is_named(tmp_path: Path) -> None:
    long = {"category": "quantity", "anchor": "two", "text": "the response has exactly 90 words"}
    row = {"id": "a", "task": "fact", "query": "Name two rivers of Peru.", "constraints": [COMPLETE[0], long]}
    (tmp_path / "b.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "ref").mkdir()
    (tmp_path / "ref" / "peru.txt").write_text("The Rimac and the Amazon are rivers of Peru.")
    (tmp_path / "fc.py").write_text(
        "from jurist.papers.faithqa.retrieval import fact_check\n\njudge = fact_check('ref')\n"
    )
    asked = ("assess", "offline", "--benchmark", "b.jsonl", "--samples", "1", "--json")
    plain = ok(*asked).json
    retrieved = ok(*asked, "--fact-judge", "fc.py:judge:basic").json
    assert (plain["facts"], retrieved["facts"]) == ("fact-check:basic", "fact-check-retrieval:basic")
    calls = [one["spend"]["total"]["calls"] for one in (plain, retrieved)]
    assert calls[1] == calls[0] + 1  # what was found wrong is checked again, against a passage
    wrong = cli(*asked, "--fact-judge", "fect:basic")
    assert (wrong.code, "fect:basic does not check facts" in wrong.err) == (2, True)
    for option in (("--calibration", "cognibench-mini"), ("--strictness", "rational")):
        refused = cli(*asked, *option)
        assert (refused.code in (1, 2), option[0] in refused.err, refused.out) == (True, True, "")


def test_so_many_of_each_cell_are_drawn_at_random(tmp_path: Path) -> None:
    row = {"query": "Name two.", "constraints": list(COMPLETE), "task": "fact", "topic": "tech"}
    names = [f"{difficulty}{number}" for difficulty in ("easy", "hard") for number in range(20)]
    path = tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps({**row, "id": name, "difficulty": name[:4]}) + "\n" for name in names))
    drawn = [[one.id for one in read_questions(str(path), 5, seed)] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] != names[:5] + names[20:25]
    assert [sum(name.startswith(cell) for name in drawn[0]) for cell in ("easy", "hard")] == [5, 5]
    assert len(read_questions(str(path), 150)) == 40
