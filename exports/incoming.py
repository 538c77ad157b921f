"""A prompt that somebody has, read from its file and written as the Python file of a judge."""

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..errors import UsageError, why
from ..gold.files import Place, unreadable
from .messages import FORMAT

_DOUBLE = re.compile(r"\{\{\{?\s*([A-Za-z_][\w.]*)\s*\}?\}\}")
_SINGLE = re.compile(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})")
_LOGIC = re.compile(r"\{%-?\s*(?!set jurist|raw|endraw)\w|\{\{[#/^]")
_JINJA_TEXT = re.compile(r'\{\{ ("(?:[^"\\]|\\.)*") \}\}|\{% ?set jurist = 1 ?%\}')
_FIELDS = re.compile(r"⟦(\w+)⟧")
_WRITE = "write the inputs as {{name}}, or keep the template and write the judge's file by hand"


@dataclass(frozen=True, kw_only=True)
class IncomingPrompt:
    """A prompt as a task."""

    instruction: str  # its text, with the name of each input in backquotes where its value went
    inputs: tuple[str, ...]  # the names of its variables, in their order, usable as names of fields


def read_prompt(path: Path) -> IncomingPrompt:
    """Read a prompt file."""
    messages = templates_of(path)
    usual = "mustache" if any(not one.style and _DOUBLE.search(one.text) for one in messages) else ""
    marked = [(one.role, _marked(one.text, one.style or usual, path)) for one in messages]
    inputs = tuple(dict.fromkeys(name for _, content in marked for name in _FIELDS.findall(content)))
    if not inputs:
        raise UsageError(
            f"{path} has no variable, so there is nothing to judge", hint="write the inputs as {{name}}"
        )
    several = len(marked) > 1
    parts = [
        f"{role}:\n{content.strip()}" if several and role != "system" else content.strip()
        for role, content in marked
    ]
    instruction = _FIELDS.sub(r"`\1`", "\n\n".join(part for part in parts if part))
    return IncomingPrompt(instruction=instruction, inputs=inputs)


def _marked(template: str, style: str, path: Path) -> str:
    """Return a template with ``⟦name⟧`` where an input goes, and everything else as the model saw it."""
    if style == "literal":
        return template
    if style == "f-string":
        doubled = template.replace("{{", "\0").replace("}}", "\1")
        return _named(_SINGLE, doubled, path).replace("\0", "{").replace("\1", "}")
    if found := _LOGIC.search(template):
        raise UsageError(f"{path} has logic in its template, as {found[0]!r}", hint=_WRITE)
    plain = _JINJA_TEXT.sub(lambda found: str(json.loads(found[1])) if found[1] else "", template)
    plain = plain.replace("{% raw %}", "").replace("{% endraw %}", "")
    return _named(_DOUBLE if style in ("mustache", "jinja2") else _SINGLE, plain, path)


def _named(pattern: re.Pattern[str], text: str, path: Path) -> str:
    def mark(found: re.Match[str]) -> str:
        name = found[1].rpartition(".")[2]
        if keyword.iskeyword(name) or name.startswith("_"):
            raise UsageError(f"{path} has a variable {name!r}, which cannot be a field", hint="rename it")
        return f"⟦{name}⟧"

    return pattern.sub(mark, text)


Style: TypeAlias = Literal["literal", "f-string", "mustache", "jinja2", ""]
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
    if wrong := unreadable(text, Place(str(path))):
        raise UsageError(wrong.message, hint=wrong.hint)
    content = _structured(text, path)
    if isinstance(content, Mapping) and isinstance(content.get("manifest"), Mapping):
        content = content["manifest"]
    if not isinstance(content, Mapping):
        return _plain(content, path)
    if content.get("lc"):
        return _langchain(content, path)
    if content.get("format") == FORMAT:
        messages = []
        for one in content["messages"]:
            text = str(one["content"])
            for spec in content["inputs"]:
                text = text.replace(spec["placeholder"], f"⟦{spec['name']}⟧")
            messages.append(Template(str(one["role"]), text, "literal"))
        return messages
    test = content.get(
        "defaultTest"
    )  # the prompt with which promptfoo's own judge is asked goes before others
    options = test.get("options") if isinstance(test, Mapping) else None
    rubric = options.get("rubricPrompt") if isinstance(options, Mapping) else None
    if judged := rubric or content.get("prompts"):
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
        raise UsageError(f"{path} is a program of its own", hint="name the prompt file that it reads")
    if suffix != ".json":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON: {error}", hint="correct it, or give it another suffix"
        ) from error


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
    messages = []
    for one in kwargs.get("messages", ()):
        kind, about = str((one.get("id") or [""])[-1]), one.get("kwargs") or {}
        inner = (about.get("prompt") or {}).get("kwargs") or {}
        role = next((role for name, role in _SPOKEN.items() if kind.startswith(name)), "")
        template = inner.get("template") if inner else about.get("content")
        if not role or not isinstance(template, str):
            raise UsageError(
                f"{path} has a message of the kind {kind!r}", hint="give system, human and AI messages"
            )
        style: Style = inner.get("template_format", "f-string") if inner else "literal"
        messages.append(Template(role, template, style))
    return messages


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


