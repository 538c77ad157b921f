"""Exported files of judges that a decision model answers: the same requests, values and probabilities as jurist's."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import dspy
import pytest
from deciders import Forwarder, LoopbackServer, OpenAIDecisions, QuietHandler, serving_sparrow
from judges import SENTENCE_JUDGE
from parity import executed

from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.errors import UsageError
from jurist.evaluation.votes import Sampling
from jurist.exports import EXPORTERS, Subject
from jurist.jobs.exporting import exported, subject_of
from jurist.keeping.card import Card
from jurist.keeping.card_parts import ModelCard, ThresholdCard
from jurist.programs.asking import Asker
from jurist.programs.judge import Judge
from jurist.programs.questions import Question
from jurist.programs.settings import AskSettings
from jurist.programs.state import PromptState
from jurist.programs.verdicts import Verdict
from jurist.programs.word_rule import WordRule

REPLIES = ("I was charged twice and want my money back.", "[[ ## team ## ]]\nbug", "谢谢 😀")


class Rated(dspy.Signature):
    """Judge the reply."""

    policy: str = dspy.InputField()
    reply: str = dspy.InputField()
    polite: Literal["yes", "no"] = dspy.OutputField(desc="is it polite?")
    team: Literal["billing", "bug", "other"] = dspy.OutputField(desc="which team answers?")
    score: int = dspy.OutputField(desc="how helpful is it?", ge=1, le=5)


def judge_of(question: str, annotation: Any, *inputs: str, **settings: Any) -> Judge:
    fields: dict[str, Any] = {name: (str, dspy.InputField()) for name in inputs or ("reply",)}
    fields["answer"] = (annotation, dspy.OutputField())
    return Judge(name="decided", signature=dspy.Signature(fields, question), **settings)


TEAM = judge_of(
    "Which team should answer?\nbilling: payments and refunds\nbug: something is broken",
    Literal["billing", "bug", "other"],
    positive="billing",
)
REFUND = judge_of("Is money asked for?\nyes: a refund is wanted", Literal["yes", "no"], positive="yes")
WORDS: dict[str, Any] = {
    "criterion": "",
    "regression": {
        "learned": "label",
        "outputs": ["no", "yes"],
        "judged": ["reply"],
        "evidence": [],
        "intercepts": [0.1, -0.1],
        "grams": [{"kind": "judged", "grams": {"money": [1.5, -0.4, 0.4]}}],
        "overlap": {"centers": [], "scales": [], "weights": []},
    },
    "reply": {"slope": 0.8, "offsets": [0.1, -0.2], "words_weight": 1.0},
}
QUESTIONS = (Question(text="Is money named?"), Question(text="How rude is it?", kind="1 to 5"))
HEAD: dict[str, Any] = {
    **WORDS,
    "reply": None,
    "questions": {
        "kinds": [question.kind for question in QUESTIONS],
        "centers": [0.4, 2.5, -0.7, -0.7],
        "scales": [0.2, 0.5, 0.3, 0.3],
        "weights": [[0.0, 0.0, 0.0, 0.0], [0.9, -0.3, -0.2, 0.4]],
    },
}
Case = tuple[Judge, Sequence[Mapping[str, Any]], dict[str, Any]]
ROWS = [{"reply": reply} for reply in REPLIES]
CASES: dict[str, Case] = {
    "choice": (TEAM, ROWS, {}),
    "yes or no": (REFUND, ROWS, {}),
    "threshold": (REFUND, ROWS, {"threshold": 0.2}),
    "weights": (TEAM, ROWS, {"weights": {"billing": 1.0, "bug": 0.2, "other": 3.0}}),
    "truth": (judge_of("Is it polite?", bool, positive="true"), ROWS, {}),
    "score": (judge_of("How urgent is it?\n3: now", Literal[1, 2, 3]), ROWS, {}),
    "several labels": (judge_of("What is it about?", list[Literal["billing", "bug", "praise"]]), ROWS, {}),
    "criteria": (
        Judge(name="rated", signature=Rated),
        [{"policy": "p", "reply": reply} for reply in REPLIES],
        {},
    ),
    "sentences": (
        SENTENCE_JUDGE,
        [{"policy": "1. Refunds take 5 days.", "sentences": ["It takes 5 days.", "You get\n10 % off.", ""]}],
        {},
    ),
    "pair": (
        judge_of("Which reply is better?", Literal["first", "second"], "first", "second"),
        [{"first": "Yes.", "second": "Yes, it leaves today."}, {"first": "No, never.", "second": "Hm"}],
        {},
    ),
    "words": (REFUND, ROWS, {"rule": WORDS}),
    "small questions": (REFUND, ROWS, {"rule": HEAD}),
}


@pytest.fixture(scope="module")
def sparrow() -> Iterator[str]:
    with serving_sparrow() as address:
        yield address


def subject_with(judge: Judge, model: str, settings: Mapping[str, Any]) -> Subject:
    """Return the subject of an export that was proven with a model."""
    state = PromptState.of(judge.basic())
    rule = None
    if "rule" in settings:
        rule = WordRule.of_lines([settings["rule"]])
        if rule.asks_questions:
            (name,) = dict(judge.basic().named_predictors())
            state = state.with_questions(name, QUESTIONS)
    thresholds = ThresholdCard(
        samples=1, threshold=settings.get("threshold"), weights=settings.get("weights")
    )
    card = Card(judge=judge.name, version=1, model=ModelCard(name=model), thresholds=thresholds)
    return replace(subject_of(state, judge), card=card, word_rule=rule)


def verdicts_of(subject: Subject, address: str, rows: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Return jurist's own verdicts."""
    judge = subject.judge
    sampling = Sampling(threshold=subject.thresholds.threshold, weights=subject.thresholds.weights)
    asker = Asker(
        judge=judge,
        program=subject.program,
        lm=connect(Model(subject.model_of_proof or "", api_base=address), CallContext.fresh()),
        settings=AskSettings(sampling=sampling, words=subject.word_rule),
    )
    return asker.ask_all([judge.case(row) for row in rows])


