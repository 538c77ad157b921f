"""A proof on the sealed test, for people, in about ten lines; ``artifacts show`` and the report have the rest."""

from collections.abc import Mapping
from typing import Any

from ..evaluation.proof import Decision
from ..evaluation.votes import Sampling
from ..keeping.artifact_card import Artifact
from ..keeping.card import Card
from ..programs.state import PromptState
from ..report.differing import change_words
from ..report.scores import counts_line, reference_tables, scores_table
from .printing import Part


def proof_parts(card: Mapping[str, Any], decision: Decision, *notes: str) -> list[Part]:
    """Return the metric that was compiled for, references, what was not answered, ``notes``, and the decision."""
    metric = decision.metric
    scores = {name: {metric: scores[metric]} for name, scores in card["scores"].items()}
    found: list[Part] = [scores_table(f"sealed test, {decision.counts.cases.labelled} cases", scores, metric)]
    found += reference_tables(card.get("references"), metric, " on the same cases")
    found += [
        counts_line(name, counts)
        for name, counts in card["counts"].items()
        if counts["units"]["answered"] < counts["units"]["total"]
    ]
    if any(card["inconsistent"].values()):
        both = ", ".join(f"{name} {count}" for name, count in card["inconsistent"].items())
        found.append(f"answers that contradicted themselves: {both}")
    found += [*notes, f"decision: {decision.words}"]
    if price := Card.model_validate(card).price_words:
        found.append(price)
    return found + [f"warning: {warning}" for warning in (*decision.warnings, *(card.get("warnings") or ()))]


def changed_line(basic: PromptState, artifact: Artifact) -> str:
    """Return what compiling changed in the prompt, in words."""
    kept = artifact.card.get("thresholds") or {}
    sampling = Sampling(samples=int(kept.get("samples") or 1), threshold=kept.get("threshold"))
    cut = f"; positive from a probability of {sampling.needed:.3g} on" if sampling.by_probability else ""
    return f"prompt: {change_words(basic, artifact.state)}{cut}"


def kept_line(artifact: Artifact, *, latest: bool) -> str:
    """Return where an artifact is, and whether its judge's name now means it."""
    kept = f"kept as {artifact.ref}, not made latest (--force makes it so)"
    return f"artifact: {artifact.path} ({'latest' if latest else kept})"


def next_line(artifact: Artifact) -> str:
    """Return how to look at it, and how to show it with few labels where it is not shown."""
    shown = (artifact.card.get("decision") or {}).get("verdict") == "better"
    fewer = (
        f"; jurist prove {artifact.ref} --rows new.jsonl (labels where the two prompts differ, on rows that nobody "
        "labelled, show a gain with a fraction of the labels of a test)"
    )
    return (
        f"next: jurist report {artifact.ref} -o report.html (every score, every changed word, every case); "
        f"jurist artifacts show {artifact.ref} --history{'' if shown else fewer}"
    )
