"""Splits: by group, exact to within the largest group, independent of order; members stay where they were."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judges import CHECK

from jurist.errors import GoldError, UsageError
from jurist.gold.goldset import Gold
from jurist.gold.splits import PARTS, Split


def row(group: str, reply: str, verdict: str | None) -> dict[str, Any]:
    return {"policy": f"the policy of {group}", "reply": reply, "verdict": verdict, "group": group}


def both(*groups: str) -> list[dict[str, Any]]:
    """One row of each class for every group, so that every split that fills its parts is good."""
    sides = (("a", "send"), ("b", "hold"))
    return [row(group, reply, verdict) for group in groups for reply, verdict in sides]


MANY = both(*(f"g{number}" for number in range(30)))


def sized(sizes: Sequence[int]) -> Gold:
    """Groups of so many rows, each with both labels."""
    rows = [
        row(f"g{group}", f"reply {number}", ("send", "hold")[number % 2])
        for group, size in enumerate(sizes)
        for number in range(size + 1)
    ]
    return Gold.of(rows, CHECK)


def where(split: Split) -> dict[str, str]:
    return {case.id: name for name in PARTS for case in split.part(name)}


def known(split: Split) -> Mapping[str, str]:
    """What the card of a version says of its split."""
    return {name: part for part, names in split.to_card().items() for name in names}


_SEEDS = st.integers(0, 2**32 - 1)
_SIZES = st.lists(st.integers(1, 30), min_size=3, max_size=40)
_WEIGHTS = st.tuples(*[st.floats(0.2, 1)] * 3)


@settings(max_examples=12)
@given(_SIZES, _SEEDS, _WEIGHTS, st.randoms(use_true_random=False))
def test_shares_are_exact_to_within_the_largest_group_in_any_order(
    sizes: list[int], seed: int, weights: tuple[float, float, float], random: Any
) -> None:
    train, dev, _ = (one / sum(weights) for one in weights)
    shares = (train, dev, 1 - (train + dev))
    gold = sized(sizes)
    assume(len(sizes) > 5)
    split = gold.split(seed, shares)
    for part, share in zip(PARTS, shares, strict=True):
        assert abs(len(split.part(part)) - share * len(gold.cases)) <= max(sizes) + 1
    parts = [{case.group for case in split.part(name)} for name in PARTS]
    assert sum(map(len, parts)) == len(set().union(*parts)) == len(sizes)
    assert sorted(where(split)) == sorted(case.id for case in gold.cases)
    rows = [dict(case.row) for case in gold.cases]
    random.shuffle(rows)
    assert where(Gold.of(rows, CHECK).split(seed, shares)) == where(split)


_NAMES = st.lists(st.text(min_size=1), unique=True, max_size=20)


@settings(max_examples=15)
@given(_NAMES, _SEEDS, st.randoms(use_true_random=False))
def test_no_case_moves_when_rows_are_added_to_a_split(names: list[str], seed: int, random: Any) -> None:
    first = Gold.of(MANY, CHECK).split(seed)
    before = where(first)
    rows = [*MANY, *(row("g0", f"more {name}", "send") for name in names), *both(*names)]
    random.shuffle(rows)
    gold = Gold.of(rows, CHECK)
    after = gold.split(seed, earlier=known(first))
    # a case of the test is left out where a new row of train nearly repeats it; none moves to another part
    assert {key: where(after).get(key, "test") for key in before} == before
    assert len(where(after)) + after.copies == len(gold.cases)
    assert after.unmoved == 30


@given(
    st.lists(st.sampled_from([("send",), ("hold",), ("send", "hold")]), min_size=3, max_size=14),
    st.integers(0, 99),
)
@settings(max_examples=30)
def test_each_part_has_both_sides_where_three_groups_have(kinds: list[tuple[str, ...]], seed: int) -> None:
    rows = [row(f"g{n}", f"reply {verdict}", verdict) for n, kind in enumerate(kinds) for verdict in kind]
    counts = Counter(verdict for kind in kinds for verdict in kind)
    if min(counts["send"], counts["hold"]) >= 3:
        split = Gold.of(rows, CHECK).split(seed)
        for part in PARTS:
            assert {case.labels[0] for case in split.part(part)} == {"send", "hold"}
    elif len(counts) == 2:
        with pytest.raises(GoldError, match="both sides of the labels"):
            Gold.of(rows, CHECK).split(seed)


@pytest.mark.parametrize(("giant", "least"), [(60, 25), (400, 20)])
def test_one_giant_group_is_not_in_the_test(giant: int, least: int) -> None:
    gold = sized([giant, *[3] * 40])
    for seed in range(20):
        split = gold.split(seed)
        assert len({case.group for case in split.test}) >= least, seed


def test_the_order_of_groups_is_pinned() -> None:
    # a change here moves the test part of every version that was ever made
    split = Gold.of(both(*(f"g{number}" for number in range(12))), CHECK).split(1)
    parts = {case.group: name for name in PARTS for case in split.part(name)}
    assert "".join(parts[f"g{number}"][1] for number in range(12)) == "eeerrereeere"


def test_the_test_hash_names_the_test_set_in_any_order() -> None:
    one, two = Gold.of(MANY, CHECK).split(1), Gold.of(MANY[::-1], CHECK).split(1)
    assert one.test_hash == two.test_hash
    assert one.test_hash != Gold.of(MANY, CHECK).split(2).test_hash
    assert len(one.test_hash) == 64
    assert (one.seed, one.shares) == (1, (0.3, 0.2, 0.5))


NONE = [(0.5, 0.5), (0.5, 0.5, 0), (1.2, -0.4, 0.2), (0.5, 0.2, 0.2), (float("nan"), 0.5, 0.5)]


@pytest.mark.parametrize("shares", NONE)
def test_shares_that_are_none(shares: Any) -> None:
    with pytest.raises(UsageError, match="three positive numbers"):
        Gold.of(MANY, CHECK).split(0, shares)


@pytest.mark.parametrize("rows", [both("only"), both("one", "two")])
def test_too_few_groups_to_split(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(GoldError, match=r"too few for train, dev and test; give each row") as caught:
        Gold.of(rows, CHECK).split(0)
    assert caught.value.field == "group"


def test_a_test_of_ones_own_leaves_out_rows_of_its_groups_and_near_copies() -> None:
    policy = "Unused tickets are taken back at the counter within nine days of the sale, with a receipt. "
    rows = [{**one, "policy": f"{one['policy']} {policy}{'x' * n}"} for n, one in enumerate(MANY[:2])]
    copies = ({**one, "group": "copy", "reply": "c" * 9} for one in rows)
    own = Gold.of([*both("t1", "t2", "g5"), *copies], CHECK)
    split = Gold.of([*rows, *MANY[2:]], CHECK).split(0, holdout=own)
    assert {case.id for case in split.test} == {case.id for case in own.cases}
    seen = {case.group for case in (*split.train, *split.dev)}
    assert seen == {f"g{number}" for number in range(30)} - {"g0", "g5"}
    assert (split.left_out, len(split.train), len(split.dev)) == (4, 34, 22)
    assert "the test is rows; 4 rows of the gold left out" in split.words
    with pytest.raises(GoldError, match=r"in 0 groups \(60 others are of groups of the holdout"):
        Gold.of(MANY, CHECK).split(0, holdout=Gold.of(MANY, CHECK))


def test_why_people_labelled_as_they_did_is_shown_to_train_alone() -> None:
    rows = [{**one, "reason": f"because of {one['reply']}"} for one in MANY]
    gold = Gold.of(rows, CHECK)
    assert all(case.reason for case in gold.cases)
    split = gold.split(0)
    assert all(case.reason for case in split.train)
    assert not any(case.reason for case in (*split.dev, *split.test))
