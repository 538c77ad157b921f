"""Exports of a judge as one Python file that needs no jurist: it has the prompt, the reader of replies and the vote."""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from string import Template
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..evaluation.votes import more_than_half
from ..programs import trace_inputs
from ..programs.answers.portable import INPUT_READERS, TYPED, gives_number
from ..programs.own_answer import OUTPUT, OwnAnswer
from ..text.quoting import in_docstring
from ..text.templates import PLAIN
from ..text.templates import Template as PromptTemplate
from .description import contents, inputs_of, response_format
from .portable_judge import InputSpec, NearestSpec, Schema, StepSpec
from .target import Prompt, Subject, UnsuitableTargetError, messages_of_rows, program_steps, prompt_of

if TYPE_CHECKING:
    from ..programs.judge import Judge

_FILE_TEMPLATE = '''"""$ref: a compiled judge, made by jurist. $about

$proof
"""

from __future__ import annotations

$source


_SPEC = json.loads($spec)
_JUDGE = $class_name(_SPEC)


$code'''


class PortableFile:
    """An export target that writes one file of Python: the judge, and the target's own code.

    In ``usage``, ``note`` and docstrings of the code ``$inputs`` are the names of the judge's inputs, ``$call`` the
    same as keyword arguments, and ``$settings`` those of its requests; the code itself never holds them. ``$model``
    is a model of examples, without its provider.

    Args:
        name: the name of the target.
        needs: the packages that the file needs.
        usage: an expression that shows how the file is used.
        note: sentences for whoever uses it.
        code: Python code of the target, which has ``_JUDGE`` (:class:`~jurist.exports.portable_judge.PortableJudge`)
            and ``_SPEC``.
        imports: the import statements of that code.
        limit: the part of a judge that files of this target cannot hold, in words.
        has_client: whether that code is given a client of an API, which can also ask an endpoint for vectors.
    """

    suffix = ".py"
    shared_limits: tuple[str, ...] = ()  # limits of all targets of the class, in words
    class_name = "PortableJudge"  # of the judge in the file
    last_modules: tuple[str, ...] = ()  # modules that build on that class, such as ``exports.decision_judge``

    def __init__(
        self,
        name: str,
        *,
        needs: str,
        usage: str,
        note: str,
        code: str,
        imports: str = "",
        limit: str | None = None,
        has_client: bool = True,
    ) -> None:
        self.name = name
        self.has_client = has_client
        self.imports = imports.strip()
        self.code = code.lstrip("\n")
        self.about = f"Needs {needs}.\n\n    {usage}\n\n{textwrap.fill(note, 110)}"
        self.limits = self.shared_limits
        if limit is not None:
            self.limits += (limit,)

    def spec_of(self, subject: Subject) -> dict[str, Any]:
        """Return the JSON values from which the judge of the file is made."""
        return portable_spec(subject)

    def render(self, subject: Subject) -> str:
        """Return the source of the file."""
        spec = self.spec_of(subject)
        if not self.has_client:
            _check_needs_no_vectors(subject, spec["steps"].values())
        names = []
        arguments = []
        for column in spec["inputs"]:
            names.append(column["name"])
            arguments.append(f"{column['name']}=...")
        # Imported here, as the client of models takes long to load.
        from ..engines.models import NAME_IN_EXAMPLES

        # Text of the artifact stands in a docstring or in the literal of the spec, never in code.
        template_values = {
            "model": NAME_IN_EXAMPLES,
            "inputs": in_docstring(", ".join(names)),
            "call": in_docstring(", ".join(arguments)),
            "settings": in_docstring(str(spec["settings"])),
            "path": in_docstring(spec.get("decisions", {}).get("path", "")),
        }
        plan, _ = program_steps(subject)
        carried = plan.carries + subject.judge.answer.reader_modules
        if any(column["type"] in INPUT_READERS for column in spec["inputs"]):
            carried += trace_inputs.MODULES
        if subject.word_rule is not None and subject.word_rule.reads_signals:
            carried += ("text.support_signals",)
        return Template(_FILE_TEMPLATE).substitute(
            ref=in_docstring(subject.ref),
            proof=in_docstring("\n".join(textwrap.wrap(subject.proof, 110))),
            about=Template(self.about).substitute(template_values),
            class_name=self.class_name,
            source=portable_source(self.imports, carried, self.last_modules),
            spec=repr(json.dumps(spec)),
            code=Template(self.code).substitute(template_values),
        )


