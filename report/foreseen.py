"""What more labels can show of a version, from the answers that it kept of its sealed test."""

from ..evaluation.proof import level_of
from ..gold.label_totals import LabelTotals, pool_of_answers
from ..gold.rows import label_keys
from ..gold.splits import Shares
from ..keeping.artifact_card import Artifact, read_proof_rows
from ..programs.judge import Judge

_ALPHA = 0.05  # the level of all openings together, where the card of an earlier jurist does not say it


def first_level(artifact: Artifact) -> float:
    """Return the one-sided level of the first opening of a test, by the card of a version."""
    return level_of(artifact.about.decision.alpha or _ALPHA, 1)


def totals_of_version(artifact: Artifact, judge: Judge, shares: Shares | None = None) -> LabelTotals | None:
    """Return the sealed tests that are drawn from a version's own; ``None`` where it kept no answers to labels.

    The shares of the split are those of the judge, else the usual ones, where none are given.
    """
    records = artifact.proof_records()
    if not records or not label_keys(judge) or artifact.about.cascade:
        return None
    first = read_proof_rows(judge.answer, records, "basic")
    second = read_proof_rows(judge.answer, records, "compiled")
    pool = pool_of_answers(first, second, judge.metric, judge.comparison, first_level(artifact))
    labels = 0
    for row in first:
        labels += sum(value is not None for value in row.gold)
    return LabelTotals(pool=pool, labels_per_case=labels / len(first), shares=shares or judge.shares)
