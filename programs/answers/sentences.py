"""One closed label for each of several texts, such as sentences of a response: by number, echoed in tags, or listed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from ...cases import Values
from ...text.escaping import one_line
from ..verdicts import Verdict
from .base import Answer, Inputs, Places, Reply, Shares, Tokens, reasoning_of
from .echo import defuse_tags, put_in_tags, read_echo
from .labels import ClosedLabel
from .listed import distinct_lines, read_list
from .portable import by_number, member, number_sentences


@dataclass(frozen=True, kw_only=True)
class PerSentence(ClosedLabel):
    """One closed label for each of the texts in the list ``unit``, which are shown with numbers.

    A reply is a list of items with the number ``n`` of a text and its ``label``. A number that no text has makes the
    whole reply unusable: a model that counts from 0 shifts every label. Subclasses ask in other forms.
    """

    per_unit: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True
    rendering: ClassVar[str] = "numbered"  # what exports call the way in which the texts are shown

    def units(self, inputs: Inputs) -> tuple[str, ...]:
        return tuple(inputs[self.unit])

    def show(self, texts: Sequence[str], places: Sequence[int]) -> str:
        """Return the texts at these places as the prompt shows them."""
        return number_sentences(texts, places)

    def render(self, inputs: Inputs, places: Places = None) -> dict[str, object]:
        return {**inputs, self.unit: self.show(inputs[self.unit], self.asked_places(inputs, places))}

    def asked_places(self, inputs: Inputs, places: Places) -> Sequence[int]:
        """Return the places of the texts that are asked for."""
        if places is None:
            return range(len(inputs[self.unit]))
        return places

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Verdict:
        """Return the labels of the texts that were asked for; none for a text that was given two."""
        items = _sequence_of(reply.get(self.field))
        all_numbers = range(1, len(inputs[self.unit]) + 1)
        asked_numbers = [place + 1 for place in self.asked_places(inputs, places)]
        labels_of: dict[object, set[object]] = {}
        evidence_lines: list[str] = []
        extra = 0
        for item in items:
            number, label, evidence = member(item, "n"), member(item, "label"), member(item, "evidence")
            if number in asked_numbers and label in self.labels:
                labels_of.setdefault(number, set()).add(label)
            elif isinstance(number, int) and label in self.labels:
                extra += 1
            if evidence:
                evidence_lines.append(f"{number}. {label}: {evidence}")
        duplicated = 0
        for labels in labels_of.values():
            if len(labels) > 1:
                duplicated += 1
        problem = ""
        labelled_items: dict[int, object] = {}
        try:
            labelled_items = by_number(items, asked_numbers, all_numbers, self.labels)
        except ValueError as error:
            problem = str(error)
        return Verdict(
            values=tuple(member(labelled_items.get(number), "label") for number in all_numbers),
            reasoning=reasoning_of(reply) or "\n".join(evidence_lines),
            error=problem,
            extra=extra,
            duplicated=duplicated,
        )

    def shares(self, reply: Reply, tokens: Tokens, inputs: Inputs) -> tuple[Shares, ...]:
        items = _sequence_of(reply.get(self.field))
        item_shares = tokens.get(self.field, ())
        if not item_shares or len(items) != len(item_shares):
            return ()
        shares_of: dict[object, Shares] = {}
        for item, shares in zip(items, item_shares, strict=True):
            shares_of[member(item, "n")] = shares
        return tuple(shares_of.get(number, {}) for number in range(1, len(inputs[self.unit]) + 1))

    def example(self, values: Values, inputs: Inputs) -> object:
        items: list[dict[str, object]] = []
        for number, label in enumerate(values, 1):
            if label is not None:
                items.append({"n": number, "label": label})
        return items

    def render_rule(self, name: str) -> str:
        if name == self.unit:
            return self.rendering
        return "as-is"

    def parser_rule(self) -> dict[str, object]:
        return {"field": self.field, "label_of_value": None, **self.label_rule()}

    def label_rule(self) -> dict[str, object]:
        """Return for other systems which text a label in a reply belongs to."""
        meaning = (
            "each item's label belongs to the sentence with its number n; numbers start at 1, and a reply with a "
            "number that no sentence has is no answer"
        )
        return {"labels": meaning, "reader": "numbered", "set": list(self.labels)}


def _sequence_of(value: object) -> Sequence[object]:
    """Return the items of a list; none of anything else."""
    return value if isinstance(value, list | tuple) else ()


@dataclass(frozen=True, kw_only=True)
class Tagged(PerSentence):
    """Texts stand in empty tags, and a reply copies each into tags of its label.

    CogniBench's formative prompting (section 3.1, table 6): sentences are shown as ``<>sentence</>`` and the model
    copies each of them into ``<faithful>sentence</faithful>``. A label belongs to the sentence whose text was copied,
    word for word and in its order, and to no other: an echo that differs gives that sentence none. Other text around
    the tags, as in ``not <faithful>...</faithful>``, makes the reply unusable.

    The judged text may hold such tags itself. They are defused where they are shown, and a reply to a case that has any
    is believed only if it is exactly one echo of each sentence in order: a tag that came out of the judged text tears
    its own sentence apart, so it can cost labels and cannot give one.
    """

    rendering: ClassVar[str] = "tagged"
    reader_modules: ClassVar[tuple[str, ...]] = ("programs.answers.echo",)
    shares = Answer.shares  # an echo has no items

    def show(self, texts: Sequence[str], places: Sequence[int]) -> str:
        return put_in_tags(texts, places, self.labels)

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Verdict:
        """Return the labels of the texts that were asked for, matched by text and order."""
        asked_places = self.asked_places(inputs, places)
        echo = read_echo(reply.get(self.field), self.labels, inputs[self.unit], asked_places)
        return Verdict(
            values=echo.labels,
            reasoning="" if echo.problem else reasoning_of(reply),
            error=echo.problem,
            extra=echo.extra,
            duplicated=echo.duplicated,
        )

    def example(self, values: Values, inputs: Inputs) -> str:
        lines: list[str] = []
        for label, text in zip(values, inputs[self.unit], strict=True):
            if label is not None:
                lines.append(f"<{label}>{defuse_tags(text, self.labels)}</{label}>")
        return "\n".join(lines)

    def label_rule(self) -> dict[str, object]:
        meaning = (
            "each <label>text</label> belongs to the next sentence with just that text, white space aside; other text "
            "around the tags makes the reply no answer; where a sentence holds such a tag itself, only a reply that "
            "echoes every sentence once and in order counts"
        )
        return {"labels": meaning, "reader": "tagged", "set": list(self.labels)}


_QUOTED: Final = 60
"""Characters that a problem quotes of a returned string."""


@dataclass(frozen=True, kw_only=True)
class Listed(PerSentence):
    """Texts stand on a line each, and a reply lists those that were found; all others have the other label.

    ``labels`` are that of every other text, then that of a listed one.

    The response is shown one sentence to a line. CogniBench's detector (appendix A.10) returns the hallucinated
    sentences themselves, so nothing but the text says which sentence is meant, and every returned string is looked
    up in it. Texts are compared after one normalisation (``as_compared`` of :mod:`.listed`): Unicode NFKC, lower case,
    and neither white space nor quotation marks. In this order a string is

    1. a line, word for word: that sentence. A sentence that occurs again is shown with its number, ``Yes. (2)``, so
       that every line is another one; a string without the number is the first mention, then the second, and so on;
    2. a line without its list marker, or a part of exactly one sentence, in whole words, at least four letters or
       digits and an eighth of it: that sentence, as the paper does with detectors that mark less than a sentence
       (appendix A.8.1);
    3. a word for nothing ("None", "无"), alone in the list: no sentence;
    4. anything else, such as a rewording, a run over several sentences or a part that stands in two: unusable, and
       counted. It was meant to name a sentence, and nobody knows which. So the named sentences are hallucinated, and
       all the others, which would be faithful only because nothing names them, have no label.
    """

    repeatable: ClassVar[bool] = False
    rendering: ClassVar[str] = "lines"
    reader_modules: ClassVar[tuple[str, ...]] = ("programs.answers.listed",)
    shares = Answer.shares  # what is not listed has none

    def show(self, texts: Sequence[str], places: Sequence[int]) -> str:
        return "\n".join(distinct_lines(texts))

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Verdict:
        """Return each text's label; without a list there is none, after an unusable string only the named."""
        texts, items = inputs[self.unit], reply.get(self.field)
        if not isinstance(items, list | tuple):
            return Verdict(values=(None,) * len(texts), error=f"{self.field} is no list")
        unlisted_label, listed_label = self.labels
        labels, unknown_strings = read_list(items, texts, unlisted_label, listed_label)
        problem = ""
        if unknown_strings:
            problem = _describe_unknown(unknown_strings, len(items))
        return Verdict(values=labels, reasoning=reasoning_of(reply), error=problem)

    def example(self, values: Values, inputs: Inputs) -> list[str]:
        """Return the lines of the found texts."""
        # An unlabelled text is not in the list, which says that it is not found: do not train on such rows.
        lines: list[str] = []
        for line, label in zip(distinct_lines(inputs[self.unit]), values, strict=True):
            if label == self.labels[1]:
                lines.append(line)
        return lines

    def label_rule(self) -> dict[str, object]:
        meaning = (
            "a line of the input that is listed word for word has the label 'listed', every other line 'not_listed'; "
            "compare without case, white space and quotation marks; a word for nothing, such as None, alone in the "
            "list, lists no line; any other listed string that is in no line or in several is counted, and lines that "
            "nothing names have no usable label then; jurist.programs.answers.sentences has the rule for parts"
        )
        unlisted_label, listed_label = self.labels
        return {
            "labels": meaning,
            "listed": listed_label,
            "not_listed": unlisted_label,
            "reader": "listed",
        }


def _describe_unknown(unknown_strings: Sequence[str], count: int) -> str:
    """Return how many of the returned strings name no sentence, and the first of them."""
    first = one_line(unknown_strings[0])[:_QUOTED]
    return f"{len(unknown_strings)} of {count} returned strings name no sentence of the response: {first!r}"
