"""Steps of a conversation with tool calls, in the messages of OpenAI, Anthropic, OpenTelemetry, LangChain and others.

Only the standard library: exported files carry this source along.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

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
_THOUGHT_TYPES: Final = ("thinking", "redacted_thinking", "reasoning")
"""The types of parts that hold a model's thinking, which no step shows."""
_CALL_TYPES: Final = ("tool_use", "tool_call", "function_call", "server_tool_use")
"""The types of parts that call a tool."""
_RESULT_TYPES: Final = ("tool_result", "tool_call_response", "function_call_output", "web_search_tool_result")
"""The types of parts that hold what a tool returned."""


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


_Part: TypeAlias = str | _Call | _Result
"""A part of a message: words, a call, or a result."""


class _Message(NamedTuple):
    """A message: who wrote it, and its parts in their order."""

    role: str
    parts: Sequence[_Part]


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
    """Add the result of a tool to the step that called it, in place; without such a step, add one."""
    place = _close_call(steps, open_calls, result)
    if place is None:
        steps.append(_with_result(Step(actor="tool", tool=result.tool or "a tool"), result))
        return
    steps[place] = _with_result(steps[place], result)


def _close_call(steps: Sequence[Step], open_calls: list[tuple[str, int]], result: _Result) -> int | None:
    """Take the call that a result answers out of the open calls, and return the place of its step.

    Where the result and the call both have an id, these decide; else the name of the tool does, which may be missing.

    Returns:
        The place; ``None`` where no open call fits.
    """
    for number, (call_id, place) in enumerate(open_calls):
        if result.call_id and call_id:
            is_answered = result.call_id == call_id
        else:
            is_answered = result.tool in ("", steps[place].tool)
        if is_answered:
            del open_calls[number]
            return place
    return None


def _with_result(step: Step, result: _Result) -> Step:
    """Return a step with the result of its tool: as its error where the tool failed."""
    if result.is_error:
        return step._replace(error=result.text or "the tool reported an error")
    return step._replace(result=result.text)


def _read_message(item: Mapping[str, Any]) -> _Message | None:
    """Return a message of any of the layouts; ``None`` if the object is no message."""
    kind = item.get("type")
    # Items of OpenAI's responses stand beside messages, and have no role.
    if kind in _CALL_TYPES:
        return _Message(role="assistant", parts=list(_parts_of_content([item])))
    if kind in _RESULT_TYPES:
        return _Message(role="tool", parts=list(_parts_of_content([item])))
    if kind == "reasoning" and "summary" in item:
        return _Message(role="assistant", parts=())
    wrapped_item = _wrapped_message(item)
    if wrapped_item is not None:
        return _read_message(wrapped_item)
    return _read_message_with_role(item)


def _wrapped_message(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message inside an object that wraps it, with its role; ``None`` if the object wraps none."""
    kind = item.get("type")
    inner = item.get("message")
    if isinstance(inner, Mapping) and "role" not in item:  # OpenInference
        return inner
    if kind == "constructor" and isinstance(item.get("kwargs"), Mapping):  # LangChain
        class_name = str((item.get("id") or [""])[-1])
        return {**item["kwargs"], "role": _MESSAGE_CLASSES.get(class_name, class_name)}
    if isinstance(item.get("data"), Mapping) and isinstance(kind, str):  # LangChain's dictionaries
        return {**item["data"], "role": kind}
    return None


def _read_message_with_role(item: Mapping[str, Any]) -> _Message | None:
    """Return a message of an object that names its role; ``None`` if it names none, or holds nothing."""
    role = item.get("role", item.get("from"))
    kind = item.get("type")
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
        parts = [_result_of_words(item, parts)]
    parts += _read_tool_calls(calls)
    if isinstance(item.get("function_call"), Mapping):  # the older form of OpenAI
        parts += _read_tool_calls([{"function": item["function_call"]}])
    return _Message(role=actor, parts=parts)


def _result_of_words(item: Mapping[str, Any], parts: Sequence[_Part]) -> _Result:
    """Return the result in a message of a tool, whose words are what the tool returned."""
    return _Result(
        call_id=str(item.get("tool_call_id") or ""),
        tool=str(item.get("name") or ""),
        text="\n".join(part for part in parts if isinstance(part, str)),
        is_error=item.get("status") == "error" or item.get("is_error") is True,
    )


def _parts_of_content(content: object) -> Iterator[_Part]:
    """Yield the words, calls and results in the content of a message, in their order; words side by side as one."""
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
            if kind in _CALL_TYPES:
                yield _read_call(part)
            else:
                yield _read_result(part)
        else:
            text = _words_of_part(part)
            if text:
                words.append(text)
    if words:
        yield "\n".join(words)


def _words_of_part(part: object) -> str:
    """Return the words of a part of a message: none of thinking, and ``[image]`` or the like of what is no text."""
    if not isinstance(part, Mapping):
        return value_text(part)
    kind = part.get("type")
    if kind in _THOUGHT_TYPES:
        return ""
    if isinstance(part.get("message_content"), Mapping):  # OpenInference
        return _words_of_part(part["message_content"])
    text = part.get("text", part.get("content"))
    if isinstance(text, str) and (kind is None or kind in _TEXT_PARTS):
        return text
    return f"[{kind or 'a part that is no text'}]"


def _read_tool_calls(calls: object) -> list[_Call]:
    """Return the calls in the field ``tool_calls`` of a message."""
    if not isinstance(calls, list):
        return []
    tool_calls: list[_Call] = []
    for call in calls:
        if isinstance(call, Mapping):
            tool_calls.append(_read_call(call))
    return tool_calls


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
