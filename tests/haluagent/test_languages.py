"""Prompts in the language of the rows: chosen by them, named by an option, kept by versions."""

import io
import json
import re
from pathlib import Path

import dspy
import pytest
from fakes import reply
from small import cli, ok

import jurist
from jurist.programs.catalogue import find
from jurist.programs.haluagent.judges import VERIFIERS
from jurist.programs.haluagent.writing import HALUAGENT, examples_of, find_form_faults
from jurist.programs.languages import in_language, label_words
from jurist.signatures import haluagent as signatures
from jurist.signatures.haluagent_labels import TYPES
from jurist.text.replies import match_value
from jurist.text.wording import is_chinese

ROWS = {
    "zh": {"question": "古琴有几根弦？", "correct_answer": "七根。", "response": "古琴有五根弦。"},
    "en": {"question": "How many strings?", "correct_answer": "Seven.", "response": "It has five strings."},
}


@pytest.mark.parametrize("name", ["WriteQuestion", "WriteHallucinations", "LabelHallucinations", "AnswerCheck"]
                         + ["HallucinationCheck", "LabelCheck", "QAConflict", "AnswerQuestion"])  # fmt: skip
def test_a_prompt_in_chinese_has_the_fields_of_the_english_one_and_no_english_word_for_people(name):
    english = getattr(signatures, name)
    chinese = in_language(english, "zh")
    assert in_language(english, "en") is english
    assert list(chinese.fields) == list(english.fields)
    for field, info in chinese.fields.items():
        assert english_types(str(info.annotation)) == str(english.fields[field].annotation)
    words = [chinese.instructions] + [info.json_schema_extra["desc"] for info in chinese.fields.values()]
    assert all(map(is_chinese, words))


def english_types(annotation):
    """Return the text of a type with its labels in English."""
    for label, word in label_words("zh").items():
        annotation = annotation.replace(f"'{word}'", f"'{label}'")
    return annotation


def test_all_words_of_a_chinese_generator_are_chinese():
    for predictor in (predictor for _, predictor in HALUAGENT.in_language("zh").basic().named_predictors()):
        assert is_chinese(predictor.signature.instructions)
        assert all(is_chinese(info.json_schema_extra["desc"]) for info in predictor.signature.fields.values())
    assert list(
        find_form_faults("古琴有七根弦。", "古琴有几根弦？", "七根。", "无此句。", ["五根。"], 0)
    ) == ["依据的原文不是从文档中原样抄录的"]


@pytest.mark.parametrize(
    "name", ["answer-check", "hallucination-check", "label-check", "qa-conflict", "haluagent"]
)
def test_the_language_is_that_of_most_rows_unless_it_is_named(name):
    judge = find(name)
    assert judge.for_texts(["古琴有七根弦。", "古琴", "A lute."]).option_values == {"language": "zh"}
    assert judge.for_texts(["古琴有七根弦。", "A lute."]) is judge  # as versions of before
    assert judge.option_values == {}
    english = judge.in_language("en")
    assert english.for_texts(["古琴有七根弦。"]) is english
    assert english.basic().dump_state() == judge.basic().dump_state()
    assert find("haluagent-zh").for_texts(["A lute."]) is find("haluagent-zh")


MARKS = re.compile(r"\[\[ ## \w+ ## \]\]|`\w+`|\{\w+\}|^- \w+[:：]|^\w+: |\"\w+\": ", re.MULTILINE)


def english_words(text):
    """Return the words in Latin letters of a prompt that are no names of fields."""
    return [word for word in re.findall("[A-Za-z_]+", MARKS.sub("", text)) if word != "JSON"]


@pytest.mark.parametrize("adapter", ["chat", "json"])
@pytest.mark.parametrize("name", ["haluagent", "answer-check", "label-check", "qa-conflict"])
def test_a_prompt_in_chinese_has_a_frame_in_chinese(name, adapter):
    judge = find(name).in_language("zh")
    for _, predictor in judge.basic().named_sub_modules(type_=dspy.Predict):
        inputs = dict.fromkeys(predictor.signature.input_fields, "古琴")
        incomplete = {next(iter(inputs)): "古琴", next(iter(predictor.signature.output_fields)): "是"}
        demos = [*predictor.demos, incomplete]
        for message in judge.adapter(adapter).format(predictor.signature, demos, inputs):
            content = message["content"].replace("www.orr-ferries.example", "")
            assert not english_words(content)


