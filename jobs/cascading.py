"""Choosing a cascade on gold: the level of sureness from which on each of its judges may answer a row.

:mod:`~jurist.evaluation.cascade` says what a level is and how it is tested.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from ..engines.ledger import Spend
from ..engines.models import Model
from ..errors import UsageError, plural
from ..evaluation.cascade import Step, choose_step, cross_fit, fewest_rows_needed, fit_trust, try_levels
from ..evaluation.disagreements import correctness
from ..evaluation.measured import warn_if_lopsided
from ..evaluation.plain import plain_fields
from ..evaluation.proof import level_of
from ..evaluation.rows import JudgedRow
from ..evaluation.trust import AgreementRegression, SureAnswer
from ..gold.copies import sketched_rows
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import CardContent
from ..keeping.card_parts import (
    CascadeCard,
    CascadeFound,
    DecisionCard,
    GoldCard,
    MemberCard,
    ModelCard,
    ThresholdCard,
)
from ..keeping.contenders import Contender
from ..keeping.loaders import ask_as_member, sure_answer
from ..keeping.loading import LoadedJudge
from ..keeping.logs import Log, LogReference
from ..keeping.paying import PaidJob
from ..keeping.sealing import SEEN
from ..keeping.spend_card import SpendCard
from ..optimizers.candidate import MeanSpend, mean_spend
from ..programs.definition import write_definition
from ..report.scores import reuse_ending
from ..report.shown import Shown
from ..report.table import Table
from ..report.views import cascade_parts
from .experiment import Answers, Experiment
from .references import score_constant_beside


@dataclass(frozen=True, kw_only=True)
class CascadeMember:
    """One judge of a cascade, with its answers to the labelled rows in numbers."""

    name: str  # its name among the judges
    judge: str  # ``JUDGE@VERSION``, ``JUDGE:basic``, a detector or a log
    model: str  # the model's name
    alone: float  # the share of all rows to which it gives the label of people; a row without an answer counts as wrong
    answered: int  # the number of rows that it answers in the cascade
    right: int  # the number of these rows to which it gives the label of people
    trust: AgreementRegression  # the model of how probable it is that people agree


@dataclass(frozen=True, kw_only=True)
class LabelShare:
    """The rows to which people gave one label, with the answers of the cascade in numbers."""

    label: str
    rows: int  # the number of these rows
    answered: int  # the number of them that some judge answers
    right: int  # the number of answered ones to which that judge gives the label


@dataclass(frozen=True, kw_only=True, repr=False)
class Cascade(Shown):
    """Judges that are asked one after the other until one is sure enough; rows without such a judge are for people.

    Attributes:
        gold: the gold's name.
        cases: the number of labelled rows on which the level was chosen.
        groups: the number of groups of these rows.
        left_out: the number of rows left out because an artifact was compiled on them or on near copies of them.
        opening: the number of this opening of sealed rows; 0 if no row is sealed.
        agree: the share of the answered rows on which people must give the same label.
        risk: the largest probability of choosing a level with less agreement, over all openings.
        level: the part of the risk that the tests of this opening take; it is not a level of sureness.
        chosen: the step of the level that was chosen; ``None`` if no level was shown to agree enough.
        steps: the steps of all levels that were tested, the strictest first.
        judges: the judges, in the order in which they are asked.
        labels: the agreement by the label of people, the most frequent first; empty if no level was chosen.
        warnings: sentences: the answers are lopsided, or not told apart from a constant answer.
        tokens: the mean tokens of a row, under ``cascade`` and, for the last judge alone, ``last``; empty if unknown.
        dollars: the price of 1,000 rows, under the same names; empty if unknown.
        spends: the spend of each judge, as JSON values.
        artifact: the version that was kept; ``None`` if no level was shown, or a judge is a log.
    """

    gold: str
    cases: int
    groups: int
    left_out: int
    opening: int
    agree: float
    risk: float
    level: float
    chosen: Step | None
    steps: tuple[Step, ...]
    judges: tuple[CascadeMember, ...]
    labels: tuple[LabelShare, ...]
    warnings: tuple[str, ...]
    tokens: Mapping[str, float]
    dollars: Mapping[str, float]
    spends: tuple[Mapping[str, Any], ...]
    artifact: Artifact | None = None

    def __repr__(self) -> str:
        """Name the gold, its size and the decision."""
        return f"<Cascade on {self.gold}, {self.cases} cases: {self.words}{reuse_ending(self.spends)}>"

    @property
    def words(self) -> str:
        """The decision in one sentence."""
        if self.chosen is None:
            return (
                f"not shown: no level of sureness keeps an agreement of {self.agree:g} with people; "
                f"{self._why_not_shown}"
            )
        shares = [f"{judge.judge} {judge.answered / self.cases:.0%}" for judge in self.judges]
        people = 1 - self.chosen.answered / self.cases
        return (
            f"answers {self.chosen.answered / self.cases:.0%} of the rows, and agrees with people on at least "
            f"{self.agree:.0%} of these (risk of error {self.risk:g}): {', '.join(shares)}, people {people:.0%}"
        )

    @property
    def _why_not_shown(self) -> str:
        """The reason in words why no level was shown: too few groups, or the best bound that was reached."""
        needed = fewest_rows_needed(self.agree, self.level)
        if self.groups < needed:
            return f"{plural(needed, 'group')} are needed, and there are {self.groups}"
        best_bound = 0.0
        for step in self.steps:
            best_bound = max(best_bound, step.bound)
        return f"the bound reached {best_bound:.3f}"

    def to_json(self) -> dict[str, Any]:
        """Return the cascade as JSON values: its fields, ``words``, ``shown``, and the artifact by its name."""
        return {
            **plain_fields(self, "artifact"),
            "words": self.words,
            "shown": self.chosen is not None,
            "artifact": self.artifact and self.artifact.ref,
        }

    def parts(self) -> list[Table | str]:
        """Return the rows that each judge answers, the price of a row, and the tested levels."""
        return cascade_parts(CascadeFound.model_validate(self.to_json()))

    def records(self) -> list[dict[str, object]]:
        """Return a row for each level that was tested."""
        return [dict(plain_fields(step)) for step in self.steps]


@dataclass(frozen=True, kw_only=True)
class _JudgedGold:
    """The answers of one judge to the labelled rows, in their order."""

    answers: Answers
    sure: list[SureAnswer]  # its label of each row, and how sure it is of it
    right: list[bool]  # whether people give the same label
    probable: list[float]  # the probability that they do, fitted to rows of other groups

    def as_member(self, best: Step | None, place: int) -> CascadeMember:
        """Return the judge as the member at a place of the cascade; it answers no row where no level was chosen."""
        answered = 0
        right = 0
        if best is not None:
            answered = best.by[place]
            right = best.right[place]
        return CascadeMember(
            name=self.answers.name,
            judge=self.answers.judge.name,
            model=self.answers.judge.model.name,
            alone=sum(self.right) / len(self.right),
            answered=answered,
            right=right,
            trust=fit_trust(self.sure, self.right),
        )


@dataclass(frozen=True, kw_only=True)
class Cascading(Experiment):
    """The job that chooses a cascade: its judges are ``contenders``, in the order in which a row is asked about."""

    kind: ClassVar[str] = "cascade"
    fewest: ClassVar[int] = 1

    agree: float = 0.9
    risk: float = 0.1
    seed: int = 0  # of the folds in which the probabilities of agreement are fitted

    def __post_init__(self) -> None:
        """Refuse shares outside 0 and 1, judges of different labels, and judges with several answers a row."""
        _check_share("agree", self.agree)
        _check_share("risk", self.risk)
        members: list[Contender] = []
        for contender in self.contenders:
            if isinstance(contender, LoadedJudge):
                members.append(ask_as_member(contender))
            else:
                members.append(contender)
        object.__setattr__(self, "contenders", tuple(members))
        super().__post_init__()
        if self.store is not None:
            self.store.check_writable()
        self._check_same_labels()
        self._check_one_unit()

    def _check_same_labels(self) -> None:
        """Refuse judges if one gives other labels than the first."""
        first = self.contenders[0].judge.answer.scale.identity()
        for contender in self.contenders:
            if contender.judge.answer.scale.identity() != first:
                hint = "name judges of the same labels"
                raise UsageError("the judges of a cascade give other labels", hint=hint)

    def _check_one_unit(self) -> None:
        """Refuse judges if one gives a row no answer, or several."""
        for contender in self.contenders:
            for case in self.cases:
                if len(contender.judge.answer.units(case.inputs)) != 1:
                    raise UsageError(
                        f"{self.scored.name} gives several answers a row, and a cascade passes on whole rows",
                        hint="name judges that give one answer a row",
                    )

    def conclude(self, job: PaidJob, answers: Sequence[Answers], on_case: Callable[[], None]) -> Cascade:
        """Return the cascade with the level that was chosen on the labelled rows, kept as a version where possible."""
        cascade = self._choose_cascade(answers)
        if cascade.chosen is None:
            return cascade
        return self._save(cascade, cascade.chosen.level, answers, job.ledger.spend())

    def _choose_cascade(self, answers: Sequence[Answers]) -> Cascade:
        """Return the cascade with the level that was chosen on the labelled rows, before it is kept."""
        rows = [number for number, case in enumerate(self.cases) if case.labels]
        groups = [self.cases[row].group for row in rows]
        judged = []
        right = []
        probable = []
        for judge_answers in answers:
            judge = self._judged_gold(judge_answers, rows, groups)
            judged.append(judge)
            right.append(judge.right)
            probable.append(judge.probable)
        opening_risk = self.risk
        if self.opening.number:
            opening_risk = level_of(self.risk, self.opening.number)
        tested = tuple(try_levels(probable, right, groups, agree=self.agree, risk=opening_risk))
        best = choose_step(tested, self.agree)
        spends: Mapping[str, MeanSpend] = {}
        labels: tuple[LabelShare, ...] = ()
        warnings: tuple[str, ...] = ()
        if best is not None:
            spends = _spends_by_name(judged, rows, best.level)
            answer_of_row = _answers_of_cascade(judged, rows, best.level)
            labels = self._count_by_label(answer_of_row)
            warnings = self._warn_of_answers(answer_of_row)
        return Cascade(
            gold=self.gold.name,
            cases=len(rows),
            groups=len(set(groups)),
            left_out=self.left_out,
            opening=self.opening.number,
            agree=self.agree,
            risk=self.risk,
            level=opening_risk,
            chosen=best,
            steps=tested,
            judges=tuple(judge.as_member(best, place) for place, judge in enumerate(judged)),
            labels=labels,
            warnings=warnings,
            tokens={name: spend.tokens for name, spend in spends.items()},
            dollars=_dollars_per_1000_rows(spends),
            spends=tuple(judge_answers.spend.to_json() for judge_answers in answers),
        )

    def _judged_gold(self, answers: Answers, rows: Sequence[int], groups: Sequence[str]) -> _JudgedGold:
        """Return a judge's answers to the rows at these places, held against the labels of people."""
        scale = answers.judge.judge.answer.scale
        sure = []
        right = []
        for row in rows:
            sure.append(sure_answer(scale, answers.verdicts[row]))
            right.append(self._agrees(answers.repeats[0][row]))
        probable = cross_fit(sure, right, groups, self.seed)
        return _JudgedGold(answers=answers, sure=sure, right=right, probable=probable)

    def _count_by_label(self, answer_of_row: Mapping[int, JudgedRow | None]) -> tuple[LabelShare, ...]:
        """Return the agreement by the label of people, the most frequent label first."""
        rows: Counter[str] = Counter()
        answered: Counter[str] = Counter()
        right: Counter[str] = Counter()
        for row, answer in answer_of_row.items():
            (value,) = self.cases[row].labels
            label = self.scored.answer.scale.text(value)
            rows[label] += 1
            if answer is not None:
                answered[label] += 1
                right[label] += self._agrees(answer)
        shares = []
        for label, count in rows.most_common():
            shares.append(LabelShare(label=label, rows=count, answered=answered[label], right=right[label]))
        return tuple(shares)

    def _warn_of_answers(self, answer_of_row: Mapping[int, JudgedRow | None]) -> tuple[str, ...]:
        """Return warnings if the cascade mostly gives one answer, or is not shown to be better than a constant."""
        judge = self.scored
        cases = []
        answers = []
        for row, answer in answer_of_row.items():
            if answer is not None:
                cases.append(self.cases[row])
                answers.append(answer)
        lopsided = warn_if_lopsided("the cascade", answers, judge.comparison, judge.answer.scale.text)
        constant = score_constant_beside(judge, cases)
        tested = constant.against(
            judge, "the cascade", answers, constant.by_name, seed=self.seed, level=self.opening.level
        )
        return lopsided + tested.words("the cascade")

    def _agrees(self, row: JudgedRow) -> bool:
        """Say whether the answer to a row is the label of people."""
        gold, value = row.gold[0], row.predicted[0]
        return gold is not None and correctness(self.scored.comparison, gold, value) == 1.0

    def _save(self, cascade: Cascade, level: float, answers: Sequence[Answers], spend: Spend) -> Cascade:
        """Keep the cascade as the next version of its last judge, and return it with that version.

        Nothing is kept without a store, or where a judge is a log; then the cascade comes back as it is.
        """
        judges = []
        for judge_answers in answers:
            if isinstance(judge_answers.judge, LoadedJudge):
                judges.append(judge_answers.judge)
        if len(judges) < len(answers) or not self.store:
            return cascade
        last = judges[-1]
        cascade_data = cascade.to_json()
        del cascade_data["spends"]
        card = CardContent(
            judge_ref=_reference_of(last),
            adapter=last.adapter,
            thresholds=ThresholdCard.of(last.sampling),
            gold=self._gold_card(judges),
            decision=DecisionCard(words=cascade.words),
            tokens_per_row={},
            cascade=CascadeCard(
                level=level,
                members=[
                    _member_card(*pair, self.store) for pair in zip(judges, cascade.judges, strict=True)
                ],
                found=CascadeFound.model_validate(cascade_data),
            ),
            spend=SpendCard.model_validate(spend.to_json()),
        )
        records = {SEEN: self._seen_rows(judges)}
        artifact = self.store.save(last.judge, last.state, card, [], make_latest=False, records=records)
        return replace(cascade, artifact=artifact)

    def _gold_card(self, judges: Sequence[LoadedJudge]) -> GoldCard:
        """Return the card of the gold, with the ids of the rows that chose the level or that compiled a judge."""
        case_ids = {case.id for case in self.gold.cases}
        for judge in judges:
            for version in judge.versions:
                case_ids.update(version.about.gold.seen)
        return GoldCard(
            name=self.gold.name, source=self.gold.source, sha256=self.gold.sha256, seen=sorted(case_ids)
        )

    def _seen_rows(self, judges: Sequence[LoadedJudge]) -> list[dict[str, str]]:
        """Return sketches of all rows of the gold and of further rows on which a judge was compiled.

        By these sketches near copies of the rows are left out of later tests.
        """
        case_of = {case.id: case for case in self.gold.cases}
        rows = sketched_rows(self.gold.judge, list(case_of.values()))
        for judge in judges:
            for version in judge.versions:
                for row in version.seen():
                    if row["case"] not in case_of:
                        rows.append(row)
        return rows


