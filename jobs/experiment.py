"""An experiment: several judges on the same gold rows that none was compiled on, and every paid answer kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from ..cases import Case
from ..engines.ledger import Spend
from ..engines.meter import Budget
from ..errors import JuristError, UsageError, plural
from ..evaluation.rows import Row
from ..gold.goldset import Gold
from ..gold.raters import rated_in_test
from ..keeping.artifacts import Store
from ..keeping.contenders import Contender
from ..keeping.loading import LoadedJudge
from ..keeping.paying import PaidJob
from ..optimizers.objective import row_of
from ..programs.judge import Judge
from ..programs.verdicts import FIRST, OnVerdict, Verdict, with_readable_adapter
from .estimate import Ask, Estimate, Span
from .measuring import count_redraws, make_ask, make_embedding_asks
from .references import References, score_references_beside
from .sealed_rows import Look, look_at, select_unseen


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The contenders and the rows of an experiment."""

    kind: ClassVar[str] = "compare"
    """What it is called in fingerprints and in the ledger of openings."""
    chooses: ClassVar[bool] = True
    """Whether people choose one of several by it; what tells of a version alone opens no sealed row."""
    fewest: ClassVar[int] = 2
    """Judges times repeats without which there is nothing to compare."""

    # judges, each with its model; two or more, or one that is asked several times
    contenders: tuple[Contender, ...]
    gold: Gold  # labelled cases
    repeats: int = 1  # times everything is asked, each time with other draws (FECT section 3.1: 10)
    budget: Budget = field(default_factory=Budget)  # hard limits for all contenders together
    store: Store | None = None  # where what it shows of a version is kept

    def __post_init__(self) -> None:
        """Refuse what cannot be compared."""
        if not self.contenders or len(self.contenders) * self.repeats < self.fewest or self.repeats < 1:
            raise UsageError(
                "a comparison needs two judges and one repeat, or one judge and two repeats",
                hint="name at least two, for example fect fect:basic, or add --repeats 10",
            )
        self._check_alike()
        if not self.cases:
            raise JuristError(
                f"all {len(self.gold.cases)} rows of {self.gold.name} were used to compile one of these judges, or "
                "nearly repeat such rows",
                hint="compare on rows that no artifact was compiled on",
            )

    @property
    def scored(self) -> Judge:
        """Whose metric is tested: that of the first version, which has the metric that it was compiled for."""
        compiled = [contender.judge for contender in self.contenders if contender.artifact]
        return (compiled or [self.contenders[0].judge])[0]

    def _check_alike(self) -> None:
        """Refuse judges that are asked about other things, or give other answers."""
        judges = [one.judge for one in self.contenders]
        first = {**self.scored.answer.scale.identity(), "input fields": self.scored.input_fields}
        for judge in judges:
            own = {**judge.answer.scale.identity(), "input fields": judge.input_fields}
            what = next((name for name in {**first, **own} if first.get(name) != own.get(name)), None)
            if what is None:
                continue
            option = _option_that_sets(what, judges)
            raise UsageError(
                f"these judges have different {'positive labels' if what == 'positive' else what}",
                hint=f"give --{option}, so that all of them have the same one"
                if option
                else "compare judges that find the same in the same rows",
            )

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The rows that no contender's artifact was compiled on, or on near copies of."""
        return select_unseen(self.contenders, self.gold)

    @cached_property
    def look(self) -> Look:
        """Which of the rows are of a sealed test, and the number of this opening of it."""
        return look_at(self.cases, self.contenders, chooses=self.chooses)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """One a contender, told apart by model where there are several, and by number where need be."""
        several = len({contender.model.name for contender in self.contenders if not contender.named}) > 1
        names = [
            contender.name if contender.named or not several else f"{contender.name} / {contender.model.name}"
            for contender in self.contenders
        ]
        return tuple(
            f"{name} ({names[:place].count(name) + 1})" if name in names[:place] else name
            for place, name in enumerate(names)
        )

    @property
    def left_out(self) -> int:
        """Rows left out."""
        return len(self.gold.cases) - len(self.cases)

    @property
    def left_out_words(self) -> str:
        """Rows left out, and why; empty if none is."""
        if not self.left_out:
            return ""
        rows = "1 row is left out" if self.left_out == 1 else f"{self.left_out} rows are left out"
        return f"{rows}: a version was compiled on them or on near copies of them"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""
        return (*(contender.note for contender in self.contenders), self.left_out_words, self.look.words)

    @property
    def size(self) -> str:
        """The size of the experiment, in words."""
        sizes = {"contender": len(self.contenders), "case": len(self.cases), "repeat": self.repeats}
        return " x ".join(plural(size, name) for name, size in sizes.items())

    def questions(self, contender: Contender) -> int:
        """Return how often the program of one contender is called: samples x cases x repeats."""
        return contender.questions[1] * len(self.cases) * self.repeats

    @property
    def rows(self) -> int:
        """How many rows are asked about, over all repeats and contenders."""
        return len(self.cases) * self.repeats * len(self.contenders)

    def foresee(self) -> Estimate:
        """Estimate it: contenders x cases x repeats. Sends nothing."""
        asks = []
        redraws = 0
        for name, contender in zip(self.roles, self.contenders, strict=True):
            questions = self.questions(contender)
            if isinstance(contender, LoadedJudge):
                asker = contender.asker()
                asks.append(make_ask(name, asker, contender.models, self.cases, (questions, questions)))
                asks += make_embedding_asks(name, asker, len(self.cases), self.cases)
                redraws += count_redraws(contender, len(self.cases) * self.repeats)
            else:
                asks.append(Ask(role=name, models=tuple(contender.models), calls=Span(questions, questions)))
        return Estimate(what=self.size, asks=tuple(asks), budget=self.budget, redraws=redraws)

    def ask(self, job: PaidJob, on_case: Callable[[], None] = lambda: None) -> "list[Answers]":
        """Ask every contender about every row, as often as there are repeats."""
        look = self.look

        def on_verdict(index: int, verdict: Verdict) -> None:
            on_case()

        contenders = []
        for name, contender in zip(self.roles, self.contenders, strict=True):
            contender.check()
            contenders.append(contender.paid_by(job.contexts[name]))
        # What cannot be asked at all, or not read, is said before all the rows of another contender are paid.
        first_verdicts = [
            _in_trial(contender).verdicts(self.cases[:1], on_verdict=on_verdict) for contender in contenders
        ]
        readable = []
        for contender, verdicts in zip(contenders, first_verdicts, strict=True):
            readable.append(self._readable(contender, verdicts, on_verdict))
        answers = []
        for name, begun in zip(self.roles, readable, strict=True):
            answers.append(self._answers(name, begun, on_verdict))
        look.note_opening(f"{self.kind} {' '.join(self.roles)}")
        return answers

    def _readable(self, contender: Contender, verdicts: list[Verdict], on_verdict: OnVerdict) -> "_Begun":
        """Return a contender whose replies can be read, with the verdicts by which that was seen."""
        if not (isinstance(contender, LoadedJudge) and contender.finds_adapter):
            return _Begun(contender, verdicts)

        def ask(judge: LoadedJudge) -> list[Verdict]:
            nonlocal verdicts
            if judge is not contender:  # the verdict of the first case is of the other prompt format
                verdicts = []
            cases = self.cases[len(verdicts) : FIRST]
            trial = replace(judge, settings=replace(judge.settings, redraws=0))
            verdicts = [*verdicts, *trial.verdicts(cases, on_verdict=on_verdict)]
            return verdicts

        judge, why = with_readable_adapter((contender, contender.with_adapter("json")), ask)
        final = judge.asker().draw_unread_again(self.cases[:FIRST], verdicts)
        return _Begun(judge, final, why)

    def _answers(self, name: str, begun: "_Begun", on_verdict: OnVerdict) -> "Answers":
        cases, contender = self.cases, begun.contender
        rest = contender.verdicts(cases[len(begun.verdicts) :], on_verdict=on_verdict)
        repeats = [[*begun.verdicts, *rest]]
        for repeat in range(1, self.repeats):
            repeats.append(contender.verdicts(cases, repeat=repeat, on_verdict=on_verdict))
        return Answers(
            name=name,
            judge=contender,
            repeats=tuple(tuple(map(row_of, cases, verdicts)) for verdicts in repeats),
            verdicts=tuple(repeats[0]),
            spend=contender.spend,
            other_adapter=begun.other_adapter,
        )

    def references(self, seed: int = 0) -> References:
        """Return the references on the same rows: answers without a language model, and people."""
        rated = rated_in_test(self.gold, {case.id for case in self.cases})
        return score_references_beside(self.scored, self.gold, self.cases, seed=seed, rated=rated)

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this experiment when it is started again, as JSON values."""
        return {
            "experiment": self.kind,
            "gold": self.gold.sha256,
            "repeats": self.repeats,
            "contenders": [contender.fingerprint() for contender in self.contenders],
        }


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The verdicts of one contender."""

    name: str  # its name in the experiment
    judge: Contender
    repeats: tuple[tuple[Row, ...], ...]  # the rows of each repeat, in the order of the cases
    verdicts: tuple[Verdict, ...] = ()  # of the first repeat, in the order of the cases
    other_adapter: str = ""  # why it was asked in another prompt format, in words
    # calls, tokens and cost of all repeats; answers paid by an earlier run count as ``replayed``
    spend: Spend


@dataclass(frozen=True)
class _Begun:
    """A contender, and its verdicts on the first cases."""

    contender: Contender
    verdicts: list[Verdict]
    other_adapter: str = ""  # why it is asked in another prompt format, in words


def _in_trial(contender: Contender) -> Contender:
    """Return a contender whose replies are drawn once, as long as it is not known whether they can be read."""
    if isinstance(contender, LoadedJudge) and contender.finds_adapter:
        return replace(contender, settings=replace(contender.settings, redraws=0))
    return contender


def _option_that_sets(setting: str, judges: Sequence[Judge]) -> str:
    """Return an option of all these judges that sets this part of their answers; empty without one."""
    for option, values in judges[0].options.items():
        sets_it = any(setting in settings for settings in values.values())
        if sets_it and all(option in judge.options for judge in judges):
            return option
    return ""
