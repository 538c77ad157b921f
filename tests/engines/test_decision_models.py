"""Decision models as engines: real ones on 127.0.0.1, by both protocols, through the one channel."""

import base64
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from deciders import OpenAIDecisions, decider, serving_sparrow
from judges import SENTENCE_JUDGE
from pictures import png
from pydantic import BaseModel

from jurist import Trace
from jurist.engines.channel import CallContext
from jurist.engines.decision_questions import join_wording, split_wording, typed_questions
from jurist.engines.draws import TypedRequest
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Budget, Meter
from jurist.engines.models import Model, connect
from jurist.errors import BudgetExhausted, ModelError, UsageError
from jurist.evaluation.votes import Sampling
from jurist.jobs.measuring import make_ask
from jurist.programs.answers.whole import LabelSet
from jurist.programs.asking import Asker
from jurist.programs.judge import Judge
from jurist.programs.settings import AskSettings
from jurist.programs.verdicts import Verdict

TEXT = "I was charged twice and I want my money back"


@pytest.fixture(scope="module")
def sparrow() -> Iterator[str]:
    with serving_sparrow() as address:
        yield address


def signature(
    question: str, outputs: dict[str, Any], inputs: Sequence[str] = ("reply",)
) -> type[dspy.Signature]:
    """Return a signature with text inputs and these outputs."""
    fields: dict[str, Any] = {}
    for name in inputs:
        fields[name] = (str, dspy.InputField())
    for name, annotation in outputs.items():
        fields[name] = (annotation, dspy.OutputField())
    return dspy.Signature(fields, question)


def judge_of(
    question: str, outputs: dict[str, Any], inputs: Sequence[str] = ("reply",), **settings: Any
) -> Judge:
    return Judge(name="decided", signature=signature(question, outputs, inputs), **settings)


def ask(
    judge: Judge, address: str, rows: Sequence[dict[str, Any]], name: str = "systemone/sparrow"
) -> list[Verdict]:
    """Return the verdicts of a judge on rows, by a decision model."""
    asker, _ = asker_of(judge, address, name)
    return asker.ask_all([judge.case(row) for row in rows])


def asker_of(
    judge: Judge, address: str, name: str = "systemone/sparrow", budget: Budget | None = None, **settings: Any
) -> tuple[Asker, CallContext]:
    context = CallContext.fresh(budget)
    lm = connect(Model(name, api_base=address), context)
    asker = Asker(judge=judge, program=judge.basic(), lm=lm, settings=AskSettings(**settings))
    return asker, context


REFUND = judge_of("Does the customer ask for money back?", {"refund": Literal["yes", "no"]}, positive="yes")
TEAM = judge_of(
    "Which team should answer?\nbilling: payments and refunds\nbug: something is broken",
    {"team": Literal["billing", "bug", "other"]},
    positive="billing",
)
URGENCY = judge_of("How urgent is this?", {"urgency": Literal[1, 2, 3]})


def told(question: dict[str, Any], text: Any = TEXT) -> dict[str, Any]:
    """Return what the model itself answers to a question."""
    answer: dict[str, Any] = decider().ask(text, {"q": question})["q"]
    return answer


def test_a_yes_or_no_question_is_a_predicate_and_its_probability_is_kept(sparrow: str) -> None:
    (verdict,) = ask(REFUND, sparrow, [{"reply": TEXT}])
    share = told({"type": "noul", "instructions": "Does the customer ask for money back?"})["noul"]
    assert verdict.probabilities[0]["yes"] == pytest.approx(share, abs=1e-6)
    assert verdict.values == ("yes" if share >= 0.5 else "no",)


