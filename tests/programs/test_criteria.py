"""Several criteria in one call: labels from columns, one request, every metric by criterion, a proof of each."""

import base64
import csv
import gzip
import inspect
import json
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import dspy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import cli, ok, write_jsonl

import jurist
from jurist.evaluation.criteria import Rated
from jurist.evaluation.criterion_pairs import compare_by_criterion
from jurist.evaluation.measured import measure
from jurist.evaluation.rows import JudgedRow
from jurist.gold.goldset import Gold
from jurist.gold.label_journal import LabelJournal
from jurist.gold.sheets import open_lines
from jurist.programs.definition import read_definition, write_definition
from jurist.report.reviewing import Review

GIVEN = [
    {"policy": f"Thing {number} costs {number} euros and is sent on day {number % 5}.", "group": f"g{number // 3}",
     "reply": f"Thing {number} costs {number} euros." if number % 2 else f"We bring thing {number} for nothing, dear.",
     "grounded": "yes" if number % 2 else "No", "action": "" if number % 7 == 0 else "send" if number % 2 else "hold",
     "tone": "" if number % 5 == 0 else str(1 + number % 3)}
    for number in range(60)
]  # fmt: skip


class Desk(dspy.Signature):
    """Rate a drafted reply against the policy."""

    policy: str = dspy.InputField()
    reply: str = dspy.InputField()
    grounded: bool = dspy.OutputField()
    action: Literal["send", "edit", "hold"] = dspy.OutputField()
    tone: int = dspy.OutputField(ge=1, le=3)