_SCALE = re.compile(r"(-?\d+(?:\.\d+)?)\s*-\s*(-?\d+(?:\.\d+)?)", re.ASCII)
_FILE = '''"""{title}: a judge made from {source}."""
{imports}
import dspy

import jurist


class {name}(dspy.Signature):
    """{instruction}"""

{inputs}
    {output}: {annotation}


judge = jurist.Judge(
    name="{judge}",
    signature={name},
    {arguments},
)
'''


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a judge answers, as its file says it."""

    names: Sequence[str]  # for the output field; the first that is no input is taken
    annotation: str  # its type, and its default
    arguments: str  # of ``jurist.Judge``; ``{unit}`` is the input that is judged
    words: str  # for people


def labels_asked(labels: Sequence[str], positive: Sequence[str] = ()) -> Asked:
    """Return one of some labels."""
    chosen = list(positive) or [labels[-1]] if labels else []
    if len(set(labels)) < 2 or len(set(labels)) != len(labels) or not all(one.strip() for one in labels):
        raise UsageError(
            f"{', '.join(labels) or 'nothing'} are no labels", hint="give two or more, as --labels yes,no"
        )
    if not set(chosen) < set(labels):
        raise UsageError(
            f"{', '.join(chosen)} does not part the labels {', '.join(labels)}",
            hint="let --positive name some of them, and not all",
        )
    return Asked(
        names=("label", "verdict", "decision", "judged_label"),
        annotation=f"Literal[{', '.join(map(_quoted, labels))}] = dspy.OutputField()",
        arguments=f"positive=frozenset({{{', '.join(map(_quoted, chosen))}}}), unit={{unit}}",
        words=f"labels {', '.join(labels)}; the positive class is {', '.join(chosen)}; compiled for balanced_accuracy",
    )


def score_asked(scale: str) -> Asked:
    """Return a number on a scale: ``1-5`` is whole, ``0.0-1.0`` is not."""
    found = _SCALE.fullmatch(scale.strip())
    if not found or float(found[1]) >= float(found[2]):
        raise UsageError(f"{scale!r} is no scale", hint="give its ends, as --score 1-5 or --score 0.0-1.0")
    low, high = found[1], found[2]
    kind = "float" if "." in low + high else "int"
    return Asked(
        names=("score", "rating", "grade", "judged_score"),
        annotation=f"{kind} = dspy.OutputField(ge={low}, le={high})",
        arguments="unit={unit}",
        words=f"a score from {low} to {high}",
    )


def preference_asked(pair: Sequence[str], inputs: Sequence[str]) -> Asked:
    """Return which of two inputs is better: ``first``, ``second`` or ``tie``."""
    if len(set(pair)) != 2 or len(pair) != 2 or not set(pair) <= set(inputs):
        raise UsageError(
            f"{', '.join(pair) or 'nothing'} are not two inputs of the prompt",
            hint=f"let --prefer name two of {', '.join(inputs)}",
        )
    first, second = pair
    return Asked(
        names=("better", "preferred", "preference", "judged_better"),
        annotation='Literal["first", "second", "tie"] = dspy.OutputField()',
        arguments=f'answer=jurist.Preference(first="{first}", second="{second}")',
        words=f"which of {first} (first) and {second} (second) is better",
    )


def judge_source(
    name: str,
    source: str,
    prompt: IncomingPrompt,
    asked: Asked,
    unit: str = "",
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
) -> str:
    """Return the text of the file; a column that is the ``label`` goes to the output field."""
    output = next(one for one in asked.names if one not in prompt.inputs)
    fields = {column: output if ours == "label" else ours for column, ours in (columns or {}).items()}
    renamed = {column: ours for column, ours in fields.items() if column != ours}
    reads = [
        f"{key}={_quoted(dict(names))}" for key, names in (("columns", renamed), ("values", values)) if names
    ]
    judged = unit or prompt.inputs[-1]
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise UsageError(f"{name!r} cannot name a judge", hint="use lower-case letters, digits and hyphens")
    if judged not in prompt.inputs:
        raise UsageError(
            f"{judged!r} is no input of the prompt", hint=f"use one of {', '.join(prompt.inputs)}"
        )
    return _FILE.format(
        title=name,
        source=re.sub(r'["\\]', "'", source),
        imports="\nfrom typing import Literal\n" if "Literal" in asked.annotation else "",
        name="".join(part.capitalize() for part in name.split("-")),
        instruction=_docstring(prompt.instruction),
        inputs="\n".join(f"    {one}: str = dspy.InputField()" for one in prompt.inputs),
        output=output,
        annotation=asked.annotation,
        judge=name,
        arguments=",\n    ".join([asked.arguments.replace("{unit}", _quoted(judged)), *reads]),
    )


def _quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False)


def _docstring(text: str) -> str:
    """Return a text for a docstring of a class, whose dedenting gives it back; tabs are spaces."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs()
    safe = plain.replace("\\", "\\\\")
    safe = re.sub(r'"{3,}|"+\Z', lambda found: found[0].replace('"', '\\"'), safe)
    lines = safe.split("\n")
    return "\n".join([lines[0], *(f"    {line}" if line.strip() else "" for line in lines[1:])])
