"""What a user adds to every request of a model: effort, headers, fields and prices; and what of it is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Message, Request
from small import cli, ok, write_jsonl
from wire import Wire, anthropic_reply, gemini_reply, openai_reply

import jurist
from jurist.engines.channel import CallContext
from jurist.engines.meter import Budget
from jurist.engines.models import Model, connect
from jurist.errors import UsageError
from jurist.keeping.card_parts import ModelCard, describe_model

SECRET = "gateway-secret-0123456789"
OPENAI = openai_reply(prompt_tokens=1000, completion_tokens=100, total_tokens=1100)
ANTHROPIC = anthropic_reply(input_tokens=1000, output_tokens=100)
GEMINI = gemini_reply(promptTokenCount=1000, candidatesTokenCount=100, totalTokenCount=1100)
REPLIES = {
    "openai/gpt-5-mini": OPENAI,
    "anthropic/claude-haiku-4-5": ANTHROPIC,
    "gemini/gemini-2.5-flash": GEMINI,
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "a-key-of-the-tests")
    monkeypatch.setenv("GATEWAY_TOKEN", SECRET)
    monkeypatch.setenv("TEAM", "judges")


def ask(wire: Wire, name: str, context: CallContext | None = None, **settings: Any) -> Any:
    lm = connect(Model(name=name, api_base=wire.url, **settings), context or CallContext.fresh())
    engine: Any = lm._engine_spec
    return engine.complete(Request(model=name, messages=(Message.user("Is it so?"),)))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("openai/gpt-5-mini", ("reasoning_effort",), "low"),
        ("anthropic/claude-haiku-4-5", ("thinking",), {"type": "enabled", "budget_tokens": 2048}),
        ("gemini/gemini-2.5-flash", ("generationConfig", "thinkingConfig", "thinkingBudget"), 2048),
    ],
)
def test_the_effort_reaches_each_provider_as_it_calls_it(
    name: str, place: tuple[str, ...], value: Any
) -> None:
    with Wire(REPLIES[name]) as wire:
        ask(wire, name, reasoning_effort="low")
    sent: Any = wire.arrived[0].body
    for part in place:
        sent = sent[part]
    assert sent == value


@pytest.mark.parametrize("name", REPLIES)
def test_headers_and_fields_go_with_every_request_and_leave_the_rest_as_it_is(name: str) -> None:
    headers = (("X-Team", "$TEAM"), ("Gateway-Token", "Bearer ${GATEWAY_TOKEN}"))
    body = {"tier": "flex", "generationConfig": {"seed": 7}}
    with Wire(REPLIES[name]) as wire:
        ask(wire, name)
        ask(wire, name, headers=headers, body=body)
    plain, extended = wire.arrived
    assert (extended.headers["x-team"], extended.headers["gateway-token"]) == ("judges", f"Bearer {SECRET}")
    wanted = {**plain.body, "tier": "flex"}
    wanted["generationConfig"] = {**plain.body.get("generationConfig", {}), "seed": 7}
    assert extended.body == wanted


def test_a_reply_that_shows_a_header_is_kept_without_it() -> None:
    with Wire(
        openai_reply(f"you sent {SECRET}", prompt_tokens=1, completion_tokens=1, total_tokens=2)
    ) as wire:
        reply = ask(wire, "openai/gpt-5-mini", headers=(("Gateway-Token", "$GATEWAY_TOKEN"),))
    assert reply.text == "you sent ***"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"headers": {"Authorization": "Bearer abc"}}, "takes its key from no environment variable"),
        ({"headers": {"X-Api-Key": "$TEAM"}}, "takes its key from no environment variable"),
        ({"headers": {"X-Note": "sk-proj-0123456789abcdef"}}, "holds a key"),
        ({"headers": {"X Note": "a"}}, "is no HTTP header"),
        ({"headers": {"X-Note": "a\nb"}}, "is no HTTP header"),
        ({"headers": {"X-Note": "$NOBODY_SET_THIS"}}, "NOBODY_SET_THIS of the header X-Note is empty"),
        ({"body": {"messages": []}}, "is written by jurist"),
        ({"price_in": 1.0}, "price_in and price_out go together"),
        ({"reasoning_effort": "huge"}, "reasoning_effort='huge' is not possible"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything_is(settings: dict[str, Any], why: str) -> None:
    with Wire(OPENAI) as wire, pytest.raises(UsageError, match=why):
        ask(wire, "openai/gpt-5-mini", **settings)
    assert wire.arrived == []


def test_organization_and_project_go_to_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import dspy

    from jurist.engines.direct import Direct

    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    request = Request(model="gpt-5-mini", messages=(Message.user("Is it so?"),))
    to_openai = dict(Direct(dspy.LM("openai/gpt-5-mini")).wire_request(request).headers)
    assert (to_openai["OpenAI-Organization"], to_openai["OpenAI-Project"]) == ("org-1", "proj-1")
    with Wire(OPENAI) as wire:
        ask(wire, "openai/gpt-5-mini")
    assert not {"openai-organization", "openai-project"} & wire.arrived[0].headers.keys()


def test_what_decides_answers_is_on_the_card_and_comes_back_from_it() -> None:
    model = Model(
        "openai/gpt-5-mini", reasoning_effort="low", body={"verbosity": "low"}, headers={"X-Team": "$TEAM"}
    )
    card = describe_model(model)
    assert (card["reasoning_effort"], card["body"]) == ("low", {"verbosity": "low"})
    assert "headers" not in card
    again = ModelCard.model_validate(card).model()
    assert (again.reasoning_effort, again.body) == (model.reasoning_effort, model.body)
    assert "reasoning_effort" not in describe_model(Model("openai/gpt-5-mini"))


def test_a_stated_price_is_what_a_call_costs_and_what_a_limit_is_kept_by() -> None:
    context = CallContext.fresh(Budget(cost=1.0))
    with Wire(OPENAI) as wire:
        ask(wire, "openai/nobody-lists-this", context, price_in=2.0, price_out=10.0)
        assert context.ledger.spend().cost == pytest.approx(0.003)
        with pytest.raises(UsageError, match=r"price of openai/nobody-lists-this is not known.*price_in"):
            ask(wire, "openai/nobody-lists-this", CallContext.fresh(Budget(cost=1.0)))
    assert len(wire.arrived) == 1


def test_the_file_of_settings_has_tables_and_prices(tmp_path: Path) -> None:
    claim = "[[ ## factual ## ]]\nTrue\n\n[[ ## completed ## ]]"
    reply = openai_reply(claim, "x", prompt_tokens=1000, completion_tokens=100, total_tokens=1100)
    write_jsonl(Path("rows.jsonl"), [{"conversation": "A: yes.", "claim": "A says yes."}])
    with Wire(reply) as wire:
        Path("jurist.toml").write_text(
            f'model = "openai/x"\napi-base = "{wire.url}"\nreasoning-effort = "low"\nprice-in = 2\nprice-out = 10\n'
            '[headers]\nX-Team = "$TEAM"\nGateway-Token = "$GATEWAY_TOKEN"\n[body]\nmetadata = { job = "nightly" }\n'
        )
        run = ("run", "fect:basic", "--input", "rows.jsonl", "--max-cost", "1")
        done = ok(*run, "--output", "out.jsonl", "--json")
        cli(*run, "--output", "other.jsonl", "--model", "openai/y", "--api-base", wire.url)
    arrived = wire.arrived[0]
    assert (arrived.headers["x-team"], arrived.headers["gateway-token"]) == ("judges", SECRET)
    assert (arrived.body["reasoning_effort"], arrived.body["metadata"]) == ("low", {"job": "nightly"})
    assert done.json["spend"]["cost"] == pytest.approx(0.003)
    # The file speaks of its own model: another one has no price, and is refused.
    assert len(wire.arrived) == 1
    line = json.loads(Path("out.jsonl").read_text())
    assert line["sampling"]["reasoning_effort"] == "low"
    written = [path for path in Path().rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() for path in written)
    assert "0.0030 USD" in done.out or done.json
    assert jurist.Model("openai/x").headers == ()