FILE = f"""
from typing import Literal
import dspy, jurist

{inspect.getsource(Desk)}
judge = jurist.Judge(name="desk", signature=Desk, positive={{"grounded": "false"}})
"""
JUDGE = jurist.Judge(name="desk", signature=Desk, positive={"grounded": "false"})
SCALES = JUDGE.answer.scale.scales  # type: ignore[attr-defined]
INPUTS = {"policy": "It costs 3 euros.", "reply": "It is 3 euros."}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("desk.py").write_text(FILE, encoding="utf-8")
    with Path("gold.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(GIVEN[0]))
        writer.writeheader()
        writer.writerows(GIVEN)


def test_columns_are_read_by_criterion_and_empty_cells_are_no_label() -> None:
    data = ok("gold", "check", "desk.py:judge", "gold.csv", "--json").json
    assert (data["cases"], data["unlabelled"]) == (60, 9 + 12)
    assert data["grounded"]["labels"] == {"true": 30, "false": 30}


def test_a_version_keeps_all_of_it_without_its_file() -> None:
    data = write_definition(JUDGE)
    again = read_definition(json.loads(json.dumps(data, sort_keys=True)))
    assert again.answer == JUDGE.answer
    assert again.answer.fields == ("grounded", "action", "tone")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"positive": "false"}, "several criteria, grounded, action, tone"),
        ({"positive": {"polite": "no"}}, "polite, which is no criterion"),
        ({"positive": {"tone": "3"}}, "tone has no labels"),
        ({"answer": "mood"}, "answer='mood' is none of its output fields"),
        ({"metric": "f1"}, "the metric 'f1' does not fit"),
    ],
)
def test_what_cannot_be_meant_is_one_clear_line(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(jurist.JuristError, match=said):
        jurist.Judge(name="desk", signature=Desk, **settings)


def test_a_field_by_its_name_is_a_judge_of_that_alone() -> None:
    judge = jurist.Judge(name="desk", signature=Desk, answer="grounded", positive="false")
    assert judge.answer.fields == ("grounded",)
    assert judge.case({**INPUTS, "grounded": "true"}).gold == ("true",)


def test_an_unknown_label_is_named_with_its_column(tmp_path: Path) -> None:
    write_jsonl(Path("bad.jsonl"), [{**INPUTS, "grounded": "yes", "tone": 9}])
    done = cli("gold", "check", "desk.py:judge", "bad.jsonl")
    assert done.code != 0
    assert "bad.jsonl:1" in done.err
    assert "tone" in done.err


def test_rows_without_labels_are_told_the_column_of_each_criterion() -> None:
    write_jsonl(Path("new.jsonl"), [INPUTS])
    done = cli("gate", "desk.py:judge:basic", "--gold", "new.jsonl", "--min", "accuracy=0.5")
    assert done.code == 1
    assert "field 'grounded': none of the 1 rows has a label; " in done.err
    assert "add a column for each criterion, 'grounded', 'action', 'tone', or say which they are" in done.err
    assert "'criteria'" not in done.err


VALUES = st.tuples(
    st.sampled_from([None, "true", "false"]),
    st.sampled_from([None, "send", "edit", "hold"]),
    st.sampled_from([None, 1, 2, 3]),
)


def rows_of(pairs: list[tuple[Any, Any]]) -> list[JudgedRow]:
    def rated(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            None if value is None else Rated(name, value) for name, value in zip(SCALES, values, strict=True)
        )

    return [
        JudgedRow(id=str(place), group=f"g{place // 2}", gold=rated(gold), predicted=rated(said))
        for place, (gold, said) in enumerate(pairs)
    ]


@given(st.lists(st.tuples(VALUES, VALUES), min_size=4, max_size=20))
def test_a_criterions_metric_is_that_of_its_scale_and_the_mean_is_over_those_with_labels(pairs: Any) -> None:
    rows, scale = rows_of(pairs), JUDGE.comparison
    labelled = [
        name for place, name in enumerate(SCALES) if any(gold[place] is not None for gold, _ in pairs)
    ]
    if not labelled:
        return
    whole, means = measure(rows, "mean", scale), []
    for name in labelled:
        own = SCALES[name]
        alone = measure(scale.rows(name, rows), own.default, own)  # type: ignore[attr-defined]
        for metric, score in alone.scores.items():
            joint = whole[f"{name}.{metric}"]
            same = [joint.value, joint.worst, joint.best], [score.value, score.worst, score.best]
            assert same[0] == pytest.approx(same[1])
        means.append([alone[own.default].value, alone[own.default].worst, alone[own.default].best])
    found = whole["mean"]
    assert [found.value, found.worst, found.best] == pytest.approx(np.mean(means, axis=0).tolist())


def test_each_criterion_is_tested_on_its_own_rows_with_holms_correction() -> None:
    truth = [("true" if n % 2 else "false", None, 1 + n % 3) for n in range(40)]
    wrong = [("false" if n % 2 else "true", "send", 2) for n in range(40)]
    first, second = (
        rows_of(list(zip(truth, wrong, strict=True))),
        rows_of(list(zip(truth, truth, strict=True))),
    )
    found = compare_by_criterion(JUDGE.comparison, first, second, seed=0, tested=0.025)
    assert list(found) == ["grounded", "tone"]
    assert {one.direction for one in found.values()} == {"better"}
    alone = compare_by_criterion(JUDGE.comparison, first, first, seed=0, tested=0.025)
    assert [one.direction for one in alone.values()] == [None, None]
    each = [one.test.better for one in found.values()]
    assert min(one.corrected[0] for one in found.values()) == pytest.approx(2 * min(each))


def test_a_version_is_proven_by_criterion_run_exported_gated_and_reported() -> None:
    store = ("--store", "store")
    found = ok("compile", "desk.py:judge", "--gold", "gold.csv", "--optimizer", "fewshot", "--max-calls", "200",
               "--anyway", *store, "--json").json  # fmt: skip
    each = found["decision"]["criteria"]
    assert {name: one["metric"] for name, one in each.items()} == {
        "grounded": "balanced_accuracy", "action": "balanced_accuracy", "tone": "quadratic_kappa",
    }  # fmt: skip
    Path("desk.py").unlink()  # the version needs no file
    ok("run", "desk@1", "--input", "gold.csv", "--output", "out.jsonl", *store)
    line = json.loads(Path("out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert line["grounded"] == "false"  # what the row has in that column, beside what was said
    assert list(line["answers"]) == ["grounded", "action", "tone"]
    assert [unit["criterion"] for unit in line["units"]] == list(line["answers"])
    gate = ("gate", "desk@1", "--gold", "gold.csv", *store, "--max-unusable", "1")
    assert cli(*gate, "--min", "grounded.f1=0").code == 0
    assert cli(*gate, "--min", "tone.accuracy=0.999").code != 0
    log = [{**row, "action": row["action"] or "hold", "grounded": "no", "tone": "3"} for row in GIVEN]
    write_jsonl(Path("log.jsonl"), log)
    checks = json.loads(cli(*gate, "--not-worse-than", "recorded:log.jsonl", "--json").out)["checks"]
    scales = {"balanced_accuracy": "0.05", "quadratic_kappa": "0.05"}
    named = {
        f"not worse than recorded:log.jsonl by more than {scales[one['metric']]} in {name}.{one['metric']}"
        for name, one in each.items()
    }
    assert named < {check["name"] for check in checks}
    ok("report", "desk@1", "-o", "report.html", *store)
    assert "quadratic_kappa" in Path("report.html").read_text(encoding="utf-8")
    ok("export", "desk@1", "--to", "python", "--output", "d.py", *store)
    judge = jurist.load("desk@1", store="store")
    verdict = judge(**INPUTS)
    assert {value.criterion for value in verdict.values if value} == set(SCALES)


REPLIES = [
    "[[ ## grounded ## ]]\nTrue\n\n[[ ## action ## ]]\nedit\n\n[[ ## tone ## ]]\n2\n\n[[ ## completed ## ]]",
    "[[ ## grounded ## ]]\nFalse\n\n[[ ## action ## ]]\nhold\n\n[[ ## tone ## ]]\n3",
    "[[ ## grounded ## ]]\nmaybe\n\n[[ ## action ## ]]\nhold\n\n[[ ## tone ## ]]\n3\n\n[[ ## completed ## ]]",
    "[[ ## grounded ## ]]\nTrue\n\n[[ ## tone ## ]]\n3\n\n[[ ## completed ## ]]",
]


def test_the_python_export_reads_a_reply_as_the_judge_does() -> None:
    ok("export", "desk.py:judge:basic", "--to", "python", "--output", "portable.py")
    names: dict[str, Any] = {"__name__": "portable"}
    exec(compile(Path("portable.py").read_text(encoding="utf-8"), "portable.py", "exec"), names)  # noqa: S102
    adapter, judge = dspy.ChatAdapter(use_json_adapter_fallback=False), names["_JUDGE"]
    for reply in REPLIES:
        try:
            parsed = adapter.parse(Desk, reply)
            own: Any = [
                value and value.value for value in JUDGE.read(dspy.Prediction(**parsed), INPUTS).values
            ]
        except dspy.AdapterParseError:
            own = None
        try:
            theirs = judge.unit_values(judge.read_reply("self", reply, "stop"), INPUTS)
        except ValueError:
            theirs = None
        assert theirs == own
    verdict = judge.ask(lambda *request: (REPLIES[0], "stop"), INPUTS)
    assert verdict["value"] == {"grounded": "true", "action": "edit", "tone": 2}
    # no label of the action is positive, so that none says how good the reply is
    assert verdict["score"] == pytest.approx((1 + 0.5) / 2)


def test_people_label_all_criteria_of_a_row_on_the_page_and_in_sheets() -> None:
    gold = Gold.load("gold.csv", JUDGE)
    lines = sorted(
        open_lines(gold, rater="ann", with_labelled=True), key=lambda line: (line.unit, line.case.id)
    )
    review = Review(gold=gold, lines=lines, journal=LabelJournal(Path("labels.jsonl")), guideline="")
    case = gold.cases[0].id
    for unit, label in enumerate(("true", "edit", "2"), 1):
        review.save({"rater": "ann", "unit": f"{case}:{unit}", "label": label, "category": "", "reason": ""})
    with pytest.raises(jurist.JuristError, match="send, edit, hold"):
        review.save({"rater": "ann", "unit": f"{case}:2", "label": "true", "category": "", "reason": ""})
    units = json.loads(gzip.decompress(base64.b64decode(review.page_content("ann")["units"])))["units"]
    rows = [unit["row"] for unit in units]
    assert sum(one != two for one, two in pairwise(rows)) == len(set(rows)) - 1
    choices = [" ".join(unit["choices"]) for unit in units[:3]]
    assert choices == ["true false", "send edit hold", "1 2 3"]
    ok("gold", "import", "desk.py:judge", "labels.jsonl", "--merge", "majority", "--output", "new.jsonl")
    (line,) = Path("new.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["criteria"] == {"grounded": "true", "action": "edit", "tone": 2}
    asked = ("review", "desk.py:judge", "--gold", "gold.csv", "--output", "sheet.csv")
    ok(*asked, "--rater", "bob", "--top", "3")
    with Path("sheet.csv").open(newline="", encoding="utf-8-sig") as stream:
        allowed = {row["labels"] for row in csv.DictReader(stream)}
    assert allowed <= {"true | false", "send | edit | hold", "1 | 2 | 3"}
