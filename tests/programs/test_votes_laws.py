"""Votes: exhaustive tables and laws of thresholds, majorities and abstentions."""

import itertools
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.errors import UsageError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.scores import Scores
from jurist.evaluation.votes import Sampling, count_votes, mean_vote, median_vote, more_than_half

ORDER = ("bad", "worse", "good", "fine")
POSITIVE = frozenset({"bad", "worse"})
SCALE = ClosedLabels(ORDER, POSITIVE)


def brute(answers: tuple[str | None, ...], threshold: int) -> str | None:
    """Decide by trying every way to fill in the unusable votes: only what they all agree on is decided."""
    options = [(answer,) if answer else ORDER for answer in answers]
    ballots = itertools.product(*options)
    found = {sum(label in POSITIVE for label in filled) >= threshold for filled in ballots}
    if len(found) == 2:
        return None
    side = [label for label in ORDER if (label in POSITIVE) in found]
    counts = [sum(answer == label for answer in answers) for label in side]
    return side[counts.index(max(counts))]


def verdict(answers: tuple[str | None, ...], threshold: int) -> str | None:
    votes = count_votes([(answer,) for answer in answers], 0)
    return SCALE.combine(votes, Sampling(samples=len(answers), threshold=threshold))


@pytest.mark.parametrize("samples", range(1, 6))
def test_every_ballot_up_to_five_samples(samples: int) -> None:
    for answers in itertools.combinations_with_replacement((*ORDER, None), samples):
        for threshold in range(1, samples + 1):
            assert verdict(answers, threshold) == brute(answers, threshold), (answers, threshold)


ballots = st.lists(st.sampled_from((*ORDER, None)), min_size=1, max_size=11).map(tuple)


@pytest.mark.parametrize(("samples", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)])
def test_majority_is_more_than_half(samples: int, needed: int) -> None:
    assert more_than_half(samples) == needed == Sampling(samples=samples).needed
    assert needed * 2 > samples >= (needed - 1) * 2


@pytest.mark.parametrize(("samples", "threshold"), [(0, 1), (-1, 1), (3, 0), (3, 4), (1, 2)])
def test_impossible_thresholds_are_refused(samples: int, threshold: int) -> None:
    with pytest.raises(UsageError):
        Sampling(samples=samples, threshold=threshold)


def sure(answers: tuple[str | None, ...], samples: int, threshold: int) -> bool:
    votes = count_votes([(answer,) for answer in answers], 0)
    left = samples - len(answers)
    return SCALE.is_decided(votes, left, Sampling(samples=samples, threshold=threshold))


@pytest.mark.parametrize("samples", range(1, 6))
def test_settled_is_exact_for_every_prefix_of_every_ballot(samples: int) -> None:
    """Brute force over all completions: settled if, and only if, no completion decides otherwise."""
    for drawn in range(samples + 1):
        for prefix in itertools.combinations_with_replacement((*ORDER, None), drawn):
            for threshold in range(1, samples + 1):
                rest = itertools.combinations_with_replacement((*ORDER, None), samples - drawn)
                outcomes = {verdict((*prefix, *more), threshold) for more in rest}
                assert sure(prefix, samples, threshold) == (len(outcomes) == 1), (prefix, samples, threshold)


@given(ballots)
def test_agreement_is_the_share_of_the_votes_cast(answers: tuple[str | None, ...]) -> None:
    votes = count_votes([(answer,) for answer in answers], 0)
    agreement = ClosedLabels(ORDER).agreement
    shares = [agreement(votes, label) for label in votes]
    assert all(share is not None and 0 < share <= 1 for share in shares)
    assert sum(share for share in shares if share is not None) == pytest.approx(1 if votes else 0)
    assert agreement(votes, None) is None
    assert agreement({}, "bad") is None


@pytest.mark.parametrize(
    ("votes", "samples", "median"),
    [
        ({3: 1}, 1, 3),
        ({3: 1, 5: 1}, 2, 3),  # the lower of two
        ({3: 1}, 2, None),  # one of two is not more than half
        ({1: 2}, 3, 1),
        ({1: 1}, 3, None),
        ({1: 1, 2: 1, 5: 1}, 5, 2),
        ({1: 1, 5: 1}, 5, None),
        ({}, 1, None),
    ],
)
def test_a_median_needs_scores_of_more_than_half_of_the_samples(
    votes: dict[int, int], samples: int, median: int | None
) -> None:
    assert median_vote(votes, samples) == median


@pytest.mark.parametrize(
    ("votes", "samples", "is_whole", "mean"),
    [
        ({3: 1}, 1, True, 3),
        ({3: 1, 5: 1}, 2, True, 4),
        ({3: 1, 4: 1}, 2, True, 4),  # of two equally near ones the even one
        ({4: 1, 5: 1}, 2, True, 4),
        ({3: 1, 4: 1}, 2, False, 3.5),
        ({3: 1}, 2, True, None),  # one of two is not more than half
        ({1: 2, 5: 1}, 3, True, 2),
        ({1: 1, 5: 1}, 3, False, 3.0),
        ({1: 1, 5: 1}, 5, False, None),
        ({0.1: 3}, 3, False, 0.1),  # its sum in floating point is above the scale's end
        ({}, 1, True, None),
    ],
)
def test_a_mean_needs_scores_of_more_than_half_of_the_samples(
    votes: dict[float, int], samples: int, is_whole: bool, mean: float | None
) -> None:
    assert mean_vote(votes, samples, is_whole) == mean


scores = st.lists(st.sampled_from((0.0, 0.1, 0.2, 0.3, 0.7, 1.0)), min_size=1, max_size=9)


@given(scores, st.randoms(use_true_random=False))
def test_a_mean_lies_on_the_scale_and_knows_no_order(drawn: list[float], random: Random) -> None:
    shuffled = random.sample(drawn, len(drawn))
    mean = mean_vote(Counter(drawn), len(drawn), is_whole=False)
    assert mean == mean_vote(Counter(shuffled), len(drawn), is_whole=False)
    assert mean is not None
    assert min(drawn) <= mean <= max(drawn)


@pytest.mark.parametrize("samples", range(1, 5))
def test_a_mean_is_never_settled_while_it_can_change(samples: int) -> None:
    """Brute force over all completions: where drawing stops, none of them gives another mean."""
    scale, sampling = Scores(1, 3, whole=True), Sampling(samples=samples, combine="mean")
    for drawn in range(samples + 1):
        for prefix in itertools.combinations_with_replacement((1, 2, 3, None), drawn):
            votes = count_votes([(score,) for score in prefix], 0)
            if not scale.is_decided(votes, samples - drawn, sampling):
                continue
            outcomes = set()
            for rest in itertools.combinations_with_replacement((1, 2, 3, None), samples - drawn):
                complete = count_votes([(score,) for score in prefix + rest], 0)
                outcomes.add(scale.combine(complete, sampling))
            assert len(outcomes) == 1, (prefix, samples)
