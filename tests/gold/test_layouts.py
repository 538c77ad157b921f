"""Data as it is: the layouts in which people keep labels, each read by one command."""

import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from small import cli, ok, write_jsonl

JUDGES = """
from typing import Literal
import dspy, jurist, pydantic
print("this is no result")

def signature(fields, **outputs):
    given = {name: (str, dspy.InputField()) for name in fields.split()}
    return dspy.Signature(given | {name: (kind, dspy.OutputField(**more)) for name, (kind, more) in outputs.items()}, "Judge it.")

claim = jurist.Judge(name="claim", signature=signature("document claim", verdict=(Literal["ok", "bad"], {})), positive="bad")
score = jurist.Judge(name="score", signature=signature("document answer", score=(int, {"ge": 1, "le": 5})))
right = jurist.Judge(name="right", signature=signature("question answer", right=(bool, {})), positive="false")
pair = jurist.Judge(name="pair", signature=signature("question answer_a answer_b", winner=(Literal["first", "second"], {})),
                    answer=jurist.Preference(first="answer_a", second="answer_b"))
class Span(pydantic.BaseModel):
    text: str
    kind: Literal["invented", "contradicted"]

spans = jurist.Judge(name="spans", signature=signature("document answer", spans=(list[Span], {})))
three = jurist.Judge(name="three", signature=signature("context response", grounded=(bool, {}), tone=(int, {"ge": 1, "le": 3}),
                     action=(Literal["send", "hold"], {})))
"""  # noqa: E501
COUNT = 12


def text(n: int) -> str:
    return f"The parcel with the number {n} left on day {n % 7}."


def each(row: Any) -> list[dict[str, Any]]:
    return [row(n) for n in range(COUNT)]


def both(n: int) -> list[dict[str, Any]]:
    sides, winner = [f"A {n}", f"B {n}"], ["model_a", "model_b"][n % 2]
    other = {"model_a": "model_b", "model_b": "model_a"}[winner]
    return [
        {"question": text(n), "answer_a": sides[0], "answer_b": sides[1], "winner": winner},
        {"question": text(n), "answer_a": sides[1], "answer_b": sides[0], "winner": other},
    ]


def mlflow(n: int) -> dict[str, Any]:
    said = {"assessment_name": "correct", "feedback": {"value": n % 3 > 0}, "rationale": "it is in there"}
    return {
        "trace_id": f"t{n}",
        "request": json.dumps({"question": text(n)}),
        "response": f"Parcel {n}.",
        "assessments": [said],
    }


def langfuse(n: int) -> dict[str, Any]:
    scores = [{"name": "correct", "value": n % 2, "dataType": "BOOLEAN", "comment": "why"}]
    return {"id": f"i{n}", "input": {"question": text(n)}, "output": f"Parcel {n}.", "scores": scores}


def label_studio(n: int) -> dict[str, Any]:
    values = [{"choices": ["ok" if n % 2 else "bad"]}, {"text": ["so"]}]
    result = [
        {"from_name": name, "value": value} for name, value in zip(("label", "why"), values, strict=True)
    ]
    return {
        "id": n,
        "data": {"text": text(n), "claim": f"Parcel {n} left."},
        "annotations": [{"result": result}],
    }


def plain(n: int) -> dict[str, Any]:
    return {"document": text(n), "claim": f"Parcel {n} left.", "verdict": "ok" if n % 2 else "bad"}


def workbook(path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["document", "answer", "score", "checked", "day"])
    for n in range(COUNT):
        book.active.append([text(n), f"Parcel {n} left.", 1 + n % 5, n % 2 == 0, None])
    book.active.append([None] * 5)  # programs leave empty rows behind
    book.save(path)


def nested(n: int) -> dict[str, Any]:
    return {"doc": {"text": text(n)}, "outputs": [f"{n} left."], "scores": {"overall": 1 + n % 5}}


