"""The worked examples that CogniBench's prompts show, one for each label, and why each sentence has it.

All are about one reference. Section 3.1 has contrastive examples at the boundaries that models confuse: a true fact
that the reference lacks beside one that it has, and what follows from it beside what is only plausible. They are ours.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from .cognibench_labels import SentenceLabel

REFERENCE: Final = (
    "The mill of Oster closed in 1911 after a fire. It had employed 200 of the town's 900 people, and it hired nobody "
    "under sixteen."
)


class WorkedExample(NamedTuple):
    """A sentence about the reference, its label, and why."""

    sentence: str
    label: SentenceLabel
    reason: str


EXAMPLES: Final[Sequence[WorkedExample]] = (
    WorkedExample("I am glad to help!", "irrelevant", "It says nothing about the subject."),
    WorkedExample(
        "The mill of Oster shut down in 1911, after a fire.",
        "faithful",
        "The reference says all of it in other words.",
    ),
    WorkedExample(
        "Steam drove the looms of the mill.",
        "invented",
        "A fact, and perhaps a true one, but not in the reference.",
    ),
    WorkedExample(
        "So the mill cannot have mattered to many families.",
        "misleading",
        "It goes against 200 of 900 people having worked there.",
    ),
    WorkedExample(
        "Many families probably moved away in the following years.",
        "speculative",
        "It is plausible, but no stated fact leads to it.",
    ),
    WorkedExample(
        "The closure was a heavy blow to Oster.",
        "reliable",
        "It follows from 200 of 900 people having worked there; heavy is an assessment.",
    ),
    WorkedExample(
        "So no child of twelve was ever hired by the mill.",
        "irrefutable",
        "Whoever accepts that it hired nobody under sixteen must accept this.",
    ),
)


def show_examples(name_of_label: Mapping[SentenceLabel, str]) -> str:
    """Return the examples as the end of an instruction, under the names that a judge has for their labels.

    Args:
        name_of_label: label -> its name for the judge; labels without a name are left out.
    """
    lines = [f'Examples, for the reference "{REFERENCE}":']
    for example in EXAMPLES:
        name = name_of_label.get(example.label)
        if name:
            lines.append(f'{name}: "{example.sentence}" {example.reason}')
    return "\n".join(lines)
