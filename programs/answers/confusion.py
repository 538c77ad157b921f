"""What gold was taken for: counts of pairs of what people and a judge said, for every kind of answer."""

from collections import Counter
from collections.abc import Sequence

from ...evaluation.rows import Row
from .base import Answer

UNANSWERED = "no answer"
"""What a missing answer is called."""
_FEW = 12
"""Gold or judged values above which nobody would read a table of what was taken for what."""


def confused(answer: Answer, rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Return gold -> judged -> labelled units, :data:`UNANSWERED` among the judged; empty for answers of many values.

    Both sides stand in the order of the answer's own values, then by name.
    """
    pairs = [
        pair for row in rows for pair in zip(row.gold, row.predicted, strict=True) if pair[0] is not None
    ]
    counts = Counter(
        (answer.scale.category(gold), UNANSWERED if judged is None else answer.scale.category(judged))
        for gold, judged in pairs
    )
    values = {value for pair in pairs for value in pair if value is not None}
    own = [answer.scale.category(value) for value in answer.scale.domain]
    names = list(dict.fromkeys([*own, *sorted({answer.scale.category(value) for value in values})]))
    if len(names) > _FEW:
        return {}
    golds = {gold for gold, _ in counts}
    columns = [*names, *([UNANSWERED] if any(judged == UNANSWERED for _, judged in counts) else [])]
    return {gold: {judged: counts[gold, judged] for judged in columns} for gold in names if gold in golds}
