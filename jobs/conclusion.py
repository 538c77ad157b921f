"""The end of a compilation: a candidate is compared with basic on the sealed test, and kept as a version."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..cases import Case
from ..engines.models import json_form_of
from ..evaluation.contrasts import Contrast, NotWorse, contrast, not_worse, usual_margin
from ..evaluation.measured import calibrate, warn_if_lopsided
from ..evaluation.plain import plain
from ..evaluation.proof import Proof, prove_improvement
from ..evaluation.rows import JudgedRow
from ..evaluation.scale import resolve
from ..evaluation.votes import Stopping
from ..gold.copies import sketched_rows
from ..keeping.artifact_card import Artifact, read_proof_rows
from ..keeping.artifacts import Store
from ..keeping.card import CardContent
from ..keeping.card_parts import (
    NOTHING_BETTER,
    AgainstCard,
    CalibrationCard,
    DecisionCard,
    ModelCard,
    SealedRowsCard,
    SettingCard,
    ThresholdCard,
    TokensCard,
    WordsCard,
)
from ..keeping.paying import PaidJob
from ..keeping.records import AnswerRecord, ProofRecord
from ..keeping.sealing import ANSWERS, PROOF, SEEN, WORDS
from ..keeping.spend_card import SpendCard
from ..optimizers.base import Job
from ..optimizers.board import Candidate
from ..optimizers.candidate import mean_spend
from ..optimizers.objective import row_of
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from ..report.shown import Shown
from ..report.table import Table
from ..report.views import VERSION_COLUMNS, version_parts, version_records
from .panels import describe_panel
from .plan import Plan
from .references import References, find_constant, score_references
from .sealed_rows import ProofOpening, foresee_proof_opening, identify_log, identify_prompt

_Verdicts = Mapping[str, Sequence[Verdict]]
"""``basic`` and ``compiled`` -> a verdict on each case of the sealed test."""


@dataclass(frozen=True)
class Contest:
    """The comparison of a candidate under its setting with the basic prompt, on the sealed test."""

    plan: Plan
    job: Job
    candidate: Candidate
    earlier_openings: int = 0  # openings of the test that may be missing in the ledger
    parent: Artifact | None = None  # the version that was changed into the candidate, proven on the same test
    gain_is_clear: bool = True  # whether train and dev already show the candidate's gain

    @cached_property
    def basic_asker(self) -> Asker:
        """The asker of the basic prompt."""
        return self.job.asker(self.plan.judge.basic())

    @cached_property
    def candidate_asker(self) -> Asker:
        """The asker of the candidate."""
        program = self.candidate.state.apply(self.plan.judge.basic())
        return self.job.asker(program, self.candidate.setting)

    @property
    def asks_basic_prompt(self) -> bool:
        """Whether the candidate asks the same as the basic prompt; its setting may differ."""
        basic = PromptState.of(self.plan.judge.basic())
        return self.candidate.asked_id == basic.id

    @property
    def unchanged(self) -> bool:
        """Whether the candidate is the basic prompt under the same rule for votes, so that verdicts cannot differ."""
        return self.asks_basic_prompt and self.basic_asker.settings.rule == self.candidate_asker.settings.rule

    @cached_property
    def opening(self) -> ProofOpening:
        """The opening of the sealed test by the proof: its cases, its prompts and its number."""
        plan = self.plan
        basic_state = PromptState.of(plan.judge.basic())
        basic_prompt = identify_prompt(
            plan.judge, basic_state, plan.model, self.basic_asker.adapter, plan.settings.sampling
        )
        candidate_prompt = identify_prompt(
            plan.judge,
            self.candidate.state,
            plan.model,
            self.candidate_asker.adapter,
            self.candidate_asker.settings.sampling,
            self.candidate.setting.words,
            self.candidate.setting.own_answer,
        )
        prompts = [basic_prompt, candidate_prompt]
        for log in plan.beside:
            prompts.append(identify_log(log, plan.split.test))
        return foresee_proof_opening(plan.split, prompts, self.earlier_openings)

    def compare_with_parent(self, records: Sequence[ProofRecord]) -> Contrast | None:
        """Compare the candidate's answers to the test with those that its parent gave in its own proof.

        ``None`` without a parent, or if the parent keeps no answers.
        """
        if self.parent is None:
            return None
        parent_records = self.parent.proof_records()
        if not parent_records:
            return None
        judge = self.plan.split.judge
        return contrast(
            ("the new version", [read_proof_rows(judge.answer, records, "compiled")]),
            (self.parent.ref, [read_proof_rows(judge.answer, parent_records, "compiled")]),
            judge.metric,
            judge.comparison,
            seed=self.plan.seed,
            alpha=2.0 * self.opening.level,
        )

    def not_worse(self, against: Contrast, margin: float | None) -> NotWorse:
        """Test whether the candidate is worse than its parent by no more than a margin; ``None``: the usual one."""
        judge = self.plan.split.judge
        if margin is None:
            margin = usual_margin(resolve(judge.metric, judge.comparison))
        return not_worse(against, margin, len(self.opening.cases))


@dataclass(frozen=True, kw_only=True, repr=False)
class Concluded(Shown):
    """The new version and its proof."""

    artifact: Artifact
    proof: Proof | None  # ``None`` where the basic prompt was kept: nothing was asked of the sealed test
    latest: bool  # whether the store made it the latest version

    @property
    def verdict(self) -> str:
        """The decision in one word, as on the card, such as ``better``."""
        return str(self.artifact.about.decision.verdict)

    @property
    def better_than_basic(self) -> bool:
        """Whether the sealed test shows it to be better than the basic prompt, even if not than a constant answer."""
        return self.proof is not None and self.proof.decision.direction == "better"

    @property
    def words(self) -> str:
        """The decision as on the card, and that no language model is asked where none is."""
        card = self.artifact.about
        if card.words is not None and card.words.without_model:
            return f"{card.decision.words}; {card.words.without_model}"
        return card.decision.words

    @property
    def headline(self) -> str:
        """The version and the decision."""
        return f"{self.artifact.ref}: {self.words}"

    def parts(self) -> list[Table | str]:
        """Return the scores on the sealed test, the decision and the cost."""
        return version_parts(self.artifact, " (latest)" if self.latest else " (saved, not promoted)")

    def records(self) -> list[dict[str, object]]:
        """Return a row for each prompt and each metric, as measured on the sealed test."""
        return version_records(self.artifact)

    @property
    def columns(self) -> Sequence[str]:
        """The columns of a score, which a version without a proof has, too."""
        return VERSION_COLUMNS

    def to_json(self) -> dict[str, Any]:
        """Return the card of the version as plain JSON types, with its folder and whether it is the latest."""
        return {"artifact": str(self.artifact.path), "latest": self.latest, **self.artifact.card}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence of the sealed test about a candidate."""

    proof: Proof
    content: CardContent  # the part of the card that tells it
    records: Sequence[ProofRecord]  # a line for each case, with the answers of both prompts


