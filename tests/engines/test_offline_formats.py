"""The offline engine behind DSPy's own adapters: every label shape comes back with its type."""

import asyncio
from typing import Any, Literal

import dspy
import pydantic
import pytest

from jurist.engines.adapters import ADAPTERS, adapter
from jurist.engines.offline import AsyncOfflineEngine, OfflineEngine

FORMATS = {name: adapter(name) for name in ADAPTERS}
REFERENCE = (
    "The mill was built in 1802 by Anna Holt. It ground barley & rye for <nine> villages. It closed in 1911."
)
SENTENCES = "1. The mill was built in 1802 by Anna Holt.\n2. Tourists adore its legendary chocolate museum."


class Tag(pydantic.BaseModel):
    n: int
    label: Literal["faithful", "invented"]


class Verdict(pydantic.BaseModel):
    label: Literal["supported", "unsupported"]
    why: str


class Whole(dspy.Signature):
    """Decide whether the reference supports the claim."""

    reference: str = dspy.InputField()
    claim: str = dspy.InputField()
    reasoning: str = dspy.OutputField()
    factual: bool = dspy.OutputField()
    verdict: Literal["supported", "unsupported"] = dspy.OutputField()
    score: int = dspy.OutputField(desc="how well it is supported, 0 to 10")
    detail: Verdict = dspy.OutputField(desc="one of: supported; unsupported")
    poem: str = dspy.OutputField(desc="a poem about it")


class PerSentence(dspy.Signature):
    """Label every sentence by the reference."""

    reference: str = dspy.InputField()
    sentences: str = dspy.InputField()
    tags: list[Tag] = dspy.OutputField(desc="one item each; label is one of: faithful; invented")
    flags: list[Literal["supported", "unsupported"]] = dspy.OutputField()
    supported: list[bool] = dspy.OutputField()
    hallucinated_lines: list[int] = dspy.OutputField()
    hallucinated_sentences: list[str] = dspy.OutputField()


def lm(**settings: Any) -> dspy.LM:
    engines = {"engine": OfflineEngine(), "async_engine": AsyncOfflineEngine()}
    return dspy.LM("jurist/offline", cache=False, **engines, **settings)


