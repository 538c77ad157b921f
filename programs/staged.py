"""Every sentence of a response in two calls: what each one is, then the tier of the cognitive ones (section 3.1).

CogniBench's second-stage prompt puts cognitive statements into four
sub-categories. Here the first call tags each sentence as irrelevant, faithful,
invented or cognitive; the second sees the cognitive ones only, under the numbers
they have in the response, and is left out where there is none. The answer is the
one of the ``cognibench`` judge: one of seven labels for each sentence.
"""

from dataclasses import replace
from functools import partial
from typing import Any, Final

import dspy

from ..cases import Case, Label
from ..signatures.cognibench import (
    ECHO_LABELS,
    TIERS,
    EchoTags,
    TagStatements,
    TierOrFact,
    TierStatements,
)
from .answers.tags import Tagged
from .cognibench import COGNIBENCH, verdict_word
from .flows import labels_of, lines_of_numbers, numbered_labels
from .state import Demo
from .stepwise import Plan, Steps, Stepwise

_COGNITIVE = "cognitive"


class TagThenTier(Stepwise):
    """Tags all sentences (``tag``), then gives the cognitive ones their tier (``tier``): one or two calls.

    Its prediction has ``labels``: an item for each sentence that got one label, by its number.
    """

    plan = Plan(
        "labels in two stages",
        {"steps": ("tag", "tier"), "unit": "sentences", "field": "labels", "refined": _COGNITIVE},
    )

    def __init__(self) -> None:
        super().__init__()
        self.tag = dspy.Predict(TagStatements)
        self.tier = dspy.Predict(TierStatements)


def _demonstrations(case: Case, echoed: bool = False) -> dict[str, Demo]:
    """Return what gold says of each stage; of the second nothing where it is asked about no sentence."""
    if case.gold is None:
        raise ValueError(f"case {case.id} has no gold labels")
    inputs, labels = COGNIBENCH_STAGED.prompt_values(case.inputs), dict(enumerate(case.gold, 1))
    second = {n: label for n, label in labels.items() if label in TIERS}
    tag: Demo = {"labels": numbered_labels({**labels, **dict.fromkeys(second, _COGNITIVE)}.items())}
    if echoed:  # a cognitive sentence is tagged as its tier is judged
        second = {
            n: second.get(n, "fact") for n, label in labels.items() if label not in (None, "irrelevant")
        }
        tags = tuple(label and verdict_word(label) for label in case.gold)
        tag = {
            **_ECHO.render({"sentences": case.inputs["sentences"]}),
            "labels": _ECHO.example(tags, case.inputs),
        }
    demos: dict[str, Demo] = {"tag": {**inputs, **tag}}
    if second:
        chosen = lines_of_numbers(inputs["sentences"], second)
        demos["tier"] = {**inputs, "sentences": chosen, "labels": numbered_labels(second.items())}
    return demos


COGNIBENCH_STAGED = replace(
    COGNIBENCH,
    name="cognibench-staged",
    variant="staged",
    description="CogniBench in two stages: what every sentence is, then the tier of the cognitive ones",
    program=TagThenTier,
    demonstrations=_demonstrations,
)


_ECHO: Final = Tagged(
    field="labels", unit="sentences", labels=ECHO_LABELS, positive=frozenset({"hallucinated"})
)
_FACTS: Final = {"faithful": "faithful", "hallucinated": "invented"}


class EchoThenTier(Stepwise):
    """The paper's two stages: three tags around the echoed sentences (``tag``), then tiers of all but irrelevant ones.

    The second stage decides what a cognitive sentence is; of a fact the tag counts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tag = dspy.Predict(EchoTags)
        self.tier = dspy.Predict(TierOrFact)

    def steps(self, **inputs: Any) -> Steps:
        """Tag all, then ask for the tiers of those that say something."""
        lines = str(inputs["sentences"]).split("\n")
        texts = {int(number): text for number, _, text in (line.partition(". ") for line in lines)}
        shown = _ECHO.render({"sentences": list(texts.values())})
        said = dict((yield self.tag, {**inputs, **shown}).items())
        tags = dict(zip(texts, _ECHO.read(said, {"sentences": list(texts.values())}).values, strict=True))
        left = lines_of_numbers(inputs["sentences"], [n for n, tag in tags.items() if tag in _FACTS])
        tiers = labels_of((yield self.tier, {**inputs, "sentences": left}), "labels") if left else {}

        def label(n: int, tag: Label | None) -> Label | None:
            # a sentence that the second stage leaves out has no label
            tier = tiers.get(n) if tag in _FACTS else tag
            return _FACTS[str(tag)] if tier == "fact" else tier

        return dspy.Prediction(labels=numbered_labels((n, label(n, tag)) for n, tag in tags.items()))


COGNIBENCH_TAGS_STAGED = replace(
    COGNIBENCH_STAGED,
    name="cognibench-tags-staged",
    variant="tags-staged",
    description="CogniBench as the paper labels: three tags around the echoed sentences, then the tiers",
    program=EchoThenTier,
    demonstrations=partial(_demonstrations, echoed=True),
)
