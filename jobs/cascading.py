"""Choosing a cascade: judges are asked about gold, and a level is chosen from which on each of them may answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from ..engines.ledger import Spend
from ..engines.models import Model
from ..errors import UsageError, plural
from ..evaluation.cascade import Step, chosen, crossed, fewest, steps, trust_in
from ..evaluation.disagreements import credit
from ..evaluation.plain import plain_fields
from ..evaluation.proof import level_of
from ..evaluation.rows import Row
from ..evaluation.trust import Trust
from ..gold.copies import sketched_rows
from ..keeping.artifact_card import Artifact
from ..keeping.card import CardContent
from ..keeping.card_parts import (
    CascadeCard,
    CascadeFound,
    DecisionCard,
    GoldCard,
    MemberCard,
    ModelCard,
    SpendCard,
    ThresholdCard,
)
from ..keeping.loaders import as_member, sure_answer
from ..keeping.loading import LoadedJudge
from ..keeping.logs import Log, LogReference
from ..keeping.paying import PaidJob
from ..keeping.sealing import SEEN
from ..optimizers.candidate import Spent, spent
from ..programs.definition import definition_of
from ..report.views import cascade_parts, html_of
from .experiment import Answers, Experiment


@dataclass(frozen=True, kw_only=True)
class Answering:
    """One judge of a cascade."""

    name: str  # its name among the judges
    judge: str  # ``JUDGE@VERSION``, ``JUDGE:basic``, a detector or a log
    model: str  # the model's name
    alone: float  # the share of all rows on which it says what people say; rows without an answer are not
    answered: int  # rows that it answers in the cascade
    right: int  # those of them on which it says what people say
    trust: Trust


@dataclass(frozen=True, kw_only=True, repr=False)
class Cascade:
    """Judges that answer one after the other, and what is left to people.

    Attributes:
        gold: the gold's name.
        cases: rows that were asked about.
        groups: of them.
        left_out: rows left out because an artifact was compiled on them or on near copies of them.
        opening: which opening of sealed rows this is; 0 if none is sealed.
        agree: the share of the answered rows on which people must say the same.
        risk: how probable it may be at most that they do not: ``level`` of it is this opening's.
        level: the share of the risk that these tests take.
        chosen: the level that was chosen, with what it does to these rows; ``None`` if none was shown to agree enough.
        steps: all levels that were tested, the strictest first.
        judges: who answers.
        tokens: a row, of the cascade and of the last judge alone; empty where a log does not tell.
        dollars: per 1,000 rows, likewise.
        artifact: the version that was kept; ``None`` if nothing was shown, or a judge is a log.
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
    judges: tuple[Answering, ...]
    tokens: Mapping[str, float]
    dollars: Mapping[str, float]
    spends: tuple[Mapping[str, Any], ...]  # what each judge took
    artifact: Artifact | None = None

    def __repr__(self) -> str:
        """Say what was decided."""
        return f"<Cascade on {self.gold}, {self.cases} cases: {self.words}>"

    @property
    def words(self) -> str:
        """The decision in one sentence."""
        if self.chosen is None:
            few = fewest(self.agree, self.level)
            best = max((step.bound for step in self.steps), default=0.0)
            why = (
                f"the bound reached {best:.3f}"
                if self.groups >= few
                else f"{plural(few, 'group')} are needed, and there are {self.groups}"
            )
            return f"not shown: no level of sureness keeps an agreement of {self.agree:g} with people; {why}"
        shares = [f"{judge.judge} {judge.answered / self.cases:.0%}" for judge in self.judges]
        people = 1 - self.chosen.answered / self.cases
        return (
            f"answers {self.chosen.answered / self.cases:.0%} of the rows, and agrees with people on at least "
            f"{self.agree:.0%} of these, but for a risk of {self.risk:g}: {', '.join(shares)}, people {people:.0%}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {
            **plain_fields(self, "artifact"),
            "words": self.words,
            "shown": self.chosen is not None,
            "artifact": self.artifact and self.artifact.ref,
        }

    def _repr_html_(self) -> str:
        return html_of(cascade_parts(CascadeFound.model_validate(self.to_json())))


