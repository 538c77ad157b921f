"""Judging each sentence of a response in two calls: first its kind, then the tier of the cognitive ones (section 3.1).

CogniBench's second-stage prompt puts cognitive statements into four sub-categories, called tiers here. The first call
tags each sentence as irrelevant, faithful, invented or cognitive. The second call sees the cognitive sentences only,
under the numbers they have in the response; it is left out where there are none. The answer is the one of the
``cognibench`` judge: one of seven labels for each sentence.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..cases import Case, Label
from ..signatures.cognibench_labels import ECHO_LABELS, TIERS
from .answers.sentences import Tagged
from .cognibench import COGNIBENCH, response_signature, verdict_word
from .echo_flow import show_tags
from .flows import make_label_items, select_lines
from .judge import OwnProgram

if TYPE_CHECKING:
    from .state import Demo

COGNITIVE: Final = "cognitive"
"""What the first stage calls a sentence that the second one divides."""


def _demonstrate_stages(case: Case) -> "dict[str, Demo]":
    """Return stage -> the demonstration that gold gives it; without cognitive sentences the second stage has none."""
    gold_labels = _numbered_gold(case)
    tags = dict(gold_labels)
    tiers: dict[int, object] = {}
    for number, label in gold_labels.items():
        if label in TIERS:
            tags[number] = COGNITIVE
            tiers[number] = label
    inputs = COGNIBENCH_STAGED.prompt_values(case.inputs)
    return _demos_of_stages(inputs, {**inputs, "labels": make_label_items(tags.items())}, tiers)


def _demonstrate_echo(case: Case) -> "dict[str, Demo]":
    """Return stage -> the demonstration that gold gives it, where the first stage echoes the sentences.

    The second stage has none where all sentences are irrelevant.
    """
    gold_labels = _numbered_gold(case)
    tags: list[str | None] = []
    tiers: dict[int, object] = {}
    for number, label in gold_labels.items():
        # The first stage tags a cognitive sentence with the verdict that its tier stands for.
        tags.append(label and verdict_word(label))
        if label not in (None, "irrelevant"):  # the second stage sees facts too, and calls them so
            tiers[number] = label if label in TIERS else "fact"
    inputs = COGNIBENCH_STAGED.prompt_values(case.inputs)
    tagged_sentences = _ECHO.render({"sentences": case.inputs["sentences"]})
    tag_demo = {**inputs, **tagged_sentences, "labels": _ECHO.example(tuple(tags), case.inputs)}
    tag_of_number = dict(enumerate(tags, 1))
    return _demos_of_stages(
        {**inputs, "sentences": show_tags(inputs["sentences"], tag_of_number)}, tag_demo, tiers
    )


def _numbered_gold(case: Case) -> dict[int, Label | None]:
    """Return number -> gold label of the sentences of a case."""
    if case.gold is None:
        raise ValueError(f"case {case.id} has no gold labels")
    return dict(enumerate(case.gold, 1))


def _demos_of_stages(
    inputs: Mapping[str, object], tag_demo: "Demo", tiers: Mapping[int, object]
) -> "dict[str, Demo]":
    """Return the demonstrations of both stages, of the first alone where ``tiers`` (number -> tier) is empty."""
    if not tiers:
        return {"tag": tag_demo}
    tier_demo = {
        **inputs,
        "sentences": select_lines(inputs["sentences"], tiers),
        "labels": make_label_items(tiers.items()),
    }
    return {"tag": tag_demo, "tier": tier_demo}


COGNIBENCH_STAGED = replace(
    COGNIBENCH,
    name="cognibench-staged",
    variant="staged",
    description="CogniBench in two stages: what every sentence is, then the tier of the cognitive ones",
    signature=response_signature("TagResponse"),
    program=OwnProgram("two_stages", "TagThenTier"),
    demonstrations=_demonstrate_stages,
)


_ECHO: Final = Tagged(
    field="labels", unit="sentences", labels=ECHO_LABELS, positive=frozenset({"hallucinated"})
)
COGNIBENCH_TAGS_STAGED = replace(
    COGNIBENCH_STAGED,
    name="cognibench-tags-staged",
    variant="tags-staged",
    description="CogniBench as the paper labels: three tags around the echoed sentences, then the tiers",
    signature=response_signature("TagResponse"),
    program=OwnProgram("two_stages", "EchoThenTier"),
    demonstrations=_demonstrate_echo,
)
