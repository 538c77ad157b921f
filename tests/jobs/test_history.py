"""What `jurist artifacts show` says of a search: table, and the prompt from basic to compiled."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from small import Done, claims, cli, ok, read_jsonl, write_jsonl

from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT
from jurist.programs.state import PromptState

PROMPT = PromptState.of(FECT.basic()).with_instruction("self", "New words.\nKept.")
MEMBER = {
    "judge": "fect",
    "reference": "fect:basic",
    "prompt": PROMPT.to_json(),
    "model": {},
    "adapter": "chat",
    "thresholds": {},
    "trust": {"intercept": 0.0, "slope": 0.0, "labels": {}},
}


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def show(*argv: object) -> Done:
    return ok("artifacts", "show", *argv)


def row(candidate: str, calls: int, value: float | None, cases: int = 10) -> Mapping[str, Any]:
    return {
        "candidate": candidate,
        "parent": None if candidate == "a" else "a",
        "source": "basic" if candidate == "a" else "made\x1b[2J of it",
        "step": 0,
        "calls": calls,
        "demo_ids": [],
        "prompt": {"self": {"instructions": "Old words.\nKept.", "demos": []}},
        "train": {"cases": 0, "failed": 0, "value": None},
        "dev": {"cases": cases if value is not None else 0, "failed": 0, "value": value},
        "gain": None if value is None else value - 0.5,
        "estimate": {"value": value, "error": 0.1} if value is not None and cases == 10 else None,
    }


def saved(*rows: Mapping[str, Any], chosen: str = "c", metric: str = "f1") -> None:
    card = {
        "optimizer": {"name": "opro", "candidate": chosen},
        "gold": {"dev": 10},
        "decision": {"metric": metric, "higher_is_better": metric != "mae"},
    }
    Store("compiled").save(FECT, PROMPT, card, list(rows), make_latest=True)


def test_the_table_of_a_real_search_is_the_history() -> None:
    argv = ("compile", "fect", "--gold", "gold.jsonl", "--optimizer", "opro", "--set", "steps=2", "--force")
    card = cli(*argv, "--json").json
    done = show("fect", "--history")
    rows = read_jsonl(Path("compiled/fect/1/history.jsonl"))
    for one in rows:
        (line,) = [line for line in done.results if line.split()[2:3] == [one["candidate"]]]
        assert one["source"] in line
        assert (f"{one['candidate']} *" in line) == (one["candidate"] == card["optimizer"]["candidate"])
        if one["dev"]["cases"] == card["gold"]["dev"]:
            assert one["calls"] <= card["spend"]["calls"]
            assert f"{one['dev']['value']:.3f} on {one['dev']['cases']}" in line
            assert f"{one['gain']:+.3f}" in line
    found = show("fect", "--history", "--json").json
    assert [
        {key: one[key] for key in one if key not in ("chosen", "name")} for one in found["history"]
    ] == rows
    assert [one["candidate"] for one in found["history"] if one["chosen"]] == [card["optimizer"]["candidate"]]


def test_an_error_is_shown_as_it_is_and_not_as_it_is_maximised() -> None:
    saved(row("a", 10, -2.0), row("b", 30, -0.5), row("c", 50, -1.0), metric="mae")
    assert "0.500 on 10" in show("fect@1", "--history").out


def test_the_diff_is_from_the_prompt_that_was_compiled() -> None:
    saved(row("a", 10, 0.5), row("c", 60, 0.8))
    text = cli("artifacts", "diff", "fect:basic", "fect").out
    assert text.startswith("--- fect:basic\n+++ fect@1\n")
    assert text.splitlines()[2:5] == ["## self: instruction", "[-Old-]{+New+} words.", "Kept."]


@pytest.mark.parametrize(
    ("card", "history", "reason", "next_command"),
    [
        (
            {"optimizer": {"name": "by hand", "candidate": "c"}},
            [{"candidate": "c", "source": "by hand"}],
            "a person wrote its instruction",
            "jurist compile fect --gold FILE --start fect@1",
        ),
        (
            {"optimizer": {"name": "race", "candidate": "c", "chosen_from": "fect@7"}, "parent": 7},
            [{"candidate": "c", "source": "forget"}],
            "it was made of fect@7 without a search",
            "jurist artifacts show fect@7 --rounds",
        ),
        (
            {
                "cascade": {
                    "level": 0.9,
                    "members": [MEMBER],
                }
            },
            [],
            "it is a cascade",
            "jurist artifacts show fect@1",
        ),
        (
            {"optimizer": {"name": "race", "candidate": "c"}},
            [row("a", 0, None), row("c", 0, None)],
            "no prompt was scored on dev",
            "jurist artifacts show fect@1 --history",
        ),
    ],
)
def test_a_version_without_rounds_says_why_in_place_of_an_empty_table(
    card: Mapping[str, Any], history: list[Mapping[str, Any]], reason: str, next_command: str
) -> None:
    Store("compiled").save(FECT, PROMPT, card, history, make_latest=True)
    printed = show("fect@1", "--rounds").results
    assert printed[0].startswith(f"fect@1 has no rounds: {reason}")
    assert "\n".join(printed).endswith(f"next: {next_command}")
    assert show("fect@1", "--rounds", "--json").json["rounds"] == []
    history_lines = show("fect@1", "--history").results
    assert len(history_lines) > 2 or not history


def test_only_a_table_with_a_star_explains_it() -> None:
    saved(row("a", 10, 0.5), row("c", 60, 0.8))
    saved(row("a", 10, 0.5), row("b", 60, 0.8), chosen="of another search")
    for option in ("--history", "--rounds"):
        assert "(* became the artifact)" in show("fect@1", option).out
        assert "*" not in show("fect@2", option).out
