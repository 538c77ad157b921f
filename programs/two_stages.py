"""The programs that judge the sentences of a response in two calls: their kind, then the tier of some (section 3.1)."""

from typing import Final

import dspy

from ..signatures.cognibench import DivideTags, EchoTags, TagStatements, TierStatements
from ..signatures.cognibench_labels import ECHO_LABELS
from .echo_flow import ECHO_THEN_LABELS
from .staged import COGNITIVE
from .stepwise import Plan, Stepwise

_DIVISIONS: Final = {
    "faithful": {
        "fact": "faithful",
        "irrefutable": "irrefutable",
        "reliable": "reliable",
        "speculative": "reliable",
        "misleading": "reliable",
    },
    "hallucinated": {
        "fact": "invented",
        "misleading": "misleading",
        "speculative": "speculative",
        "reliable": "speculative",
        "irrefutable": "speculative",
    },
}
"""Tag of the first stage -> what the second stage says of such a sentence -> its label.

The tag decides (section 3.1). Where the second stage is on the other side, the label is the nearest tier on the tag's.
"""


class TagThenTier(Stepwise):
    """Tags all sentences (``tag``), then gives the cognitive ones their tier (``tier``): one or two calls.

    Its prediction has ``labels``: an item for each sentence that got one label, by its number.
    """

    plan = Plan(
        "labels in two stages",
        {"steps": ("tag", "tier"), "unit": "sentences", "field": "labels", "refined": COGNITIVE},
    )

    def __init__(self) -> None:
        super().__init__()
        self.tag = dspy.Predict(TagStatements)
        self.tier = dspy.Predict(TierStatements)


class EchoThenTier(Stepwise):
    """The paper's two stages: three tags around the echoed sentences (``tag``), then tiers of all but irrelevant ones.

    The tag says whether a sentence is hallucinated. The second stage divides these sentences into facts and tiers.
    """

    plan = Plan(
        ECHO_THEN_LABELS,
        {
            "steps": ("tag", "tier"),
            "unit": "sentences",
            "field": "labels",
            "tags": ECHO_LABELS,
            "divisions": _DIVISIONS,
        },
        ("programs.answers.echo", "programs.echo_flow"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.tag = dspy.Predict(EchoTags)
        self.tier = dspy.Predict(DivideTags)
