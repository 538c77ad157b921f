"""The scoreboard's splits, its file of results, its tables, and the offline engine as the model of an MLflow judge."""

import json
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import jurist

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def scripts() -> dict[str, ModuleType]:
    """The modules of the scoreboard, which import each other as scripts do."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import offline_server  # type: ignore[import-not-found]
        import scoreboard  # type: ignore[import-not-found]
        import scoreboard_sets  # type: ignore[import-not-found]
        import scoreboard_tables  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(BENCHMARKS))
    modules = (offline_server, scoreboard, scoreboard_sets, scoreboard_tables)
    return {module.__name__: module for module in modules}


def qags_rows(count: int) -> list[dict[str, str]]:
    """Rows of ``qags`` in groups of one to three, with a word in the sentence that tells the label in most of them."""
    generator = random.Random(0)
    words = [f"word{number}" for number in range(400)]
    rows: list[dict[str, str]] = []
    while len(rows) < count:
        article = " ".join(generator.sample(words, 40))
        for _ in range(generator.randint(1, 3)):
            label = generator.choice(["yes", "no"])
            told = label if generator.random() < 0.9 else "yes"
            sentence = " ".join(generator.sample(words, 6)) + f" so {told}ly"
            group = f"g{len({row['article'] for row in rows})}"
            rows.append({"article": article, "sentence": sentence, "label": label, "group": group})
    return rows


def folder_of_qags(folder: Path, count: int) -> Path:
    """A folder of sets that holds one of them."""
    path = folder / "others" / "qags.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in qags_rows(count)))
    return folder


def groups_of(cases: Any) -> set[str]:
    return {case.group for case in cases}


def test_splits_keep_groups_whole_and_hold_the_same_rows_out(
    scripts: dict[str, ModuleType], tmp_path: Path
) -> None:
    sets = scripts["scoreboard_sets"]
    gold = sets.SETS["qags"].gold(folder_of_qags(tmp_path, 320))
    few, many, other = sets.draw(gold, 100, 0), sets.draw(gold, 200, 0), sets.draw(gold, 100, 1)
    assert 97 <= len(few.labelled.cases) <= 100
    assert 197 <= len(many.labelled.cases) <= 200
    assert few.held_out == many.held_out
    assert len(few.held_out) >= sets.FEWEST_HELD_OUT
    assert groups_of(few.labelled.cases) <= groups_of(many.labelled.cases)
    assert groups_of(many.labelled.cases).isdisjoint(groups_of(many.held_out))
    assert groups_of(other.labelled.cases) != groups_of(few.labelled.cases)
    assert few == sets.draw(gold, 100, 0)


@pytest.mark.parametrize(("rows", "with_100", "with_200"), [(170, False, False), (200, True, False)])
def test_a_set_is_not_asked_where_too_few_rows_would_be_held_out(
    scripts: dict[str, ModuleType], tmp_path: Path, rows: int, with_100: bool, with_200: bool
) -> None:
    sets = scripts["scoreboard_sets"]
    gold = sets.SETS["qags"].gold(folder_of_qags(tmp_path, rows))
    assert (sets.draw(gold, 100, 0) is not None) is with_100
    assert (sets.draw(gold, 200, 0) is not None) is with_200


def test_cells_are_run_once_and_what_cannot_be_run_says_why(
    scripts: dict[str, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scoreboard = scripts["scoreboard"]
    data = folder_of_qags(tmp_path / "data", 200)
    out = tmp_path / "results.jsonl"
    asked = ["--data", data, "--out", out, "--seeds", "0", "--sets", "qags", "movies"]
    asked += ["--contenders", "constant", "basic", "jurist", "mipro", "--max-calls", "400"]
    options = scoreboard.options_of([str(argument) for argument in asked])
    cells = scoreboard.cells_of(options)
    scoreboard.fill(cells, scoreboard.Results.read(out), options)
    lines = {
        (line["set"], line["labels"], line["contender"]): line
        for line in map(json.loads, out.read_text().splitlines())
    }
    assert lines["qags", 100, "mipro"]["why"] == "no --environments"
    assert lines["movies", 100, "basic"]["why"] == "no --packages"
    assert lines["qags", 200, "basic"]["why"] == "200 rows are too few"
    basic, by_jurist = lines["qags", 100, "basic"], lines["qags", 100, "jurist"]
    assert lines["qags", 100, "constant"]["score"] == 0.5
    assert basic["low"] <= basic["score"] <= basic["high"]
    assert len(basic["answers"]) == basic["held_out"]
    assert 0 < by_jurist["calls"] <= 400
    assert by_jurist["over_basic"]["difference"] == pytest.approx(by_jurist["chosen_score"] - basic["score"])
    assert by_jurist["promoted"] or by_jurist["score"] == basic["score"]

    done = {line["contender"] for line in lines.values() if line["status"] == "run"}
    capsys.readouterr()
    scoreboard.fill(cells, scoreboard.Results.read(out), options)
    again = capsys.readouterr().err.splitlines()
    assert done == {"constant", "basic", "jurist"}
    assert not any(f"qags, 100 labels, seed 0: {contender}" in line for contender in done for line in again)


def line_of(contender: str, score: float, **values: object) -> dict[str, object]:
    """A line of results of one cell."""
    line: dict[str, object] = {"set": "qags", "labels": 100, "seed": 0, "contender": contender}
    line |= {"model": "offline", "status": "run", "metric": "balanced_accuracy", "held_out": 90}
    line |= {"score": score, "low": score - 0.1, "high": score + 0.1, "calls": 1200, "tokens": 5}
    return line | {"tokens_a_row": 7.0, "seconds": 1.0, "promoted": None} | values


def test_tables_name_the_best_free_contender_hollow_prompts_and_power(
    scripts: dict[str, ModuleType],
) -> None:
    real = {"difference": 0.1, "low": 0.02, "high": 0.2}
    unclear = {"difference": 0.1, "low": -0.02, "high": 0.2}
    lines = [
        line_of("constant", 0.5),
        line_of("words", 0.65),
        line_of("jurist", 0.6, promoted=True, chosen_score=0.6, over_basic=real),
        line_of("jurist", 0.5, seed=1, promoted=False, chosen_score=0.62, over_basic=real),
        line_of("mipro", 0.45, promoted=True, chosen_score=0.45, over_basic=unclear),
        {**line_of("gepa", 0.0), "status": "not run", "why": "no --environments"},
    ]
    text = "\n".join(
        scripts["scoreboard_tables"].tables(lines, ["constant", "words", "jurist", "mipro", "gepa"])
    )
    assert (
        "| qags (balanced_accuracy, 90, 2) | 0.500 ±0.100 (1 seed) | 0.650 ±0.100 (1 seed) | 0.550 ±0.100 "
        "| 0.450 ±0.100 (1 seed) | - | 0.610 | -0.100 |"
    ) in text
    assert "| jurist | 100 | 2 | 1,200 | 5 | 7 | 1 |" in text
    assert "| jurist | 100 | 2 | 1 | 0 | 2 | 1 |" in text
    assert "| DSPy MIPROv2 | 100 | 1 | 1 | 1 | 0 | 0 |" in text
    assert "- qags, 100 labels: no --environments (DSPy GEPA)" in text


def test_the_offline_engine_answers_a_judge_of_mlflow_by_its_retrieved_rows(
    scripts: dict[str, ModuleType],
) -> None:
    server, judge = scripts["offline_server"], scripts["scoreboard_sets"].SETS["qags"].judge
    rows = [
        {"result": "yes", "rationale": "", "inputs": str({"article": 'a "b"\nit\'s', "sentence": "c."})},
        {"result": "no", "rationale": "", "inputs": str({"article": "d", "sentence": "e"})},
    ]
    shown = "\n".join(f"  Example {number}: {row}" for number, row in enumerate(rows, 1))
    system = f"You are an expert judge.\n\nExample Judgements (2):\nSome.\n{shown}.\n\nAnswer."
    first, second = server.demonstrations(judge, system)
    assert dict(first) == {"article": 'a "b"\nit\'s', "sentence": "c.", "label": "yes"}
    assert dict(second) == {"article": "d", "sentence": "e", "label": "no"}
    inputs = {"article": "The cat sat on the mat.", "sentence": "The cat sat on the mat."}
    asked = [
        {"role": "system", "content": system},
        {"role": "user", "content": f"inputs: {json.dumps(inputs)}"},
    ]
    assert json.loads(server.complete(judge, asked))["result"] in {"yes", "no"}
    assert json.loads(server.complete(judge, asked[:1])) == {"guidelines": []}


def test_every_set_has_a_judge_of_one_answer(scripts: dict[str, ModuleType]) -> None:
    for public_set in scripts["scoreboard_sets"].SETS.values():
        assert isinstance(public_set.judge, jurist.Judge)
        assert public_set.judge.answer.field in public_set.judge.signature.output_fields
