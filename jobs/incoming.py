"""A prompt that somebody has, read from its file and written as the Python file of a judge."""

import ast
import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError, why
from ..gold.files import Place, find_text_fault
from ..text.templates import LogicInTemplateError, Template

_SIGNATURES_OWN = {"signature", "instructions", "fields", "input_fields", "output_fields", "model_config"}
"""Attributes of DSPy's signatures: a class with a field of that name cannot be made."""
_INVISIBLE = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0e-\x1f\x7f-\x9f]|[ \t]+$", re.MULTILINE)
"""Characters that editors and Python's parser change or hide: they are written as escapes."""
_QUOTES = re.compile(r'"{3,}|"+\Z')
_WRITE = "write the inputs as {{name}}, or keep the template and write the judge's file by hand"


def read_prompt(path: Path) -> Template:
    """Return the prompt of a file: a text, or chat messages in JSON; variables are ``{{name}}``, or all ``{name}``."""
    content = _content(path)
    if isinstance(content, Mapping):
        content = content.get("messages")
    try:
        template = Template.of(content)
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


def _content(path: Path) -> object:
    """Return the text of a file, or the value of a JSON file."""
    try:
        text = path.read_text("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {why(error)}", hint="name a text file or JSON") from error
    if wrong := find_text_fault(text, Place(str(path))):
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
class AnswerSource:
    """The answer of a judge to be written, as Python of its file."""

    names: Sequence[str]  # for the output field; the first that is no input is taken
    annotation: str  # its type, and its default
    arguments: str  # of ``jurist.Judge``; ``{unit}`` is the input that is judged
    words: str  # for people


def answer_of_labels(labels: Sequence[str], positive: Sequence[str] = ()) -> AnswerSource:
    """Return the answer that is one of some labels; of three or more none is positive unless it is named."""
    chosen = list(positive)
    if not chosen and len(labels) <= 2:
        chosen = list(labels[-1:])
    arguments, words = "unit={unit}", "no positive class"
    if chosen:
        arguments = f"positive=frozenset({{{_quoted_list(chosen)}}}),\n    {arguments}"
        words = f"the positive class is {', '.join(chosen)}"
    return AnswerSource(
        names=("label", "verdict", "decision", "judged_label"),
        annotation=f"Literal[{_quoted_list(labels)}] = dspy.OutputField()",
        arguments=arguments,
        words=f"labels {', '.join(labels)}; {words}; compiled for balanced_accuracy",
    )


def answer_of_score(scale: str) -> AnswerSource:
    """Return the answer that is a number on a scale: ``1-5`` is whole, ``0.0-1.0`` is not."""
    bounds = _SCALE.fullmatch(scale.strip())
    if not bounds:
        raise UsageError(f"{scale!r} is no scale", hint="give its ends, as --score 1-5 or --score 0.0-1.0")
    low, high = bounds[1], bounds[2]
    kind = "int"
    if "." in low + high:
        kind = "float"
    return AnswerSource(
        names=("score", "rating", "grade", "judged_score"),
        annotation=f"{kind} = dspy.OutputField(ge={low}, le={high})",
        arguments="unit={unit}",
        words=f"a score from {low} to {high}",
    )


def answer_of_preference(pair: Sequence[str]) -> AnswerSource:
    """Return the answer that says which of two inputs is better: ``first``, ``second`` or ``tie``."""
    if len(pair) != 2:
        raise UsageError(f"{', '.join(pair) or 'nothing'} are not two inputs", hint="let --prefer name two")
    first, second = _quoted(pair[0]), _quoted(pair[1])
    return AnswerSource(
        names=("better", "preferred", "preference", "judged_better"),
        annotation='Literal["first", "second", "tie"] = dspy.OutputField()',
        arguments=f"answer=jurist.Preference(first={first}, second={second})",
        words=f"which of {pair[0]} (first) and {pair[1]} (second) is better",
    )


def judge_source(
    name: str,
    source: str,
    prompt: Template,
    answer: AnswerSource,
    unit: str = "",
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
) -> str:
    """Return the text of a judge's file, not yet tried; a column that is ``label`` goes to the output field."""
    output = _output_field(answer, prompt)
    renamed = {}
    for column, field in (columns or {}).items():
        if field == "label":
            field = output
        if column != field:
            renamed[column] = field
    arguments = [answer.arguments.replace("{unit}", _quoted(unit or prompt.variables[-1]))]
    if renamed:
        arguments.append(f"columns={_quoted(renamed)}")
    if values:
        arguments.append(f"values={_quoted(dict(values))}")
    imports = ""
    if "Literal" in answer.annotation:
        imports = "\nfrom typing import Literal\n"
    return _FILE.format(
        title=name,
        source=re.sub(r'["\\]', "'", source),
        imports=imports,
        name=_class_name(name),
        prompt=_prompt_source(prompt.as_prompt()),
        inputs="\n".join(f"    {variable}: str = dspy.InputField()" for variable in prompt.variables),
        output=output,
        annotation=answer.annotation,
        judge=name,
        arguments=",\n    ".join(arguments),
    )


def _output_field(answer: AnswerSource, prompt: Template) -> str:
    """Return the first name for the output field that is no variable of the prompt."""
    for name in answer.names:
        if name not in prompt.variables:
            return name
    return f"given_{answer.names[0]}"