@dataclass(frozen=True, kw_only=True)
class Cascading(Experiment):
    """Judges in the order in which they are asked, the cheapest first."""

    kind: ClassVar[str] = "cascade"
    fewest: ClassVar[int] = 1

    agree: float = 0.9
    risk: float = 0.1
    seed: int = 0  # of the parts in which rows tell of each other

    def __post_init__(self) -> None:
        """Refuse what is no cascade."""
        for name, value in (("agree", self.agree), ("risk", self.risk)):
            if not 0 < value < 1:
                hint = "give a number above 0 and below 1, such as 0.9"
                raise UsageError(f"--{name} {value:g} is no share", hint=hint)
        members = tuple(
            as_member(member) if isinstance(member, LoadedJudge) else member for member in self.contenders
        )
        object.__setattr__(self, "contenders", members)
        super().__post_init__()
        first, *others = (member.judge.answer.scale.identity() for member in members)
        if any(other != first for other in others):
            hint = "name judges of the same labels"
            raise UsageError("the judges of a cascade give other labels", hint=hint)
        if any(len(member.judge.answer.units(case.inputs)) != 1 for member in members for case in self.cases):
            raise UsageError(
                f"{self.scored.name} gives several answers a row, and a cascade passes on whole rows",
                hint="name judges that give one answer a row",
            )

    def conclude(self, job: PaidJob, answers: Sequence[Answers], on_case: Callable[[], None]) -> Cascade:
        """Choose the level, and keep the cascade as a version."""
        rows = [number for number, case in enumerate(self.cases) if case.known]
        groups = [self.cases[row].group for row in rows]
        # of each judge: its labels and how sure it is of them, and whether people say the same
        sure = [
            [sure_answer(own.judge.judge.answer.scale, own.verdicts[row]) for row in rows] for own in answers
        ]
        right = [[self._agrees(own.repeats[0][row]) for row in rows] for own in answers]
        probable = [crossed(*pair, groups, self.seed) for pair in zip(sure, right, strict=True)]
        level = level_of(self.risk, self.look.opening) if self.look.opening else self.risk
        tested = tuple(steps(probable, right, groups, agree=self.agree, risk=level))
        best = chosen(tested, self.agree)
        judges = tuple(
            Answering(
                name=own.name,
                judge=own.judge.name,
                model=own.judge.model.name,
                alone=sum(right[judge]) / len(rows),
                answered=best.by[judge] if best else 0,
                right=best.right[judge] if best else 0,
                trust=trust_in(sure[judge], right[judge]),
            )
            for judge, own in enumerate(answers)
        )
        prices = self._prices(answers, rows, probable, best)
        cascade = Cascade(
            gold=self.gold.name,
            cases=len(rows),
            groups=len(set(groups)),
            left_out=self.left_out,
            opening=self.look.opening,
            agree=self.agree,
            risk=self.risk,
            level=level,
            chosen=best,
            steps=tested,
            judges=judges,
            tokens={name: part.input_tokens + part.output_tokens for name, part in prices.items()},
            dollars={name: 1000 * part.cost for name, part in prices.items() if part.cost is not None},
            spends=tuple(part.spend.to_json() for part in answers),
        )
        return cascade if best is None else self._kept(cascade, answers, job.ledger.spend())

    def _agrees(self, row: Row) -> bool:
        gold, value = row.gold[0], row.predicted[0]
        return gold is not None and credit(self.scored.comparison, gold, value) == 1.0

    def _prices(
        self,
        answers: Sequence[Answers],
        rows: Sequence[int],
        probable: Sequence[Sequence[float]],
        best: Step | None,
    ) -> dict[str, Spent]:
        """Return the price of a row for the cascade and for its last judge alone; empty where a log has no price."""
        if best is None or any(isinstance(own.judge, Log) for own in answers):
            return {}
        taken = []
        for row, *sure in zip(rows, *probable, strict=True):
            total = Spend()
            for own, probability in zip(answers, sure, strict=True):
                total.add(own.verdicts[row].usage)
                if probability >= best.level:
                    break
            taken.append(total)
        return {"cascade": spent(taken), "last": spent([answers[-1].verdicts[row].usage for row in rows])}

    def _kept(self, cascade: Cascade, answers: Sequence[Answers], spend: Spend) -> Cascade:
        """Keep it as the next version of its last judge, unless a log is one of its judges: that answers no new row."""
        contenders = [one.judge for one in answers if isinstance(one.judge, LoadedJudge)]
        if cascade.chosen is None or len(contenders) < len(answers) or not self.store:
            return cascade
        last, seen = contenders[-1], {case.id: case for case in self.gold.cases}
        compiled = {id_ for one in contenders if one.artifact for id_ in one.artifact.about.gold.seen}
        about = next((one.artifact.about for one in reversed(contenders) if one.artifact), None)
        found = cascade.to_json()
        del found["spends"]
        card = CardContent(
            judge_ref=about.judge_ref if about else "",
            adapter=last.adapter,
            thresholds=ThresholdCard.model_validate(last.sampling.to_card()),
            gold=GoldCard(
                name=cascade.gold,
                source=self.gold.source,
                sha256=self.gold.sha256,
                seen=sorted({*seen, *compiled}),
            ),
            decision=DecisionCard(words=cascade.words),
            tokens_per_row={},
            cascade=CascadeCard(
                level=cascade.chosen.level,
                members=[
                    self._member(judge, answering)
                    for judge, answering in zip(contenders, cascade.judges, strict=True)
                ],
                found=CascadeFound.model_validate(found),
            ),
            spend=SpendCard.model_validate(spend.to_json()),
        )
        rows = sketched_rows(self.gold.judge, list(seen.values()))
        for contender in contenders:
            earlier = contender.artifact.seen() if contender.artifact else ()
            rows += [row for row in earlier if row["case"] not in seen]
        records = {SEEN: rows}
        artifact = self.store.save(last.judge, last.state, card, [], make_latest=False, records=records)
        return replace(cascade, artifact=artifact)

    def _member(self, judge: LoadedJudge, answering: Answering) -> MemberCard:
        """Return all that is kept of a judge: the cascade goes on whatever becomes of its versions."""
        reference = judge.artifact.about.judge_ref if judge.artifact else ""
        content: dict[str, Any] = {
            "judge": judge.name,
            "reference": reference or judge.judge.name,
            "definition": definition_of(judge.judge),
            "prompt": judge.state.to_json(),
            **judge.judge.option_values,
            "model": ModelCard.of(judge.model),
            "verifier": ModelCard.of(judge.verifier) if judge.verifier else None,
            "adapter": judge.adapter,
            "thresholds": judge.sampling.to_card(),
            "trust": asdict(answering.trust),
        }
        return MemberCard.model_validate(content)


