"""What an endpoint takes, over real HTTP: answers held to a schema, parameters, and how much it reads at once."""

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import dspy
import pydantic
import pytest
from asking import CASES, FECT, wait_briefly
from asking import asker as one_at_a_time
from dspy import AdapterParseError
from loopback import Loopback
from small import FAST, claims, cli, write_jsonl

from jurist.engines.adapters import adapter
from jurist.engines.channel import CallContext
from jurist.engines.draws import TypedRequest
from jurist.engines.models import Model, connect
from jurist.engines.strict_schemas import schema_of
from jurist.engines.terms import Terms
from jurist.programs.asking import Asker
from jurist.programs.catalogue import CATALOGUE, find
from jurist.programs.settings import AskSettings

Serve = Callable[..., Loopback]
YES = json.dumps({"factual": True})
FORMS_OF_OURS = ["schema", "object_schema", "object", "prompt"]
FORMS = ("json_schema", "json_object with schema", "json_object", "none")


@pytest.fixture(autouse=True)
def _waits(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch)


def asker(server: Loopback, **settings: Any) -> Asker:
    model = Model(name="openai/some-model", api_base=server.url, **settings)
    lm = connect(model, CallContext.fresh())
    return Asker(judge=FECT, program=FECT.basic(), lm=lm, settings=AskSettings(adapter="json"))


def form_of(body: dict[str, Any]) -> str:
    given = body.get("response_format") or {}
    return given.get("type", "none") + (" with schema" if "schema" in given else "")


def forms(server: Loopback) -> list[str]:
    return [form_of(hit.body) for hit in server.hits]


def refusing(*types: str) -> Callable[[dict[str, Any]], str]:
    """Return a server's way of refusing some types of answers."""

    def refuses(body: dict[str, Any]) -> str:
        given = form_of(body)
        return f"response_format {given} is not supported" if given in types else ""

    return refuses


def known_terms(**known: Any) -> str:
    """Return the terms that an earlier job stored, of which these are no default."""
    terms = {
        "forms": FORMS_OF_OURS,
        "refused": {},
        "sends_both_limits": True,
        "limit_refused_from": None,
        "takes_system": True,
    }
    return json.dumps(terms | known)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"sends_both_limits": False}, "a limit on replies under two names"),
        ({"refused": {"logprobs": 5}}, "more than 5 logprobs"),
        ({"limit_refused_from": 4000}, "a limit on long replies"),
        ({"limit_refused_from": 0}, "a limit on replies"),
        ({"takes_system": False}, "a system message"),
        (
            {"forms": FORMS_OF_OURS[2:], "refused": {"top_p": None}},
            "top_p, a JSON schema, a JSON object with a schema",
        ),
    ],
)
def test_what_an_earlier_job_learnt_is_said(known: dict[str, Any], words: str) -> None:
    terms = Terms("openai/m", has_other_address=True).restored(known_terms(**known))
    assert terms.refusals == f"refused before, and is not asked for: {words}"


def test_terms_that_an_earlier_release_wrote_as_a_list_are_found_out_again() -> None:
    terms = Terms("openai/m", has_other_address=True)
    assert terms.restored(json.dumps([FORMS_OF_OURS, {}, False, None, False])).as_json == terms.as_json


@pytest.mark.parametrize(
    ("refused", "asked"),
    [(FORMS[:count], [*FORMS[: count + 1], FORMS[count]]) for count in range(len(FORMS))],
)
def test_a_refused_form_is_asked_for_once(
    serve: Serve,
    caplog: pytest.LogCaptureFixture,
    refused: tuple[str, ...],
    asked: list[str],
) -> None:
    server = serve(lambda messages: YES, refuses=refusing(*refused))
    judge = asker(server)
    with caplog.at_level(logging.WARNING, "jurist"):
        verdicts = [judge.ask(case) for case in CASES[:2]]
    assert [one.label for one in verdicts] == ["factual", "factual"]
    assert forms(server) == asked
    assert len({json.dumps(hit.body["messages"]) for hit in server.hits}) == 2  # the prompt stays what it is
    assert len(caplog.messages) == len(refused)
    assert sum(one.usage.calls for one in verdicts) == server.count


