"""The Python file of a judge, written from a user's own prompt, or given further names of columns and labels."""

import ast
import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError, as_data, system_message
from ..gold.files import Place, find_text_fault
from ..text.templates import LogicInTemplateError, Template

_RESERVED_NAMES = {"signature", "instructions", "fields", "input_fields", "output_fields", "model_config"}
"""Attributes of DSPy's signatures, which no field may have as its name."""
_INVISIBLE = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0e-\x1f\x7f-\x9f]|[ \t]+$", re.MULTILINE)
"""Characters that editors or Python's parser change or hide, so that they are written as escapes."""
_CLOSING_QUOTES = re.compile(r'"{3,}|"+\Z')
"""Quotes that would end a text between triple quotes."""
_VARIABLES_HINT = "write the inputs as {{name}}, or keep the template and write the judge's file by hand"


def read_prompt(path: Path) -> Template:
    """Return the prompt in a file: a text, or chat messages in JSON.

    Its variables are written ``{{name}}``, or all of them ``{name}``.

    Raises:
        UsageError: the file cannot be read, or holds no prompt with variables.
    """
    content = _read_prompt_file(path)
    if isinstance(content, Mapping):
        content = content.get("messages")
    try:
        template = Template.of(content)
    except LogicInTemplateError as error:
        raise UsageError(
            f"{as_data(path)} has more than variables in its template", hint=_VARIABLES_HINT
        ) from error
    except ValueError as error:
        hint = "give text, or messages with role and content"
        raise UsageError(f"{as_data(path)} holds no prompt that is known", hint=hint) from error
    if not template.variables:
        raise UsageError(
            f"{as_data(path)} has no variable, so there is nothing to judge",
            hint="write the inputs as {{name}}",
        )
    for name in template.variables:
        if keyword.iskeyword(name) or name.startswith("_") or name in _RESERVED_NAMES:
            raise UsageError(
                f"{as_data(path)} has a variable {name!r}, which cannot be a field", hint="rename it"
            )
    return template


def _read_prompt_file(path: Path) -> object:
    """Return the text of a file, or the value in a JSON file."""
    try:
        text = path.read_text("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise UsageError(
            f"{as_data(path)} cannot be read: {system_message(error)}", hint="name a text file or JSON"
        ) from error
    fault = find_text_fault(text, Place(str(path)))
    if fault:
        raise UsageError(fault.message, hint=fault.hint)
    if path.suffix.lower() != ".json":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{as_data(path)} is not JSON: {error}", hint="correct it, or give it another suffix"
        ) from error


_SCALE = re.compile(r"(-?\d+(?:\.\d+)?)\s*-\s*(-?\d+(?:\.\d+)?)", re.ASCII)
_FILE = '''"""{judge}: a judge made from {prompt_file}."""
{imports}
import dspy

import jurist

# The prompt as it stands. It is sent with the values in it and nothing else.
PROMPT = {prompt}


class {class_name}(dspy.Signature):
{inputs}
    {output}: {annotation}


judge = jurist.Judge(
    name="{judge}",
    signature={class_name},
    prompt=PROMPT,
    {arguments},
)
'''


@dataclass(frozen=True, kw_only=True)
class AnswerSource:
    """The Python source of a judge's answer."""

    names: Sequence[str]  # names for the output field; the first one that is no input is used
    annotation: str  # the type of that field and its default, as source
    arguments: str  # arguments of ``jurist.Judge``, as source; ``{unit}`` is replaced by the judged input
    words: str  # a description for people


def answer_of_labels(labels: Sequence[str], positive: Sequence[str] = ()) -> AnswerSource:
    """Return the source of an answer that is one of some labels.

    Of two labels the last is positive, of three or more none, unless ``positive`` names some.
    """
    positive_labels = list(positive)
    if not positive_labels and len(labels) <= 2:
        positive_labels = list(labels[-1:])
    arguments = "unit={unit}"
    positive_words = "no positive class"
    if positive_labels:
        arguments = f"positive=frozenset({{{_quoted_list(positive_labels)}}}),\n    {arguments}"
        positive_words = f"the positive class is {', '.join(positive_labels)}"
    return AnswerSource(
        names=("label", "verdict", "decision", "judged_label"),
        annotation=f"Literal[{_quoted_list(labels)}] = dspy.OutputField()",
        arguments=arguments,
        words=f"labels {', '.join(labels)}; {positive_words}; compiled for balanced_accuracy",
    )


