"""Words that decide, alone or with the replies of a model: fitted, chosen, proven, kept, run and exported alike."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import own_kinds
import pytest
from loopback import Loopback
from small import cli, ok, write_jsonl
from tickets import chat, settled_in

import jurist
from jurist.engines.channel import CallContext
from jurist.engines.models import Model
from jurist.evaluation.criteria import Rated
from jurist.exports import Subject
from jurist.exports.portable_file import portable_spec
from jurist.exports.portable_judge import PortableJudge
from jurist.gold.goldset import Gold
from jurist.jobs.plan import Plan
from jurist.optimizers.board import Board
from jurist.optimizers.learners import UnitTexts, fit_mixture
from jurist.optimizers.words import WordFits, add_word_candidates
from jurist.programs.judge import Judge
from jurist.programs.verdicts import Verdict
from jurist.programs.word_rule import WordRule

SOURCE = '''
from typing import Literal

import dspy

import jurist


class Desk(dspy.Signature):
    """Say which desk a ticket goes to."""

    ticket: str = dspy.InputField()
    label: Literal["billing", "delivery"] = dspy.OutputField()


class Grade(dspy.Signature):
    """Judge an answer by several criteria."""

    question: str = dspy.InputField()
    answer: str = dspy.InputField()
    polite: Literal["yes", "no"] = dspy.OutputField()
    length: int = dspy.OutputField(ge=1, le=5)


class Support(dspy.Signature):
    """Say whether a note supports a claim."""

    note: str = dspy.InputField()
    claim: str = dspy.InputField()
    label: Literal["yes", "no"] = dspy.OutputField()


judge = jurist.Judge(name="desk", signature=Desk, positive="delivery")
support = jurist.Judge(name="support", signature=Support, unit="claim", positive="no")
criteria = jurist.Judge(name="grade", signature=Grade, unit="answer", positive={"polite": "no"})
'''
_BILLING = ["invoice", "charged", "refund", "price", "card", "payment"]
_DELIVERY = ["parcel", "courier", "late", "address", "tracking", "box"]
_FILLER = [
    "please",
    "today",
    "again",
    "hello",
    "thanks",
    "order",
    "number",
    "still",
    "waiting",
    "could",
    "someone",
    "look",
    "into",
    "this",
]


def tickets(count: int, seed: int = 0, *, random_labels: bool = False) -> list[dict[str, Any]]:
    """Return labelled tickets whose words tell the label in most cases, or that are labelled at random."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        label = draw.choice(["billing", "delivery"])
        topic = _BILLING if label == "billing" else _DELIVERY
        words = draw.sample(topic, 2) + draw.sample(_FILLER, 6) + [f"n{seed}x{number}"]
        draw.shuffle(words)
        if random_labels:
            label = draw.choice(["billing", "delivery"])
        rows.append({"ticket": " ".join(words), "label": label, "group": f"g{number}"})
    return rows


def claims(count: int, seed: int = 0, *, random_labels: bool = False) -> list[dict[str, Any]]:
    """Return claims of which those that are not supported name another number than their note, or a random label."""
    draw = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        label = draw.choice(["yes", "no"])
        told = draw.randrange(10_000, 99_999)
        named = told if label == "yes" else told + draw.randrange(1, 9)
        words = draw.sample(_FILLER, 4)
        if random_labels:
            label = draw.choice(["yes", "no"])
        rows.append(
            {
                "note": f"{' '.join(draw.sample(_FILLER, 6))} {told} {' '.join(words)}",
                "claim": f"{named} {' '.join(words)}",
                "label": label,
                "group": f"g{number}",
            }
        )
    return rows


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settled_in(tmp_path, monkeypatch)
    Path("desk.py").write_text(SOURCE, encoding="utf-8")
    write_jsonl(Path("gold.jsonl"), tickets(240))
    return tmp_path