def test_a_prompt_in_english_has_the_frame_of_dspy():
    judge = find("qa-conflict")
    (message, *_) = judge.adapter("chat").format(judge.signature, [], ROWS["zh"])
    plain = dspy.ChatAdapter().format(judge.signature, [], ROWS["zh"])
    assert message == plain[0]


def answer(messages):
    """Say in Chinese that a reply conflicts, and write an instruction in Chinese."""
    if "`instruction`" in str(messages[0]["content"]):
        is_judge_asked_in_chinese = "判断错误的例子" in str(messages[0]["content"])
        shown = str(messages[-1]["content"])
        assert is_judge_asked_in_chinese == ("古琴" in shown)
        if is_judge_asked_in_chinese:
            assert "标签：矛盾、不矛盾\n阳性标签：矛盾" in shown
            assert "：人的回答是不矛盾，评判者的回答是矛盾" in shown
            assert not english_words(shown)
        return reply("chat", instruction="判断回复与正确答案是否矛盾，先看数字。")
    is_chinese_prompt = "不矛盾" in str(messages[0]["content"])
    return reply("chat", conflict="矛盾" if is_chinese_prompt else "True")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_judge_of_replies_is_asked_in_the_language_of_the_rows(serve, fake_key, language):
    rows = []
    for n in range(24):
        response = f"{ROWS[language]['response']} {n}"
        rows.append({**ROWS[language], "response": response, "group": str(n), "conflict": n % 2 == 0})
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = serve(answer)
    ends = ("--model", "openai/x", "--api-base", server.url, "--yes")

    def languages():
        """Return the languages in which was asked since the last look."""
        prompts = {
            re.split("objective is:|你的任务是：", str(hit.body["messages"][0]["content"]))[1]
            for hit in server.hits
        }
        server.hits.clear()
        return {"zh" if "判断" in prompt else "en" for prompt in prompts}

    ok("run", "qa-conflict:basic", "--input", "rows.jsonl", "--output", "out.jsonl", *ends)
    assert languages() == {language}
    ok("evaluate", "qa-conflict:basic", "--gold", "rows.jsonl", *ends)
    assert languages() == {language}
    other = {"zh": "en", "en": "zh"}[language]
    ok("run", "qa-conflict:basic", "--input", "rows.jsonl", "--output", "o.jsonl", "--language", other, *ends)
    assert languages() == {other}
    few = (
        "--optimizer",
        "cfaith",
        "--set",
        "rewrites=1",
        "--set",
        "steps=1",
        "--no-words",
        "--force",
        "--anyway",
    )
    made = ok("compile", "qa-conflict", "--gold", "rows.jsonl", *few, *ends, "--json")
    assert made.json.get("language") == {"zh": "zh", "en": None}[language]
    assert jurist.load("qa-conflict@1").judge.option_values == (
        {"language": "zh"} if language == "zh" else {}
    )
    done = cli(
        "run", "qa-conflict@1", "--input", "rows.jsonl", "--output", "p.jsonl", "--language", other, *ends
    )
    assert f"was compiled with its prompt in the language {language}" in done.err


def test_rows_of_a_pipe_choose_no_language_and_a_note_says_so(monkeypatch):
    text = json.dumps({**ROWS["zh"], "id": "1"}) + "\n"
    command = ("run", "qa-conflict:basic", "--input", "-", "--output")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    done = ok(*command, "out.jsonl")
    note = "asked in English, as the rows of a pipe choose no language; to be asked in another (zh), add --language zh"
    assert note in done.err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert "choose no language" not in ok(*command, "zh.jsonl", "--language", "zh").err
    with pytest.warns(UserWarning, match='add language="zh"'):
        jurist.run("qa-conflict:basic", iter([ROWS["zh"]]), "other.jsonl")


