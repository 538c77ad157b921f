"""How sure a judge is and what that is worth: precision against recall, and how right it is by how far it agrees."""

from collections.abc import Iterator

from ..programs.judge import Judge
from .document import Part, Plot
from .judged import SYSTEMS
from .plotting import Series
from .table import table
from .votes import Proof, calibration, cuts, drawn_fully, thresholds

_CUTS = 12
"""Thresholds of each program that the table shows, about; the plot has all of them."""


def sure_parts(judge: Judge, proof: Proof, samples: int) -> Iterator[Part]:
    """Yield what the answers of a proof, of so many samples each, say beyond themselves."""
    if judge.answer.has_probabilities:
        yield from _cuts(judge, proof)
    elif samples > 1 and drawn_fully(proof, "compiled", samples):
        yield from _thresholds(judge, proof, samples)
    if samples > 1:
        yield from _calibration(judge, proof)


def _cuts(judge: Judge, proof: Proof) -> Iterator[Part]:
    found = {system: some for system in SYSTEMS if (some := cuts(judge, proof, system))}
    if not found:
        return
    series = [
        Series(name=system, points=tuple((one.recall, one.precision) for one in some))
        for system, some in found.items()
    ]
    words = "by the probability that a unit must have at least; see the table below"
    yield Plot(
        title="precision against recall", words=words, name="cuts", series=series, x="recall", y="precision"
    )
    rows = [
        [system, f"{one.least:.2f}", one.found, f"{one.precision:.3f}", f"{one.recall:.3f}"]
        for system, some in found.items()
        for one in some[:: max(1, len(some) // _CUTS)]
    ]
    yield table("", ["program", "at least", "units found", "precision", "recall"], rows)


def _calibration(judge: Judge, proof: Proof) -> Iterator[Part]:
    found = {system: calibration(judge, proof, system) for system in SYSTEMS}
    lines = [
        Series(name=system, points=tuple((one.share, one.right) for one in sure))
        for system, sure in found.items()
        if sure
    ]
    if not lines:
        return
    ideal = Series(name="as sure as right", points=((0.0, 0.0), (1.0, 1.0)), style="dashed")
    yield Plot(
        title="how often it is right when so many samples agree",
        words="see the table below",
        name="calibration",
        series=[*lines, ideal],
        x="share of the votes",
        y="share right",
    )
    rows = [
        [system, f"{one.share:.2f}", one.units, f"{one.right:.3f}"]
        for system, sure in found.items()
        for one in sure
    ]
    yield table("", ["program", "share of the votes", "units", "right"], rows)


def _thresholds(judge: Judge, proof: Proof, samples: int) -> Iterator[Part]:
    found = thresholds(judge, proof, "compiled", samples)
    if not found:
        return
    names = list(found[1])
    series = [
        Series(name=name, points=tuple((float(t), values[name]) for t, values in found.items()))
        for name in names
    ]
    rows = [[needed, *(f"{values[name]:.3f}" for name in names)] for needed, values in found.items()]
    yield Plot(
        title="precision and recall by the votes that are needed",
        words="see the table below",
        name="thresholds",
        series=series,
        x="votes that are needed",
        y="value on the sealed test",
    )
    yield table("", ["votes needed", *names], rows)