def test_a_reply_held_to_a_schema_that_contradicts_itself_is_unusable(serve: Serve) -> None:
    verdict = asker(serve(lambda messages: '{"factual": true, "factual": false}')).ask(CASES[0])
    assert (verdict.status, "'factual' is given twice" in verdict.error) == ("abstained", True)


@pytest.mark.parametrize("refused", [FORMS[:1], FORMS[:3]])
def test_the_first_request_goes_alone_until_its_terms_are_known(
    serve: Serve, refused: tuple[str, ...]
) -> None:
    server = serve(lambda messages: YES, refuses=refusing(*refused), delay=0.02)
    judge = asker(server)
    found = judge.ask_all(CASES[:24])
    assert {verdict.label for verdict in found} == {"factual"}
    for form in refused:
        assert forms(server).count(form) == 1
    assert server.peak > 1
    assert sum(verdict.usage.calls for verdict in found) == server.count == 24 + len(refused)


def test_refusals_are_no_attempts(serve: Serve) -> None:
    """Seven settings are refused one after the other, and the one row is judged."""

    def refuses(body: dict[str, Any]) -> str:
        for name in ("temperature", "top_p"):
            if name in body:
                return f"Unsupported parameter: '{name}'"
        if "max_tokens" in body and "max_completion_tokens" in body:
            return "max_tokens and max_completion_tokens exclude each other"
        if form_of(body) != "none":
            return f"response_format {form_of(body)} is not supported"
        return "System role not supported" if body["messages"][0]["role"] == "system" else ""

    server = serve(lambda messages: YES, refuses=refuses)
    verdict = asker(server, temperature=0.5, top_p=0.5, max_tokens=50).ask(CASES[0])
    assert (verdict.label, verdict.usage.calls, server.count) == ("factual", 8, 8)


@pytest.mark.parametrize(
    "words",
    ["System role not supported", "'messages[0].role' does not support 'system' with this model."],
)
def test_a_refused_system_message_stands_in_the_text_of_the_user(serve: Serve, words: str) -> None:
    server = serve(
        lambda messages: YES, refuses=lambda body: words if body["messages"][0]["role"] == "system" else ""
    )
    judge = asker(server)
    assert [judge.ask(case).label for case in CASES[:2]] == ["factual", "factual"]
    refused, *taken = [hit.body["messages"] for hit in server.hits]
    assert [[message["role"] for message in messages] for messages in taken] == [["user"]] * 2
    assert taken[0][0]["content"] == f"{refused[0]['content']}\n\n{refused[1]['content']}"


def test_a_text_that_is_quoted_in_a_refusal_teaches_nothing(serve: Serve) -> None:
    hostile = FECT.case({"conversation": "a", "claim": "response_format and max_tokens are not supported"})

    def refuses(body: dict[str, Any]) -> str:
        said = body["messages"][-1]["content"]
        return f"this is no text: {said}" if "are not supported" in said else ""

    server = serve(lambda messages: YES, refuses=refuses)
    judge = asker(server)
    assert [judge.ask(case).status for case in (hostile, CASES[0])] == ["failed", "verdict"]
    assert forms(server) == ["json_schema", "json_schema"]
    assert None not in limits(server)


def test_a_refused_temperature_is_left_out(serve: Serve) -> None:
    server = serve(
        lambda messages: YES,
        refuses=lambda body: "Unsupported value: 'temperature' must be 1" if "temperature" in body else "",
    )
    judge = asker(server, temperature=0.0)
    assert [judge.ask(case).label for case in CASES[:3]] == ["factual"] * 3
    assert ["temperature" in hit.body for hit in server.hits] == [True, False, False, False]


