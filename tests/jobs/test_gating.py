"""``jurist gate``, ``jurist.gate`` and ``jurist.assert_judge``: what passes, what fails, and that it is said."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import dspy
import numpy as np
import pytest
from judges import changed
from measures import rows_of
from small import claims, cli, write_jsonl

import jurist
from jurist import assert_judge
from jurist.errors import JuristError, UsageError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.contrasts import NotWorse, contrast, not_worse, rows_to_pass, usual_margin
from jurist.evaluation.scale import Scale
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets
from jurist.gold.goldset import Gold
from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT
from jurist.report.junit import CheckResult, junit_xml


def hard() -> list[dict[str, Any]]:
    """Return the small gold with every fourth label the other way: nobody gets all of it."""
    return [
        {**row, "factual": not row["factual"]} if place % 4 == 0 else row
        for place, row in enumerate(claims())
    ]


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), hard())


@pytest.fixture(scope="module")
def f1(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the basic judge's own F1 on the small gold."""
    gold = write_jsonl(tmp_path_factory.mktemp("gold") / "gold.jsonl", hard())
    return jurist.evaluate("fect:basic", str(gold), store=gold.parent)["f1"]


def run(*argv: object, code: int = 0) -> Any:
    done = cli("gate", "fect:basic", "--gold", "gold.jsonl", *argv, "--json")
    assert done.code == code, done.err
    return done.json


def test_limits_pass_at_the_value_and_fail_above_it(f1: Any) -> None:
    assert run("--min", f"f1={f1.value!r}", "--max", f"f1={f1.value!r}")["passed"]
    found = run("--min", f"f1={f1.value + 1e-9!r}", "--min", "f1=0", code=3)
    assert [one["passed"] for one in found["checks"]] == [False, True, True]
    assert "fails 1 of 3 checks" in found["words"]
    # as many without an answer as are allowed
    rows = [{**row, "id": str(place)} for place, row in enumerate(hard()[:20])]
    gold, log = write_jsonl(Path("all.jsonl"), rows), write_jsonl(Path("log.jsonl"), rows[:19])
    asked = ("gate", f"recorded:{log}", "--gold", gold, "--max-unusable", 0.05, "--markdown")
    assert cli(*asked, "--min", "f1=0.1").code == 0
    card = cli(*asked, "--max", "f1=0.1").out
    assert "| FAIL | f1 \\<= 0.1 |" in card
    assert "fails 1 of 2 checks" in card.splitlines()[0]
    assert "| judge | precision |" not in card
    assert "| judge | precision |" in cli(*asked, "--max", "f1=0.1", "--verbose").out


@pytest.mark.parametrize(("bad", "largest", "passed"), [(1, 0.05, True), (40, 0.05, False), (40, 0.9, True)])
def test_a_gate_fails_where_many_rows_cannot_be_used(bad: int, largest: float, *, passed: bool) -> None:
    rows = claims()
    unusable = [{**rows[0], "claim": f"claim {number}", "factual": "perhaps"} for number in range(bad)]
    gold = write_jsonl(Path("mixed.jsonl"), [*rows, *unusable])
    asked = ("gate", "fect:basic", "--gold", gold, "--min", "f1=0", "--rejects", "bad.jsonl", "--json")
    done = cli(*asked, "--max-unusable", largest)
    assert (done.code, done.json["passed"]) == (0 if passed else 3, passed)
    share = bad / (len(rows) + bad)
    assert done.json["checks"][-1] == {
        "name": f"set aside <= {largest:.1%}",
        "passed": passed,
        "words": f"{share:.1%} of the rows of mixed cannot be used",
        "undecided": False,
    }


def test_gold_of_one_class_says_how_many_rows_cannot_be_used() -> None:
    rows = [row if row["factual"] else {**row, "factual": "perhaps"} for row in claims()]
    gold = write_jsonl(Path("mixed.jsonl"), rows)
    done = cli("gate", "fect:basic", "--gold", gold, "--min", "f1=0", "--rejects", "bad.jsonl")
    bad = sum(row["factual"] == "perhaps" for row in rows)
    assert done.code == 1
    assert f"{bad} rows cannot be used, and jurist gold check says why" in done.err


