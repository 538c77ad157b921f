"""The plots of a version: what its card, its search and the rows of its proof give to draw."""

from collections.abc import Mapping, Sequence

from ..evaluation.rows import JudgedRow
from ..evaluation.scale import Scale
from ..keeping.artifact_card import Artifact
from ..keeping.card import CardContent
from ..keeping.card_parts import ReferenceCard
from .differing import candidate_names_of, sign_of
from .document import Plot
from .plots import (
    GroupScore,
    PricePoint,
    ReliabilityPoint,
    ScoreBar,
    SearchPoint,
    forest_plot,
    group_plot,
    price_plot,
    reliability_plot,
    search_plot,
)

_PEOPLE = ("people", "second labelling")
"""References that are no way to judge rows, so that they have no price."""


def score_bars(card: CardContent, metric: str, shown_references: Sequence[str]) -> list[ScoreBar]:
    """Return the scores of compiled, basic and the references on the sealed test, in that order."""
    bars = []
    for system in ("compiled", "basic"):
        score = card.proven_scores[system].get(metric)
        if score is not None:
            is_main = system == "compiled"
            bar = ScoreBar(name=system, value=score.value, low=score.low, high=score.high, is_main=is_main)
            bars.append(bar)
    references = {name: card.references.get(name) for name in shown_references}
    return bars + reference_bars(references)


def reference_bars(references: Mapping[str, ReferenceCard | None]) -> list[ScoreBar]:
    """Return the score of each reference with its interval, and what a paired test says of the judge against it."""
    bars: list[ScoreBar] = []
    for name, reference in references.items():
        if reference is not None:
            bars.append(
                ScoreBar(
                    name=f"{name}: {reference.answer}",
                    value=reference.score,
                    low=reference.low,
                    high=reference.high,
                    note=reference.judge_is or "",
                )
            )
    return bars


def card_forest_plot(card: CardContent, metric: str, shown_references: Sequence[str]) -> list[Plot]:
    """Return the plot of the scores of compiled and of all else that answered the sealed rows."""
    return forest_plot(metric, score_bars(card, metric, shown_references))


def card_price_plot(card: CardContent, metric: str, references: Sequence[str]) -> list[Plot]:
    """Return the plot of scores by dollars, else by tokens; a reference asks no language model, and costs nothing."""
    prices: Mapping[str, float] = card.dollars_per_1000_rows
    price = "USD per 1,000 rows"
    if not any(prices.values()) or prices.keys() < {"basic", "compiled"}:
        prices = {"basic": card.tokens_of("basic").total, "compiled": card.tokens_of("compiled").total}
        price = "tokens a row"
    if not any(prices.values()):
        return []
    points = []
    for bar in score_bars(card, metric, [name for name in references if name not in _PEOPLE]):
        name = bar.name.partition(":")[0]
        points.append(
            PricePoint(
                name=name,
                price=prices.get(name, 0.0),
                value=bar.value,
                low=bar.low,
                high=bar.high,
                is_main=bar.is_main,
            )
        )
    return price_plot(metric, price, points)


def artifact_search_plot(artifact: Artifact) -> list[Plot]:
    """Return the plot of the estimated gains by calls; nothing where a search has no estimates."""
    basic = None
    for candidate in artifact.candidates:
        if candidate.source == "basic" and candidate.estimate is not None:
            basic = candidate.estimate.value
    if basic is None:
        return []
    names = candidate_names_of(artifact)
    chosen = artifact.about.optimizer.candidate
    points = []
    for candidate in artifact.candidates:
        if candidate.estimate is not None and candidate.calls is not None:
            points.append(
                SearchPoint(
                    name=names[candidate.candidate],
                    calls=candidate.calls,
                    gain=candidate.estimate.value - basic,
                    is_chosen=candidate.candidate == chosen,
                )
            )
    metric = artifact.about.decision.metric or "the metric"
    if sign_of(artifact) < 0:
        metric += ", turned so that more is better"
    return search_plot(metric, points)


def card_reliability_plot(card: CardContent) -> list[Plot]:
    """Return the plot of the probabilities of both prompts, by the bins on the card."""
    points = []
    for system in ("basic", "compiled"):
        calibration = card.calibration.get(system)
        if calibration is None:
            continue
        for part in calibration.bins:
            if part.units:
                point = ReliabilityPoint(
                    system=system, probability=part.said, positive_share=part.found, units=part.units
                )
                points.append(point)
    return reliability_plot(points)


def proof_group_plot(
    scale: Scale, basic: Sequence[JudgedRow], compiled: Sequence[JudgedRow], meaning: str
) -> list[Plot]:
    """Return the plot of the mean credit in each group of the sealed test, of basic and of compiled."""
    credits: dict[str, list[tuple[float, float]]] = {}
    for basic_row, compiled_row in zip(basic, compiled, strict=True):
        for gold, first, second in zip(
            compiled_row.gold, basic_row.predicted, compiled_row.predicted, strict=True
        ):
            if gold is not None:
                pair = (scale.credit(gold, first), scale.credit(gold, second))
                credits.setdefault(compiled_row.group, []).append(pair)
    scores = []
    for group, pairs in credits.items():
        scores.append(
            GroupScore(
                group=group,
                values=(
                    sum(first for first, _ in pairs) / len(pairs),
                    sum(second for _, second in pairs) / len(pairs),
                ),
                units=len(pairs),
            )
        )
    return group_plot(scores, meaning)
