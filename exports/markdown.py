"""The judge as a card for people: what it decides, what was proven of it, and what it sends.

For reading and review; nothing is meant to load it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..text.quoting import in_markdown
from .target import Subject, takes_text

if TYPE_CHECKING:
    import dspy


class MarkdownExporter:
    """A page with the prompt, the labels, the decision and the identity."""

    name = "markdown"
    suffix = ".md"
    limits: tuple[str, ...] = ()

    def render(self, subject: Subject) -> str:
        """Return the page. Text that comes from data is quoted, or stands in fences or code spans."""
        judge = subject.judge
        description = in_markdown(judge.description) if judge.description else f"The judge {judge.name}."
        parts = [f"# {subject.ref}", description]
        parts += _decision_parts(subject)
        answers = []
        for option, remark in judge.answer.scale.listing():
            answers.append(f"- {_code_span(option)} ({remark})" if remark else f"- {_code_span(option)}")
        inputs = [f"- {_code_span(name)}" for name in judge.input_fields]
        parts += ["## Answers", "\n".join(answers), "## Inputs", "\n".join(inputs)]
        has_steps = len(subject.state.predictors) > 1
        for name, predictor in subject.program.named_predictors():  # in the order in which they are asked
            step = f" of {_code_span(name)}" if has_steps else ""
            instructions = subject.state.predictors[name].instructions
            parts += [f"## Instruction{step}", _fenced_block(instructions)]
            parts += [f"## Prompt{step}, as it is sent", *_prompt_parts(subject, predictor, name)]
        parts += ["## Identity", _list_items({**subject.stamp, "proof": subject.proof})]
        return "\n\n".join(parts) + "\n"


def _decision_parts(subject: Subject) -> list[str]:
    """Return the decision with its warnings, and what a row takes; nothing where the card tells of neither."""
    if subject.card is None:
        return []
    decision = subject.card.decision
    lines = []
    if decision.model_fields_set:
        lines.append(f"{decision.verdict or ''}: {decision.words}")
    lines += subject.card.all_warnings
    parts = []
    if lines:
        parts += ["## Decision", "\n".join(f"- {_code_span(line)}" for line in lines)]
    price = subject.card.price_words
    if price:
        parts.append(price[0].upper() + price[1:])
    return parts


def _prompt_parts(subject: Subject, predictor: dspy.Predict, name: str) -> list[str]:
    """Return the messages, an input as ``{{name}}``; of inputs that are no text, the demonstrations alone."""
    if not takes_text(predictor):
        demonstrations = [json.dumps(dict(demo), ensure_ascii=False) for demo in predictor.demos]
        return [_fenced_block(text, "json") for text in demonstrations]
    marks = {field: f"{{{{{field}}}}}" for field in predictor.signature.input_fields}
    adapter = subject.judge.adapter(subject.form)
    messages = adapter.format(predictor.signature, predictor.demos, marks)
    remembered = subject.state.predictors[name].remembered
    facts = {
        "form": subject.form,
        "demonstrations": len(predictor.demos),
        "shown with each row": remembered.words if remembered else "",
        "words": sum(len(message["content"].split()) for message in messages),
        "samples": subject.samples,
    }
    parts = [_list_items(facts)]
    for message in messages:
        parts.append(f"### {message['role']}\n\n{_fenced_block(message['content'])}")
    return parts


def _list_items(values: Mapping[str, object]) -> str:
    """Return the values that there are as lines of a list."""
    lines = []
    for name, value in values.items():
        if value not in (None, ""):
            lines.append(f"- {name}: {_code_span(str(value))}")
    return "\n".join(lines)


def _code_span(text: str) -> str:
    """Return a code span that its text cannot leave."""
    line = " ".join(text.split()) or " "
    ticks = "`" * (_longest_run(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _fenced_block(text: str, language: str = "text") -> str:
    """Return a fenced block that its text cannot leave."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def _longest_run(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max((len(run) for run in re.findall("`+", text)), default=0)
