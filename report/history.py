"""The history of a search: score against calls, and the prompt that it began with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import JuristError
from ..evaluation.scores import error_metrics
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.naming import judge_of
from ..programs.state import PromptState
from .document import Plot
from .plotting import Series

_ERRORS = tuple(name for name, one in error_metrics(0, 1).items() if not one.higher_is_better)
"""The metrics of which less is better, for cards that do not say which end is."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Score against calls."""

    metric: str  # its name; all values are of it, so that of an error less is better
    # (calls made when it came up, where it stood in the end by all that was known) of every candidate
    tried: tuple[tuple[float, float], ...]
    # the same of each that was better than all before, and the last one again at the end
    best: tuple[tuple[float, float], ...]
    basic: float  # the basic prompt's value
    # the point of the candidate that became the artifact, if anything is known of it
    chosen: tuple[float, float] | None

    @property
    def series(self) -> list[Series]:
        """What a plot of it shows: steps of the best so far, every candidate, the basic prompt, the chosen one."""
        end = self.best[-1][0]
        found = [
            Series(name="best so far", points=self.best),
            Series(name="candidates", points=self.tried, style="points"),
            Series(name="basic prompt", points=((0.0, self.basic), (end, self.basic)), style="dashed"),
        ]
        if self.chosen:
            found.append(Series(name="became the artifact", points=(self.chosen,), style="points"))
        return found

    @property
    def names(self) -> dict[str, str]:
        """What the axes ``x`` and ``y`` of a plot are called."""
        return {"x": "calls made, of judge and proposer", "y": f"{self.metric} by all that is known"}


def curve(artifact: Artifact) -> Curve:
    """Return an artifact's curve."""
    card = artifact.card
    done = [row for row in artifact.history if _known(row, card) is not None]
    if not done:
        raise JuristError(
            f"{artifact.ref} has no history of scores", hint="plot an artifact that jurist compile made"
        )
    tried = tuple(
        (float(row.get("calls_dev") or row["calls"]), float(_known(row, card) or 0.0)) for row in done
    )
    steps: list[tuple[float, float]] = []
    for point in sorted(tried, key=lambda point: point[0]):
        if not steps or point[1] > steps[-1][1]:
            steps.append(point)
    last = max(row.get("calls_dev") or row["calls"] for row in artifact.history)
    if last > steps[-1][0]:
        steps.append((float(last), steps[-1][1]))
    chosen, sign = chosen_candidate(artifact), sign_of(artifact)
    tried, best = (tuple((calls, sign * value) for calls, value in points) for points in (tried, steps))
    return Curve(
        metric=metric_of(artifact),
        tried=tried,
        best=best,
        basic=tried[0][1],
        chosen=next((at for at, row in zip(tried, done, strict=True) if row["candidate"] == chosen), None),
    )


def metric_of(artifact: Artifact) -> str:
    """Return the metric that an artifact was compiled for; ``value`` if its card does not say."""
    return str((artifact.card.get("decision") or {}).get("metric") or "value")


def sign_of(artifact: Artifact) -> float:
    """Return -1 if the metric is an error, of which less is better, else 1: what was maximised, times this, is it."""
    told = (artifact.card.get("decision") or {}).get("higher_is_better")
    better = metric_of(artifact) not in _ERRORS if told is None else told
    return 1.0 if better else -1.0


def _known(row: Mapping[str, Any], card: Mapping[str, Any]) -> float | None:
    """Return where a candidate stood by all that was known, or, in older artifacts, its value on the whole of dev."""
    if row.get("estimate"):
        return float(row["estimate"]["value"])
    whole = (card.get("gold") or {}).get("dev", row["dev"]["cases"])
    return None if "estimate" in row or row["dev"]["cases"] != whole else row["dev"]["value"]


def chosen_candidate(artifact: Artifact) -> str:
    """Return the id of the candidate that became the artifact; empty if it is not known."""
    return str((artifact.card.get("optimizer") or {}).get("candidate") or "")


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
    """Return score against calls of the search that made an artifact; nothing where no candidate has a score."""
    if not any(row.get("dev", {}).get("value") is not None for row in artifact.history):
        return []
    found = curve(artifact)
    chosen = (
        f"; {found.chosen[1]:.3f} became the artifact, found after {found.chosen[0]:.0f} calls"
        if found.chosen
        else ""
    )
    words = (
        f"the basic prompt at {found.basic:.3f}, {len(found.tried)} candidates, "
        f"the best at {found.best[-1][1]:.3f} after {found.best[-1][0]:.0f} calls{chosen}"
    )
    plot = Plot(
        title="score against calls",
        words=words,
        name="search",
        kind="step",
        series=found.series,
        **found.names,
    )
    return [plot]
