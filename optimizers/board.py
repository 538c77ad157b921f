"""The board: every candidate, every case it was scored on, and what that gives; no pair is ever asked twice."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import dspy

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Spend
from ..evaluation.scale import resolve
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.state import PromptState, candidate_names
from ..programs.verdicts import Verdict
from .candidate import DEFAULT_SETTING, MeanSpend, Setting, mean_spend, price_cases
from .candidate import Candidate as Candidate
from .objective import Objective, Outcome
from .standing import ON_ALL, ON_DEV, SHRINK, Credit, Scored, Standing, outdoes, standings
from .worth import gain_for_lengths

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
        self,
        judge: Judge,
        asker: Callable[[dspy.Module, Setting], Asker],
        context: CallContext,
        tokens_per_row: float | None = None,
    ) -> None:
        self.judge = judge
        self.objective = Objective(judge=judge)
        self.context = context
        # the most of a prompt that is chosen; ``None`` where nobody named it
        self.tokens_per_row = tokens_per_row
        self.retired: set[str] = set()  # ids of candidates that are asked about no further case
        self.stop_reason = ""  # why the search ended before it tried all that it could, in words
        metric = resolve(judge.metric, judge.comparison)
        self.best_value = metric.high  # the extent of the metric, by which gains are measured
        self.perfect_value = metric.high if metric.higher_is_better else 0.0  # of the objective
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
        sources: list[tuple[str, str]] = []
        for entered in self.candidates.copy().values():  # others may enter more meanwhile
            sources.append((entered.id, entered.source))
        return candidate_names(sources)[candidate.id]

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
        cross_fitted: Mapping[str, Setting] | None = None,
    ) -> Candidate:
        """Enter a prompt; one that is known under its setting stays. What is not said of it is as the parent's."""
        parent_id = None
        if parent is None:
            setting = DEFAULT_SETTING if setting is None else setting
            demo_ids = () if demo_ids is None else demo_ids
        else:
            parent_id = parent.id
            if setting is None:
                setting = parent.setting
            if demo_ids is None:
                demo_ids = parent.demo_ids
            if cross_fitted is None and setting == parent.setting:
                cross_fitted = parent.cross_fitted
        candidate = Candidate(
            state=state,
            parent=parent_id,
            source=source,
            step=step,
            calls=self.context.meter.calls,
            setting=setting,
            demo_ids=demo_ids,
            params=params or {},
            cross_fitted=cross_fitted or {},
        )
        return self.candidates.setdefault(candidate.id, candidate)

    def prompt_of(self, candidate: Candidate) -> Candidate:
        """Return the candidate of the same requests under no setting of its own; itself where there is none."""
        return self.candidates.get(candidate.asked_id, candidate)

    def withdraw(self, candidate: Candidate) -> None:
        """Forget a candidate, such as a threshold that was fitted on fewer cases than there are now."""
        self.candidates.pop(candidate.id, None)
        self._outcomes.pop(candidate.id, None)

    def score(self, candidate: Candidate, cases: Sequence[Case]) -> list[Outcome]:
        """Return the candidate's outcome on each case, asking only what was not asked before."""
        asked_id = candidate.asked_id
        open_cases = [case for case in cases if (asked_id, case.id) not in self._verdicts]
        if open_cases:
            asker = self._asker(candidate.state.apply(self._basic), candidate.setting.of_request)

            def keep(index: int, verdict: Verdict) -> None:
                self.record(candidate, open_cases[index], verdict)

            asker.ask_all(open_cases, keep)
        outcomes: list[Outcome] = []
        for case in cases:
            outcomes.append(self.record(candidate, case, self._verdicts[asked_id, case.id]))
        return outcomes

    def record(self, candidate: Candidate, case: Case, verdict: Verdict) -> Outcome:
        """Keep a verdict that was asked elsewhere as this board would ask it; a known pair keeps its first."""
        outcomes = self._outcomes[candidate.id]
        if case.id not in outcomes:
            first = self._verdicts.setdefault((candidate.asked_id, case.id), verdict)
            # Another threshold or other weights give another verdict from the stored votes.
            if candidate.setting != candidate.setting.of_request:
                setting = candidate.cross_fitted.get(case.id, candidate.setting)
                first = self._asker(self._basic, setting).revote(case, first)
            outcomes[case.id] = self.objective.outcome(case, first)
        return outcomes[case.id]

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
        outcomes = self._outcomes.get(candidate.id, {})
        return [outcomes[case.id] for case in cases if case.id in outcomes]

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

    def spent(self, candidate: Candidate, cases: Sequence[Case]) -> MeanSpend | None:
        """Return the mean spend of a case that the candidate was scored on; ``None`` without any."""
        usages: list[Spend] = []
        for outcome in self._on(candidate, cases):
            usages.append(self._verdicts[candidate.asked_id, outcome.row.id].usage)
        if not usages:
            return None
        return mean_spend(usages)

    def lengths(self, candidate: Candidate) -> float:
        """Return the tokens of a row as a multiple of the basic prompt's, on the cases that both met; 1 if unknown."""
        outcomes = self.outcomes(candidate)
        tokens = basic_tokens = 0.0
        for case_id in self.outcomes(self.basic):
            if case_id in outcomes:
                usage = self._verdicts[candidate.asked_id, case_id].usage
                basic_usage = self._verdicts[self.basic.asked_id, case_id].usage
                tokens += usage.input_tokens + usage.output_tokens
                basic_tokens += basic_usage.input_tokens + basic_usage.output_tokens
        if not basic_tokens:
            return 1.0
        return tokens / basic_tokens

    def toll(self, candidate: Candidate) -> float:
        """Return the gain that the tokens of its rows must bring, in units of the metric; 0 under a limit by hand."""
        if self.tokens_per_row is not None or candidate.id == self.basic.id:
            return 0.0
        return self.best_value * gain_for_lengths(self.lengths(candidate))

    def is_too_long(self, candidate: Candidate, cases: Sequence[Case]) -> bool:
        """Say whether its rows take more tokens than were allowed by hand; the basic prompt's never do."""
        if self.tokens_per_row is None or candidate.asked_id == self.basic.asked_id:
            return False
        spend = self.spent(candidate, cases)
        return spend is not None and spend.tokens > self.tokens_per_row

    def standings(self, around: Candidate | None = None, shrink: float = SHRINK) -> dict[str, Standing]:
        """Return where all stand that were scored, by id, the basic one first; the metric to first order ``around``."""
        scored: list[Scored] = []
        for candidate in self.candidates.copy().values():  # whoever watches reads this while others write
            outcomes = self.outcomes(candidate)
            for case_id in candidate.demo_ids:
                outcomes.pop(case_id, None)
            if outcomes:
                scored.append(Scored(id=candidate.id, parent=candidate.parent, outcomes=outcomes))
        if not scored or scored[0].id != self.basic.id:
            return {}
        credit = self._credit(around or self.basic, scored[0].outcomes)
        return {standing.id: standing for standing in standings(scored, credit, shrink)}

    def _credit(self, centre: Candidate, basic: Mapping[str, Outcome]) -> Credit:
        """Return the credit of outcomes around a candidate and the basic prompt, made anew when either has more."""
        outcomes = self.outcomes(centre)
        sizes = (len(basic), len(outcomes))  # outcomes are added, and never others
        if centre.id in self._credits:
            earlier_sizes, credit = self._credits[centre.id]
            if earlier_sizes == sizes:
                return credit
        references = [list(basic.values())]
        if centre.id != self.basic.id:
            references.append(list({**basic, **outcomes}.values()))
        credit = Credit(self.objective, *references)
        self._credits[centre.id] = (sizes, credit)
        return credit

    def best(self, dev: Sequence[Case], without: Collection[str] = ()) -> Candidate | None:
        """Return the candidate with the highest lower bound, or a cheaper one as good, scored on some of ``dev``."""
        # If another threshold or a rule of words already improves the basic prompt, other candidates must beat that:
        # it is not the best of many. It is fitted across folds, so its train scores count like those of dev.
        # Those ``without`` may not be chosen; what is known of them counts for the others.
        met: list[Candidate] = []
        unchanged: list[Candidate] = []
        for candidate in self.candidates.copy().values():
            is_barred = candidate.id in without or candidate.id in self.retired
            if is_barred or not self.met(candidate, dev) or self.is_too_long(candidate, dev):
                continue
            met.append(candidate)
            if candidate.asked_id == self.basic.asked_id or not candidate.setting.asks_model:
                unchanged.append(candidate)
        simple = self._best_over(self.basic, unchanged, ()) or self.basic
        return self._best_over(simple, met, dev)

    def best_over(self, rival: Candidate, cases: Sequence[Case]) -> Candidate:
        """Return the best candidate by the outcomes on some cases; a rival, unless another promises a gain."""
        met = [candidate for candidate in self.candidates.values() if self.met(candidate, cases)]
        return self._best_over(rival, met, cases) or rival

    def _best_over(
        self, rival: Candidate, candidates: Sequence[Candidate], dev: Sequence[Case]
    ) -> Candidate | None:
        """Return the candidate that is best over a rival, which stays where none promises a gain over it."""
        stands = self.standings()
        eligible: list[Candidate] = []
        promising: list[Candidate] = []
        most_cases = self.met(rival, dev)
        for candidate in candidates:
            if candidate.id == rival.id:
                eligible.append(candidate)
            elif self._promises(candidate, rival, stands, dev):
                promising.append(candidate)
                most_cases = max(most_cases, self.met(candidate, dev))
        for candidate in promising:
            if self.met(candidate, dev) >= _SEEN * most_cases:
                eligible.append(candidate)
        if not eligible:
            return None
        best = eligible[0]
        for _ in range(2):  # credits are to first order: the second time around what was chosen
            best = self._cheapest(eligible, rival, self.standings(best), dev)
        return best

    def _promises(
        self, candidate: Candidate, rival: Candidate, stands: Mapping[str, Standing], dev: Sequence[Case]
    ) -> bool:
        """Return True where a candidate's lower bound is above a rival, dev agrees, and no constant is as good."""
        if candidate.id not in stands or rival.id not in stands:
            return False
        if stands[candidate.id].bound(stands[rival.id]) <= self.toll(candidate):
            return False
        if dev:
            outcomes, rival_outcomes = self._shared(candidate, rival, dev)
            if self.objective.aggregate(outcomes) <= self.objective.aggregate(rival_outcomes):
                return False
        return self._beats_constants(candidate)

    def _beats_constants(self, candidate: Candidate) -> bool:
        """Return True where a candidate is better than each constant answer, on the labelled cases that it met."""
        # The proof asks for a gain over the best constant answer, too: what has none here would open the test in vain.
        if self.judge.answer.criteria:
            return True
        outcomes: list[Outcome] = []
        for case_id, outcome in self.outcomes(candidate).items():
            if case_id not in candidate.demo_ids and outcome.row.labelled:
                outcomes.append(outcome)
        key = (candidate.id, len(outcomes))
        if key not in self._over_constants:
            value = self.objective.aggregate(outcomes)
            self._over_constants[key] = value > self.objective.best_constant(outcomes)
        return self._over_constants[key]

    def _shared(
        self, candidate: Candidate, rival: Candidate, cases: Sequence[Case] | None = None
    ) -> tuple[list[Outcome], list[Outcome]]:
        """Return the outcomes of two candidates on the cases that both met, of some cases or of all."""
        outcomes_by_case = self.outcomes(candidate)
        rival_outcomes_by_case = self.outcomes(rival)
        case_ids = list(outcomes_by_case)
        if cases is not None:
            case_ids = [case.id for case in cases]
        outcomes: list[Outcome] = []
        rival_outcomes: list[Outcome] = []
        for case_id in case_ids:
            is_met = case_id in outcomes_by_case and case_id in rival_outcomes_by_case
            if is_met and case_id not in candidate.demo_ids:
                outcomes.append(outcomes_by_case[case_id])
                rival_outcomes.append(rival_outcomes_by_case[case_id])
        return outcomes, rival_outcomes

    def _cheapest(
        self,
        candidates: Sequence[Candidate],
        rival: Candidate,
        stands: Mapping[str, Standing],
        dev: Sequence[Case],
    ) -> Candidate:
        """Return the one with the highest bound, or the cheapest a row of those that are as good by it."""
        bounds: dict[str, float] = {}
        for candidate in candidates:
            bound = stands[candidate.id].bound(stands[rival.id]) - self.toll(candidate)
            bounds[candidate.id] = round(bound, 9)
        best = max(candidates, key=lambda candidate: bounds[candidate.id])
        lowest_bound = bounds[best.id] - ALIKE * stands[best.id].doubt(stands[rival.id])
        near = [best]
        for candidate in candidates:
            if candidate.id != best.id and bounds[candidate.id] >= lowest_bound:
                near.append(candidate)
        spends: list[MeanSpend] = []
        for candidate in near:
            spend = self.spent(candidate, dev)
            if spend is not None:
                spends.append(spend)
        case_prices = price_cases(spends)
        if len(case_prices) < len(near):
            return best
        cheapest = min(range(len(near)), key=case_prices.__getitem__)
        if case_prices[cheapest] > CHEAPER * case_prices[0]:
            return best
        return near[cheapest]

    def shows_gain(self, candidate: Candidate, dev: Sequence[Case]) -> bool:
        """Return True where train and dev show a gain over the basic prompt, by the permutation test of the proof."""
        for cases, level in ((dev, ON_DEV), (None, ON_ALL)):
            outcomes, basic_outcomes = self._shared(candidate, self.basic, cases)
            if not outdoes(zip(basic_outcomes, outcomes, strict=True), self.judge, level):
                return False
        return True

    def history(self, train: Sequence[Case], dev: Sequence[Case]) -> list[dict[str, Any]]:
        """Return one JSON-ready row per candidate, in the order they were tried; values are of the cases it met."""
        stands = self.standings(self.best(dev))
        rows: list[dict[str, Any]] = []
        for candidate in self.candidates.values():
            spend = self.spent(candidate, dev) or self.spent(candidate, train)
            rows.append(
                {
                    "candidate": candidate.id,
                    "parent": candidate.parent,
                    "source": candidate.source,
                    "step": candidate.step,
                    "calls": candidate.calls,
                    "demo_ids": list(candidate.demo_ids),
                    "setting": candidate.setting.to_json(),
                    "params": dict(candidate.params),
                    "prompt": candidate.state.brief(),
                    "train": self._part_score(candidate, train),
                    "dev": self._part_score(candidate, dev),
                    **self._standing_parts(candidate, stands, dev),
                    **_spend_parts(spend),
                }
            )
        return rows

    def _part_score(self, candidate: Candidate, cases: Sequence[Case]) -> dict[str, object]:
        """Return the score of a candidate on train or dev as JSON values."""
        outcomes = self._on(candidate, cases)
        value = None
        if outcomes:
            value = round(self.objective.aggregate(outcomes), 6)
        part: dict[str, object] = {
            "cases": len(outcomes),
            "failed": sum(outcome.row.failed for outcome in outcomes),
            "value": value,
        }
        if outcomes and self.judge.comparison.in_history:
            part["metrics"] = self.objective.metrics_of(outcomes)
        return part

    def _standing_parts(
        self, candidate: Candidate, stands: Mapping[str, Standing], dev: Sequence[Case]
    ) -> dict[str, object]:
        """Return a candidate's gain, if it was scored on all of dev, and its estimated score, as JSON values."""
        parts: dict[str, object] = {"gain": None, "estimate": None}
        standing = stands.get(candidate.id)
        if standing is None:
            return parts
        if self.scored(candidate, dev):
            parts["gain"] = round(standing.gain(stands[self.basic.id]), 6)
        parts["estimate"] = {"value": round(standing.mean, 6), "error": round(standing.error, 6)}
        return parts


def _spend_parts(spend: MeanSpend | None) -> dict[str, float | None]:
    """Return the tokens and the cost of a case as JSON values; ``None`` where they are not known."""
    if spend is None:
        return {"tokens": None, "cost": None}
    cost = None
    if spend.cost is not None:
        cost = round(spend.cost, 9)
    return {"tokens": round(spend.tokens, 3), "cost": cost}