def sentences(n: int) -> dict[str, Any]:
    said = [{"text": f"Parcel {n} left.", "label": "ok"}, {"text": f"Parcel {n} is red.", "label": "bad"}]
    return {"doc": text(n), "sentences": said}


def criteria(n: int, grounded: Any = True, tone: Any = 2, action: str = "hold") -> dict[str, Any]:
    ratings = {"grounded": grounded, "tone": tone, "action": action}
    return {"context": text(n), "response": f"Parcel {n}.", "ratings": ratings}


def columns(n: int) -> dict[str, Any]:
    row = criteria(n, "yes" if n % 2 else "no", float(1 + n % 3), "Hold" if n % 2 else "SEND")
    return row.pop("ratings") | row


LAYOUTS: dict[str, tuple[str, Any, list[str], int]] = {
    "nested scores": ("score", each(nested), ["doc.text=document", "outputs.0=answer", "scores.overall=score"], COUNT),
    "sentences": (
        "claim", each(sentences), ["doc=document", "sentences[].text=claim", "sentences[].label=verdict"], 2 * COUNT
    ),
    "pairs in both orders": ("pair", [row for n in range(COUNT) for row in both(n)], [], 2 * COUNT),
    "MLflow": (
        "right", each(mlflow), ["request.question=question", "response=answer", "assessments.0.feedback.value=right",
                                "assessments.0.rationale=reason"], COUNT,
    ),
    "Langfuse": ("right", each(langfuse), ["input.question=question", "output=answer", "scores.0.value=right"], COUNT),
    "Label Studio": (
        "claim", each(label_studio), ["data.text=document", "data.claim=claim",
                                      "annotations.0.result.0.value.choices.0=verdict",
                                      "annotations.0.result.1.value.text.0=reason"], COUNT,
    ),
    "three criteria": (
        "three", each(lambda n: criteria(n, n % 2 == 0, 1 + n % 3, "hold" if n % 2 else "send")),
        ["ratings.grounded=grounded", "ratings.tone=tone", "ratings.action=action"], COUNT,
    ),
    "criteria in columns": ("three", each(columns), [], COUNT),
    "chosen and rejected": (
        "pair", each(lambda n: {"question": text(n), "win": [{"role": "assistant", "content": f"{n}"}],
                                "rejected": f"B {n}"}), ["win.0.content=chosen"], COUNT,
    ),
}  # fmt: skip
WORDS = {"pairs in both orders": ["model_a=first", "model_b=second"]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("judges.py").write_text(JUDGES, encoding="utf-8")


def read(judge: str, source: str, names: list[str], words: list[str]) -> dict[str, Any]:
    named = [part for column in names for part in ("--column", column)]
    mapped = [part for word in words for part in ("--map", word)]
    return ok("gold", "check", f"judges.py:{judge}", source, *named, *mapped, "--json").json


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_read_by_one_command(layout: str) -> None:
    judge, rows, names, count = LAYOUTS[layout]
    write_jsonl(Path("rows.jsonl"), rows)
    found = read(judge, "rows.jsonl", names, WORDS.get(layout, []))
    assert (found["cases"], found["unlabelled"]) == (count, 0)
    assert all(found.get("labels", {}).values())


def test_rows_to_judge_have_the_layouts_of_gold_too() -> None:
    write_jsonl(Path("rows.jsonl"), each(sentences))
    Path("prompt.md").write_text("Say ok or bad of {{claim}}, by {{document}}.")
    names = ["doc=document", "sentences[].text=claim", "sentences[].label=label"]
    columns = [part for name in names for part in ("--column", name)]
    ok("new", "mine", "--from", "prompt.md", "--gold", "rows.jsonl", *columns)
    ok("run", "mine.py:judge", "--input", "rows.jsonl", "--output", "out.jsonl")
    rows = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]
    assert [row["part"] for row in rows] == [1, 2] * COUNT


