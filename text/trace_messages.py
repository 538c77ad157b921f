"""Steps of a conversation with tool calls, in the messages of OpenAI, Anthropic, OpenTelemetry, LangChain and others.

Only the standard library: exported files carry this source along.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .trace_steps import Step, value_text

_ROLES: Final[Mapping[str, str]] = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "gpt": "assistant",
    "function": "tool",
    "developer": "system",
}
"""Roles of other layouts -> the role that a step names."""
_MESSAGE_CLASSES: Final[Mapping[str, str]] = {
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
}
"""LangChain's classes of messages -> the role that a step names."""
_MESSAGE_LISTS: Final = ("messages", "input", "output")
"""Keys under which an object holds its messages: of chat requests, then of OpenAI's responses."""
_TEXT_PARTS: Final = ("text", "input_text", "output_text", "refusal")
"""The types of parts that hold words."""
_CALL_TYPES: Final = ("tool_use", "tool_call", "function_call", "server_tool_use")
_RESULT_TYPES: Final = ("tool_result", "tool_call_response", "function_call_output", "web_search_tool_result")


class _Call(NamedTuple):
    """A tool that a message calls."""

    id: str
    tool: str
    arguments: str


class _Result(NamedTuple):
    """The result of a call."""

    call_id: str
    tool: str
    text: str
    is_error: bool


class _Message(NamedTuple):
    """A message: its parts in their order, each words, a call or a result."""

    role: str
    parts: Sequence[str | _Call | _Result]


def find_messages(value: object) -> list[Mapping[str, Any]] | None:
    """Return the messages that a value is or holds; ``None`` if it is no conversation."""
    if isinstance(value, Mapping):
        for key in _MESSAGE_LISTS:
            messages = find_messages(value.get(key))
            if messages is not None:
                return messages
        return None
    if not isinstance(value, list) or not value:
        return None
    if len(value) == 1 and isinstance(value[0], list):  # LangChain holds a batch of one conversation
        return find_messages(value[0])
    for item in value:
        if not isinstance(item, Mapping) or _read_message(item) is None:
            return None
    return value


def steps_of_messages(messages: Sequence[Mapping[str, Any]]) -> list[Step]:
    """Return the steps of a conversation: a step for the words of a message, and one for each tool that it calls.

    The result of a tool becomes part of the step that called it, by the id of the call, or by the order of calls where
    there is no id. A result without a call is a step of its own.
    """
    steps: list[Step] = []
    open_calls: list[tuple[str, int]] = []  # the id of a call, and the place of its step
    for item in messages:
        message = _read_message(item)
        if message is None:
            continue
        for part in message.parts:
            if isinstance(part, str):
                steps.append(Step(actor=message.role, words=part))
            elif isinstance(part, _Call):
                open_calls.append((part.id, len(steps)))
                steps.append(Step(actor=message.role, tool=part.tool, arguments=part.arguments))
            else:
                _add_result(steps, open_calls, part)
    return steps


def _add_result(steps: list[Step], open_calls: list[tuple[str, int]], result: _Result) -> None:
    """Add the result of a tool to the step that called it, in place."""
    place = _place_of_call(steps, open_calls, result)
    if place is None:
        steps.append(_with_result(Step(actor="tool", tool=result.tool or "a tool"), result))
        return
    steps[place] = _with_result(steps[place], result)


def _place_of_call(steps: Sequence[Step], open_calls: list[tuple[str, int]], result: _Result) -> int | None:
    """Return the place of the step whose call a result answers, and close that call; ``None`` without one."""
    for number, (call_id, place) in enumerate(open_calls):
        is_by_id = bool(result.call_id and call_id)
        is_same_id = is_by_id and result.call_id == call_id
        is_same_tool = not is_by_id and result.tool in ("", steps[place].tool)
        if is_same_id or is_same_tool:
            del open_calls[number]
            return place
    return None


def _with_result(step: Step, result: _Result) -> Step:
    """Return a step with the result of its tool, or with its error."""
    if result.is_error:
        return step._replace(error=result.text or "the tool reported an error")
    return step._replace(result=result.text)


