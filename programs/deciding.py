"""From the readings of a case's samples to its verdict: votes, probabilities, and what the sampling makes of them.

Nothing is asked here. The same rules decide what a model has just said, what it said before under another threshold,
and what a log says.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from ..cases import Case, Value, Values
from ..engines.ledger import Spend
from ..errors import UsageError
from ..evaluation.votes import Sampling, count_votes
from .answers.base import Answer, Reading
from .judge import Judge
from .verdicts import REFUSED_ROW, UNDECIDED, UNREADABLE, Status, Verdict

_NO_SHARES: Final[Mapping[Value, float]] = {}


def check_sampling(judge: Judge, sampling: Sampling) -> None:
    """Refuse a threshold that changes nothing in a judge's answers, before anything is asked."""
    if sampling.threshold is not None and not judge.answer.scale.uses_threshold:
        raise UsageError(
            f"the answers of judge {judge.name} are not decided by a threshold of votes",
            hint="leave out --threshold",
        )
    if sampling.by_probability and not judge.answer.scale.has_probabilities:
        raise UsageError(
            f"the answers of judge {judge.name} have no probability of being positive",
            hint="give --threshold a number of votes",
        )


def votes_of(readings: Sequence[Reading], units: int) -> tuple[dict[Value, int], ...]:
    """Return value -> votes of each unit, over the samples that could be read."""
    samples = _values_of_samples(readings)
    return tuple(count_votes(samples, unit) for unit in range(units))


def verdict_of(
    answer: Answer, sampling: Sampling, case: Case, readings: Sequence[Reading], usage: Spend
) -> Verdict:
    """Return the verdict on a case by the readings of its samples, in the order in which they were drawn."""
    units = len(answer.units(case.inputs))
    nothing: Values = (None,) * units
    counts = Counter[str]()
    reasoning = error_kind = error = ""
    inconsistent = redrawn = reasked = extra = duplicated = measured = 0
    for reading in readings:
        counts.update(reading.counts)
        reasoning = reasoning or reading.reasoning
        error_kind = error_kind or reading.error_kind
        error = error or reading.problem
        inconsistent += reading.inconsistent
        redrawn += reading.redrawn
        reasked += reading.reasked
        extra += reading.extra
        duplicated += reading.duplicated
        measured += any(reading.probabilities)
    replies = [reading.replies for reading in readings]
    failure = readings[-1] if readings and readings[-1].ends_case else None
    status: Status = "abstained"
    if failure is not None:
        error_kind, error = failure.error_kind, failure.problem
        if error_kind not in REFUSED_ROW:
            status = "failed"
    verdict = Verdict(
        id=case.id,
        status=status,
        values=nothing,
        votes=() if failure else votes_of(readings, units),
        probabilities=() if failure else _probabilities(answer, readings, units),
        measured=0 if failure else measured,
        agreement=nothing,
        samples=_values_of_samples(readings),
        reasoning=reasoning,
        inconsistent=inconsistent,
        error_kind=error_kind,
        error=error,
        drawn=len(readings),
        saved=0 if failure else sampling.samples - len(readings),
        identical=len(replies) > 1 and bool(replies[0]) and len(set(replies)) == 1,
        redrawn=redrawn,
        reasked=reasked,
        extra=extra,
        duplicated=duplicated,
        counts=dict(counts),
        usage=usage,
    )
    return verdict if failure else decided(answer, sampling, verdict)


def decided(answer: Answer, sampling: Sampling, verdict: Verdict) -> Verdict:
    """Return a verdict as its votes, or its probabilities, decide it under a sampling's threshold and weights."""
    scale = answer.scale
    shares = verdict.probabilities if sampling.by_probability else ()
    values = tuple(
        scale.combine(probabilities or votes, sampling)
        for probabilities, votes in zip_longest(shares, verdict.votes, fillvalue=_NO_SHARES)
    )
    agreement = tuple(
        scale.agreement(votes, value) for votes, value in zip(verdict.votes, values, strict=True)
    )
    if None not in values:
        return replace(verdict, status="verdict", values=values, agreement=agreement, error_kind="", error="")
    error_kind = verdict.error_kind or UNREADABLE
    for value, votes in zip(values, verdict.votes, strict=True):
        if value is None and votes:
            error_kind = UNDECIDED
    return replace(
        verdict,
        status="abstained",
        values=values,
        agreement=agreement,
        error_kind=error_kind,
        error=verdict.error or _without_values(values, verdict),
    )


def revote(answer: Answer, sampling: Sampling, verdict: Verdict) -> Verdict:
    """Return the verdict that the kept samples of another one give under a sampling. Costs nothing."""
    if verdict.status == "failed" or verdict.refused:
        return verdict
    if verdict.saved:
        raise UsageError(
            f"{verdict.saved} samples of case {verdict.id} were not drawn: its votes fit one threshold only",
            hint='ask with stopping="all"',
        )
    return decided(answer, sampling, replace(verdict, usage=Spend()))


def _values_of_samples(readings: Sequence[Reading]) -> tuple[Values, ...]:
    return tuple(reading.values for reading in readings if reading.values)


def _probabilities(
    answer: Answer, readings: Sequence[Reading], units: int
) -> tuple[Mapping[Value, float], ...]:
    """Return label -> probability of each unit, to six digits: the mean over samples that have a label for it."""
    if not answer.scale.has_probabilities:
        return ()
    means: list[Mapping[Value, float]] = []
    for unit in range(units):
        sums = Counter[Value]()
        labelled = 0
        if answer.scale_of(unit).has_probabilities:
            for reading in readings:
                if not reading.values or reading.values[unit] is None:
                    continue
                labelled += 1
                shares = reading.probabilities[unit] if reading.probabilities else _NO_SHARES
                # A sample whose tokens do not tell the probabilities counts as its vote.
                sums.update(shares or {reading.values[unit]: 1.0})
        means.append({label: round(total / labelled, 6) for label, total in sums.items()})
    return tuple(means)


def _without_values(values: Values, verdict: Verdict) -> str:
    error = f"no usable label for {values.count(None)} of {len(values)} units"
    if not verdict.inconsistent:
        return error
    return f"{error}; {verdict.inconsistent} of {len(verdict.samples)} answers contradict themselves"