def judge_of(kind: str, folder: Path) -> tuple[Judge, list[dict[str, Any]]]:
    """Return a judge of a kind of answer, with labelled rows."""
    if kind in own_kinds.KINDS:
        file = folder / "own.py"
        file.write_text(own_kinds.SOURCE, encoding="utf-8")
        return jurist.judge(f"{file}:{kind}"), own_kinds.rows(kind, groups=40)
    file = folder / "desk.py"
    file.write_text(SOURCE, encoding="utf-8")
    if kind == "labels":
        return jurist.judge(f"{file}:judge"), tickets(120)
    if kind == "support":
        return jurist.judge(f"{file}:support"), claims(120)
    draw = random.Random(3)
    rows: list[dict[str, Any]] = []
    for number in range(120):
        polite = draw.choice(["yes", "no"])
        length = draw.randrange(1, 6)
        answer = " ".join(["thanks" if polite == "yes" else "whatever"] + draw.choices(_FILLER, k=6 * length))
        rows.append(
            {
                "question": f"q {number}",
                "answer": answer,
                "polite": polite,
                "length": length,
                "group": str(number),
            }
        )
    return jurist.judge(f"{file}:criteria"), rows


KINDS = ("labels", "support", "criteria", *own_kinds.KINDS)


def job_of(judge: Judge, rows: list[dict[str, Any]]) -> Any:
    """Return the job of a compilation, with the offline engine."""
    plan = Plan(judge=judge, gold=Gold.of(rows, judge, "gold"), model=Model(temperature=0.0))
    return plan.job(CallContext.fresh())


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_that_is_written_and_read_says_what_the_regression_says(kind: str, tmp_path: Path) -> None:
    judge, rows = judge_of(kind, tmp_path)
    job = job_of(judge, rows)
    fits = WordFits(job)
    assert fits.can_fit
    lines = json.loads(json.dumps(fits.rule_of_words(None).to_lines()))
    rule = WordRule.of_lines(lines)
    asker = job.asker(judge.basic())
    words = replace(asker, settings=replace(asker.settings, words=rule, asks_model=False))
    decided = {verdict.id: verdict.values for verdict in words.ask_all(fits.cases)}
    for criterion in fits.criteria:
        predicted = criterion.decisive_fits[None].predict(criterion.units, range(len(criterion.units.gold)))
        for unit, value in enumerate(predicted):
            case = criterion.units.cases[criterion.units.case_of_unit[unit]]
            values = decided[case.id]
            if criterion.place is not None:
                assert values[criterion.place].value == value
            else:
                assert (
                    values[unit - criterion.units.units_of_case[criterion.units.case_of_unit[unit]].start]
                    == value
                )


@pytest.mark.parametrize("kind", KINDS)
def test_words_and_replies_decide_together_for_every_kind(kind: str, tmp_path: Path) -> None:
    judge, rows = judge_of(kind, tmp_path)
    job = job_of(judge, rows)
    board = Board(job.judge, job.asker, job.context)
    board.score(board.basic, job.train + job.dev)
    calls = job.context.meter.calls
    words, stack = add_word_candidates(job, board, [board.basic])
    assert job.context.meter.calls == calls
    assert board.spent(words, job.dev).tokens == 0
    assert stack.asked_id == board.basic.asked_id
    assert not words.setting.asks_model
    summary = stack.setting.words.summary
    assert 0 <= summary["share"] <= 1
    for verdict in [outcome.verdict for outcome in board.outcomes(stack).values()]:
        assert verdict.status == "verdict"


def test_a_reply_that_cannot_be_read_is_no_answer_of_the_stack_and_none_is_needed_for_words(
    tmp_path: Path,
) -> None:
    judge, rows = judge_of("labels", tmp_path)
    job = job_of(judge, rows)
    board = Board(job.judge, job.asker, job.context)
    board.score(board.basic, job.train + job.dev)
    words, stack = add_word_candidates(job, board, [board.basic])
    case = job.dev[0]
    unread = Verdict(
        id=case.id,
        status="abstained",
        values=(None,),
        votes=({},),
        agreement=(None,),
        error_kind="unreadable reply",
    )
    assert stack.setting.words.decide(judge.answer, case, unread).status == "abstained"
    assert words.setting.words.decide(judge.answer, case, unread).status == "verdict"


def refused_line(*argv: object) -> str:
    """Return the line with which a command refuses its work."""
    done = cli(*argv)
    assert done.code != 0
    return done.err


def _fits(judge: Judge, rows: list[dict[str, Any]]) -> WordFits:
    return WordFits(job_of(judge, rows))


