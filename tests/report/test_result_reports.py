"""Pages of evaluations and comparisons, and scores by a column: their figures are those of the result."""

import html
import json
from functools import cache
from pathlib import Path

import pytest
from proving import VERSION, compiled_house_rule
from small import claims, cli, ok, write_jsonl

import jurist
from jurist.errors import UsageError
from jurist.jobs.reporting import Report
from jurist.report.document import Plot, Section

ROWS = [{**row, "language": ("en", "de", "de")[place % 3]} for place, row in enumerate(claims(20, 4))]
JUDGES = ["fect:basic", "fect-3d:basic"]


def sections(report: Report) -> dict[str, Section]:
    """Return the sections of a page by their names."""
    return {section.name: section for section in report.document.sections}


def by_column(report: Report) -> Plot:
    """Return the plot of the section of a column, the only part there."""
    (plot,) = sections(report)["column"].parts
    assert isinstance(plot, Plot)
    return plot


def test_a_comparison_by_a_column_has_the_scores_of_each_evaluation() -> None:
    compared = jurist.compare(JUDGES, ROWS, by="language")
    for judge in JUDGES:
        evaluated = jurist.evaluate(judge, ROWS, by="language")
        assert evaluated.by_column is not None
        assert compared.by_column[judge] == evaluated.by_column
    frame = compared.to_frame()
    of_values = frame[frame["language"].notna()]
    assert list(of_values["judge"]) == [JUDGES[0]] * 2 + [JUDGES[1]] * 2
    assert list(of_values["language"]) == ["de", "en"] * 2
    assert of_values["p"].isna().all()
    assert "f1 by language (the differences between these 2 are not tested" in compared._repr_html_()
    assert r"fect-3d:basic" in compared.to_latex()
    assert json.dumps(compared.to_json()["by_column"])
    assert "by_column" not in jurist.compare(JUDGES, ROWS).to_json()


def test_over_repeats_the_score_of_a_value_is_the_mean() -> None:
    by_value = jurist.compare("fect:basic", ROWS, repeats=3, by="language").by_column["fect:basic"]
    german = [row for row in ROWS if row["language"] == "de"]
    alone = jurist.compare("fect:basic", german, repeats=3).contenders[0]
    (score,) = [value.score for value in by_value.values if value.value == "de"]
    assert score == alone.scores[by_value.metric]


def test_commands_print_the_scores_of_a_column_once() -> None:
    write_jsonl(Path("gold.jsonl"), ROWS)
    command = ("compare", *JUDGES, "--gold", "gold.jsonl", "--by", "language")
    for options in ((), ("--verbose",), ("--repeats", "2")):
        assert ok(*command, *options).out.count("f1 by language") == 1
    refused = cli(*command[:-1], "langage")
    assert refused.code == 2
    assert "--by langage: no row of gold has this column; did you mean language?" in refused.err


@pytest.mark.parametrize("kind", ["evaluate", "compare"])
def test_the_page_of_a_result_has_its_figures(kind: str) -> None:
    write_jsonl(Path("gold.jsonl"), ROWS)
    judges = JUDGES if kind == "compare" else JUDGES[:1]
    data = ok(kind, *judges, "--gold", "gold.jsonl", "--by", "language", "--output", "result.json", "--json")
    told = ok("report", "result.json")
    assert "report: result.html" in told.out
    page = html.unescape(Path("result.html").read_text(encoding="utf-8"))
    listed = data.json.get("judges", [data.json])
    for judge in listed:
        score = judge["scores"]["f1"]
        assert f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]" in page
    report = jurist.write_report("result.json")
    table = by_column(report).table
    assert [row[:3] for row in table.rows] == [("de", "53", "53"), ("en", "27", "27")]
    scores = data.json["by_column"]
    values = scores["values"] if kind == "evaluate" else scores["fect:basic"]["values"]
    for row, value in zip(table.rows, values, strict=True):
        assert row[3].startswith(f"{value['score']['value']:.3f} [{value['score']['low']:.3f}, ")
    assert sections(report).keys() >= {"scores", "column", "cost"}


_BROKEN = {
    "a score is a text": (
        ("scores", "f1", "low"),
        "tall",
        "has a broken field: f1.low: it must be a number, not 'tall'",
    ),
    "scores are a list": (
        ("scores", "f1"),
        [3],
        "has a broken field: f1: Input should be a valid dictionary or instance of ScoreCard, not [3]",
    ),
    "calls are a text": (("spend", "calls"), "many", "has a broken field: spend.calls: "),
    "a column is a number": (("by_column",), 3, "has a broken field: argument of type 'int' is not iterable"),
    "classes are gone": (("classes", 0, "gold"), None, "lacks the field 'gold'"),
}
"""What is broken -> its place in a result, what stands there (``None``: nothing), and what is said of it."""


@cache
def _result_text() -> str:
    """Return a result as its file has it."""
    return json.dumps(jurist.evaluate("fect:basic", ROWS, by="language").to_json())


@pytest.mark.parametrize("kind", _BROKEN)
def test_a_broken_field_of_a_result_is_named(kind: str) -> None:
    (*path, name), value, words = _BROKEN[kind]
    part = data = json.loads(_result_text())
    for step in path:
        part = part[step]
    if value is None:
        del part[name]
    else:
        part[name] = value
    Path("result.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(jurist.JuristError) as refused:
        jurist.write_report("result.json")
    assert str(refused.value).startswith(f"result.json {words}")
    assert str(refused.value).endswith("; write it anew with jurist.evaluate or compare")


def test_a_result_in_python_has_a_page() -> None:
    evaluated = jurist.evaluate("fect:basic", ROWS)
    report = jurist.write_report(evaluated, "page.html")
    assert report.path == Path("page.html")
    assert "column" not in sections(report)
    assert report.headline.startswith("fect:basic on ")
    compared = jurist.write_report(jurist.compare(JUDGES, ROWS, by="language"))
    assert by_column(compared).table.columns[3].name == "fect:basic"
    with pytest.raises(UsageError, match=r'by="language" is of a version, and this is none'):
        jurist.write_report(evaluated, by="language")


def test_a_version_is_scored_by_a_column_of_its_gold() -> None:
    compiled_house_rule()
    card = jurist.Store().load(VERSION).about
    metric = card.decision.metric
    report = jurist.write_report(VERSION, by="policy")
    plot = by_column(report)
    assert plot.title.startswith(f"{metric} by policy (the differences between these 10 are not tested")
    assert [column.name for column in plot.table.columns][3:] == ["compiled", "basic"]
    assert sum(int(row[1]) for row in plot.table.rows) == card.decision.cases
    with pytest.raises(UsageError, match="no row of gold has this column"):
        jurist.write_report(VERSION, by="nothing")
    Path("gold.jsonl").unlink()
    with pytest.raises(
        UsageError, match=r'by="policy": gold.jsonl: there is no such .*; name the gold with gold=$'
    ):
        jurist.write_report(VERSION, by="policy")
