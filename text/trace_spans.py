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

_MODEL: Final = "model"
_TOOL: Final = "tool"
_CONTAINER: Final = "container"
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
# Where the layouts hold a fact of a span: dotted paths, of which the first with a value counts.
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
"""Keys of which a span has at least one, unless it has a ``context`` with its ids."""
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
    input: object = None  # of a tool: what it was given
    output: object = None  # of a tool: what it returned
    prompt: object = None  # of a model: the messages that it was given
    reply: object = None  # of a model: what it answered
    system: object = None  # of a model: its instructions, where they stand beside the messages
    error: str = ""
    session: str = ""  # the id of the conversation that its trace belongs to; empty where the layout has none


def find_spans(value: object) -> list[Span] | None:
    """Return the spans that a value is or holds, in the order in which they began; ``None`` if it has none."""
    spans = list(_walk_spans(value))
    if not spans:
        return None
    parent_ids = {span.parent for span in spans}
    spans_with_kinds: list[Span] = []
    for span in spans:
        kind = span.kind
        if not kind:
            # Older exports of Langfuse name no kind: an inner span that holds no other is the call of a function.
            holds_others = span.id in parent_ids
            kind = _CONTAINER if holds_others or not span.parent else _TOOL
        spans_with_kinds.append(span._replace(kind=kind))
    return sorted(spans_with_kinds, key=lambda span: span.start)


def spans_by_trace(spans: Sequence[Span]) -> dict[str, list[Span]]:
    """Return the spans of each trace, by its id."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    return traces


def steps_of_spans(spans: Sequence[Span]) -> list[Step]:
    """Return the steps of one trace: the words of users and models, and the tools that were called, in their order.

    The span around all others gives the first words where no model was given them, and the last words.
    """
    tools_with_spans = {span.name for span in spans if span.kind == _TOOL}
    outer_span = _outer_container(spans)
    inner_spans = [span for span in spans if span.kind != _CONTAINER]
    steps: list[Step] = []
    spoken: set[tuple[str, str]] = set()  # actor and words of steps: each prompt repeats the words before it
    if outer_span is not None and (not inner_spans or inner_spans[0].kind == _TOOL):
        _add_unspoken(steps, spoken, _steps_of_value(outer_span.input, "user"))
    for span in inner_spans:
        if span.kind == _TOOL:
            steps.append(_tool_step(span))
        else:
            _add_unspoken(steps, spoken, _prompt_steps(span))
            # A call with a span of its own is the step of that span.
            replies = [step for step in _reply_steps(span) if step.tool not in tools_with_spans]
            _add_unspoken(steps, spoken, replies)
    if outer_span is not None:
        last_steps = _steps_of_value(outer_span.output, "assistant")[-1:]
        if last_steps and not last_steps[0].tool:
            _add_unspoken(steps, spoken, last_steps)
    return steps


def _prompt_steps(span: Span) -> list[Step]:
    """Return the words of users and of the system that a model was given."""
    prompt_steps = _steps_of_value(span.system, "system") + _steps_of_value(span.prompt, "user")
    return [step for step in prompt_steps if step.actor in ("user", "system") and not step.tool]


def _reply_steps(span: Span) -> list[Step]:
    """Return the steps of a model's answer: words, calls of tools, or the reason why there is none."""
    replies = _steps_of_value(span.reply, "assistant")
    if span.error:
        replies.append(Step(actor="assistant", error=span.error))
    return replies


def _add_unspoken(steps: list[Step], spoken: set[tuple[str, str]], further_steps: Sequence[Step]) -> None:
    """Add steps in place, without words that their actor has said before; keep what was said in ``spoken``."""
    for step in further_steps:
        actor_and_words = (step.actor, step.words)
        if not step.tool and step.words and actor_and_words in spoken:
            continue
        spoken.add(actor_and_words)
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
    output = _value_alone(span.output, "output")
    return Step(
        actor="assistant",
        tool=span.name,
        arguments=value_text(_value_alone(span.input, "input")),
        result=None if output is None else _result_text(output),
        error=span.error,
    )


def _value_alone(value: object, name: str) -> object:
    """Return the value inside an object that holds nothing else, as LangSmith exports it; any other one unchanged."""
    if isinstance(value, Mapping) and len(value) == 1 and name in value:
        return decode_json(value[name])
    return value


def _result_text(value: object) -> str:
    """Return the result of a tool as text; of a message of LangChain its content."""
    messages = find_messages([value])
    if messages is not None:
        steps = steps_of_messages(messages)
        if len(steps) == 1 and (steps[0].words or steps[0].result):
            return steps[0].words or str(steps[0].result)
    return value_text(value)


