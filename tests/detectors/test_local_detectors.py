"""LettuceDetect's own package, and SelfCheckGPT by NLI, over models of random weights made on the spot."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback
from small import cli
from tiny_models import tiny

pytestmark = [
    pytest.mark.detectors,
    pytest.mark.skipif(
        importlib.util.find_spec("lettucedetect") is None,
        reason="needs the extra detectors: pip install -e '.[detectors]'",
    ),
]
ROWS = [
    {
        "reference": "The bridge was built by carters. " * 60,
        "question": "Who?",
        "sentences": ["It was built.", "It fell."],
    },
    {
        "reference": "桥是车夫们建的。",
        "question": "",
        "sentences": ["桥塌了。", "𝔗he bridge — “built” by ﬁve.", "It fell."],
    },
    {"reference": "R.", "question": "Q?", "sentences": ["It fell. " * 300]},
]


@pytest.fixture(autouse=True)
def rows() -> None:
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def run(reference: str, *more: object) -> list[dict[str, Any]]:
    done = cli("run", reference, "--input", "rows.jsonl", "--output", "o.jsonl", *more)
    assert done.code in (0, 3), done.err  # 3: some abstained
    return [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("room", [400, 1200])
def test_lettucedetect_marks_every_sentence_or_says_that_it_cannot_read(tmp_path: Path, room: int) -> None:
    model = tiny(
        tmp_path / "m", kind="ForTokenClassification", classes=("supported", "hallucinated"), room=room
    )
    long, chinese, too_long = run(f"lettuce:{model}")
    assert (long["judge"], long["usage"]["calls"]) == (f"lettuce:{model}", 1)
    assert [one["status"] for one in (long, chinese, too_long)] == ["verdict", "verdict", "abstained"]
    assert {unit["label"] for one in (long, chinese) for unit in one["units"]} <= {"faithful", "hallucinated"}


def test_its_spans_are_those_of_the_package(tmp_path: Path) -> None:
    from lettucedetect.models.inference import HallucinationDetector

    from jurist.engines.local import LettuceEngine

    model = tiny(tmp_path / "m", kind="ForTokenClassification", classes=("a", "b"), room=600)
    answer = "It fell. The bridge was built."
    spans = HallucinationDetector(method="transformer", model_path=str(model)).predict(
        ["The bridge."], answer, "Why?", "spans"
    )
    asked = {"reference": "The bridge.", "dialogue": "Why?", "response": answer}
    assert LettuceEngine(str(model)).answer(asked) == [(s["start"], s["end"]) for s in spans]


@pytest.mark.parametrize(
    "options", [{"classes": ("a", "b", "c")}, {"kind": "Model", "classes": ("a", "b", "c")}]
)
def test_what_is_no_span_detector_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    model = tiny(tmp_path / "m", **{"kind": "ForTokenClassification", **options})
    done = cli("run", f"lettuce:{model}", "--input", "rows.jsonl", "--output", "o.jsonl")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "does not tell supported tokens from others" in done.err


def test_nothing_to_load_is_one_line() -> None:
    done = cli("run", "lettuce:nowhere", "--input", "rows.jsonl", "--output", "o.jsonl")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "lettuce:nowhere is no folder here and cannot be loaded" in done.err


def test_selfcheck_compares_by_nli(tmp_path: Path) -> None:
    model = tiny(tmp_path / "m")

    def respond(messages: list[dict[str, Any]]) -> str:
        return "[[ ## response ## ]]\nThe bridge fell.\n\n[[ ## completed ## ]]"

    with Loopback(respond) as server:
        said = run(f"selfcheck:openai/m+nli:{model}", "--api-base", server.url, "--samples", 3)
    assert 6 <= server.count <= 9  # the responses, until the votes are settled; the comparisons run here
    assert [one["status"] for one in said] == ["verdict"] * 3
    assert [len(one["units"]) for one in said] == [2, 3, 1]
