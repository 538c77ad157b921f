"""The generator: what it takes, what it writes offline, and the gold of its judges."""

import asyncio
import json
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import write_jsonl

from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.gold.goldset import Gold
from jurist.gold.sources import read
from jurist.programs import offline_writers  # noqa: F401 - it registers what the offline engine writes for generators
from jurist.programs.frozen import all_predictors
from jurist.programs.haluagent.writing import ANSWERS, CHECKS, HALUAGENT, HaluAgent, haluagent
from jurist.programs.together import asking_of
from jurist.signatures.haluagent_labels import TYPES
from jurist.text.passages import passages
from jurist.text.terms import numbers
from jurist.text.wording import count_words, is_chinese, language_of


@pytest.mark.parametrize(("language", "chinese"), [("en", False), ("zh", True)])
def test_the_prompt_of_every_agent_begins_with_an_example(
    language: Literal["en", "zh"], chinese: bool
) -> None:
    asked = all_predictors(HaluAgent(language))
    assert len(asked) == 3 + 1 + 2 * ANSWERS
    for predictor in asked:
        assert predictor.demos
        for example in predictor.demos:
            assert set(example.keys()) == set(predictor.signature.fields)
            assert is_chinese(" ".join(map(str, example.values()))) == chinese


DOCUMENTS = [row for _, row in read("haluagent-docs").rows]


@given(st.sampled_from(DOCUMENTS), st.integers(20, 400))
@settings(max_examples=40)
def test_passages_are_whole_sentences_within_the_limit(row, limit):
    for size_of in (count_words, len):
        found = list(passages(row["text"], limit, size_of))
        assert "".join("".join(found).split()) == "".join(row["text"].split())
        assert all(one in row["text"] for one in found)
        longest = max(size_of(sentence) for sentence in passages(row["text"], 1, size_of))
        assert all(size_of(one) <= max(limit, longest) for one in found)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_bundled_documents_are_of_the_length_of_the_papers(language):
    rows = [row for row in DOCUMENTS if row["language"] == language]
    assert len(rows) == 20
    for row in rows:
        assert 800 <= len(row["text"]) <= 3000
        assert row["title"]
        assert language_of(row["text"]) == language


def test_a_longer_document_is_cut_at_sentence_ends(tmp_path):
    sentences = [f"第{number}艘渡船沿一根钢缆牵引，一次可载八辆汽车。" for number in range(1000, 1400)]
    write_jsonl(tmp_path / "long.jsonl", [{"id": "a", "title": "渡船", "text": "".join(sentences)}])
    cases = Gold.load(tmp_path / "long.jsonl", HALUAGENT).cases
    texts = list(dict.fromkeys(case.inputs["knowledge"] for case in cases))
    assert "".join(texts) == "".join(sentences)
    assert len(texts) == 4
    assert all(2900 < len(text) <= 3000 and text.endswith("。") for text in texts[:-1])
    assert len(cases) == len(TYPES) * len(texts)
    assert {(case.group, case.inputs["title"]) for case in cases} == {("a", "渡船")}
    whole = Gold.load(tmp_path / "long.jsonl", haluagent(types=("entity",), characters=10_000)).cases
    assert [case.inputs["type"] for case in whole] == ["entity"]


def test_documents_become_cases_and_the_authors_own_too(tmp_path):
    gold = Gold.load("haluagent-docs", HALUAGENT)
    assert {case.group for case in gold.cases} == {row["id"] for row in DOCUMENTS}
    assert len(gold.cases) == len(TYPES) * len(DOCUMENTS)
    texts = {row["text"] for row in DOCUMENTS}
    assert {case.inputs["knowledge"] for case in gold.cases} == texts
    path = tmp_path / "documents.jsonl"
    row = {"label": "乐器", "risk_level": "", "ent": "古琴", "src": "自撰", "knowledge": "古琴有七根弦。"}
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    cases = Gold.load(path, HALUAGENT).cases
    for case, kind in zip(cases, TYPES, strict=True):
        assert dict(case.inputs) == {"knowledge": "古琴有七根弦。", "title": "古琴", "type": kind}


def _written(program, rows):
    lm = connect(Model(temperature=0.0), CallContext.fresh(), "generator")
    with asking_of(lm, "chat"):
        return [
            asyncio.run(program.aforward(knowledge=row["text"], title=row["title"], type=kind))
            for row in rows
            for kind in ("attribute", "spatiotemporal")
        ]


def _rate(found, check=None):
    names = [check] if check else CHECKS
    said = [all(one[name]["verdict"] == "yes" for name in names) for p in found for one in p["checks"]]
    return sum(said) / len(said)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_offline_most_of_what_is_written_passes_and_prompts_change_nothing(language):
    rows = [row for row in DOCUMENTS if row["language"] == language]
    program = HaluAgent(language)
    first = _written(program, rows)
    items = [item for one in first for item in one["written"]]
    assert len(items) == 3 * sum(bool(one["written"]) for one in first) > 60
    assert _rate(first) > 0.8
    assert all(_rate(first, check) == 1.0 for check in ("label", "form"))
    for item in items:
        assert item["correct_answer"] in item["passage"]
        assert not numbers(item["hallucinated_answer"]) & numbers(item["passage"])
    for _, predictor in program.named_predictors():
        predictor.signature = predictor.signature.with_instructions("Write as you like.")
    assert [one["written"] for one in _written(program, rows)] == [one["written"] for one in first]