def _check_needs_no_vectors(subject: Subject, steps: Iterable[StepSpec]) -> None:
    """Refuse a judge of which a step chooses the rows that it shows by vectors."""
    for step in steps:
        if step["nearest"] and step["nearest"]["embedder"]:
            raise UnsuitableTargetError(
                f"{subject.ref} chooses by vectors which rows it shows, and this target has no client to ask for them",
                target="python",
            )


def portable_spec(subject: Subject) -> dict[str, Any]:
    """Return the JSON values from which a :class:`~jurist.exports.portable_judge.PortableJudge` is made.

    Raises:
        UsageError: the judge shows, reads or combines something by code that only jurist has.
    """
    plan, predictors = program_steps(subject)
    prompts = {}
    for name, predictor in predictors.items():
        prompts[name] = prompt_of(
            subject, lambda field: f"{{{{{field}}}}}", remembers=True, predictor=predictor
        )
    judge = subject.judge
    first_prompt = next(iter(prompts.values()))
    spec = contents(subject, first_prompt)
    spec["inputs"] = inputs_of(judge)
    spec["settings"] = {"temperature": spec["settings"]["temperature"]}
    steps = {name: _step_spec(prompt) for name, prompt in prompts.items()}
    if subject.own_answer is not None:
        steps[OUTPUT] = _own_answer_step(subject.own_answer)
        spec["own_answer"] = {"task": subject.own_answer.task, "label": subject.own_answer.label}
    _check_portable(subject, spec, steps.values())
    questions = subject.state.questions
    if questions:
        spec["questions"] = [question.kind for question in questions]
    if subject.thresholds.combine:
        spec["combine"] = subject.thresholds.combine
    return {
        **spec,
        "flow": plan.flow,
        "flow_settings": dict(plan.settings),
        "steps": steps,
        "judged": _judged_text(judge, spec["inputs"]),
        "repeatable": judge.answer.repeatable,
        "samples": subject.samples,
        "threshold": subject.thresholds.threshold or more_than_half(subject.samples),
        "weights": subject.thresholds.weights,
        "words": subject.word_rule and subject.word_rule.to_lines(),
    }


def _check_portable(subject: Subject, spec: Mapping[str, Any], steps: Iterable[StepSpec]) -> None:
    """Refuse a judge that shows, reads or combines something by code that only jurist has."""
    reader = spec["parser"]["answer"].get("reader")
    if reader is None or not _can_show_inputs(spec["inputs"]) or not _can_read_outputs(steps):
        raise UnsuitableTargetError(
            f"the replies of {subject.judge.name} cannot be read without jurist's own code", target="messages"
        )
    if reader == "constraints" and subject.samples > 1:
        hint = "export a version of one sample, or run it with jurist"
        raise UsageError(
            f"several samples of {subject.judge.name} are combined by jurist's own code", hint=hint
        )


def _can_show_inputs(inputs: Sequence[InputSpec]) -> bool:
    """Say whether exported files can write all of these inputs into a prompt."""
    return {column["render"] for column in inputs} <= {"as-is", "numbered", "tagged", "lines"}


def _can_read_outputs(steps: Iterable[StepSpec]) -> bool:
    """Say whether exported files can read all outputs of these steps."""
    for step in steps:
        for schema in step["outputs"].values():
            if not _can_read_schema(schema):
                return False
    return True


def _judged_text(judge: Judge, inputs: Sequence[InputSpec]) -> str:
    """Return the name of the input that is judged, if there is one and it is a text; empty otherwise."""
    fields = judge.answer.unit_fields
    if len(fields) != 1:
        return ""
    for column in inputs:
        if column["name"] == fields[0] and column["type"] == "text":
            return fields[0]
    return ""


