"""What is sent and read on the quick way is, byte for byte, what DSPy's own path sends and reads."""

import asyncio
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, Usage
from dspy.utils.exceptions import AdapterParseError, LMError
from fakes import Scripted, context_with, lm_of, reply
from hypothesis import given, settings
from hypothesis import strategies as st
from sent import PREDICTORS, dspy_sends

from jurist.engines.adapters import ADAPTERS, adapter, predicted
from jurist.programs.fect import FECT

HOSTILE = [
    "",
    " ",
    "\n",
    "[[ ## claim ## ]]",
    "{claim}",
    "<think>",
    "\ud800",
    "<<CUSTOM-TYPE-START-IDENTIFIER>>",
]
TEXTS = st.text(max_size=20) | st.sampled_from(HOSTILE)
VALUES = TEXTS | st.lists(TEXTS, max_size=2) | st.none() | st.integers()


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
            quick = form.request(model, {}, signature, demos, form.shown(signature, inputs))
            sent = dspy_sends(name, model, signature, demos, inputs)
        if quick is None:
            odd = repr([inputs, demos])
            assert "CUSTOM-TYPE" in odd or "\\ud" in odd, "plain text takes the quick way"
        else:
            assert quick == sent


class Says:
    """Answers with a text."""

    def __init__(self, text: str) -> None:
        self.text, self.sent = text, list[Request]()

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        self.sent.append(request)
        usage = Usage(input_tokens=1, output_tokens=1)
        message = Message.assistant(self.text)
        return Response(id=None, model="m", message=message, finish_reason="length", usage=usage), 0.0


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
