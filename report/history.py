"""The history of a search: what it was for, what it chose, and the prompt that it began with."""

from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.naming import judge_of
from ..programs.state import PromptState


def metric_of(artifact: Artifact) -> str:
    """Return the metric that an artifact was compiled for; ``value`` if its card does not say."""
    return artifact.about.decision.metric or "value"


def sign_of(artifact: Artifact) -> float:
    """Return -1 if the metric is an error, of which less is better, else 1: what was maximised, times this, is it."""
    return -1.0 if artifact.about.decision.higher_is_better is False else 1.0


def chosen_candidate(artifact: Artifact) -> str:
    """Return the id of the candidate that became the artifact; empty if it is not known."""
    return artifact.about.optimizer.candidate or ""


def basic_state(artifact: Artifact, store: Store) -> PromptState:
    """Return the basic prompt that was compiled, from the history; without one, the judge's basic prompt of today."""
    first = next(
        (row for row in artifact.history if row.get("source") == "basic" and row.get("prompt")), None
    )
    return (
        PromptState.of(judge_of(artifact, store).basic())
        if first is None
        else PromptState.from_json(first["prompt"])
    )
