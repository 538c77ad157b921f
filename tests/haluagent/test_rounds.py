"""``jurist compile haluagent``: the rounds of a search (Table 3), the prompts' diff, how many documents it takes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from small import ok

from jurist.gold.goldset import Gold
from jurist.programs.haluagent.writing import HALUAGENT


def test_all_three_prompts_are_rewritten_and_the_command_prints_the_table_and_the_diff():
    few = ("--set", "rewrites=3", "--set", "rounds=2", "--max-calls", "3000", "--force", "--json")
    made = ok("compile", "haluagent", "--optimizer", "cfaith", *few)
    rounds = made.json["rounds"]
    assert [one["number"] for one in rounds] == list(range(len(rounds)))
    names = ["validation_rate", *(f"{name}_rate" for name in ("answer", "hallucination", "label", "form"))]
    assert all(list(one["rates"]) == names for one in rounds)
    assert rounds[-1]["rates"]["validation_rate"] > rounds[0]["rates"]["validation_rate"]
    (history,) = Path("compiled").glob("haluagent/1/history.jsonl")
    rows = {row["candidate"]: row for row in map(json.loads, history.read_text().splitlines())}
    for one in rounds:
        assert rows[one["candidate"]]["dev"]["value"] == pytest.approx(
            one["rates"]["validation_rate"], abs=1e-6
        )
    changed = [row["params"]["predictors"] for row in rows.values() if row["step"] == 1]
    assert ["hallucinations", "label", "question"] in changed
    assert "+++ haluagent@1" in made.json["diff"]
    assert all(f"## {name}: instruction" in made.json["diff"] for name in ("label", "question"))


def test_at_most_sixty_documents_are_learned_from_and_twenty_selected_on():
    rows = [{"id": f"d{n}", "text": f"Ada {n} was born in Dinant in 18{n:02}."} for n in range(200)]
    Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = HALUAGENT
    split = Gold.load("docs.jsonl", judge).split(3, (0.6, 0.2, 0.2))
    parts = [{case.group for case in part} for part in (split.train, split.dev, split.test)]
    assert [len(part) for part in parts[:2]] == [60, 20]
    assert not parts[0] & parts[1] | parts[2] & (parts[0] | parts[1])
    whole = Gold.load("docs.jsonl", replace(judge, most_groups=None)).split(3, (0.6, 0.2, 0.2))
    assert whole.test == split.test
    assert {case.id for case in split.train} < {case.id for case in whole.train}
