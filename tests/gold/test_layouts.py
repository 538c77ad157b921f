"""Data as it is: the layouts in which people keep labels, each read by one command."""

from pathlib import Path
from typing import Any

import pytest
from small import ok, write_jsonl

JUDGES = """
from typing import Literal
import dspy, jurist, pydantic

def signature(fields, **outputs):
    given = {name: (str, dspy.InputField()) for name in fields.split()}
    return dspy.Signature(given | {name: (kind, dspy.OutputField(**more)) for name, (kind, more) in outputs.items()}, "Judge it.")

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


def criteria(n: int, grounded: Any = True, tone: Any = 2, action: str = "hold") -> dict[str, Any]:
    ratings = {"grounded": grounded, "tone": tone, "action": action}
    return {"context": text(n), "response": f"Parcel {n}.", "ratings": ratings}


def columns(n: int) -> dict[str, Any]:
    row = criteria(n, "yes" if n % 2 else "no", float(1 + n % 3), "Hold" if n % 2 else "SEND")
    return row.pop("ratings") | row


LAYOUTS: dict[str, tuple[str, Any, list[str], int]] = {
    "pairs in both orders": ("pair", [row for n in range(COUNT) for row in both(n)], [], 2 * COUNT),
    "three criteria": (
        "three", each(lambda n: criteria(n, n % 2 == 0, 1 + n % 3, "hold" if n % 2 else "send")),
        ["ratings.grounded=grounded", "ratings.tone=tone", "ratings.action=action"], COUNT,
    ),
    "criteria in columns": ("three", each(columns), [], COUNT),
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
