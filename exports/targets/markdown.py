"""The judge as a card for people: what it decides, what was proven of it, and what it sends.

For reading and review; nothing is meant to load it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...text.quoting import in_markdown
from ..target import Subject, takes_text

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
        description = f"The judge {judge.name}."
        if judge.description:
            description = in_markdown(judge.description)
        parts = [f"# {subject.ref}", description]
        parts += _decision_parts(subject)
        answers = []
        for option, remark in judge.answer.scale.listing():
            answer = _bullet(option)
            if remark:
                answer += f" ({remark})"
            answers.append(answer)
        inputs = map(_bullet, judge.input_fields)
        parts += ["## Answers", "\n".join(answers), "## Inputs", "\n".join(inputs)]
        for name, predictor in subject.program.named_predictors():  # in the order in which they are asked
            step = ""
            if len(subject.state.predictors) > 1:
                step = f" of {_code_span(name)}"
            instructions = subject.state.predictors[name].instructions
            parts += [f"## Instruction{step}", _fenced_block(instructions)]
            parts.append(f"## Prompt{step}, as it is sent")
            parts += _prompt_parts(subject, predictor, name)
        parts += ["## Identity", _list_items({**subject.stamp, "proof": subject.proof})]
        return "\n\n".join(parts) + "\n"


def _decision_parts(subject: Subject) -> list[str]:
    """Return the decision with its warnings, and what a row takes; nothing where the card tells of neither."""
    if subject.card is None:
        return []
    decision = subject.card.decision
    lines = []
    if subject.card.refit is not None:
        lines.append(subject.card.refit_words)
    if decision.model_fields_set:
        lines.append(f"{decision.verdict or ''}: {decision.words}")
    lines += subject.card.all_warnings
    parts = []
    if lines:
        parts += ["## Decision", "\n".join(map(_bullet, lines))]
    price = subject.card.price_words
    if price:
        parts.append(price[0].upper() + price[1:])
    return parts


def _prompt_parts(subject: Subject, predictor: dspy.Predict, name: str) -> list[str]:
    """Return the messages, an input as ``{{name}}``; of inputs that are no text, the demonstrations alone."""
    if not takes_text(predictor):
        blocks = []
        for demonstration in predictor.demos:
            text = json.dumps(dict(demonstration), ensure_ascii=False)
            blocks.append(_fenced_block(text, "json"))
        return blocks
    marks = {field: f"{{{{{field}}}}}" for field in predictor.signature.input_fields}
    adapter = subject.judge.adapter(subject.form)
    messages = adapter.format(predictor.signature, predictor.demos, marks)
    words, blocks = 0, []
    for message in messages:
        words += len(message["content"].split())
        blocks.append(f"### {message['role']}\n\n{_fenced_block(message['content'])}")
    shown_rows, remembered = "", subject.state.predictors[name].remembered
    if remembered:
        shown_rows = remembered.words
    facts = {
        "form": subject.form,
        "demonstrations": len(predictor.demos),
        "shown with each row": shown_rows,
        "words": words,
        "samples": subject.samples,
    }
    return [_list_items(facts)] + blocks


def _list_items(values: Mapping[str, object]) -> str:
    """Return the values that there are as lines of a list."""
    lines = []
    for name, value in values.items():
        if value not in (None, ""):
            lines.append(f"- {name}: {_code_span(str(value))}")
    return "\n".join(lines)


def _bullet(text: str) -> str:
    """Return a text as a line of a list."""
    return f"- {_code_span(text)}"


def _code_span(text: str) -> str:
    """Return a code span that its text cannot leave."""
    line = " ".join(text.split()) or " "
    ticks = "`" * (_longest_run(line) + 1)
    if line.startswith("`") or line.endswith("`"):
        line = f" {line} "
    return f"{ticks}{line}{ticks}"


def _fenced_block(text: str, language: str = "text") -> str:
    """Return a fenced block that its text cannot leave."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def _longest_run(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)


exporter = MarkdownExporter()