def answer_of_score(scale: str) -> AnswerSource:
    """Return the source of an answer that is a number from one end of a scale to the other.

    The scale ``1-5`` has whole numbers, ``0.0-1.0`` all between its ends.
    """
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
    """Return the source of an answer that says which of two inputs is better: ``first``, ``second`` or ``tie``."""
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
    prompt_file: str,
    prompt: Template,
    answer: AnswerSource,
    unit: str = "",
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
    traces: Sequence[str] = (),
    merge: str | None = None,
) -> str:
    """Return the text of a judge's file.

    Args:
        name: the judge's name.
        prompt_file: the name of the prompt's file, for the docstring.
        prompt: the prompt.
        answer: the source of the answer.
        unit: the input that is judged; default: the prompt's last variable.
        columns: column -> field; the field ``label`` stands for the output field.
        values: label in files -> label of the judge.
        traces: the inputs that are traces of agents.
        merge: the rule that merges the labels of raters, if one was named.
    """
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
    if merge:
        arguments.append(f"merge={_quoted(merge)}")
    input_lines: list[str] = []
    for variable in prompt.variables:
        kind = "jurist.Trace" if variable in traces else "str"
        input_lines.append(f"    {variable}: {kind} = dspy.InputField()")
    imports = ""
    if "Literal" in answer.annotation:
        imports = "\nfrom typing import Literal\n"
    return _FILE.format(
        judge=name,
        prompt_file=re.sub(r'["\\]', "'", prompt_file),
        imports=imports,
        class_name=_class_name(name),
        prompt=_prompt_source(prompt.as_prompt()),
        inputs="\n".join(input_lines),
        output=output,
        annotation=answer.annotation,
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
    """Return JSON values as Python source: texts, and mappings of texts, are written alike in both."""
    return json.dumps(value, ensure_ascii=False)


def _quoted_list(texts: Sequence[str]) -> str:
    """Return the source of some texts, with commas between them."""
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
    safe = _CLOSING_QUOTES.sub(lambda quotes: quotes[0].replace('"', '\\"'), safe)
    safe = _INVISIBLE.sub(lambda run: "".join(map(_escape, run[0])), safe)
    return f'"""\\\n{safe}"""'


def _escape(character: str) -> str:
    """Return a character as an escape of Python source."""
    code = ord(character)
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}"


def add_names(
    source: str, variable: str, columns: Mapping[str, str], values: Mapping[str, str]
) -> str | None:
    """Return the text of a judge's file with further names of columns and labels; ``None`` if they cannot be added.

    Args:
        source: the text of the file.
        variable: the name that the judge has in it.
        columns: column -> field, added to ``columns=`` of the judge.
        values: label of a file -> label of the judge, added to ``values=``.
    """
    text: str | None = source
    for argument, names in (("columns", columns), ("values", values)):
        if text is not None and names:
            text = _add_names_to_argument(text, variable, argument, names)
    return text


def _add_names_to_argument(source: str, variable: str, argument: str, names: Mapping[str, str]) -> str | None:
    """Return a source with names added to one argument of the judge; ``None`` if they cannot be added."""
    call = _judge_call(source, variable)
    if call is None:
        return None
    value = _argument_value(call, argument)
    text = source
    if value is None:
        text = _add_argument(source, call, f"{argument}={_dictionary_source(names)}")
    else:
        try:
            written = ast.literal_eval(value)
        except ValueError:  # the argument is no literal: code of the user computes it
            return None
        if not isinstance(written, dict):
            return None
        if not names.items() <= written.items():
            text = _replace_expression(source, value, _dictionary_source({**written, **names}))
    # The syntax tree leaves out brackets around an expression, so the new text may stand in the wrong place.
    changed = _judge_call(text, variable)
    if changed is None or _argument_value(changed, argument) is None:
        return None
    return text


def _argument_value(call: ast.Call, argument: str) -> ast.expr | None:
    """Return the expression of a keyword argument in a call; ``None`` if the call has no such argument."""
    for keyword_argument in call.keywords:
        if keyword_argument.arg == argument:
            return keyword_argument.value
    return None


def _judge_call(source: str, variable: str) -> ast.Call | None:
    """Return the call in ``variable = Judge(...)`` at the top level of a file.

    ``None`` if there is none, or if it has no keyword arguments, or ``**`` among them.
    """
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
    """Say whether an assignment gives its value to a variable."""
    return any(isinstance(target, ast.Name) and target.id == variable for target in node.targets)


def _add_argument(source: str, call: ast.Call, argument: str) -> str:
    """Return a source in which a call has one more argument, on a line of its own if the first one has."""
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


def _replace_expression(source: str, node: ast.expr, text: str) -> str:
    """Return a source with a text in the place of an expression."""
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
    """Return the byte of a source at which a line, from 1, has a column, counted in bytes as by ``ast``."""
    offset = column
    for text in source.encode("utf-8", "surrogateescape").split(b"\n")[: line - 1]:
        offset += len(text) + 1
    return offset


def _dictionary_source(names: Mapping[Any, object]) -> str:
    """Return the source of a dictionary, on one line."""
    pairs: list[str] = []
    for name, meaning in names.items():
        pairs.append(f"{_literal_source(name)}: {_literal_source(meaning)}")
    return "{" + ", ".join(pairs) + "}"


def _literal_source(value: object) -> str:
    """Return the source of a literal: a text between double quotes, or another value, such as ``None``."""
    if isinstance(value, str):
        return _quoted(value)
    return repr(value)
