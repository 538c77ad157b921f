"""A prompt that somebody has, read from its file and written as the Python file of a judge."""

import ast
import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError, why
from ..gold.files import Place, unreadable
from ..text.templates import LogicInTemplateError, Template

_SIGNATURES_OWN = {"signature", "instructions", "fields", "input_fields", "output_fields", "model_config"}
"""Attributes of DSPy's signatures: a class with a field of that name cannot be made."""
_INVISIBLE = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0e-\x1f\x7f-\x9f]|[ \t]+$", re.MULTILINE)
"""Characters that editors and Python's parser change or hide: they are written as escapes."""
_QUOTES = re.compile(r'"{3,}|"+\Z')
_WRITE = "write the inputs as {{name}}, or keep the template and write the judge's file by hand"


def read_prompt(path: Path) -> Template:
    """Read a text, or chat messages in JSON; variables are written ``{{name}}``, or all ``{name}``."""
    content = _content(path)
    try:
        template = Template.of(content.get("messages") if isinstance(content, Mapping) else content)
    except LogicInTemplateError as error:
        raise UsageError(f"{path} has more than variables in its template", hint=_WRITE) from error
    except ValueError as error:
        hint = "give text, or messages with role and content"
        raise UsageError(f"{path} holds no prompt that is known", hint=hint) from error
    if not template.variables:
        raise UsageError(
            f"{path} has no variable, so there is nothing to judge", hint="write the inputs as {{name}}"
        )
    for name in template.variables:
        if keyword.iskeyword(name) or name.startswith("_") or name in _SIGNATURES_OWN:
            raise UsageError(f"{path} has a variable {name!r}, which cannot be a field", hint="rename it")
    return template


def _content(path: Path) -> Any:
    """Return the text of a file, or the value of a JSON file."""
    try:
        text = path.read_text("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {why(error)}", hint="name a text file or JSON") from error
    if wrong := unreadable(text, Place(str(path))):
        raise UsageError(wrong.message, hint=wrong.hint)
    if path.suffix.lower() != ".json":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON: {error}", hint="correct it, or give it another suffix"
        ) from error


_SCALE = re.compile(r"(-?\d+(?:\.\d+)?)\s*-\s*(-?\d+(?:\.\d+)?)", re.ASCII)
_FILE = '''"""{title}: a judge made from {source}."""
{imports}
import dspy

import jurist

# The prompt as it stands. It is sent with the values in it and nothing else.
PROMPT = {prompt}


class {name}(dspy.Signature):
{inputs}
    {output}: {annotation}


judge = jurist.Judge(
    name="{judge}",
    signature={name},
    prompt=PROMPT,
    {arguments},
)
'''


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The answer of a judge to be written, as Python of its file."""

    names: Sequence[str]  # for the output field; the first that is no input is taken
    annotation: str  # its type, and its default
    arguments: str  # of ``jurist.Judge``; ``{unit}`` is the input that is judged
    words: str  # for people


def labels_asked(labels: Sequence[str], positive: Sequence[str] = ()) -> Asked:
    """Return one of some labels; of three or more none is positive unless it is named."""
    chosen = list(positive) or list(labels[-1:] if len(labels) <= 2 else ())
    named = f"positive=frozenset({{{', '.join(map(_quoted, chosen))}}}),\n    " if chosen else ""
    return Asked(
        names=("label", "verdict", "decision", "judged_label"),
        annotation=f"Literal[{', '.join(map(_quoted, labels))}] = dspy.OutputField()",
        arguments=f"{named}unit={{unit}}",
        words=f"labels {', '.join(labels)}; {'the positive class is ' if chosen else 'no positive class'}"
        f"{', '.join(chosen)}; compiled for balanced_accuracy",
    )


def score_asked(scale: str) -> Asked:
    """Return a number on a scale: ``1-5`` is whole, ``0.0-1.0`` is not."""
    bounds = _SCALE.fullmatch(scale.strip())
    if not bounds:
        raise UsageError(f"{scale!r} is no scale", hint="give its ends, as --score 1-5 or --score 0.0-1.0")
    low, high = bounds[1], bounds[2]
    kind = "float" if "." in low + high else "int"
    return Asked(
        names=("score", "rating", "grade", "judged_score"),
        annotation=f"{kind} = dspy.OutputField(ge={low}, le={high})",
        arguments="unit={unit}",
        words=f"a score from {low} to {high}",
    )


def preference_asked(pair: Sequence[str]) -> Asked:
    """Return which of two inputs is better: ``first``, ``second`` or ``tie``."""
    if len(pair) != 2:
        raise UsageError(f"{', '.join(pair) or 'nothing'} are not two inputs", hint="let --prefer name two")
    first, second = map(_quoted, pair)
    return Asked(
        names=("better", "preferred", "preference", "judged_better"),
        annotation='Literal["first", "second", "tie"] = dspy.OutputField()',
        arguments=f"answer=jurist.Preference(first={first}, second={second})",
        words=f"which of {pair[0]} (first) and {pair[1]} (second) is better",
    )


def judge_source(
    name: str,
    source: str,
    prompt: Template,
    asked: Asked,
    unit: str = "",
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
) -> str:
    """Return the text of the file, which may yet be no judge; a column that is ``label`` goes to the output field."""
    output = next((one for one in asked.names if one not in prompt.variables), f"given_{asked.names[0]}")
    fields = {column: output if ours == "label" else ours for column, ours in (columns or {}).items()}
    renamed = {column: ours for column, ours in fields.items() if column != ours}
    reads = [
        f"{key}={_quoted(dict(names))}" for key, names in (("columns", renamed), ("values", values)) if names
    ]
    return _FILE.format(
        title=name,
        source=re.sub(r'["\\]', "'", source),
        imports="\nfrom typing import Literal\n" if "Literal" in asked.annotation else "",
        name=_class_name(name),
        prompt=_prompt_source(prompt.as_prompt()),
        inputs="\n".join(f"    {one}: str = dspy.InputField()" for one in prompt.variables),
        output=output,
        annotation=asked.annotation,
        judge=name,
        arguments=",\n    ".join(
            [asked.arguments.replace("{unit}", _quoted(unit or prompt.variables[-1])), *reads]
        ),
    )


def _class_name(name: str) -> str:
    """Return a judge's name as that of a class: ``MaySend``; ``Judge123`` where it could be none."""
    words = re.sub(r"\W", "", name.title())
    return words if words.isidentifier() and not keyword.iskeyword(words) else f"Judge{words}"


