"""Six providers, each with its own wire, and what becomes of a job that meets their faults."""

import json
from pathlib import Path
from typing import Any

import pytest
from asking import CASES, FECT, right, wait_briefly
from loopback import answer, field_of, truth_of
from providers import KEY, WIRES, Counterpart, Fault, burst
from scripted_runs import improving
from small import claims, cli, write_jsonl

from jurist.engines.channel import CallContext
from jurist.engines.models import connect
from jurist.errors import ModelError
from jurist.programs.asking import Asker
from jurist.programs.settings import AskSettings

ROWS = 12
ODD_ROWS = (3, 5, 6)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch)
    for wire in WIRES.values():
        if wire.key_variable:
            monkeypatch.setenv(wire.key_variable, KEY)
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")


def asker(part: Counterpart, form: str = "chat", **settings: Any) -> Asker:
    model = part.model(**{"timeout": 10.0, **settings})
    lm = connect(model, CallContext.fresh())
    settings = AskSettings(adapter=form, concurrency=4)
    return Asker(judge=FECT, program=FECT.basic(), lm=lm, settings=settings)


def in_json(messages: list[dict[str, Any]]) -> str:
    return json.dumps({"factual": truth_of(field_of(str(messages[-1]["content"]), "claim"))})


def of_odd_rows(name: str) -> Fault:
    """Return a fault of three rows."""
    return Fault(name, lambda number, text: any(f"claim {row}\n" in text for row in ODD_ROWS))


# Azure is reached through LiteLLM, whose import takes ten seconds.
PROVIDERS = [pytest.param(name, marks=pytest.mark.slow) if name == "azure" else name for name in WIRES]
PASSING = ["rate", "tpm", "503", "drop", "cf"]


@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_burst_of_faults_loses_no_row(provider: str, fault: str) -> None:
    with Counterpart(wire=WIRES[provider], answers=answer, faults=(burst(fault),)) as part:
        found = asker(part).ask_all(CASES[:ROWS])
    assert [verdict.status for verdict in found] == ["verdict"] * ROWS
    assert all(right(verdict, number) for number, verdict in enumerate(found))
    assert [fate for fate, _ in part.hits].count(fault) == 6


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_that_does_not_answer_is_asked_again(provider: str) -> None:
    with Counterpart(wire=WIRES[provider], answers=answer, faults=(burst("hang", requests=2),)) as part:
        # LiteLLM, which asks Azure, may take longer than half a second where other tests run.
        found = asker(part, timeout=5.0 if provider == "azure" else 0.5).ask_all(CASES[:ROWS])
    assert [verdict.status for verdict in found] == ["verdict"] * ROWS


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_limit_of_a_day_ends_the_job_with_its_time(provider: str) -> None:
    with Counterpart(wire=WIRES[provider], answers=answer, faults=(burst("rpd", requests=99),)) as part:
        with pytest.raises(ModelError, match="takes requests again in 7 min 12 s"):
            asker(part).ask_all(CASES[:ROWS])
        assert len(part.hits) <= 4 + 4 + 1  # one refused limit at OpenAI


@pytest.mark.parametrize(
    ("fault", "kind", "reason"),
    [
        ("filter400", "content filter", "the endpoint's filter refused this row: "),
        ("ctx", "context length", "too long for the model: "),
    ],
)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_rows_that_are_refused_for_what_they_are_are_abstentions_and_are_asked_once(
    provider: str, fault: str, kind: str, reason: str
) -> None:
    with Counterpart(wire=WIRES[provider], answers=answer, faults=(of_odd_rows(fault),)) as part:
        found = asker(part).ask_all(CASES[:ROWS])
    for number, verdict in enumerate(found):
        if number in ODD_ROWS:
            assert (verdict.status, verdict.error_kind) == ("abstained", kind)
            assert verdict.error.startswith(reason)
        else:
            assert (verdict.status, verdict.error_kind, verdict.error) == ("verdict", "", "")
    assert [fate for fate, _ in part.hits].count(fault) == len(ODD_ROWS)


@pytest.mark.parametrize("fault", ["filter400", "ctx"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_compilation_goes_on_where_what_the_proposer_is_shown_is_refused(provider: str, fault: str) -> None:
    write_jsonl(Path("gold.jsonl"), claims())
    refused = Fault(fault, lambda number, text: "[[ ## instruction ## ]]" in text)
    with Counterpart(wire=WIRES[provider], answers=improving, faults=(refused,)) as part:
        model = part.model()
        address = () if model.api_base is None else ("--api-base", model.api_base)
        search = ("--optimizer", "opro", "--set", "steps=1", "--set", "candidates=2", "--set", "sample=6")
        done = cli(
            *("compile", "fect", "--gold", "gold.jsonl", "--yes", "--model", model.name), *address, *search
        )
    assert done.code == 0, done.err
    assert [fate for fate, _ in part.hits].count(fault) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
def test_refused_settings_are_found_out_by_one_request(provider: str) -> None:
    refused = frozenset({"form", "temperature"})
    with Counterpart(wire=WIRES[provider], answers=in_json, refused=refused) as part:
        found = asker(part, "json", temperature=0.5).ask_all(CASES[:ROWS])
    assert [verdict.status for verdict in found] == ["verdict"] * ROWS
    refusals = sum(verdict.usage.retries for verdict in found)
    assert len(part.hits) == ROWS + refusals
    assert refusals <= 5
    assert {verdict.usage.calls for verdict in found} == {1, 1 + refusals}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_wrong_key_ends_the_job_at_once(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = WIRES[provider]
    if not wire.key_variable:
        pytest.skip("it asks for no key")
    monkeypatch.setenv(wire.key_variable, "sk-wrong-0123456789")
    with Counterpart(wire=wire, answers=answer) as part:
        with pytest.raises(ModelError, match="check the API key") as stop:
            asker(part).ask_all(CASES[:ROWS])
        assert part.hits == []
    assert "sk-wrong" not in str(stop.value)