def test_a_limit_is_known_by_either_name(serve: Serve) -> None:
    """Some servers know the older name only, and let a reply run on; others refuse to be given both."""
    server = serve(lambda messages: YES)
    assert asker(server, max_tokens=50).ask(CASES[0]).status == "verdict"
    assert [server.hits[0].body[name] for name in ("max_tokens", "max_completion_tokens")] == [50, 50]
    server = serve(
        lambda messages: YES,
        refuses=lambda body: (
            "max_tokens and max_completion_tokens exclude each other" if "max_tokens" in body else ""
        ),
    )
    judge = asker(server, max_tokens=50)
    assert [judge.ask(case).status for case in CASES[:2]] == ["verdict"] * 2
    assert ["max_tokens" in hit.body for hit in server.hits] == [True, False, False]


def limits(server: Loopback) -> list[int | None]:
    return [hit.body.get("max_tokens") for hit in server.hits]


def test_a_reply_that_nobody_limited_is_cut_all_the_same(serve: Serve) -> None:
    server = serve(lambda messages: YES, faults={0: "cut"})
    judge = asker(server)
    cut = judge.ask(CASES[0])
    assert (cut.status, cut.usage.calls) == ("abstained", 1)
    assert "raise --max-tokens" in cut.error
    size = {"conversation": "Ωx" * 3000, "claim": "c"}
    judge.ask(FECT.case(size))
    assert limits(server) == [4096, 16384], "what was asked about may be echoed"


@pytest.mark.parametrize(
    ("fault", "thoughts", "refusal"),
    [
        ("cut", "hm", ""),
        (None, None, "you requested 4196 tokens (100 in the messages, 4096 in the completion)"),
        (None, None, "maximum context length is 2048 tokens. However, you requested 4096 (completion)"),
        (None, None, "max_tokens and max_completion_tokens are unknown"),
    ],
)
def test_a_model_that_thinks_or_has_no_such_room_gets_no_default_limit(
    serve: Serve, fault: Any, thoughts: str | None, refusal: str
) -> None:
    server = serve(
        lambda messages: YES,
        faults={0: fault} if fault else None,
        thoughts=thoughts,
        refuses=lambda body: refusal if "max_completion_tokens" in body else "",
    )
    judge = asker(server)
    verdicts = [judge.ask(case) for case in CASES[:2]]
    assert [one.status for one in verdicts] == ["verdict"] * 2
    assert limits(server)[0] == 4096
    assert limits(server)[-2:] == [None, None]
    assert sum(one.usage.calls for one in verdicts) == server.count
    if fault:
        assert verdicts[0].usage.output_tokens == 20, "what was thought is paid"


class Turn(pydantic.BaseModel):
    speaker: Literal["user", "assistant"] = pydantic.Field(description="who speaks")
    text: str = "nothing"


class Talk(pydantic.BaseModel):
    first: Turn = pydantic.Field(description="how it begins")
    turns: list[Turn] = []
    topic: str | None = None


STRICT = [
    bool,
    Talk,
    list[Talk],
    set[str],
    tuple[str, int],
    tuple[str, ...],
    dict[str, int] | None,
    Turn | Talk,
]
LOOSE = [dict[str, object], list[dict[str, object]], dict[str, int], Any, list]


@pytest.mark.parametrize("annotation", STRICT + LOOSE)
def test_an_answer_without_a_strict_schema_is_asked_for_as_an_object(serve: Serve, annotation: Any) -> None:
    signature = dspy.Signature(
        {"claim": (str, dspy.InputField()), "said": (annotation, dspy.OutputField())}, "Say."
    )
    is_strict = schema_of(signature) is not None
    assert is_strict == (annotation in STRICT and annotation != dict[str, int] | None)
    server = serve(lambda messages: json.dumps({"said": None}))
    model = connect(Model(name="openai/m", api_base=server.url), CallContext.fresh())
    with dspy.context(lm=model, adapter=adapter("json")), suppress(AdapterParseError):
        dspy.Predict(signature)(claim="a")
    assert forms(server) == ["json_schema" if is_strict else "json_object"]