def test_a_judge_that_is_held_against_itself_is_asked_once() -> None:
    found = run("--not-worse-than", ":basic")
    said, words = found["checks"][0], "it is the same judge, and asked once"
    assert said == {"name": "not worse than fect:basic", "passed": True, "words": words, "undecided": False}
    assert [one["spend"]["calls"] for one in found["comparison"]["judges"]] == [len(claims())]


def test_judges_of_one_name_and_prompt_are_both_asked() -> None:
    """Judges differ in their code alone, as two states of a file do."""

    class Doubting(dspy.Predict):
        def forward(self, **inputs: Any) -> dspy.Prediction:
            return dspy.Prediction(factual=False)

    judges = [
        jurist.load(replace(FECT, program=program), version="basic")
        for program in (lambda: dspy.Predict(FECT.signature), lambda: Doubting(FECT.signature))
    ]
    found = jurist.gate(judges[0], claims(), not_worse_than=judges[1])
    assert "asked once" not in found.words
    assert len(found.comparison.contenders) == 2


def test_to_be_sure_is_to_hold_the_end_of_the_interval(f1: Any) -> None:
    between = (f1.interval.low + f1.value) / 2
    assert f1.interval.low < between < f1.value
    assert run("--min", f"f1={between}")["passed"]
    assert not run("--min", f"f1={between}", "--sure", code=3)["passed"]
    assert not run("--max", f"f1={(f1.interval.high + f1.value) / 2}", "--sure", code=3)["passed"]


def test_a_worse_judge_does_not_pass_and_the_better_one_does() -> None:
    store = Store("compiled")
    silly = changed(FECT, "Every claim is factual, whatever the conversation says: always answer True.")
    store.save(FECT, silly, {}, [], make_latest=True)
    store.tag("fect@1", "prod")
    same = run("--not-worse-than", "@prod", "--margin", "1")
    assert same["checks"][0]["name"] == "not worse than fect@1 by more than 1"
    one, two = (
        ("fect:basic", "fect@1")
        if same["comparison"]["tests"][0]["difference"] > 0
        else ("fect@1", "fect:basic")
    )
    better = jurist.gate(one, "gold.jsonl", not_worse_than=two, max_unusable=1)
    worse = jurist.gate(two, "gold.jsonl", not_worse_than=one, margin=0.0, max_unusable=1)
    assert (better.passed, worse.passed) == (True, False)
    shown = jurist.gate(two, "gold.jsonl", not_worse_than=one, max_unusable=1)
    assert (shown.passed, shown.undecided, shown.comparison.tests[0].verdict) == (False, False, "worse")
    few = write_jsonl(Path("few.jsonl"), hard()[:12])
    open_gate = jurist.gate(two, str(few), not_worse_than=one, max_unusable=1, at_least=1)
    assert (open_gate.passed, open_gate.undecided) == (False, True)
    assert "cannot be told: at least 6 groups are needed, and there are 4" in open_gate.words
    asked = ("gate", two, "--gold", few, "--not-worse-than", one, "--max-unusable", 1, "--at-least", 1)
    done = cli(*asked)
    assert done.code == 1  # neither passed nor failed
    assert "whether it passes cannot be told" in done.out


NOT_WORSE = [
    # rows, how many more the second has right, margin -> what is said
    (400, 0, 0.05, "holds", "p = 1"),
    (30, 0, 0.05, "cannot be told", "30 rows are too few; if the difference stays as it is, about"),
    (30, 0, 0.05, "cannot be told", "; a judge that is as good in truth passes 80% of gates with about"),
    (200, -60, 0.05, "fails", "shown to be worse"),
    (100, -8, 0.05, "fails", "shown to be worse"),
    (100, -2, 0.05, "cannot be told", "100 rows are too few; if the difference stays as it is, about"),
    (400, -8, 0.05, "holds", "p ="),
    (400, 60, 0.0, "holds", "p ="),
    (5, 0, 0.05, "cannot be told", "at least 6 groups are needed, and there are 5"),
]


