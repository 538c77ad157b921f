"""What the README says is so: its code is the file it names, its example is better, its links lead somewhere."""

import re
from html import unescape
from pathlib import Path

import pytest

import jurist

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["may_send", "reply_score"])
def test_the_own_judge_is_the_file_and_short(name: str) -> None:
    source = (ROOT / "docs" / f"{name}.py").read_text(encoding="utf-8").strip()
    page = (ROOT / "docs" / "own-judge.md").read_text(encoding="utf-8")
    for text in (TEXT, page) if name == "may_send" else (page,):
        assert f'```python title="{name}.py"\n{source}\n```' in text
    assert len(source.splitlines()) < 25


def test_the_picture_of_a_terminal_is_the_example_of_the_readme() -> None:
    picture = (ROOT / "docs" / "images" / "terminal-100.svg").read_text(encoding="utf-8")
    texts = [unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", picture, re.DOTALL)]
    shown = " ".join(" ".join(texts).replace("\u2502", " ").split())
    example = TEXT.partition("```text\ndecision:")[2].partition("```")[0]
    missing = [line for line in example.splitlines() if " ".join(line.split()) not in shown]
    assert missing == []


def test_what_only_the_labels_show_is_learned_and_proven(tmp_path: Path) -> None:
    """The basic prompt is better than any constant answer, and compiled is shown to be better than that prompt."""
    judge = jurist.judge(f"{ROOT / 'docs' / 'may_send.py'}:judge")
    gold = jurist.Gold.load("support-desk", judge)
    search = {"optimizer": "fewshot", "options": {"steps": 6}}  # as many as show it
    compiled = jurist.compile(judge, gold=gold, **search, shares=(0.3, 0.2, 0.5), store=tmp_path)
    decision = compiled.proof.decision
    assert decision.verdict == "better"
    assert decision.p < 0.025
    assert decision.mcnemar.c > decision.mcnemar.b
    assert compiled.latest


@pytest.mark.parametrize(
    ("name", "gold", "metric"),
    [
        ("may_send", "support-desk", "accuracy"),
        ("reply_score", "reply-score", "mae"),
        ("reply_preference", "reply-preference", "accuracy"),
    ],
)
def test_the_basic_prompts_are_better_than_any_constant_answer(name: str, gold: str, metric: str) -> None:
    path = f"{ROOT / 'docs' / name}.py:judge"
    answers = [case.gold[0] for case in jurist.Gold.load(gold, jurist.judge(path)).cases]
    measured = jurist.evaluate(f"{path}:basic", gold)[metric]
    if metric == "mae":
        best = min(sum(abs(answer - one) for answer in answers) for one in range(1, 6)) / len(answers)
        assert measured.interval.high < best
    else:
        assert measured.interval.low > max(answers.count(one) for one in answers) / len(answers)


def test_no_path_of_a_machine_and_no_missing_file() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
