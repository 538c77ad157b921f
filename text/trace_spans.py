"""Steps of a trace of spans: OpenTelemetry, OpenInference (Phoenix), Langfuse, LangSmith and MLflow.

The layouts name the same things in other words. Each span becomes a :class:`Span`; the steps are then those of the
conversation that the spans recorded: what the user said, what the models answered, which tools were called.
Only the standard library: exported files carry this source along.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .trace_messages import find_messages, steps_of_messages
from .trace_steps import Step, value_text

_MODEL, _TOOL, _CONTAINER = "model", "tool", "container"
_KINDS: Final[Mapping[str, str]] = {
    "llm": _MODEL,
    "chat_model": _MODEL,
    "generation": _MODEL,
    "chat": _MODEL,
    "text_completion": _MODEL,
    "generate_content": _MODEL,
    "tool": _TOOL,
    "execute_tool": _TOOL,
    "function": _TOOL,
    "retriever": _TOOL,
    "retrieval": _TOOL,
    "reranker": _TOOL,
    "embedding": _CONTAINER,
    "embeddings": _CONTAINER,
    "agent": _CONTAINER,
    "chain": _CONTAINER,
    "workflow": _CONTAINER,
    "invoke_agent": _CONTAINER,
    "create_agent": _CONTAINER,
    "prompt": _CONTAINER,
    "parser": _CONTAINER,
    "guardrail": _CONTAINER,
    "evaluator": _CONTAINER,
}
"""What a span did, in the words of the layouts -> whether it asked a model, called a tool, or held others."""
_ID_PATHS: Final = ("spanId", "span_id", "context.span_id", "id", "run_id")
_PARENT_PATHS: Final = (
    "parentSpanId",
    "parent_span_id",
    "parent_id",
    "parentObservationId",
    "parent_observation_id",
    "parent_run_id",
)
_START_PATHS: Final = (
    "startTimeUnixNano",
    "start_time_unix_nano",
    "start_time_ns",
    "startTime",
    "start_time",
)
_TRACE_PATHS: Final = (
    "traceId",
    "trace_id",
    "context.trace_id",
    "attributes.mlflow.traceRequestId",
)
_KIND_PATHS: Final = (
    "attributes.openinference.span.kind",
    "attributes.gen_ai.operation.name",
    "attributes.mlflow.spanType",
    "span_kind",
    "run_type",
    "type",
)
_TOOL_NAME_PATHS: Final = ("attributes.gen_ai.tool.name", "attributes.tool.name", "name")
_INPUT_PATHS: Final = (
    "attributes.gen_ai.tool.call.arguments",
    "attributes.tool.parameters",
    "attributes.mlflow.spanInputs",
    "attributes.input.value",
    "inputs",
    "input",
)
_OUTPUT_PATHS: Final = (
    "attributes.gen_ai.tool.call.result",
    "attributes.mlflow.spanOutputs",
    "attributes.output.value",
    "attributes.retrieval.documents",
    "outputs",
    "output",
)
_PROMPT_PATHS: Final = (
    "attributes.gen_ai.input.messages",
    "attributes.llm.input_messages",
    *_INPUT_PATHS,
)
_REPLY_PATHS: Final = (
    "attributes.gen_ai.output.messages",
    "attributes.llm.output_messages",
    *_OUTPUT_PATHS,
)
_SYSTEM_PATHS: Final = ("attributes.gen_ai.system_instructions",)
_SPAN_LISTS: Final = ("spans", "runs", "data")
"""Keys under which an export holds its spans."""
_SPAN_KEYS: Final = frozenset({"run_type", "traceId", "trace_id", "context.trace_id"})
"""Keys of which each span has one, unless it has a ``context`` with its ids."""
_SESSION_PATHS: Final = (
    "sessionId",
    "session_id",
    "attributes.session.id",
    "attributes.gen_ai.conversation.id",
    "attributes.mlflow.trace.session",
    "extra.metadata.thread_id",
    "extra.metadata.session_id",
)


class Span(NamedTuple):
    """A span, whatever the layout: its place in the trace, and what it recorded."""

    id: str
    parent: str  # the id of the span that holds it; empty for the first
    trace: str  # the id of its trace; empty where the layout has none
    start: float  # a number that orders the spans of one trace
    kind: str  # whether it asked a model, called a tool, or only holds other spans
    name: str
    input: object = None
    output: object = None
    prompt: object = None  # of a model: the messages that it was given
    reply: object = None  # of a model: what it answered
    system: object = None  # of a model: its instructions, where they stand beside the messages
    error: str = ""
    session: str = ""  # the id of the conversation that its trace belongs to; empty where the layout has none


def find_spans(value: object) -> list[Span] | None:
    """Return the spans that a value is or holds, in the order in which they began; ``None`` if it has none."""
    spans = list(_read_spans(value))
    if not spans:
        return None
    containers = {span.parent for span in spans}
    # A span of no known kind that holds no other is the call of a function: older exports of Langfuse have no better.
    named: list[Span] = []
    for span in spans:
        kind = span.kind
        if not kind:
            kind = _CONTAINER if span.id in containers or not span.parent else _TOOL
        named.append(span._replace(kind=kind))
    return sorted(named, key=lambda span: span.start)


def spans_by_trace(spans: Sequence[Span]) -> dict[str, list[Span]]:
    """Return the spans of each trace, by its id."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    return traces