def _quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False)


def _prompt_source(prompt: str | Sequence[Mapping[str, str]]) -> str:
    """Return the Python source of a prompt, a text or messages: evaluated, it is the prompt, character by character."""
    if isinstance(prompt, str):
        return _text_source(prompt)
    messages = [
        f'    {{"role": {_quoted(message["role"])}, "content": {_text_source(message["content"])}}},\n'
        for message in prompt
    ]
    return f"[\n{''.join(messages)}]"


def _text_source(text: str) -> str:
    """Return a text between triple quotes, its lines as they are."""
    safe = text.replace("\\", "\\\\")
    safe = _QUOTES.sub(lambda quotes: quotes[0].replace('"', '\\"'), safe)
    safe = _INVISIBLE.sub(lambda run: "".join(map(_escape, run[0])), safe)
    return f'"""\\\n{safe}"""'


def _escape(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"


def with_names(
    source: str, variable: str, columns: Mapping[str, str], values: Mapping[str, str]
) -> str | None:
    """Return the text of a judge's file that reads files by further names; ``None`` where it has no place for them.

    Args:
        source: the text of the file.
        variable: the name that the judge has in it.
        columns: column -> field, added to ``columns=`` of the judge.
        values: label of a file -> label of the judge, added to ``values=``.
    """
    text = source
    for keyword_name, names in (("columns", columns), ("values", values)):
        if not names:
            continue
        call = _judge_call(text, variable)
        if call is None:
            return None
        written = next((keyword for keyword in call.keywords if keyword.arg == keyword_name), None)
        if written is None:
            text = _with_argument(text, call, f"{keyword_name}={_dictionary(names)}")
        else:
            try:
                before = ast.literal_eval(written.value)
            except ValueError:  # it is worked out by code of the user's
                return None
            if not isinstance(before, dict):
                return None
            if not names.items() <= before.items():
                text = _with_span(text, written.value, _dictionary({**before, **names}))
        # what stands in brackets of its own ends elsewhere than the syntax tree says
        changed = _judge_call(text, variable)
        if changed is None or keyword_name not in {keyword.arg for keyword in changed.keywords}:
            return None
    return text


def _judge_call(source: str, variable: str) -> ast.Call | None:
    """Return the call of ``Judge`` whose result a file keeps under a name; ``None`` if it is written otherwise."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        named = [target.id for target in node.targets if isinstance(target, ast.Name)]
        is_judge = ast.unparse(node.value.func).rpartition(".")[2] == "Judge"
        unpacks = any(keyword.arg is None for keyword in node.value.keywords)
        if variable in named and is_judge and node.value.keywords and not unpacks:
            return node.value
    return None


def _with_argument(source: str, call: ast.Call, argument: str) -> str:
    """Return a source in which a call has one more argument, on a line of its own where the others have."""
    last = max((*call.args, *(keyword.value for keyword in call.keywords)), key=_end_of)
    apart = ", "
    if call.end_lineno != call.lineno:
        places = [(value.lineno, value.col_offset) for value in call.args]
        places += [(keyword.lineno, keyword.col_offset) for keyword in call.keywords]
        first_line, indent = min(places)
        if first_line > call.lineno:
            apart = ",\n" + " " * indent
    start = _offset(source, *_end_of(last))
    data = source.encode("utf-8", "surrogateescape")
    return (data[:start] + f"{apart}{argument}".encode() + data[start:]).decode("utf-8", "surrogateescape")


def _with_span(source: str, node: ast.expr, text: str) -> str:
    """Return a source with another text in the place of an expression."""
    start, end = _offset(source, node.lineno, node.col_offset), _offset(source, *_end_of(node))
    data = source.encode("utf-8", "surrogateescape")
    return (data[:start] + text.encode() + data[end:]).decode("utf-8", "surrogateescape")


def _end_of(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _offset(source: str, line: int, column: int) -> int:
    """Return the place of a line and a column, which Python counts in bytes, in the bytes of a source."""
    before = source.encode("utf-8", "surrogateescape").split(b"\n")[: line - 1]
    return sum(len(text) + 1 for text in before) + column


def _dictionary(names: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_quoted(theirs)}: {_quoted(ours)}" for theirs, ours in names.items()) + "}"
