"""One closed label for each of several texts, such as sentences of a response: by number, echoed in tags, or listed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ...cases import Label, Values
from ...text.escaping import one_line
from .base import Answer, Inputs, Places, Reading, Reply, Shares, Tokens, reasoning_of
from .echo import echoed, harmless, in_tags
from .labels import ClosedLabel
from .listed import distinct_lines, listed
from .portable import by_number, member, numbered


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

    def show(self, texts: Sequence[str], places: Sequence[int]) -> Any:
        """Return the texts at these places as the prompt shows them."""
        return numbered(texts, places)

    def render(self, inputs: Inputs, places: Places = None) -> dict[str, Any]:
        return {**inputs, self.unit: self.show(inputs[self.unit], self.asked(inputs, places))}

    def asked(self, inputs: Inputs, places: Places) -> Sequence[int]:
        """Return the places of the texts that are asked for."""
        return range(len(inputs[self.unit])) if places is None else places

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Reading:
        """Return the labels of the texts that were asked for; none for a text that was given two."""
        items, every = _items(reply.get(self.field)), range(1, len(inputs[self.unit]) + 1)
        asked = [place + 1 for place in self.asked(inputs, places)]
        labels_of: dict[int, set[Label]] = {}
        evidence: list[str] = []
        extra = 0
        for item in items:
            number, label, why = (member(item, name) for name in ("n", "label", "evidence"))
            if number in asked and label in self.labels:
                labels_of.setdefault(number, set()).add(label)
            elif isinstance(number, int) and label in self.labels:
                extra += 1
            if why:
                evidence.append(f"{number}. {label}: {why}")
        problem = ""
        try:
            labelled = by_number(items, asked, every, self.labels)
        except ValueError as error:
            labelled, problem = {}, str(error)
        return Reading(
            values=tuple(member(labelled.get(number), "label") for number in every),
            reasoning=reasoning_of(reply) or "\n".join(evidence),
            problem=problem,
            extra=extra,
            duplicated=sum(len(labels) > 1 for labels in labels_of.values()),
        )

    def shares(self, reply: Reply, tokens: Tokens, inputs: Inputs) -> tuple[Shares, ...]:
        items, own = _items(reply.get(self.field)), tokens.get(self.field, ())
        if not own or len(items) != len(own):
            return ()
        shares = {member(item, "n"): share for item, share in zip(items, own, strict=True)}
        return tuple(shares.get(number, {}) for number in range(1, len(inputs[self.unit]) + 1))

    def example(self, values: Values, inputs: Inputs) -> Any:
        return [{"n": n, "label": label} for n, label in enumerate(values, 1) if label is not None]

    def render_rule(self, name: str) -> str:
        return self.rendering if name == self.unit else "as-is"

    def parser_rule(self) -> dict[str, Any]:
        return {"field": self.field, "label_of_value": None, **self.label_rule()}

    def label_rule(self) -> dict[str, Any]:
        """Return for other systems which text a label in a reply belongs to."""
        meaning = (
            "each item's label belongs to the sentence with its number n; numbers start at 1, and a reply with a "
            "number that no sentence has is no answer"
        )
        return {"labels": meaning, "reader": "numbered", "set": list(self.labels)}


def _items(value: Any) -> Sequence[Any]:
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

    def show(self, texts: Sequence[str], places: Sequence[int]) -> Any:
        return in_tags(texts, places, self.labels)

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Reading:
        """Return the labels of the texts that were asked for, matched by text and order."""
        texts, asked = inputs[self.unit], self.asked(inputs, places)
        values, extra, duplicated, problem = echoed(reply.get(self.field), self.labels, texts, asked)
        return Reading(
            values=values,
            reasoning="" if problem else reasoning_of(reply),
            problem=problem,
            extra=extra,
            duplicated=duplicated,
        )

    def example(self, values: Values, inputs: Inputs) -> str:
        pairs = zip(values, inputs[self.unit], strict=True)
        return "\n".join(
            f"<{label}>{harmless(text, self.labels)}</{label}>" for label, text in pairs if label is not None
        )

    def label_rule(self) -> dict[str, Any]:
        meaning = (
            "each <label>text</label> belongs to the next sentence with just that text, white space aside; other text "
            "around the tags makes the reply no answer; where a sentence holds such a tag itself, only a reply that "
            "echoes every sentence once and in order counts"
        )
        return {"labels": meaning, "reader": "tagged", "set": list(self.labels)}


_SHOWN: Final = 60


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

    def show(self, texts: Sequence[str], places: Sequence[int]) -> Any:
        return "\n".join(distinct_lines(texts))

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Reading:
        """Return each text's label; without a list there is none, after an unusable string only the named."""
        texts, items, (clear, named) = inputs[self.unit], reply.get(self.field), self.labels
        if not isinstance(items, list | tuple):
            return Reading(values=(None,) * len(texts), problem=f"{self.field} is no list")
        labels, lost = listed(items, texts, clear, named)
        return Reading(values=labels, reasoning=reasoning_of(reply), problem=_problem(lost, len(items)))

    def example(self, values: Values, inputs: Inputs) -> list[str]:
        """Return the lines of the found texts."""
        # An unlabelled text is not in the list, which says that it is not found: do not train on such rows.
        lines = zip(distinct_lines(inputs[self.unit]), values, strict=True)
        return [line for line, label in lines if label == self.labels[1]]

    def label_rule(self) -> dict[str, Any]:
        meaning = (
            "a line of the input that is listed word for word has the label 'listed', every other line 'not_listed'; "
            "compare without case, white space and quotation marks; a word for nothing, such as None, alone in the "
            "list, lists no line; any other listed string that is in no line or in several is counted, and lines that "
            "nothing names have no usable label then; jurist.programs.answers.sentences has the rule for parts"
        )
        clear, named = self.labels
        return {"labels": meaning, "listed": named, "not_listed": clear, "reader": "listed"}


def _problem(lost: Sequence[str], count: int) -> str:
    if not lost:
        return ""
    first = one_line(lost[0])[:_SHOWN]
    return f"{len(lost)} of {count} returned strings name no sentence of the response: {first!r}"
