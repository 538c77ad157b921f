"""Byte for byte what DSPy sends and reads: prompts that are filled in, and requests over connections of our own."""

import asyncio
import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import dspy
import pytest
from dspy import AdapterParseError, LMError, LMProviderError, LMUnsupportedFeatureError
from dspy.lm15 import Config, Message, Request, Response, Usage
from fakes import Scripted, context_with, lm_of, reply
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import FAULTS, Fault, Loopback

from jurist.engines.adapters import ADAPTERS, _Recorder, adapter, predicted
from jurist.engines.channel import InnerEngine
from jurist.engines.direct import Direct, ProviderResponse
from jurist.engines.draws import TypedRequest, typed_request
from jurist.engines.failures import brief, fatal, retryable
from jurist.engines.models import Endpoint, Model, reached
from jurist.programs.catalogue import CATALOGUE
from jurist.programs.fect import FECT
from jurist.programs.frozen import all_predictors
from jurist.runs.batch_service import BatchEndpoint
from jurist.runs.batch_store import BatchStore

TEXTS = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(["<think>", '"\\', "\x00"])


PREDICTORS = [predictor for judge in CATALOGUE.values() for predictor in all_predictors(judge.basic())]


def dspy_sends(
    name: str, model: dspy.LM, signature: Any, demos: list[Any], inputs: dict[str, Any]
) -> Request | None:
    """Return the request that DSPy renders; ``None`` if it renders none."""
    keeper = _Recorder()
    with suppress(Exception):  # the keeper's answer is of no use, and some inputs cannot be sent at all
        adapter(name)(model.copy(engine=keeper), {}, signature, demos, inputs)
    return keeper.request


def endpoints(url: str, **options: Any) -> tuple[Endpoint, Endpoint]:
    """Return one endpoint that is asked directly, and one that DSPy's client asks."""
    ours, theirs = (Endpoint(Model(name="openai/m", api_base=url, **options)) for _ in range(2))
    assert ours._direct.fits
    theirs._direct.fits = False
    return ours, theirs


def asked(endpoint: Endpoint, request: Request) -> Any:
    """Return what an endpoint says: the response without its number, or the kind of its failure."""
    try:
        response, cost = asyncio.run(endpoint.acomplete(request))
    except LMError as error:
        said = re.sub(r"chatcmpl-\d|:\d+", "*", brief(error))
        after = getattr(error, "retry_after", None)
        return type(error), error.status, after, retryable(error), fatal(error), said
    return replace(response, id=None, provider_data=None), cost


def simple(**config: Any) -> Request:
    return Request(model="openai/m", system="s", messages=(Message.user("u"),), config=Config(**config))


@settings(max_examples=40)
@given(data=st.data())
def test_every_judge_adapter_and_structure_sends_the_same_bytes(data: st.DataObject) -> None:
    signature = data.draw(st.sampled_from(PREDICTORS)).signature
    form = adapter(name := data.draw(st.sampled_from(ADAPTERS)))
    inputs = data.draw(st.fixed_dictionaries(dict.fromkeys(signature.input_fields, TEXTS)))
    limits = {
        "temperature": data.draw(st.sampled_from([None, 0.0, 0.7])),
        "max_tokens": data.draw(st.none() | st.just(9)),
    }
    given = {key: value for key, value in limits.items() if value is not None}
    model = dspy.LM("openai/m", cache=False, **given)
    request = dspy_sends(name, model, signature, [], inputs)
    assert request is not None
    with Loopback() as server:
        ours, theirs = endpoints(server.url)
        token = typed_request.set(TypedRequest(adapter=form, signature=signature, demos=[], inputs=inputs))
        try:
            for endpoint in (ours, theirs):
                asyncio.run(endpoint.acomplete(request))
            reached = Model(name="openai/m", api_base=server.url)
            with BatchStore(None) as store:
                assert BatchEndpoint(reached, store).written(request).body == server.hits[0].raw
        finally:
            typed_request.reset(token)
        (first, second) = server.hits
    assert first.raw == second.raw
    assert first.authorization == second.authorization


@pytest.mark.parametrize(
    "model", ["openai/m", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "xai/grok-3"]
)
@settings(max_examples=20, deadline=None)
@given(
    text=TEXTS.filter(bool),
    config=st.builds(Config, temperature=st.none() | st.just(0.5), max_tokens=st.just(9)),
)
def test_only_the_text_is_written_anew_whoever_is_asked(model: str, text: str, config: Config) -> None:
    direct = Direct(dspy.LM(model, api_key="k"))
    request = replace(simple(), messages=(Message.user(text),), config=config)
    form = direct._templates(config, request.system)
    assert form is not None
    assert replace(form.wire_request, body=form.body(text)) == direct.wire_request(request)


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_every_answer_and_every_failure_is_the_same(fault: Fault | None) -> None:
    with Loopback(
        lambda messages: "[[ ## factual ## ]]\nTrue", faults=lambda *_: fault, thoughts="hm"
    ) as server:
        ours, theirs = (asked(one, simple()) for one in endpoints(server.url, timeout=0.4))
    if fault == "reset":  # a connection that ends has several names
        ours, theirs = ours[:5], theirs[:5]
    if fault == "two":  # DSPy's name for it is that of requests that are not sent
        assert (ours[0], theirs[0], server.count) == (LMProviderError, LMUnsupportedFeatureError, 2)
        ours, theirs = ours[5:], theirs[5:]
    assert ours == theirs