def test_spans_by_several_raters_are_one_label_where_they_agree() -> None:
    rows = [
        {
            "document": text(n),
            "answer": f"Parcel {n} left on Sunday.",
            "annotations": {
                rater: [{"text": f"Parcel {n}", "kind": kind}] for rater, kind in marks.items() if kind
            },
        }
        for n in range(COUNT)
        for marks in [{"ann": "invented", "bob": "invented", "cy": ("contradicted", "")[n % 2]}]
    ]
    write_jsonl(Path("rows.jsonl"), rows)
    merged = ("--merge", "majority", "--column", "annotations=ratings", "--output", "merged.jsonl")
    done = ok("gold", "import", "judges.py:spans", "rows.jsonl", *merged, "--json").json
    assert done["cases"] == COUNT
    assert read("spans", "merged.jsonl", [], [])["unlabelled"] == 0
    kept = [json.loads(line)["spans"] for line in Path("merged.jsonl").read_text("utf-8").splitlines()]
    assert kept == [[{"text": f"Parcel {n}", "kind": "invented"}] for n in range(COUNT)]


def test_a_workbook_is_read_as_its_csv_would_be() -> None:
    workbook(Path("book.xlsx"))
    found = read("score", "book.xlsx", [], [])
    assert (found["cases"], found["scores"]) == (COUNT, {"1": 3, "2": 3, "3": 2, "4": 2, "5": 2})


def test_a_folder_of_json_is_one_set() -> None:
    Path("set").mkdir()
    for n in range(COUNT):
        (Path("set") / f"{n}.json").write_text(json.dumps(plain(n)), encoding="utf-8")
    assert read("claim", "set", [], [])["cases"] == COUNT


@pytest.mark.parametrize("content", [b"PK\x03\x04....", b"PK\x03\x04" + bytes(4000), b"no zip at all\r", b""])
def test_a_broken_workbook_is_one_clear_line(content: bytes) -> None:
    workbook(Path("book.xlsx"))
    start, name, packed = Path("book.xlsx").read_bytes().partition(b"xl/worksheets/sheet1.xml")
    Path("book.xlsx").write_bytes(content or start + name + b"\xff" * 9 + packed[9:])
    done = cli("gold", "check", "judges.py:score", "book.xlsx")
    assert done.code != 0
    assert "\nerror: book.xlsx: broken workbook" in done.err


def skipped_task(n: int) -> dict[str, Any]:
    draft = {"was_cancelled": True, "result": [{"from_name": "label", "value": {"choices": ["ok"]}}]}
    task = label_studio(n)
    task["annotations"] = [draft] if n < 2 else [draft, *task["annotations"]]
    if n % 3 == 0:
        task["annotations"][-1]["result"].reverse()
    return task


def discarded(n: int) -> dict[str, Any]:
    values = {"verdict": {"value": "ok" if n % 2 else "bad"}}
    taken_back = {"status": "discarded", "user_id": "u1", "values": {"verdict": {"value": "ok"}}}
    submitted = {"status": "submitted", "user_id": "u2", "values": values}
    responses = [taken_back] if n < 2 else [taken_back, submitted]
    return {"fields": {"document": text(n), "claim": f"Parcel {n} left."}, "responses": responses}


def prodigy(n: int) -> dict[str, Any]:
    answer = ("ignore", "reject")[n] if n < 2 else "accept"
    said = "ok" if n % 2 else "bad"
    return {"document": text(n), "claim": f"Parcel {n}.", "accept": [said], "answer": answer, "_task_hash": n}


FIELDS = ["fields.document=document", "fields.claim=claim"]
CHOICE = "annotations.0.result[from_name=label].value.choices.0=verdict"
TAKEN_BACK: dict[str, tuple[Any, list[str]]] = {
    "Label Studio": (skipped_task, ["data.text=document", "data.claim=claim", CHOICE]),
    "Argilla": (discarded, [*FIELDS, "responses.0.values.verdict.value=verdict"]),
    "Prodigy": (prodigy, ["accept.0=verdict"]),
}


