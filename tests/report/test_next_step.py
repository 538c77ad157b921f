"""The command that is named after a decision: one rule for each outcome."""

import pytest

from jurist.keeping.card_parts import NOTHING_BETTER
from jurist.report.next_step import NextStep, Outcome, choose_next_step

OPEN = "not shown to be better"
GOLD, STORE = "--gold labels.csv --store kept", " --store kept"
RULES: dict[str, tuple[dict[str, object], str, str]] = {
    "nothing better was found": (
        {"verdict": NOTHING_BETTER},
        f"jurist evaluate fect:basic {GOLD} --verbose",
        "what the basic prompt gets wrong",
    ),
    "better": (
        {"verdict": "better", "gains": True},
        "jurist run fect@1 --input new.csv --output judged.jsonl --store kept",
        "new rows",
    ),
    "better, and words that may decide are better": (
        {"verdict": "better", "gains": True, "words_are": "better"},
        "jurist run fect@1 --input new.csv --output judged.jsonl --store kept",
        "new rows",
    ),
    "better, and words that were kept out are better": (
        {"verdict": "better", "gains": True, "words_are": "better", "words_may_decide": False},
        f"jurist compile fect {GOLD}",
        "without --no-words: a regression on words is better",
    ),
    "better, and words that were kept out are level": (
        {"verdict": "better", "gains": True, "words_are": "not told apart", "words_may_decide": False},
        "jurist run fect@1 --input new.csv --output judged.jsonl --store kept",
        "new rows",
    ),
    "not shown, and labels where the two differ can show it": (
        {"verdict": OPEN, "gains": True, "labels_to_prove": 60},
        "jurist prove fect@1 --rows new.jsonl --labels 60 --store kept",
        "60 labels on rows that nobody labelled",
    ),
    "not shown, and words that were kept out are level": (
        {"verdict": OPEN, "gains": True, "words_are": "not told apart", "words_may_decide": False},
        f"jurist compile fect {GOLD}",
        "asks no model",
    ),
    "not shown, and words may decide on groups that stay apart": (
        {
            "verdict": OPEN,
            "words_are": "not told apart",
            "words_may_decide": False,
            "split_option": " --keep-groups",
        },
        f"jurist compile fect {GOLD} --keep-groups",
        "asks no model",
    ),
    "not shown, and more gold can show it": (
        {"verdict": OPEN, "gains": True, "labels_in_all": 800},
        "jurist gold plan fect@1 --store kept",
        "about 800 labels in all",
    ),
    "not shown, and no gold below 2,000 labels can": (
        {"verdict": OPEN, "gains": True},
        "jurist gold plan fect@1 --store kept",
        "even 2,000 would mostly not show",
    ),
    "shown over basic, not over a constant answer": (
        {"verdict": OPEN, "gains": True, "is_shown": True},
        f"jurist evaluate fect@1 {GOLD} --verbose",
        "what it gets wrong",
    ),
    "not shown, and no gain": (
        {"verdict": OPEN},
        f"jurist evaluate fect@1 {GOLD} --verbose",
        "what it gets wrong",
    ),
    "worse": ({"verdict": "worse"}, f"jurist evaluate fect@1 {GOLD} --verbose", "what it gets wrong"),
    "a generator that is not better": (
        {"verdict": OPEN, "gains": True, "generates": True},
        "jurist compile fect --gold more.jsonl --store kept",
        "more documents",
    ),
    "a generator that is better": (
        {"verdict": "better", "generates": True},
        "jurist run fect@1 --input new.csv --output judged.jsonl --store kept",
        "new rows",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_each_outcome_has_one_next_step(name: str) -> None:
    parts, command, reason = RULES[name]
    step = choose_next_step(Outcome(ref="fect@1", judge="fect", **parts), GOLD, STORE)  # type: ignore[arg-type]
    assert isinstance(step, NextStep)
    assert step.command == command
    assert reason in step.reason
    assert step.words == f"next: {command} ({step.reason})"
