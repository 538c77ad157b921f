"""Results as data frames and LaTeX, and the functions of Python that commands call."""

import json
import sys
from pathlib import Path
from typing import Any

import pandas
import pytest
from judges import CHECK, NEW
from small import FAST, claims, cli, ok, replies, write_jsonl

import jurist
from jurist.errors import JuristError, UsageError
from jurist.report.render import escape_latex, render_latex
from jurist.report.table import table

RATED = [
    {**row, "r_ann": "true" if number % 2 else "false", "r_bob": "true" if number % 3 else "false"}
    for number, row in enumerate(claims(12, 2))
]


@pytest.fixture(autouse=True)
def rows() -> None:
    write_jsonl(Path("gold.jsonl"), claims(12, 2))
    write_jsonl(Path("rated.jsonl"), [{k: v for k, v in row.items() if k != "factual"} for row in RATED])


def test_a_frame_has_the_figures_of_the_result() -> None:
    measured = jurist.evaluate("fect:basic", "gold.jsonl")
    frame = measured.to_frame().set_index("metric")
    assert frame.loc["f1", "value"] == measured["f1"].value
    assert frame.loc["f1", "low"] == measured["f1"].interval.low
    compared = jurist.compare(["fect:basic", "fect-3d:basic"], "gold.jsonl").to_frame()
    assert set(compared["judge"]) == {"fect:basic", "fect-3d:basic"}
    assert compared["p"].notna().sum() == 1
    gated = jurist.gate("fect:basic", "gold.jsonl", minimum={"accuracy": 0.0}, at_least=1)
    assert list(gated.to_frame()["passed"]) == [True, True]
    assert "<table>" in gated._repr_html_()


def test_without_pandas_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = jurist.evaluate("fect:basic", "gold.jsonl")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(JuristError, match=r"pandas is not installed; pip install 'jurist\[frames\]'"):
        measured.to_frame()


def test_a_table_in_latex_has_its_marks_escaped() -> None:
    shown = table("t", ["a_b", "50 %"], [["x & y", "1.0"], ["~{}", "-"]])
    assert render_latex(shown).splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"a\_b & 50 \% \\",
        r"\midrule",
        r"x \& y & 1.0 \\",
        r"\textasciitilde{}\{\} & - \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    floating = render_latex(shown, caption="Scores", label="tab:scores").splitlines()
    assert floating[:3] == [r"\begin{table}", r"\centering", r"\caption{Scores}\label{tab:scores}"]
    assert escape_latex("\\") == r"\textbackslash{}"
    several = render_latex(shown, table("more_", ["a"], [["b"]]), caption="Scores").splitlines()
    assert several.count(r"\begin{table}") == several.count(r"\end{table}") == 1
    assert several[11:15] == [r"\par\medskip", r"more\_", r"\par\smallskip", r"\begin{tabular}{l}"]


def test_a_comparison_in_latex_has_every_metric_and_the_tests() -> None:
    compared = jurist.compare(["fect:basic", "fect-3d:basic"], "gold.jsonl")
    text = compared.to_latex()
    assert text.count(r"\begin{tabular}") == len(compared.metrics) + 1
    for metric in compared.metrics:
        assert f"judge & {escape_latex(metric)} &" in text
    assert f"{compared.tests[0].p:.3g} & {compared.tests[0].p_holm:.3g}" in text


def test_agreement_is_that_of_the_command() -> None:
    found = jurist.agreement("fect", "rated.jsonl", raters="r_*")
    told = ok("gold", "agreement", "fect", "rated.jsonl", "--raters", "r_*", "--json").json
    assert json.loads(json.dumps(found.to_json(), default=str))["raters"] == told["raters"] == ["ann", "bob"]
    frame = found.to_frame()
    assert frame.iloc[0]["value"] == told["raw"]["value"]
    latex = found.to_latex()
    assert latex.startswith(r"\begin{tabular}")
    assert "Cohen's kappa" in latex
    assert "uman ceiling" in latex
    assert latex.count(r"\begin{tabular}") == len(found.tables)
    with pytest.raises(JuristError, match="has the labels of no rater"):
        jurist.agreement("fect", "gold.jsonl")


