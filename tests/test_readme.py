"""What the README says is so: its code is the file it names, its example is better, its links lead somewhere."""

import re
from pathlib import Path

import pytest

import jurist

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["may_send", "reply_score", "reply_preference"])
def test_the_own_judge_is_the_file_and_short(name: str) -> None:
    source = (ROOT / "docs" / f"{name}.py").read_text(encoding="utf-8").strip()
    page = (ROOT / "docs" / "own-judge.md").read_text(encoding="utf-8")
    for text in (TEXT, page):
        assert f'```python title="{name}.py"\n{source}\n```' in text
    assert len(source.splitlines()) < 25


def test_the_house_rule_is_learned_and_proven(tmp_path: Path) -> None:
    """A policy that no basic prompt can know: the paired test shows it, on rows that were not tuned on."""
    judge = jurist.judge(f"{ROOT / 'docs' / 'may_send.py'}:judge")
    gold = jurist.Gold.load("house-rule", judge)
    compiled = jurist.compile(judge, gold=gold, optimizer="fewshot", shares=(0.4, 0.2, 0.4), store=tmp_path)
    decision = compiled.proof.decision
    assert decision.verdict == "better"
    assert decision.p < 0.025
    assert decision.mcnemar.c > decision.mcnemar.b
    assert compiled.latest


def test_no_path_of_a_machine_and_no_missing_file() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
