"""The other form of whole-response labelling: the response echoed, every sentence in tags that carry its label.

CogniBench's formative prompting (section 3.1, table 6): sentences are shown as ``<>sentence</>`` and the model
copies each of them into ``<faithful>sentence</faithful>``. A label belongs to the sentence whose text was copied,
word for word and in its order, and to no other: an echo that differs gives that sentence none.

The judged text may hold such tags itself. They are defused where they are shown, and a reply to a case that has any
is believed only if it is exactly one echo of each sentence in order: a tag that came out of the judged text tears
its own sentence apart, so it can cost labels and cannot give one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...cases import Values
from .base import Answer, Inputs, Places, Reading, Reply, reasoning_of
from .echo import echoed, harmless, in_tags
from .sentences import PerSentence


@dataclass(frozen=True, kw_only=True)
class Tagged(PerSentence):
    """Texts stand in empty tags, and a reply copies each into tags of its label."""

    rendering: ClassVar[str] = "tagged"
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
            "each <label>text</label> belongs to the next sentence with just that text, white space aside; where a "
            "sentence holds such a tag itself, only a reply that echoes every sentence once and in order counts"
        )
        return {"labels": meaning, "reader": "tagged", "set": list(self.labels)}
