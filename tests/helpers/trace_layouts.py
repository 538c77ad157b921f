"""Traces in the layouts of other tools, written from steps: what their exporters write, as far as jurist reads it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jurist.text.trace_steps import Step

Layout = Callable[[Sequence[Step], str], Any]
"""Steps and the id of the trace -> the trace, as JSON values."""


def _arguments(step: Step) -> Any:
    return json.loads(step.arguments) if step.arguments else {}


def openai_messages(steps: Sequence[Step], trace_id: str) -> Any:
    """Return the messages of a chat request of OpenAI."""
    messages: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        if not step.tool:
            messages.append({"role": step.actor, "content": step.words})
            continue
        call = {
            "id": f"call_{trace_id}_{number}",
            "type": "function",
            "function": {"name": step.tool, "arguments": step.arguments},
        }
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": step.result})
    return messages


def openai_responses(steps: Sequence[Step], trace_id: str) -> Any:
    """Return the items of a request to OpenAI's responses."""
    items: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        call_id = f"call_{trace_id}_{number}"
        if not step.tool:
            kind = "output_text" if step.actor == "assistant" else "input_text"
            content = [{"type": kind, "text": step.words}]
            items.append({"type": "message", "role": step.actor, "content": content})
            continue
        items.append(
            {
                "type": "function_call",
                "call_id": call_id,
                "name": step.tool,
                "arguments": step.arguments,
            }
        )
        items.append({"type": "function_call_output", "call_id": call_id, "output": step.result})
    return {"input": items}


def anthropic_messages(steps: Sequence[Step], trace_id: str) -> Any:
    """Return the messages of a request to Anthropic."""
    messages: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        call_id = f"toolu_{trace_id}_{number}"
        if not step.tool:
            messages.append({"role": step.actor, "content": [{"type": "text", "text": step.words}]})
            continue
        use = {"type": "tool_use", "id": call_id, "name": step.tool, "input": _arguments(step)}
        result = {"type": "tool_result", "tool_use_id": call_id, "content": step.result}
        messages.append({"role": "assistant", "content": [use]})
        messages.append({"role": "user", "content": [result]})
    return {"messages": messages}


_LANGCHAIN_CLASSES: Final = {"user": "HumanMessage", "assistant": "AIMessage", "system": "SystemMessage"}


