"""``jurist.generate`` and ``jurist.assess`` in Python: the files and figures of the commands, as results."""

from collections.abc import Callable
from pathlib import Path

import pytest
from quiz import QUIZ as QUIZ_FILE
from small import ok, read_jsonl

import jurist
from jurist.errors import CheckpointError, JudgeError, StoppedError, UsageError
from jurist.gold.rejects import Rejects
from jurist.jobs.generation import Written

TEXTS = (
    "The museum opens at nine. It was founded in 1901 by a baker. On Mondays it stays closed. Children enter for free.",
    "The lake freezes in January. Skaters need a permit from the village hall. Two rangers measure the ice at seven.",
)
SHORT = {"turns": "1", "words": "5-60"}


@pytest.fixture
def documents() -> str:
    folder = Path("docs")
    folder.mkdir()
    for number, text in enumerate(TEXTS):
        (folder / f"{number}.txt").write_text(text)
    return "docs"


def test_dialogues_are_those_of_the_command_and_are_written_once(documents: str) -> None:
    written = jurist.generate("dialogue", documents, "python.jsonl", **SHORT)
    told = ok(
        "generate",
        "dialogue",
        "--input",
        documents,
        "--output",
        "c.jsonl",
        "--turns",
        1,
        "--words",
        "5-60",
        "--json",
    )
    assert Path("python.jsonl").read_bytes() == Path("c.jsonl").read_bytes()
    assert written.to_json()["kept"] == told.json["kept"] == len(written.to_frame()) == 2
    before = Path("python.jsonl").stat().st_mtime_ns
    again = jurist.generate("dialogue", documents, "python.jsonl", **SHORT)
    assert again.counts.done_before
    assert counted(again) == counted(written)
    assert (again.counts.kept, again.counts.documents) == (2, 2)
    assert again.to_latex() == written.to_latex()
    assert "2 & 2 & 0 & 0" in again.to_latex()
    assert repr(again) == "<Written: python.jsonl holds this very job already; nothing was asked>"
    assert Path("python.jsonl").stat().st_mtime_ns == before


def counted(written: Written) -> list[object]:
    """Return the counts of all that was written."""
    counts = written.counts
    return [counts.documents, counts.cases, counts.kept, counts.rejected, counts.failed, counts.unusable]


def test_a_finished_benchmark_is_counted_again_from_its_rows() -> None:
    first, again = (jurist.generate("haluagent:basic", "haluagent-docs", "bench", limit=6) for _ in range(2))
    assert again.counts.done_before
    assert counted(again) == counted(first)
    assert again.counts.kept
    assert again.counts.statuses["abstained"] == first.counts.statuses["abstained"] > 0
    assert again.counts.statuses["verdict"] == first.counts.statuses["verdict"]
    assert again.counts.rejected > again.counts.statuses["abstained"]  # items that failed a check, too


def test_queries_are_counted_and_assessed_as_by_the_command() -> None:
    written = jurist.generate("faithqa", "faithqa-documents", "b.jsonl", size=4, tasks="fact,poem")
    assert written.description["statistics"]
    assert written.to_latex().count("toprule") == 1
    assessed = jurist.assess("offline", "b.jsonl", limit=3)
    told = ok("assess", "offline", "--benchmark", "b.jsonl", "--limit", 3, "--json").json
    told.pop("forecast")
    assert assessed.to_json() == told
    shown = repr(assessed)
    assert shown.startswith("<AssessedModels: offline on b.jsonl>\n\n")
    for table in assessed.tables:
        assert shown.count(table.title) == 1
        assert all(cell in shown for cell in table.rows[0])
    frame = assessed.to_frame()
    overview = frame[frame["table"] == "overview"]
    assert set(overview["measure"]) >= {"fact: perfect", "fact: score"}
    assert set(frame["model"]) == {"offline"}
    assert len(assessed.answers) == 3
    assert r"\toprule" in assessed.to_latex(caption="FAITHQA")


def test_items_are_written_into_a_folder_and_assessed_by_their_formats() -> None:
    written = jurist.generate("haluagent", "haluagent-docs", "bench", limit=2)
    assert (Path("bench") / "CARD.json").is_file()
    assert written.output == Path("bench/verified.jsonl")
    assessed = jurist.assess(["offline"], "bench/benchmark.jsonl", unanswered="wrong")
    frame = assessed.to_frame()
    rates = frame[frame["table"] == "formats"].set_index("measure")
    assert rates.loc["overall", "of"] == len(read_jsonl(Path("bench/benchmark.jsonl")))
    assert (
        rates.loc["generative", "low"] <= rates.loc["generative", "value"] <= rates.loc["generative", "high"]
    )


def test_a_generator_of_ones_own_takes_rows() -> None:
    reference = f"{QUIZ_FILE}:generator"
    rows = [{"id": str(number), "document": text} for number, text in enumerate(TEXTS)]
    written = jurist.generate(reference, rows, "quiz.jsonl", attempts=2)
    assert written.counts.documents == 2
    loaded = jurist.load(f"{reference}:basic")
    assert jurist.generate(loaded, rows, "other.jsonl").counts.cases == 2


def test_a_stopped_assessment_goes_on_without_paying_twice() -> None:
    limit = jurist.Budget(calls=5)
    with pytest.raises(StoppedError, match="make the same call again to go on"):
        jurist.assess("offline", "dialogues", limit=1, samples=1, budget=limit)
    whole = jurist.assess("offline", "dialogues", limit=1, samples=1)
    total = whole.spend["total"]
    assert total["replayed"] == 5
    assert (
        total["calls"]
        == jurist.assess("offline", "dialogues", limit=1, samples=1).spend["total"]["calls"] - 5
    )


REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "another generator's setting": (
        lambda: jurist.generate("dialogue", "docs", "x.jsonl", size=3),
        UsageError,
        "size does not apply to dialogue; use one of turns, words, per_topic",
    ),
    "an unknown generator": (
        lambda: jurist.generate("nobody", "docs", "x.jsonl"),
        JudgeError,
        "no generator is called 'nobody'; use one of dialogue",
    ),
    "a judge": (
        lambda: jurist.generate("fect", "docs", "x.jsonl"),
        UsageError,
        "fect is a judge and writes nothing",
    ),
    "rows for a paper's generator": (
        lambda: jurist.generate("dialogue", [{"text": "a"}], "x.jsonl"),
        UsageError,
        "dialogue reads its documents from files; write them to a file",
    ),
    "an argument in words of Python": (
        lambda: jurist.generate("dialogue", "docs", "x.jsonl", turns="many"),
        UsageError,
        'turns="many" is no number and no range',
    ),
    "the output of another job": (
        lambda: [jurist.generate("dialogue", "docs", "x.jsonl", turns=turns, words="5-60") for turns in "12"],
        CheckpointError,
        "x.jsonl is the output of another job",
    ),
    "a model twice": (
        lambda: jurist.assess(["offline"] * 2, "dialogues"),
        UsageError,
        r"jurist.assess\(\[.offline",
    ),
    "another benchmark's argument": (
        lambda: jurist.assess("offline", "dialogues", per_cell=3, rejects=Rejects()),
        UsageError,
        "per_cell= does not apply to dialogues; leave out per_cell=",
    ),
    "a judge of other answers": (
        lambda: jurist.assess("offline", "dialogues", judge="fect:basic"),
        UsageError,
        "judge fect does not label the sentences",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_one_line(case: str, documents: str) -> None:
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call()