def _read_message(item: Mapping[str, Any]) -> _Message | None:
    """Return a message of any of the layouts; ``None`` if the object is no message."""
    kind = item.get("type")
    if kind in _CALL_TYPES or kind in _RESULT_TYPES:  # an item of OpenAI's responses
        caller = "tool" if kind in _RESULT_TYPES else "assistant"
        return _Message(role=caller, parts=list(_parts_of_content([item])))
    if kind == "reasoning" and "summary" in item:
        return _Message(role="assistant", parts=())
    if isinstance(item.get("message"), Mapping) and "role" not in item:  # OpenInference
        return _read_message(item["message"])
    if kind == "constructor" and isinstance(item.get("kwargs"), Mapping):  # LangChain
        class_name = str((item.get("id") or [""])[-1])
        return _read_message({**item["kwargs"], "role": _MESSAGE_CLASSES.get(class_name, class_name)})
    if isinstance(item.get("data"), Mapping) and isinstance(kind, str):  # LangChain's dictionaries
        return _read_message({**item["data"], "role": kind})
    role = item.get("role", item.get("from"))
    if role is None and kind in _ROLES and "content" in item:
        role = kind
    if not isinstance(role, str):
        return None
    actor = _ROLES.get(role, role)
    content = item.get("content", item.get("value", item.get("parts", item.get("contents"))))
    calls = item.get("tool_calls")
    if content is None and not calls and "function_call" not in item:
        return None
    parts = list(_parts_of_content(content))
    if actor == "tool" and not any(isinstance(part, _Result) for part in parts):
        words = "\n".join(part for part in parts if isinstance(part, str))
        is_error = item.get("status") == "error" or item.get("is_error") is True
        tool, call_id = str(item.get("name") or ""), str(item.get("tool_call_id") or "")
        parts = [_Result(call_id=call_id, tool=tool, text=words, is_error=is_error)]
    parts += _read_calls(calls)
    if isinstance(item.get("function_call"), Mapping):  # the older form of OpenAI
        parts += _read_calls([{"function": item["function_call"]}])
    return _Message(role=actor, parts=parts)


def _parts_of_content(content: object) -> Iterator[str | _Call | _Result]:
    """Yield the words, calls and results in the content of a message, in their order."""
    if content is None or content == "":
        return
    if not isinstance(content, list):
        yield value_text(content)
        return
    words: list[str] = []
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in _CALL_TYPES or kind in _RESULT_TYPES:
            if words:
                yield "\n".join(words)
                words = []
            yield _read_call(part) if kind in _CALL_TYPES else _read_result(part)
            continue
        text = _words_of_part(part)
        if text:
            words.append(text)
    if words:
        yield "\n".join(words)


def _words_of_part(part: object) -> str:
    """Return the words of a part of a message; a part of another kind, such as an image, is named in brackets."""
    if not isinstance(part, Mapping):
        return value_text(part)
    kind = part.get("type")
    if kind in ("thinking", "redacted_thinking", "reasoning"):
        return ""
    if isinstance(part.get("message_content"), Mapping):  # OpenInference
        return _words_of_part(part["message_content"])
    text = part.get("text", part.get("content"))
    if isinstance(text, str) and (kind is None or kind in _TEXT_PARTS):
        return text
    return f"[{kind or 'a part that is no text'}]"


def _read_calls(calls: object) -> list[str | _Call | _Result]:
    """Return the calls in the field ``tool_calls`` of a message."""
    if not isinstance(calls, list):
        return []
    return [_read_call(call) for call in calls if isinstance(call, Mapping)]


def _read_call(call: Mapping[str, Any]) -> _Call:
    """Return a call of a tool in any of the layouts."""
    if isinstance(call.get("tool_call"), Mapping):  # OpenInference
        call = call["tool_call"]
    call_id = call.get("call_id") or call.get("id") or ""
    body = call["function"] if isinstance(call.get("function"), Mapping) else call
    arguments = body.get("arguments", body.get("input", body.get("args")))
    return _Call(id=str(call_id), tool=str(body.get("name") or "a tool"), arguments=value_text(arguments))


def _read_result(part: Mapping[str, Any]) -> _Result:
    """Return the result of a tool in any of the layouts."""
    call_id = part.get("tool_use_id") or part.get("call_id") or part.get("id") or ""
    content = part.get("content", part.get("output", part.get("response", part.get("result"))))
    words = "\n".join(value_text(text) for text in _parts_of_content(content))
    return _Result(
        call_id=str(call_id),
        tool=str(part.get("name") or ""),
        text=words,
        is_error=part.get("is_error") is True,
    )
