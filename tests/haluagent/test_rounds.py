"""``jurist table haluagent-3``: the rounds of a compiled version, on the documents that were sealed."""

import json

import pytest
from small import cli

from jurist.papers.haluagent.rounds import best_after


def row(name, step, value, cases=4):
    return {"candidate": name, "step": step, "dev": {"cases": cases, "value": value}}


@pytest.mark.parametrize(
    ("history", "best"),
    [
        ([row("a", 0, 0.5)], ["a"]),
        ([row("a", 0, 0.5), row("b", 1, 0.4)], ["a", "a"]),
        ([row("a", 0, 0.1), row("b", 1, 0.4), row("c", 1, 0.6), row("d", 3, 0.9)], ["a", "c", "c", "d"]),
        ([row("a", 0, 0.1), row("b", 1, 0.9, cases=1), row("c", 1, None, cases=0)], ["a"]),
    ],
)
def test_the_best_on_dev_after_each_round(history, best):
    assert [one["candidate"] for one in best_after(history)] == best


def test_a_compiled_version_has_a_table_and_a_diff(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JURIST_STORE", raising=False)
    few = ("--split", "20/20/60", "--set", "rewrites=2", "--set", "rounds=2", "--max-calls", "3000")
    compile_it = ("compile", "haluagent", "--gold", "haluagent-docs", "--optimizer", "cfaith", "--force")
    made = cli(*compile_it, *few, "--json")
    assert made.code == 0, made.err
    scores = made.json["scores"]
    done = cli("table", "haluagent-3", "haluagent@1", "--gold", "haluagent-docs", "--json")
    assert done.code == 0, done.err
    rounds = done.json["rounds"]
    assert [one["round"] for one in rounds] == list(range(len(rounds)))
    assert rounds[0]["rates"]["overall"] == pytest.approx(scores["basic"]["validation_rate"]["value"])
    assert rounds[-1]["dev"] >= rounds[0]["dev"]
    assert "+++ haluagent@1" in done.json["diff"]
    assert json.dumps(done.json["spend"])
    refused = cli("table", "haluagent-3", "haluagent:basic", "--gold", "haluagent-docs")
    assert refused.code == 2
    assert "has no rounds" in refused.err