def steps_of_spans(spans: Sequence[Span]) -> list[Step]:
    """Return the steps of one trace: the words of users and models, and the tools that were called, in their order."""
    traced_tools = {span.name for span in spans if span.kind == _TOOL}
    outer_span = _outer_container(spans)
    steps: list[Step] = []
    told: set[tuple[str, str]] = set()  # actor and words of steps, as each prompt repeats those before it
    recorded = [span for span in spans if span.kind != _CONTAINER]
    if outer_span is not None and (not recorded or recorded[0].kind == _TOOL):
        _add_new(steps, told, _steps_of_value(outer_span.input, "user"))
    for span in recorded:
        if span.kind == _TOOL:
            steps.append(_tool_step(span))
        else:
            _add_new(steps, told, _asked_steps(span))
            replies = [step for step in _reply_steps(span) if step.tool not in traced_tools]
            _add_new(steps, told, replies)
    if outer_span is not None:
        last_steps = _steps_of_value(outer_span.output, "assistant")[-1:]
        if last_steps and not last_steps[0].tool:
            _add_new(steps, told, last_steps)
    return steps


def _asked_steps(span: Span) -> list[Step]:
    """Return the words of users and of the system that a model was given."""
    given = _steps_of_value(span.system, "system") + _steps_of_value(span.prompt, "user")
    return [step for step in given if step.actor in ("user", "system") and not step.tool]


def _reply_steps(span: Span) -> list[Step]:
    """Return the steps of a model's answer: words, calls of tools, or the reason why there is none."""
    replies = _steps_of_value(span.reply, "assistant")
    if span.error:
        replies.append(Step(actor="assistant", error=span.error))
    return replies


def _add_new(steps: list[Step], told: set[tuple[str, str]], further: Sequence[Step]) -> None:
    """Add steps in place, but for words that their actor has said before."""
    for step in further:
        said = (step.actor, step.words)
        if not step.tool and step.words and said in told:
            continue
        told.add(said)
        steps.append(step)


def _outer_container(spans: Sequence[Span]) -> Span | None:
    """Return the first span that holds others and is held by none of them; ``None`` without one."""
    ids = {span.id for span in spans}
    for span in spans:
        if span.kind == _CONTAINER and span.parent not in ids:
            return span
    return None


def _tool_step(span: Span) -> Step:
    """Return the step of a tool that was called."""
    tool_input = span.input
    if isinstance(tool_input, Mapping) and len(tool_input) == 1 and "input" in tool_input:  # LangSmith
        tool_input = decode_json(tool_input["input"])
    tool_output = span.output
    if isinstance(tool_output, Mapping) and len(tool_output) == 1 and "output" in tool_output:
        tool_output = decode_json(tool_output["output"])
    result = None if tool_output is None else _plain_text(tool_output)
    return Step(
        actor="assistant",
        tool=span.name,
        arguments=value_text(tool_input),
        result=result,
        error=span.error,
    )


