"""Responses that come whole: split, judged and scored, with the place of every sentence, in English and Chinese."""

import json
from pathlib import Path
from typing import Any

import pytest
from small import cli, ok, read_jsonl, write_jsonl

from jurist.errors import GoldError
from jurist.gold.goldset import Gold, convert_gold
from jurist.programs.catalogue import find
from jurist.programs.cognibench import COGNIBENCH

REFERENCE = "The mill of Arden was built in 1802 by Dr. Ames. It burned down in 1850."
RESPONSE = "Yes. It was built by Dr. Ames.\n\n1. It burned in 1850.\n2. Yes. It was lovely, it seems."
ZH = "阿登的磨坊建于1802年，由艾姆斯建造。它在1850年烧毁。"
ZH_RESPONSE = "好的。磨坊建于1802年。“它烧毁了！”好的。磨坊可能很漂亮……"
ZH_LABELS = ["irrelevant", "faithful", "faithful", "irrelevant", "speculative"]


@pytest.mark.parametrize("judge", ["cognibench:basic", "detector:basic"])
def test_run_gives_each_sentence_its_place(judge: str) -> None:
    write_jsonl(Path("rows.jsonl"), [{"reference": REFERENCE, "response": RESPONSE}])
    ok("run", judge, "--input", "rows.jsonl", "--output", "out.jsonl")
    (line,) = read_jsonl(Path("out.jsonl"))
    texts = [unit["text"] for unit in line["units"]]
    assert texts == [
        "Yes.", "It was built by Dr. Ames.", "1. It burned in 1850.", "2. Yes.", "It was lovely, it seems."
    ]  # fmt: skip
    assert all(RESPONSE[unit["start"] : unit["end"]] == unit["text"] for unit in line["units"])
    starts = [unit["start"] for unit in line["units"]]
    assert starts == sorted(set(starts))


@pytest.mark.parametrize("judge", ["statement-type", "factual", "tier"])
def test_judges_of_one_sentence_keep_its_place_too(judge: str, tmp_path: Path) -> None:
    write_jsonl(Path("rows.jsonl"), [{"reference": REFERENCE, "response": RESPONSE}])
    ok("run", f"{judge}:basic", "--input", "rows.jsonl", "--output", "out.jsonl")
    units = [line["units"][0] for line in read_jsonl(Path("out.jsonl"))]
    assert len(units) == 5
    assert all(RESPONSE[unit["start"] : unit["end"]] == unit["text"] for unit in units)
    gold = Gold.load("rows.jsonl", find(judge), labelled=False)
    convert_gold("rows.jsonl", find(judge), tmp_path / "own.jsonl", labelled=False)
    again = Gold.load(tmp_path / "own.jsonl", find(judge), labelled=False)
    assert [(case.id, case.spans) for case in again.cases] == [(case.id, case.spans) for case in gold.cases]


def test_a_row_with_sentences_is_as_before_and_has_places_only_where_they_stand_in_its_response() -> None:
    plain = {"reference": REFERENCE, "sentences": ["Yes.", "It burned."]}
    whole = {**plain, "response": "Well: Yes. It burned."}
    other = {**plain, "response": "Something else."}
    cases = [COGNIBENCH.case(row) for row in (plain, whole, other)]
    assert len({case.id for case in cases}) == 1  # the response is no input of its own
    assert [case.spans for case in cases] == [(), ((6, 10), (11, 21)), ()]
    write_jsonl(Path("rows.jsonl"), [plain])
    cli("run", "cognibench:basic", "--input", "rows.jsonl", "--output", "out.jsonl")
    assert "start" not in read_jsonl(Path("out.jsonl"))[0]["units"][0]


@pytest.mark.parametrize("row", [{}, {"response": " \n"}, {"response": 7}, {"sentences": None}])
def test_a_row_without_text_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(GoldError, match="sentences"):
        COGNIBENCH.case({"reference": REFERENCE, **row})


def test_a_chinese_response_is_split_tagged_and_scored() -> None:
    rows = [
        {
            "reference": f"第{number}号：{ZH}",
            "question": "磨坊怎么样？",
            "response": ZH_RESPONSE,
            "labels": ZH_LABELS,
            "group": f"g{number}",
        }
        for number in range(4)
    ]
    write_jsonl(Path("gold.jsonl"), rows)
    ok("run", "cognibench:basic", "--input", "gold.jsonl", "--output", "out.jsonl")
    line = read_jsonl(Path("out.jsonl"))[0]
    assert [unit["text"] for unit in line["units"]] == [
        "好的。", "磨坊建于1802年。", "“它烧毁了！”", "好的。", "磨坊可能很漂亮……"
    ]  # fmt: skip
    assert [ZH_RESPONSE[unit["start"] : unit["end"]] for unit in line["units"]] == [
        unit["text"] for unit in line["units"]
    ]
    assert line["status"] == "verdict"
    assert all(unit["label"] and unit["votes"] for unit in line["units"])
    done = ok("table", "cognibench-3", "--gold", "gold.jsonl", "--json")
    table = json.loads(done.out)
    assert (table["cases"], table["sentences"]) == (4, 20)
    assert {one["counts"]["answered"] for one in table["lines"]} == {20}
    said = {unit["text"]: unit["positive"] for unit in line["units"]}
    (own,) = [one for one in table["lines"] if one["name"] == "cognibench:basic"]
    found = own["sentence"]["cognitive"]["recall"]["value"]
    assert found == float(said["磨坊可能很漂亮……"]), "what run said is what the table scores"
