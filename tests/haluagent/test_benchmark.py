"""Laws of the benchmark's formats: aggregation, files, near-duplicates, what code checks, replies and rates."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import cli, ok

from jurist.errors import GoldError
from jurist.papers.haluagent.assess import ItemResult, rates
from jurist.papers.haluagent.items import (
    Choice,
    Question,
    TrueFalse,
    choice_prompt,
    item_line,
    read_authors,
    read_items,
)
from jurist.papers.haluagent.making import item_statistics, make_items
from jurist.programs.haluagent.writing import (
    are_near_duplicates,
    find_form_faults,
    gives_answer_away,
    stands_in_document,
)
from jurist.signatures.haluagent_labels import TYPES

words = st.text("abcdefghijklmnop qrstuvw甲乙丙丁", min_size=1, max_size=30).filter(str.strip)


@st.composite
def asked(draw):
    count = draw(st.integers(0, 12))
    rows = []
    for number in range(count):
        answers = draw(st.lists(st.tuples(words, st.sampled_from(TYPES)), min_size=1, max_size=3))
        rows.append(
            Question(
                id=f"q{number}",
                group=f"d{number // 3}",
                topic=draw(st.sampled_from(["a", "b"])),
                language="en",
                question=draw(words),
                correct_answer=draw(words),
                hallucinated=[{"text": text, "type": kind} for text, kind in answers],
            )
        )
    return rows


def made_of(questions, seed=0):
    return list(make_items(questions, seed))


def items_of(questions, seed=0):
    return [item for made in made_of(questions, seed) for item in made.items]


@given(asked(), st.integers(0, 5))
@settings(max_examples=60)
def test_aggregation_keeps_every_question_once_or_says_why(questions, seed):
    made = made_of(questions, seed)
    assert [one.question for one in made] == questions
    assert all(one.items or "near-duplicate" in one.omission for one in made)
    items = [item for one in made for item in one.items]
    formats = Counter(item.format for item in items)
    assert formats["generative"] == sum(bool(one.items) for one in made)
    assert formats["true-false"] == 2 * formats["generative"]
    assert made == made_of(questions, seed)
    choices = [item for item in items if isinstance(item, Choice)]
    positions = Counter(item.correct for item in choices)
    assert max(positions.values(), default=0) - min(positions[one] for one in "ABCD") <= 1
    by_id = {one.id: one for one in questions}
    for item in items:  # the primary type: that of most hallucinated answers
        if item.id.endswith("/false"):  # it has the type of its answer
            continue
        frequencies = Counter(answer.type for answer in by_id[item.id.split("/")[0]].hallucinated)
        assert frequencies[item.type] == max(frequencies.values())
    for item in choices:
        one = by_id[item.id.split("/")[0]]
        assert item.options["ABCD".index(item.correct)] == one.correct_answer
        assert Counter(item.options) == Counter([one.correct_answer, *(a.text for a in one.hallucinated)])
        assert not any(
            are_near_duplicates(a, b) for n, a in enumerate(item.options) for b in item.options[:n]
        )
    truths = Counter(item.correct for item in items if isinstance(item, TrueFalse))
    assert truths[True] == truths[False]
    counted = item_statistics(made)
    assert counted["items"] == len(items)
    assert counted["documents"] == len({item.group for item in items})
    assert sum(counted["types"].values()) == counted["questions"]


@given(asked())
@settings(max_examples=30)
def test_what_is_written_is_read_back(tmp_path_factory, questions):
    items = tuple(items_of(questions))
    path = tmp_path_factory.mktemp("bench") / "bench.jsonl"
    path.write_text("".join(item_line(item) + "\n" for item in items), encoding="utf-8")
    if not items:
        with pytest.raises(GoldError, match="empty"):
            read_items(path)
    else:
        assert read_items(path) == items


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "essay"}, "essay"),
        ({"type": "typo"}, "type"),
        ({"options": ["a", "a", "b", "c"]}, "two options are equal"),
        ({"correct": "C"}, "correct"),
        ({"option_types": ["entity"] * 4}, "correct"),
        ({"question": ""}, "question"),
    ],
)
def test_a_broken_row_is_named_with_its_line(tmp_path, change, said):
    kinds = ["correct", "entity", "entity", "relation"]
    row = {"id": "1", "format": "single-choice", "type": "entity", "question": "Who?", "correct": "A"}
    good = {**row, "options": ["a", "b", "c", "d"], "option_types": kinds}
    path = tmp_path / "bench.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps({**good, "id": "2", **change}) + "\n")
    with pytest.raises(GoldError, match=said) as caught:
        read_items(path)
    assert ":2" in str(caught.value)
    path.write_text((json.dumps(good) + "\n") * 2)
    with pytest.raises(GoldError, match="twice"):
        read_items(path)


def test_items_of_the_authors_are_read(tmp_path):
    path = tmp_path / "authors.jsonl"
    free = {"question": "Who?", "correct_answer": "Ada", "reason": "She was.", "halu_type": "实体错误"}
    prompt = "问题：谁？\nA. 甲\nB. 乙\nC. 丙\nD. 丁\n"
    labels = ["虚构事实", "correct", "虚构事实", "关系错误"]
    choice = {"question": prompt, "answers": [*"甲乙丙丁"], "labels": labels, "correct_option": "B"}
    rows = [{**free, "ent": "ada", "halu_answer": "Bob"}, choice]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    generative, true, false, chosen = read_authors(path)
    assert [(item.id, item.answer, item.correct) for item in (true, false)] == [
        ("1/true", "Ada", True),
        ("1/false", "Bob", False),
    ]
    assert (generative.correct_answer, generative.type, generative.entity) == ("Ada", "entity", "ada")
    assert (chosen.question, chosen.correct, chosen.type) == ("谁？", "B", "fabrication")
    assert choice_prompt(chosen) == prompt


_AUTHORS_CHOICE = {
    "question": "问题：谁？\nA. 甲\nB. 乙\nC. 丙\nD. 丁\n",
    "answers": [*"甲乙丙丁"],
    "labels": ["虚构事实", "correct", "虚构事实", "关系错误"],
    "correct_option": "B",
}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"extra": 1},
        {"answers": json.dumps([*"甲乙丙丁"]), "labels": json.dumps(_AUTHORS_CHOICE["labels"])},
    ],
)
def test_columns_of_the_authors_stand_in_any_order(tmp_path, change):
    path = tmp_path / "saved_again.jsonl"
    row = {**_AUTHORS_CHOICE, **change}
    path.write_text(json.dumps(dict(reversed(row.items()))) + "\n", encoding="utf-8")
    (item,) = read_authors(path)
    assert (item.question, item.options, item.correct) == ("谁？", tuple("甲乙丙丁"), "B")


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"answers": ["甲", "甲", "丙", "丁"]}, "", "two options are equal"),
        ({"labels": ["过时信息", "correct", "虚构事实", "关系错误"]}, "", "no type called '过时信息'"),
        ({"labels": []}, "type", "Input should be"),
        ({"answers": "甲"}, "options", "Field required|at least 4"),
        ({"correct_option": "E"}, "correct", "'A', 'B', 'C' or 'D'"),
        ({"correct_option": "C"}, "", "option_types says"),
        ({"labels": [["x"], 3, None, "correct"]}, "", "no type called"),
    ],
)
def test_a_bad_row_of_the_authors_goes_aside(tmp_path, change, field, said):
    path = tmp_path / "authors.jsonl"
    rows = [{**_AUTHORS_CHOICE, **change}, _AUTHORS_CHOICE, {"question": "Who?"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    bad: list[GoldError] = []
    (item,) = read_authors(path, lambda error, row: bad.append(error))
    assert item.id == "2/single-choice"
    first, last = bad
    assert (first.line, last.line) == (1, 3)
    assert re.search(said, str(first))
    assert first.field.startswith(field)
    assert "no item of C-FAITH" in str(last)
    with pytest.raises(GoldError, match=said):
        read_authors(path)


def test_bad_rows_of_a_benchmark_are_set_aside_by_the_command(tmp_path):
    path = tmp_path / "authors.jsonl"
    rows = [_AUTHORS_CHOICE, {**_AUTHORS_CHOICE, "labels": ["过时信息"] * 4}, {"question": "Who?"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    refused = cli("assess", "offline", "--benchmark", path)
    assert refused.code == 1
    assert "authors.jsonl:2" in refused.err
    assert "2 rows are bad" in refused.err
    assert "--rejects" in refused.err
    aside = tmp_path / "bad.jsonl"
    done = ok("assess", "offline", "--benchmark", path, "--rejects", aside, "--max-unusable", 1)
    assert f"2 rows of {path} without an item, set aside in {aside}" in done.err
    assert [json.loads(line)["source"] for line in aside.read_text().splitlines()] == [
        f"{path}:2",
        f"{path}:3",
    ]


def test_the_authors_folder_gives_all_formats_and_its_documents_none(tmp_path):
    folder = tmp_path / "cfaith"
    folder.mkdir()
    document = {"label": "美术", "ent": "ada", "src": "wiki", "knowledge": "Ada wrote it."}
    free = {"question": "Who?", "correct_answer": "Ada", "reason": "She was.", "halu_type": "实体错误"}
    files = {
        "documents": [document],
        "generative_qa": [{**free, "ent": "ada", "halu_answer": "Bob"}],
        "single_choice_qa": [_AUTHORS_CHOICE],
    }
    for name, rows in files.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    command = ("assess", "offline", "--benchmark", folder, "--max-unusable", 1, "--json")
    done = ok(*command, "--unanswered", "wrong")
    (model,) = done.json["models"]
    asked = {name: share["of"] for name, share in model["formats"].items()}
    assert asked == {"generative": 1, "single-choice": 1, "true-false": 2}
    (folder / "extra.jsonl").write_text("{broken\n")
    aside = tmp_path / "bad.jsonl"
    ok(*command, "--rejects", aside)
    assert [json.loads(line)["source"] for line in aside.read_text().splitlines()] == [
        f"{folder}/extra.jsonl:1"
    ]


@pytest.mark.parametrize(
    ("question", "answer", "dropped"),
    [
        ("Who built the old mill by the river Dun, and for whom?", "The brothers Hask, for the town.", True),
        ("Who built the old mill by the river Dun and for whom", "the brothers Hask for the town", True),
        ("Who built the old mill by the river Dun in 1905, and for whom?", "The brothers Hask.", False),
        ("When did the last wheel of the mill break?", "In the flood.", False),
    ],
)
def test_near_duplicate_questions_are_dropped(question, answer, dropped):
    texts = [("Who built the old mill by the river Dun, and for whom?", "The brothers Hask, for the town.")]
    questions = [
        Question(id=str(n), question=one, correct_answer=two, hallucinated=[{"text": "x", "type": "entity"}])
        for n, (one, two) in enumerate([*texts, (question, answer)])
    ]
    assert bool(made_of(questions)[1].omission) is dropped


PARIS = "One is first. Two is\nsecond. 三在最后。"


@pytest.mark.parametrize(
    ("says", "first", "second", "expected"),
    [
        (are_near_duplicates, "In March 1889.", "in march 1889", True),
        (are_near_duplicates, "In March 1889.", "In March 1899.", False),
        (are_near_duplicates, "他在1505年建成长城。", "他在1505年建成长城", True),
        (are_near_duplicates, "Built by Eiffel's own company.", "Built by Eiffels own companys.", True),
        (are_near_duplicates, "塔高120米。", "塔高一百二十米。", True),
        (are_near_duplicates, "共有三位乘客。", "共有3位乘客", True),
        (are_near_duplicates, "共有三位乘客。", "共有四位乘客。", False),
        (are_near_duplicates, "高3.5米", "高35米", False),
        (are_near_duplicates, "Ada", "Bob", False),
        (are_near_duplicates, "", "", True),
        (gives_answer_away, "When was it built in 1889?", "1889", True),
        (gives_answer_away, "When was it built?", "1889", False),
        (
            gives_answer_away,
            "Which is longer, the Nile or the Amazon?",
            "The Nile is longer than the Amazon.",
            False,
        ),
        (
            are_near_duplicates,
            "The Hallin ferry is older than the bridge at Stoke.",
            "The bridge at Stoke is older than the Hallin ferry.",
            False,
        ),
        (
            are_near_duplicates,
            "The Hallin ferry is older than the bridge at Stoke.",
            "The Hallin ferry is older than the old bridge at Stoke.",
            True,
        ),
        (gives_answer_away, "长城建于1505年吗？", "1505年", True),
        (gives_answer_away, "What happened in 1889 in Paris?", "In Paris, in 1889.", True),
        (gives_answer_away, "一九一〇年有多少人？", "十", False),
        (gives_answer_away, "一百二十米高的塔在哪里？", "120米", True),
        (stands_in_document, "One is first. 三在最后。", PARIS, True),
        (stands_in_document, "Two is second.", PARIS, True),
        (stands_in_document, "Two was second.", PARIS, False),
        (stands_in_document, "“三在最后.”", PARIS, True),
        (stands_in_document, "三在最后｡", PARIS, True),
        (stands_in_document, "‘Ｏｎｅ is first’", PARIS, True),
        (stands_in_document, "四在最后。", PARIS, False),
        (stands_in_document, "。”", PARIS, False),
        (stands_in_document, "  ", PARIS, False),
    ],
)
def test_what_code_sees_of_two_texts(says, first, second, expected):
    assert says(first, second) is expected
    assert says is not are_near_duplicates or are_near_duplicates(second, first) is expected


def _benchmark():
    answers = [{"text": text, "type": "entity"} for text in ("Bob", "Cyrus", "Diana")]
    questions = [
        Question(
            id=f"q{n}",
            group=f"d{n}",
            question=f"Who is number {n}?",
            correct_answer="Ada",
            hallucinated=answers,
        )
        for n in range(8)
    ]
    return items_of(questions)


def test_rates_of_a_perfect_a_credulous_and_a_silent_model():
    items = _benchmark()
    perfect = rates([ItemResult(item, False) for item in items])
    assert perfect.overall is not None
    assert perfect.overall[0] == 0.0
    assert {share.value for share in perfect.formats.values()} == {0.0}
    believes = rates([ItemResult(item, isinstance(item, TrueFalse) and not item.correct) for item in items])
    assert believes.errors["false_negative"].value == 1.0
    assert believes.errors["false_positive"].value == 0.0
    assert believes.formats["true-false"].value == 0.5
    assert believes.overall is not None
    assert believes.overall[0] == pytest.approx(0.5 / 3)
    assert believes.types["entity"].of == 8
    silent = rates([ItemResult(item, None, failed=place == 0) for place, item in enumerate(items)])
    assert silent.overall is None
    assert (sum(silent.unanswered.values()), silent.failed) == (len(items) - 1, 1)
    found = [ItemResult(item, None, failed=place == 0) for place, item in enumerate(items)]
    paper = rates(found, unanswered="wrong")
    assert paper.overall is not None
    assert paper.overall[0] == 1.0
    assert (paper.unanswered, paper.failed) == (silent.unanswered, 1)


def test_a_judge_that_errs_is_taken_out_of_the_rate():
    items = [item for item in _benchmark() if item.format == "generative"]
    found = [ItemResult(item, place % 2 == 0) for place, item in enumerate(items)]
    right = {f"g{n}": (9, 10) for n in range(10)}
    corrected = rates(found, calibration=(right, right)).corrected
    assert corrected is not None
    assert (corrected.raw, corrected.value) == (0.5, pytest.approx(0.5))


def test_what_code_finds_wrong():
    sky, wrong = "The sky is blue.", ["Green.", "Red.", "red"]
    good = (sky, "What colour is the sky?", "Blue.", sky, wrong)
    assert [list(find_form_faults(*good, place)) for place in (0, 2)] == [
        *([], ["the hallucinated answer repeats another one"]),
    ]
    asked = ("The sky is blue.", "Is it blue?", "Blue.", "It is.", ["Blue!", "", "天空是绿色的"])
    assert [len(list(find_form_faults(*asked, place))) for place in range(3)] == [3, 3, 3]


@pytest.mark.parametrize(
    ("answer", "is_fault"),
    [
        ("The Lord of the Rings: The Return of the King", False),
        ("Le fabuleux destin d'Amélie Poulain", False),  # the document names it
        ("It was built by the company of Eiffel.", True),
        ("这部电影是 The Lord of the Rings: The Return of the King。", False),
    ],
)
def test_a_foreign_title_is_no_fault_in_a_chinese_document(answer, is_fault):
    document = (
        "这部电影的导演生于法国，他最有名的作品是《Le fabuleux destin d'Amélie Poulain》，于2001年上映。"
    )
    problems = list(find_form_faults(document, "他喜欢哪部电影？", "不知道。", document, [answer], 0))
    assert problems == ["幻觉答案与文档的语言不同"] * is_fault
