"""The judge as a card for people: what it decides, what was proven of it, and what it sends.

For reading and review; nothing is meant to load it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..text.quoting import in_markdown
from .target import Subject, takes_text

if TYPE_CHECKING:
    import dspy


class MarkdownExporter:
    """A page with the prompt, the labels, the decision and the identity."""

    name = "markdown"
    suffix = ".md"

    def render(self, subject: Subject) -> str:
        """Return the page. Text that comes from data is quoted, or stands in fences or code spans."""
        judge = subject.judge
        description = in_markdown(judge.description) if judge.description else f"The judge {judge.name}."
        parts = [f"# {subject.ref}", description]
        decision = subject.card.get("decision") or {}
        lines = [f"{decision.get('verdict', '')}: {decision.get('words', '')}"] if decision else []
        lines += (*(decision.get("warnings") or ()), *(subject.card.get("warnings") or ()))
        parts += ["## Decision", "\n".join(f"- {_span(line)}" for line in lines)] if lines else []
        parts += [subject.price[0].upper() + subject.price[1:]] if subject.price else []
        options = judge.answer.scale.listing()
        listed = (f"- {_span(option)}" + (f" ({remark})" if remark else "") for option, remark in options)
        parts += ["## Answers", "\n".join(listed)]
        parts += ["## Inputs", "\n".join(f"- {_span(name)}" for name in judge.input_fields)]
        many = len(subject.state.predictors) > 1
        for name, predictor in subject.program.named_predictors():  # in the order in which they are asked
            of = f" of {_span(name)}" if many else ""
            parts += [f"## Instruction{of}", _fence(subject.state.predictors[name].instructions)]
            parts += [f"## Prompt{of}, as it is sent", *_sent(subject, predictor, name)]
        parts += ["## Identity", _items({**subject.stamp, "proof": subject.proof})]
        return "\n\n".join(parts) + "\n"


def _sent(subject: Subject, predictor: dspy.Predict, name: str) -> list[str]:
    """Return what is sent, an input as ``{{name}}``; of what is not sent as text, its demonstrations."""
    if not takes_text(predictor):
        return [_fence(json.dumps(dict(demo), ensure_ascii=False), "json") for demo in predictor.demos]
    marks = {name: f"{{{{{name}}}}}" for name in predictor.signature.input_fields}
    adapter = subject.judge.adapter(subject.form)
    sent = adapter.format(predictor.signature, predictor.demos, marks)
    remembered = subject.state.predictors[name].remembered
    about = {
        "form": subject.form,
        "demonstrations": len(predictor.demos),
        "shown with each row": remembered.words if remembered else "",
        "words": sum(len(message["content"].split()) for message in sent),
        "samples": subject.samples,
    }
    return [_items(about), *(f"### {message['role']}\n\n{_fence(message['content'])}" for message in sent)]


def _items(values: Mapping[str, Any]) -> str:
    return "\n".join(f"- {key}: {_span(str(cell))}" for key, cell in values.items() if cell not in (None, ""))


def _span(text: str) -> str:
    """A code span that its text cannot leave."""
    flat = " ".join(str(text).split()) or " "
    ticks = "`" * (_longest_run(flat) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{space}{flat}{space}{ticks}"


def _fence(text: str, language: str = "text") -> str:
    """A fenced block that its text cannot leave."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
