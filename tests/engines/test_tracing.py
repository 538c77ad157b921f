"""Spans of a run, its cases and their calls: where tracing is on, and without a word of what is judged."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small import claims, cli, write_jsonl

trace = pytest.importorskip("opentelemetry.trace", reason="needs the extra otel")
exporting = pytest.importorskip("opentelemetry.sdk.trace.export", reason="needs the extra otel")

from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch, no_waiting: None) -> Callable[[], list[Any]]:
    provider, kept = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(exporting.SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return lambda: list(kept.get_finished_spans())


def run(server: Any, *more: str) -> Any:
    write_jsonl(Path("rows.jsonl"), claims(1))
    model = ("--model", "openai/gpt-4.1-mini", "--api-base", server.url, "--temperature", "0")
    return cli("run", "fect:basic", "--input", "rows.jsonl", "--output", "o.jsonl", *model, *more)


def test_a_run_holds_its_cases_and_a_case_its_calls(
    spans: Callable[[], list[Any]], serve: Callable[..., Any], fake_key: str
) -> None:
    server = serve(faults={1: "500"})
    assert run(server).code == 0
    (whole,) = (one for one in spans() if one.parent is None)
    cases = {one.context.span_id: one for one in spans() if one.name == "judge fect"}
    calls = [one for one in spans() if one.kind is trace.SpanKind.CLIENT]
    assert whole.name == "jurist running"
    assert len(cases) == len(calls) == 3 < server.count == 4  # what is sent again is one call
    assert {one.parent.span_id for one in cases.values()} == {whole.context.span_id}
    assert {one.parent.span_id for one in calls} == set(cases)
    assert all(one.attributes["jurist.status"] == "verdict" for one in cases.values())
    for call in calls:
        said = dict(call.attributes)
        assert call.name == "chat gpt-4.1-mini"
        assert said["gen_ai.operation.name"] == "chat"
        assert said["gen_ai.provider.name"] == "openai"
        assert said["gen_ai.request.temperature"] == 0
        assert said["gen_ai.response.finish_reasons"] == ("stop",)
        assert said["gen_ai.usage.input_tokens"] > 0 < said["gen_ai.usage.output_tokens"]
    written = "".join(one.to_json() for one in spans())
    assert fake_key not in written
    assert all(row["claim"] not in written for row in claims(1))


def test_what_fails_says_so_without_the_message(
    spans: Callable[[], list[Any]], serve: Callable[..., Any], fake_key: str
) -> None:
    assert run(serve(faults=dict.fromkeys(range(9), "401"))).code == 1
    (call,) = {one.attributes["error.type"]: one for one in spans() if one.name.startswith("chat")}.values()
    assert call.status.status_code is trace.StatusCode.ERROR
    assert not call.status.description
    assert not call.events
    assert "Incorrect" not in "".join(one.to_json() for one in spans())


@pytest.mark.parametrize(
    "argv",
    [
        ("generate", "haluagent", "--input", "haluagent-docs", "--output", "made", "--model", "openai/x"),
        ("assess", "openai/x", "--benchmark", "dialogues", "--samples", 1),
    ],
    ids=lambda argv: argv[0],
)
def test_an_estimate_leaves_none(
    argv: tuple[object, ...], spans: Callable[[], list[Any]], serve: Callable[..., Any], fake_key: str
) -> None:
    server = serve()
    done = cli(*argv, "--api-base", server.url, "--max-cost", 1, "--yes")
    assert "--max-cost cannot be kept" in done.err
    assert server.count == 0
    assert not [one.name for one in spans() if not one.name.startswith("jurist ")]


def test_nothing_is_imported_where_nobody_traces() -> None:
    code = "import sys, jurist; jurist.load('fect:basic')(conversation='A: hi', claim='A says hi.')"
    told = "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    found = subprocess.run(
        [sys.executable, "-c", f"{code}; {told}"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
