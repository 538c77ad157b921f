"""An experiment: several judges on the same gold rows that none was compiled on, and every paid answer kept."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Spend
from ..engines.meter import Budget
from ..errors import JuristError, UsageError, plural
from ..evaluation.rows import JudgedRow
from ..gold.goldset import Gold
from ..gold.raters import rated_in_test
from ..keeping.artifacts import Store
from ..keeping.contenders import Contender
from ..keeping.loading import LoadedJudge
from ..keeping.paying import PaidJob
from ..optimizers.objective import row_of
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.verdict_sources import FIRST_CASES, check_readable, with_readable_adapter
from ..programs.verdicts import OnVerdict, Verdict
from .estimate import Ask, CostEstimate, Span
from .kept_calls import Asking
from .measuring import count_redraws, make_ask, make_embedding_asks
from .references import References, score_references_beside
from .sealed_rows import Opening, foresee_opening, select_unseen


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The contenders and the rows of an experiment."""

    kind: ClassVar[str] = "compare"
    """Its name in fingerprints and in the ledger of openings."""
    chooses: ClassVar[bool] = True
    """Whether people choose one of several by it; what tells of a version alone opens no sealed row."""
    reuses_answers: ClassVar[bool] = True
    """Whether answers that finished work has kept are used again; a gate tells of a judge as it answers now."""
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
                f"all {len(self.gold.cases)} rows of {self.gold.name} were used to compile one of these judges, are "
                "shown by its prompt, or nearly repeat such rows",
                hint="compare on rows that no artifact was compiled on and no prompt shows",
            )

    @property
    def scored(self) -> Judge:
        """The judge whose metric is tested: that of the first version, which has the metric of its compilation."""
        for contender in self.contenders:
            if contender.artifact:
                return contender.judge
        return self.contenders[0].judge

    def _check_alike(self) -> None:
        """Refuse judges that are asked about other things, or give other answers."""
        judges = [contender.judge for contender in self.contenders]
        for judge in judges:
            setting = _find_difference(self.scored, judge)
            if not setting:
                continue
            option = _option_that_sets(setting, judges)
            hint = "compare judges that find the same in the same rows"
            if option:
                hint = f"give --{option}, so that all of them have the same one"
            words = "positive labels" if setting == "positive" else setting
            raise UsageError(f"these judges have different {words}", hint=hint)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The rows that no contender was compiled on or shows, without near copies of such rows."""
        return select_unseen(self.contenders, self.gold)

    @cached_property
    def opening(self) -> Opening:
        """The opening of those of the rows that are of a sealed test."""
        return foresee_opening(self.cases, self.contenders, chooses=self.chooses)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """A name for each contender: with its model and samples where these differ, and a number where need be."""
        roles: list[str] = []
        name_counts = Counter[str]()
        for name in self._names_with_samples():
            name_counts[name] += 1
            number = name_counts[name]
            roles.append(f"{name} ({number})" if number > 1 else name)
        return tuple(roles)

    def _names_with_samples(self) -> list[str]:
        """Return the contenders' names; judges of one name that draw different numbers of samples have that number."""
        names = self._names_with_models()
        samples_of_name: dict[str, set[int]] = {}
        for name, contender in zip(names, self.contenders, strict=True):
            samples_of_name.setdefault(name, set()).add(contender.sampling.samples)
        names_with_samples: list[str] = []
        for name, contender in zip(names, self.contenders, strict=True):
            if len(samples_of_name[name]) > 1:
                name = f"{name}, {plural(contender.sampling.samples, 'sample')}"
            names_with_samples.append(name)
        return names_with_samples

    def _names_with_models(self) -> list[str]:
        """Return the contenders' names; each has its model where there are several models."""
        models: set[str] = set()
        for contender in self.contenders:
            if not contender.own_name:
                models.add(contender.model.name)
        names: list[str] = []
        for contender in self.contenders:
            name = contender.name
            if len(models) > 1 and not contender.own_name and contender.models:
                name = f"{contender.name} / {contender.model.name}"
            names.append(name)
        return names

    @property
    def left_out(self) -> int:
        """Rows left out."""
        return len(self.gold.cases) - len(self.cases)

    @property
    def left_out_words(self) -> str:
        """Rows left out, and why; empty if none is."""
        if not self.left_out:
            return ""
        rows = "1 row is"
        if self.left_out > 1:
            rows = f"{self.left_out} rows are"
        return f"{rows} left out: {self._left_out_reason}"

    @property
    def _left_out_reason(self) -> str:
        """Why rows are left out, in words."""
        has_version = False
        is_changed = False
        for contender in self.contenders:
            has_version = has_version or (bool(contender.versions) and not _is_changed_judge(contender))
            is_changed = is_changed or _is_changed_judge(contender)
        if not has_version:
            return "a prompt shows them or near copies of them, or a version was compiled on such rows"
        if is_changed:
            return "a version was compiled on them or on near copies of them, or a prompt shows them"
        return "a version was compiled on them or on near copies of them"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""
        notes = [contender.note for contender in self.contenders]
        notes.append(self.left_out_words)
        notes.append(self.opening.words)
        return tuple(notes)

    @property
    def contenders_to_ask(self) -> Mapping[str, Contender]:
        """Role -> the contender whose model is asked; the others' answers follow from those of these."""
        return dict(zip(self.roles, self.contenders, strict=True))

    @property
    def size(self) -> str:
        """The size of the experiment, in words."""
        judges = plural(len(self.contenders_to_ask), "judge")
        words = f"{judges} on {plural(len(self.cases), 'case')}"
        if self.repeats > 1:
            words += f", {self.repeats} times"
        return words

    def questions(self, contender: Contender) -> int:
        """Return how often the program of one contender is called: samples x cases x repeats."""
        return contender.questions[1] * len(self.cases) * self.repeats

    @property
    def rows(self) -> int:
        """The number of rows that are asked about, over all repeats and contenders."""
        return len(self.cases) * self.repeats * len(self.contenders_to_ask)

    def foresee(self) -> CostEstimate:
        """Estimate it: contenders x cases x repeats. Sends nothing."""
        asks: list[Ask] = []
        redraws = 0
        for name, contender in self.contenders_to_ask.items():
            questions = self.questions(contender)
            if isinstance(contender, LoadedJudge):
                asker = contender.asker()
                asks.append(make_ask(name, asker, contender.models, self.cases, (questions, questions)))
                asks += make_embedding_asks(name, asker, len(self.cases), self.cases)
                redraws += count_redraws(contender, len(self.cases) * self.repeats)
            else:
                asks.append(Ask(role=name, models=tuple(contender.models), calls=Span(questions, questions)))
        return CostEstimate(what=self.size, asks=tuple(asks), budget=self.budget, redraws=redraws)

    def askings(self) -> Iterator[Asking]:
        """Yield the rows of each judge and repeat, those that were left out without."""
        for name, contender in self.contenders_to_ask.items():
            if isinstance(contender, LoadedJudge):
                for repeat in range(self.repeats):
                    make_asker = partial(_make_asker, contender, repeat)
                    yield Asking(role=name, make_asker=make_asker, cases=self.cases)

    def ask(self, job: PaidJob, on_case: Callable[[], None] = lambda: None) -> "list[Answers]":
        """Ask every contender in ``contenders_to_ask`` about every row, as often as there are repeats."""
        opening = self.opening  # the number of the opening is that before anything is asked

        def on_verdict(index: int, verdict: Verdict) -> None:
            on_case()

        contenders: list[Contender] = []
        for name, contender in self.contenders_to_ask.items():
            contender.check()
            contenders.append(contender.paid_by(job.contexts[name]))
        # What cannot be asked at all, or not read, is said before all the rows of another contender are paid.
        first_verdicts: list[list[Verdict]] = []
        for contender in contenders:
            trial = _without_redraws_in_trial(contender)
            first_verdicts.append(trial.verdicts(self.cases[:1], on_verdict=on_verdict))
        tried_contenders: list[_TriedContender] = []
        for contender, verdicts in zip(contenders, first_verdicts, strict=True):
            tried_contenders.append(self._find_readable(contender, verdicts, on_verdict))
        answers: list[Answers] = []
        for name, tried_contender in zip(self.contenders_to_ask, tried_contenders, strict=True):
            answers.append(self._ask_rest(name, tried_contender, on_verdict))
        opening.record(f"{self.kind} {' '.join(self.roles)}")
        return answers

    def _find_readable(
        self, contender: Contender, verdicts: list[Verdict], on_verdict: OnVerdict
    ) -> "_TriedContender":
        """Return a contender in a prompt format in which its replies can be read, with the verdicts of the trial."""
        if not isinstance(contender, LoadedJudge) or contender.names_adapter:
            return _TriedContender(contender, verdicts)
        if not contender.finds_adapter:
            cases = self.cases[len(verdicts) : FIRST_CASES]
            verdicts = verdicts + contender.verdicts(cases, on_verdict=on_verdict)
            check_readable(verdicts, contender.adapter)
            return _TriedContender(contender, verdicts)

        def ask(judge: LoadedJudge) -> list[Verdict]:
            nonlocal verdicts
            if judge is not contender:  # the verdict of the first case is of the other prompt format
                verdicts = []
            cases = self.cases[len(verdicts) : FIRST_CASES]
            trial = replace(judge, settings=replace(judge.settings, redraws=0))
            verdicts = verdicts + trial.verdicts(cases, on_verdict=on_verdict)
            return verdicts

        judge, reason = with_readable_adapter((contender, contender.with_adapter("json")), ask)
        final_verdicts = judge.asker().draw_unread_again(self.cases[:FIRST_CASES], verdicts)
        return _TriedContender(judge, final_verdicts, reason)

    def _ask_rest(self, name: str, tried_contender: "_TriedContender", on_verdict: OnVerdict) -> "Answers":
        """Ask a contender about the rows after those of its trial, and about all of them in each further repeat."""
        contender = tried_contender.contender
        remaining_cases = self.cases[len(tried_contender.verdicts) :]
        first_repeat = list(tried_contender.verdicts)
        first_repeat.extend(contender.verdicts(remaining_cases, on_verdict=on_verdict))
        repeats = [tuple(map(row_of, self.cases, first_repeat))]
        for repeat in range(1, self.repeats):
            verdicts = contender.verdicts(self.cases, repeat=repeat, on_verdict=on_verdict)
            repeats.append(tuple(map(row_of, self.cases, verdicts)))
        return Answers(
            name=name,
            judge=contender,
            repeats=tuple(repeats),
            verdicts=tuple(first_repeat),
            spend=contender.spend,
            other_adapter=tried_contender.other_adapter,
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
    repeats: tuple[tuple[JudgedRow, ...], ...]  # the rows of each repeat, in the order of the cases
    verdicts: tuple[Verdict, ...] = ()  # of the first repeat, in the order of the cases
    other_adapter: str = ""  # why it was asked in another prompt format, in words
    # calls, tokens and cost of all repeats; answers paid by an earlier run count as ``replayed``
    spend: Spend


@dataclass(frozen=True)
class _TriedContender:
    """A contender, and its verdicts on the first cases."""

    contender: Contender
    verdicts: list[Verdict]
    other_adapter: str = ""  # why it is asked in another prompt format, in words


def _make_asker(judge: LoadedJudge, repeat: int, context: CallContext) -> Asker:
    """Return the asker of a judge for a repeat, whose calls are made in a context."""
    return judge.paid_by(context).asker(repeat)


def _without_redraws_in_trial(contender: Contender) -> Contender:
    """Return a contender whose replies are drawn once, as long as it is not known whether they can be read."""
    if isinstance(contender, LoadedJudge) and contender.finds_adapter:
        return replace(contender, settings=replace(contender.settings, redraws=0))
    return contender


def _is_changed_judge(contender: Contender) -> bool:
    """Say whether the prompt of a contender was changed after it was loaded."""
    return isinstance(contender, LoadedJudge) and contender.is_changed


def _find_difference(first: Judge, second: Judge) -> str:
    """Return the first part of the answers or inputs that two judges do not have alike; empty without one."""
    first_settings = _comparable_settings(first)
    second_settings = _comparable_settings(second)
    for name in first_settings | second_settings:
        if first_settings.get(name) != second_settings.get(name):
            return name
    return ""


def _comparable_settings(judge: Judge) -> dict[str, object]:
    """Return the parts of a judge's answers and inputs that compared judges have alike."""
    settings: dict[str, object] = dict(judge.answer.scale.identity())
    settings["input fields"] = judge.input_fields
    return settings


def _option_that_sets(setting: str, judges: Sequence[Judge]) -> str:
    """Return an option of all these judges that sets this part of their answers; empty without one."""
    for option, values in judges[0].options.items():
        sets_it = any(setting in settings for settings in values.values())
        if sets_it and all(option in judge.options for judge in judges):
            return option
    return ""
