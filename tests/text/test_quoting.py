"""Text of strangers in Markdown stays text: in a paragraph, in a cell, in the page of a store."""

import html
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import basic
from markdown_it import MarkdownIt
from markdown_it.token import Token
from small import ok

from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT
from jurist.text.quoting import in_markdown

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PIECES = st.sampled_from(
    [
        *"\\`*_{}[]<>()#+-.!|&~=:@/ \n\t1a",
        "---",
        "===",
        "[x](y)",
        "![x](y)",
        "[x][y]",
        "[x]: y",
        "<b>",
        "<!--",
    ]
    + [
        "1. ",
        "12) ",
        "&lt;",
        "&#64;",
        "__a__",
        "a_b",
        "~~",
        "```",
        "@org/team",
        "https://a.b",
        "www.a.b",
        "a@b.c",
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=12).map("".join), st.text(max_size=30))
"""Texts with much that means something in Markdown."""
LINKED = re.compile(r"(?i)(?<![a-z0-9])@[a-z0-9]|https?://|ftp://|\bwww\.[^\s\u200b]|[\w.+-]@[\w-]+\.\w|#\d")
"""What GitHub makes a link or a mention of where it is text: of cmark-gfm's autolinks and GitHub's references."""


def shown(tokens: list[Token]) -> str:
    """Return the text of a line, and refuse everything else that Markdown knows."""
    assert {token.type for token in tokens} <= {"text", "text_special"}, tokens
    return "".join(token.content for token in tokens)


def one_line(text: str) -> str:
    return " ".join(text.replace("\x00", "\ufffd").split())


@settings(max_examples=400)
@given(TEXTS)
def test_it_is_shown_as_the_same_text_in_a_paragraph(text: str) -> None:
    tokens = MARKDOWN.parse(in_markdown(text))
    if not one_line(text):
        assert not tokens
        return
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    found = shown(tokens[1].children or [])
    assert found.replace("\u200b", "") == one_line(text).replace("\u200b", "")
    assert not LINKED.search(found)


@settings(max_examples=200)
@given(TEXTS, TEXTS)
def test_it_is_shown_as_the_same_text_in_a_cell(first: str, second: str) -> None:
    tokens = MARKDOWN.parse(f"| a | b |\n|---|---|\n| {in_markdown(first)} | {in_markdown(second)} |\n")
    cells = [shown(token.children or []) for token in tokens if token.type == "inline"]
    for found, text in zip(cells[2:], (first, second), strict=True):
        assert found.replace("\u200b", "") == one_line(text).replace("\u200b", "")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("balanced_accuracy 0.874 [0.809, 0.919]", "balanced_accuracy 0.874 [0.809, 0.919]"),
        ("may-send@1 --model openai/gpt-6-luna (-0.05)", "may-send@1 --model openai/gpt-6-luna (-0.05)"),
        ("[x](javascript:alert(1))", r"[x\](javascript:alert(1))"),
        ("<img src=x onerror=y>", r"\<img src=x onerror=y>"),
        ("a | b", r"a \| b"),
        ("ask @org/team", "ask @&#8203;org/team"),
        ("mail a@b.example", "mail a@&#8203;b.example"),
        ("see https://evil.example/x", "see https:&#8203;//evil.example/x"),
        ("WWW.evil.example", "WWW.&#8203;evil.example"),
        ("fixes org/repo#12", "fixes org/repo#&#8203;12"),
        ("- a", r"\- a"),
        ("1. a", r"1\. a"),
        ("a\n# b", "a # b"),
    ],
)
def test_how_it_is_written(text: str, written: str) -> None:
    assert in_markdown(text) == written


HOSTILE = '<img src="http://evil.example/x.png"> [x](javascript:alert(1)) @org/team | https://evil.example'


def test_the_page_of_a_store_shows_a_strangers_card_as_text() -> None:
    card = {
        "decision": {"verdict": HOSTILE},
        "optimizer": {"name": HOSTILE},
        "model": {"name": f"openai/{HOSTILE}"},
    }
    Store("compiled").save(FECT, basic(FECT), card, [], make_latest=True)
    ok("artifacts", "index", "--output", "README.md")
    tokens = MARKDOWN.parse(Path("README.md").read_text(encoding="utf-8"))
    cells = [token.children or [] for token in tokens if token.type == "inline"]
    row = cells[-6:]
    assert row[0][0].attrs["href"] == "compiled/fect/1/card.json"
    for cell in (row[2], row[3], row[5]):
        text = html.unescape(shown(cell))
        assert HOSTILE in text.replace("\u200b", "")
        assert not LINKED.search(text)
