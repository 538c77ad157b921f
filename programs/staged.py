"""Every sentence of a response in two calls: what each one is, then the tier of the cognitive ones (section 3.1).

CogniBench's second-stage prompt puts cognitive statements into four
sub-categories. Here the first call tags each sentence as irrelevant, faithful,
invented or cognitive; the second sees the cognitive ones only, under the numbers
they have in the response, and is left out where there is none. The answer is the
one of the ``cognibench`` judge: one of seven labels for each sentence.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import dspy

from ..cases import Case, Label
from ..signatures.cognibench import TIERS, TagStatements, TierStatements
from .answers.base import by_number, member
from .cognibench import COGNIBENCH
from .state import Demo
from .stepwise import Steps, Stepwise

_COGNITIVE = "cognitive"


class TagThenTier(Stepwise):
    """Tags all sentences (``tag``), then gives the cognitive ones their tier (``tier``): one or two calls.

    Its prediction has ``labels``: an item for each sentence that got one label, by its number.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tag = dspy.Predict(TagStatements)
        self.tier = dspy.Predict(TierStatements)

    def steps(self, **inputs: Any) -> Steps:
        """Tag all, then ask for the tiers of some."""
        given = _by_number((yield self.tag, inputs))
        again = _second(inputs, given)
        return _joined(given, (yield self.tier, again) if again else None)


def _by_number(prediction: Any) -> dict[int, Label]:
    """Return number -> label; a number that was given two labels has none."""
    return {n: member(item, "label") for n, item in by_number(prediction.get("labels")).items()}


def _second(inputs: Mapping[str, Any], given: Mapping[int, Label]) -> dict[str, Any]:
    """Return the inputs of the second stage, or nothing if no sentence is cognitive."""
    lines = _lines(str(inputs["sentences"]), {n for n, label in given.items() if label == _COGNITIVE})
    return {**inputs, "sentences": lines} if lines else {}


def _lines(sentences: str, numbers: Collection[int]) -> str:
    """Return the lines of some sentences, under their own numbers: each stands on one line."""
    wanted = {str(number) for number in numbers}
    return "\n".join(line for line in sentences.split("\n") if line.partition(". ")[0] in wanted)


def _joined(given: Mapping[int, Label], second: Any) -> dspy.Prediction:
    tiers = _by_number(second) if second is not None else {}
    found = {
        number: tiers.get(number) if label == _COGNITIVE else label for number, label in sorted(given.items())
    }
    return dspy.Prediction(labels=[{"n": n, "label": label} for n, label in found.items() if label])


def _demonstrations(case: Case) -> dict[str, Demo]:
    """Return what gold says of each stage; of the second nothing where no sentence is cognitive."""
    if case.gold is None:
        raise ValueError(f"case {case.id} has no gold labels")
    inputs = COGNIBENCH_STAGED.values(case.inputs)
    labelled = [(n, label) for n, label in enumerate(case.gold, 1) if label is not None]
    tiers = {n: label for n, label in labelled if label in TIERS}
    first = {**inputs, "labels": _items((n, _COGNITIVE if n in tiers else label) for n, label in labelled)}
    if not tiers:
        return {"tag": first}
    chosen = _lines(str(inputs["sentences"]), tiers)
    return {"tag": first, "tier": {**inputs, "sentences": chosen, "labels": _items(tiers.items())}}


def _items(pairs: Any) -> list[dict[str, Any]]:
    return [{"n": n, "label": label} for n, label in pairs]


COGNIBENCH_STAGED = replace(
    COGNIBENCH,
    name="cognibench-staged",
    variant="staged",
    description="CogniBench in two stages: what every sentence is, then the tier of the cognitive ones",
    program=TagThenTier,
    demonstrations=_demonstrations,
)
