"""Racing: all prompts tried so far compete for the next block of calls; most of them are plainly worse."""

from collections import Counter
from collections.abc import Collection, Sequence

from ..cases import Case
from .board import Board, Candidate
from .objective import Outcome
from .standing import SHRINK, Credit, Scored, Standing, standings

_BEST = 10  # prompts that say on which cases it is open who is right


class Race:
    """The race of prompts over one order of cases: but for their first block all meet them in it, and are paired."""

    def __init__(
        self,
        board: Board,
        order: Sequence[Case],
        *,
        block: int,
        reference: Sequence[Outcome],
        shrink: float = SHRINK,
        telling: bool = True,
        by_price: bool = False,
    ) -> None:
        """Race over ``order``.

        With ``telling`` a new prompt's first block is of the cases that say most of it; ``by_price`` a block of a
        prompt that takes more a row than another one that is open counts as so much more.
        """
        self.board, self.order, self.block = board, tuple(order), max(1, block)
        self.shrink, self.telling, self.by_price = shrink, telling, by_price
        self._credit = Credit(board.objective, reference)
        self._arms: dict[str, Scored] = {}
        self._met: dict[str, dict[str, Outcome]] = {}
        self._at: dict[str, int] = {}
        self._own: dict[str, list[Case]] = {}  # the order without a prompt's own demonstrations
        self._spent: dict[str, int] = {}
        self._fitted: list[Standing] | None = None
        row = board.spent(board.basic, self.order)
        self.price = self.block * max(
            1.0, row.tokens + row.calls if row else 0.0
        )  # of a block of the basic prompt

    def enter(self, candidate: Candidate) -> None:
        """Let a prompt run its first block. One that is in the race already stays as it is."""
        if candidate.id not in self._arms:
            known = self.board.outcomes(candidate)  # the basic prompt was scored on dev first
            own = self._telling_first([case for case in self.order if case.id not in candidate.demo_ids])
            met = {case.id: known[case.id] for case in own if case.id in known}
            self._met[candidate.id], self._at[candidate.id], self._own[candidate.id] = met, 0, own
            self._arms[candidate.id] = Scored(id=candidate.id, parent=candidate.parent, outcomes=met)
            self._run(candidate.id)

    def advance(self, count: int, reach: float) -> None:
        """Give ``count`` blocks away, each to whoever is not through with the highest ``mean + reach * error``."""
        taken = 0.0
        while taken < count:
            open_ = [found for found in self.standings() if self._at[found.id] < len(self._own[found.id])]
            if not open_:
                return
            chosen = max(open_, key=lambda found: round(found.mean + reach * found.error, 9)).id
            rows = {found.id: self._spent[found.id] / max(1, self._at[found.id]) for found in open_}
            least = min(filter(None, rows.values()), default=0.0)  # what the basic one said was known before
            taken += max(1.0, rows[chosen] / least) if self.by_price and least else 1.0
            self._run(chosen)

    def complete(self, caution: float) -> None:
        """Let whoever leads meet all cases."""
        while self._at[leader := self.leader(caution).id] < len(self._own[leader]):
            self._run(leader)

    def keep_up(self, candidate: Candidate, leader: Candidate) -> None:
        """Give a block to a prompt that has met fewer cases than ``leader``: they are compared on what both met."""
        if self._at[candidate.id] < self._at[leader.id]:
            self._run(candidate.id)

    def around(self, candidate: Candidate) -> None:
        """Take the metric to first order around a prompt of the race from now on."""
        basic = next(iter(self._met.values()))
        self._credit = Credit(self.board.objective, list({**basic, **self._met[candidate.id]}.values()))
        self._fitted = None

    def standings(self) -> list[Standing]:
        """Return where every prompt stands, in the order of their entry."""
        if self._fitted is None:
            self._fitted = standings(list(self._arms.values()), self._credit, self.shrink)
        return self._fitted

    def ranking(self) -> list[Standing]:
        """Return the standings by shrunken mean, best first, the earlier first among equals."""
        return sorted(self.standings(), key=lambda found: -round(found.mean, 9))

    def leader(self, caution: float, among: Collection[str] = ()) -> Candidate:
        """Return the prompt with the highest ``mean - caution * error``; of those named, if any are."""
        open_ = [found for found in self.standings() if found.id in among or not among]
        found = max(open_, key=lambda found: round(found.mean - caution * found.error, 9))
        return self.board.candidates[found.id]

    def spent(self, candidate: Candidate) -> int:
        """Return what a prompt of the race took in it, as :attr:`Meter.taken` counts."""
        return self._spent[candidate.id]

    def seen(self, candidate: Candidate) -> tuple[Case, ...]:
        """Return the cases that a prompt of the race was scored on, in order."""
        return tuple(self._own[candidate.id][: self._at[candidate.id]])

    def _telling_first(self, own: Sequence[Case]) -> list[Case]:
        """Return the cases, a block in front on which it is open whether a good prompt is right, of the usual strata.

        The leader's errors alone would mislead: most of a good prompt's are bad luck, which any other seems to mend.
        """
        if not self._arms or not self.telling:
            return list(own)
        best = [self._met[found.id] for found in self.ranking()[:_BEST]]

        def certainty(case: Case) -> float:
            scores = [met[case.id].score for met in best if case.id in met]
            return abs((sum(scores) + 0.5) / (len(scores) + 1) - 0.5)

        strata = dict(zip((case.id for case in own), self.board.judge.answer.scale.strata(own), strict=True))
        places = Counter(strata[case.id] for case in own[: self.block])
        first: dict[str, Case] = {}
        for case in sorted((case for case in own if case.id in best[0]), key=certainty):
            if places[strata[case.id]]:
                places[strata[case.id]] -= 1
                first[case.id] = case
        return [*first.values(), *(case for case in own if case.id not in first)]

    def _run(self, arm: str) -> None:
        cases = self._own[arm][self._at[arm] : self._at[arm] + self.block]
        meter = self.board.context.meter
        before = meter.taken
        outcomes = self.board.score(self.board.candidates[arm], cases)
        self._spent[arm] = self._spent.get(arm, 0) + meter.taken - before
        self._met[arm].update((case.id, outcome) for case, outcome in zip(cases, outcomes, strict=True))
        self._at[arm] += len(cases)
        self._fitted = None
