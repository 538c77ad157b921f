"""The judge as a card for people: what it decides, what was proven of it, and what it sends.

For reading and review; nothing is meant to load it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ...text.quoting import in_markdown
from ..target import Subject, takes_text

if TYPE_CHECKING:
    import dspy


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading of a page."""

    is_verbatim: ClassVar[bool] = True
    text: str
    level: int = 2  # from 1, that of the page

    def plain_texts(self) -> list[str]:
        """Return the heading for a terminal: underlined, with an empty line above all but the page's own."""
        lines = [self.text]
        if self.level > 1:
            lines.insert(0, "")
        underline = _UNDERLINES.get(self.level)
        if underline is not None:
            lines.append(underline * len(self.text))
        return ["\n".join(lines)]


@dataclass(frozen=True, kw_only=True)
class Items:
    """Values, a line each."""

    is_verbatim: ClassVar[bool] = False
    values: tuple[tuple[str, str, str], ...]  # name, may be empty; text; remark, may be empty

    def plain_texts(self) -> list[str]:
        """Return the values for a terminal, each with its name and its remark."""
        texts = []
        for name, text, remark in self.values:
            words = f"{name}: {text}" if name else text
            if remark:
                words += f" ({remark})"
            texts.append(words)
        return texts


@dataclass(frozen=True, kw_only=True)
class Block:
    """A text whose lines stay as they are."""

    is_verbatim: ClassVar[bool] = True
    text: str
    language: str = "text"

    def plain_texts(self) -> list[str]:
        """Return the text for a terminal, indented."""
        return [indent(self.text, "    ")]


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """A paragraph."""

    is_verbatim: ClassVar[bool] = False
    text: str
    is_quoted: bool = False  # whether the text comes from elsewhere, so that its markup means nothing

    def plain_texts(self) -> list[str]:
        """Return the text for a terminal."""
        return [self.text]


Piece: TypeAlias = Heading | Paragraph | Items | Block
"""A part of a page; ``is_verbatim`` says whether the lines of its texts for a terminal stay as they are."""
_UNDERLINES = {1: "=", 2: "-"}
"""Level of a heading -> the mark under it in a terminal."""


class MarkdownExporter:
    """A page with the prompt, the labels, the decision and the identity."""

    name = "markdown"
    suffix = ".md"
    limits: tuple[str, ...] = ()

    def render(self, subject: Subject) -> str:
        """Return the page. Text that comes from data is quoted, or stands in fences or code spans."""
        parts = []
        for piece in page_pieces(subject):
            parts.append(_piece_markdown(piece))
        return "\n\n".join(parts) + "\n"


def page_pieces(subject: Subject) -> list[Piece]:
    """Return the page about a judge in pieces, in the order in which it is read."""
    judge = subject.judge
    pieces: list[Piece] = [
        Heading(text=subject.ref, level=1),
        Paragraph(text=judge.description or f"The judge {judge.name}.", is_quoted=bool(judge.description)),
        *_decision_pieces(subject),
    ]
    answers = []
    for option, remark in judge.answer.scale.listing():
        answers.append(("", option, remark))
    inputs = [("", name, "") for name in judge.input_fields]
    pieces += [Heading(text="Answers"), Items(values=tuple(answers))]
    pieces += [Heading(text="Inputs"), Items(values=tuple(inputs))]
    for name, predictor in subject.program.named_predictors():  # in the order in which they are asked
        step = ""
        if len(subject.state.predictors) > 1:
            step = f" of {_code_span(name)}"
        instructions = subject.state.predictors[name].instructions
        pieces += [Heading(text=f"Instruction{step}"), Block(text=instructions)]
        if subject.asks_decision_model:
            pieces.append(_question_piece(subject))
        else:
            pieces.append(Heading(text=f"Prompt{step}, as it is sent"))
            pieces += _prompt_pieces(subject, predictor)
    pieces += _verifier_pieces(subject)
    pieces += [Heading(text="Identity"), _named_items({**subject.stamp, "proof": subject.proof})]
    return pieces