def ask(
    signature: type[dspy.Signature], adapter: str, demos: list[dspy.Example] | None = None, **values: Any
) -> Any:
    program = dspy.Predict(signature)
    program.demos = demos or []
    with dspy.context(lm=lm(), adapter=FORMATS[adapter]):
        return program(**values)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(
    ("claim", "supported"),
    [
        ("The mill was built in 1802 by Anna Holt.", True),
        ("Tourists adore its legendary chocolate museum.", False),
    ],
)
def test_whole_claims_come_back_typed(adapter: str, claim: str, supported: bool) -> None:
    answer = ask(Whole, adapter, reference=REFERENCE, claim=claim)
    assert answer.factual is supported
    assert answer.verdict == ("supported" if supported else "unsupported")
    assert isinstance(answer.score, int)
    assert 0 <= answer.score <= 10
    assert (answer.score >= 5) is supported
    assert isinstance(answer.detail, Verdict)
    assert answer.detail.label == answer.verdict
    assert "Verdict: " in answer.reasoning
    assert len(answer.reasoning) <= 300
    assert "does not write text" in answer.poem


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_sentences_come_back_typed_and_numbered(adapter: str) -> None:
    answer = ask(PerSentence, adapter, reference=REFERENCE, sentences=SENTENCES)
    assert answer.tags == [Tag(n=1, label="faithful"), Tag(n=2, label="invented")]
    assert answer.flags == ["supported", "unsupported"]
    assert answer.supported == [True, False]
    assert answer.hallucinated_lines == [2]
    assert answer.hallucinated_sentences == ["Tourists adore its legendary chocolate museum."]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_reasoning_quotes_the_evidence_and_survives_markup(adapter: str) -> None:
    answer = ask(Whole, adapter, reference=REFERENCE, claim="It ground barley & rye for <nine> villages.")
    assert "barley & rye for <nine> villages" in answer.reasoning


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_demonstrations_teach_labels_whose_names_say_nothing(adapter: str) -> None:
    class Colour(dspy.Signature):
        """Sort the claim."""

        reference: str = dspy.InputField()
        claim: str = dspy.InputField()
        verdict: Literal["red", "blue"] = dspy.OutputField()

    def demo(claim: str, verdict: str) -> dspy.Example:
        return dspy.Example(reference=REFERENCE, claim=claim, verdict=verdict)

    held = [demo("The mill was built in 1802.", "blue"), demo("It closed in 1911.", "blue")] * 3
    other = [demo("Tourists adore chocolate.", "red"), demo("A dragon guards its treasure.", "red")] * 3
    for flip in (False, True):
        demos = [
            dspy.Example(d).copy(verdict={"red": "blue", "blue": "red"}[d.verdict]) if flip else d
            for d in held + other
        ]
        answer = ask(Colour, adapter, demos, reference=REFERENCE, claim="Anna Holt built the mill in 1802.")
        assert answer.verdict == ("red" if flip else "blue")


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_sentence_demonstrations_are_read_in_every_format(adapter: str) -> None:
    flipped = [Tag(n=1, label="invented"), Tag(n=2, label="faithful")]
    demo = dspy.Example(reference=REFERENCE, sentences=SENTENCES, tags=flipped)  # other outputs not supplied
    answer = ask(PerSentence, adapter, [demo] * 8, reference=REFERENCE, sentences=SENTENCES)
    assert answer.tags == flipped
    assert answer.flags == ["supported", "unsupported"]  # its own demonstrations are missing


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_chinese(adapter: str) -> None:
    class Check(dspy.Signature):
        """判断声明是否有依据。"""

        document: str = dspy.InputField()
        statement: str = dspy.InputField()
        reasoning: str = dspy.OutputField()
        verdict: Literal["支持", "不支持"] = dspy.OutputField()

    text = "临江博物馆于1956年建成，馆内收藏青铜器三千余件。周一闭馆，周末延长至晚上九点。"
    assert ask(Check, adapter, document=text, statement="临江博物馆1956年建成。").verdict == "支持"
    assert ask(Check, adapter, document=text, statement="游客可以免费乘坐热气球。").verdict == "不支持"


def test_async_gives_the_same_answer() -> None:
    model = lm(temperature=0.9)
    program = dspy.Predict(PerSentence)

    async def later() -> Any:
        return await program.acall(reference=REFERENCE, sentences=SENTENCES, config={"seed": 5})

    with dspy.context(lm=model, adapter=FORMATS["chat"]):
        now = program(reference=REFERENCE, sentences=SENTENCES, config={"seed": 5})
        assert dict(asyncio.run(later())) == dict(now)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("中文", 2), ("中文abcd", 3)]
)
def test_tokens_are_counted_as_documented(text: str, tokens: int) -> None:
    from jurist.text.terms import count_tokens

    assert count_tokens(text) == tokens


@pytest.mark.parametrize("name", ADAPTERS)
def test_usage_and_model_name_are_honest(name: str) -> None:
    seen: list[Any] = []

    class Watched(OfflineEngine):
        def complete(self, request: Any) -> Any:
            seen.append((request, super().complete(request)))
            return seen[-1][1]

    model = dspy.LM("jurist/offline", engine=Watched(), cache=False)
    with dspy.context(lm=model, adapter=FORMATS[name]):
        dspy.Predict(Whole)(reference=REFERENCE, claim="It closed.")
    request, response = seen[0]
    shown = [request.system, *(message.text for message in request.messages)]
    assert response.model == "jurist/offline"
    assert response.usage.input_tokens == sum(-(-len(text) // 4) for text in shown)
    assert response.usage.output_tokens == -(-len(response.message.text) // 4)


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_prompt_is_the_one_that_dspy_writes(name: str) -> None:
    theirs = {"chat": dspy.ChatAdapter, "json": dspy.JSONAdapter, "xml": dspy.XMLAdapter}[name]()
    demos = [{"reference": "x", "claim": "y", "factual": True}]
    inputs = {"reference": REFERENCE, "claim": "It closed."}
    assert FORMATS[name].format(Whole, demos, inputs) == theirs.format(Whole, demos, inputs)