def _check_share(option: str, value: float) -> None:
    """Refuse a value of an option that is not above 0 and below 1."""
    if not 0 < value < 1:
        hint = "give a number above 0 and below 1, such as 0.9"
        raise UsageError(f"--{option} {value:g} is no share", hint=hint)


def _answers_of_cascade(
    judged: Sequence[_JudgedGold], rows: Sequence[int], level: float
) -> dict[int, JudgedRow | None]:
    """Return row -> the answer of the first judge that is sure enough of it; ``None`` where the row is for people."""
    answer_of_row: dict[int, JudgedRow | None] = {}
    for place, row in enumerate(rows):
        answer_of_row[row] = None
        for judge in judged:
            if judge.probable[place] >= level:
                answer_of_row[row] = judge.answers.repeats[0][row]
                break
    return answer_of_row


def _spends_by_name(judged: Sequence[_JudgedGold], rows: Sequence[int], level: float) -> dict[str, MeanSpend]:
    """Return the mean spend of a row, of the ``cascade`` and of its ``last`` judge alone; empty if a judge is a log."""
    for judge in judged:
        if isinstance(judge.answers.judge, Log):
            return {}
    cascade = []
    last = []
    for place, row in enumerate(rows):
        usage = Spend()
        for judge in judged:
            usage.add(judge.answers.verdicts[row].usage)
            if judge.probable[place] >= level:
                break
        cascade.append(usage)
        last.append(judged[-1].answers.verdicts[row].usage)
    return {"cascade": mean_spend(cascade), "last": mean_spend(last)}


