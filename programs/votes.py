"""From several samples to one verdict: thresholds, majorities, and when they are undecided.

DSPy's ``majority`` normalises labels as text and drops the word "a"; these
rules compare labels as they are. With ``k`` samples and a threshold ``t`` a unit
is positive when at least ``t`` samples say so, negative when at least
``k - t + 1`` do, and otherwise, when unusable replies leave both open,
abstained. CogniBench (section 3.2) uses k = 5 and a majority; its appendix A.9
varies the threshold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ..cases import Label, Labels
from ..errors import UsageError

__all__ = ["check_threshold", "decide", "majority", "tally"]


def majority(samples: int) -> int:
    """Return the smallest number of votes that is more than half of ``samples``."""
    return samples // 2 + 1


def check_threshold(samples: int, threshold: int) -> None:
    """Refuse a threshold that no vote, or every vote, would meet.

    Raises:
        UsageError: ``samples`` is below 1, or ``threshold`` is not in 1..samples.
    """
    if samples < 1:
        raise UsageError(f"{samples} samples give no verdict", hint="ask for 1 or more")
    if not 1 <= threshold <= samples:
        raise UsageError(
            f"a threshold of {threshold} votes does not fit {samples} samples", hint=f"use 1 to {samples}"
        )


def tally(answers: Sequence[Labels], unit: int) -> dict[Label, int]:
    """Return label -> votes for one unit over all samples; unusable answers give no vote."""
    return dict(Counter(label for answer in answers if (label := answer[unit]) is not None))


def decide(
    votes: Mapping[Label, int],
    *,
    samples: int,
    threshold: int,
    positive: Collection[Label],
    order: Sequence[Label],
) -> Label | None:
    """Return the verdict of one unit, or ``None`` if the votes leave it open.

    Within the side that wins, the label with the most votes is taken; equal
    counts go to the label that comes first in ``order``. A vote for a label that is
    not in ``order`` is no vote.
    """
    known = {label: votes.get(label, 0) for label in order}
    found = sum(count for label, count in known.items() if label in positive)
    other = sum(known.values()) - found
    if found >= threshold:
        side = [label for label in order if label in positive]
    elif other >= samples - threshold + 1:
        side = [label for label in order if label not in positive]
    else:
        return None
    return max(side, key=lambda label: known[label])
