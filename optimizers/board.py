"""The board: every candidate, every case it was scored on, and what that gives; no pair is ever asked twice."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import dspy

from ..cases import Case
from ..engines.channel import CallContext
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.state import PromptState, candidate_names
from ..programs.verdicts import Verdict
from .candidate import DEFAULT_SETTING, Setting, Spent, prices, spent
from .candidate import Candidate as Candidate
from .objective import Objective, Outcome
from .standing import ON_ALL, ON_DEV, SHRINK, Credit, Scored, Standing, outdoes, standings

ALIKE = 0.5
"""Errors of the best gain within which prompts are as good as the best: the cheapest a row is chosen of them."""
CHEAPER = 0.9
"""Of the price of the best, the most that one is chosen for as cheaper: less than that is not worth a worse bound."""
_SEEN = 0.5
"""The share of the cases of dev that a choice must have met, of those that the basic prompt, or another promising one,
has met."""


class Board:
    """All candidates of one job with all their outcomes."""

    def __init__(
        self, judge: Judge, asker: Callable[[dspy.Module, Setting], Asker], context: CallContext
    ) -> None:
        self.judge, self.objective, self.context = judge, Objective(judge=judge), context
        self.candidates: dict[str, Candidate] = {}
        self._asker = asker
        self._basic = judge.basic()
        self._outcomes: dict[str, dict[str, Outcome]] = defaultdict(dict)  # by candidate and case
        self._verdicts: dict[tuple[str, str], Verdict] = {}
        # by candidate and how many labelled cases it has met
        self._over_constants: dict[tuple[str, int], bool] = {}
        # around a candidate, and of how many outcomes
        self._credits: dict[str, tuple[tuple[int, int], Credit]] = {}
        # the first candidate: the prompt nobody tuned
        self.basic = self.add(PromptState.of(self._basic), parent=None, source="basic")

    def name(self, candidate: Candidate) -> str:
        """The name of an entered candidate for people, such as ``opro-3``."""
        entered = self.candidates.copy().values()  # others may enter more meanwhile
        return candidate_names((one.id, one.source) for one in entered)[candidate.id]

    def add(
        self,
        state: PromptState,
        *,
        parent: Candidate | None,
        source: str,
        step: int = 0,
        demo_ids: tuple[str, ...] | None = None,
        setting: Setting | None = None,
        params: Mapping[str, Any] | None = None,
        crossed: Mapping[str, Setting] | None = None,
    ) -> Candidate:
        """Enter a prompt; one that is known under its setting stays. What is not said of it is as the parent's."""
        used = setting if setting is not None else (parent.setting if parent else DEFAULT_SETTING)
        if crossed is None and parent is not None and used == parent.setting:
            crossed = parent.crossed
        candidate = Candidate(
            state=state,
            parent=parent.id if parent else None,
            source=source,
            step=step,
            calls=self.context.meter.calls,
            setting=used,
            demo_ids=demo_ids if demo_ids is not None else (parent.demo_ids if parent else ()),
            params=params or {},
            crossed=crossed or {},
        )
        return self.candidates.setdefault(candidate.id, candidate)

    def score(self, candidate: Candidate, cases: Sequence[Case]) -> list[Outcome]:
        """Return the candidate's outcome on each case, asking only what was not asked before."""
        asked = candidate.asked_id
        open_cases = [case for case in cases if (asked, case.id) not in self._verdicts]
        if open_cases:
            asker = self._asker(candidate.state.apply(self._basic), candidate.setting.asking)

            def keep(index: int, verdict: Verdict) -> None:
                self.record(candidate, open_cases[index], verdict)

            asker.ask_all(open_cases, keep)
        return [self.record(candidate, case, self._verdicts[asked, case.id]) for case in cases]

    def record(self, candidate: Candidate, case: Case, verdict: Verdict) -> Outcome:
        """Keep a verdict that was asked elsewhere as this board would ask it; a known pair keeps its first."""
        known = self._outcomes[candidate.id]
        if case.id not in known:
            first = self._verdicts.setdefault((candidate.asked_id, case.id), verdict)
            # Another threshold or other weights give another verdict from the stored votes.
            if candidate.setting != candidate.setting.asking:
                setting = candidate.crossed.get(case.id, candidate.setting)
                first = self._asker(self._basic, setting).revote(case, first)
            known[case.id] = self.objective.outcome(case, first)
        return known[case.id]

    @property
    def pairs(self) -> int:
        """The number of outcomes that are kept."""
        return sum(map(len, self._outcomes.copy().values()))

    def outcome(self, candidate: Candidate, case: Case) -> Outcome | None:
        """Return the outcome of a pair, ``None`` if it was never asked."""
        return self._outcomes.get(candidate.id, {}).get(case.id)

    def outcomes(self, candidate: Candidate) -> dict[str, Outcome]:
        """Return a copy of all outcomes of a candidate by the case's id; others may be writing meanwhile."""
        return self._outcomes.get(candidate.id, {}).copy()

    def _on(self, candidate: Candidate, cases: Sequence[Case]) -> list[Outcome]:
        """Return the candidate's outcomes on those of ``cases`` that it was scored on."""
        known = self._outcomes.get(candidate.id, {})
        return [known[case.id] for case in cases if case.id in known]

    def value(self, candidate: Candidate, cases: Sequence[Case]) -> float:
        """Return the objective's value over the cases that were scored."""
        return self.objective.aggregate(self._on(candidate, cases))

    def met(self, candidate: Candidate, cases: Sequence[Case]) -> int:
        """Return on how many of ``cases`` the candidate was scored."""
        return len(self._on(candidate, cases))

    def scored(self, candidate: Candidate, cases: Sequence[Case]) -> bool:
        """Say whether the candidate was scored on all of ``cases``."""
        return self.met(candidate, cases) == len(cases)

    def verdicts(self, candidate: Candidate, cases: Sequence[Case]) -> list[Verdict]:
        """Return the kept verdicts of a candidate that was scored on ``cases``, as the job's own vote gives them."""
        return [self._verdicts[candidate.asked_id, case.id] for case in cases]

    def spent(self, candidate: Candidate, cases: Sequence[Case]) -> Spent | None:
        """Return the mean spend of a case that the candidate was scored on; ``None`` without any."""
        known = self._on(candidate, cases)
        usages = [self._verdicts[candidate.asked_id, outcome.row.id].usage for outcome in known]
        return spent(usages) if usages else None

    def standings(self, around: Candidate | None = None, shrink: float = SHRINK) -> dict[str, Standing]:
        """Return where all stand that were scored, by id, the basic one first; the metric to first order ``around``."""
        known = []
        for one in self.candidates.copy().values():  # whoever watches reads this while others write
            own = {id_: outcome for id_, outcome in self.outcomes(one).items() if id_ not in one.demo_ids}
            if own:
                known.append(Scored(id=one.id, parent=one.parent, outcomes=own))
        if not known or known[0].id != self.basic.id:
            return {}
        centre = around or self.basic
        basic, own = known[0].outcomes, self.outcomes(centre)
        sizes, credit = self._credits.get(centre.id, ((0, 0), None))
        if credit is None or sizes != (len(basic), len(own)):  # outcomes are added, and never others
            references = [basic] if centre.id == self.basic.id else [basic, {**basic, **own}]
            credit = Credit(self.objective, *(list(one.values()) for one in references))
            self._credits[centre.id] = (len(basic), len(own)), credit
        return {one.id: one for one in standings(known, credit, shrink)}

    def best(self, dev: Sequence[Case], without: Collection[str] = ()) -> Candidate | None:
        """Return the candidate with the highest lower bound, or a cheaper one as good, scored on some of ``dev``."""
        # Where the basic prompt under another threshold is better, all others must be better than that: it changes
        # least, and is not the best of many. A threshold is fitted across folds, so train speaks for it as dev does.
        # Those ``without`` may not be chosen; what is known of them counts for the others.
        open_ = (candidate for candidate in self.candidates.copy().values() if candidate.id not in without)
        met = [candidate for candidate in open_ if self.met(candidate, dev)]
        unchanged = [candidate for candidate in met if candidate.asked_id == self.basic.asked_id]
        simple = self._best_over(self.basic, unchanged, ()) or self.basic
        return self._best_over(simple, met, dev)

    def _best_over(
        self, other: Candidate, among: Sequence[Candidate], dev: Sequence[Case]
    ) -> Candidate | None:
        """Return the candidate that is best over another one, which stays where none promises a gain over it."""
        stands = self.standings()
        promising: list[Candidate] = []
        dev_cases = self.met(other, dev)
        for candidate in among:
            if candidate.id != other.id and self._promises(candidate, other, stands, dev):
                promising.append(candidate)
                dev_cases = max(dev_cases, self.met(candidate, dev))
        able = [candidate for candidate in among if candidate.id == other.id]
        able += [candidate for candidate in promising if self.met(candidate, dev) >= _SEEN * dev_cases]
        if not able:
            return None
        best = able[0]
        for _ in range(2):  # credits are to first order: the second time around what was chosen
            best = self._cheapest(able, other, self.standings(best), dev)
        return best

    def _promises(
        self, candidate: Candidate, other: Candidate, stands: Mapping[str, Standing], dev: Sequence[Case]
    ) -> bool:
        """Return True where a candidate's lower bound is above another one, dev agrees, and no constant is as good."""
        if candidate.id not in stands or other.id not in stands:
            return False
        if stands[candidate.id].bound(stands[other.id]) <= 0.0:
            return False
        if dev:
            outcomes, others_outcomes = self._shared(candidate, other, dev)
            if self.objective.aggregate(outcomes) <= self.objective.aggregate(others_outcomes):
                return False
        return self._beats_constants(candidate)

    def _beats_constants(self, candidate: Candidate) -> bool:
        """Return True where a candidate is better than each constant answer, on the labelled cases that it met."""
        # The proof asks for a gain over the best constant answer, too: what has none here would open the test in vain.
        if self.judge.answer.criteria:
            return True
        outcomes: list[Outcome] = []
        for id_, outcome in self.outcomes(candidate).items():
            if id_ not in candidate.demo_ids and outcome.row.labelled:
                outcomes.append(outcome)
        key = (candidate.id, len(outcomes))
        if key not in self._over_constants:
            value = self.objective.aggregate(outcomes)
            self._over_constants[key] = value > self.objective.best_constant(outcomes)
        return self._over_constants[key]

    def _shared(
        self, candidate: Candidate, other: Candidate, cases: Sequence[Case] | None = None
    ) -> tuple[list[Outcome], list[Outcome]]:
        """Return the outcomes of two candidates on the cases that both met, of some cases or of all."""
        outcomes = self.outcomes(candidate)
        others_outcomes = self.outcomes(other)
        ids: Iterable[str] = outcomes
        if cases is not None:
            ids = [case.id for case in cases]
        shared = [id_ for id_ in ids if id_ in outcomes and id_ in others_outcomes]
        met = [id_ for id_ in shared if id_ not in candidate.demo_ids]
        return [outcomes[id_] for id_ in met], [others_outcomes[id_] for id_ in met]

    def _cheapest(
        self, able: Sequence[Candidate], other: Candidate, stands: Mapping[str, Standing], dev: Sequence[Case]
    ) -> Candidate:
        """Return the one with the highest bound, or the cheapest a row of those that are as good by it."""
        bounds = {one.id: round(stands[one.id].bound(stands[other.id]), 9) for one in able}
        best = max(able, key=lambda one: bounds[one.id])
        least = bounds[best.id] - ALIKE * stands[best.id].doubt(stands[other.id])
        near = [best, *(one for one in able if one.id != best.id and bounds[one.id] >= least)]
        taken = [self.spent(one, dev) for one in near]
        known = prices([one for one in taken if one is not None])
        if len(known) < len(near):
            return best
        cheapest = min(range(len(near)), key=known.__getitem__)
        return near[cheapest] if known[cheapest] <= CHEAPER * known[0] else best

    def shows_gain(self, candidate: Candidate, dev: Sequence[Case]) -> bool:
        """Return True where train and dev show a gain over the basic prompt, by the permutation test of the proof."""
        for cases, level in ((dev, ON_DEV), (None, ON_ALL)):
            outcomes, basic_outcomes = self._shared(candidate, self.basic, cases)
            if not outdoes(zip(basic_outcomes, outcomes, strict=True), self.judge, level):
                return False
        return True

    def history(self, train: Sequence[Case], dev: Sequence[Case]) -> list[dict[str, Any]]:
        """Return one JSON-ready row per candidate, in the order they were tried; values are of the cases it met."""
        known = self.standings(self.best(dev))

        def part(candidate: Candidate, cases: Sequence[Case]) -> dict[str, Any]:
            outcomes = self._on(candidate, cases)
            return {
                "cases": len(outcomes),
                "failed": sum(outcome.row.failed for outcome in outcomes),
                "value": round(self.objective.aggregate(outcomes), 6) if outcomes else None,
            }

        rows = []
        for one in self.candidates.values():
            stands, whole = known.get(one.id), self.scored(one, dev)
            taken = self.spent(one, dev) or self.spent(one, train)
            rows.append(
                {
                    "candidate": one.id,
                    "parent": one.parent,
                    "source": one.source,
                    "step": one.step,
                    "calls": one.calls,
                    "demo_ids": list(one.demo_ids),
                    "setting": one.setting.to_json(),
                    "params": dict(one.params),
                    "prompt": one.state.brief(),
                    "train": part(one, train),
                    "dev": part(one, dev),
                    "gain": round(stands.gain(known[self.basic.id]), 6) if stands and whole else None,
                    "estimate": {"value": round(stands.mean, 6), "error": round(stands.error, 6)}
                    if stands
                    else None,
                    "tokens": None if taken is None else round(taken.tokens, 3),
                    "cost": None if taken is None or taken.cost is None else round(taken.cost, 9),
                }
            )
        return rows