def langchain_messages(steps: Sequence[Step], trace_id: str) -> Any:
    """Return messages as LangChain's ``dumpd`` writes them."""

    def constructor(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        path = ["langchain", "schema", "messages", name]
        return {"lc": 1, "type": "constructor", "id": path, "kwargs": dict(fields)}

    messages: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        call_id = f"call_{trace_id}_{number}"
        if not step.tool:
            messages.append(constructor(_LANGCHAIN_CLASSES[step.actor], {"content": step.words}))
            continue
        call = {"name": step.tool, "args": _arguments(step), "id": call_id, "type": "tool_call"}
        messages.append(constructor("AIMessage", {"content": "", "tool_calls": [call]}))
        answer = {"content": step.result, "tool_call_id": call_id, "name": step.tool, "type": "tool"}
        messages.append(constructor("ToolMessage", answer))
    return {"messages": messages}


def _otlp_attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    attributes: list[dict[str, Any]] = []
    for key, value in values.items():
        kind = "intValue" if isinstance(value, int) else "stringValue"
        attributes.append({"key": key, "value": {kind: str(value)}})
    return attributes


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What a tracer records of a step: a model that was asked and answered, or the tool that ran."""

    time: int
    step: Step
    is_model: bool
    given: Sequence[Step] = ()  # the words of users and system before


def _recorded(steps: Sequence[Step]) -> list[Recorded]:
    """Return the spans of a trace: each answer of a model, and each tool after the model that called it."""
    spans: list[Recorded] = []
    given: list[Step] = []
    for step in steps:
        if step.actor != "assistant":
            given.append(step)
            continue
        spans.append(Recorded(time=len(spans), step=step, is_model=True, given=tuple(given)))
        if step.tool:
            spans.append(Recorded(time=len(spans), step=step, is_model=False))
    return spans


def opentelemetry(steps: Sequence[Step], trace_id: str) -> Any:
    """Return spans by OpenTelemetry's conventions for generative AI, as OTLP's JSON."""
    spans: list[dict[str, Any]] = [
        {
            "traceId": trace_id,
            "spanId": "0",
            "name": "invoke_agent helper",
            "startTimeUnixNano": "1000",
            "attributes": _otlp_attributes({"gen_ai.operation.name": "invoke_agent"}),
            "status": {},
        }
    ]
    for span in _recorded(steps):
        step = span.step
        if not span.is_model:
            name = f"execute_tool {step.tool}"
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": step.tool,
                "gen_ai.tool.call.arguments": step.arguments,
                "gen_ai.tool.call.result": step.result,
            }
        else:
            name = "chat"
            prompt = [
                {"role": told.actor, "parts": [{"type": "text", "content": told.words}]}
                for told in span.given
            ]
            part = {"type": "text", "content": step.words}
            if step.tool:
                part = {"type": "tool_call", "id": "c", "name": step.tool, "arguments": _arguments(step)}
            reply = [{"role": "assistant", "parts": [part], "finish_reason": "stop"}]
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json.dumps(prompt, ensure_ascii=False),
                "gen_ai.output.messages": json.dumps(reply, ensure_ascii=False),
                "gen_ai.usage.output_tokens": 17,
            }
        spans.append(
            {
                "traceId": trace_id,
                "spanId": str(span.time + 1),
                "parentSpanId": "0",
                "name": name,
                "startTimeUnixNano": str(2000 + span.time),
                "attributes": _otlp_attributes(attributes),
                "status": {"code": 1},
            }
        )
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans[::-1]}]}]}


def _openinference_attributes(span: Recorded) -> dict[str, Any]:
    """Return the attributes of a span by OpenInference's conventions, with dotted names."""
    step = span.step
    if not span.is_model:
        return {
            "openinference.span.kind": "TOOL",
            "tool.name": step.tool,
            "input.value": step.arguments,
            "output.value": step.result,
        }
    attributes = {"openinference.span.kind": "LLM", "llm.model_name": "a-model"}
    for number, told in enumerate(span.given):
        attributes[f"llm.input_messages.{number}.message.role"] = told.actor
        attributes[f"llm.input_messages.{number}.message.content"] = told.words
    attributes["llm.output_messages.0.message.role"] = "assistant"
    if step.tool:
        function = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
        attributes[f"{function}.name"] = step.tool
        attributes[f"{function}.arguments"] = step.arguments
    else:
        attributes["llm.output_messages.0.message.content"] = step.words
    return attributes


def openinference(steps: Sequence[Step], trace_id: str) -> Any:
    """Return spans by OpenInference's conventions, as the SDK of OpenTelemetry prints them: one object each."""
    spans: list[dict[str, Any]] = []
    for span in _recorded(steps):
        spans.append(
            {
                "name": "ChatCompletion" if span.is_model else span.step.tool,
                "context": {"trace_id": trace_id, "span_id": f"0x{span.time}", "trace_state": "[]"},
                "kind": "SpanKind.INTERNAL",
                "parent_id": None,
                "start_time": f"2026-11-01T10:{span.time // 60:02}:{span.time % 60:02}.000000Z",
                "end_time": f"2026-11-01T10:{span.time // 60:02}:{span.time % 60:02}.500000Z",
                "status": {"status_code": "OK"},
                "attributes": _openinference_attributes(span),
                "events": [],
            }
        )
    return spans


def phoenix(steps: Sequence[Step], trace_id: str) -> Any:
    """Return the records of the table of spans that Phoenix exports."""
    records: list[dict[str, Any]] = []
    for span in _recorded(steps):
        step = span.step
        record: dict[str, Any] = {
            "name": "ChatCompletion" if span.is_model else step.tool,
            "span_kind": "LLM" if span.is_model else "TOOL",
            "parent_id": None,
            "start_time": f"2026-11-01T10:{span.time // 60:02}:{span.time % 60:02}+00:00",
            "status_code": "OK",
            "status_message": "",
            "context.span_id": f"span{span.time}",
            "context.trace_id": trace_id,
        }
        if span.is_model:
            prompt = [{"message.role": told.actor, "message.content": told.words} for told in span.given]
            reply: dict[str, Any] = {"message.role": "assistant", "message.content": step.words or None}
            if step.tool:
                function = {
                    "tool_call.function.name": step.tool,
                    "tool_call.function.arguments": step.arguments,
                }
                reply["message.tool_calls"] = [function]
            record["attributes.llm.input_messages"] = prompt
            record["attributes.llm.output_messages"] = [reply]
        else:
            record["attributes.input.value"] = step.arguments
            record["attributes.output.value"] = step.result
        records.append(record)
    return records


def langfuse(steps: Sequence[Step], trace_id: str) -> Any:
    """Return a trace with its observations as Langfuse exports it."""
    observations: list[dict[str, Any]] = []
    for span in _recorded(steps):
        step = span.step
        observation: dict[str, Any] = {
            "id": f"{trace_id}-{span.time}",
            "traceId": trace_id,
            "type": "GENERATION" if span.is_model else "TOOL",
            "name": "answer" if span.is_model else step.tool,
            "startTime": f"2026-11-01T10:{span.time // 60:02}:{span.time % 60:02}.000Z",
            "parentObservationId": None,
            "level": "DEFAULT",
        }
        if span.is_model:
            observation["input"] = [{"role": told.actor, "content": told.words} for told in span.given]
            observation["output"] = openai_messages([step], trace_id)[0]
        else:
            observation |= {"input": _arguments(step), "output": step.result}
        observations.append(observation)
    last_words = [step.words for step in steps if step.actor == "assistant" and not step.tool]
    return {
        "id": trace_id,
        "name": "helper",
        "sessionId": f"session-{trace_id}",
        "input": {"question": next(step.words for step in steps if step.actor == "user")},
        "output": last_words[-1] if last_words else None,
        "observations": observations,
        "scores": [],
    }


def langsmith(steps: Sequence[Step], trace_id: str) -> Any:
    """Return a run with its child runs as LangSmith exports it."""
    children: list[dict[str, Any]] = []
    for span in _recorded(steps):
        step = span.step
        child: dict[str, Any] = {
            "id": f"{trace_id}-{span.time}",
            "trace_id": trace_id,
            "parent_run_id": trace_id,
            "name": "ChatModel" if span.is_model else step.tool,
            "run_type": "llm" if span.is_model else "tool",
            "start_time": f"2026-11-01T10:{span.time // 60:02}:{span.time % 60:02}",
            "error": None,
        }
        if not span.is_model:
            child |= {"inputs": {"input": step.arguments}, "outputs": {"output": step.result}}
        else:
            prompt = langchain_messages(span.given, trace_id)["messages"]
            message = langchain_messages([step], trace_id)["messages"][0]
            child["inputs"] = {"messages": [prompt]}
            child["outputs"] = {"generations": [[{"text": step.words, "message": message}]]}
        children.append(child)
    return {
        "id": trace_id,
        "trace_id": trace_id,
        "parent_run_id": None,
        "name": "AgentExecutor",
        "run_type": "chain",
        "start_time": "2026-11-01T09:59:59",
        "inputs": {"input": next(step.words for step in steps if step.actor == "user")},
        "outputs": None,
        "error": None,
        "child_runs": children,
    }


def mlflow(steps: Sequence[Step], trace_id: str) -> Any:
    """Return a trace of MLflow 3, whose attributes are texts of JSON."""
    spans: list[dict[str, Any]] = []
    for span in _recorded(steps):
        step = span.step
        if not span.is_model:
            recorded = {"spanType": "TOOL", "spanInputs": _arguments(step), "spanOutputs": step.result}
        else:
            prompt = {"messages": [{"role": told.actor, "content": told.words} for told in span.given]}
            choice = {"index": 0, "message": openai_messages([step], trace_id)[0]}
            recorded = {"spanType": "CHAT_MODEL", "spanInputs": prompt, "spanOutputs": {"choices": [choice]}}
        attributes = {"mlflow.traceRequestId": json.dumps(trace_id)}
        for name, value in recorded.items():
            attributes[f"mlflow.{name}"] = json.dumps(value, ensure_ascii=False)
        spans.append(
            {
                "trace_id": trace_id,
                "span_id": f"{span.time:04}",
                "parent_span_id": None,
                "name": "completion" if span.is_model else step.tool,
                "start_time_unix_nano": 5000 + span.time,
                "end_time_unix_nano": 5001 + span.time,
                "status": {"code": "STATUS_CODE_OK", "message": ""},
                "events": [],
                "attributes": attributes,
            }
        )
    return {"info": {"trace_id": trace_id, "state": "OK"}, "data": {"spans": spans}}


LAYOUTS: Final[Mapping[str, Layout]] = {
    "openai-messages": openai_messages,
    "openai-responses": openai_responses,
    "anthropic-messages": anthropic_messages,
    "langchain-messages": langchain_messages,
    "opentelemetry": opentelemetry,
    "openinference": openinference,
    "phoenix": phoenix,
    "langfuse": langfuse,
    "langsmith": langsmith,
    "mlflow": mlflow,
}
"""Name of a layout -> what writes it."""