def with_models(
    judges: Sequence[LoadedJudge | LogReference],
    models: Sequence[Model],
    settings: Model | None = None,
    keep: Sequence[bool] = (),
) -> tuple[LoadedJudge | LogReference, ...]:
    """Return judges with one model for all or one for each; without any a version's is the one it was proven with."""
    # Logs and detectors have none or their own. ``settings`` are how models are reached; those that ``keep`` theirs
    # were loaded with it.
    keeping = keep or [False] * len(judges)
    takers = 0
    for judge, keeps_model in zip(judges, keeping, strict=True):
        takers += not (judge.named or keeps_model)
    settings = settings or Model()
    if models and len(models) not in (1, takers):
        hint = "name one for all, or one for each in their order"
        raise UsageError(f"{plural(len(models), 'model')} for {plural(takers, 'judge')}", hint=hint)
    if len(models) == 1:
        models = list(models) * takers
    next_model = iter(models)
    ready: list[LoadedJudge | LogReference] = []
    for judge, keeps_model in zip(judges, keeping, strict=True):
        if isinstance(judge, LogReference) or judge.named or keeps_model:
            ready.append(judge)
            continue
        proven = judge.artifact.about.model if judge.artifact else None
        if models:
            model = next(next_model)
        elif proven and proven.name:
            model = replace(
                settings, name=proven.name, api_base=proven.api_base, max_tokens=proven.max_tokens
            )
        else:
            model = settings
        ready.append(judge.with_model(model))
    return tuple(ready)
