"""Several columns of raters in one file: found, merged by one rule, and kept in the judge's file."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy
import pytest
from small import FAST, cli, ok, write_jsonl

import jurist
from jurist.errors import GoldError, JudgeError, UsageError
from jurist.gold.goldset import Gold
from jurist.gold.rater_columns import find_rater_columns, match_rater_columns
from jurist.programs.catalogue import CATALOGUE

FECT = CATALOGUE["fect"]
TOPICS = (
    "kettle",
    "bicycle",
    "lantern",
    "keyboard",
    "umbrella",
    "suitcase",
    "blanket",
    "camera",
    "teapot",
    "wagon",
)
PROMPT = "Policy: {{policy}}\nReply: {{reply}}\nMay it be sent? Answer send or hold.\n"


def reply_rows(count: int = 60) -> list[dict[str, str]]:
    """Return rows of three raters: they agree on five of six, differ two to one on most others, and tie on a tenth."""
    rows = []
    for number in range(count):
        topic = TOPICS[number % len(TOPICS)]
        is_supported = number % 2 == 0
        label = "send" if is_supported else "hold"
        other_label = "hold" if is_supported else "send"
        reply = (
            f"The {topic} number {number} is covered."
            if is_supported
            else f"We send {number} dollars in cash."
        )
        ratings = [label, label, label]
        if number % 6 == 5:
            ratings = [label, other_label, label]
        if number % 10 == 9:
            ratings = [label, other_label, ""]
        rows.append(
            {
                "policy": f"The {topic} number {number} is covered for two years.",
                "reply": reply,
                "label_ann": ratings[0],
                "label_bob": ratings[1],
                "label_cho": ratings[2],
                "group": f"g{number}",
            }
        )
    return rows


@pytest.fixture
def made() -> str:
    """Write the prompt and the rows, and return the judge that ``jurist new`` makes of them."""
    Path("prompt.md").write_text(PROMPT, "utf-8")
    write_jsonl(Path("labels.jsonl"), reply_rows())
    ok("new", "may-answer", "--from", "prompt.md", "--gold", "labels.jsonl")
    return "may_answer.py:judge"


def test_new_finds_the_raters_and_no_later_command_names_them_again(made: str) -> None:
    assert '"label_ann": "rater:ann", "label_bob": "rater:bob", "label_cho": "rater:cho"' in Path(
        "may_answer.py"
    ).read_text("utf-8")
    words = "labels are the majority of 3 raters (ann, bob, cho); all agree on 46 of 60 units with two ratings or more"
    checked = ok("gold", "check", made, "--gold", "labels.jsonl", "--json")
    assert (checked.json["cases"], checked.json["ambiguous"], checked.json["skipped"]) == (54, 6, 6)
    assert words in ok("gold", "check", made, "--gold", "labels.jsonl").out
    scored = ok("evaluate", f"{made}:basic", "--gold", "labels.jsonl", "--json")
    assert words in scored.err
    assert "6 cases without a majority label left out as ambiguous" in scored.err
    assert (scored.json["cases"], scored.json["ambiguous"]) == (54, 6)
    assert "people: 3 raters, each against the others" in scored.people
    assert scored.json["references"]["people"]["score"] < 1
    gated = cli("gate", f"{made}:basic", "--gold", "labels.jsonl", "--min", "accuracy=0.1", "--json")
    assert gated.code == 0


def test_a_compilation_reads_raters_and_its_card_reads_the_same_labels_again(made: str) -> None:
    done = ok("compile", made, "--gold", "labels.jsonl", "--merge", "unanimous", *FAST, "--anyway", "--json")
    card = jurist.Store().load("may-answer@1").about
    assert card.gold.mapping == {"merge": {"rule": "unanimous"}}
    again = Gold.read_again(card.gold, jurist.judge("may-answer"))
    assert again.sha256 == card.gold.sha256
    assert (len(again.cases), again.rule) == (46, "unanimous")
    assert "labels of 3 raters (ann, bob, cho) are merged by the rule unanimous" in done.err


def test_python_takes_columns_or_a_pattern_and_what_ties_is_ambiguous(made: str) -> None:
    judge = jurist.judge(made)
    rows = reply_rows()
    without_names = jurist.Judge(name="plain", signature=judge.signature, positive="hold")
    named = ["label_ann", "label_bob", "label_cho"]
    by_pattern = Gold.load(rows, without_names, raters="label_*")
    by_list = Gold.load(rows, without_names, raters=named)
    assert by_pattern.sha256 == by_list.sha256 == Gold.load("labels.jsonl", judge).sha256
    assert [case.group for case in by_pattern.ambiguous] == ["g9", "g19", "g29", "g39", "g49", "g59"]
    assert set(by_list.cases[0].ratings) == set(named)
    measured = jurist.evaluate(f"{made}:basic", rows, raters="label_*", merge="unanimous")
    assert measured.to_json()["ambiguous"] == 14
    with pytest.raises(UsageError, match="was read before"):
        jurist.evaluate(f"{made}:basic", by_list, raters="label_*")
    with pytest.raises(UsageError, match="is of scores, and may-answer gives none"):
        Gold.load(rows, judge, merge="median")


def test_a_file_without_the_columns_of_raters_is_told_their_names(made: str) -> None:
    rows = [{"policy": row["policy"], "reply": row["reply"]} for row in reply_rows()]
    with pytest.raises(GoldError, match="the columns of the judge's raters: label_ann, label_bob, label_cho"):
        Gold.load(rows, jurist.judge(made))


@pytest.mark.parametrize(
    ("merge", "wanted"),
    [(None, [2, 3, 5]), ("mean", [2, 3, 5]), ("median", [1, 3, 5]), ("majority", [None, 3, 5])],
)
def test_scores_have_their_mean_where_no_other_rule_is_named(
    merge: Any, wanted: Sequence[int | None]
) -> None:
    rows = []
    for number, scores in enumerate([(1, 1, 3), (2, 3, 3), (5, 5, 5)]):
        if merge == "majority" and number == 0:
            scores = (1, 2, 3)
        row: dict[str, object] = {"facts": "f", "question": "q", "reply": f"reply {number}"}
        rows.append(row | {f"by {name}": score for name, score in zip("abc", scores, strict=True)})
    judge = jurist.judge("docs/reply_score.py:judge") if Path("docs").is_dir() else None
    judge = judge or jurist.judge(str(Path(jurist.__file__).parent / "docs/reply_score.py") + ":judge")
    gold = Gold.load(rows, judge, raters=["by a", "by b", "by c"], merge=merge)
    labels: list[object] = [case.gold[0] for case in gold.cases if case.gold]
    assert labels == [label for label in wanted if label is not None]
    assert len(gold.ambiguous) == wanted.count(None)


def test_a_label_of_the_row_counts_unless_a_rule_is_named() -> None:
    claims = [("a", True, [False, False]), ("b", False, [True, True]), ("c", True, [True, True])]
    rows = [
        {
            "conversation": f"Agent: {text}",
            "claim": text,
            "factual": label,
            "r1": ratings[0],
            "r2": ratings[1],
        }
        for text, label, ratings in claims
    ]
    own = Gold.load(rows, FECT, raters="r?")
    assert [case.gold for case in own.cases] == [(label,) for label in ("factual", "non_factual", "factual")]
    assert (own.rule, len(own.cases[0].ratings)) == (None, 2)
    merged = Gold.load(rows, FECT, raters="r?", merge="majority")
    assert [case.gold for case in merged.cases] == [
        (label,) for label in ("non_factual", "factual", "factual")
    ]


def test_what_was_merged_before_is_not_merged_again(made: str) -> None:
    """A file of ``gold import --merge unanimous`` keeps its labels, and its ambiguous rows stay ambiguous."""
    ok("gold", "import", made, "labels.jsonl", "--merge", "unanimous", "--output", "gold.jsonl")
    gold = Gold.load("gold.jsonl", jurist.judge(made))
    assert (len(gold.cases), len(gold.ambiguous), gold.rule) == (46, 14, None)
    written = ok("gold", "import", made, "labels.jsonl", "--output", "merged.jsonl", "--json").json
    assert (written["cases"], written["without_label"]) == (54, 6)
    assert (
        Gold.load("merged.jsonl", jurist.judge(made)).sha256
        == Gold.load("labels.jsonl", jurist.judge(made)).sha256
    )


LABELS = ("send", "hold", "hold", "send", "send", "hold", "send", "hold")
FOUND = {
    "label_ann label_bob label_cho": ["ann", "bob", "cho"],
    "annLabel bobLabel choLabel": ["ann", "bob", "cho"],
    "rater_1 rater_2": ["rater_1", "rater_2"],
    "Annotator A|Annotator B": ["A", "B"],
    "human label|gpt label": [],  # one of them is a model's
    "label_ann label_bob": [],  # two columns of labels may be of two things
    "score_a score_b": [],
    "score_r1 score_r2 score_r3": ["score_r1", "score_r2", "score_r3"],  # also where the prompt names 1
    "label_ann label_bob label_cho label_final": ["ann", "bob", "cho"],
    "label_polite label_correct label_complete": [],  # the prompt names them: they are criteria
    "city country street": [],
}


@pytest.mark.parametrize("columns", FOUND)
def test_columns_are_raters_by_their_names_and_their_labels(columns: str) -> None:
    names = columns.split("|") if "|" in columns else columns.split()
    rows = []
    for number, label in enumerate(LABELS):
        row = {"reply": f"text {number}"}
        for place, name in enumerate(names):
            row[name] = LABELS[(number + place) % len(LABELS)] if place else label
        rows.append(row)
    prompt = "Is the reply polite, correct and complete? send (1) or hold (5)"
    found = find_rater_columns(rows, names, prompt, lambda labels: set(labels) == {"send", "hold"})
    assert [field.removeprefix("rater:") for field in found.values()] == FOUND[columns]
    assert find_rater_columns(rows, names, prompt, lambda labels: False) == {}


def test_patterns_name_raters_by_what_the_star_stands_for() -> None:
    names = ["id", "label_ann", "label_bob", "rater:cho", "ann (2)"]
    assert match_rater_columns(["label_*"], names, "f") == {
        "label_ann": "rater:ann",
        "label_bob": "rater:bob",
    }
    assert match_rater_columns(["rater:*", "ann (2)"], names, "f") == {
        "rater:cho": "rater:cho",
        "ann (2)": "rater:ann (2)",
    }
    with pytest.raises(GoldError, match="no column of a rater is called so; did you mean label_ann"):
        match_rater_columns(["label_anne"], names, "f")


def test_new_takes_columns_of_other_labels_for_no_raters() -> None:
    Path("prompt.md").write_text("Is it supported, yes or no? Is it warm or cold?\n\n{{reply}}\n", "utf-8")
    rows = []
    for number in range(24):
        supported, polite = ("yes", "no")[number % 2], ("warm", "cold")[number % 3 == 0]
        rows.append({"reply": f"Reply {number}.", "supported": supported, "polite": polite})
    write_jsonl(Path("labels.jsonl"), rows)
    refused = cli("new", "two", "--from", "prompt.md", "--gold", "labels.jsonl")
    assert refused.code == 1
    assert "--raters" not in refused.err
    assert "to judge supported, polite together, write a judge with a field for each" in refused.err


def test_new_says_how_to_name_raters_where_it_finds_none() -> None:
    Path("prompt.md").write_text(PROMPT, "utf-8")
    rows = []
    for row in reply_rows():
        rows.append({key.removeprefix("label_"): value for key, value in row.items()})
    write_jsonl(Path("labels.jsonl"), rows)
    command = ("new", "may-answer", "--from", "prompt.md", "--gold", "labels.jsonl")
    refused = cli(*command)
    assert refused.code == 1
    assert "or --raters ann,bob,cho if each holds the labels of one rater" in refused.err
    assert "to judge ann, bob, cho together, write a judge with a field for each" in refused.err
    done = ok(*command, "--raters", "ann,bob,cho", "--merge", "unanimous")
    assert "46 labelled rows" in done.out
    assert 'merge="unanimous"' in Path("may_answer.py").read_text("utf-8")
    assert Gold.load("labels.jsonl", jurist.judge("may_answer.py:judge")).rule == "unanimous"
    with pytest.raises(JudgeError, match="'most' is no rule"):
        jurist.Judge(name="x", signature=FECT.signature, positive="false", merge="most")  # type: ignore[arg-type]


def test_a_log_is_scored_on_merged_labels_too() -> None:
    write_jsonl(Path("labels.jsonl"), reply_rows())
    write_jsonl(
        Path("log.jsonl"), [{"reply": row["reply"], "verdict": row["label_ann"]} for row in reply_rows()]
    )
    refused = cli("evaluate", "recorded:log.jsonl", "--gold", "labels.jsonl")
    assert "--raters 'label_*'" in refused.err
    done = ok("evaluate", "recorded:log.jsonl", "--gold", "labels.jsonl", "--raters", "label_*", "--json")
    assert (done.json["cases"], done.json["scores"]["accuracy"]["value"]) == (54, 1.0)


SCORES = {
    # scores of one rater for equal inputs -> the score that counts
    (4, 5): 5,  # halves are rounded up
    (4, 4, 5): 4,
    (1, 5): 3,
    (2, 2): 2,
}


def score_judge() -> jurist.Judge:
    """Return a judge of whole scores from 1 to 5."""

    class Rate(dspy.Signature):
        """Rate the reply."""

        policy: str = dspy.InputField()
        reply: str = dspy.InputField()
        score: int = dspy.OutputField(ge=1, le=5)

    return jurist.Judge(name="rate", signature=Rate, unit="reply")


@pytest.mark.parametrize(
    ("column", "reply"), [("score", "A reply."), ("score", "A  reply."), ("rater:ann", "A reply.")]
)
@pytest.mark.parametrize("scores", SCORES)
def test_scores_for_equal_inputs_become_their_mean(scores: tuple[int, ...], column: str, reply: str) -> None:
    rows: list[dict[str, Any]] = [{"policy": "Send it.", "reply": "Another.", "group": "g", column: 1}]
    for number, score in enumerate(scores):
        text = "A reply." if number == 0 else reply
        rows.append({"policy": "Send it.", "reply": text, "group": "g", column: score})
    gold = Gold.of(rows, score_judge())
    cases = [case for case in gold.cases if case.inputs["reply"] != "Another."]
    assert {case.gold for case in cases} == {(SCORES[scores],)}
    assert {case.row["score"] for case in cases} == {SCORES[scores]}, "the row that is written has it, too"
    averaged = "1 case" if len(cases) == 1 else "2 cases"
    note = f"{averaged} with several scores of one rater for equal inputs: their mean counts"
    assert (note in gold.notes) == (len(set(scores)) > 1)


@pytest.mark.parametrize("rater", ["", "ann"])
def test_labels_of_other_units_for_equal_inputs_are_joined_and_are_no_mean(rater: str) -> None:
    rows: list[dict[str, Any]] = []
    for labels in (["faithful", None], [None, "invented"]):
        row: dict[str, Any] = {"reference": "It is so.", "sentences": ["It is.", "It is not."]}
        rows.append({**row, "ratings": {rater: labels}} if rater else {**row, "labels": labels})
    gold = Gold.of(rows, "cognibench")
    assert [case.gold for case in gold.cases] == [("faithful", "invented")]
    assert not [note for note in gold.notes if "mean" in note]


ONLY_ANN = {"label_bob": None, "label_cho": None}


@pytest.mark.parametrize(
    ("changes", "ratings", "rater"),
    [
        ({"label_ann": "hold"}, {"bob": "send", "cho": "send"}, "ann"),
        ({"label_ann": "hold", "label_bob": None}, {"bob": "send", "cho": "send"}, "ann"),
        ({"label_ann": "hold", "label_bob": "hold"}, {"cho": "send"}, "bob"),
        ({"label_ann": "send"}, {"ann": "send", "bob": "send", "cho": "send"}, ""),
    ],
    ids=["one of three", "with a gap", "two of three", "the same again"],
)
def test_a_rater_who_contradicts_himself_is_named_and_the_others_labels_count(
    made: str, changes: dict[str, str | None], ratings: dict[str, str], rater: str
) -> None:
    rows = reply_rows(12)
    rows[0].update({"label_ann": "send", "label_bob": "send", "label_cho": "send"})
    reply = rows[0]["reply"]
    rows.append({**rows[0], **changes})
    gold = Gold.load(rows, made, raters="label_*")
    (case,) = [case for case in gold.cases if case.inputs["reply"] == reply]
    assert {name: labels[0] for name, labels in case.ratings.items()} == ratings
    assert case.row["ratings"] == ratings
    assert case.gold == ("send",)
    notes = [note for note in gold.notes if "different labels to equal inputs" in note]
    assert bool(notes) == bool(rater)
    if rater:
        assert (
            f"rater {rater!r} gave different labels to equal inputs in 1 case (rows:1 and rows:13)"
            in "".join(notes)
        )


def test_rows_of_which_only_contradictions_are_known_are_refused_with_their_number(made: str) -> None:
    rows = reply_rows(12)
    for number in (0, 2):
        rows[number].update({**ONLY_ANN, "label_ann": "send"})
        rows.append({**rows[number], "label_ann": "hold"})
    with pytest.raises(GoldError, match="rater 'ann' calls the row both 'hold' and 'send'") as refused:
        Gold.load(rows, made, raters="label_*")
    assert "4 rows are bad" in str(refused.value)
    assert "rejects" in str(refused.value)


WRONG_ROWS = {
    # what is wrong with a row -> the column of the file that the error names, and words of the error
    "a rating": ({"label_bob": "maybe"}, "label_bob", "the rating 'maybe' does not fit the row"),
    "a rating to map": (
        {"label_bob": True},
        "label_bob",
        'mapping=jurist.RowMapping(labels={"true": "LABEL"})',
    ),
    "an input": ({"Policy text": None}, "Policy text", "nothing is given"),
    "a nested input": (
        {"Policy text": {"en": "Yes."}},
        "Policy text",
        'mapping={"Policy text.en": "policy"}',
    ),
}


@pytest.mark.parametrize("wrong", WRONG_ROWS)
def test_errors_name_the_columns_of_the_file(made: str, wrong: str) -> None:
    rows: list[dict[str, Any]] = []
    for row in reply_rows(12):
        rows.append({**row, "Policy text": row["policy"], "Chat": row["group"]})
        del rows[-1]["policy"], rows[-1]["group"]
    changed, column, words = WRONG_ROWS[wrong]
    rows.append({**rows[0], **changed})
    mapping = {"Policy text": "policy", "Chat": "group"}
    check = jurist.check_gold(made, rows, raters="label_*", mapping=mapping)
    assert check.problems[0].field == column
    assert f"field {column!r}" in check.error
    assert words in check.error


def test_too_few_groups_are_of_the_column_that_names_them(made: str) -> None:
    rows: list[dict[str, Any]] = [{**row, "Chat": "one"} for row in reply_rows(12)]
    check = jurist.check_gold(made, rows, raters="label_*", mapping={"Chat": "group"})
    assert "field 'Chat': the 11 labelled cases are in 1 group" in check.error


def test_raters_of_items_of_a_list_are_found_by_a_pattern(made: str) -> None:
    rows = []
    for row in reply_rows(12):
        item = {"text": row["reply"], "label_ann": row["label_ann"], "label_bob": row["label_bob"]}
        others = [{**item, "text": f"{row['reply']} {number}"} for number in range(4)]
        rows.append({"policy": row["policy"], "sentences": [item, *others]})
    gold = Gold.load(rows, made, raters="sentences[].label_*", mapping={"sentences[].text": "reply"})
    assert {rater for case in gold.cases for rater in case.ratings} == {"ann", "bob"}
    assert len(gold.cases) + len(gold.ambiguous) == 60


LISTS_OF_RATERS: Mapping[str, tuple[Callable[[list[str]], dict[str, object]], str | Sequence[str]]] = {
    "a pattern": (lambda labels: {f"labels_{name}": labels for name in "ab"}, "labels_*"),
    "names": (lambda labels: {f"labels_{name}": labels for name in "ab"}, ("labels_a", "labels_b")),
    "a pattern within a column": (lambda labels: {"given": dict.fromkeys("ab", labels)}, "given.*"),
    "names within a column": (lambda labels: {"given": dict.fromkeys("ab", labels)}, ("given.a", "given.b")),
    "a column beside": (lambda labels: {"by": labels, "by.b": labels}, "by*"),
}


@pytest.mark.parametrize("kind", LISTS_OF_RATERS)
def test_raters_give_a_list_of_labels_for_each_row(kind: str) -> None:
    columns_of, raters = LISTS_OF_RATERS[kind]
    rows = []
    for number in range(4):
        inputs = {"reference": f"r{number}", "dialogue": "", "sentences": ["One.", f"Two {number}."]}
        rows.append({**inputs, **columns_of(["faithful", "misleading"])})
    gold = Gold.of(rows, "cognibench", raters=raters)
    assert [case.gold for case in gold.cases] == [("faithful", "misleading")] * 4
    assert {len(case.ratings) for case in gold.cases} == {2}