@pytest.mark.parametrize("tool", TAKEN_BACK)
def test_what_people_took_back_is_no_label_and_the_first_line_says_so(tool: str) -> None:
    row, names = TAKEN_BACK[tool]
    write_jsonl(Path("rows.jsonl"), each(row))
    named = [part for column in names for part in ("--column", column)]
    done = ok("gold", "check", "judges.py:claim", "rows.jsonl", *named)
    assert f"2 of {COUNT} rows have no label" in done.results[0]
    found = read("claim", "rows.jsonl", names, [])
    assert (found["cases"], found["labels"]) == (COUNT - 2, {"ok": 5, "bad": 5})


HEADERS = {"document": "Document ", "claim": "Claim.", "verdict": "VERDICT", "group": "Group"}


def test_names_that_differ_in_capitals_and_signs_are_found_by_all_commands() -> None:
    rows = [
        {HEADERS.get(key, key): value for key, value in {**plain(n), "group": n // 2}.items()}
        for n in range(COUNT)
    ]
    write_jsonl(Path("rows.jsonl"), rows)
    found = read("claim", "rows.jsonl", [], [])
    assert (found["cases"], found["groups"]) == (COUNT, COUNT // 2)
    ok("gold", "import", "judges.py:claim", "rows.jsonl", "-o", "gold.jsonl")
    assert json.loads(Path("gold.jsonl").read_text("utf-8").splitlines()[0]).keys() == {*plain(0), "group"}
    ok("run", "judges.py:claim", "--input", "rows.jsonl", "--output", "out.jsonl")
    assert len(Path("out.jsonl").read_text("utf-8").splitlines()) == COUNT
    ok("evaluate", "judges.py:claim:basic", "--gold", "rows.jsonl")


def test_a_field_that_two_columns_could_be_is_asked_for() -> None:
    write_jsonl(Path("rows.jsonl"), [{**plain(n), "Claim": "x", "CLAIM": "y"} for n in range(COUNT)])
    assert read("claim", "rows.jsonl", [], [])["cases"] == COUNT  # the exact name goes first
    write_jsonl(
        Path("rows.jsonl"),
        [{"document": text(n), "Claim": "x", "CLAIM": "y", "verdict": "ok"} for n in range(COUNT)],
    )
    assert "field 'claim': the field is missing" in cli("gold", "check", "judges.py:claim", "rows.jsonl").err


SPACES = {"a blank": " ", "a line end of Windows": "\r\n", "a no-break space": "\u00a0"}


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("label", ["ok", "bad"])
def test_rows_that_differ_in_white_space_contradict_each_other_as_equal_rows_do(
    space: str, label: str
) -> None:
    rows = each(plain)
    for row in rows:
        row["claim"] = f"One line.\n{row['claim']}"
    again = {**rows[0], "verdict": label}
    again["claim"] = f"{again['claim'].replace(chr(10), SPACES[space])}{SPACES[space]}"
    write_jsonl(Path("rows.jsonl"), [*rows, again])
    done = cli("gold", "check", "judges.py:claim", "rows.jsonl")
    contradicts = label != rows[0]["verdict"]
    assert done.code == (1 if contradicts else 0)
    wanted = "rows.jsonl:1 and rows.jsonl:13: inputs that differ in white space alone and different labels (bad and ok)"
    assert (wanted in done.err) == contradicts
    aside = cli("gold", "check", "judges.py:claim", "rows.jsonl", "--rejects", "bad.jsonl", "--json").json
    assert aside["cases"] == (COUNT - 1 if contradicts else COUNT + 1)


def test_items_that_change_their_order_are_said_with_the_path_that_finds_them() -> None:
    write_jsonl(Path("rows.jsonl"), each(skipped_task))
    names = ["data.text=document", "data.claim=claim", "annotations.0.result.0.value.choices.0=verdict"]
    done = ok(
        "gold",
        "check",
        "judges.py:claim",
        "rows.jsonl",
        *(part for name in names for part in ("--column", name)),
    )
    assert f"5 of {COUNT} rows have no label" in done.results[0]
    assert f"--column '{CHOICE}' finds them by name" in done.results[0]