def conclude(
    contest: Contest,
    work: PaidJob,
    store: Store,
    what: str,
    origin: CardContent,
    history: Iterable[Mapping[str, Any]],
    *,
    added_cases: Sequence[Case] = (),
    force: bool = False,
    margin: float | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Concluded:
    """Prove a candidate, and keep it as the next version: the latest if it is shown to be better, or by force.

    A candidate with a parent must also be shown to be worse than that by no more than ``margin``.

    Args:
        contest: the candidate and the basic prompt.
        work: the job that pays for the proof.
        store: where the version is kept.
        what: the command, for the ledger of openings.
        origin: the part of the card that says where the candidate is from.
        history: the candidates that were tried, as lines of the version's history.
        added_cases: cases that the candidate learned from beside train and dev.
        force: make it the latest even if it is not shown to be better.
        margin: by how much it may be worse than its parent; default: the metric's usual margin.
        tick: called after each case that is asked about.
    """
    plan = contest.plan
    cases = list(plan.split.train) + list(plan.split.dev) + list(added_cases)
    sketches = sketched_rows(plan.split.judge, cases)
    records: dict[str, Iterable[Mapping[str, Any]]] = {SEEN: sketches}
    word_rule = contest.candidate.setting.words
    if word_rule is not None:
        records[WORDS] = word_rule.to_lines()
        if word_rule.answers:
            records[ANSWERS] = word_rule.answer_lines()
    proof: Proof | None = None
    is_latest = force
    if contest.unchanged:
        result = _content_of_basic(contest)
    else:
        evidence = prove_candidate(contest, tick)
        contest.opening.record(what)
        proof = evidence.proof
        result = evidence.content
        records[PROOF] = [record.to_json() for record in evidence.records]
        is_better = proof.decision.verdict == "better"
        against = contest.compare_with_parent(evidence.records)
        if against is not None:
            beside_parent = contest.not_worse(against, margin)
            is_better = is_better and beside_parent.outcome == "holds"
            content = {**against.to_json(), "not_worse": plain(beside_parent)}
            result = result.joined(CardContent(against=AgainstCard.model_validate(content)))
        result = result.joined(CardContent.model_validate(contest.opening.to_card()))
        is_latest = force or is_better
    artifact = store.save(
        plan.judge,
        contest.candidate.state,
        origin.joined(content_of_settings(contest, work), result),
        history,
        records=records,
        make_latest=is_latest,
    )
    return Concluded(artifact=artifact, proof=proof, latest=is_latest)


def content_of_settings(contest: Contest, work: PaidJob) -> CardContent:
    """Return the part of the card with the candidate's settings and the spend of the job."""
    model = contest.plan.model
    chosen = contest.candidate_asker
    content = CardContent(
        model=ModelCard.of(model),
        adapter=chosen.adapter,
        setting=SettingCard.model_validate(contest.candidate.setting.to_json()),
        thresholds=ThresholdCard.of(chosen.settings.sampling),
        spend=SpendCard.model_validate(work.spend()),
    )
    word_rule = contest.candidate.setting.words
    if word_rule is not None:
        words = WordsCard.model_validate(word_rule.summary)
        content = content.joined(CardContent(words=words))
    if chosen.adapter != "json":
        return content
    structure = json_form_of(model, work.contexts["judge"])
    if not structure:
        return content
    return content.joined(CardContent(structure=structure))


def _content_of_basic(contest: Contest) -> CardContent:
    """Return the part of the card for a kept basic prompt: no score, and no opening of the sealed test."""
    judge = contest.plan.split.judge
    opening = contest.opening
    metric = resolve(judge.metric, judge.comparison)
    decision = DecisionCard(
        verdict=NOTHING_BETTER,
        words="nothing better than the basic prompt was found, so nothing was asked of the sealed test",
        metric=metric.name,
        higher_is_better=bool(metric.higher_is_better),
        warnings=[],
    )
    rows = SealedRowsCard(sealed=len(opening.cases), opened_before=opening.opened_rows, used=0)
    return CardContent(decision=decision, test_openings=0, test_rows=rows)


def prove_candidate(contest: Contest, tick: Callable[[], None] = lambda: None) -> Evidence:
    """Ask both prompts about the sealed test, and return the evidence in their answers."""
    plan = contest.plan
    split = plan.split
    judge = split.judge
    test = split.test
    verdicts = _ask_both(contest, tick)
    rows: dict[str, list[JudgedRow]] = {}
    for system, system_verdicts in verdicts.items():
        rows[system] = list(map(row_of, test, system_verdicts))
    references = _references_beside(contest, rows["compiled"], verdicts["compiled"])
    proof = prove_improvement(
        rows["basic"],
        rows["compiled"],
        judge.metric,
        judge.comparison,
        seed=plan.seed,
        openings=contest.opening.number,
        notes=_notes_on(contest),
        constant=references.constant,
    )
    warnings: list[str] = []
    for system, system_rows in rows.items():
        warnings += warn_if_lopsided(system, system_rows, judge.comparison, judge.answer.scale.text)
    warnings += references.words("compiled")
    content = CardContent.model_validate(
        {
            **proof.to_card(),
            "references": references.to_card(),
            "warnings": warnings,
            **_count_facts(judge, verdicts),
        }
    )
    panel = describe_panel(judge.answer.scale, verdicts["compiled"])
    if panel is not None:
        content = content.joined(CardContent(panel=panel))
    content = content.joined(_cost_content(contest, verdicts), _calibration_content(judge, test, verdicts))
    return Evidence(proof=proof, content=content, records=_make_records(judge, test, verdicts))


def restore_proof(plan: Plan, artifact: Artifact) -> Proof | None:
    """Return the proof of a finished version, from the answers that it keeps; ``None`` where its test stayed closed."""
    records = artifact.proof_records()
    if not records:
        return None
    split = plan.split
    judge = split.judge
    card = artifact.about
    proof = prove_improvement(
        read_proof_rows(judge.answer, records, "basic"),
        read_proof_rows(judge.answer, records, "compiled"),
        judge.metric,
        judge.comparison,
        seed=plan.seed,
        openings=card.test_openings,
        constant=find_constant(judge, list(split.train) + list(split.dev), split.test),
    )
    known_warnings = proof.decision.warnings
    notes = [warning for warning in card.decision.warnings or () if warning not in known_warnings]
    return replace(proof, decision=replace(proof.decision, notes=tuple(notes)))


def _make_records(judge: Judge, test: Sequence[Case], verdicts: _Verdicts) -> list[ProofRecord]:
    """Return a line of the proof for each case of the test, with both answers."""
    records: list[ProofRecord] = []
    for case, basic, compiled in zip(test, verdicts["basic"], verdicts["compiled"], strict=True):
        gold = [judge.answer.scale.to_json(value) for value in case.gold or ()]
        record = ProofRecord(
            case=case.id,
            group=case.group,
            gold=gold,
            basic=_answer_record(judge, basic),
            compiled=_answer_record(judge, compiled),
        )
        records.append(record)
    return records


def _notes_on(contest: Contest) -> tuple[str, ...]:
    """Return the notes on the decision: near copies, and a gain that may be luck."""
    notes = []
    if contest.plan.split.near_words:
        notes.append(contest.plan.split.near_words)
    if not contest.gain_is_clear:
        notes.append(
            "on train and dev alone the gain may be luck (p above 0.1 on dev, or above 0.05 on both): the test decides"
        )
    return tuple(notes)


def _references_beside(
    contest: Contest, compiled: Sequence[JudgedRow], verdicts: Sequence[Verdict]
) -> References:
    """Return the references on the sealed test, with paired tests of compiled against all but the constant answer."""
    plan = contest.plan
    split = plan.split
    references = score_references(
        split.judge,
        list(split.train) + list(split.dev),
        split.test,
        seed=plan.seed,
        people=plan.people,
        logs=plan.beside,
    )
    references = references.with_members(split.judge, split.test, verdicts)
    # The proof itself tests the constant answer.
    names = references.by_name.keys() - {"constant"}
    if not contest.candidate_asker.settings.asks_model:
        names -= {"words"}  # which is what the candidate itself is
    return references.against(
        split.judge, "compiled", compiled, names, seed=plan.seed, level=contest.opening.level
    )


def _cost_content(contest: Contest, verdicts: _Verdicts) -> CardContent:
    """Return the part of the card with the tokens, seconds and dollars that a row takes."""
    tokens: dict[str, TokensCard | None] = {}
    seconds: dict[str, float] = {}
    dollars: dict[str, float] = {}
    for system in verdicts:
        # One prompt under two thresholds is asked once, so its verdicts under the second one used nothing.
        asked_system = "basic" if contest.asks_basic_prompt else system
        usage = mean_spend([verdict.usage for verdict in verdicts[asked_system]])
        tokens[system] = TokensCard.model_validate(usage.per_row())
        if usage.seconds:
            seconds[system] = round(usage.seconds, 3)
        if usage.cost:
            dollars[system] = round(1000 * usage.cost, 6)
    content = CardContent(tokens_per_row=tokens, seconds_per_row=seconds)
    if len(dollars) == len(verdicts):
        return content.joined(CardContent(dollars_per_1000_rows=dollars))
    return content


def _calibration_content(judge: Judge, test: Sequence[Case], verdicts: _Verdicts) -> CardContent:
    """Return the part of the card with the calibration of both prompts; empty if one gave no probabilities."""
    calibration: dict[str, CalibrationCard] = {}
    for system, system_verdicts in verdicts.items():
        figures = _calibrate_verdicts(judge, test, system_verdicts)
        if figures:
            calibration[system] = CalibrationCard.model_validate(figures)
    if len(calibration) < len(verdicts):
        return CardContent()
    return CardContent(calibration=calibration)


def _count_facts(judge: Judge, verdicts: _Verdicts) -> dict[str, dict[str, object]]:
    """Return further facts of the card: name -> prompt -> figure; contradictions, and facts of the scale."""
    scale = judge.answer.scale
    facts: dict[str, dict[str, object]] = {"inconsistent": {}}
    for system, system_verdicts in verdicts.items():
        contradictions = 0
        sums: Counter[str] = Counter()
        for verdict in system_verdicts:
            if verdict.inconsistent:
                contradictions += 1
            sums.update(scale.tally(verdict.values, verdict.counts))
        facts["inconsistent"][system] = contradictions
        for fact, value in scale.proof_facts(sums).items():
            facts.setdefault(fact, {})[system] = value
    return facts


def _ask_both(contest: Contest, tick: Callable[[], None]) -> _Verdicts:
    """Return the verdicts of both prompts; one prompt under two thresholds is asked once, and voted on twice."""
    test = contest.plan.split.test
    have_one_rule = contest.basic_asker.settings.rule == contest.candidate_asker.settings.rule
    votes_twice = contest.asks_basic_prompt and not have_one_rule
    # Samples that cannot change an outcome are not drawn, except where both thresholds vote on them.
    stopping: Stopping = "all" if votes_twice else "settled"
    basic = replace(contest.basic_asker, settings=replace(contest.basic_asker.settings, stopping=stopping))
    compiled = replace(
        contest.candidate_asker, settings=replace(contest.candidate_asker.settings, stopping=stopping)
    )
    basic_verdicts = basic.ask_all(test, lambda index, verdict: tick())
    if votes_twice:
        return {"basic": basic_verdicts, "compiled": list(map(compiled.revote, test, basic_verdicts))}
    if contest.asks_basic_prompt:
        return {"basic": basic_verdicts, "compiled": basic_verdicts}
    compiled_verdicts = compiled.ask_all(test, lambda index, verdict: tick())
    return {"basic": basic_verdicts, "compiled": compiled_verdicts}


def _calibrate_verdicts(judge: Judge, test: Sequence[Case], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the calibration of the probabilities of reply tokens; empty if no reply gave any."""
    probability_of = judge.answer.scale.probability
    probabilities: list[float] = []
    positive: list[bool] = []
    for case, verdict in zip(test, verdicts, strict=True):
        if not verdict.measured or not case.gold:
            continue
        for shares, gold in zip(verdict.probabilities, case.gold, strict=True):
            if gold is None:
                continue
            probability = probability_of(shares)
            if probability is not None:
                probabilities.append(probability)
                positive.append(bool(probability_of({gold: 1.0})))
    if not probabilities:
        return {}
    return calibrate(probabilities, positive)


def _answer_record(judge: Judge, verdict: Verdict) -> AnswerRecord:
    """Return the part of a line of the proof with one verdict."""
    scale = judge.answer.scale
    votes: list[dict[str, int]] = []
    for unit_votes in verdict.votes:
        votes.append({scale.text(value): count for value, count in unit_votes.items()})
    return AnswerRecord(
        status=verdict.status,
        values=[scale.to_json(value) for value in verdict.values],
        votes=votes,
        agreement=list(verdict.agreement),
        probability=[scale.probability(shares) for shares in verdict.probabilities],
        drawn=verdict.drawn,
        reasoning=verdict.reasoning,
        error=verdict.error,
    )