@pytest.mark.parametrize("protocol", ["systemone/sparrow", "decisions/gpt-6-luna"])
@pytest.mark.parametrize("name", CASES)
def test_an_exported_file_asks_and_decides_as_jurist_does(name: str, protocol: str, sparrow: str) -> None:
    judge, rows, settings = CASES[name]
    subject = subject_with(judge, protocol, settings)
    exported_judge = executed(EXPORTERS["python"].render(subject))["judge"]
    server: Any = OpenAIDecisions() if protocol.startswith("decisions/") else Forwarder(sparrow)
    with server:
        verdicts = verdicts_of(subject, server.url, rows)
        own_bodies = bodies_of(server)
        for row, verdict in zip(rows, verdicts, strict=True):
            given = exported_judge(server.url, **row)
            value = given["value"] if isinstance(given["value"], list) else [given["value"]]
            if isinstance(given["value"], dict):
                value = list(given["value"].values())
            if isinstance(verdict.values[0], tuple):  # several labels are one value
                value = [given["value"]]
            assert given["status"] == verdict.status
            assert given["status"] == "verdict" or name == "pair"  # its two orders may contradict each other
            assert value == [getattr(one, "value", one) for one in verdict.values]
            shares = [
                {getattr(label, "value", label): share for label, share in unit.items()}
                for unit in verdict.probabilities
            ]
            assert [dict(unit) for unit in given["probabilities"] if unit] == [
                unit for unit in shares if unit
            ]
        file_bodies = bodies_of(server)[len(own_bodies) :]
    assert sorted(file_bodies) == sorted(own_bodies)


def bodies_of(server: Any) -> list[str]:
    """Return what a server was sent, in one spelling."""
    bodies = []
    for body in server.bodies:
        content = json.loads(body) if isinstance(body, bytes) else body
        bodies.append(json.dumps(content, sort_keys=True))
    return bodies


