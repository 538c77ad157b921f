"""Where prompts stand: pairing through the cases' effects, parents as priors, and the board's choice."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import World, board_of, job_of, simulator

from jurist.cases import Case
from jurist.engines.ledger import Spend
from jurist.evaluation.rows import JudgedRow
from jurist.optimizers.board import Board, Candidate
from jurist.optimizers.objective import Objective, Outcome
from jurist.optimizers.standing import Credit, Scored, outdoes, standings
from jurist.programs.verdicts import Verdict

JUDGE = simulator.JUDGE
OBJECTIVE = Objective(judge=JUDGE)


def outcome(number: int, right: bool, gold: str = "reject") -> Outcome:
    other = "accept" if gold == "reject" else "reject"
    row = JudgedRow(
        id=str(number), group=str(number), gold=(gold,), predicted=(gold if right else other,), failed=False
    )
    verdict = Verdict(id=str(number), status="verdict", values=row.predicted)
    return Outcome(row=row, verdict=verdict, score=float(right), has_error=not right)


def scored(name: str, rights: Mapping[int, bool], parent: str | None = None) -> Scored:
    return Scored(id=name, parent=parent, outcomes={str(n): outcome(n, right) for n, right in rights.items()})


def stand(*prompts: Scored, shrink: float = 10.0) -> dict[str, tuple[float, float]]:
    credit = Credit(OBJECTIVE, list(prompts[0].outcomes.values()))
    return {one.id: (one.mean, one.error) for one in standings(prompts, credit, shrink)}


def test_easy_cases_are_no_merit() -> None:
    """Two prompts that agree where they met: the one that met the hard half only is not worse."""
    both = {n: n % 2 == 0 for n in range(80)}  # even cases are easy
    hard = dict.fromkeys(range(1, 80, 2), False)
    others = [scored(f"other {n}", both) for n in range(16)]
    found = stand(scored("basic", both), *others, scored("hard", hard), scored("all", both), shrink=0.0)
    assert abs(found["hard"][0] - found["all"][0]) < 0.12  # raw means: 0 and 0.5


def test_a_new_prompt_is_as_good_as_its_parent_until_shown_otherwise() -> None:
    basic = scored("basic", {n: n % 2 == 0 for n in range(60)})
    good = scored("good", dict.fromkeys(range(60), True), "basic")
    two = dict.fromkeys(range(60, 62), True)
    found = stand(basic, good, scored("of basic", two, "basic"), scored("of good", two, "good"))
    assert found["of good"][0] > found["of basic"][0] + 0.2
    assert found["of good"][1] > found["good"][1]
    nothing = stand(basic, good, scored("new", {}, "good"))
    assert nothing["new"][0] == pytest.approx(nothing["good"][0])


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(0.0, 30.0))
def test_standings_do_not_depend_on_the_order_of_outcomes(seed: int, prompts: int, shrink: float) -> None:
    random_ = random.Random(seed)
    rows = [
        scored(
            str(n),
            {c: random_.random() < 0.6 for c in random_.sample(range(30), 12)},
            str(n - 1) if n else None,
        )
        for n in range(prompts)
    ]
    mixed = [
        replace(one, outcomes=dict(random_.sample(list(one.outcomes.items()), len(one.outcomes))))
        for one in rows
    ]
    credit = Credit(OBJECTIVE, list(rows[0].outcomes.values()))
    assert standings(rows, credit, shrink) == standings(mixed, credit, shrink)
    for one in standings(rows, credit, shrink):
        assert one.error > 0
        assert -0.5 < one.mean < 1.5


@pytest.mark.parametrize("metric", ["f1", "macro_f1", "balanced_accuracy", "kappa", "accuracy"])
def test_credits_order_prompts_as_the_metric_does(metric: str) -> None:
    """To first order around what is chosen: the difference of two near prompts comes out as the metric's own."""
    objective = Objective(judge=JUDGE.with_metric(metric))
    gold = {n: "reject" if n % 3 == 0 else "accept" for n in range(120)}
    one = {n: outcome(n, n % 4 != 1, gold[n]) for n in gold}
    two = {**one, **{n: outcome(n, True, gold[n]) for n in (1, 9, 13, 33)}}
    credit = Credit(objective, list(one.values()))
    means = [sum(credit(o) for o in part.values()) / 120 for part in (one, two)]
    real = objective.aggregate(list(two.values())) - objective.aggregate(list(one.values()))
    assert real > 0
    assert means[1] - means[0] == pytest.approx(real, rel=0.15)


