"""The frame of a prompt in Chinese: what DSPy's adapters say in English around an instruction and the values of fields.

A frame is in the language of the signature's field descriptions, or of its instruction where no field has one. Markers
and names of fields stay what they are: replies are read by them. DSPy's own words stand around prompts in English, and
around fields of DSPy's own types.
"""

import json
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args, get_origin

import dspy
from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema

from ..text.wording import main_language
from .dspy_internals import get_annotation_name
from .identity_cache import IdentityCache

_COMPLETED: Final = "[[ ## completed ## ]]"
_PHRASES: Final = {
    "This is an example of the task, though some input or output fields are not supplied.": (
        "这是本任务的一个例子，其中有些字段没有给出。"
    ),
    "Not supplied for this particular example. ": "这个例子没有给出这一项。",
}
"""What DSPy says about demonstrations that lack a field -> the same in Chinese."""
_KINDS: Final[Mapping[Any, str]] = {str: "文本", bool: "True 或 False", int: "整数", float: "数"}
"""Type -> its name in Chinese."""


def _says_chinese(signature: type[dspy.Signature]) -> bool:
    """Say whether most field descriptions of a signature are Chinese; without any, whether its instruction is."""
    texts: list[str] = []
    for name, info in signature.fields.items():
        description = info.json_schema_extra["desc"]
        if description and description != f"${{{name}}}":
            texts.append(description)
    return main_language(texts or [signature.instructions]) == "zh"


says_chinese: Final[IdentityCache[bool]] = IdentityCache(_says_chinese)
"""Signature -> whether its prompt has a frame in Chinese."""


class FrameOfLanguage:
    """The mixin of adapters that have fields: a frame in Chinese around prompts in Chinese, else that of DSPy."""

    def format_field_description(self, signature: type[dspy.Signature]) -> str:
        """Return the part of the system message that names the fields."""
        if not says_chinese(signature):
            return str(super().format_field_description(signature))  # type: ignore[misc]
        inputs = _list_fields(signature.input_fields)
        return f"输入字段：\n{inputs}\n输出字段：\n{_list_fields(signature.output_fields)}"

    def format_field_structure(self, signature: type[dspy.Signature]) -> str:
        """Return the part of the system message that shows the form of inputs and outputs."""
        if not says_chinese(signature):
            return str(super().format_field_structure(signature))  # type: ignore[misc]
        return self._chinese_structure(signature)

    def _chinese_structure(self, signature: type[dspy.Signature]) -> str:
        """Return the form of inputs and outputs under their markers."""
        inputs = _sections(signature.input_fields, _placeholder)
        outputs = _sections(signature.output_fields, _placeholder_with_rule)
        return "\n\n".join([f"每次都按下面的格式进行，各处填入相应的值。\n\n{inputs}", outputs, _COMPLETED])

    def format_task_description(self, signature: type[dspy.Signature]) -> str:
        """Return the part of the system message that describes the task."""
        if not says_chinese(signature):
            return str(super().format_task_description(signature))  # type: ignore[misc]
        return f"按照这一格式，你的任务是：\n\n{textwrap.dedent(signature.instructions)}"

    def user_message_output_requirements(self, signature: type[dspy.Signature]) -> str:
        """Return the end of the user message: the fields to answer with."""
        if not says_chinese(signature):
            return str(super().user_message_output_requirements(signature))  # type: ignore[misc]
        return self._chinese_requirements(signature)

    def _chinese_requirements(self, signature: type[dspy.Signature]) -> str:
        """Return the fields to answer with, by their markers."""
        fields = _in_order(signature, "[[ ## {} ## ]]")
        return f"请依次写出输出字段：{fields}，最后以 `{_COMPLETED}` 结束。"

    def format_user_message_content(
        self,
        signature: type[dspy.Signature],
        inputs: Mapping[str, Any],
        prefix: str = "",
        suffix: str = "",
        main_request: bool = False,
    ) -> str:
        """Return the message with the inputs of a case or of a demonstration."""
        if says_chinese(signature):
            prefix = _PHRASES.get(prefix, prefix)
        content: str = super().format_user_message_content(  # type: ignore[misc]
            signature, inputs, prefix, suffix, main_request
        )
        return content

    def format_assistant_message_content(
        self,
        signature: type[dspy.Signature],
        outputs: Mapping[str, Any],
        missing_field_message: str | None = None,
    ) -> str:
        """Return the reply that a demonstration shows."""
        if missing_field_message is not None and says_chinese(signature):
            missing_field_message = _PHRASES.get(missing_field_message, missing_field_message)
        content: str = super().format_assistant_message_content(  # type: ignore[misc]
            signature, outputs, missing_field_message
        )
        return content


