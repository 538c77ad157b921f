"""Which column holds what people said: layouts of tools, with the column of each, or the question that is asked."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from small import ok, write_jsonl

from jurist.errors import GoldError
from jurist.gold.shape import Shape, scale_of, shape_of, sides_by_number

PROMPT = "Decide whether the reply is sent: answer send or hold.\n\nPolicy: `policy`\nReply: `reply`"
COUNT = 12


def word(n: int) -> str:
    return "send" if n % 2 else "hold"


def other(n: int) -> str:
    """Return what a model says that is wrong in every third row."""
    return word(n + (n % 3 == 0))


def texts(n: int) -> dict[str, Any]:
    return {"policy": f"Refunds within {n} days of delivery.", "reply": f"We refund item {n} in full."}


def argilla_flat(n: int) -> dict[str, Any]:
    return {
        **texts(n),
        "verdict.responses": [word(n)],
        "verdict.responses.users": ["u1"],
        "verdict.responses.status": ["submitted"],
        "verdict.suggestion": other(n),
        "verdict.suggestion.score": n / 20,
    }


def label_studio(n: int) -> dict[str, Any]:
    choice = {"from_name": "verdict", "type": "choices", "value": {"choices": [word(n)]}}
    note = {"from_name": "why", "type": "textarea", "value": {"text": [f"because {n}"]}}
    result = [choice, note] if n % 3 else [note, choice]
    guess = [{"from_name": "verdict", "value": {"choices": [other(n)]}}]
    return {"data": texts(n), "annotations": [{"result": result}], "predictions": [{"result": guess}]}


def mlflow(n: int) -> dict[str, Any]:
    people = {"assessment_name": "expert", "source": {"source_type": "HUMAN"}, "feedback": {"value": word(n)}}
    judge = {
        "assessment_name": "judge",
        "source": {"source_type": "LLM_JUDGE"},
        "feedback": {"value": other(n)},
    }
    return {**texts(n), "assessments": [judge, people]}


DATA = ["data.policy=policy", "data.reply=reply"]
INPUT = ["input.policy=policy", "input.reply=reply"]

CLEAR: dict[str, tuple[Any, list[str], str]] = {
    # layout -> a row, what the user names, the column of the labels
    "a column of this name": (lambda n: {**texts(n), "label": word(n)}, [], "label"),
    "an LLM's label beside it": (
        lambda n: {**texts(n), "label": other(n), "score": n % 2, "explanation": "so", "human_label": word(n)},
        [],
        "human_label",
    ),
    "Phoenix": (
        lambda n: {**texts(n), "label": other(n), "score": n / 20, "ground_truth": word(n)},
        [],
        "ground_truth",
    ),
    "an LLM's label that is called so": (
        lambda n: {**texts(n), "gpt4_label": other(n), "verdict": word(n)},
        [],
        "verdict",
    ),
    "camel case": (lambda n: {**texts(n), "humanVerdict": word(n), "verdict": other(n)}, [], "humanVerdict"),
    "annotators' names beside it": (
        lambda n: {**texts(n), "annotator": "ann", "annotation": word(n), "prediction": other(n)},
        [],
        "annotation",
    ),
    "Argilla, flat": (argilla_flat, [], "verdict.responses.0"),
    "Label Studio": (label_studio, DATA, "annotations.0.result[from_name=verdict].value.choices.0"),
    "MLflow": (mlflow, [], "assessments[assessment_name=expert].feedback.value"),
    "Langfuse's dataset": (
        lambda n: {"input": json.dumps(texts(n)), "expectedOutput": json.dumps(word(n)), "score": n / 20},
        INPUT,
        "expectedOutput",
    ),
    "doccano": (lambda n: {**texts(n), "label": [word(n)], "Comments": []}, [], "label.0"),
    "Prodigy, binary": (
        lambda n: {**texts(n), "label": word(n), "answer": "accept", "_task_hash": n, "model_score": n / 20},
        [],
        "label",
    ),
    "capitals and spaces": (lambda n: {"Policy": "p", "Reply ": str(n), "Expert Label": word(n)}, [], "Expert Label"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def shaped(row: Any, named: list[str], prompt: str = PROMPT) -> Shape:
    write_jsonl(Path("rows.jsonl"), [row(n) for n in range(COUNT)])
    columns = dict(tuple(name.rsplit("=", 1)) for name in named)
    return shape_of("rows.jsonl", ("policy", "reply"), columns, prompt)


@pytest.mark.parametrize("layout", CLEAR)
def test_the_column_of_people_is_found(layout: str) -> None:
    row, named, column = CLEAR[layout]
    shape = shaped(row, named)
    assert [path for path, field in shape.columns.items() if field == "label"] == [column]
    assert sorted(shape.labels) == ["hold", "send"]


@pytest.mark.parametrize(
    ("identifiers", "group"),
    [
        ({"Ticket": "t{row}", "Conversation ID": "c{pair}"}, "Conversation ID"),
        ({"Conversation ID": "c{pair}", "Ticket": "t{row}"}, "Conversation ID"),
        ({"thread": "x{pair}", "session": "y{pair}"}, "thread"),
        ({"Ticket": "t{row}", "session": "y{row}"}, "Ticket"),
        ({"Ticket": "t{row}", "session": ""}, "Ticket"),
        ({"number": "{pair}"}, None),
    ],
)
def test_the_group_is_a_column_whose_values_repeat(identifiers: dict[str, str], group: str | None) -> None:
    def row(n: int) -> dict[str, Any]:
        named = {column: form.format(row=n, pair=n // 2) for column, form in identifiers.items()}
        return {**named, **texts(n), "verdict": word(n)}

    columns = shaped(row, []).columns
    assert [column for column, role in columns.items() if role == "group"] == ([group] if group else [])


def test_a_table_of_cells_is_read_as_rows_are() -> None:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, ["policy", "reply", "score", "human_label"])
    writer.writeheader()
    for n in range(COUNT):
        writer.writerow({**texts(n), "score": n % 2, "human_label": f'"{word(n)}"'})
    Path("rows.csv").write_text(stream.getvalue(), "utf-8")
    shape = shape_of("rows.csv", ("policy", "reply"), {}, PROMPT)
    assert (shape.columns["human_label"], sorted(shape.labels)) == ("label", ["hold", "send"])


UNCLEAR: dict[str, tuple[Any, list[str]]] = {
    # layout -> a row, what the error says
    "two columns": (
        lambda n: {**texts(n), "label": word(n), "score": n % 2},
        [
            "several columns",
            "label (hold, send); score (0, 1)",
            'mapping={"label": "label"} or mapping={"score": "label"}',
        ],
    ),
    "two of people": (
        lambda n: {**texts(n), "human_label": word(n), "gold_label": other(n)},
        ["several columns", 'mapping={"human_label": "label"} or mapping={"gold_label": "label"}'],
    ),
    "only a model's": (
        lambda n: {**texts(n), "llm_label": word(n), "confidence": n / 20},
        ["called as a model's are", "llm_label (hold, send)", 'mapping={"llm_label": "label"}'],
    ),
    "only suggestions": (
        lambda n: {key: value for key, value in argilla_flat(n).items() if "responses" not in key},
        ["called as a model's are", "verdict.suggestion.score"],
    ),
    "predictions of Label Studio": (
        lambda n: {**texts(n), "predictions": label_studio(n)["predictions"], "annotations": []},
        ["no column is clearly the label"],
    ),
    "no words of the prompt": (
        lambda n: {**texts(n), "score": n / 20},
        ["the prompt names none of the labels", "score (", 'mapping={"score": "label"}'],
    ),
    "other words": (
        lambda n: {**texts(n), "label": "good" if n % 2 else "bad"},
        ["the prompt names none of the labels", "label (bad, good)"],
    ),
    "nothing": (lambda n: texts(n), ["no column is clearly the label"]),
    "free text that people wrote": (
        lambda n: {**texts(n), "expected_output": f"A long answer, number {n}, that an expert wrote down."},
        ["no column is clearly the label"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", UNCLEAR)
def test_what_is_not_clear_is_asked_for(layout: str) -> None:
    row, said = UNCLEAR[layout]
    with pytest.raises(GoldError) as caught:
        shaped(row, [])
    for words in said:
        assert words in str(caught.value)


FITTING = {
    "words": (PROMPT, ["send", "hold"], True),
    "yes and no": ("Is the reply polite?", ["yes", "no"], True),
    "yes and no, some unsure": ("Is the reply polite?", ["Yes", "no", "Unsure"], True),
    "thumbs": ("Is the reply polite?", ["👍", "👎"], True),
    "one and zero": ("Say whether it is polite.", ["1", "0"], True),
    "a rating": ("Rate the reply.", ["3", "4", "5"], True),
    "Chinese": ("判断回复：通过还是不通过", ["通过", "不通过"], True),
    "a part of a word": ("Say whole or sender", ["hole", "send"], False),
    "thumbs for other words": ("Answer send or hold.", ["👍", "👎"], False),
    "only unsure": ("Is the reply polite?", ["unsure", "n/a"], False),
    "a confidence": ("Answer send or hold.", ["0.13", "0.8"], False),
}


@pytest.mark.parametrize("case", FITTING)
def test_labels_fit_the_prompt_that_asks_for_them(case: str) -> None:
    prompt, labels, fits = FITTING[case]

    def row(n: int) -> dict[str, Any]:
        return {**texts(n), "label": labels[n % len(labels)]}

    if fits:
        assert "label" in shaped(row, [], prompt).columns
    else:
        with pytest.raises(GoldError, match="names none"):
            shaped(row, [], prompt)
    assert "label" in shaped(row, ["label=label"], prompt).columns.values()


PREFERENCES = {
    "Chatbot Arena": (["model_a", "model_b", "tie", "tie (bothbad)"], True),
    "names of the models": (["gpt", "llama"], True),
    "places": (["first", "second"], True),
    "other words": (["good", "bad"], False),
}


@pytest.mark.parametrize("case", PREFERENCES)
def test_labels_that_name_a_side_fit_a_judge_that_prefers_one_of_two(case: str) -> None:
    labels, fits = PREFERENCES[case]
    rows = [{"gpt": f"a{n}", "llama": f"b{n}", "winner": labels[n % len(labels)]} for n in range(COUNT)]
    write_jsonl(Path("rows.jsonl"), rows)
    named = ("rows.jsonl", ("gpt", "llama"), {}, "Which is better?")
    if fits:
        assert shape_of(*named, compared=["gpt", "llama"]).columns["winner"] == "label"
    else:
        with pytest.raises(GoldError, match="names none"):
            shape_of(*named, compared=["gpt", "llama"])
    with pytest.raises(GoldError, match="names none"):
        shape_of(*named)


SCALES = {
    "0 1 2": "0-2",
    "0 1 2 3": "0-3",
    "1 2 3": "1-3",
    "1 2 4": "1-5",
    "2 3 7": "1-7",
    "0.25 0.5 1": "0.0-1.0",
    "1 2.5 4": "1.0-5.0",
    "1 2": "",
    "a b c": "",
}


@pytest.mark.parametrize("labels", SCALES)
def test_numbers_are_a_scale_between_usual_ends(labels: str) -> None:
    assert scale_of(labels.split()) == SCALES[labels]


PAIRS = {
    ("0 1 2", "question answer_a answer_b"): ["answer_a", "answer_b"],
    ("0 1", "response1 response2"): ["response1", "response2"],
    ("0 1 2", "first second"): ["first", "second"],
    ("0 1 2", "policy reply"): [],
    ("1 2 3", "answer_a answer_b"): [],
}


@pytest.mark.parametrize(("labels", "inputs"), PAIRS)
def test_numbers_beside_a_pair_may_be_a_preference(labels: str, inputs: str) -> None:
    assert sides_by_number(labels.split(), inputs.split()) == PAIRS[labels, inputs]


NAMED_SIDES = {
    ("A B both tie", "question answer_a answer_b"): ["answer_a", "answer_b"],
    ("model_a model_b", "response1 response2"): ["response1", "response2"],
    ("first second", "answer_a answer_b"): ["answer_a", "answer_b"],
    ("A B neither-nor", "answer_a answer_b"): [],
    ("A tie", "answer_a answer_b"): [],
    ("A B", "policy reply"): [],
    ("send hold", "answer_a answer_b"): [],
}


@pytest.mark.parametrize(("labels", "inputs"), NAMED_SIDES)
def test_new_names_prefer_where_labels_name_the_sides_of_a_pair(labels: str, inputs: str) -> None:
    names, pair = inputs.split(), NAMED_SIDES[labels, inputs]
    words = labels.split()
    Path("pair.md").write_text("Which is right?\n" + "\n".join(f"{{{{{name}}}}}" for name in names), "utf-8")
    rows = []
    for n in range(COUNT):
        rows.append({name: f"{name} {n}" for name in names} | {"better": words[n % len(words)]})
    write_jsonl(Path("rows.jsonl"), rows)
    command = ("new", "pair-check", "--from", "pair.md", "--gold", "rows.jsonl", "--column", "better=label")
    done = ok(*command)
    option = f"--prefer {','.join(pair)}"
    assert (option in done.out) == bool(pair)
    assert pair or "--prefer" not in done.out
    if pair:
        Path("pair_check.py").unlink()
        again = ok(*command, *option.split())
        assert "which of" in again.out
        assert "--prefer" not in again.out