@pytest.mark.parametrize(
    ("labels", "minority", "can_fit"),
    [(200, 100, True), (200, 60, True), (200, 4, False), (40, 20, False)],
)
def test_words_are_fitted_to_labels_enough_of_both_sides(
    labels: int, minority: int, can_fit: bool, tmp_path: Path
) -> None:
    judge, _ = judge_of("labels", tmp_path)
    rows = tickets(labels)
    for number, row in enumerate(rows):
        row["label"] = "billing" if number < minority else "delivery"
    assert _fits(judge, rows).can_fit is can_fit


@pytest.mark.parametrize(
    ("kind", "reads_signals"), [("labels", False), ("support", True), ("criteria", True)]
)
def test_support_signals_count_where_a_text_is_judged_beside_evidence(
    kind: str, reads_signals: bool, tmp_path: Path
) -> None:
    rule = _fits(*judge_of(kind, tmp_path)).rule_of_words(None)
    assert rule.reads_signals is reads_signals


def test_support_signals_find_what_no_word_tells(tmp_path: Path) -> None:
    judge, rows = judge_of("support", tmp_path)
    fits = _fits(judge, rows)
    (criterion,) = fits.criteria
    new = [case for case in Gold.of(claims(100, seed=5), judge, "new").cases if case.labels]
    units = UnitTexts(judge, new)
    predicted = criterion.decisive_fits[None].predict(units, range(len(new)))
    right = sum(value == gold for value, gold in zip(predicted, units.gold, strict=True))
    assert right >= 90
    assert "numbers that the evidence lacks" in " ".join(fits.summary["heaviest"]["no"])


def test_parts_that_say_nothing_weigh_little() -> None:
    judge = jurist.judge("fect")
    draw = random.Random(2)
    labels = [str(label) for label in judge.answer.labels]
    gold = [draw.choice(labels) for _ in range(200)]
    good = np.array([[0.0, 3.0] if label == labels[1] else [0.0, -3.0] for label in gold])
    good[:20] *= -1.0
    noise = np.array([[0.0, draw.gauss(0, 1)] for _ in gold])
    weights = fit_mixture(judge, gold, [noise, good], labels).weights
    assert weights[1] > 0.99
    assert sum(weights) == pytest.approx(1.0)


def test_no_case_is_judged_by_a_rule_that_was_fitted_on_its_group(tmp_path: Path) -> None:
    judge, rows = judge_of("labels", tmp_path)
    for number, row in enumerate(rows):
        row["group"] = f"g{number // 4}"
    fits = _fits(judge, rows)
    folds_of_group: dict[str, set[int]] = {}
    for case in fits.cases:
        folds_of_group.setdefault(case.group, set()).add(fits.fold_of_case[case.id])
    assert {len(folds) for folds in folds_of_group.values()} == {1}
    (criterion,) = fits.criteria
    for fold in fits.folds:
        groups_inside = {case.group for case in fits.cases if fits.fold_of_case[case.id] == fold}
        fitted_on = {criterion.units.cases[unit].group for unit in criterion.labelled_outside(fold)}
        assert not groups_inside & fitted_on


def test_words_of_length_alone_are_warned_of(tmp_path: Path) -> None:
    judge, _ = judge_of("labels", tmp_path)
    draw = random.Random(1)
    rows = []
    for number in range(160):
        label = draw.choice(["billing", "delivery"])
        count = draw.randrange(2, 8) if label == "billing" else draw.randrange(30, 60)
        rows.append(
            {"ticket": " ".join(draw.choices(_FILLER, k=count)), "label": label, "group": str(number)}
        )
    summary = _fits(judge, rows).summary
    assert any("length" in warning for warning in summary["warnings"])
    assert _fits(judge, tickets(160)).summary["warnings"] == []


def pairs_of_lengths(count: int) -> list[dict[str, Any]]:
    """Return pairs of which no two texts are as long, and of which the longer is preferred in four of five."""
    draw = random.Random(4)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        texts = [" ".join(draw.choices(_FILLER, k=length)) for length in draw.sample(range(4, 30), 2)]
        if len(texts[0]) == len(texts[1]):
            texts[0] += "!"
        longer, shorter = "first", "second"
        if len(texts[0]) < len(texts[1]):
            longer, shorter = shorter, longer
        preferred = shorter if number % 5 == 0 else longer
        rows.append({"left": texts[0], "right": texts[1], "better": preferred, "group": f"g{number}"})
    return rows