def test_a_check_names_every_problem_and_raises_nothing() -> None:
    clean = jurist.check_gold("fect", "gold.jsonl")
    assert (clean.passed, len(clean.to_frame())) == (True, 0)
    write_jsonl(Path("bad.jsonl"), [*claims(12, 2), {"claim": "x", "factual": True}])
    bad = jurist.check_gold("fect", "bad.jsonl")
    told = cli("gold", "check", "fect", "--gold", "bad.jsonl", "--json")
    assert (bad.passed, told.code) == (False, 1)
    assert bad.to_frame()["field"].tolist() == ["conversation"]
    assert list(clean.to_frame().columns) == list(bad.to_frame().columns)
    for problem, told_problem in zip(bad.to_json()["problems"], told.json["problems"], strict=True):
        assert {**problem, "hint": ""} == {
            **told_problem,
            "hint": "",
            "places": tuple(told_problem["places"]),
        }
    assert "mapping=" in bad.problems[0].hint
    assert "--column" in told.json["problems"][0]["hint"]
    aside = jurist.Rejects("aside.jsonl")
    assert jurist.check_gold("fect", "bad.jsonl", rejects=aside).passed
    assert len(Path("aside.jsonl").read_text("utf-8").splitlines()) == 1


def test_gold_is_imported_as_by_the_command() -> None:
    gold = jurist.import_gold("fect", "rated.jsonl", "a.jsonl", raters="r_*", merge="unanimous")
    ok(
        "gold",
        "import",
        "fect",
        "rated.jsonl",
        "--raters",
        "r_*",
        "--merge",
        "unanimous",
        "--output",
        "b.jsonl",
    )
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()
    assert gold.rule == "unanimous"
    with pytest.raises(UsageError, match="would be lost"):
        jurist.import_gold("fect", "a.jsonl", "a.jsonl")


def test_judges_are_named_where_gold_is_loaded() -> None:
    assert jurist.Gold.load("gold.jsonl", "fect").judge.name == "fect"
    with pytest.raises(JuristError, match="no judge is called 'nobody'"):
        jurist.Gold.load("gold.jsonl", "nobody")


def test_versions_reports_and_shares() -> None:
    empty = jurist.artifacts().to_frame()
    Path("own.py").write_text(_OWN, "utf-8")
    write_jsonl(Path("own.jsonl"), replies(20))
    ok("compile", "own.py:judge", "--gold", "own.jsonl", *FAST, "--anyway", "--force")
    listed = jurist.artifacts()
    assert [artifact.ref for artifact in listed] == ["own@1"]
    assert listed.to_frame()["artifact"].tolist() == ["own@1"]
    assert (len(empty), list(empty.columns)) == (0, list(listed.to_frame().columns))
    assert jurist.artifacts("own").to_json() == ok("artifacts", "list", "own", "--json").json
    with pytest.raises(JuristError, match="no artifact of 'nobody'"):
        jurist.artifacts("nobody")
    made = jurist.write_report("own@1", "page.html")
    ok("report", "own@1", "-o", "command.html")
    assert made.page == Path("page.html").read_text("utf-8") == Path("command.html").read_text("utf-8")
    rows: list[dict[str, Any]] = [{**row, "verdict": None} for row in replies(24)[40:]]
    jurist.run("own@1", rows, "verdicts.jsonl")
    shares = jurist.share("verdicts.jsonl", "own@1")
    assert shares.to_frame()["label"].tolist() == ["positive: hold"]
    with pytest.raises(UsageError, match="no sealed test"):
        jurist.share("verdicts.jsonl", "own.py:judge:basic")


def test_a_cell_that_is_run_again_goes_on_by_itself() -> None:
    limit = jurist.Budget(calls=5)
    with pytest.raises(jurist.StoppedError, match="make the same call again to go on"):
        jurist.evaluate("fect:basic", "gold.jsonl", budget=limit)
    done = jurist.evaluate("fect:basic", "gold.jsonl")
    assert done.cases == 24
    first = jurist.run("fect:basic", claims(2, 2), "lines.jsonl")
    again = jurist.run("fect:basic", claims(2, 2), "lines.jsonl")
    assert (first.rows, again.resumed) == (4, 4)


