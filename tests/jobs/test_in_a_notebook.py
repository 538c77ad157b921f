"""A judge that stands in no file, as in a notebook: compiled, called, awaited, loaded again, and shown."""

import asyncio
from pathlib import Path
from typing import Any

import pandas
import pytest
from judges import CHECK, NEW, ROWS

import jurist
from jurist.errors import UnknownJudgeError
from jurist.gold.goldset import Gold
from jurist.jobs.compiling import Compiled


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    small = {"sizes": (2,), "sets": 2, "sample": 6}
    store = tmp_path_factory.mktemp("store")
    return jurist.compile(CHECK, gold=ROWS, optimizer="fewshot", options=small, store=store, seed=1)


def test_what_was_compiled_is_called_awaited_and_given_many_rows(compiled: Compiled) -> None:
    one = compiled(**NEW[0])
    assert one.status == "verdict"
    many = compiled.batch(NEW)
    assert many[0] == one
    assert compiled.judge.batch(pandas.DataFrame(NEW)) == many

    async def inside() -> tuple[Any, Any, Any]:
        # a notebook's cells run inside an event loop, with and without await
        return await compiled.judge.acall(**NEW[0]), await compiled.judge.abatch(NEW), compiled(**NEW[0])

    assert asyncio.run(inside()) == (one, many, one)


def test_what_was_compiled_has_the_ways_out_of_other_results(compiled: Compiled) -> None:
    frame = compiled.to_frame()
    assert list(frame.columns) == ["artifact", "prompt", "metric", "value", "low", "high"]
    scores = compiled.artifact.about.proven_scores
    if compiled.proof is None:
        assert frame.empty
    else:
        compiled_scores = frame[frame["prompt"] == "compiled"]
        assert compiled_scores["value"].tolist() == [score.value for score in scores["compiled"].values()]
        assert r"\begin{tabular}" in compiled.to_latex()
    data = compiled.to_json()
    assert data["artifact"] == str(compiled.artifact.path)
    assert (data["latest"], data["done_before"]) == (compiled.latest, compiled.done_before)
    assert data["decision"] == compiled.artifact.card["decision"]
    assert f"artifact: {compiled.artifact.ref}" in compiled._repr_html_()


def test_it_is_found_again_by_the_judge_itself(compiled: Compiled) -> None:
    store = compiled.artifact.path.parents[1]
    assert jurist.load(CHECK, version=1, store=store).batch(NEW) == compiled.judge.batch(NEW)
    assert jurist.load(CHECK, version="basic", store=store).name == "check:basic"
    measured = jurist.evaluate(CHECK, ROWS, store=store) if compiled.latest else None
    assert measured is None or measured.left_out > 0
    assert jurist.load("check@1", store=store).batch(NEW) == compiled.judge.batch(NEW)  # its versions keep it


def test_what_was_compiled_or_loaded_is_compared_as_it_is(compiled: Compiled, tmp_path: Path) -> None:
    basic = jurist.load(CHECK, version="basic")
    rows = [{**row, "reply": f"{row['reply']}, unseen {n} {'xyz'[n % 3] * n}"} for n, row in enumerate(ROWS)]
    found, name = (
        jurist.compare([compiled, basic, compiled.judge], gold=rows, store=tmp_path),
        compiled.judge.name,
    )
    assert [one.judge for one in found.contenders] == [name, "check:basic", name]
    assert found.tests[1].p == 1.0
    assert jurist.gate(compiled, rows, minimum={"accuracy": 0.0}, not_worse_than=basic, store=tmp_path).passed


def test_a_judge_that_was_never_compiled_is_its_basic_prompt_and_says_so(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="check was not compiled yet"):
        assert jurist.evaluate(CHECK, pandas.DataFrame(ROWS), store=tmp_path).judge == "check:basic"
    assert Gold.of(pandas.DataFrame([*ROWS, {**ROWS[1], "reply": None}]), CHECK).skipped == 1


def test_an_evaluation_says_what_it_left_out(compiled: Compiled, tmp_path: Path) -> None:
    differ = {"verdict": None, "ratings": {"ann": "send", "bob": "hold"}}
    rows = [*ROWS, {**NEW[0], "reply": "unlike", "verdict": None}, {**NEW[1], "reply": "another", **differ}]
    found = jurist.evaluate(jurist.load(CHECK, version="basic"), rows, store=tmp_path)
    assert found.to_json()["skipped_by"] == {"without a label": 1, "on which raters differ": 1}
    assert (found.cases, found.left_out, found.skipped, found.ambiguous) == (24, 0, 2, 1)
    assert repr(found).endswith("24 cases, 2 rows left out>")
    assert (
        "24 cases, positive: hold, 2 left out: 1 without a label, 1 on which raters differ"
        in found._repr_html_()
    )


def test_an_error_of_a_user_is_one_line_in_a_notebook() -> None:
    with pytest.raises(UnknownJudgeError) as error:
        jurist.load("nobody")
    assert error.value._render_traceback_() == [f"UnknownJudgeError: {error.value}"]  # what IPython calls


def test_a_bad_row_of_a_batch_has_its_number(compiled: Compiled) -> None:
    with pytest.raises(jurist.JuristError, match="rows:2, field 'reply': the field is missing"):
        compiled.judge.batch([NEW[0], {"policy": "p"}])


def test_what_it_leaves_is_short_to_print_and_tables_to_look_at(compiled: Compiled, tmp_path: Path) -> None:
    evaluated = jurist.evaluate("fect:basic", "fect-mini", store=tmp_path)
    compared = jurist.compare(["fect:basic", "fect-3d:basic"], gold="fect-mini", store=tmp_path)
    for shown in (compiled, evaluated, compared):
        assert len(repr(shown)) < 400
        html = shown._repr_html_()
        assert html.startswith("<div>")
        assert shown is compiled or "<table>" in html
    for short in (compiled.artifact, compiled.judge, CHECK, compiled.judge.judge):
        assert len(repr(short)) < 200
    assert compiled.judge._repr_html_().startswith(f"<p>LoadedJudge {compiled.judge.name} with offline")
    assert compiled.judge(**NEW[0])._repr_html_().startswith("<p>Verdict ")
    assert compiled.words in compiled._repr_html_()  # nothing better than the basic prompt was found