def test_the_longer_of_two_texts_decides_as_the_constant_answer_does(tmp_path: Path) -> None:
    judge, _ = judge_of("better", tmp_path)
    job = job_of(judge, pairs_of_lengths(100))
    fits = WordFits(job)
    rule = fits.rule_of_length(None)
    assert (rule.name, rule.is_alone, fits.setting_of_length().words) == ("length", True, rule)
    always_longer = judge.answer.constants(())["always the longer one"]
    for case in job.train:
        undecided = Verdict(id=case.id, status="verdict", values=(None,))
        assert rule.decide(judge.answer, case, undecided).values == always_longer(case.inputs)


def _always(label: str) -> Any:
    def reply(body: dict[str, Any]) -> str:
        return f"[[ ## label ## ]]\n{label}\n\n[[ ## completed ## ]]"

    return reply


def test_words_that_win_are_proven_kept_run_without_a_model_and_exported(project: Path) -> None:
    with Loopback(_always("billing")) as server:
        command = ("compile", "desk.py:judge", "--gold", "gold.jsonl", "--optimizer", "nearest")
        compiled = ok(*command, *chat(server.url), "--json", "--max-calls", "900")
        done = compiled.json
        assert done["decision"]["verdict"] == "better"
        assert done["setting"]["asks_model"] is False
        assert "no language model is asked" in compiled.people
        assert "prompt: " not in compiled.people
        assert done["words"]["decide"] == "words"
        assert done["tokens_per_row"]["compiled"] == {"input": 0.0, "output": 0.0}
        assert "words.jsonl" in done["files"]
        new = [{"ticket": row["ticket"]} for row in tickets(40, seed=7)]
        write_jsonl(Path("new.jsonl"), new)
        # The proof tried both prompts on the sealed rows: to compare them again opens nothing.
        compared = ok("compare", "desk@1", "desk:basic", "--gold", "gold.jsonl", *chat(server.url))
        assert "no row is opened again, and differences are tested at the level 0.025" in compared.err
        before = server.count
        ok("run", "desk", "--input", "new.jsonl", "--output", "out.jsonl", *chat(server.url))
        assert server.count == before
        lines = [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
        labels = [line["label"] for line in lines]
        right = sum(label == row["label"] for label, row in zip(labels, tickets(40, seed=7), strict=True))
        assert right >= 36
        ok("export", "desk@1", "--to", "python", "--output", "desk_export.py")
        exported: dict[str, Any] = {}
        exec(Path("desk_export.py").read_text(encoding="utf-8"), exported)  # noqa: S102
        verdicts = [exported["_JUDGE"].ask(lambda messages, settings: ("", None), row) for row in new]
        assert [verdict["value"] for verdict in verdicts] == labels
        assert server.count == before
    assert "--no-words" in refused_line("export", "desk@1", "--to", "markdown")
    assert "words" in refused_line(
        "run", "desk@1", "--input", "new.jsonl", "--output", "o.jsonl", "--samples", "3"
    )
    ok("report", "desk@1")
    assert "what decides: words alone" in Path("desk-1.html").read_text(encoding="utf-8")
    path = Path(done["artifact"]) / "words.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("invoice", "invoices"), encoding="utf-8")
    assert "words.jsonl" in cli("artifacts", "verify").err


def test_words_are_left_out_where_they_must_not_decide(project: Path) -> None:
    with Loopback(_always("billing")) as server:
        command = ("compile", "desk.py:judge", "--gold", "gold.jsonl", "--optimizer", "nearest", "--no-words")
        done = ok(*command, *chat(server.url), "--json", "--max-calls", "900").json
    assert done["setting"].get("asks_model") is None
    assert "words" not in done


@pytest.mark.parametrize(("name", "make_rows"), [("judge", tickets), ("support", claims)])
@pytest.mark.parametrize("seed", range(100, 102))
def test_labels_at_random_promote_no_words(seed: int, name: str, make_rows: Any, project: Path) -> None:
    rows = make_rows(160, seed=seed, random_labels=True)
    compiled = jurist.compile(f"desk.py:{name}", rows, optimizer="threshold", seed=seed)
    assert compiled.verdict != "better"


def test_words_take_in_later_rows_and_forget_rows(project: Path) -> None:
    ok("compile", "desk.py:judge", "--gold", "gold.jsonl", "--optimizer", "threshold")
    card = json.loads(Path("compiled/desk/1/card.json").read_text(encoding="utf-8"))
    write_jsonl(Path("more.jsonl"), tickets(60, seed=8))
    remembered = ok("artifacts", "remember", "desk@1", "more.jsonl", "--json").json
    assert remembered["setting"]["words"]["digest"] != card["setting"]["words"]["digest"]
    assert len(remembered["gold"]["seen"]) > len(card["gold"]["seen"])
    row = card["gold"]["seen"][0]
    (text,) = [
        case.inputs["ticket"]
        for case in Gold.load("gold.jsonl", jurist.judge("desk.py:judge")).cases
        if case.id == row
    ]
    ok("artifacts", "forget", "desk@1", row)
    kept = "".join(path.read_text(encoding="utf-8") for path in Path("compiled/desk/3").iterdir())
    assert row not in kept
    assert text not in kept
    words = json.loads(Path("compiled/desk/3/words.jsonl").read_text(encoding="utf-8"))
    assert words["regression"]["intercepts"] != []
    forgotten = json.loads(Path("compiled/desk/3/card.json").read_text(encoding="utf-8"))
    assert forgotten["setting"]["words"]["digest"] not in (
        card["setting"]["words"]["digest"],
        remembered["setting"]["words"]["digest"],
    )


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "promises"])
def test_an_exported_file_weighs_words_and_replies_as_jurist_does(kind: str, tmp_path: Path) -> None:
    judge, rows = judge_of(kind, tmp_path)
    job = job_of(judge, rows)
    board = Board(job.judge, job.asker, job.context)
    board.score(board.basic, job.train + job.dev)
    for candidate in add_word_candidates(job, board, [board.basic], with_length=True):
        rule = candidate.setting.words
        assert rule is not None
        subject = Subject(
            judge=judge,
            program=judge.basic(),
            state=board.basic.state,
            word_rule=WordRule.of_lines(rule.to_lines()),
        )
        portable = PortableJudge(json.loads(json.dumps(portable_spec(subject))))
        for case in job.train[:20]:
            (verdict,) = board.verdicts(board.basic, [case])
            # an exported file sees no probabilities of tokens, only votes
            decided = rule.decide(judge.answer, case, replace(verdict, probabilities=()))
            samples = [[plain(value) for value in values] for values in verdict.samples]
            texts = 1 if judge.answer.criteria else len(judge.answer.units(case.inputs))
            told = portable.verdict(samples, [], texts, case.inputs)["value"]
            if judge.answer.criteria:
                assert list(told.values()) == [plain(value) for value in decided.values]
            else:
                assert told == plain(decided.values[0])