def _plain_text(value: object) -> str:
    """Return the result of a tool as text; of a message of LangChain its content."""
    messages = find_messages([value])
    if messages is not None:
        steps = steps_of_messages(messages)
        if len(steps) == 1 and (steps[0].words or steps[0].result):
            return steps[0].words or str(steps[0].result)
    return value_text(value)


def _steps_of_value(value: object, actor: str) -> list[Step]:
    """Return the steps of what a model was given or answered: of its messages, or its words as they are."""
    if value is None or value in ("", [], {}):
        return []
    inner = _unwrap(value)
    messages = find_messages(inner)
    if messages is None and isinstance(inner, Mapping):
        messages = find_messages([inner])
    if messages is not None:
        return steps_of_messages(messages)
    return [Step(actor=actor, words=value_text(inner))]


def _unwrap(value: object) -> object:
    """Return the messages or the words within the frames of model providers: choices, generations, one text."""
    if not isinstance(value, Mapping):
        return value
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return [choices[0].get("message", choices[0])]
    generations = value.get("generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    if isinstance(generations, Mapping):
        return [generations["message"]] if "message" in generations else generations.get("text")
    if len(value) == 1:
        inner = next(iter(value.values()))
        if isinstance(inner, str) or find_messages(inner) is not None:
            return inner
    return value


def _read_spans(value: object) -> Iterator[Span]:
    """Yield the spans that a value is or holds, in any order."""
    if isinstance(value, list):
        for item in value:
            yield from _read_spans(item)
        return
    if not isinstance(value, Mapping):
        return
    if "resourceSpans" in value:
        for resource in value["resourceSpans"]:
            for scope in resource.get("scopeSpans", ()):
                yield from _read_spans(scope.get("spans", []))
        return
    observations = value.get("observations")
    if isinstance(observations, list) and observations and isinstance(observations[0], Mapping):
        yield from _langfuse_spans(value)
        return
    for key in _SPAN_LISTS:
        inner = value.get(key)
        if isinstance(inner, list | Mapping):
            spans = list(_read_spans(inner))
            if spans:
                yield from spans
                return
    if is_span(value):
        yield _read_span(value)
        for child in value.get("child_runs") or ():
            yield from _read_spans(child)


def is_span(record: object) -> bool:
    """Say whether a value is a single span, by its keys."""
    if not isinstance(record, Mapping):
        return False
    context = record.get("context")
    has_context = isinstance(context, Mapping) and "span_id" in context
    return "name" in record and (has_context or bool(record.keys() & _SPAN_KEYS))


def _langfuse_spans(trace: Mapping[str, Any]) -> Iterator[Span]:
    """Yield a span for a trace of Langfuse itself, and one for each of its observations."""
    trace_id = str(trace.get("id", ""))
    spans = [_read_span({"traceId": trace_id, **item}) for item in trace["observations"]]
    start = min(span.start for span in spans)
    session = str(trace.get("sessionId") or "")
    yield Span(
        id=trace_id,
        parent="",
        trace=trace_id,
        start=start - 1,
        kind=_CONTAINER,
        name=str(trace.get("name") or ""),
        input=decode_json(trace.get("input")),
        output=decode_json(trace.get("output")),
        session=session,
    )
    for span in spans:
        yield span._replace(parent=span.parent or trace_id, trace=trace_id, session=session)


def _read_span(record: Mapping[str, Any]) -> Span:
    """Return one span of any of the layouts."""
    tree = _as_tree(record)
    kind_word = str(_first(tree, _KIND_PATHS) or "").casefold()
    kind = _KINDS.get(kind_word, "")
    name_paths = _TOOL_NAME_PATHS if kind == _TOOL else ("name",)
    span = Span(
        id=str(_first(tree, _ID_PATHS) or ""),
        parent=str(_first(tree, _PARENT_PATHS) or ""),
        trace=str(_first(tree, _TRACE_PATHS) or ""),
        start=_time(_first(tree, _START_PATHS)),
        kind=kind,
        name=str(_first(tree, name_paths) or "a tool"),
        input=_first(tree, _INPUT_PATHS),
        output=_first(tree, _OUTPUT_PATHS),
        error=_error_of(tree),
        session=str(_first(tree, _SESSION_PATHS) or ""),
    )
    if kind != _MODEL:
        return span
    return span._replace(
        prompt=_first(tree, _PROMPT_PATHS),
        reply=_first(tree, _REPLY_PATHS),
        system=_first(tree, _SYSTEM_PATHS),
    )


def _error_of(tree: Mapping[str, Any]) -> str:
    """Return why a span failed; empty if it did not."""
    error = tree.get("error")
    if isinstance(error, str) and error:
        return error
    status = tree.get("status")
    code, message = tree.get("status_code"), tree.get("status_message")
    if isinstance(status, Mapping):
        code, message = status.get("code", status.get("status_code")), status.get("message")
    is_error = str(code).rpartition("_")[2] == "ERROR" or code == 2 or tree.get("level") == "ERROR"
    if not is_error:
        return ""
    return str(message or tree.get("statusMessage") or "the span reported an error")


def _time(value: object) -> float:
    """Return a point in time as a number of seconds: nanoseconds, or a date by ISO 8601; 0 where there is none."""
    from datetime import datetime

    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str) or not value:
        return 0.0
    if value.isdigit():
        return float(value)
    try:
        return datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _first(tree: Mapping[str, Any], paths: Sequence[str]) -> Any:
    """Return the value at the first path that has one, JSON in a text decoded; an empty text only if all are empty."""
    empty_text = None
    for path in paths:
        value: Any = tree
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value == "":
            empty_text = value
        elif value is not None:
            return decode_json(value)
    return empty_text