def _steps_of_value(value: object, actor: str) -> list[Step]:
    """Return the steps of what a span was given or returned: those of its messages, else its words as a step.

    Args:
        value: what the span was given, or returned.
        actor: who said the words, where the value has no messages that name somebody.
    """
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
    """Return the messages or the words inside what wraps them: choices, generations, an object of one text."""
    if not isinstance(value, Mapping):
        return value
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return [choices[0].get("message", choices[0])]
    generations = value.get("generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    if isinstance(generations, Mapping):
        if "message" in generations:
            return [generations["message"]]
        return generations.get("text")
    if len(value) == 1:
        inner = next(iter(value.values()))
        if isinstance(inner, str) or find_messages(inner) is not None:
            return inner
    return value


def _walk_spans(value: object) -> Iterator[Span]:
    """Yield the spans that a value is or holds at any depth, in the order in which it holds them."""
    if isinstance(value, list):
        for item in value:
            yield from _walk_spans(item)
        return
    if not isinstance(value, Mapping):
        return
    if "resourceSpans" in value:
        for resource in value["resourceSpans"]:
            for scope in resource.get("scopeSpans", ()):
                yield from _walk_spans(scope.get("spans", []))
        return
    observations = value.get("observations")
    if isinstance(observations, list) and observations and isinstance(observations[0], Mapping):
        yield from _langfuse_spans(value)
        return
    for key in _SPAN_LISTS:
        inner = value.get(key)
        if isinstance(inner, list | Mapping):
            spans = list(_walk_spans(inner))
            if spans:
                yield from spans
                return
    if is_span(value):
        yield _read_span(value)
        for child in value.get("child_runs") or ():
            yield from _walk_spans(child)


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
        start=start - 1,  # before its observations
        kind=_CONTAINER,
        name=str(trace.get("name") or ""),
        input=decode_json(trace.get("input")),
        output=decode_json(trace.get("output")),
        session=session,
    )
    for span in spans:
        yield span._replace(parent=span.parent or trace_id, trace=trace_id, session=session)


def _read_span(record: Mapping[str, Any]) -> Span:
    """Return the span in a record of any of the layouts; its kind is empty where the record names no known one."""
    tree = _as_tree(record)
    kind_word = str(_first_value(tree, _KIND_PATHS) or "").casefold()
    kind = _KINDS.get(kind_word, "")
    name_paths = _TOOL_NAME_PATHS if kind == _TOOL else ("name",)
    span = Span(
        id=str(_first_value(tree, _ID_PATHS) or ""),
        parent=str(_first_value(tree, _PARENT_PATHS) or ""),
        trace=str(_first_value(tree, _TRACE_PATHS) or ""),
        start=_order_in_time(_first_value(tree, _START_PATHS)),
        kind=kind,
        name=str(_first_value(tree, name_paths) or "a tool"),
        input=_first_value(tree, _INPUT_PATHS),
        output=_first_value(tree, _OUTPUT_PATHS),
        error=_error_of(tree),
        session=str(_first_value(tree, _SESSION_PATHS) or ""),
    )
    if kind != _MODEL:
        return span
    return span._replace(
        prompt=_first_value(tree, _PROMPT_PATHS),
        reply=_first_value(tree, _REPLY_PATHS),
        system=_first_value(tree, _SYSTEM_PATHS),
    )


def _error_of(tree: Mapping[str, Any]) -> str:
    """Return the reason why a span failed; empty if it did not."""
    error = tree.get("error")
    if isinstance(error, str) and error:
        return error
    status = tree.get("status")
    if isinstance(status, Mapping):
        code = status.get("code", status.get("status_code"))
        message = status.get("message")
    else:
        code = tree.get("status_code")
        message = tree.get("status_message")
    # The code is ERROR, STATUS_CODE_ERROR, or its number.
    is_error_code = str(code).rpartition("_")[2] == "ERROR" or code == 2
    if not is_error_code and tree.get("level") != "ERROR":
        return ""
    return str(message or tree.get("statusMessage") or "the span reported an error")


def _order_in_time(value: object) -> float:
    """Return a number that orders the points in time of one layout; 0 where there is none.

    A number stays as it is, mostly nanoseconds; a date by ISO 8601 becomes seconds.
    """
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


def _first_value(tree: Mapping[str, Any], paths: Sequence[str]) -> Any:
    """Return the value at the first path that has one, with JSON in a text decoded.

    Returns:
        The value; an empty text where the paths have no other, and ``None`` where they have none.
    """
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
            _put_at_path(tree, name.split("."), value)
            continue
        attributes = value
        if isinstance(value, list):  # of OpenTelemetry's JSON
            attributes = {item.get("key", ""): _otlp_value(item.get("value")) for item in value}
        if isinstance(attributes, Mapping):
            for path, attribute in attributes.items():
                _put_at_path(tree, ["attributes", *path.split(".")], attribute)
    branch = tree.get("attributes")
    if isinstance(branch, dict) and "llm" in branch:  # OpenInference numbers its messages
        branch["llm"] = _with_lists(_without_dots(branch["llm"]))
    return tree


def _without_dots(value: object) -> object:
    """Return a value whose objects have trees in the place of dotted names, at any depth."""
    if isinstance(value, list):
        return [_without_dots(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    tree: dict[str, Any] = {}
    for name, item in value.items():
        _put_at_path(tree, str(name).split("."), _without_dots(item))
    return tree


def _put_at_path(tree: dict[str, Any], path: Sequence[str], value: object) -> None:
    """Put a value into a tree at a path, in place; an object joins the one that is there, all else replaces."""
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
    """Return a value with a list in the place of each object whose names are all numbers, in their order."""
    if isinstance(value, list):
        return [_with_lists(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value and all(str(name).isdigit() for name in value):
        return [_with_lists(value[name]) for name in sorted(value, key=int)]
    return {name: _with_lists(item) for name, item in value.items()}


def _otlp_value(value: object) -> object:
    """Return the value inside an object of OpenTelemetry's JSON that names its type (``{"stringValue": "..."}``)."""
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