def test_an_exported_file_measures_support_signals(project: Path) -> None:
    write_jsonl(Path("claims.jsonl"), claims(240))
    new = [{"note": row["note"], "claim": row["claim"]} for row in claims(60, seed=9)]
    write_jsonl(Path("new.jsonl"), new)
    with Loopback(_always("yes")) as server:
        command = ("compile", "desk.py:support", "--gold", "claims.jsonl", "--max-calls", "900")
        done = ok(*command, *chat(server.url), "--json").json
        assert done["words"]["decide"] == "words"
        before = server.count
        ok("run", "support@1", "--input", "new.jsonl", "--output", "out.jsonl", *chat(server.url))
        assert server.count == before
    ok("export", "support@1", "--to", "python", "--output", "support_export.py")
    exported: dict[str, Any] = {}
    exec(Path("support_export.py").read_text(encoding="utf-8"), exported)  # noqa: S102
    told = [exported["_JUDGE"].ask(lambda messages, settings: ("", None), row)["value"] for row in new]
    lines = [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert told == [line["label"] for line in lines]
    row = json.loads(Path("compiled/support/1/card.json").read_text(encoding="utf-8"))["gold"]["seen"][0]
    ok("artifacts", "forget", "support@1", row)
    signals: list[object] = []
    for version in (1, 2):
        rule = json.loads(Path(f"compiled/support/{version}/words.jsonl").read_text(encoding="utf-8"))
        signals.append(rule["regression"]["signals"])
    assert signals[0] != signals[1]


def plain(value: Any) -> Any:
    """Return a value without its criterion."""
    return value.value if isinstance(value, Rated) else value
