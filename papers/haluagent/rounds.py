"""Prompt optimisation round by round (Table 3): the best prompts of each round, and what passed with them on dev.

Nothing is asked for it: a search keeps what every check said of everything that was written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...cases import Case
from ...evaluation.measured import objective_score
from ...optimizers.board import Board, Candidate


@dataclass(frozen=True, kw_only=True)
class Round:
    """One line of the table."""

    number: int  # 0 for the basic prompts
    candidate: str  # the id of the prompts that were the best of the round on dev
    rates: Mapping[str, float]  # metric -> its value on dev: the validation rate, and the rate of each check


def rounds_of(board: Board, dev: Sequence[Case]) -> list[Round]:
    """Return a line for each round, of those of its candidates that were scored on as much of dev as the basic prompts.

    A round whose best is below that of the one before is there too: it is where the search ended.
    """
    ids = {case.id for case in dev}
    whole = len(ids & board.outcomes(board.basic).keys())
    best: dict[int, Candidate] = {}
    for one in board.candidates.values():
        if len(ids & board.outcomes(one).keys()) >= whole:
            known = best.setdefault(one.step, one)
            best[one.step] = max(known, one, key=lambda candidate: board.value(candidate, dev))
    return [
        Round(number=number, candidate=one.id, rates=_rates(board, one, ids))
        for number, one in sorted(best.items())
    ]


def _rates(board: Board, candidate: Candidate, ids: set[str]) -> dict[str, float]:
    rows = [outcome.row for case_id, outcome in board.outcomes(candidate).items() if case_id in ids]
    comparison = board.judge.comparison
    return {name: objective_score(rows, name, comparison) for name in comparison.metrics}