def test_a_key_with_a_line_end_is_the_key_on_both_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789\n")
    with Loopback(lambda messages: "You sent sk-test-0123456789.") as server:
        for endpoint in endpoints(server.url):
            for response, _ in (endpoint.complete(simple()), asyncio.run(endpoint.acomplete(simple()))):
                assert response.text == "You sent ***."
        assert {hit.authorization for hit in server.hits} == {"Bearer sk-test-0123456789"}


def test_as_many_connections_as_requests_and_each_is_used_again() -> None:
    async def many(endpoint: Endpoint) -> None:
        for _ in range(2):
            await asyncio.gather(*(endpoint.acomplete(simple()) for _ in range(60)))

    with Loopback(delay=0.2) as server:
        asyncio.run(many(endpoints(server.url)[0]))
        assert (server.count, server.peak) == (120, 60)
        assert server.connections == 60


HOSTILE = "| |\n|[[ ## claim ## ]]|{claim}|<think>|\ud800|<<CUSTOM-TYPE-START-IDENTIFIER>>"
ANY = st.text(max_size=20) | st.sampled_from(HOSTILE.split("|"))
VALUES = ANY | st.lists(ANY, max_size=2) | st.none() | st.integers()


@pytest.mark.parametrize("name", ADAPTERS)
@settings(max_examples=60)
@given(data=st.data())
def test_every_judge_sends_what_dspy_sends(name: str, data: st.DataObject) -> None:
    signature = data.draw(st.sampled_from(PREDICTORS)).signature
    values = st.fixed_dictionaries(dict.fromkeys(signature.input_fields, VALUES))
    outputs = dict.fromkeys(signature.output_fields, "x")
    demos = [{**data.draw(values), **outputs} for _ in range(data.draw(st.integers(0, 1)))]
    form = adapter(name)
    model = lm_of(Scripted([]), context_with(), temperature=data.draw(st.sampled_from([0.0, 0.7])))
    for _ in range(2):
        inputs = data.draw(values)
        with dspy.context(disable_history=True):
            quick = form.request(model, {}, signature, demos, inputs)
            sent = dspy_sends(name, model, signature, demos, inputs)
        if quick is None:
            odd = repr([inputs, demos])
            assert "CUSTOM-TYPE" in odd or "\\ud" in odd, "plain text takes the quick way"
        else:
            assert quick == sent


class Says(InnerEngine):
    """Answers with a text."""

    def __init__(self, text: str) -> None:
        self.text, self.sent = text, list[Request]()

    def complete(self, request: Request) -> tuple[Response, float | None]:
        self.sent.append(request)
        usage = Usage(input_tokens=1, output_tokens=1)
        message = Message.assistant(self.text)
        return Response(id=None, model="m", message=message, finish_reason="length", usage=usage), 0.0

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        return self.complete(request)


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize(
    "text",
    [
        *("True", "[[ ## factual ## ]]\nTrue", '{"factual": false}', "<factual>True</factual>", ""),
        *("<factual>True", "[[ ## factual ## ]]\nmaybe", "<think>[[ ## factual ## ]]\nTrue</think>"),
    ],
)
def test_every_reply_is_read_as_on_dspy_s_path(name: str, text: str) -> None:
    def ask(*, quick: bool) -> Any:
        engine = Says(text)
        model = lm_of(engine, context_with())
        inputs, predictor = dict.fromkeys(FECT.signature.input_fields, "x"), dspy.Predict(FECT.signature)
        with dspy.context(lm=model, adapter=adapter(name), trace=None, disable_history=quick):
            try:
                answered = predicted(predictor, inputs) if quick else predictor.acall(**inputs)
                said: Any = dict(asyncio.run(answered).items())
            except (AdapterParseError, LMError) as error:
                said = type(error), getattr(error, "message", "")
        return said, engine.sent

    assert ask(quick=True) == ask(quick=False)


def test_a_prompt_that_was_changed_in_place_is_rendered_anew() -> None:
    engine = Scripted([reply("chat", factual=True)] * 3)
    predict = dspy.Predict(FECT.signature)
    inputs = {"conversation": "c", "claim": "d"}
    predict.demos = []
    model = lm_of(engine, context_with())
    with dspy.context(lm=model, adapter=adapter("chat"), disable_history=True, trace=None):
        asyncio.run(predict.acall(**inputs))
        predict.demos.append({**inputs, "factual": False})
        asyncio.run(predict.acall(**inputs))
        predict.demos[0]["claim"] = "another"
        asyncio.run(predict.acall(**inputs))
    assert [len(request.messages) for request in engine.requests] == [1, 3, 3]
    assert "another" in str(engine.requests[2])


@pytest.mark.parametrize("name", ["openai/m", "anthropic/m", "gemini/m", "decisions/m"])
def test_no_representation_shows_a_key(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    key, header = "sk-test-0123456789", "gateway-0123456789"
    monkeypatch.setenv("MY_KEY", key)
    monkeypatch.setenv("GATEWAY_TOKEN", header)
    model = Model(name=name, key_env="MY_KEY", headers={"Gateway-Token": "$GATEWAY_TOKEN"})
    engine: Any = reached(model)
    direct = engine._direct
    request = Request(model=name, messages=(Message.user("u"),), config=Config())
    template = direct._template_of(request.config, None)
    sent = direct.wire_request(request)
    assert any(key in value for _, value in sent.headers)
    reply = ProviderResponse(status=401, body=b"", fields={"Set-Cookie": key})
    for shown in (model, engine, direct, sent, template, reply):
        for words in (repr(shown), str(shown), f"{shown}"):
            assert key not in words
            assert header not in words