@pytest.mark.parametrize(
    ("more", "less", "told"),
    [(0, 0, False), (3, 0, False), (4, 0, True), (5, 1, False), (6, 1, True), (8, 2, True), (2, 8, False)],
)
def test_a_prompt_outdoes_another_by_the_permutation_of_groups(more: int, less: int, told: bool) -> None:
    better, worse = (outcome(0, False), outcome(0, True)), (outcome(0, True), outcome(0, False))
    pairs = [*[better] * more, *[worse] * less, *[(outcome(0, True), outcome(0, True))] * 20]

    def placed(one: Outcome, number: int, group: str) -> Outcome:
        return replace(one, row=replace(one.row, id=str(number), group=group))

    def grouped(names: Iterable[str]) -> list[tuple[Outcome, Outcome]]:
        return [
            (placed(one, number, name), placed(two, number, name))
            for number, ((one, two), name) in enumerate(zip(pairs, names, strict=True))
        ]

    judge = JUDGE.with_metric("accuracy")
    assert outdoes(grouped(map(str, range(len(pairs)))), judge, 0.1) is told
    assert outdoes(grouped(["one"] * len(pairs)), judge, 0.1) is (more > less)  # there are no others


# -- the board's choice -------------------------------------------------------------------------------


def board_with(world: World) -> tuple[Board, tuple[Case, ...], tuple[Case, ...]]:
    job = job_of(world)
    return board_of(job), job.train, job.dev


def all_right(cases: Iterable[Case]) -> list[tuple[Case, bool]]:
    return [(case, True) for case in cases]


def put(
    board: Board,
    text: str,
    rights: Iterable[tuple[Case, bool]],
    parent: Candidate | None = None,
    usage: Spend | None = None,
) -> Candidate:
    """Enter an instruction with what it shall have got right; no call is made."""
    parent = parent or board.basic
    candidate = board.add(board.basic.state.with_instruction("self", text), parent=parent, source="test")
    give(board, candidate, rights, usage)
    return candidate


def give(
    board: Board, candidate: Candidate, rights: Iterable[tuple[Case, bool]], usage: Spend | None = None
) -> None:
    for case, right in rights:
        gold = str((case.gold or ("",))[0])
        label = gold if right else {"accept": "reject", "reject": "accept"}[gold]
        verdict = Verdict(id=case.id, status="verdict", values=(label,), usage=usage or Spend())
        board.record(candidate, case, verdict)


def test_luck_is_not_chosen_and_evidence_is() -> None:
    board, train, dev = board_with(simulator.World(seed=4))
    give(board, board.basic, [(case, n % 5 < 3) for n, case in enumerate(dev)])
    for number in range(20):
        put(
            board,
            f"Lucky {number}.",
            [(case, (number + n) % 5 < 3) for n, case in enumerate(dev[number : number + 3])],
        )
    assert board.best(dev) == board.basic
    good = put(board, "Good.", [(case, n % 10 > 0) for n, case in enumerate((*dev, *train))])
    assert board.best(dev) == good
    better = put(board, "Said to be better.", all_right(dev[:3]), good)
    assert board.best(dev) == good
    give(board, better, all_right((*dev, *train)))
    assert board.best(dev) == better
    assert board.best(dev, {better.id}) == good
    assert board.best(dev, set(board.candidates)) is None