def strict_problem(schema: Any) -> str:
    """Return why OpenAI's strict mode would refuse a schema, empty if it would not."""
    if isinstance(schema, list):
        return next(filter(None, map(strict_problem, schema)), "")
    if not isinstance(schema, dict):
        return ""
    refused = {
        "allOf",
        "oneOf",
        "not",
        "prefixItems",
        "patternProperties",
        "default",
        "uniqueItems",
    } & schema.keys()
    if refused:
        return f"{refused} is not permitted"
    if "$ref" in schema and len(schema) > 1:
        return "$ref cannot have keywords"
    if not schema.keys() & {"type", "$ref", "anyOf", "enum", "const"}:
        return "schema must have a 'type' key"
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be false"
        if set(schema["required"]) != set(schema["properties"]):
            return "'required' is required to include every key"
    parts = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    parts += [*schema.get("anyOf", []), schema.get("items")]
    return strict_problem(parts)


@pytest.mark.parametrize("annotation", STRICT[:-2] + STRICT[-1:])
def test_a_schema_is_one_that_strict_mode_takes(annotation: Any) -> None:
    signature = dspy.Signature(
        {"claim": (str, dspy.InputField()), "said": (annotation, dspy.OutputField())}, "Say."
    )
    assert strict_problem(schema_of(signature)) == ""


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_the_schema_of_every_judge_is_strict_and_of_its_answer(name: str) -> None:
    """Objects are closed and whole, fields come in the signature's order, and what is demonstrated fits."""
    judge = find(name)
    for predictor in judge.basic().predictors():
        typed = TypedRequest(adapter=adapter("json"), signature=predictor.signature, demos=(), inputs={})
        schema = schema_of(typed.signature)
        assert schema is not None
        assert strict_problem(schema) == ""
        assert list(schema["properties"]) == list(predictor.signature.output_fields)
        for part in (schema, *schema.get("$defs", {}).values()):
            if "properties" in part:
                assert part["required"] == list(part["properties"])
                assert part["additionalProperties"] is False
        assert "default" not in json.dumps(schema)


def test_the_card_says_what_held_answers(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), claims())
    server = serve(lambda messages: YES, refuses=refusing("json_schema"))
    real = ("--adapter", "json", "--model", "openai/x", "--api-base", server.url, "--yes")
    done = cli("compile", "fect", "--gold", "gold.jsonl", *FAST, *real)
    assert done.code == 0, done.err
    assert json.loads(Path("compiled/fect/1/card.json").read_text())["structure"] == "object_schema"


LIMIT = 2000


def test_a_row_that_is_too_long_takes_no_limit_from_the_others(serve: Serve) -> None:
    server = serve(refuses=too_long)
    judge = one_at_a_time(server, concurrency=1)
    judge.ask_all([long_case(10), long_case(3000), long_case(20)])
    assert limits(server)[0] == limits(server)[2] == 4096


def test_a_limit_that_a_long_row_has_no_room_for_stays_for_shorter_rows(serve: Serve) -> None:
    def refuses(body: dict[str, Any]) -> str:
        limit, size = body.get("max_tokens", 0), len(json.dumps(body["messages"])) // 4
        words = f"'max_tokens' is too large: {limit}. This model's maximum context length is 8192 tokens"
        return words if limit + size > 8192 else ""

    server = serve(refuses=refuses)
    judge = one_at_a_time(server, concurrency=1)
    found = judge.ask_all([long_case(10), long_case(700), long_case(20)])
    assert [verdict.status for verdict in found] == ["verdict"] * 3
    assert limits(server) == [4096, 8192, None, 4096]


def long_case(words: int) -> Any:
    return FECT.case({"conversation": "Agent: " + "hello " * words, "claim": f"claim {words}"})


def too_long(body: dict[str, Any]) -> str:
    tokens = sum(len(message["content"]) for message in body["messages"]) // 6
    said = f"This model's maximum context length is {LIMIT} tokens. However, you requested {tokens} tokens."
    return said if tokens > LIMIT else ""


def test_a_case_that_is_too_long_abstains_and_the_others_do_not(serve: Serve) -> None:
    judge = one_at_a_time(serve(refuses=too_long), concurrency=1)
    found = judge.ask_all([long_case(10), long_case(3000), long_case(20)])
    assert [one.status for one in found] == ["verdict", "abstained", "verdict"]
    assert "maximum context length is 2000" in found[1].error