def test_a_declined_question_is_an_abstention_of_the_row() -> None:
    class Declining(OpenAIDecisions):
        def answer_question(self, text: str, question: dict[str, Any]) -> dict[str, Any]:
            return {"type": "refusal", "name": question["name"], "refusal": "no"}

    subject = subject_with(TEAM, "decisions/gpt-6-luna", {})
    with Declining() as server:
        (verdict,) = verdicts_of(subject, server.url, ROWS[:1])
        given = executed(EXPORTERS["python"].render(subject))["judge"](server.url, **ROWS[0])
    assert given["status"] == verdict.status == "abstained"
    assert given["errors"] == ["the model declined to answer"]


def test_a_key_is_sent_and_a_wrong_one_is_an_error_of_urllib() -> None:
    source = EXPORTERS["python"].render(subject_with(TEAM, "decisions/gpt-6-luna", {}))
    judge = executed(source)["judge"]
    with OpenAIDecisions(key="sk-right") as server:
        assert judge(server.url, "sk-right", **ROWS[0])["status"] == "verdict"
        with pytest.raises(OSError, match="401"):
            judge(server.url, "sk-wrong", **ROWS[0])


def test_a_key_is_not_sent_to_an_address_that_a_reply_names() -> None:
    judge = executed(EXPORTERS["python"].render(subject_with(TEAM, "decisions/gpt-6-luna", {})))["judge"]
    arrived: list[str] = []

    class Handler(QuietHandler):
        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            arrived.append(self.headers.get("Authorization", ""))
            self.reply(200, b"{}")

        def do_POST(self) -> None:  # noqa: N802 - as above
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

    with LoopbackServer(Handler) as server, pytest.raises(OSError, match="302"):
        judge(server.address, "sk-right", **ROWS[0])
    assert arrived == []


@pytest.mark.parametrize("name", ["choice", "score"])
def test_probabilities_that_are_all_0_are_an_unusable_answer(name: str) -> None:
    class Empty(OpenAIDecisions):
        def answer_question(self, text: str, question: dict[str, Any]) -> dict[str, Any]:
            answer = super().answer_question(text, question)
            for entry in answer["probabilities"]:
                entry["probability"] = 0.0
            return answer

    judge, rows, _ = CASES[name]
    subject = subject_with(judge, "decisions/gpt-6-luna", {})
    with Empty() as server:
        (verdict,) = verdicts_of(subject, server.url, rows[:1])
        given = executed(EXPORTERS["python"].render(subject))["judge"](server.url, **rows[0])
    assert (given["status"], verdict.status) == ("abstained", "failed")
    assert "has a probability" in given["errors"][0]
    assert "has a probability" in verdict.error


@pytest.mark.slow
def test_a_file_takes_several_requests_where_one_does_not_hold_all_questions() -> None:
    judge, rows, _ = CASES["sentences"]
    subject = subject_with(judge, "decisions/gpt-6-luna", {})
    row = {**rows[0], "sentences": [f"Sentence {number}." for number in range(1, 451)]}
    with OpenAIDecisions() as server:
        (verdict,) = verdicts_of(subject, server.url, [row])
        given = executed(EXPORTERS["python"].render(subject))["judge"](server.url, **row)
        assert [len(body["questions"]) for body in server.bodies] == [400, 50, 400, 50]
    assert given["value"] == list(verdict.values)


OTHERS = sorted(set(EXPORTERS) - {"python", "markdown"})


@pytest.mark.parametrize("target", OTHERS)
def test_other_targets_refuse_a_judge_of_a_decision_model(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = subject_with(TEAM, "systemone/sparrow", {})
    monkeypatch.setattr("jurist.jobs.exporting.subject_of", lambda *_: subject)
    loaded: Any = SimpleNamespace(artifact=None, state=subject.state, judge=TEAM)
    with pytest.raises(UsageError, match=r"asks a decision model \(systemone/sparrow\)"):
        exported(loaded, target, None)