class JsonFrameOfLanguage(FrameOfLanguage):
    """The mixin of the adapter whose replies are a JSON object."""

    def _chinese_structure(self, signature: type[dspy.Signature]) -> str:
        outputs: dict[str, str] = {}
        for name, info in signature.output_fields.items():
            outputs[name] = _placeholder_with_rule(name, info)
        return "\n\n".join(
            [
                "每次都按下面的格式进行，各处填入相应的值。",
                "输入的格式：",
                _sections(signature.input_fields, _placeholder),
                "输出是一个 JSON 对象，字段如下：",
                json.dumps(outputs, indent=2, ensure_ascii=False),
            ]
        )

    def _chinese_requirements(self, signature: type[dspy.Signature]) -> str:
        return f"请用一个 JSON 对象回答，字段依次为：{_in_order(signature, '{}')}。"


def _list_fields(fields: Mapping[str, Any]) -> str:
    """Return a numbered line for each field: its name, its type, and its description."""
    lines: list[str] = []
    for number, (name, info) in enumerate(fields.items(), start=1):
        line = f"{number}. `{name}`（{_kind(info.annotation)}）"
        description = info.json_schema_extra["desc"]
        if description != f"${{{name}}}":
            line += f"：{description}"
        lines.append(line)
        constraints = info.json_schema_extra.get("constraints")
        if constraints:
            lines.append(f"限制：{constraints}")
    return "\n".join(lines)


def _kind(annotation: Any) -> str:
    """Return the name of a type in Chinese; the name in Python of one that has none."""
    if annotation in _KINDS:
        return _KINDS[annotation]
    if get_origin(annotation) is Literal:
        values = "、".join(str(value) for value in get_args(annotation))
        return f"以下之一：{values}"
    if get_origin(annotation) is list:
        (item,) = get_args(annotation)
        return f"列表，每项为{_kind(item)}"
    return str(get_annotation_name(annotation))


def _sections(fields: Mapping[str, Any], value_of: Callable[[str, Any], str]) -> str:
    """Return each field under its marker."""
    sections: list[str] = []
    for name, info in fields.items():
        sections.append(f"[[ ## {name} ## ]]\n{value_of(name, info)}")
    return "\n\n".join(sections)


def _placeholder(name: str, info: Any) -> str:
    """Return the placeholder of a field's value."""
    return f"{{{name}}}"


def _placeholder_with_rule(name: str, info: Any) -> str:
    """Return the placeholder of an output's value, with the rule that the value must keep."""
    rule = _rule(info.annotation)
    if not rule:
        return _placeholder(name, info)
    return f"{_placeholder(name, info)}        # 注意：{rule}"


def _rule(annotation: Any) -> str:
    """Return the rule that the value of an output field must keep, in Chinese; empty for text."""
    if annotation is str:
        return ""
    if annotation in _KINDS:
        return f"必须是{_KINDS[annotation]}"
    if get_origin(annotation) is Literal:
        return f"必须是{_kind(annotation)}，不加别的字"
    if get_origin(annotation) is list:
        (item,) = get_args(annotation)
        if item in _KINDS or get_origin(item) is Literal:
            return f"必须是 JSON {_kind(annotation)}"
    try:
        schema = TypeAdapter(annotation).json_schema()
    except PydanticInvalidForJsonSchema:
        return f"必须是{_kind(annotation)}"
    return f"必须符合 JSON schema：{json.dumps(schema, ensure_ascii=False)}"


def _in_order(signature: type[dspy.Signature], marker: str) -> str:
    """Return the output fields in their order, each by a marker and, unless it is text, with its type."""
    parts: list[str] = []
    for name, info in signature.output_fields.items():
        part = f"`{marker.format(name)}`"
        if info.annotation is not str:
            part += f"（{_kind(info.annotation)}）"
        parts.append(part)
    return "，".join(parts)