def _step_spec(prompt: Prompt) -> StepSpec:
    """Return the description of one step: its messages, and the types of its outputs."""
    from pydantic import TypeAdapter

    from ..engines.adapters import bounded_schema

    schemas: dict[str, Schema] = {}
    for name, info in prompt.signature.output_fields.items():
        if prompt.adapter == PLAIN:  # a score in free text is found by the ends of its scale
            schemas[name] = bounded_schema(info)
        else:
            schemas[name] = TypeAdapter(info.annotation).json_schema()
    inputs = []
    for name, placeholder in prompt.placeholders.items():
        inputs.append({"name": name, "placeholder": placeholder})
    return {
        "messages": list(prompt.messages),
        "turn": prompt.turn,
        "inputs": inputs,
        "outputs": schemas,
        "settings": response_format(prompt),
        "nearest": _nearest_spec(prompt),
    }


def _own_answer_step(own_answer: OwnAnswer) -> StepSpec:
    """Return the description of the request for the model's own answer to the task."""
    template = PromptTemplate.of(own_answer.prompt)
    return {
        "messages": template.filled_turn({}),
        "turn": 1,
        "inputs": [{"name": name, "placeholder": f"{{{{{name}}}}}"} for name in own_answer.task],
        "outputs": {OUTPUT: {"type": "string"}},
        "settings": {},
        "nearest": None,
    }


def _nearest_spec(prompt: Prompt) -> NearestSpec | None:
    """Return the description of the rows that a prompt remembers; ``None`` where it remembers none."""
    remembered = prompt.remembered
    if remembered is None:
        return None
    outputs = prompt.signature.output_fields
    partial = []  # places of rows without some output, which DSPy shows before the complete ones
    for place, row in enumerate(remembered.examples):
        if outputs.keys() - dict(row).keys():
            partial.append(place)
    return {
        "rows": remembered.compared,
        "fields": remembered.fields,
        "sizes": remembered.sizes,
        "shown": remembered.shown,
        "tokens": remembered.tokens,
        "embedder": remembered.embedder.partition("/")[2],
        "shown_as": messages_of_rows(prompt),
        "partial": partial,
    }


def _can_read_schema(schema: Schema) -> bool:
    """Say whether the reader of exported files understands a JSON schema, with all schemas inside it."""
    if not schema.keys() <= TYPED or not _states_type(schema):
        return False
    parts = list(schema.get("anyOf", ()))
    parts += schema.get("properties", {}).values()
    parts += schema.get("$defs", {}).values()
    if "items" in schema:
        parts.append(schema["items"])
    return all(_can_read_schema(part) for part in parts)


def _states_type(schema: Schema) -> bool:
    """Say whether a JSON schema states the type of its value, and of items or properties too."""
    if schema.keys() & {"anyOf", "$ref", "enum", "const"}:
        return True
    kind = schema.get("type")
    if kind == "array":
        return "items" in schema
    if kind == "object":
        # The reader fills in no defaults, so every property must be required.
        properties = set(schema.get("properties", {}))
        return "required" in schema and properties == set(schema["required"])
    return "type" in schema


@cache
def portable_source(imports: str = "", carried: Sequence[str] = (), last_modules: Sequence[str] = ()) -> str:
    """Return the source that defines :class:`~jurist.exports.portable_judge.PortableJudge`, with its imports.

    Args:
        imports: the import statements of a target's own code.
        carried: modules that only some judges need, such as ``programs.echo_flow``.
        last_modules: modules that build on that class.
    """
    from ..evaluation import votes
    from ..programs import flows
    from ..programs.answers import portable
    from ..text import (
        drafts,
        escaping,
        numbered_answers,
        plain_replies,
        ranking,
        replies,
        turns,
        word_regression,
        wording,
    )
    from . import portable_judge

    further = [import_module(f"..{path}", __package__) for path in carried]
    last = [import_module(f"..{path}", __package__) for path in last_modules]
    functions: tuple[Callable[..., object], ...] = (votes.more_than_half, votes.sides_of, votes.decide)
    functions += (
        votes.median_vote,
        votes.mean_vote,
        votes.named_vote,
        votes.number_within,
        votes.most_preferred,
        votes.nearest_score,
        wording.strings,
    )
    functions += (turns._number_text, turns._text_or_none, turns._texts_of_content, turns._texts_of_calls)
    functions += (turns._turn_text, turns.as_text)
    reading = (drafts, escaping, ranking, replies, plain_replies, word_regression, numbered_answers)
    return bundle(imports, *reading, *functions, portable, flows, *further, portable_judge, *last)


