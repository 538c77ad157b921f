"""The messages of a prompt file, each with its template, from the formats in which people have prompts.

What is read: text and Markdown; JSON messages with ``role`` and ``content``, alone or as ``messages`` or ``template``
of an object (MLflow's prompt, exports of jurist); a prompt of LangChain, alone or as the ``manifest`` that LangSmith
keeps, also one that is followed by a model; a promptfoo configuration in YAML or JSON, in which a ``rubricPrompt`` is
the judge and else the one prompt, and jurist's own in CommonJS.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..errors import UsageError, why
from ..gold.decoding import unreadable
from .messages import FORMAT

Style: TypeAlias = Literal["literal", "f-string", "mustache", "jinja2", ""]
_SPEC = re.compile(r"^const spec = (\{.*\});$", re.MULTILINE)
_SPOKEN: Final = {"System": "system", "Human": "user", "AI": "assistant"}


class Template(NamedTuple):
    """One message."""

    role: str  # ``system``, ``user`` or ``assistant``
    text: str  # with its variables
    style: Style = ""  # how they are written; empty for either, ``literal`` for ``⟦name⟧``


def templates_of(path: Path) -> list[Template]:
    """Read a prompt file."""
    try:
        text = path.read_text("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {why(error)}", hint="name a text, JSON or YAML file"
        ) from error
    if wrong := unreadable(text, str(path), 1):
        raise UsageError(wrong.message, hint=wrong.hint)
    content = _structured(text, path)
    if isinstance(content, Mapping) and isinstance(content.get("manifest"), Mapping):
        content = content["manifest"]
    if not isinstance(content, Mapping):
        return _plain(content, path)
    if content.get("lc"):
        return _langchain(content, path)
    if content.get("format") == FORMAT:
        return [
            Template(str(one["role"]), _placed(str(one["content"]), content), "literal")
            for one in content["messages"]
        ]
    if judged := _rubric(content) or content.get("prompts"):
        return _promptfoo(judged, path)
    return _plain(content.get("messages") or content.get("template"), path)


def _plain(content: Any, path: Path, style: Style = "") -> list[Template]:
    if isinstance(content, str):
        return [Template("user", content, style)]
    if isinstance(content, list) and content and all(_is_message(one) for one in content):
        return [Template(str(one["role"]), str(one["content"]), style) for one in content]
    raise UsageError(
        f"{path} holds no prompt that is known", hint="give text, or messages with role and content"
    )


def _structured(text: str, path: Path) -> Any:
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        import yaml

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise UsageError(
                f"{path} is not YAML: {' '.join(str(error).split())[:120]}", hint="correct it"
            ) from error
    if suffix in (".cjs", ".js"):
        found = _SPEC.search(text)
        if not found:
            raise UsageError(f"{path} is a program of its own", hint="name the prompt file that it reads")
        return {**json.loads(found[1]), "format": FORMAT}
    if suffix != ".json":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON: {error}", hint="correct it, or give it another suffix"
        ) from error


def _placed(text: str, exported: Mapping[str, Any]) -> str:
    for one in exported["inputs"]:
        text = text.replace(one["placeholder"], f"⟦{one['name']}⟧")
    return text


def _is_message(one: Any) -> bool:
    return (
        isinstance(one, Mapping) and isinstance(one.get("role"), str) and isinstance(one.get("content"), str)
    )


def _langchain(content: Mapping[str, Any], path: Path) -> list[Template]:
    kwargs = content.get("kwargs") or {}
    if isinstance(first := kwargs.get("first"), Mapping):  # a prompt, and the model that answers it
        return _langchain(first, path)
    if isinstance(template := kwargs.get("template"), str):
        return [Template("user", template, kwargs.get("template_format", "f-string"))]
    return [_langchain_message(one, path) for one in kwargs.get("messages", ())]


def _langchain_message(one: Any, path: Path) -> Template:
    kind, kwargs = str((one.get("id") or [""])[-1]), one.get("kwargs") or {}
    inner = (kwargs.get("prompt") or {}).get("kwargs") or {}
    role = next((role for name, role in _SPOKEN.items() if kind.startswith(name)), "")
    template = inner.get("template") if inner else kwargs.get("content")
    if not role or not isinstance(template, str):
        raise UsageError(
            f"{path} has a message of the kind {kind!r}", hint="give system, human and AI messages"
        )
    return Template(role, template, inner.get("template_format", "f-string") if inner else "literal")


def _rubric(content: Mapping[str, Any]) -> Any:
    """Return the prompt with which promptfoo's own judge is asked, if the configuration has one."""
    given = content.get("defaultTest")
    options = given.get("options") if isinstance(given, Mapping) else None
    return options.get("rubricPrompt") if isinstance(options, Mapping) else None


def _promptfoo(prompts: Any, path: Path) -> list[Template]:
    listed = prompts if isinstance(prompts, list) else [prompts]
    if listed and all(_is_message(one) for one in listed):
        return _plain(listed, path, "mustache")
    if len(listed) != 1:
        raise UsageError(f"{path} has {len(listed)} prompts, and a judge is one", hint="leave one in it")
    one = listed[0].get("raw") or listed[0].get("id") if isinstance(listed[0], Mapping) else listed[0]
    if isinstance(one, str) and one.startswith("file://"):
        return templates_of(path.parent / one.removeprefix("file://"))
    try:
        found = json.loads(str(one))
    except ValueError:
        found = None
    return _plain(found if isinstance(found, Sequence) else str(one), path, "mustache")
