"""The fact check: votes, retrieval over local files, and the second verification."""

import json
from pathlib import Path
from typing import Any

import pytest

from jurist.papers.faithqa.retrieval import Corpus, index_corpus
from jurist.programs.faithqa.judges import DRAWS, FACT_CHECK
from jurist.programs.faithqa.programs import CheckThenRetrieve

from .test_judges import Scripted

ASKED = {"query": "Name a river of Peru.", "response": "The Thames flows through Peru."}


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    rows = [
        {
            "id": "1",
            "title": "england",
            "text": "The Thames is a river in England.\n\nIt flows through London.",
        },
        {"id": "2", "title": "Peru", "text": "The Marañón is a river of Peru."},
        {"id": "3", "title": "中国", "text": "长江是中国最长的河流。"},
    ]
    (tmp_path / "wiki.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    return str(tmp_path / "wiki.jsonl")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("which river in England", "england: The Thames is a river in England. It flows through London."),
        ("river of Peru", "Peru: The Marañón is a river of Peru."),
        ("最长的河流", "中国: 长江是中国最长的河流。"),
    ],
)
def test_passages_are_found(corpus: str, query: str, first: str) -> None:
    assert index_corpus(corpus).search(query)[0] == first
    assert index_corpus(corpus).search("volcano lava") == [] == index_corpus(corpus).search("")


def checking(verdicts: list[Any], again: list[Any], corpus: str = "") -> tuple[Any, CheckThenRetrieve]:
    program = CheckThenRetrieve(Corpus(corpus) if corpus else None)
    program.check = Scripted(*({"verdict": one} for one in verdicts))
    program.verify = Scripted(*({"verdict": one} for one in again))
    return program(**ASKED), program


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (["accurate"] * 5, "accurate"),
        (["accurate", "inaccurate", "inaccurate", "incomplete", "inaccurate"], "inaccurate"),
        (["incomplete", "accurate", "accurate", "incomplete", None], "incomplete"),  # the earliest of two
        ([None] * 5, None),
    ],
)
def test_the_most_frequent_of_five_draws_counts(verdicts: list[Any], said: str | None) -> None:
    found, program = checking(verdicts, [])
    assert found.verdict == said
    assert len(program.check.asked) == DRAWS == FACT_CHECK.calls


def test_only_an_error_is_checked_again_against_passages(corpus: str) -> None:
    found, program = checking(["inaccurate"] * 5, ["accurate"], corpus)
    assert found.verdict == "accurate"
    (asked,) = program.verify.asked
    assert asked["report"] == "inaccurate"
    assert any("Thames" in passage for passage in asked["passages"])
    found, program = checking(["accurate"] * 5, [], corpus)
    assert (found.verdict, program.verify.asked) == ("accurate", [])