def _question_piece(subject: Subject) -> Paragraph:
    """Return the sentences on how a decision model is asked, and by which rule its probabilities decide."""
    text = "A decision model is asked this as a question, without a prompt, and answers with probabilities."
    rule = subject.probability_rule
    if rule:
        text += f" {rule[0].upper()}{rule[1:]}."
    return Paragraph(text=text)


def _verifier_pieces(subject: Subject) -> list[Piece]:
    """Return the prompt of each step that verifies what a generator writes, with its source; nothing of a judge."""
    from ...programs.generator import Generator  # the help lists targets, and DSPy takes half a second
    from ...programs.verifiers import verifying_predictors

    generator = subject.judge
    pieces: list[Piece] = []
    if not isinstance(generator, Generator):
        return pieces
    references = {verifier.attribute: verifier.reference for verifier in generator.verified_by}
    for judge_name, attribute in generator.verifiers.items():
        source = references.get(attribute, f"the basic prompt of {judge_name}")
        predictor = verifying_predictors(subject.program, attribute)[0]
        pieces.append(Heading(text=f"Prompt of the verifier {_code_span(attribute)}, as it is sent"))
        pieces.append(Paragraph(text=f"It is from {source}."))
        pieces += _prompt_pieces(subject, predictor)
    return pieces


def _piece_markdown(piece: Piece) -> str:
    """Return a piece as Markdown."""
    if isinstance(piece, Heading):
        return f"{'#' * piece.level} {piece.text}"
    if isinstance(piece, Block):
        return _fenced_block(piece.text, piece.language)
    if isinstance(piece, Paragraph):
        return in_markdown(piece.text) if piece.is_quoted else piece.text
    lines = []
    for name, text, remark in piece.values:
        line = "- "
        if name:
            line += f"{name}: "
        line += _code_span(text)
        if remark:
            line += f" ({remark})"
        lines.append(line)
    return "\n".join(lines)


def _decision_pieces(subject: Subject) -> list[Piece]:
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
    pieces: list[Piece] = []
    if lines:
        pieces += [Heading(text="Decision"), Items(values=tuple(("", line, "") for line in lines))]
    price = subject.card.price_words
    if price:
        pieces.append(Paragraph(text=price[0].upper() + price[1:]))
    return pieces


def _prompt_pieces(subject: Subject, predictor: dspy.Predict) -> list[Piece]:
    """Return the messages, an input as ``{{name}}``; of inputs that are no text, the demonstrations alone."""
    if not takes_text(predictor):
        blocks: list[Piece] = []
        if not predictor.demos:
            blocks.append(Paragraph(text="An input is no text, so that no page can show the whole prompt."))
        for demonstration in predictor.demos:
            text = json.dumps(dict(demonstration), ensure_ascii=False)
            blocks.append(Block(text=text, language="json"))
        return blocks
    marks = {field: f"{{{{{field}}}}}" for field in predictor.signature.input_fields}
    adapter = subject.judge.adapter(subject.form)
    messages = adapter.format(predictor.signature, predictor.demos, marks)
    words = 0
    pieces: list[Piece] = []
    for message in messages:
        words += len(message["content"].split())
        pieces += [Heading(text=message["role"], level=3), Block(text=message["content"])]
    from ...programs.state import PredictorPrompt

    shown_rows, remembered = "", PredictorPrompt.of(predictor).remembered
    if remembered:
        shown_rows = remembered.words
    facts = {
        "form": subject.form,
        "demonstrations": len(predictor.demos),
        "shown with each row": shown_rows,
        "words": words,
        "samples": subject.samples,
    }
    return [_named_items(facts)] + pieces


def _named_items(values: Mapping[str, object]) -> Items:
    """Return the values that there are, with their names."""
    items = []
    for name, value in values.items():
        if value not in (None, ""):
            items.append((name, str(value), ""))
    return Items(values=tuple(items))


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
