"""From the verdicts of a case's samples to its own: votes, probabilities, and what the sampling makes of them.

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
from .answers.base import Answer
from .judge import Judge
from .verdicts import UNDECIDED, UNREADABLE, Verdict

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


def votes_of(samples: Sequence[Verdict], units: int) -> tuple[dict[Value, int], ...]:
    """Return value -> votes of each unit, over the samples that could be read."""
    values_of_samples = _values_of_samples(samples)
    votes: list[dict[Value, int]] = []
    for unit in range(units):
        votes.append(count_votes(values_of_samples, unit))
    return tuple(votes)


def verdict_of(
    answer: Answer,
    sampling: Sampling,
    case: Case,
    samples: Sequence[Verdict],
    usage: Spend,
    members: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on a case by the verdicts of its samples, in the order in which they were drawn.

    ``members`` are the models of a panel, each of which gave one sample.
    """
    verdict = _add_up(answer, sampling, case, samples, usage)
    if sampling.is_panel:
        verdict = replace(verdict, identical=False, members=_values_of_members(samples, members))
        failure = None
        if not verdict.answered:
            failure = _failure_of_panel(samples)
        if failure is not None:
            return _end_case(verdict, failure)
    elif samples and samples[-1].request_failed:
        return _end_case(verdict, samples[-1])
    return decide_verdict(answer, sampling, verdict)


def _values_of_members(samples: Sequence[Verdict], names: Sequence[str]) -> dict[str, Values | None]:
    """Return the values that each member of a panel gave; ``None`` of one without any value."""
    if not names:  # one model answers in the place of all
        names = [str(number) for number in range(1, len(samples) + 1)]
    members: dict[str, Values | None] = {}
    for name, sample in zip(names, samples, strict=True):
        members[name] = None
        if len(sample.missing) < len(sample.values):
            members[name] = sample.values
    return members


def _failure_of_panel(samples: Sequence[Verdict]) -> Verdict | None:
    """Return the failed request for which a panel without an answer fails, or is refused; ``None`` if none failed."""
    # The machinery's failure counts before the refusal of a row: what failed may answer when it is asked again.
    refusal: Verdict | None = None
    for sample in samples:
        if sample.status == "failed":
            return sample
        if sample.request_failed and refusal is None:
            refusal = sample
    return refusal


def _add_up(
    answer: Answer, sampling: Sampling, case: Case, samples: Sequence[Verdict], usage: Spend
) -> Verdict:
    """Return the sums over the samples of a case as a verdict without values."""
    units = len(answer.units(case.inputs))
    nothing: Values = (None,) * units
    counts = Counter[str]()
    reasoning = error_kind = error = ""
    measured = inconsistent = redrawn = reasked = extra = duplicated = 0
    for sample in samples:
        counts.update(sample.counts)
        reasoning = reasoning or sample.reasoning
        error_kind = error_kind or sample.error_kind
        error = error or sample.error
        measured += any(sample.probabilities)
        inconsistent += sample.inconsistent
        redrawn += sample.redrawn
        reasked += sample.reasked
        extra += sample.extra
        duplicated += sample.duplicated
    answers_of_samples = [sample.answers for sample in samples if sample.answers]
    return Verdict(
        id=case.id,
        values=nothing,
        votes=votes_of(samples, units),
        probabilities=_mean_probabilities(answer, samples, units),
        measured=measured,
        agreement=nothing,
        samples=_values_of_samples(samples),
        reasoning=reasoning,
        inconsistent=inconsistent,
        error_kind=error_kind,
        error=error,
        drawn=len(samples),
        saved=sampling.samples - len(samples),
        identical=_are_identical(samples),
        redrawn=redrawn,
        reasked=reasked,
        extra=extra,
        duplicated=duplicated,
        counts=dict(counts),
        answers=tuple(mean_answers(answers_of_samples)),
        usage=usage,
    )


def _are_identical(samples: Sequence[Verdict]) -> bool:
    """Return whether there are two samples or more, and the model returned the same texts for all of them."""
    if len(samples) < 2 or not samples[0].replies:
        return False
    return all(sample.replies == samples[0].replies for sample in samples)


def _end_case(verdict: Verdict, failure: Verdict) -> Verdict:
    """Return the verdict on a case whose last request failed: abstained, if the endpoint refuses the row itself."""
    return replace(
        verdict,
        status=failure.status,
        error_kind=failure.error_kind,
        error=failure.error,
        votes=(),
        probabilities=(),
        measured=0,
        saved=0,
        answers=(),
    )


def decide_verdict(answer: Answer, sampling: Sampling, verdict: Verdict) -> Verdict:
    """Return a verdict as its votes, or its probabilities, decide it under a sampling's threshold and weights."""
    scale = answer.scale
    uses_shares = sampling.by_probability and bool(verdict.probabilities)
    values: list[Value | None] = []
    agreement: list[float | None] = []
    for unit, votes in enumerate(verdict.votes):
        probabilities = _NO_SHARES
        if uses_shares:
            probabilities = verdict.probabilities[unit]
        value = scale.combine(probabilities or votes, sampling.of_answers(sum(votes.values())))
        values.append(value)
        agreement.append(scale.agreement(votes, value))
    error_kind = error = ""
    if None in values:
        error_kind = verdict.error_kind or UNREADABLE
        for value, votes in zip(values, verdict.votes, strict=True):
            if value is None and votes:
                error_kind = UNDECIDED
        error = verdict.error or _describe_missing(values, verdict)
    return replace(
        verdict,
        values=tuple(values),
        agreement=tuple(agreement),
        status="verdict",
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


def _values_of_samples(samples: Sequence[Verdict]) -> tuple[Values, ...]:
    """Return the values of each sample that could be read."""
    return tuple(sample.values for sample in samples if sample.values)


def _mean_probabilities(
    answer: Answer, samples: Sequence[Verdict], units: int
) -> tuple[Mapping[Value, float], ...]:
    """Return label -> probability of each unit, to six digits: the mean over samples that have a label for it."""
    if not answer.scale.has_probabilities:
        return ()
    means: list[Mapping[Value, float]] = []
    for unit in range(units):
        if answer.scale_of(unit).has_probabilities:
            means.append(_mean_shares(samples, unit))
        else:
            means.append(_NO_SHARES)
    return tuple(means)


def _mean_shares(samples: Sequence[Verdict], unit: int) -> Mapping[Value, float]:
    """Return label -> mean probability of a unit over the samples that have a label for it."""
    sums = Counter[Value]()
    labelled = 0
    for sample in samples:
        if not sample.values or sample.values[unit] is None:
            continue
        labelled += 1
        shares = _NO_SHARES
        if sample.probabilities:
            shares = sample.probabilities[unit]
        # A sample whose tokens do not tell the probabilities counts as its vote.
        sums.update(shares or {sample.values[unit]: 1.0})
    return {label: round(total / labelled, 6) for label, total in sums.items()}


def _describe_missing(values: Sequence[Value | None], verdict: Verdict) -> str:
    """Return how many units have no usable label, and how many samples contradict themselves."""
    error = f"no usable label for {values.count(None)} of {len(values)} units"
    if not verdict.inconsistent:
        return error
    return f"{error}; {verdict.inconsistent} of {len(verdict.samples)} answers contradict themselves"