@pytest.mark.parametrize("protocol", ["systemone/sparrow", "typesafe/jev-latest", "decisions/gpt-6-luna"])
def test_a_choice_is_asked_with_its_descriptions_by_each_protocol(sparrow: str, protocol: str) -> None:
    criteria = {"billing": "payments and refunds", "bug": "something is broken", "other": ""}
    own = told({"type": "choice", "instructions": "Which team should answer?", "criteria": criteria})
    with OpenAIDecisions() as server:
        address = server.url if protocol.startswith("decisions/") else sparrow
        (verdict,) = ask(TEAM, address, [{"reply": TEXT}], protocol)
    assert verdict.values == (own["choice"],)
    total = sum(own["probabilities"].values())
    for label, share in own["probabilities"].items():
        assert verdict.probabilities[0][label] == pytest.approx(share / total, abs=1e-5)


class Rated(dspy.Signature):
    """Judge the reply."""

    reply: str = dspy.InputField()
    polite: Literal["yes", "no"] = dspy.OutputField(desc="is it polite?")
    score: int = dspy.OutputField(desc="how helpful is it?", ge=1, le=5)


def test_all_criteria_of_a_row_are_one_request(sparrow: str) -> None:
    judge = Judge(name="rated", signature=Rated)
    asker, context = asker_of(judge, sparrow)
    (verdict,) = asker.ask_all([judge.case({"reply": "Thank you, the parcel leaves today."})])
    assert verdict.status == "verdict"
    assert context.ledger.spend().calls == 1


def test_each_sentence_is_a_question_of_one_request(sparrow: str) -> None:
    judge = SENTENCE_JUDGE
    row = {"policy": "Refunds take 5 days.", "sentences": ["A refund takes 5 days.", "You get 10 % off."]}
    asker, context = asker_of(judge, sparrow)
    (verdict,) = asker.ask_all([judge.case(row)])
    assert verdict.status == "verdict"
    assert len(verdict.values) == 2
    assert all(set(shares) == {"supported", "unsupported"} for shares in verdict.probabilities)
    assert context.ledger.spend().calls == 1


def test_several_labels_are_a_question_each(sparrow: str) -> None:
    topics = Literal["billing", "bug", "praise"]
    judge = judge_of("What is the message about?", {"topics": list[topics]})
    assert isinstance(judge.answer, LabelSet)
    (verdict,) = ask(judge, sparrow, [{"reply": TEXT}])
    assert verdict.status == "verdict"


def test_words_of_a_level_are_sent_once() -> None:
    class Helpful(dspy.Signature):
        """How helpful is the reply?
        1: of no use
        5: solves the problem
        """

        reply: str = dspy.InputField()
        score: int = dspy.OutputField(ge=1, le=5)

    adapter = Judge(name="helpful", signature=Helpful).adapter("chat")
    request = TypedRequest(adapter=adapter, signature=Helpful, demos=(), inputs={"reply": "Restart it."})
    [question] = typed_questions(request)
    assert question.descriptions == {"1": "of no use", "5": "solves the problem"}
    assert "of no use" not in question.instruction
    assert question.instruction.startswith("How helpful is the reply?")


def test_a_score_is_the_expected_level(sparrow: str) -> None:
    class Helpful(dspy.Signature):
        """How helpful is the reply?"""

        reply: str = dspy.InputField()
        score: float = dspy.OutputField(ge=1, le=5)

    judge = Judge(name="helpful", signature=Helpful)
    (verdict,) = ask(judge, sparrow, [{"reply": TEXT}])
    own = told(
        {"type": "score", "instructions": "How helpful is the reply?", "criteria": ["1", "2", "3", "4", "5"]}
    )
    assert verdict.values[0] == pytest.approx(1 + own["score"], abs=0.001)


def test_a_pair_is_asked_in_both_orders(sparrow: str) -> None:
    judge = judge_of("Which reply is better?", {"better": Literal["first", "second"]}, ("first", "second"))
    asker, context = asker_of(judge, sparrow)
    asker.ask_all([judge.case({"first": "Yes.", "second": "Yes, it leaves today at noon."})])
    assert context.ledger.spend().calls == 2


class Thing(BaseModel):
    name: str


