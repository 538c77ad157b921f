"""One Python file with a whole judge, that needs no jurist: the prompt, the reader of replies and the vote."""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from string import Template
from types import ModuleType
from typing import Any

from ..errors import UsageError
from ..evaluation.votes import more_than_half
from ..programs.answers.portable import TYPED, gives_number
from ..text.quoting import in_docstring
from ..text.tables import table
from ..text.templates import PLAIN
from .messages import contents, inputs_of, response_format
from .target import Prompt, Subject, messages_of_rows, planned, prompt_of

_FILE = '''"""$ref: a compiled judge, made by jurist. $about

$proof
"""

from __future__ import annotations

$source


_SPEC = json.loads($spec)
_JUDGE = PortableJudge(_SPEC)


$code'''


class PortableFile:
    """A file of Python source, as an entry of a table in ``data/`` says it."""

    suffix = ".py"
    shared_limits: tuple[str, ...] = ()  # what no file of its kind can hold, in words

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self.name, self.imports, self.code = name, entry.get("imports", "").strip(), entry["code"]
        note = textwrap.fill(entry["note"], 110)
        self.about = f"Needs {entry['needs']}.\n\n    {entry['usage']}\n\n{note}"
        self.limits = (*self.shared_limits, *([entry["limit"]] if "limit" in entry else []))

    def render(self, subject: Subject) -> str:
        """Return the source."""
        spec = portable_spec(subject)
        if any(step["nearest"] and step["nearest"]["embedder"] for step in spec["steps"].values()) and (
            "client" not in self.code
        ):
            raise UsageError(
                f"{subject.ref} chooses by vectors which rows it shows, and this target has no client to ask for them",
                hint="export it to python, or run it with jurist",
            )
        names = [column["name"] for column in spec["inputs"]]
        words = {
            "inputs": ", ".join(names),
            "call": ", ".join(f"{name}=..." for name in names),
            "settings": str(spec["settings"]),
        }
        # All that comes from the artifact stands in a docstring or in the literal of the spec, never in code.
        words = {name: in_docstring(text) for name, text in words.items()}
        carried = planned(subject)[0].carries + subject.judge.answer.reader_modules
        return Template(_FILE).substitute(
            ref=in_docstring(subject.ref),
            proof=in_docstring("\n".join(textwrap.wrap(subject.proof, 110))),
            about=Template(self.about).substitute(words),
            source=portable_source(self.imports, carried),
            spec=repr(json.dumps(spec)),
            code=Template(self.code).substitute(words),
        )


def portable_spec(subject: Subject) -> dict[str, Any]:
    """Return all that a :class:`~jurist.exports.portable_judge.PortableJudge` needs."""
    plan, predictors = planned(subject)
    prompts = {
        name: prompt_of(subject, lambda name: f"{{{{{name}}}}}", remembers=True, predictor=one)
        for name, one in predictors.items()
    }
    judge, spec = subject.judge, contents(subject, next(iter(prompts.values())))
    spec["inputs"] = inputs_of(judge)
    spec["settings"] = {"temperature": spec["settings"]["temperature"]}
    rules = {one["render"] for one in spec["inputs"]}
    reader = spec["parser"]["answer"].get("reader")
    steps = {name: _step(prompt) for name, prompt in prompts.items()}
    schemas = [one for step in steps.values() for one in step["outputs"].values()]
    if (
        reader is None
        or not rules <= {"as-is", "numbered", "tagged", "lines"}
        or not all(map(_can_be_typed, schemas))
    ):
        raise UsageError(
            f"the replies of {subject.judge.name} cannot be read without jurist's own code",
            hint="export it to messages, or run it with jurist",
        )
    texts = [one["name"] for one in spec["inputs"] if one["type"] == "text"]
    judged = judge.answer.unit_fields
    if reader == "constraints" and subject.samples > 1:
        hint = "export a version of one sample, or run it with jurist"
        raise UsageError(f"several samples of {judge.name} are combined by jurist's own code", hint=hint)
    return {
        **spec,
        "flow": plan.flow,
        "flow_settings": dict(plan.settings),
        "steps": steps,
        "judged": judged[0] if len(judged) == 1 and judged[0] in texts else "",
        "repeatable": judge.answer.repeatable,
        "samples": subject.samples,
        "threshold": subject.thresholds.threshold or more_than_half(subject.samples),
        "weights": subject.thresholds.weights,
    }


