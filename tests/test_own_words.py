"""Prompts and data are in our own words: no run of words of theirs is one of the four papers'."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAPERS = ROOT.parent / "shared" / "papers"
OURS = ("signatures/*.py", "programs/**/*.py", "programs/**/*.toml", "papers/**/*.toml", "datasets/*/*.jsonl")
RUN, HAN_RUN = 10, 12  # words, Chinese characters


def runs(text: str) -> Iterator[str]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    yield from (" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1))
    han = "".join(re.findall(r"[\u4e00-\u9fff]", text))
    yield from (han[at : at + HAN_RUN] for at in range(len(han) - HAN_RUN + 1))


@pytest.mark.skipif(not PAPERS.is_dir(), reason="the text of the papers is not here")
def test_no_sentence_is_a_papers() -> None:
    theirs = {run for paper in PAPERS.glob("*.txt") for run in runs(paper.read_text("utf-8"))}
    assert theirs
    found = {
        f"{path.relative_to(ROOT)}: {run}"
        for pattern in OURS
        for path in ROOT.glob(pattern)
        for run in runs(path.read_text("utf-8"))
        if run in theirs
    }
    assert not found
