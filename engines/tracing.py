"""OpenTelemetry spans of jobs, cases and calls, where tracing is on; no texts and no keys are in them."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from dspy.lm15 import Request, Response

_untraced = ContextVar("untraced", default=False)
Told = dict[str, Any]
"""Attributes that become known while a span lasts; they are set at its end."""


def span(name: str, kind: str = "INTERNAL", **attributes: Any) -> AbstractContextManager[Told]:
    """Return a block that is a span, current within it; the mapping that it gives is added at its end."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or _untraced.get() or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return nullcontext({})
    return _span(trace, name, kind, {key.replace("__", "."): value for key, value in attributes.items()})


def call_span(request: Request, purpose: str) -> AbstractContextManager[Told]:
    """Return the span of one question to a model, all its attempts included."""
    provider, _, model = request.model.partition("/")
    config = request.config
    return span(
        f"chat {model}",
        kind="CLIENT",
        gen_ai__operation__name="chat",
        gen_ai__provider__name=provider,
        gen_ai__request__model=model,
        gen_ai__request__temperature=config.temperature,
        gen_ai__request__max_tokens=config.max_tokens,
        jurist__purpose=purpose,
    )


def told_of(response: Response) -> Told:
    """Return what an answer adds to the span of its call."""
    return {
        "gen_ai.response.model": response.model,
        "gen_ai.response.finish_reasons": [str(response.finish_reason)],
        "gen_ai.usage.input_tokens": response.usage.input_tokens,
        "gen_ai.usage.output_tokens": response.usage.output_tokens,
    }


@contextmanager
def untraced() -> Iterator[None]:
    """Make no spans in this block: what it asks is asked of nobody, to see what asking would take."""
    before = _untraced.set(True)
    try:
        yield
    finally:
        _untraced.reset(before)


@contextmanager
def _span(trace: Any, name: str, kind: str, attributes: Mapping[str, Any]) -> Iterator[Told]:
    told: Told = {}
    with trace.get_tracer("jurist").start_as_current_span(
        name,
        kind=trace.SpanKind[kind],
        attributes=_known(attributes),
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield told
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(trace.StatusCode.ERROR)
            raise
        finally:
            current.set_attributes(_known(told))


def _known(attributes: Mapping[str, Any]) -> Told:
    return {key: value for key, value in attributes.items() if value is not None}
