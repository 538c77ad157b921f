"""The ledger of openings: edited rows are the same, other labels another question, new rows at their first opening."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jurist.cases import Case
from jurist.jobs.openings import Openings

WORDS = [
    first + second
    for first in ("par", "vel", "cop", "gla", "lan", "mor")
    for second in ("cel", "dow", "tern", "nut", "ice")
]
POLICIES = 3


def text(drawn: random.Random, words: int) -> str:
    return " ".join(drawn.choice(WORDS) for _ in range(words)).capitalize() + "."


def rows_of(count: int, seed: int = 0, *, values: str = "yes no", words: int = 12) -> list[Case]:
    """Return rows of a few shared policies, a question and a reply each."""
    drawn = random.Random(seed)
    policies = [text(drawn, 30) for _ in range(POLICIES)]
    return [
        Case(
            inputs={
                "policy": policies[n % POLICIES],
                "question": text(drawn, words),
                "reply": text(drawn, words),
            },
            group=f"g{seed}-{n}",
            gold=(drawn.choice(values.split()),),
        )
        for n in range(count)
    ]


def edited(cases: list[Case], edit: Callable[[dict[str, Any]], dict[str, Any]]) -> list[Case]:
    return [Case(inputs=edit(dict(case.inputs)), group=case.group, gold=case.gold) for case in cases]


def relabelled(cases: list[Case], label: Callable[[Case], Any]) -> list[Case]:
    return [Case(inputs=case.inputs, group=case.group, gold=(label(case),)) for case in cases]


def numbers(ledger: Openings, cases: list[Case], *prompts: str) -> set[int]:
    return {row.number for row in ledger.of(cases, prompts)}


@pytest.fixture
def ledger(tmp_path: Path) -> Openings:
    return Openings(tmp_path / "openings.jsonl")


EDITS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "nothing": lambda row: row,
    "inputs swapped": lambda row: {
        "policy": row["reply"],
        "question": row["question"],
        "reply": row["policy"],
    },
    "inputs renamed": lambda row: {f"the_{name}": value for name, value in row.items()},
    "an input added": lambda row: {
        **row,
        "channel": "e-mail",
        "note": f"{len(row['reply'])} letters in all of it",
    },
    "an input removed": lambda row: {"question": row["question"], "reply": row["reply"]},
    "a prefix of what is short": lambda row: {
        **row,
        "question": f"The question of the customer: {row['question']}",
    },
    "a signature": lambda row: {
        **row,
        "reply": f"{row['reply']}\n-- \nKind regards, the team of the shop at the bridge",
    },
    "capitals and spaces": lambda row: {
        name: value.upper().replace(" ", "  ") for name, value in row.items()
    },
    "texts in lists": lambda row: {**row, "reply": row["reply"].split(" ")},
    "another policy": lambda row: {
        **row,
        "policy": "Nothing is ever sent back, whatever it is and whoever asks.",
    },
}


SHORT = ("nothing", "inputs swapped", "inputs renamed", "capitals and spaces", "texts in lists")
"""Edits after which a row of short texts is known again: it is known by all of its own texts."""


@pytest.mark.parametrize(("name", "words"), [*((name, 12) for name in EDITS), *((name, 2) for name in SHORT)])
def test_edited_rows_are_the_same_rows(ledger: Openings, name: str, words: int) -> None:
    cases = rows_of(40, words=words)
    ledger.note("compile", cases, ["a"])
    same = edited(cases, EDITS[name])
    random.Random(1).shuffle(same)
    for some in (same, same[:12]):
        assert numbers(ledger, some) == {2}
    assert numbers(ledger, edited(rows_of(40, 1, words=words), EDITS[name])) == {1}


LABELS: dict[str, tuple[Callable[[Case], Any], int]] = {
    "the same": (lambda case: case.gold[0], 2),
    "renamed": (lambda case: {"yes": "ja", "no": "nein"}[case.gold[0]], 2),
    "turned round": (lambda case: {"yes": "no", "no": "yes"}[case.gold[0]], 2),
    "as scores": (lambda case: {"yes": 1.0, "no": 5.0}[case.gold[0]], 2),
    "finer": (lambda case: f"{case.gold[0]} {len(case.inputs['reply']) % 2}", 2),
    "a few corrected": (lambda case: "no" if case.group in ("g0-3", "g0-7") else case.gold[0], 2),
    "all alike, which tells nothing": (lambda case: "yes", 2),
    "of another question": (lambda case: "long" if len(case.inputs["question"]) % 2 else "short", 1),
}


@pytest.mark.parametrize("name", LABELS)
def test_other_labels_on_the_same_texts_are_another_question(ledger: Openings, name: str) -> None:
    label, number = LABELS[name]
    cases = rows_of(80)
    ledger.note("compile", cases, ["a"])
    assert numbers(ledger, relabelled(cases, label)) == {number}


def test_rows_that_were_never_opened_keep_their_level_while_a_set_grows(ledger: Openings) -> None:
    cases = rows_of(100)
    for size in range(20, 101, 20):
        told = ledger.of(cases[:size], [f"prompt {size}"])
        assert {row.number for row in told[size - 20 :]} == {1}
        assert told[0].number == size // 20
        ledger.note("compile", cases[:size], [f"prompt {size}"])


def test_a_prompt_is_counted_once_and_keeps_its_opening(ledger: Openings) -> None:
    cases = rows_of(30)
    ledger.note("compile", cases, ["basic", "one"])
    ledger.note("compile", cases, ["basic", "two"])
    ledger.note("compile", cases, ["basic", "one"])
    for prompts, number in (
        (["basic"], 1),
        (["one"], 1),
        (["two"], 2),
        (["one", "two"], 2),
        (["three"], 3),
        ([], 3),
    ):
        assert {(row.openings, row.number) for row in ledger.of(cases, prompts)} == {(2, number)}


def test_rows_are_kept_once_without_text_or_labels(ledger: Openings) -> None:
    cases = rows_of(30)
    sizes = []
    for prompt in "abc":
        ledger.note("compile", cases, [prompt])
        sizes.append(ledger.path.stat().st_size)
    assert sizes[2] - sizes[0] < 500
    kept = ledger.path.read_text(encoding="utf-8").casefold()
    assert not any(word in kept for word in ("refund", "lantern", "yes"))
    assert numbers(ledger, cases) == {4}


def test_what_cannot_be_read_or_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = Openings(tmp_path / "openings.jsonl")
    cases = rows_of(5)
    assert numbers(ledger, cases) == {1}
    ledger.note("compile", cases, ["a"])
    assert "first use recorded" in capsys.readouterr().err
    with ledger.path.open("a") as file:
        file.write('\n{"at": "2025-01-01", "what": "compile", "rows": ["0123456789abcdef"]}\n{"rows": [')
    assert numbers(ledger, cases) == {2}
    assert capsys.readouterr().err.startswith("2 of the lines in")
    Openings(tmp_path / "openings.jsonl" / "below").note("compile", cases, ["a"])
    assert "this opening is not counted" in capsys.readouterr().err
