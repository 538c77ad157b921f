"""The history of a search: score against calls, and the prompt that it began with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import JuristError
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.naming import judge_of
from ..programs.state import PromptState
from .document import Plot
from .plotting import Series

_ERRORS = ("mae", "mse")
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
    done = [(row, value) for row in artifact.history if (value := _known(row, artifact.card)) is not None]
    if not done:
        raise JuristError(
            f"{artifact.ref} has no history of scores", hint="plot an artifact that jurist compile made"
        )
    sign, chosen = sign_of(artifact), chosen_candidate(artifact)
    tried = [(_calls(row), sign * value) for row, value in done]
    best: list[tuple[float, float]] = []
    for point in sorted(tried, key=lambda point: point[0]):
        if not best or sign * point[1] > sign * best[-1][1]:
            best.append(point)
    last = max(map(_calls, artifact.history))
    if last > best[-1][0]:
        best.append((last, best[-1][1]))
    places = (point for point, (row, _) in zip(tried, done, strict=True) if row["candidate"] == chosen)
    return Curve(
        metric=metric_of(artifact),
        tried=tuple(tried),
        best=tuple(best),
        basic=tried[0][1],
        chosen=next(places, None),
    )


def _calls(row: Mapping[str, Any]) -> float:
    return float(row.get("calls_dev") or row["calls"])


def metric_of(artifact: Artifact) -> str:
    """Return the metric that an artifact was compiled for; ``value`` if its card does not say."""
    return artifact.about.decision.metric or "value"


def sign_of(artifact: Artifact) -> float:
    """Return -1 if the metric is an error, of which less is better, else 1: what was maximised, times this, is it."""
    told = artifact.about.decision.higher_is_better
    return 1.0 if (metric_of(artifact) not in _ERRORS if told is None else told) else -1.0


def _known(row: Mapping[str, Any], card: Mapping[str, Any]) -> float | None:
    """Return where a candidate stood by all that was known, or, in older artifacts, its value on the whole of dev."""
    if row.get("estimate"):
        return float(row["estimate"]["value"])
    whole = (card.get("gold") or {}).get("dev", row["dev"]["cases"])
    return None if "estimate" in row or row["dev"]["cases"] != whole else row["dev"]["value"]


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
    """Return score against calls of the search that made an artifact; nothing where no candidate has a score."""
    if not any(row.get("dev", {}).get("value") is not None for row in artifact.history):
        return []
    shown = curve(artifact)
    words = (
        f"the basic prompt at {shown.basic:.3f}, {len(shown.tried)} candidates, "
        f"the best at {shown.best[-1][1]:.3f} after {shown.best[-1][0]:.0f} calls"
    )
    if shown.chosen:
        words += f"; {shown.chosen[1]:.3f} became the artifact, found after {shown.chosen[0]:.0f} calls"
    return [
        Plot(
            title="score against calls",
            words=words,
            name="search",
            kind="step",
            series=shown.series,
            **shown.names,
        )
    ]
