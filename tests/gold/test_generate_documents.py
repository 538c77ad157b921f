"""Documents, plans, and what an exchange must fulfil."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import write_jsonl
from talks import GOOD, MILL, TEA, exchange_of, plan_of

from jurist.errors import GoldError
from jurist.gold.documents import Document, read_documents
from jurist.gold.sources import read
from jurist.papers.cognibench.dialogues import dialogue_rows
from jurist.programs.dialogue import CHECKS, Range, find_faults

NAMES = ("id", "text", "title", "ent")


def test_a_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "b.md").write_text("# The mill\n\nIt stands.\n", encoding="utf-8")
    (tmp_path / "in" / "deep" / "a_tea.txt").write_text(TEA, encoding="utf-8")
    (tmp_path / "in" / "notes.pdf").write_bytes(b"%PDF")
    (tmp_path / "in" / "about.json").write_text('{"licence": "CC0"}')
    first, second = read_documents(tmp_path / "in")
    assert (first.id, first.title, first.text, first.language) == ("b", "The mill", "It stands.", "en")
    assert (second.id, second.title, second.text, second.language) == ("deep/a_tea", "a tea", TEA, "zh")
    (tmp_path / "in" / "blank.md").write_text(" \n")
    with pytest.raises(GoldError, match=r"hold nothing: 1 of 3; remove .*blank.md"):
        read_documents(tmp_path / "in")


def test_rows_with_text_or_reference() -> None:
    write_jsonl(
        Path("d.jsonl"),
        [{"text": MILL, "title": "T"}, {"id": 7, "reference": TEA, "topic": "tea"}, {"text": MILL}],
    )
    first, second = read_documents("d.jsonl")  # the third is the first again
    assert (first.title, first.source, second.id, second.topic) == ("T", "d.jsonl:1", "7", "tea")


def test_the_references_of_gold_are_documents_called_by_their_groups() -> None:
    bundled = read_documents("cognibench-mini")
    rows = [row for _, row in read("cognibench-mini").rows]
    assert {one.text for one in bundled} == {row["reference"].strip() for row in rows}
    assert {one.id for one in bundled} == {row["group"] for row in rows}
    about = {"question": "Q?", "sentences": ["S."]}
    write_jsonl(
        Path("gold.jsonl"),
        [
            {"id": "a_0", "group": "doc 1", "reference": MILL, **about},
            {"id": "a_1", "group": "doc 1", "reference": MILL, **about},
            {"id": "b_0", "group": "other", "reference": MILL, **about},
            {"id": "c_0", "group": "doc 1", "reference": TEA, **about},
            {"id": "d_0", "reference": GOOD, **about},
        ],
    )
    one, two, three = read_documents("gold.jsonl")
    assert [(one.id, one.text), two.text, three.text] == [("doc 1", MILL), TEA, GOOD]
    assert two.id.startswith("doc 1-")  # another text of the same group
    assert three.id == "d_0"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        *(({"text": MILL, name: "\ud83d"}, f", field '{name}': it holds half a character") for name in NAMES),
        *((row, ".* no text") for row in ({"id": "a"}, {"text": 3})),
    ],
)
def test_unusable_rows_are_refused_with_their_place(row: dict[str, Any], said: str) -> None:
    Path("docs.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(GoldError, match=f"docs.jsonl:1{said}"):
        read_documents("docs.jsonl")


@given(
    st.lists(st.text("abcde", min_size=1, max_size=4), unique=True, min_size=1, max_size=6),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 99),
)
def test_a_new_document_changes_no_other_dialogue(names: list[str], low: int, more: int, seed: int) -> None:
    documents = [Document(id=name, text=name) for name in names]
    turns = Range(low, low + more)
    every = dialogue_rows(documents, seed, turns=turns, words=Range(40, 200))
    assert [plan["id"] for plan in every] == names
    assert all(turns.low <= plan["turns"] <= turns.high for plan in every)
    assert dialogue_rows(documents[:-1], seed, turns=turns, words=Range(40, 200)) == every[:-1]


def test_a_dialogue_is_in_the_language_of_its_document() -> None:
    assert plan_of(TEA)["language"] == "zh"


@pytest.mark.parametrize(
    ("user", "assistant", "fault"),
    [
        ("What is the mill?", GOOD, ""),
        ("", GOOD, "user's message is empty"),
        ("What is the mill?", " ", "assistant's message is empty"),
        ("What is the mill?", f"{GOOD}\nUser: And then?", "another speaker"),
        ("<user> What is it?", GOOD, "another speaker"),
        ("What is the mill?", "Hello there.", "has 2 words; write a longer one, between 5 and 60 words"),
        ("What is the mill?", GOOD * 5, "shorter"),
        ("磨坊是什么？", GOOD, "user's message is not in English"),
        ("What is the mill?", "磨坊建于一八三二年，有两个水轮。", "not in English"),
        ("What is it?", "Penguins are birds that swim well, in the far south of the world.", "hardly uses"),
        ("Was the Dunlow mill built in 1832?", "Yes, the Dunlow mill was built in 1832.", "hardly uses"),
        ("Well, tell me more, " * 40, GOOD, "too long"),
        ("Asked already?", GOOD, "said before"),
    ],
)
def test_what_an_exchange_must_fulfil(user: str, assistant: str, fault: str) -> None:
    turns = [{"role": "user", "content": "Asked  already?"}, {"role": "assistant", "content": "x"}]
    wrong = next(find_faults(exchange_of(), turns, user, assistant), None)
    assert wrong is None or wrong.check in CHECKS
    found = wrong.complaint if wrong else ""
    assert (fault in found) if fault else not found


def test_a_copy_of_the_reference_is_none() -> None:
    (fault,) = find_faults(exchange_of(words=Range(5, 300)), [], "What is the mill?", "Gladly. " + MILL)
    assert fault.check == "grounded"
    assert "copies the whole reference" in fault.complaint
