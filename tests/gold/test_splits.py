"""Splits: by group, deterministic, independent of order, and stable when rows are added."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judges import CHECK

from jurist.errors import GoldError, UsageError
from jurist.gold.goldset import Gold
from jurist.gold.splits import PARTS, Split, part_of

SHARES = (0.5, 0.2, 0.3)


def row(group: str, reply: str, verdict: str | None) -> dict[str, Any]:
    return {"policy": f"the policy of {group}", "reply": reply, "verdict": verdict, "group": group}


def both(*groups: str) -> list[dict[str, Any]]:
    """One row of each class for every group, so that every split that fills its parts is good."""
    return [
        row(group, reply, verdict) for group in groups for reply, verdict in (("a", "send"), ("b", "hold"))
    ]


MANY = both(*(f"g{number}" for number in range(30)))


def where(split: Split) -> dict[str, str]:
    return {case.id: name for name in PARTS for case in split.part(name)}


_NAMES = st.lists(st.text(min_size=1), unique=True, max_size=20)


@given(_NAMES, st.integers(), st.randoms(use_true_random=False))
def test_no_case_moves_when_rows_are_added_or_shuffled(names: list[str], seed: int, random: Any) -> None:
    try:
        before = where(Gold.of(MANY, CHECK).split(seed))
    except GoldError:
        return
    rows = [*MANY, *(row("g0", f"more {name}", "send") for name in names), *both(*names)]
    random.shuffle(rows)
    gold = Gold.of(rows, CHECK)
    try:
        after = where(gold.split(seed))
    except GoldError:
        return
    assert {key: after[key] for key in before} == before
    assert set(after) == {case.id for case in gold.cases}


@given(st.integers(), st.tuples(*[st.floats(0.2, 1)] * 3))
def test_groups_stay_whole_and_every_case_is_in_one_part(
    seed: int, weights: tuple[float, float, float]
) -> None:
    shares = tuple(weight / sum(weights) for weight in weights)
    gold = Gold.of(MANY, CHECK)
    try:
        split = gold.split(seed, shares)  # type: ignore[arg-type]
    except GoldError:
        return
    parts = [{case.group for case in split.part(name)} for name in PARTS]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 30
    assert sorted(where(split)) == sorted(case.id for case in gold.cases)
    assert sum(len(split.part(name)) for name in PARTS) == len(gold.cases)


@given(st.text(), st.integers(), st.floats(0.01, 0.5), st.floats(0.01, 0.4), st.floats(0.001, 0.08))
def test_a_larger_train_share_takes_no_group_out_of_train(
    group: str, seed: int, train: float, dev: float, more: float
) -> None:
    small, large = (train, dev, 1 - train - dev), (train + more, dev, 1 - train - more - dev)
    if part_of(group, seed, small) == "train":
        assert part_of(group, seed, large) == "train"


def test_the_shares_are_met_on_many_groups() -> None:
    counts = Counter(part_of(f"group {number}", 7, SHARES) for number in range(6000))
    for name, share in zip(PARTS, SHARES, strict=True):
        assert counts[name] / 6000 == pytest.approx(share, abs=0.03)


def test_the_draw_is_pinned() -> None:
    # a change here moves the test part of every artifact ever made
    assert "".join(part_of(f"g{number}", 1, SHARES)[1] for number in range(12)) == "errerreerrrr"
    assert [part_of("a", seed, SHARES) for seed in range(4)] == ["dev", "train", "test", "train"]


def test_the_test_hash_names_the_test_set_in_any_order() -> None:
    one, two = Gold.of(MANY, CHECK).split(1), Gold.of(MANY[::-1], CHECK).split(1)
    assert one.test_hash == two.test_hash
    assert one.test_hash != Gold.of(MANY, CHECK).split(2).test_hash
    assert len(one.test_hash) == 64
    assert (one.seed, one.shares) == (1, SHARES)


@pytest.mark.parametrize(
    "shares",
    [
        (0.5, 0.5),
        (0.5, 0.5, 0.0),
        (1.2, -0.4, 0.2),
        (0.5, 0.2, 0.2),
        (float("nan"), 0.5, 0.5),
        "abc",
        (1, 1, 1),
    ],
)
def test_shares_that_are_none(shares: Any) -> None:
    with pytest.raises(UsageError, match="three positive numbers"):
        Gold.of(MANY, CHECK).split(0, shares)


def test_unlabelled_cases_are_in_no_part() -> None:
    gold = Gold.of([*MANY, row("g1", "new", None)], CHECK, labelled=False)
    split = gold.split(1)
    assert len(where(split)) == len(MANY) == len(gold.cases) - 1


@pytest.mark.parametrize("rows", [both("only"), both("one", "two")])
def test_too_few_groups_to_split(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(GoldError, match=r"too few for train, dev and test; give each row") as caught:
        Gold.of(rows, CHECK).split(0)
    assert caught.value.field == "group"


def _seed(wanted: Any, rows: list[dict[str, Any]]) -> int:
    gold = Gold.of(rows, CHECK)
    return next(
        seed
        for seed in range(500)
        if wanted(Counter(part_of(case.group, seed, SHARES) for case in gold.cases))
    )


def test_an_empty_part_and_the_seed_that_works() -> None:
    rows = both("a", "b", "c")
    seed = _seed(lambda parts: parts["dev"] == 0 and parts["train"] and parts["test"], rows)
    gold = Gold.of(rows, CHECK)
    with pytest.raises(
        GoldError, match=rf"with seed {seed}, dev comes out empty; use another seed"
    ) as caught:
        gold.split(seed)
    advised = int(str(caught.value).partition("seed=")[2].split()[0])
    assert len(where(gold.split(advised))) == len(rows)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [("hold", "without a positive label (hold)"), ("send", "without a negative label (send)")],
)
def test_a_part_with_one_class_only(verdict: str, said: str) -> None:
    other = "send" if verdict == "hold" else "hold"
    rows = [row(f"g{number}", "a", other) for number in range(20)]
    rows += [row(name, "b", verdict) for name in ("g0", "g1")]
    with pytest.raises(GoldError) as caught:
        Gold.of(rows, CHECK).split(0)
    assert said in str(caught.value)
    assert "no seed below 200 works" in str(caught.value)