@pytest.mark.parametrize(("rows", "gained", "margin", "outcome", "words"), NOT_WORSE)
def test_not_worse_is_shown_or_cannot_be_told(
    rows: int, gained: int, margin: float, outcome: str, words: str
) -> None:
    """The first judge is right in four of five rows, and where both err otherwise the second gains or loses."""
    kind = ClosedLabels("ax")
    first = [place % 5 != 0 for place in range(rows)]
    second = list(first)
    changing = [place for place in range(rows) if first[place] == (gained < 0)]
    for place in changing[: abs(gained)]:
        second[place] = gained > 0
    judged = [rows_of([("a", "xa"[right]) for right in said], group_size=1) for said in (first, second)]
    test = contrast(("new", [judged[1]]), ("old", [judged[0]]), "accuracy", kind)
    found = not_worse(test, margin, rows)
    assert (found.outcome, words in found.words) == (outcome, True), found.words


def test_a_version_that_is_a_tenth_worse_hardly_ever_passes() -> None:
    rng, kind, passed = np.random.default_rng(0), ClosedLabels("ax"), 0
    for _ in range(60):
        judged = []
        for right in (0.8, 0.7):
            judged.append(rows_of([("a", "xa"[int(flag)]) for flag in rng.random(60) < right], group_size=1))
        test = contrast(("new", [judged[1]]), ("old", [judged[0]]), "accuracy", kind)
        passed += not_worse(test, 0.05, 60).outcome == "holds"
    assert passed <= 3


