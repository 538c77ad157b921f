"""The history of a search: score against calls, and the prompt that it began with."""

from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.naming import judge_of
from ..programs.state import PromptState
from .document import Plot
from .plotting import Series


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


def search_parts(artifact: Artifact) -> list[Plot]:
    """Return score against calls of the search that made an artifact; nothing where no candidate has a score.

    Each candidate has a point where it came up, at what it was worth by all that was known in the end.
    """
    known = [row for row in artifact.history if row.get("estimate")]
    if not known:
        return []
    sign, chosen = sign_of(artifact), chosen_candidate(artifact)
    points = {row["candidate"]: (float(row["calls"]), sign * row["estimate"]["value"]) for row in known}
    tried, best = tuple(points.values()), list[tuple[float, float]]()
    for point in sorted(tried, key=lambda point: point[0]):
        if not best or sign * point[1] > sign * best[-1][1]:
            best.append(point)
    last = max(float(row["calls"]) for row in artifact.history)
    best.append((last, best[-1][1]))
    series = [
        Series(name="best so far", points=tuple(best)),
        Series(name="candidates", points=tried, style="points"),
        Series(name="basic prompt", points=((0.0, tried[0][1]), (last, tried[0][1])), style="dashed"),
    ]
    words = (
        f"the basic prompt at {tried[0][1]:.3f}, {len(tried)} candidates, "
        f"the best at {best[-1][1]:.3f} after {best[-2][0]:.0f} calls"
    )
    if chosen in points:
        found, value = points[chosen]
        series.append(Series(name="became the artifact", points=(points[chosen],), style="points"))
        words += f"; {value:.3f} became the artifact, found after {found:.0f} calls"
    return [
        Plot(
            title="score against calls",
            words=words,
            name="search",
            kind="step",
            series=series,
            x="calls made, of judge and proposer",
            y=f"{metric_of(artifact)} by all that is known",
        )
    ]
