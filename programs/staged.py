"""Every sentence of a response in two calls: what each one is, then the tier of the cognitive ones (section 3.1).

CogniBench's second-stage prompt puts cognitive statements into four sub-categories. Here the first call tags each
sentence as irrelevant, faithful, invented or cognitive; the second sees the cognitive ones only, under the numbers they
have in the response, and is left out where there is none. The answer is the one of the ``cognibench`` judge: one of
seven labels for each sentence.
"""

from dataclasses import replace
from functools import partial
from typing import Final

import dspy

from ..cases import Case
from ..signatures.cognibench import ECHO_LABELS, TIERS, EchoTags, TagStatements, TierOrFact, TierStatements
from .answers.sentences import Tagged
from .cognibench import COGNIBENCH, verdict_word
from .echo_flow import ECHO_THEN_LABELS
from .flows import lines_of_numbers, numbered_labels
from .state import Demo
from .stepwise import Plan, Stepwise

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
    """Return the labels that gold gives each stage; none for a second stage without a sentence."""
    if case.gold is None:
        raise ValueError(f"case {case.id} has no gold labels")
    inputs, labels = COGNIBENCH_STAGED.prompt_values(case.inputs), dict(enumerate(case.gold, 1))
    tiers = {n: label for n, label in labels.items() if label in TIERS}
    if echoed:  # a cognitive sentence is tagged as its tier is judged
        tags = tuple(label and verdict_word(label) for label in case.gold)
        shown = _ECHO.render({"sentences": case.inputs["sentences"]})
        tag: Demo = {**inputs, **shown, "labels": _ECHO.example(tags, case.inputs)}
        tiers = {n: tiers.get(n, "fact") for n, label in labels.items() if label not in (None, "irrelevant")}
    else:
        tag = {**inputs, "labels": numbered_labels({**labels, **dict.fromkeys(tiers, _COGNITIVE)}.items())}
    if not tiers:
        return {"tag": tag}
    chosen = lines_of_numbers(inputs["sentences"], tiers)
    return {"tag": tag, "tier": {**inputs, "sentences": chosen, "labels": numbered_labels(tiers.items())}}


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

    plan = Plan(
        ECHO_THEN_LABELS,
        {
            "steps": ("tag", "tier"),
            "unit": "sentences",
            "field": "labels",
            "tags": ECHO_LABELS,
            "facts": _FACTS,
        },
        ("programs.answers.echo", "programs.echo_flow"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.tag = dspy.Predict(EchoTags)
        self.tier = dspy.Predict(TierOrFact)


COGNIBENCH_TAGS_STAGED = replace(
    COGNIBENCH_STAGED,
    name="cognibench-tags-staged",
    variant="tags-staged",
    description="CogniBench as the paper labels: three tags around the echoed sentences, then the tiers",
    program=EchoThenTier,
    demonstrations=partial(_demonstrations, echoed=True),
)