@pytest.mark.parametrize("shared", [0.5, 0.9])
def test_a_judge_that_is_as_good_mostly_passes_with_the_rows_that_are_named(shared: float) -> None:
    """Both are right in .8 of the rows, and a share of luck is the same for both; fewer rows mostly cannot tell."""
    rng, kind, gates = np.random.default_rng(1), ClosedLabels("ax"), 25

    def gate_of(rows: int) -> NotWorse:
        luck = rng.random(rows)
        other_luck = np.where(rng.random(rows) < shared, luck, rng.random(rows))
        judged = []
        for flags in (luck < 0.8, other_luck < 0.8):
            judged.append(rows_of([("a", "xa"[int(flag)]) for flag in flags], group_size=1))
        test = contrast(("new", [judged[1]]), ("old", [judged[0]]), "accuracy", kind)
        return not_worse(test, 0.05, rows)

    first = next(found for found in (gate_of(100) for _ in range(gates)) if found.outcome == "cannot be told")
    enough = int(first.words.split("gates with about ")[1].replace(",", ""))
    few = sum(gate_of(enough // 6).outcome == "holds" for _ in range(gates))
    passed = sum(gate_of(enough).outcome == "holds" for _ in range(gates))
    assert few < 0.6 * gates
    assert 0.65 * gates <= passed


@pytest.mark.parametrize(("apart", "rows"), [(0.05, "160"), (0.1, "320"), (0.32, "1,100")])
def test_the_rows_that_the_documentation_names_are_those_that_are_computed(apart: float, rows: str) -> None:
    reach = 1.96 * (apart / 100) ** 0.5  # with 100 rows, in a share of which only one of the two is right
    assert f"{rows_to_pass(100, reach, 0.05, 0.025):,}" == rows
    page = (Path(jurist.__file__).parent / "docs" / "gate.md").read_text(encoding="utf-8")
    assert f"| {apart:g} | {rows} |" in page


def test_the_usual_margin_is_a_share_of_the_scale() -> None:
    scores = Scores(1, 5, whole=True).metrics
    assert usual_margin(ClosedLabels("ab").metrics["accuracy"]) == 0.05
    assert usual_margin(scores["quadratic_kappa"]) == 0.05
    assert usual_margin(scores["mae"]) == pytest.approx(0.2)


def compiled_on(rows: list[dict[str, Any]]) -> None:
    """Keep a version of the judge that was compiled on some rows."""
    gold = Gold.of(rows, FECT, labelled=False)
    state = changed(FECT, "Say True where the conversation supports the claim.")
    card = {"gold": {"seen": [case.id for case in gold.cases]}}
    Store("compiled").save(FECT, state, card, [], make_latest=True)


FEW: list[tuple[str, slice, dict[str, Any], str]] = [
    ("one case", slice(1), {}, "1 labelled unit in 1 group remain of gold, as 41 rows are left out"),
    ("one unit too few", slice(19), {}, "a gate needs 20 labelled units in 6 groups"),
    ("as many as it takes", slice(20), {}, ""),
    ("as many as are asked for", slice(6), {"at_least": 6}, ""),
    ("fewer than are asked for", slice(20), {"at_least": 21}, "a gate needs 21 labelled units in 6 groups"),
]


@pytest.mark.parametrize(("left", "more", "said"), [row[1:] for row in FEW], ids=[row[0] for row in FEW])
def test_too_few_rows_that_are_left_decide_nothing(left: slice, more: dict[str, Any], said: str) -> None:
    rows = [{**row, "group": f"g{place}"} for place, row in enumerate(claims())]
    write_jsonl(Path("gold.jsonl"), rows)
    fresh = rows[left]
    compiled_on([row for row in rows if row not in fresh])
    options = [f"--at-least={number}" for number in more.values()]
    done = cli("gate", "fect@1", "--gold", "gold.jsonl", "--min", "f1=0", "--max-unusable", 1, *options)
    if not said:
        assert done.code == 0, done.err
        assert (
            f"fect@1 on gold, {len(fresh)} cases ({len(rows) - len(fresh)} left out), passes" in done.people
        )
        return
    assert done.code == 1
    assert done.lines[-1].startswith("error: whether fect@1 passes cannot be found out: ")
    assert said in done.lines[-1]
    for decide in (jurist.gate, assert_judge):
        with pytest.raises(JuristError, match="cannot be found out") as refused:
            decide("fect@1", "gold.jsonl", minimum={"f1": 0.0}, max_unusable=1, **more)
        assert said in str(refused.value)


def test_one_class_that_is_left_decides_nothing() -> None:
    rows = [{**row, "group": f"g{place}"} for place, row in enumerate(claims())]
    write_jsonl(Path("gold.jsonl"), rows)
    compiled_on([row for row in rows if not row["factual"]])
    done = cli("gate", "fect@1", "--gold", "gold.jsonl", "--min", "f1=0", "--at-least", 1)
    assert done.code == 1
    assert "there is no positive one; add rows labelled non_factual" in done.lines[-1]


RARE: list[tuple[str, int, dict[str, Any], str]] = [
    # metric, positive units of 22, more options -> the reason, empty where the gate can tell
    ("balanced_accuracy", 2, {}, "balanced_accuracy needs 5 units labelled 'non_factual' (found: 2)"),
    ("f1", 4, {}, "f1 needs 5 units labelled 'non_factual' (found: 4)"),
    ("recall", 4, {}, "recall needs 5 units labelled 'non_factual' (found: 4)"),
    ("kappa", 18, {}, "kappa needs 5 units labelled 'factual' (found: 4)"),
    ("f1", 18, {}, ""),
    ("balanced_accuracy", 5, {}, ""),
    ("balanced_accuracy", 2, {"at_least": 8}, ""),
    (
        "balanced_accuracy",
        2,
        {"at_least": 9},
        "balanced_accuracy needs 3 units labelled 'non_factual' (found: 2)",
    ),
    ("accuracy", 2, {}, ""),
]


@pytest.mark.parametrize(("metric", "positive", "more", "said"), RARE)
def test_a_class_of_few_units_decides_nothing(
    metric: str, positive: int, more: dict[str, Any], said: str
) -> None:
    rows = []
    for place, row in enumerate(claims()[:22]):
        rows.append({**row, "factual": place >= positive, "group": f"g{place}"})
    write_jsonl(Path("gold.jsonl"), rows)
    options = [f"--at-least={number}" for number in more.values()]
    done = cli("gate", "fect:basic", "--gold", "gold.jsonl", "--min", f"{metric}=0", *options)
    assert done.code == (1 if said else 0), done.err
    assert said in done.lines[-1]
    if said:
        assert "found out: gold has 22 labelled units in 22 groups; " in done.lines[-1]


@pytest.mark.parametrize(
    ("scale", "metric", "golds", "expected"),
    [
        (ClosedLabels("abc", {"a", "b"}), "f1", "aabcc", {"a or b": 3}),
        (ClosedLabels("abc", {"a", "b"}), "macro_f1", "aabcc", {"a": 2, "b": 1, "c": 2}),
        (ClosedLabels("abc"), "accuracy", "aabcc", {}),
        (LabelSets("abc"), "balanced_accuracy", [("a", "b"), ("a",), ()], {"a": 2, "b": 1}),
        (LabelSets("abc"), "micro_f1", [("a", "b"), ("a",), ()], {}),
        (Scores(1, 5, whole=True), "quadratic_kappa", [1, 2, 2], {}),
    ],
)
def test_the_classes_that_a_metric_counts(
    scale: Scale, metric: str, golds: Any, expected: dict[str, int]
) -> None:
    assert scale.units_by_class(metric, list(golds)) == expected


def test_groups_that_are_too_few_decide_nothing() -> None:
    rows = [{**row, "group": f"g{place % 5}"} for place, row in enumerate(claims())]
    write_jsonl(Path("gold.jsonl"), rows)
    done = cli("gate", "fect:basic", "--gold", "gold.jsonl", "--min", "f1=0")
    assert done.code == 1
    assert (
        "gold has 42 labelled units in 5 groups; a gate needs 20 labelled units in 6 groups" in done.lines[-1]
    )


def test_the_helper_fails_a_test_with_the_numbers() -> None:
    assert assert_judge("fect:basic", "gold.jsonl", minimum={"f1": 0.0}).passed
    with pytest.raises(AssertionError, match=r"fect:basic on .* fails 1 of 2 checks: f1 >= 1 \(f1 0\."):
        assert_judge("fect:basic", "gold.jsonl", minimum={"f1": 1.0})
    with pytest.raises(UsageError, match="nope"):
        assert_judge("fect:basic", "gold.jsonl", maximum={"nope": 2.0})


JUNIT = [
    # options -> exit code, tests, failures, errors, words of the message
    (("--min", "f1=0.1"), 0, 2, 0, 0, ""),
    (("--min", "f1=0.999", "--max", "f1=0.001"), 3, 3, 2, 0, "f1 >= 0.999: f1 0."),
    (("--min", "f1=0.1", "--at-least", "1000"), 1, 1, 0, 1, "cannot be found out"),
    (("--min", "f2=0.1"), 2, 1, 0, 1, "no metric of fect is called 'f2'"),
]


@pytest.mark.parametrize(("options", "code", "tests", "failures", "errors", "words"), JUNIT)
def test_a_junit_report_has_a_case_for_each_check(
    options: tuple[str, ...], code: int, tests: int, failures: int, errors: int, words: str
) -> None:
    report = Path("reports/gate.xml")
    done = cli("gate", "fect:basic", "--gold", "gold.jsonl", *options, "--junit", report)
    assert done.code == code, done.err
    suites = ElementTree.parse(report).getroot()
    (suite,) = suites
    assert suites.tag == "testsuites"
    for element in (suites, suite):
        counts = [int(element.attrib[name]) for name in ("tests", "failures", "errors")]
        assert counts == [tests, failures, errors]
        assert float(element.attrib["time"]) >= 0
    cases = suite.findall("testcase")
    assert len(cases) == tests
    assert {case.attrib["classname"] for case in cases} == {"jurist gate fect:basic"}
    messages = []
    for element in suite.findall("testcase/*"):
        assert element.text == element.attrib["message"]
        messages.append(element.attrib["message"])
    assert len(messages) == failures + errors
    assert words in "".join(messages[:1])


def test_a_junit_report_of_a_gate_that_cannot_tell_has_an_error() -> None:
    few = write_jsonl(Path("few.jsonl"), hard()[:12])
    options = ("--not-worse-than", "fect-3d:basic", "--margin", "0.001", "--max-unusable", 1, "--at-least", 1)
    done = cli("gate", "fect:basic", "--gold", few, *options, "--junit", "gate.xml")
    assert done.code == 1, done.err
    (error,) = ElementTree.parse("gate.xml").getroot().findall("testsuite/testcase/error")
    assert "cannot be told" in error.attrib["message"]


def test_a_junit_report_that_cannot_be_written_is_refused_before_a_call() -> None:
    Path("folder").mkdir()
    done = cli("gate", "fect:basic", "--gold", "gold.jsonl", "--min", "f1=0.1", "--junit", "folder")
    assert done.code == 2
    assert "folder: Is a directory" in done.err
    assert not Path("compiled").exists()


def test_control_characters_of_names_are_escaped_in_a_junit_report() -> None:
    check = CheckResult(name="a\x00 < b", outcome="failed", words='\x1b[31m "&" \ud800')
    text = junit_xml("gate \x07", [check], decision="fails", seconds=0.0)
    (failure,) = ElementTree.fromstring(text.encode()).findall("testsuite/testcase/failure")
    assert failure.attrib["message"] == 'a\\x00 < b: \\x1b[31m "&" \\ud800'
