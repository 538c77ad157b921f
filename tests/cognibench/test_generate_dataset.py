"""``jurist generate cognibench-l`` and ``jurist gold dynamics``: the format, the way back, the figures."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small import cli, ok, read_jsonl, tree, write_jsonl
from talks import docs

from jurist.errors import GoldError
from jurist.evaluation.intervals import Share
from jurist.gold.goldset import Gold
from jurist.papers.cognibench.dataset import write_dataset
from jurist.papers.cognibench.statistics import dynamics
from jurist.papers.cognibench.turns import Labelled, answers_of, labelled_gold
from jurist.programs.cognibench import COGNIBENCH
from jurist.signatures.cognibench import LABELS

ABOUT = {"generator": "g", "judge": "j", "judge_model": "m", "samples": 1, "threshold": 1}
FIRST, SECOND = "The mill is old. It is old. The mill is old.", "Mills matter. So it goes. 1832 was dry. Yes!"
MAKING = ("generate", "cognibench-l", "--input", "docs.jsonl")


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
    found, place = [], 0
    for answer in (one for row in rows for one in answers_of(row)):
        mine = tuple(labels[(place + n) % len(labels)] for n in range(len(answer.sentences)))
        place += len(mine)
        found.append(Labelled(answer=answer, labels=mine))
    return found


def as_cases(found: list[Labelled]) -> dict[str, tuple[str, tuple[str | None, ...]]]:
    return {COGNIBENCH.case(one.answer.row()).id: (one.answer.group, one.labels) for one in found}


SENTENCES = (
    "The mill is old.|It is.|it is.|Is it old?|1. A wheel.|水车很旧。|ÉTÉ, İ!|<b> x.|It is ÅNGSTRÖM İ. Odd."
)
TEXT = st.lists(st.sampled_from(SENTENCES.split("|")), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(TEXT, min_size=1, max_size=3),
    st.lists(st.sampled_from([*LABELS, None]), min_size=2, max_size=7),
    st.data(),
)
def test_the_way_back_is_exact_for_any_labels(
    tmp_path: Path, texts: list[str], labels: list[str | None], data: st.DataObject
) -> None:
    found = labelled(
        [dialogue("doc_1", *texts), dialogue("doc_2", *texts, group="doc_1")],
        [*labels, "faithful", "invented"],
    )
    folder = tmp_path / data.draw(st.uuids()).hex
    write_dataset(folder, found, about=ABOUT)
    wanted = {key: value for key, value in as_cases(found).items() if any(value[1])}
    try:
        gold = Gold.load(folder / data.draw(st.sampled_from(("", "responses.jsonl"))), COGNIBENCH)
    except GoldError as error:  # the only refusal there may be
        assert "no positive" in str(error) or "no negative" in str(error) or not wanted  # noqa: PT017
        return
    assert {case.id: (case.group, case.gold) for case in gold.cases} == wanted


def test_the_authors_own_fields_say_the_same() -> None:
    found = labelled([dialogue("a", SECOND)], ["speculative", "irrelevant", "invented", "irrefutable"])
    write_dataset(Path("d"), found, about=ABOUT)
    labels = json.loads(Path("d/labels.json").read_text(encoding="utf-8"))
    entry = labels["a_0"]
    assert entry["sentence_label_dict"]["mills matter."] == [["rational"], 0]
    assert entry["sentence_label_dict"]["yes!"] == [["rational", "grounded", "unequivocal"], 3]
    assert entry["hallu_list"] == ["Mills matter.", "1832 was dry."]
    assert entry["factual_hallu_list"] == ["1832 was dry."]
    assert entry["cognitive_hallu_list"] == ["Mills matter."]
    (turn,) = json.loads(Path("d/dialogues.json").read_text(encoding="utf-8"))
    assert turn["current_turn"] == f"<user> Question 0?\n\n<assistant> {SECOND}"
    assert turn["current_turn_processed"].split("\n")[0] == "Mills matter.<>"
    counted = (turn["turn_index"], turn["num_spaces"], turn["num_irrelevant"], turn["language"])
    assert counted == (0, 4, 1, "english")
    del entry["sentences"]  # as a file of theirs
    Path("d/labels.json").write_text(json.dumps(labels), encoding="utf-8")
    (case,) = Gold.load("d", COGNIBENCH).cases
    assert (case.inputs["sentences"], case.gold) == (list(found[0].answer.sentences), found[0].labels)


def test_datasets_loads_the_folder() -> None:
    import datasets

    found = labelled([dialogue("a", FIRST, SECOND), dialogue("b", SECOND)], [*LABELS, None])
    write_dataset(Path("d"), found, about=ABOUT)
    folder, cache = (str(Path(name).resolve()) for name in ("d", "cache"))
    loaded = datasets.load_dataset(folder, split="train", cache_dir=cache)
    assert loaded["id"][:] == ["a_0", "a_1", "b_0"]
    assert [tuple(row) for row in loaded["labels"]] == [one.labels for one in found]
    assert loaded[1]["history"][0] == {"role": "user", "content": "Question 0?"}


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
    lines = found.to_csv().splitlines()
    assert lines[0].startswith("table,place,measure,value,low,high")
    assert len(lines) == 1 + 2 * 6 + 5 * 4


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.integers(0, 3), st.integers(0, 3)).map(
            lambda t: (t[0], min(t[1:]), max(t[1:]))
        ),
        max_size=20,
    )
)
@settings(max_examples=60)
def test_shares_are_ratios_of_sums(items: list[tuple[str, int, int]]) -> None:
    found = Share.over(items)
    whole = sum(of for _, _, of in items)
    assert found.value == (sum(part for _, part, _ in items) / whole if whole else None)
    assert (found.low is None) == (found.high is None)
    if found.low is not None and found.high is not None:
        assert 0 <= found.low <= found.high <= 1
    groups = {group for group, _, of in items if of}
    assert found.groups == len(groups)
    assert (found.low is None) == (len(groups) < 2)


def test_the_command_labels_every_turn_and_resumes() -> None:
    write_jsonl(Path("docs.jsonl"), docs(3))
    argv = (*MAKING, "--turns", "2", "--samples", "3", "--words", "20-60")
    whole = ok(*argv, "--output", "whole", "--json")
    total = whole.json["spend"]["total"]["calls"]
    for limit in (3, 9):  # while writing, and while labelling
        stopped = cli(*argv, "--output", "d", "--max-calls", limit, "--resume")
        assert (stopped.code, f"{limit} paid answers" in stopped.err) == (1, True)
    again = cli(*argv, "--output", "d", "--resume", "--json")
    spend = again.json["spend"]
    assert (spend["total"]["calls"], spend["total"]["replayed"]) == (total - 9, 9)
    assert {"generator", "judge"} < set(spend)
    assert tree(Path("d")) == tree(Path("whole"))
    assert cli(*argv, "--output", "d", "--resume", "--json").json["done_before"] is True
    assert cli(*argv, "--output", "d").code == 2
    assert "another job" in cli(*argv, "--output", "d", "--resume", "--seed", "1").err
    rows = {row["id"]: row for row in read_jsonl(Path("d/responses.jsonl"))}
    statistics = json.loads(Path("d/statistics.json").read_text(encoding="utf-8"))
    assert (statistics["responses"], statistics["conversations"]) == (6, 3)
    assert statistics["labels"] == {
        **dict.fromkeys(LABELS, 0),
        **Counter(x for row in rows.values() for x in row["labels"] if x),
    }
    # Offline a reference's own sentences are told, and the judge finds nothing in them.
    assert {label for row in rows.values() for label in row["labels"]} == {"faithful"}
    refused = cli("gold", "dynamics", "--gold", "d")
    assert (refused.code, "there is no positive one" in refused.err) == (1, True)


def test_a_folder_of_other_dialogues_and_a_judge_of_another_kind_are_refused() -> None:
    write_jsonl(Path("docs.jsonl"), docs(1))
    Path("d").mkdir()
    Path("d/dialogues.json").write_text("[]", encoding="utf-8")
    for options, said in (
        (("d",), "not ours"),
        (("e", "--judge", "fect:basic"), "does not label the sentences"),
    ):
        done = cli(*MAKING, "--output", *options)
        assert (done.code, said in done.err) == (2, True)
    assert Path("d/dialogues.json").read_text(encoding="utf-8") == "[]"


def test_gold_dynamics_of_the_bundled_set() -> None:
    found = cli("gold", "dynamics", "--gold", "cognibench-mini", "--csv", "t.csv", "--json").json
    gold = Gold.load("cognibench-mini", COGNIBENCH)
    assert found["statistics"]["sentences"] == sum(len(case.gold or ()) for case in gold.cases)
    assert (found["statistics"]["responses"], found["statistics"]["conversations"]) == (84, 28)
    assert [row["answers"] for row in found["dynamics"]["by_turn"]] == [28, 28, 28]
    assert [one.answer.turn for one in labelled_gold(gold)][:3] == [0, 1, 2]
    assert Path("t.csv").is_file()
    assert "**by turn" in cli("gold", "dynamics", "--gold", "cognibench-mini", "--markdown").out