_OWN = """
from typing import Literal

import dspy

import jurist


class Own(dspy.Signature):
    \"\"\"Send what the policy supports.\"\"\"

    policy: str = dspy.InputField()
    reply: str = dspy.InputField()
    verdict: Literal["send", "hold"] = dspy.OutputField()


judge = jurist.Judge(name="own", signature=Own, positive="hold")
"""


@pytest.mark.slow
def test_the_table_is_that_of_the_command() -> None:
    measured = jurist.table("cognibench-mini")
    told = ok("table", "cognibench-3", "--gold", "cognibench-mini", "--json").json
    assert measured.to_json()["lines"][0]["sentence"] == told["lines"][0]["sentence"]
    assert set(measured.to_frame()["by"]) == {"sentence", "word"}


def _data(*, labelled: bool = True) -> list[dict[str, Any]]:
    """Return rows as a notebook has them, with a column of another name and two raters."""
    rows: list[dict[str, Any]] = []
    for row in claims(24, 12):
        renamed = {**row, "statement": row["claim"], "label_ann": row["factual"], "label_bob": row["factual"]}
        del renamed["claim"]
        if not labelled:
            del renamed["factual"]
        rows.append(renamed)
    return rows


def test_what_a_message_says_of_rows_in_python_can_be_done() -> None:
    rows = _data()
    with pytest.raises(JuristError, match=r'mapping=\{"THEIRS": "claim"\}.*jurist\.check_gold lists all'):
        jurist.Gold.load(rows, "fect")
    columns = {"statement": "claim"}
    assert (
        jurist.Gold.load(rows, "fect", mapping=columns).cases
        == jurist.Gold.of(rows, "fect", mapping=columns).cases
    )
    with pytest.raises(JuristError, match=r'several raters: raters="label_\*"'):
        jurist.Gold.load(_data(labelled=False), "fect", mapping=columns)
    gold = jurist.Gold.load(_data(labelled=False), "fect", mapping=columns, raters="label_*")
    with pytest.raises(UsageError, match=r'has no policy and no reply.*jurist\.Gold\.load\(rows, "check"\)'):
        jurist.evaluate(CHECK, gold)
    with pytest.raises(UsageError, match=r"no such file; name a file that jurist\.run wrote"):
        jurist.share("none.csv", "fect@1")


def test_rows_in_python_are_imported_and_planned() -> None:
    frame = pandas.DataFrame(_data(labelled=False))
    written = jurist.import_gold("fect", frame, "out.jsonl", mapping={"statement": "claim"}, raters="label_*")
    assert len(written.cases) == len(Path("out.jsonl").read_text("utf-8").splitlines()) == len(frame)
    plan = jurist.plan_gold("fect", frame, mapping={"statement": "claim"}, raters="label_*")
    assert plan.to_frame()["labels"].tolist() == [forecast.labels for forecast in plan.forecasts]


def test_a_result_is_one_short_line_in_a_program() -> None:
    shown = [
        jurist.check_gold("fect", "gold.jsonl"),
        jurist.agreement("fect", "rated.jsonl", raters="r_*"),
        jurist.gate("fect:basic", "gold.jsonl", minimum={"f1": 0.1}),
        jurist.plan_gold("fect", "gold.jsonl"),
        jurist.artifacts(),
    ]
    for result in shown:
        line = repr(result)
        assert line.startswith(f"<{type(result).__name__}: ")
        assert len(line) < 300
        assert "\n" not in line


def test_a_report_takes_the_rows_it_was_compiled_on() -> None:
    Path("own.py").write_text(_OWN, "utf-8")
    rows = replies(20)
    compiled = jurist.compile(
        "own.py:judge", rows, optimizer="fewshot", options={"sizes": (4,), "sets": 1}, anyway=True
    )
    assert "gold=" in jurist.write_report(compiled).problem
    made = jurist.write_report(compiled, gold=rows)
    assert not made.problem
    module = compiled.as_module()
    assert module(**NEW[0]).verdict == compiled(**NEW[0]).label
    with pytest.raises(UsageError, match="takes its inputs by their names"):
        module("a", "b")
