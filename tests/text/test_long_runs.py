"""Texts that repeat one thing are read in one pass: what began again at every place of them would take an hour."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jurist.engines.offline.objects import _CLAUSE
from jurist.engines.offline.shapes import _RANGE, _described_labels
from jurist.gold.documents import read_documents
from jurist.papers.haluagent.assess import read_choice, read_truth
from jurist.programs.dialogue import _ROLE
from jurist.programs.faithqa.offline import _LABEL, conditions, missing_parts
from jurist.programs.faithqa.writing import _FIXED_WORDS

N = 300_000


def titled(text: str) -> list[tuple[str, str]]:
    Path("a.md").write_text(text, "utf-8")
    return [(one.title, one.text) for one in read_documents("a.md")]


READ: list[tuple[str, Callable[[], Any], Any]] = [
    ("stars", lambda: read_choice("*" * N + "x", ["one", "two", "three", "four"]), None),
    ("adjectives", lambda: read_truth("the answer is " * N + "true"), None),
    ("heading", lambda: titled("# A title" + " " * N + "\nrest"), [("A title", "rest")]),
    ("heading goes on", lambda: len(titled("#  A" + " " * N + "b \nrest")[0][0]), N + 2),
    (
        "clauses",
        lambda: _CLAUSE.split("one - two, and\tthree" + " " * N + "four"),
        ["one", "two", "", f"\tthree{' ' * N}four"],
    ),
    ("labels", lambda: _LABEL.search("\n" * N + "Article 2 : x")["number"], "2"),  # type: ignore[index]
    ("numbered labels", lambda: missing_parts("article 999999999999: a"), []),
    ("bans", lambda: len(conditions("not a, " * N)), N),
    ("one of", lambda: _described_labels("one of yes, no or" + " " * N + "maybe."), ("yes", "no", "maybe")),
    ("one of; parts", lambda: _described_labels("one of yes;" + " " * N + "or no."), ("yes", "no")),
    ("digits", lambda: _RANGE.search("1" * N + " 2 to 3")[0], "2 to 3"),  # type: ignore[index]
    ("role", lambda: _ROLE.search("<" + "\n" * N), None),
    ("role below", lambda: _ROLE.search("\n" * N + " user :")[0], " user :"),  # type: ignore[index]
    ("open quotation", lambda: _FIXED_WORDS.findall("“" * N + "so”"), ["“so”"]),
]


@pytest.mark.parametrize(("read", "found"), [one[1:] for one in READ], ids=[one[0] for one in READ])
def test_a_long_run_is_read_in_one_pass(read: Callable[[], Any], found: Any) -> None:
    assert read() == found