def _class_name(name: str) -> str:
    """Return the name of a class for a judge's name: ``MaySend``, or ``Judge123`` for a name that no class can have."""
    words = re.sub(r"\W", "", name.title())
    if words.isidentifier() and not keyword.iskeyword(words):
        return words
    return f"Judge{words}"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quoted_list(texts: Sequence[str]) -> str:
    return ", ".join(map(_quoted, texts))


def _prompt_source(prompt: str | Sequence[Mapping[str, str]]) -> str:
    """Return the Python source of a prompt, a text or messages: evaluated, it is the prompt, character by character."""
    if isinstance(prompt, str):
        return _text_source(prompt)
    lines = []
    for message in prompt:
        role, content = _quoted(message["role"]), _text_source(message["content"])
        lines.append(f'    {{"role": {role}, "content": {content}}},\n')
    return f"[\n{''.join(lines)}]"


def _text_source(text: str) -> str:
    """Return the Python source of a text between triple quotes, with its line breaks."""
    safe = text.replace("\\", "\\\\")
    safe = _QUOTES.sub(lambda quotes: quotes[0].replace('"', '\\"'), safe)
    safe = _INVISIBLE.sub(lambda run: "".join(map(_escape, run[0])), safe)
    return f'"""\\\n{safe}"""'


def _escape(character: str) -> str:
    code = ord(character)
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}"


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
    text: str | None = source
    for argument, names in (("columns", columns), ("values", values)):
        if text is not None and names:
            text = _with_names_of(text, variable, argument, names)
    return text


def _with_names_of(source: str, variable: str, argument: str, names: Mapping[str, str]) -> str | None:
    """Return a source with names added to one argument of the judge; ``None`` where it has no place for them."""
    call = _judge_call(source, variable)
    if call is None:
        return None
    value = _argument_value(call, argument)
    text = source
    if value is None:
        text = _with_argument(source, call, f"{argument}={_dictionary(names)}")
    else:
        try:
            written = ast.literal_eval(value)
        except ValueError:  # it is worked out by code of the user's
            return None
        if not isinstance(written, dict):
            return None
        if not names.items() <= written.items():
            text = _with_span(source, value, _dictionary({**written, **names}))
    # what stands in brackets of its own ends elsewhere than the syntax tree says
    changed = _judge_call(text, variable)
    if changed is None or _argument_value(changed, argument) is None:
        return None
    return text


def _argument_value(call: ast.Call, argument: str) -> ast.expr | None:
    """Return the expression of an argument that is named in a call; ``None`` if it is not."""
    for keyword_argument in call.keywords:
        if keyword_argument.arg == argument:
            return keyword_argument.value
    return None


def _judge_call(source: str, variable: str) -> ast.Call | None:
    """Return the call of ``Judge`` whose result a file keeps under a name; ``None`` if it is written otherwise."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        call = node.value
        is_judge = ast.unparse(call.func).rpartition(".")[2] == "Judge"
        unpacks = any(keyword_argument.arg is None for keyword_argument in call.keywords)
        if _assigns(node, variable) and is_judge and call.keywords and not unpacks:
            return call
    return None


def _assigns(node: ast.Assign, variable: str) -> bool:
    """Return whether an assignment gives its value to a variable."""
    return any(isinstance(target, ast.Name) and target.id == variable for target in node.targets)


def _with_argument(source: str, call: ast.Call, argument: str) -> str:
    """Return a source in which a call has one more argument, on a line of its own where the others have."""
    starts, ends = [], []
    for value in call.args:
        starts.append((value.lineno, value.col_offset))
        ends.append(_end_position(value))
    for keyword_argument in call.keywords:
        starts.append((keyword_argument.lineno, keyword_argument.col_offset))
        ends.append(_end_position(keyword_argument.value))
    first_line, indent = min(starts)
    separator = ", "
    if first_line > call.lineno:
        separator = ",\n" + " " * indent
    place = _offset(source, *max(ends))
    return _replace_bytes(source, place, place, f"{separator}{argument}")


def _with_span(source: str, node: ast.expr, text: str) -> str:
    """Return a source with another text in the place of an expression."""
    start = _offset(source, node.lineno, node.col_offset)
    return _replace_bytes(source, start, _offset(source, *_end_position(node)), text)


def _replace_bytes(source: str, start: int, end: int, text: str) -> str:
    """Return a source with a text in the place of some of its bytes."""
    data = source.encode("utf-8", "surrogateescape")
    return (data[:start] + text.encode() + data[end:]).decode("utf-8", "surrogateescape")


def _end_position(node: ast.expr) -> tuple[int, int]:
    """Return the line, from 1, and the column in bytes where an expression ends."""
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _offset(source: str, line: int, column: int) -> int:
    """Return the place of a line and a column, which Python counts in bytes, in the bytes of a source."""
    offset = column
    for text in source.encode("utf-8", "surrogateescape").split(b"\n")[: line - 1]:
        offset += len(text) + 1
    return offset


def _dictionary(names: Mapping[str, str]) -> str:
    """Return the source of a dictionary, on one line."""
    pairs = [f"{_quoted(theirs)}: {_quoted(ours)}" for theirs, ours in names.items()]
    return "{" + ", ".join(pairs) + "}"