def decode_json(value: object) -> object:
    """Return the JSON value in a text that holds an object, a list or a quoted text; any other value unchanged."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _as_tree(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span with its dotted names as a tree: ``{"a.b": 1}`` is ``{"a": {"b": 1}}``.

    What was given to a tool, and what it returned, stays as it is, whatever its names.
    """
    tree: dict[str, Any] = {}
    for name, value in record.items():
        if name != "attributes":
            _put(tree, name.split("."), value)
            continue
        attributes = value
        if isinstance(value, list):  # of OpenTelemetry's JSON
            attributes = {item.get("key", ""): _otlp_value(item.get("value")) for item in value}
        if isinstance(attributes, Mapping):
            for path, attribute in attributes.items():
                _put(tree, ["attributes", *path.split(".")], attribute)
    attributes = tree.get("attributes")
    if isinstance(attributes, dict) and "llm" in attributes:  # OpenInference numbers its messages
        attributes["llm"] = _with_lists(_nested(attributes["llm"]))
    return tree


def _nested(value: object) -> object:
    """Return a value whose objects have trees in the place of dotted names."""
    if isinstance(value, list):
        return [_nested(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    tree: dict[str, Any] = {}
    for name, item in value.items():
        _put(tree, str(name).split("."), _nested(item))
    return tree


def _put(tree: dict[str, Any], path: Sequence[str], value: object) -> None:
    """Put a value into a tree under a path, in place."""
    for part in path[:-1]:
        branch = tree.get(part)
        if not isinstance(branch, dict):
            branch = tree[part] = {}
        tree = branch
    present = tree.get(path[-1])
    if isinstance(present, dict) and isinstance(value, Mapping):
        present.update(value)
    else:
        tree[path[-1]] = value


def _with_lists(value: object) -> object:
    """Return a tree in which objects whose names are 0, 1, 2 and so on are lists."""
    if isinstance(value, list):
        return [_with_lists(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value and all(str(name).isdigit() for name in value):
        return [_with_lists(value[name]) for name in sorted(value, key=int)]
    return {name: _with_lists(item) for name, item in value.items()}


def _otlp_value(value: object) -> object:
    """Return the value that OpenTelemetry's JSON wraps into its type, such as ``{"stringValue": "..."}``."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "arrayValue":
        return [_otlp_value(item) for item in inner.get("values", ())]
    if kind == "kvlistValue":
        return {item.get("key", ""): _otlp_value(item.get("value")) for item in inner.get("values", ())}
    if kind == "intValue":
        return int(inner)
    return inner
