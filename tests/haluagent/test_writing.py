"""The generator: what it writes offline, what its prompts can mend, and what its judges say."""

import asyncio
import json

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.engines.offline.qa_kinds import RULES, asked_for, spans, type_of
from jurist.engines.offline.qa_writing import propose_qa
from jurist.engines.offline.request import Ask
from jurist.errors import UsageError
from jurist.gold.goldset import Gold
from jurist.gold.readers import read
from jurist.programs.catalogue import find
from jurist.programs.frozen import all_predictors, frozen_predictors
from jurist.programs.haluagent.judges import HALUAGENT_JUDGES
from jurist.programs.haluagent.writing import (
    CHECKS,
    HALUAGENT,
    HALUAGENT_ZH,
    HaluAgent,
    haluagent,
)
from jurist.programs.together import asking_of
from jurist.signatures.haluagent import (
    LabelHallucinations,
    WriteHallucinations,
    WriteQuestion,
    chinese,
)
from jurist.text.passages import passages
from jurist.text.wording import count_words

DOCUMENTS = [row for _, row in read("haluagent-docs").rows]


def test_the_bundled_documents_are_half_chinese_half_english_and_of_the_promised_length():
    assert len(DOCUMENTS) >= 24
    languages = [row["language"] for row in DOCUMENTS]
    assert languages.count("zh") == languages.count("en") == len(DOCUMENTS) / 2
    assert len({row["title"] for row in DOCUMENTS}) == len(DOCUMENTS)
    assert all(150 <= count_words(row["text"]) <= 400 for row in DOCUMENTS)


@given(st.sampled_from(DOCUMENTS), st.integers(20, 400))
@settings(max_examples=40)
def test_passages_are_whole_sentences_within_the_limit(row, limit):
    found = list(passages(row["text"], limit))
    assert "".join("".join(found).split()) == "".join(row["text"].split())
    assert all(one in row["text"] for one in found)
    longest = max(count_words(sentence) for sentence in passages(row["text"], 1))
    assert all(count_words(one) <= max(limit, longest) for one in found)


def test_too_short_a_context_is_refused():
    with pytest.raises(UsageError, match="too short"):
        haluagent(words=5)


@pytest.mark.parametrize("generator", [HALUAGENT, HALUAGENT_ZH])
def test_three_steps_are_tuned_and_seven_verifications_are_frozen(generator):
    program = generator.basic()
    assert [name for name, _ in program.named_predictors()] == ["question", "hallucinations", "label"]
    assert len(frozen_predictors(program)) == 7
    assert generator.calls == len(all_predictors(program)) == 10
    assert find(generator.name) is generator


def test_documents_become_cases_and_the_authors_own_too(tmp_path):
    gold = Gold.load("haluagent-docs", HALUAGENT)
    assert {case.group for case in gold.cases} == {row["id"] for row in DOCUMENTS}
    assert len(gold.cases) > 2 * len(DOCUMENTS)
    path = tmp_path / "documents.jsonl"
    row = {"label": "乐器", "risk_level": "", "ent": "古琴", "src": "自撰", "knowledge": "古琴有七根弦。"}
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    (case,) = Gold.load(path, HALUAGENT).cases
    assert dict(case.inputs) == {"knowledge": "古琴有七根弦。", "title": "古琴"}


def _written(program, rows):
    lm = connect(Model(temperature=0.0), CallContext.fresh(), "generator")
    with asking_of(lm, "chat"):
        return [
            asyncio.run(program.aforward(knowledge=text, title=row["title"]))
            for row in rows
            for text in passages(row["text"], 120)
        ]


def _rate(found, check=None):
    names = [check] if check else CHECKS
    said = [all(one[name]["verdict"] == "yes" for name in names) for p in found for one in p["checks"]]
    return sum(said) / len(said)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_offline_a_prompt_mends_what_a_step_does_wrong(language):
    rows = [row for row in DOCUMENTS if row["language"] == language][:6]
    program = HaluAgent(language)
    before = _written(program, rows)
    for step, predictor in program.named_predictors():
        rules = [rule for rule in RULES if rule.step == step]
        said = " ".join(rule.chinese if language == "zh" else rule.english for rule in rules)
        instructions = f"{predictor.signature.instructions}\n{said}"
        predictor.signature = predictor.signature.with_instructions(instructions)
    after = _written(program, rows)
    assert _rate(before) < 0.5 < _rate(after)
    for check in CHECKS:
        assert _rate(after, check) >= _rate(before, check)
    assert all(len(one["items"]) == 3 for one in after)


@pytest.mark.parametrize("step", ["question", "hallucinations", "label"])
def test_every_rule_is_read_where_it_is_proposed_and_not_in_the_basic_instruction(step):
    import re

    english = {
        "question": WriteQuestion,
        "hallucinations": WriteHallucinations,
        "label": LabelHallucinations,
    }[step]
    for rule in RULES:
        if rule.step == step:
            for basic in (english.instructions.lower(), chinese(english).instructions.lower()):
                assert not re.search(rule.cue, basic), rule.name
            assert re.search(rule.cue, rule.english.lower()), rule.name
            assert re.search(rule.cue, rule.chinese), rule.name


def test_a_proposal_answers_the_failures_that_are_reported():
    import random

    basic = LabelHallucinations.instructions
    errors = "failed: label: no: it is rather of the type relation"
    ask = Ask(
        inputs=(),
        outputs=(),
        instruction="",
        demos=(),
        values={"current_instruction": basic, "errors": errors},
    )
    drawn = [propose_qa(ask, 1.0, random.Random(seed)) for seed in range(20)]
    assert all(text.startswith(basic) and text != basic for text in drawn)
    assert sum("relation: the question compares" in text for text in drawn) >= 15


@pytest.mark.parametrize(
    ("sentence", "kind", "gap"),
    [
        ("Ganymede is larger than the planet Mercury.", "relation", "larger than"),
        ("She died on 4 July 1934 in a sanatorium at Passy.", "time", "4 July 1934"),
        ("The body of a saxophone is made of brass.", "attribute", "brass"),
        ("该剧由杨洁执导。", "person", "杨洁"),
        ("长江比黄河长。", "relation", "比黄河长"),
        ("孔庙位于东城区。", "place", "东城区"),
    ],
)
def test_gaps_are_found_and_asked_for_by_kind(sentence, kind, gap):
    found = {span.kind: span for span in spans(sentence)}
    assert found[kind].text == gap
    assert "____" in found[kind].question
    assert gap not in found[kind].question
    assert asked_for(found[kind].question) == kind


def test_types_follow_from_what_is_asked():
    assert type_of("When did it open?", "In 1901.") == "spatiotemporal"
    assert type_of("When did it open?", "In 1901, according to the Annals.") == "reference"
    assert type_of("Who wrote it?", "A ghost", invented=True) == "fabrication"


@pytest.mark.parametrize("judge", HALUAGENT_JUDGES, ids=lambda judge: judge.name)
def test_each_verifier_has_gold_that_two_passes_labelled(judge):
    gold = Gold.load(judge.bundled, judge)
    assert len(gold.cases) == 60
    assert all(set(case.ratings) == {"first", "second"} for case in gold.cases)
    lm = connect(Model(temperature=0.0), CallContext.fresh(), "judge")
    program, right = judge.basic(), 0
    with asking_of(lm, "chat"):
        for case in gold.cases:
            prediction = program(**judge.values(case.inputs))
            assert isinstance(prediction, dspy.Prediction)
            right += judge.read(prediction, case.inputs).values == case.gold
    assert right / len(gold.cases) > 0.55