def _step(prompt: Prompt) -> dict[str, Any]:
    """Return the description of one step: its messages, and the types of its outputs."""
    from pydantic import TypeAdapter

    from ..engines.adapters import bounded_schema

    kept, outputs = prompt.remembered, prompt.signature.output_fields
    schemas: dict[str, Any] = {}
    for name, info in outputs.items():
        is_plain = prompt.adapter == PLAIN  # where no reader but the schema knows the ends of a scale
        schemas[name] = bounded_schema(info) if is_plain else TypeAdapter(info.annotation).json_schema()
    return {
        "messages": list(prompt.messages),
        "turn": prompt.turn,
        "inputs": [{"name": name, "placeholder": mark} for name, mark in prompt.placeholders.items()],
        "outputs": schemas,
        "settings": response_format(prompt),
        "nearest": None
        if kept is None
        else {
            "rows": kept.compared,
            "fields": kept.fields,
            "sizes": kept.sizes,
            "shown": kept.shown,
            "tokens": kept.tokens,
            "embedder": kept.embedder.partition("/")[2],
            "shown_as": messages_of_rows(prompt),
            # rows that leave an output open: DSPy shows them before the others
            "partial": [
                place for place, row in enumerate(kept.examples) if outputs.keys() - dict(row).keys()
            ],
        },
    }


def _can_be_typed(schema: Any) -> bool:
    """Whether the reader of exported files knows all that a JSON Schema says."""
    parts = [
        *schema.get("anyOf", ()),
        *schema.get("properties", {}).values(),
        *schema.get("$defs", {}).values(),
    ]
    parts += [schema["items"]] if "items" in schema else []
    whole = schema.keys() & {"anyOf", "$ref", "enum", "const"} or {
        "array": "items" in schema,
        "object": schema.get("properties", {}).keys()
        == set(schema.get("required", ["?"])),  # none has a default
    }.get(schema.get("type"), "type" in schema)
    return bool(whole) and schema.keys() <= TYPED and all(map(_can_be_typed, parts))


@cache
def portable_source(imports: str = "", carried: Sequence[str] = ()) -> str:
    """Return the source that defines :class:`~jurist.exports.portable_judge.PortableJudge`, after what it imports."""
    # ``imports`` are those of a target's own code; ``carried`` are modules that only some judges need.
    from ..evaluation import votes
    from ..programs import flows
    from ..programs.answers import portable
    from ..text import drafts, escaping, plain_replies, ranking, replies, turns
    from . import portable_judge

    own = [import_module(f"..{path}", __package__) for path in carried]
    functions: tuple[Callable[..., object], ...] = (votes.more_than_half, votes.sides_of, votes.decide)
    functions += (votes.median_vote, votes.named_vote, votes.number_within, votes.most_preferred)
    functions += (turns._spoken, turns.as_text)
    reading = (drafts, escaping, ranking, replies, plain_replies)
    return bundle(imports, *reading, *functions, portable, flows, *own, portable_judge)


def bundle(more: str, *parts: ModuleType | Callable[..., object]) -> str:
    """Return one source of modules and functions, without docstrings and imports of ours; others stand at its top."""
    imported_nodes, defined, bodies = list(ast.parse(more).body), set[str](), []
    for part in parts:
        source = inspect.getsource(part)
        lines, names = source.splitlines(), set[str]()
        for number, node in enumerate(ast.parse(source).body):
            imported = isinstance(node, ast.Import | ast.ImportFrom)
            if imported or (number == 0 and isinstance(node, ast.Expr)):
                lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            ours = isinstance(node, ast.ImportFrom) and (node.level > 0 or node.module == "__future__")
            if imported and not ours:
                imported_nodes.append(node)
        if names & defined:
            raise ValueError(f"{part.__name__} defines {', '.join(sorted(names & defined))} again")
        defined |= names
        bodies.append("\n".join(lines).strip("\n"))
    return "\n\n\n".join([_import_lines(imported_nodes), *bodies])


def _import_lines(nodes: Sequence[ast.stmt]) -> str:
    """Return one line for each module that is imported, Python's own first."""
    plain, names = set[str](), dict[str, set[str]]()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names.setdefault(str(node.module), set()).update(ast.unparse(one) for one in node.names)
        elif isinstance(node, ast.Import):
            plain.update(one.name for one in node.names)
    lines = {name: f"import {name}" for name in sorted(plain)}
    lines |= {f"{name}.": f"from {name} import {', '.join(sorted(names[name]))}" for name in sorted(names)}
    own = [line for name, line in lines.items() if name.split(".")[0] in sys.stdlib_module_names]
    return "\n".join(
        [*own, *([""] if len(own) < len(lines) else []), *(one for one in lines.values() if one not in own)]
    )


PYTHON = PortableFile("python", table(__package__, "python"))
"""The file for whoever has no framework."""


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
        """Return the source; refuse a judge whose verdict is no number."""
        answer = subject.judge.answer
        criteria = getattr(answer, "answers", {"": answer})
        if not any(
            gives_number(criterion.portable_rule().get("reader"), getattr(criterion.scale, "positive", ()))
            for criterion in criteria.values()
        ):
            raise UsageError(
                f"{subject.judge.name} gives no one number, which is what {self.name} keeps",
                hint="export it to python, or run it with jurist; of labels, positive= names those that count as 0",
            )
        return super().render(subject)


SCORERS = tuple(ScorerFile(name, entry) for name, entry in table(__package__, "frameworks").items())
"""A new framework is one more entry of ``data/frameworks.toml``."""
