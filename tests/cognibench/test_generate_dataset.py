"""From dialogues to labelled gold, CogniBench-L, by ``jurist run`` and ``jurist gold dynamics``; and the figures."""

from pathlib import Path
from typing import Any

import pytest
from small import cli, ok, read_jsonl, write_jsonl
from talks import docs

from jurist.errors import GoldError
from jurist.gold.goldset import Gold
from jurist.papers.cognibench.statistics import dynamics
from jurist.papers.cognibench.turns import Labelled, labelled_gold
from jurist.programs.cognibench import COGNIBENCH


def dialogue(name: str, *texts: str, group: str = "") -> dict[str, Any]:
    turns = [
        {"role": role, "content": content}
        for number, text in enumerate(texts)
        for role, content in (("user", f"Question {number}?"), ("assistant", text))
    ]
    about = {"id": name, "group": group or name, "reference": f"About {name}: the MILL."}
    return {**about, "turns": turns, "language": "en"}


def labelled(rows: list[dict[str, Any]], labels: list[str | None]) -> list[Labelled]:
    """Label the sentences of dialogues with ``labels`` in turn, from the start again when they run out."""
    gold, place, said = Gold.of(rows, COGNIBENCH, labelled=False), 0, {}
    for case in gold.cases:
        size = len(case.inputs["sentences"])
        said[case.id] = tuple(labels[(place + n) % len(labels)] for n in range(size))
        place += size
    return labelled_gold(gold, said)


def test_dynamics_by_turn_and_by_position() -> None:
    rows = [dialogue(name, "Aa bb. Cc dd. Ee ff. Gg hh. Ii jj.", "Kk ll. Mm nn.") for name in ("a", "b")]
    labels = [*["faithful", "invented", "faithful", "reliable", "speculative", "misleading"], None]
    found = dynamics(labelled(rows, labels))
    first, second = found.by_turn
    assert (first["factual_per_answer"].value, first["cognitive_per_answer"].value) == (3.0, 2.0)
    assert first["cognitive_share"].value == 0.4
    rates = [first[f"hallucinated_{kind}"].value for kind in ("factual", "cognitive")]
    assert rates == [pytest.approx(1 / 3), 0.5]
    assert (second["cognitive_share"].value, second["hallucinated_factual"].value) == (1.0, None)
    assert [row["hallucinated_factual"].value for row in found.by_position] == [0, 1, 0, None, None]
    # of two cognitive hallucinations an answer and a half: one last of five, one first of two
    here = [row["cognitive_hallucinations_here"].value for row in found.by_position]
    assert here == [0, 0.5, 0, 0, 0.5]


@pytest.mark.parametrize("turns", ["x", [], [{"role": "user", "content": "a"}], [{"role": "assistant"}] * 2])
def test_turns_that_do_not_alternate_are_refused_with_their_place(turns: Any) -> None:
    write_jsonl(Path("d.jsonl"), [dialogue("a", "It is."), {**dialogue("b", "It is."), "turns": turns}])
    with pytest.raises(GoldError, match=r"d.jsonl:2, field 'turns"):
        Gold.load("d.jsonl", COGNIBENCH, labelled=False)


def test_dialogues_are_labelled_by_a_run_and_become_gold() -> None:
    write_jsonl(Path("docs.jsonl"), docs(3))
    short = ("--turns", "2", "--words", "20-60")
    ok("generate", "dialogue", "--input", "docs.jsonl", "--output", "d.jsonl", *short)
    ok("run", "cognibench:basic", "--input", "d.jsonl", "--output", "l.jsonl", "--samples", "3")
    lines = read_jsonl(Path("l.jsonl"))
    for line in lines[::2]:  # as if the judge had found something
        line["units"][0]["label"] = "invented"
    write_jsonl(Path("l.jsonl"), lines)
    argv = ("gold", "dynamics", "--gold", "d.jsonl", "--verdicts", "l.jsonl", "--output", "g.jsonl")
    found = ok(*argv, "--json").json
    counted = [found["statistics"][name] for name in ("responses", "conversations", "documents")]
    assert counted == [6, 3, 3]
    assert [row["answers"] for row in found["dynamics"]["by_turn"]] == [3, 3]
    gold = Gold.load("g.jsonl", COGNIBENCH)
    assert [case.gold for case in gold.cases] == [tuple(u["label"] for u in line["units"]) for line in lines]
    assert {case.id for case in gold.cases} == {line["case"] for line in lines}
    again = ok("gold", "dynamics", "--gold", "g.jsonl", "--json").json
    assert again["dynamics"] == found["dynamics"]


@pytest.mark.parametrize("strictness", ["rational", "irrefutable"])
def test_gold_dynamics_of_the_bundled_set(strictness: str) -> None:
    asked = ("gold", "dynamics", "--gold", "cognibench-mini", "--strictness", strictness)
    found = cli(*asked, "--json").json
    gold = Gold.load("cognibench-mini", COGNIBENCH)
    assert found["statistics"]["sentences"] == sum(len(case.gold or ()) for case in gold.cases)
    assert (found["statistics"]["responses"], found["statistics"]["conversations"]) == (84, 28)
    assert [row["answers"] for row in found["dynamics"]["by_turn"]] == [28, 28, 28]
    below = {"rational": {"invented", "misleading"}}.get(
        strictness, {"invented", "misleading", "speculative", "reliable"}
    )
    bad = sum(label in below for case in gold.cases for label in case.gold or ())
    assert found["statistics"]["shares"]["hallucinated"]["count"] == bad
    assert sum(row["hallucinated"]["count"] for row in found["dynamics"]["by_turn"]) == bad
    assert [one.answer.turn for one in labelled_gold(gold)][:3] == [0, 1, 2]
