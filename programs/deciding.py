"""From the readings of a case's samples to its verdict: votes, probabilities, and what the sampling makes of them.

Nothing is asked here. The same rules decide what a model has just said, what it said before under another threshold,
and what a log says.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..cases import Case, Value, Values
from ..engines.ledger import Spend
from ..errors import UsageError
from ..evaluation.votes import Sampling, count_votes
from ..text.numbered_answers import mean_answers
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
    if sampling.combine is not None and not judge.answer.scale.takes_mean:
        raise UsageError(
            f"the answers of judge {judge.name} are no scores that have a mean", hint="leave out --combine"
        )


def with_means(judge: Judge, sampling: Sampling) -> Sampling:
    """Return a sampling whose scores are combined by their mean, where it draws several and leaves the rule open."""
    if sampling.combine is None and sampling.samples > 1 and judge.answer.scale.takes_mean:
        return replace(sampling, combine="mean")
    return sampling


def votes_of(readings: Sequence[Reading], units: int) -> tuple[dict[Value, int], ...]:
    """Return value -> votes of each unit, over the samples that could be read."""
    samples = _values_of_samples(readings)
    return tuple(count_votes(samples, unit) for unit in range(units))


def verdict_of(
    answer: Answer,
    sampling: Sampling,
    case: Case,
    readings: Sequence[Reading],
    usage: Spend,
    members: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on a case by the readings of its samples, in the order in which they were drawn.

    ``members`` are the models of a panel, each of which gave one sample.
    """
    verdict = _add_up(answer, sampling, case, readings, usage)
    if sampling.is_panel:
        verdict = replace(verdict, identical=False, members=_values_of_members(readings, members))
        failure = None
        if not verdict.answered:
            failure = _failure_of_panel(readings)
        if failure is not None:
            return _end_case(verdict, failure)
    elif readings and readings[-1].ends_case:
        return _end_case(verdict, readings[-1])
    return decide_verdict(answer, sampling, verdict)


def _values_of_members(readings: Sequence[Reading], names: Sequence[str]) -> dict[str, Values | None]:
    """Return the values that each member of a panel gave; ``None`` of one without any value."""
    if not names:  # one model answers in the place of all
        names = [str(number) for number in range(1, len(readings) + 1)]
    members: dict[str, Values | None] = {}
    for name, reading in zip(names, readings, strict=True):
        has_value = len(reading.missing) < len(reading.values)
        members[name] = reading.values if has_value else None
    return members


def _failure_of_panel(readings: Sequence[Reading]) -> Reading | None:
    """Return the failed request for which a panel without an answer fails, or is refused; ``None`` if none failed."""
    # The machinery's failure counts before the refusal of a row: what failed may answer when it is asked again.
    failures = [reading for reading in readings if reading.ends_case]
    failures.sort(key=lambda reading: reading.error_kind in REFUSED_ROW)
    return failures[0] if failures else None


def _add_up(
    answer: Answer, sampling: Sampling, case: Case, readings: Sequence[Reading], usage: Spend
) -> Verdict:
    """Return the sums over the samples of a case as a verdict without values."""
    units = len(answer.units(case.inputs))
    nothing: Values = (None,) * units
    counts = Counter[str]()
    reasoning = error_kind = error = ""
    inconsistent = redrawn = reasked = extra = duplicated = 0
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
    replies = [reading.replies for reading in readings]
    answers_of_samples = [reading.answers for reading in readings if reading.answers]
    return Verdict(
        id=case.id,
        status="abstained",
        values=nothing,
        votes=votes_of(readings, units),
        probabilities=_probabilities(answer, readings, units),
        measured=sum(any(reading.probabilities) for reading in readings),
        agreement=nothing,
        samples=_values_of_samples(readings),
        reasoning=reasoning,
        inconsistent=inconsistent,
        error_kind=error_kind,
        error=error,
        drawn=len(readings),
        saved=sampling.samples - len(readings),
        identical=len(replies) > 1 and bool(replies[0]) and len(set(replies)) == 1,
        redrawn=redrawn,
        reasked=reasked,
        extra=extra,
        duplicated=duplicated,
        counts=dict(counts),
        answers=tuple(mean_answers(answers_of_samples)),
        usage=usage,
    )


def _end_case(verdict: Verdict, failure: Reading) -> Verdict:
    """Return the verdict on a case whose last request failed: abstained, if the endpoint refuses the row itself."""
    status: Status = "abstained" if failure.error_kind in REFUSED_ROW else "failed"
    return replace(
        verdict,
        status=status,
        error_kind=failure.error_kind,
        error=failure.problem,
        votes=(),
        probabilities=(),
        measured=0,
        saved=0,
        answers=(),
    )


def decide_verdict(answer: Answer, sampling: Sampling, verdict: Verdict) -> Verdict:
    """Return a verdict as its votes, or its probabilities, decide it under a sampling's threshold and weights."""
    scale = answer.scale
    shares = verdict.probabilities if sampling.by_probability else ()
    values: list[Value | None] = []
    agreement: list[float | None] = []
    for unit, votes in enumerate(verdict.votes):
        probabilities = shares[unit] if shares else _NO_SHARES
        value = scale.combine(probabilities or votes, sampling.of_answers(sum(votes.values())))
        values.append(value)
        agreement.append(scale.agreement(votes, value))
    status: Status = "verdict"
    error_kind = error = ""
    if None in values:
        status = "abstained"
        error_kind = verdict.error_kind or UNREADABLE
        for value, votes in zip(values, verdict.votes, strict=True):
            if value is None and votes:
                error_kind = UNDECIDED
        error = verdict.error or _describe_missing(values, verdict)
    return replace(
        verdict,
        values=tuple(values),
        agreement=tuple(agreement),
        status=status,
        error_kind=error_kind,
        error=error,
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
    return decide_verdict(answer, sampling, replace(verdict, usage=Spend()))


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
        if answer.scale_of(unit).has_probabilities:
            means.append(_mean_shares(readings, unit))
        else:
            means.append(_NO_SHARES)
    return tuple(means)


def _mean_shares(readings: Sequence[Reading], unit: int) -> Mapping[Value, float]:
    """Return label -> mean probability of a unit over the samples that have a label for it."""
    sums = Counter[Value]()
    labelled = 0
    for reading in readings:
        if not reading.values or reading.values[unit] is None:
            continue
        labelled += 1
        shares = reading.probabilities[unit] if reading.probabilities else _NO_SHARES
        # A sample whose tokens do not tell the probabilities counts as its vote.
        sums.update(shares or {reading.values[unit]: 1.0})
    return {label: round(total / labelled, 6) for label, total in sums.items()}


def _describe_missing(values: Sequence[Value | None], verdict: Verdict) -> str:
    """Return how many units have no usable label, and how many samples contradict themselves."""
    error = f"no usable label for {values.count(None)} of {len(values)} units"
    if not verdict.inconsistent:
        return error
    return f"{error}; {verdict.inconsistent} of {len(verdict.samples)} answers contradict themselves"