def bundle(imports: str, *parts: ModuleType | Callable[..., object]) -> str:
    """Return one source that defines all names of some modules and functions, with the imports at its top.

    Docstrings of modules and imports from jurist are left out.
    """
    import_nodes: list[ast.stmt] = list(ast.parse(imports).body)
    defined = set[str]()
    bodies = []
    for part in parts:
        source = inspect.getsource(part)
        lines = source.splitlines()
        names = set[str]()
        for number, node in enumerate(ast.parse(source).body):
            is_import = isinstance(node, ast.Import | ast.ImportFrom)
            is_module_docstring = number == 0 and isinstance(node, ast.Expr)
            if is_import or is_module_docstring:
                end = node.end_lineno or node.lineno
                lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
            if is_import and not _is_ours(node):
                import_nodes.append(node)
            names.update(_defined_names(node))
        if names & defined:
            raise ValueError(f"{part.__name__} defines {', '.join(sorted(names & defined))} again")
        defined |= names
        bodies.append("\n".join(lines).strip("\n"))
    return "\n\n\n".join([_import_lines(import_nodes), *bodies])


def _is_ours(node: ast.stmt) -> bool:
    """Say whether an import is from jurist (a relative one) or from ``__future__``; both are left out."""
    return isinstance(node, ast.ImportFrom) and (node.level > 0 or node.module == "__future__")


def _defined_names(node: ast.stmt) -> list[str]:
    """Return the names of functions, classes and variables that a statement of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _import_lines(nodes: Sequence[ast.stmt]) -> str:
    """Return import statements as text, one line for each module, those of the standard library first."""
    modules = set[str]()
    names_of_modules: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = names_of_modules.setdefault(str(node.module), set())
            names.update(ast.unparse(alias) for alias in node.names)
    own_lines: list[str] = []
    other_lines: list[str] = []
    for module in sorted(modules):
        lines = own_lines if _is_standard(module) else other_lines
        lines.append(f"import {module}")
    for module in sorted(names_of_modules):
        lines = own_lines if _is_standard(module) else other_lines
        lines.append(f"from {module} import {', '.join(sorted(names_of_modules[module]))}")
    if other_lines:
        own_lines.append("")
    return "\n".join(own_lines + other_lines)


def _is_standard(module: str) -> bool:
    """Say whether a module belongs to Python's standard library."""
    return module.split(".")[0] in sys.stdlib_module_names


_LIMITS = (
    "1 is a label that is not positive, the first of a pair, or the top of the scale; units, criteria are averaged",
    "a row's inputs go by their own names, then input, output, expected; the output is what is judged if unnamed",
)


class ScorerFile(PortableFile):
    """A file with a scorer of an evaluation framework, for judges whose verdict is a number from 0 to 1."""

    # The framework's own judging prompts (``model_graded_qa``, ``LLMClassifier``, ``LLMJudge``, ``GEval``) put what is
    # proven inside a prompt that is not, and read the reply in another way. So a file is a scorer of its own instead.

    shared_limits = _LIMITS

    def render(self, subject: Subject) -> str:
        """Return the source of the file. Raises ``UsageError`` for a judge whose verdict is no number."""
        answer = subject.judge.answer
        numbers = []
        for criterion in getattr(answer, "answers", {"": answer}).values():
            reader = criterion.portable_rule().get("reader")
            numbers.append(gives_number(reader, getattr(criterion.scale, "positive", ())))
        if not any(numbers):
            otherwise = "run it with jurist"
            if not subject.judge.document:
                otherwise += "; of labels, positive= names those that count as 0"
            raise UnsuitableTargetError(
                f"{subject.judge.name} gives no one number, which is what {self.name} keeps",
                target="python",
                otherwise=otherwise,
            )
        return super().render(subject)