REFUSED: dict[str, tuple[Any, str]] = {
    "a set of objects": (list[Thing], "a set of objects"),
    "a score of too many levels": (
        dspy.Signature(
            {"reply": (str, dspy.InputField()), "score": (int, dspy.OutputField(ge=0, le=100))}, "?"
        ),
        "from 0 to 100",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_decision_model_can_answer_is_refused_before_any_call(sparrow: str, case: str) -> None:
    annotation, words = REFUSED[case]
    asked = annotation
    if not (isinstance(annotation, type) and issubclass(annotation, dspy.Signature)):
        asked = signature("What is it?", {"answer": annotation})
    judge = Judge(name="refused", signature=asked)
    asker, context = asker_of(judge, sparrow)
    with pytest.raises(ModelError, match=words):
        asker.ask_all([judge.case({"reply": TEXT})])
    assert context.ledger.spend().calls == 0


def test_reasoning_is_free_text_and_refused(sparrow: str) -> None:
    judge = Judge(
        name="reasons",
        signature=REFUND.signature,
        program=dspy.ChainOfThought(REFUND.signature),
        positive="yes",
    )
    asker, context = asker_of(judge, sparrow)
    with pytest.raises(ModelError, match="'reasoning' is a text"):
        asker.ask_all([judge.case({"reply": TEXT})])
    assert context.ledger.spend().calls == 0


def test_a_trace_is_asked_about_as_its_numbered_steps() -> None:
    fields: dict[str, Any] = {
        "policy": (str, dspy.InputField()),
        "trace": (Trace, dspy.InputField()),
        "verdict": (Literal["accept", "reject"], dspy.OutputField()),
    }
    judge = Judge(name="traces", signature=dspy.Signature(fields, "Did the agent do it?"), positive="reject")
    steps = [
        {"actor": "user", "words": "Refund it."},
        {"actor": "assistant", "tool": "refund", "result": "ok"},
    ]
    with OpenAIDecisions() as server:
        (verdict,) = ask(judge, server.url, [{"policy": "p", "trace": steps}], "decisions/gpt-6-luna")
        (body,) = server.bodies
    assert body["input"] == f"policy:\np\n\ntrace:\n{Trace.text_of(steps)}"
    assert verdict.status == "verdict"


def picture_judge(*texts: str) -> Judge:
    fields: dict[str, Any] = {"picture": (dspy.Image, dspy.InputField())}
    for name in texts:
        fields[name] = (str, dspy.InputField())
    fields["shown"] = (Literal["yes", "no"], dspy.OutputField())
    return Judge(
        name="pictures", signature=dspy.Signature(fields, "Is it a cat?"), positive="yes", unit="picture"
    )


DOT = f"data:image/png;base64,{base64.b64encode(png(1)).decode()}"
LABELLED = [
    {"type": "input_text", "text": "picture:"},
    {"type": "input_image", "image_url": DOT},
    {"type": "input_text", "text": "caption:\nMine"},
]


@pytest.mark.parametrize(
    ("texts", "parts"),
    [((), [{"type": "input_image", "image_url": DOT}]), (("caption",), LABELLED)],
)
def test_openais_endpoint_is_sent_images(texts: tuple[str, ...], parts: list[dict[str, str]]) -> None:
    judge = picture_judge(*texts)
    with OpenAIDecisions() as server:
        (verdict,) = ask(judge, server.url, [{"picture": DOT, "caption": "Mine"}], "decisions/gpt-6-luna")
        (body,) = server.bodies
    assert body["input"] == [{"role": "user", "content": parts}]
    assert verdict.status == "verdict"


@pytest.mark.parametrize("name", ["systemone/sparrow", "typesafe/jev-latest"])
def test_an_endpoint_that_takes_texts_alone_is_sent_no_image(sparrow: str, name: str) -> None:
    judge = picture_judge()
    asker, context = asker_of(judge, sparrow, name)
    with pytest.raises(ModelError, match="is an image"):
        asker.ask_all([judge.case({"picture": DOT})])
    assert context.ledger.spend().calls == 0


def test_further_samples_are_refused(sparrow: str) -> None:
    with pytest.raises(UsageError, match="the same probabilities each time"):
        asker_of(REFUND, sparrow, sampling=Sampling(samples=3))


def test_demonstrations_are_refused(sparrow: str) -> None:
    asker, context = asker_of(REFUND, sparrow)
    asker.program.demos = [dspy.Example(reply="x", refund="yes").with_inputs("reply")]
    with pytest.raises(ModelError, match="no demonstrations"):
        asker.ask_all([REFUND.case({"reply": TEXT})])
    assert context.ledger.spend().calls == 0


def test_a_budget_of_calls_holds(sparrow: str) -> None:
    asker, context = asker_of(REFUND, sparrow, budget=Budget(calls=2))
    with pytest.raises(BudgetExhausted):
        asker.ask_all([REFUND.case({"reply": f"{number} {TEXT}"}) for number in range(5)])
    assert context.ledger.spend().calls == 2


def test_a_server_without_the_protocol_is_named_in_one_line() -> None:
    with OpenAIDecisions() as server, pytest.raises(ModelError) as raised:
        ask(REFUND, server.url, [{"reply": TEXT}])
    assert "/v1/systemone" in f"{raised.value.message} {raised.value.hint}"


def test_an_address_is_needed() -> None:
    with pytest.raises(UsageError, match="has no address"):
        connect(Model("systemone/m"), CallContext.fresh())


def test_a_wrong_key_ends_the_work_and_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
    with OpenAIDecisions(key="sk-right") as server, pytest.raises(ModelError) as raised:
        ask(REFUND, server.url, [{"reply": TEXT}], "decisions/gpt-6-luna")
    assert "sk-wrong" not in str(raised.value)
    assert "key" in f"{raised.value.message} {raised.value.hint}"


def test_a_price_is_that_of_the_input() -> None:
    with OpenAIDecisions() as server:
        asker, context = asker_of(REFUND, server.url, "decisions/gpt-6-luna")
        asker.ask_all([REFUND.case({"reply": TEXT})])
    spend = context.ledger.spend()
    assert spend.cost == pytest.approx(spend.input_tokens * 0.10 / 1e6)


@pytest.mark.parametrize("labels", [("billing", "bug"), ("very_good", "bad")])
def test_wording_is_joined_and_taken_apart(labels: tuple[str, ...]) -> None:
    descriptions = {label: f"words of {label}: one" for label in labels}
    instruction = join_wording("Which one?", descriptions)
    assert split_wording(instruction, labels) == ("Which one?", descriptions)


@pytest.mark.parametrize("name", ["decisions/gpt-6-luna", "typesafe/jev-latest", "systemone/gpt-5"])
def test_no_hidden_reasoning_is_expected_of_a_decision_model(name: str) -> None:
    assert Model(name).expected_reasoning == 0


class CountingDecisions(OpenAIDecisions):
    """OpenAI's endpoint, which says yes to sentences with an even number, and fails from a request on."""

    def __init__(self, answered: int = 10**9) -> None:
        super().__init__()
        self.answered = answered

    def answer(self, path: str, authorization: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body of the reply to a request."""
        if len(self.bodies) >= self.answered:
            return 400, {"error": {"message": "This is not safe", "code": "content_filter"}}
        return super().answer(path, authorization, body)

    def answer_question(self, text: str, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a question."""
        number = int(question["name"].rpartition("_")[2])
        choices = [entry["value"] for entry in question["choices"]]
        shares = [0.9, 0.1] if number % 2 == 0 else [0.1, 0.9]
        probabilities = [
            {"value": choice, "probability": share} for choice, share in zip(choices, shares, strict=True)
        ]
        return {
            "type": "choice",
            "name": question["name"],
            "choice": choices[shares.index(max(shares))],
            "confidence": 0.8,
            "probabilities": probabilities,
        }


SENTENCES = [f"Sentence {number}." for number in range(1, 902)]
LONG_ROW = {"policy": "p", "sentences": SENTENCES}


def test_more_questions_than_a_request_takes_are_several_requests_of_one_row() -> None:
    with CountingDecisions() as server:
        asker, context = asker_of(SENTENCE_JUDGE, server.url, "decisions/gpt-6-luna")
        (verdict,) = asker.ask_all([SENTENCE_JUDGE.case(LONG_ROW)])
        sizes = [len(body["questions"]) for body in server.bodies]
    assert sizes == [400, 400, 101]
    assert verdict.values == tuple(
        "supported" if number % 2 == 0 else "unsupported" for number in range(1, 902)
    )
    assert verdict.probabilities[1]["supported"] == pytest.approx(0.9)
    spend = context.ledger.spend()
    assert spend.calls == 3
    tokens = sum(len(body["input"].split()) for body in server.bodies)
    assert spend.input_tokens == tokens
    assert spend.cost == pytest.approx(tokens * 0.10 / 1e6)


def test_a_row_of_which_one_request_is_refused_is_one_abstention() -> None:
    with CountingDecisions(answered=2) as server:
        asker, context = asker_of(SENTENCE_JUDGE, server.url, "decisions/gpt-6-luna")
        (verdict,) = asker.ask_all([SENTENCE_JUDGE.case(LONG_ROW)])
    assert verdict.status == "abstained"
    assert set(verdict.values) == {None}
    assert context.ledger.spend().calls == 3


def test_each_request_of_a_row_counts_in_the_budget() -> None:
    with CountingDecisions() as server:
        asker, context = asker_of(SENTENCE_JUDGE, server.url, "decisions/gpt-6-luna", Budget(calls=2))
        with pytest.raises(BudgetExhausted):
            asker.ask_all([SENTENCE_JUDGE.case(LONG_ROW)])
        assert len(server.bodies) == 2
    assert context.ledger.spend().calls == 2


def test_a_resumed_row_asks_only_the_requests_that_are_missing(tmp_path: Path) -> None:
    verdicts = []
    with CountingDecisions() as server:
        for calls in (2, 10):
            context = CallContext(
                ledger=Ledger(), meter=Meter(Budget(calls=calls)), journal=Journal(tmp_path / "calls.db")
            )
            lm = connect(Model("decisions/gpt-6-luna", api_base=server.url), context)
            judge = SENTENCE_JUDGE
            asker = Asker(judge=judge, program=judge.basic(), lm=lm)
            with contextlib.suppress(BudgetExhausted):
                verdicts += asker.ask_all([judge.case(LONG_ROW)])
            context.journal.close()
        sizes = [len(body["questions"]) for body in server.bodies]
    assert sizes == [400, 400, 101]
    assert context.ledger.spend().calls == 1
    assert context.ledger.spend().replayed == 2
    (verdict,) = verdicts
    assert verdict.values[0] == "unsupported"


@pytest.mark.parametrize(
    ("model", "sentences", "requests"),
    [
        ("decisions/gpt-6-luna", (2,), 1),
        ("decisions/gpt-6-luna", (400,), 1),
        ("decisions/gpt-6-luna", (401,), 2),
        ("decisions/gpt-6-luna", (901,), 3),
        ("decisions/gpt-6-luna", (2, 901), 4),
        ("systemone/x", (901,), 3),
        ("openai/x", (901,), 1),
    ],
)
def test_the_forecast_counts_each_request_of_a_row(
    model: str, sentences: Sequence[int], requests: int
) -> None:
    cases = [SENTENCE_JUDGE.case({"policy": "p", "sentences": SENTENCES[:count]}) for count in sentences]
    asker = Asker(
        judge=SENTENCE_JUDGE, program=SENTENCE_JUDGE.basic(), lm=connect(Model(), CallContext.fresh())
    )
    models = [Model(model, api_base="http://127.0.0.1:9")]
    ask = make_ask("judge", asker, models, cases, (len(cases), len(cases)))
    assert ask.calls.low == requests
    assert ask.expected_calls >= requests