def test_a_row_in_python_is_asked_in_its_language():
    judge = jurist.load("qa-conflict:basic")
    for language in ("zh", "en"):
        case = judge.judge.case(ROWS[language])
        assert judge.for_cases([case]).judge.option_values == ({"language": "zh"} if language == "zh" else {})
    changed = judge.as_module()
    predictor = changed.program.predictors()[0]
    predictor.signature = predictor.signature.with_instructions("My own.")
    assert changed.as_judge().for_cases([judge.judge.case(ROWS["zh"])]).state == changed.as_judge().state


@pytest.mark.parametrize("language", ["zh", "en"])
def test_models_are_assessed_in_the_language_of_the_benchmark(serve, fake_key, language):
    row = {"id": "q1", "format": "generative", "type": "attribute", **ROWS[language], "group": "d"}
    Path("bench.jsonl").write_text(
        json.dumps({**row, "passage": "-", "hallucinated_answer": row["response"]})
    )
    server = serve(lambda messages: reply("chat", response="-"))
    asked = ("--benchmark", "bench.jsonl", "--api-base", server.url, "--max-unusable", "1", "--yes")
    cli("assess", "openai/x", *asked)
    prompts = {str(hit.body["messages"][0]["content"]) for hit in server.hits}
    assert prompts
    assert all(("回答提示中的问题" in prompt) == (language == "zh") for prompt in prompts)


@pytest.mark.parametrize(
    ("word", "label"),
    [("是", "yes"), ("否。", "no"), ("不是", "no"), ("**不确定**", "uncertain"), ("是（yes）", "yes")]
    + [("虚构事实", "fabrication"), ("“时空幻觉”", "spatiotemporal"), ("entity (实体错误)", "entity")],
)
def test_labels_are_read_in_either_language(word, label):
    labels = ("yes", "no", "uncertain", *TYPES)
    words = tuple(label_words("zh")[each] for each in labels)
    assert match_value(word, labels) == label
    assert match_value(word, words) == label_words("zh")[label]
    assert match_value(label.upper(), words) == label_words("zh")[label]
    with pytest.raises(ValueError, match="none of"):
        match_value(word, ("good", "bad"))


@pytest.mark.parametrize("word", ["是（no）", "虚构事实、属性错误", "虚构事实（部分）", "不是虚构事实"])
def test_two_labels_or_half_of_one_are_none(word):
    with pytest.raises(ValueError, match="none of"):
        match_value(word, ("yes", "no", "uncertain", *TYPES))


ASKED = {
    "en": {
        "spatiotemporal": "^(When|Where)",
        "entity": "^(Who|Which [a-z]+er) ",
        "relation": "older|larger|earlier",
    },
    "zh": {"spatiotemporal": "什么时候|哪里|哪一年", "entity": "是谁", "relation": "哪个.*更"},
}
"""Language -> type -> what its definition says that the question asks for."""


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("judge", VERIFIERS, ids=lambda judge: judge.name)
def test_a_verifier_shows_each_verdict_and_none_against_the_types_that_the_writers_are_shown(judge, language):
    examples = examples_of(judge.name.replace("-", "_"), judge.signature, language)
    assert {"yes", "no", "uncertain"} <= {example[judge.answer.field] for example in examples}
    assert all(is_chinese(example.question) == (language == "zh") for example in examples)
    asked = ASKED[language]
    types = {}
    for shown in examples_of("writing", signatures.LabelHallucinations, language):
        for answer, kind in zip(shown.hallucinated_answers, shown.types, strict=True):
            types[shown.question, answer] = kind
            assert kind not in asked or re.search(asked[kind], shown.question)
    for example in examples:
        if judge.name != "label-check":
            continue
        if example.type in asked:
            assert bool(re.search(asked[example.type], example.question)) == (example.fits != "no")
        kind = types.get((example.question, example.hallucinated_answer))
        if kind is not None:
            assert (kind == example.type) == (example.fits == "yes")
