"""A detector's answer: a list of strings from the response, read back as one label per sentence.

The response is shown one sentence to a line. CogniBench's detector (appendix A.10) returns the hallucinated
sentences themselves, so nothing but the text says which sentence is meant, and every returned string is looked
up in it. Texts are compared after one normalisation (``as_compared`` of :mod:`.listed`): Unicode NFKC, lower case, and
neither white space nor quotation marks. In this order a string is

1. a line, word for word: that sentence. A sentence that occurs again is shown with its number, ``Yes. (2)``, so
   that every line is another one; a string without the number is the first mention, then the second, and so on;
2. a line without its list marker, or a part of exactly one sentence, at least four letters or digits of it: that
   sentence, as the paper does with detectors that mark less than a sentence (appendix A.8.1);
3. a run over several sentences, at one place only: those of which it covers at least half, or, if there are none,
   the one of which it covers most;
4. anything else, such as a rewording or a part that stands in two sentences: unusable, and counted. It was meant
   to name a sentence, and nobody knows which. So the named sentences are hallucinated, and all the others, which
   would be faithful only because nothing names them, have no label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ...cases import Values
from ...text.escaping import one_line
from .base import Answer, Inputs, Places, Reading, Reply, reasoning_of
from .listed import distinct_lines, listed
from .sentences import PerSentence

_SHOWN: Final = 60


@dataclass(frozen=True, kw_only=True)
class Listed(PerSentence):
    """Texts stand on a line each, and a reply lists those that were found; all others have the other label.

    ``labels`` are that of every other text, then that of a listed one.
    """

    repeatable: ClassVar[bool] = False
    rendering: ClassVar[str] = "lines"
    shares = Answer.shares  # what is not listed has none

    def show(self, texts: Sequence[str], places: Sequence[int]) -> Any:
        return "\n".join(distinct_lines(texts))

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Reading:
        """Return each text's label; without a list there is none, after an unusable string only the named."""
        texts, items, (clear, found) = inputs[self.unit], reply.get(self.field), self.labels
        if not isinstance(items, list | tuple):
            return Reading(values=(None,) * len(texts), problem=f"{self.field} is no list")
        labels, lost = listed(items, texts, clear, found)
        return Reading(values=labels, reasoning=reasoning_of(reply), problem=_problem(lost, len(items)))

    def example(self, values: Values, inputs: Inputs) -> list[str]:
        """Return the lines of the found texts."""
        # An unlabelled text is not in the list, which says that it is not found: do not train on such rows.
        lines = zip(distinct_lines(inputs[self.unit]), values, strict=True)
        return [line for line, label in lines if label == self.labels[1]]

    def label_rule(self) -> dict[str, Any]:
        meaning = (
            "a line of the input that is listed word for word has the label 'listed', every other line 'not_listed'; "
            "compare without case, white space and quotation marks; a listed string that is in no line or in several "
            "is counted, and lines that nothing names have no usable label then; jurist.programs.answers.spans has "
            "the rule for parts and runs"
        )
        clear, found = self.labels
        return {"labels": meaning, "listed": found, "not_listed": clear, "reader": "listed"}


def _problem(lost: Sequence[str], count: int) -> str:
    if not lost:
        return ""
    first = one_line(lost[0])
    shown = first if len(first) <= _SHOWN else first[: _SHOWN - 1] + "…"
    return f"{len(lost)} of {count} returned strings name no sentence of the response: {shown!r}"