def test_a_demonstration_is_no_evidence_for_its_own_prompt() -> None:
    board, train, dev = board_with(simulator.World(seed=4))
    give(board, board.basic, [(case, n % 2 == 0) for n, case in enumerate(dev)])
    ids = tuple(case.id for case in train)
    state = board.basic.state.with_instruction("self", "With all of train.")
    shown = board.add(state, parent=board.basic, source="test", demo_ids=ids)
    give(board, shown, [*all_right(train), *((case, n % 2 == 0) for n, case in enumerate(dev))])
    assert board.best(dev) == board.basic


def test_a_gain_that_dev_does_not_show_is_not_chosen() -> None:
    """Prompts are written, and thresholds fitted, on train: what only train shows may be made for it."""
    board, train, dev = board_with(simulator.World(seed=4))
    give(board, board.basic, [(case, n % 2 == 0) for n, case in enumerate((*dev, *train))])
    put(board, "Made for train.", [*all_right(train), *((case, n % 2 == 0) for n, case in enumerate(dev))])
    assert board.best(dev) == board.basic
    good = put(board, "Of use.", [(case, n % 5 > 0) for n, case in enumerate((*dev, *train))])
    assert board.best(dev) == good


def took(tokens: int) -> Spend:
    return Spend(calls=1, input_tokens=tokens, output_tokens=10)


@pytest.mark.parametrize(
    ("wrong", "tokens", "chosen"),
    [
        (1, 300, "Short."),  # as good, and a third of the price
        (1, 850, "Long."),  # as good, and hardly cheaper
        (10, 300, "Long."),  # cheaper, and worse
    ],
)
def test_of_prompts_that_are_as_good_the_cheapest_a_row_is_chosen(
    wrong: int, tokens: int, chosen: str
) -> None:
    board, train, dev = board_with(simulator.World(seed=4))
    cases = (*dev, *train)
    give(board, board.basic, [(case, n % 2 == 0) for n, case in enumerate(cases)], took(100))
    put(board, "Long.", [(case, n % 10 > 0) for n, case in enumerate(cases)], usage=took(900))
    put(
        board,
        "Short.",
        [(case, n % 10 > 0 and n > wrong) for n, case in enumerate(cases)],
        usage=took(tokens),
    )
    best = board.best(dev)
    assert best is not None
    assert best.state.predictors["self"].instructions == chosen


@pytest.mark.parametrize(
    ("right_of_ten", "chosen", "is_clear"),
    [(5, False, False), (6, True, False), (9, True, True)],
    ids=["no gain", "a gain that may be luck", "a clear gain"],
)
def test_a_gain_that_may_be_luck_is_chosen_and_said_to_be_unclear(
    right_of_ten: int, chosen: bool, is_clear: bool
) -> None:
    board, train, dev = board_with(simulator.World(seed=4))
    cases = (*dev, *train)
    give(board, board.basic, [(case, n % 10 < 5) for n, case in enumerate(cases)])
    candidate = put(board, "Other.", [(case, (n + 5) % 10 < right_of_ten) for n, case in enumerate(cases)])
    assert board.best(dev) == (candidate if chosen else board.basic)
    assert board.shows_gain(candidate, dev) is is_clear


def test_a_prompt_that_always_gives_one_label_is_not_chosen() -> None:
    board, train, dev = board_with(simulator.World(seed=4))
    cases = (*dev, *train)
    give(board, board.basic, [(case, n % 5 == 0) for n, case in enumerate(cases)])
    labels = [str((case.gold or ("",))[0]) for case in cases]
    usual = max(labels, key=labels.count)
    put(board, f"Say {usual}.", [(case, label == usual) for case, label in zip(cases, labels, strict=True)])
    assert board.best(dev) == board.basic
    rare = next(n for n, label in enumerate(labels) if label != usual)
    better = put(board, "Look.", [(case, labels[n] == usual or n == rare) for n, case in enumerate(cases)])
    assert board.objective.aggregate(list(board.outcomes(better).values())) > board.objective.best_constant(
        list(board.outcomes(better).values())
    )