def _dollars_per_1000_rows(spends: Mapping[str, MeanSpend]) -> dict[str, float]:
    """Return name -> the price of 1,000 rows, without names whose price is not known."""
    dollars = {}
    for name, spend in spends.items():
        if spend.cost is not None:
            dollars[name] = 1000 * spend.cost
    return dollars


def _reference_of(judge: LoadedJudge) -> str:
    """Return the file or the name by which a judge is found again."""
    return judge.reference or judge.judge.name


def _member_card(judge: LoadedJudge, member: CascadeMember, store: Store) -> MemberCard:
    """Return the card of one judge, with its definition and prompt: the cascade outlives the judge's own versions."""
    verifier = None
    if judge.settings.verifier:
        verifier = ModelCard.of(judge.settings.verifier)
    reference = _reference_of(judge)
    content: dict[str, Any] = {
        "judge": judge.name,
        "reference": reference,
        **store.record_code(reference),
        "definition": write_definition(judge.judge),
        "prompt": judge.state.to_json(),
        **judge.judge.option_values,
        "model": ModelCard.of(judge.model),
        "verifier": verifier,
        "adapter": judge.adapter,
        "thresholds": judge.sampling.to_card(),
        "trust": asdict(member.trust),
    }
    return MemberCard.model_validate(content)


def with_models(
    judges: Sequence[LoadedJudge | LogReference], models: Sequence[Model], keep: Sequence[bool]
) -> tuple[LoadedJudge | LogReference, ...]:
    """Return the judges, each with its model.

    Args:
        judges: those of a cascade.
        models: one for all judges, or one for each that takes one.
        keep: for each judge, whether it keeps its model, as one that was loaded before, or is a log.

    Raises:
        UsageError: there are neither one model nor as many as judges that take one.
    """
    takers = len(judges) - sum(keep)
    if len(models) not in (1, takers):
        hint = "name one for all, or one for each in their order"
        raise UsageError(f"{plural(len(models), 'model')} for {plural(takers, 'judge')}", hint=hint)
    if len(models) == 1:
        models = list(models) * takers
    next_model = iter(models)
    ready: list[LoadedJudge | LogReference] = []
    for judge, keeps_model in zip(judges, keep, strict=True):
        if keeps_model or isinstance(judge, LogReference):
            ready.append(judge)
        else:
            ready.append(judge.with_model(next(next_model)))
    return tuple(ready)
