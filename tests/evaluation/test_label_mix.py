"""Shares of several labels, corrected by what a judge takes for what: exact cases, refusals, coverage."""

import numpy as np
import pytest

from jurist.evaluation.label_mix import label_mix

Known = list[tuple[str, str, str]]
RATES = {"a": (0.8, 0.15, 0.05), "b": (0.1, 0.8, 0.1), "c": (0.05, 0.15, 0.8)}


def known(table: dict[str, tuple[int, ...]], groups: int = 4) -> Known:
    """The same table in each group."""
    return [
        (str(group), truth, said)
        for group in range(groups)
        for truth, counts in table.items()
        for said, count in zip("abc", counts, strict=True)
        for _ in range(count)
    ]


def test_what_a_judge_would_find_of_known_shares_gives_them_back() -> None:
    table = {"a": (8, 2, 0), "b": (1, 8, 1), "c": (0, 2, 8)}
    true = (0.5, 0.3, 0.2)
    rates = [[count / 10 for count in row] for row in table.values()]
    found = {
        str(g): [round(1000 * sum(p * row[k] for p, row in zip(true, rates, strict=True))) for k in range(3)]
        for g in range(6)
    }
    shares = label_mix("abc", found, known(table))
    assert [one.value for one in shares] == pytest.approx(true)
    assert sum(one.value for one in shares) == pytest.approx(1)
    assert all(one.low < one.value < one.high for one in shares)
    assert [one.positives for one in shares] == [40, 40, 40]


@pytest.mark.parametrize(
    ("calibration", "found", "problem"),
    [
        ([], {"g": [1, 2, 3]}, "no unit that is truly a or b or c"),
        (known({"a": (9, 1, 0), "b": (1, 9, 0), "c": (5, 5, 0)}), {"g": [1, 2, 3]}, "take"),
        (known({"a": (9, 1, 0), "b": (1, 9, 0)}), {"g": [1, 2, 3]}, "no unit that is truly c"),
        (known({"a": (9, 0, 0), "b": (0, 9, 0), "c": (0, 0, 9)}, 1), {"g": [1, 2, 3]}, "one group"),
        (
            known({"a": (9, 0, 0), "b": (0, 9, 0)}) + [("0", "c", "c")],
            {"g": [1, 2, 3]},
            "one group of the cal",
        ),
        (known({"a": (9, 0, 0), "b": (0, 9, 0), "c": (0, 0, 9)}), {}, "no unit"),
    ],
)
def test_what_cannot_be_undone_is_not(calibration: Known, found: dict[str, list[int]], problem: str) -> None:
    for one in label_mix("abc", found, calibration):
        assert one.value is None
        assert problem in one.problem


def test_what_no_share_explains_is_not_corrected() -> None:
    table = {"a": (6, 2, 2), "b": (2, 6, 2), "c": (2, 2, 6)}
    shares = label_mix("abc", {str(g): [50, 50, 0] for g in range(20)}, known(table, 40))
    assert "another kind" in shares[2].problem


@pytest.mark.slow
@pytest.mark.parametrize(("shares", "groups"), [((0.6, 0.3, 0.1), 30), ((0.9, 0.07, 0.03), 60)])
def test_coverage_by_simulation(shares: tuple[float, ...], groups: int) -> None:
    rng, held, runs = np.random.default_rng(3), np.zeros(3), 400

    def drawn(count: int, mix: tuple[float, ...]) -> Known:
        found = []
        for group in range(count):
            p = rng.dirichlet(np.array(mix) * 15)
            rates = {label: rng.dirichlet(np.array(row) * 15) for label, row in RATES.items()}
            for truth in rng.choice(list("abc"), size=int(rng.integers(2, 9)), p=p):
                found.append((str(group), str(truth), str(rng.choice(list("abc"), p=rates[str(truth)]))))
        return found

    for _ in range(runs):
        counts: dict[str, list[int]] = {}
        for group, _, said in drawn(60, shares):
            counts.setdefault(group, [0, 0, 0])["abc".index(said)] += 1
        found = label_mix("abc", counts, drawn(groups, (0.4, 0.3, 0.3)))
        held += [one.value is None or one.low <= p <= one.high for p, one in zip(shares, found, strict=True)]
    assert (held / runs >= 0.93).all()
