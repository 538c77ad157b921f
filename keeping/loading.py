"""A judge that can be asked: with which model, at which temperature, how often, and by whom its frozen steps."""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import dspy

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Spend
from ..engines.model_names import same_model
from ..engines.models import OFFLINE, Model, Reach, connect, reached
from ..errors import GoneModelError, Interrupted, UsageError
from ..evaluation.rows import JudgedRow
from ..evaluation.votes import Sampling
from ..programs.asking import Asker
from ..programs.deciding import with_means
from ..programs.judge import Judge
from ..programs.languages import case_texts
from ..programs.options import JUDGE_OPTIONS
from ..programs.own_answer import OwnAnswer
from ..programs.records import records
from ..programs.state import PromptState
from ..programs.verdicts import OnVerdict, Verdict
from ..text.templates import CHAT
from .artifact_card import Artifact, read_proof_rows
from .contenders import Contender, request_stamp, sampling_stamp
from .model_ends import warning_of_ends
from .naming import ADAPTER, BASIC, Name, Prompt, adapter_error

if TYPE_CHECKING:
    from ..programs.word_rule import WordRule
    from .card_parts import ModelCard

_WARM = 0.7
"""The temperature at which several samples differ."""
NO_MODEL = Model(name="jurist/words", temperature=0.0)
"""Stands for a model where words decide alone; nothing is asked of it."""


CHANGED = ":changed-"
"""Stands in a name before the id of a prompt that was changed after its judge was loaded."""
_CHANGED_NOTE = (
    "its prompt was changed after it was loaded: rows that it shows are left out of scores, but jurist does not know "
    "which other rows its optimizer saw"
)


@contextmanager
def naming_move(judge: "LoadedJudge") -> Iterator[None]:
    """Say of a version whose model is gone what to do: by default to bring it to another model."""
    try:
        yield
    except GoneModelError as error:
        model = judge.model.name
        artifact = judge.artifact
        if artifact is None or not artifact.proof_records() or not same_model(artifact.model, model):
            raise
        step = judge.step_without_model or (
            f"jurist move {artifact.ref} --model NEW holds another model against the answers that {artifact.ref} keeps"
        )
        hint = f"{error.hint}; if {model} no longer answers, {step}"
        raise GoneModelError(error.message, hint=hint) from error


class ResolvedSampling(NamedTuple):
    """A model and a sampling that go together."""

    model: Model  # with its temperature
    sampling: Sampling  # with as many samples as can differ
    note: str = ""  # one line if that is fewer than were asked for


def default_temperature(model: Model, samples: int, temperature: float | None = None) -> Model:
    """Return the model with a temperature: its own, else the one that is given, else what suits samples."""
    if model.members:  # of which each draws once
        members = [default_temperature(member, 1, temperature) for member in model.members]
        return Model.panel(members)
    if model.temperature is not None or model.fixed_temperature:
        return model
    if temperature is None:
        temperature = _WARM if samples > 1 else 0.0
    return replace(model, temperature=temperature)


def resolve_sampling(model: Model, sampling: Sampling, temperature: float | None = None) -> ResolvedSampling:
    """Return the effective sampling: a temperature that suits the samples, and one sample where all would be equal."""
    # Under any threshold from 1 to k the one verdict at temperature 0 is the one that k equal votes would give.
    model = default_temperature(model, sampling.samples, temperature)
    if model.members:
        return ResolvedSampling(model, sample_members(sampling, len(model.members)))
    if sampling.is_panel:
        return ResolvedSampling(model, sample_once(replace(sampling, is_panel=False)))
    if sampling.samples == 1 or model.temperature != 0:
        return ResolvedSampling(model, sampling)
    note = (
        f"at temperature 0 all {sampling.samples} samples would be the same: 1 is asked and 1 vote counted, "
        "with which any threshold gives the same verdict; a --temperature above 0 makes them differ"
    )
    return ResolvedSampling(model, sample_once(sampling), note)


def sample_members(sampling: Sampling, members: int) -> Sampling:
    """Return a sampling of one draw for each member of a panel; a threshold of votes is one of so many members."""
    if sampling.is_panel and sampling.samples == members:
        return sampling
    if sampling.samples > 1:
        raise UsageError(
            f"each of the {members} models of a panel draws once, and not {sampling.samples} times",
            hint="leave out --samples",
        )
    if sampling.threshold == 1:  # a majority of one sample
        return replace(sampling, samples=members, threshold=None, is_panel=True)
    return replace(sampling, samples=members, is_panel=True)


def sample_once(sampling: Sampling) -> Sampling:
    """Return the sampling of one sample: with the same threshold if probabilities decide, else with one vote."""
    if sampling.by_probability:
        return replace(sampling, samples=1)
    return Sampling()


def reached_as(proven: Model, model: Model) -> Model:
    """Return a model, or a panel, that is waited for and paced as the options of another model say."""
    if proven.members:
        return Model.panel([reached_as(member, model) for member in proven.members])
    reached = replace(proven, timeout=model.timeout, patience=model.patience, rpm=model.rpm)
    for terms in model.terms:
        if terms.name == proven.name:
            reached = _reached_by(reached, terms)
    return reached


def _reached_by(model: Model, terms: Model) -> Model:
    """Return a model with the address, the key, the headers, the prices and the pace of the terms for it."""
    return replace(
        model,
        api_base=terms.api_base or model.api_base,
        key_env=terms.key_env,
        headers=terms.headers,
        price_in=terms.price_in,
        price_out=terms.price_out,
        price_cached=terms.price_cached,
        rpm=terms.rpm or model.rpm,
        patience=terms.patience,
    )


def proven_model(card: "ModelCard", settings: Model) -> Model:
    """Return the model of a proof, without one the offline engine; what ``settings`` leave open is as in the proof."""
    if card.members:
        return reached_as(card.model(), settings)
    if not card.name:
        return replace(settings, name=OFFLINE)
    proven = vars(card.model())
    values: dict[str, Any] = {"name": card.name, "seed": settings.seed or card.seed or 0}
    for name in ("api_base", "temperature", "top_p", "max_tokens", "reasoning_effort", "body"):
        if getattr(settings, name) in (None, ()):
            values[name] = proven[name]
    return replace(settings, **values)


def choose_verifier(judge: Judge, model: Model, verifier: Model | None) -> Model | None:
    """Return who answers the frozen steps of a judge: the verifier that is named, else its model at temperature 0."""
    if not judge.frozen_hash:
        if verifier is not None:
            hint = "leave out --judge-model"
            raise UsageError(f"{judge.name} has no frozen steps for {verifier.name} to answer", hint=hint)
        return None
    if verifier is None:
        verifier = model
        if model.members:
            return default_temperature(verifier, 1)
        if not model.fixed_temperature:
            verifier = replace(model, temperature=0.0)
    return default_temperature(verifier, 1)


@dataclass(frozen=True, kw_only=True, repr=False)
class LoadedJudge(Prompt):
    """A judge with a prompt and a model: call it with the judge's inputs.

    Attributes:
        judge: the judge.
        state: its prompt.
        artifact: the compiled version; ``None`` for the basic prompt.
        settings: how it is asked; of the samples that they ask for, ``sampling`` is what ``model`` allows.
        standing: why a name stands for the basic prompt, in one line; empty if it does not.
        model: who answers.
        context: the ledger of all its calls.
        contexts: role -> what that role's calls share, where those who write and those who verify have their own.
        reach: how its models are reached: at once, or in batches.
        own_name: its name where that is no judge with a version: as a member of a cascade; else empty.
        named: how it was named: without a version that may stand for another prompt with another model. ``None`` of a
            judge with a prompt of its own, and of a copy in another process.
        is_changed: whether its prompt was changed after it was loaded, as by an optimizer of DSPy.
        changed_version: the version whose prompt was changed; ``None`` for a basic prompt.
        has_own_model: whether nobody named its model, so that a version asks the one that it was proven with.
        step_without_model: what a user can do if its model is gone, in words; empty: move the version.
    """

    model: Model
    context: CallContext
    contexts: Mapping[str, CallContext] = field(default_factory=dict)
    reach: Reach = reached
    own_name: str = ""
    named: Name | None = field(default=None, compare=False)
    is_changed: bool = False
    changed_version: Artifact | None = None
    has_own_model: bool = field(default=False, compare=False)
    step_without_model: str = field(default="", compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the ledger, and the store: a copy is the version that it is."""
        return {**vars(self), "context": None, "named": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Begin a ledger: a copy, as in another process, has its own."""
        vars(self).update(state, context=CallContext.fresh())

    def __repr__(self) -> str:
        """Name the judge, the model and what it takes."""
        return f"<LoadedJudge {self.name} with {self.model.name}: {', '.join(self.judge.input_fields)}>"

    def _repr_html_(self) -> str:
        """Show it in a notebook, with what a user should know."""
        page = f"<p>{escape(repr(self).strip('<>'))}</p>"
        if self.note:
            page += f"<p>{escape(self.note)}</p>"
        return page

    @property
    def name(self) -> str:
        """``judge@version``, or ``judge:basic``; with another prompt ``judge:changed-ID``, by the id of that prompt."""
        if self.own_name:
            return self.own_name
        if self.artifact:
            return f"{self.judge.name}@{self.artifact.version}"
        if self.is_changed and self.changed_version:
            return f"{self.judge.name}@{self.changed_version.version}{CHANGED}{self.state.id}"
        if self.is_changed:
            return f"{self.judge.name}{CHANGED}{self.state.id}"
        return self.judge.name + BASIC

    @property
    def versions(self) -> tuple[Artifact, ...]:
        """The version that it is, or whose prompt was changed; none of a basic prompt."""
        version = self.artifact or self.changed_version
        return () if version is None else (version,)

    @property
    def prompts(self) -> tuple[tuple[Judge, PromptState], ...]:
        """The judge with its prompt, which may show labelled rows."""
        return ((self.judge, self.state),)

    @cached_property
    def _fit(self) -> ResolvedSampling:
        fit = resolve_sampling(self.model, self.settings.sampling, self.judge.temperature)
        if self.model.members:
            return fit._replace(sampling=with_means(self.judge, fit.sampling))
        return fit

    @property
    def sampling(self) -> Sampling:
        """Samples and vote threshold."""
        return self._fit.sampling

    @property
    def adapter(self) -> str:
        """The format of its prompt: ``chat``, ``json`` or ``plain``."""
        return self.settings.adapter_of(self.judge)

    @property
    def note(self) -> str:
        """A note for the user before the first call, in one line; empty without one."""
        return "; ".join(filter(None, (self.standing, self.other_model, self._fit.note)))

    @property
    def ending(self) -> str:
        """A warning that its model has ended, or ends within 90 days, in one line; empty if it does not."""
        if not self.settings.asks_model:
            return ""
        return warning_of_ends(self.model.each)

    @property
    def own_model_words(self) -> str:
        """Which model a version asks as nobody named one, in one line; empty for the offline engine, or if named."""
        if (
            not self.has_own_model
            or self.artifact is None
            or not self.settings.asks_model
            or self.model.offline
        ):
            return ""
        return f"{self.name} asks {self.model.name}, with which it was proven; --model names another"

    @property
    def word_rule(self) -> "WordRule | None":
        """The rule by which words decide, alone or with the replies; ``None`` where replies alone decide."""
        return self.settings.words

    @property
    def own_answer(self) -> OwnAnswer | None:
        """The request for its model's own answer to the task; ``None`` where it asks for none."""
        return self.settings.own_answer

    @property
    def questions(self) -> tuple[int, int]:
        """The times that its model is asked about a row, at least and at most."""
        if not self.settings.asks_model:
            return 0, 0
        draws = self.sampling.samples
        if self.settings.stopping == "settled":
            return self.sampling.fewest, draws
        return draws, draws

    @property
    def other_model(self) -> str:
        """A note that the version was proven with another model, in one line; empty if it was not."""
        if self.artifact is None or not self.settings.asks_model:
            return ""
        model = self.artifact.model
        if not model or same_model(model, self.model.name):
            return ""
        return f"{self.name} was proven with {model}, not with {self.model.name}: its scores do not hold for that"

    def __call__(self, *row: Any, **inputs: Any) -> Verdict:
        """Judge one row, given by the names its gold uses.

        Raises:
            GoldError: an input is missing or ill-typed.
            ModelError: the model cannot be used at all.
        """
        case = self._case(row, inputs)
        with naming_move(self):
            return self.for_cases([case]).asker().ask(case)

    async def acall(self, *row: Any, **inputs: Any) -> Verdict:
        """Judge one row inside a running event loop; raises what calling it raises."""
        case = self._case(row, inputs)
        (verdict,) = await self.for_cases([case]).asker().ask_async([case])
        return verdict

    def _case(self, unnamed: Sequence[object], inputs: Mapping[str, object]) -> Case:
        """Return the case of one row. Raises ``UsageError`` for inputs without their names."""
        if unnamed:
            names = ", ".join(f"{name}=..." for name in self.judge.input_fields)
            hint = f"write ({names}), or (**row)"
            raise UsageError(f"{self.name} takes its inputs by their names", hint=hint)
        return self.judge.case(inputs)

    def batch(self, rows: Any) -> list[Verdict]:
        """Judge many rows, ``settings.concurrency`` at once; the result is in their order.

        Args:
            rows: mappings by the names that gold uses, or a table of pandas, Polars, PyArrow or ``datasets``.

        Raises:
            GoldError: a row is none, or an input is missing or ill-typed, with its number from 1.
            ModelError: the model cannot be used at all. Interrupted: Ctrl-C; the replies so far are lost.
        """
        try:
            cases = self._cases(rows)
            return self.for_cases(cases).verdicts(cases)
        except KeyboardInterrupt:
            hint = "jurist run keeps them in a file, and goes on there"
            raise Interrupted("stopped by Ctrl-C; the replies so far are lost", hint=hint) from None

    async def abatch(self, rows: Any) -> list[Verdict]:
        """Judge many rows, as :meth:`batch` does, inside a running event loop."""
        cases = self._cases(rows)
        return await self.for_cases(cases).asker().ask_async(cases)

    def as_module(self) -> "JudgeModule":
        """Return this judge as a ``dspy.Module``, a step of a program of one's own: it takes the judge's inputs, and
        its prediction holds the answer's field (``None`` without a verdict), ``reasoning`` and ``judgement``, the
        :class:`~jurist.Verdict`."""
        return JudgeModule(self)

    def _cases(self, rows: Any) -> list[Case]:
        """Return the case of each row; an error names the number of its row."""
        cases: list[Case] = []
        for line, row in enumerate(records(rows), 1):
            cases.append(self.judge.case(row, path="rows", line=line))
        return cases

    def verdicts(
        self, cases: Sequence[Case], *, repeat: int = 0, on_verdict: OnVerdict | None = None
    ) -> list[Verdict]:
        """Judge many cases; the result is in their order. Repeats draw other samples."""
        with naming_move(self):
            return self.asker(repeat).ask_all(cases, on_verdict)

    def check(self) -> None:
        """Refuse what cannot be asked, before anything is paid."""
        self.asker()

    def paid_by(self, context: CallContext) -> Self:
        """Return a copy of the judge whose calls are counted in a context."""
        return replace(self, context=context)

    @property
    def spend(self) -> Spend:
        """The calls, tokens and cost of all its verdicts so far."""
        return self.context.ledger.spend()

    def asker(self, repeat: int = 0) -> Asker:
        """Return the asker of this judge, whose draws differ from those of other repeats."""
        role = self.judge.role
        model = self.model if self.settings.asks_model else Model()
        lm = connect(model, self.contexts.get(role, self.context), role, self.reach)
        frozen_lm = None
        if self.frozen_model:
            frozen_lm = connect(self.frozen_model, self.contexts.get("judge", self.context), reach=self.reach)
        asker = Asker(
            judge=self.judge,
            program=self.make_program(),
            lm=lm,
            frozen_lm=frozen_lm,
            settings=replace(self.settings, sampling=self.sampling),
            first_draw=repeat * self.sampling.samples,
        )
        if asker.embedded and self.model.offline:
            _, remembered = asker.embedded[0]
            raise UsageError(
                f"{self.name} chooses the rows that it shows by vectors of {remembered.embedder}, not by words alone",
                hint="name a --model",
            )
        return asker

    def make_program(self) -> dspy.Module:
        """Return the judge's program with its prompt."""
        if self.artifact:
            return self.artifact.program(self.judge)
        return self.state.apply(self.judge.basic())

    @property
    def frozen_model(self) -> Model | None:
        """The model that answers the program's frozen steps; ``None`` without any."""
        return choose_verifier(self.judge, self.model, self.settings.verifier)

    @property
    def models(self) -> tuple[Model, ...]:
        """All models that are asked: who answers, and who answers the frozen steps; none where words decide alone."""
        if not self.settings.asks_model:
            return ()
        if self.frozen_model is None:
            return (self.model,)
        return (self.model, self.frozen_model)

    def with_model(self, model: Model, *, draws: int = 1) -> "LoadedJudge":
        """Return a copy of the judge for another model, with as many samples as can differ there."""
        # A judge that was named without a version is what its name stands for with that model. A temperature that
        # ``model`` leaves open is the one that the artifact's search chose, else the one that suits asking each sample
        # ``draws`` times.
        judge = self
        if self.named is not None and self.named.follows_model:
            name = None if model.is_own else model.name
            prompt = self.named.prompt(name, self.settings)
            judge = replace(self, **vars(prompt))
        if model.is_own:
            return judge._with_own_model(model, draws)
        return replace(judge.for_model(model, judge.draws * max(1, draws)), has_own_model=False)

    def _with_own_model(self, model: Model, draws: int) -> "LoadedJudge":
        """Return a copy for the model that the version was proven with, reached as a model says that stands for it."""
        if self.artifact is None:
            own_model = replace(model, name=OFFLINE)
            return replace(self.for_model(own_model, self.draws * max(1, draws)), has_own_model=True)
        card = self.artifact.about
        own_model = proven_model(card.model, model)
        is_asked_as_proven = draws <= 1 and self.draws == card.thresholds.samples
        if not (
            is_asked_as_proven or own_model.members
        ):  # other draws need a temperature at which they differ
            own_model = replace(own_model, temperature=model.temperature)
        judge = self
        if self.settings.verifier is None and card.verifier:
            judge = replace(self, settings=replace(self.settings, verifier=card.verifier.model()))
        return replace(judge.for_model(own_model, judge.draws * max(1, draws)), has_own_model=True)

    @property
    def draws(self) -> int:
        """The times that one model is asked about a row; the samples of a panel are those of several."""
        if self.settings.sampling.is_panel:
            return 1
        return self.settings.sampling.samples

    def for_model(self, model: Model, draws: int) -> "LoadedJudge":
        """Return a copy of this very prompt for a model, at the temperature that suits so many draws.

        Where words decide alone, the model is :data:`NO_MODEL`.
        """
        if not self.settings.asks_model:
            return replace(self, model=NO_MODEL)
        model = default_temperature(model, draws, self.judge.temperature)
        if self.artifact and model.reasoning_effort is None and same_model(self.artifact.model, model.name):
            model = replace(model, reasoning_effort=self.artifact.about.model.reasoning_effort)
        return replace(self, model=model)

    def for_texts(self, texts: Iterable[str]) -> Self:
        """Return a copy of a basic prompt in the language of these texts, unless one was chosen; a version stays."""
        if self.artifact is not None:
            return self
        judge = self.judge.for_texts(texts)
        if judge is self.judge or self.state != PromptState.of(self.judge.basic()):
            return self
        return replace(self, judge=judge, state=PromptState.of(judge.basic()), named=None)

    @property
    def has_open_language(self) -> bool:
        """Whether rows choose the language of its prompt: a basic one, written in several, of which none was named."""
        return self.artifact is None and self.judge.language is None and len(self.judge.languages) > 1

    def for_cases(self, cases: Iterable[Case]) -> Self:
        """Return a copy with a prompt in the language of these cases, as :meth:`for_texts` does."""
        if not self.has_open_language:
            return self
        return self.for_texts(case_texts(cases))

    def with_adapter(self, adapter: str | None) -> "LoadedJudge":
        """Return a copy of the judge with another adapter of its prompt; ``None`` changes nothing."""
        if adapter is None:
            return self
        self.judge.adapter(adapter)  # which refuses one that there is not
        if self.artifact and adapter != self.adapter:
            raise adapter_error(self.artifact, self.adapter)
        settings = replace(self.settings, adapter=adapter)
        name = self.named
        if name is not None:
            name = replace(name, adapter=adapter)
        return replace(self, settings=settings, named=name)

    def with_options(self, values: Mapping[str, str]) -> "LoadedJudge":
        """Return a copy of the judge with other values of its options, as :func:`jurist.load` takes them.

        Under other values than those of its proof a fitted threshold is not used.

        Args:
            values: option -> value, such as ``{"strictness": "rational"}``.

        Raises:
            UsageError: the judge has no such option or value, or cannot have another one: a cascade, a version that
                words decide, or a prompt that was changed after it was loaded.
        """
        if not values:
            return self
        if self.named is None:
            options = ", ".join(values)
            hint = "set it on the judge that jurist.load returned, before its prompt is changed"
            raise UsageError(f"{self.name} keeps its {options}", hint=hint)
        name = replace(self.named, options={**self.named.options, **values})
        prompt = name.prompt(self.model.name, self.settings)
        return replace(self, **vars(prompt), named=name).for_model(self.model, self.draws)

    @property
    def names_adapter(self) -> bool:
        """Whether the user named the format of its prompt: a job then goes on whatever is replied first."""
        return self.named is not None and self.named.adapter is not None

    @property
    def finds_adapter(self) -> bool:
        """Whether another prompt format is tried where a model's replies cannot be read: of a basic prompt alone."""
        if self.settings.adapter is not None or self.model.offline:
            return False
        return self.adapter == CHAT and self.judge.role == "judge"

    def on(self, models: Sequence[Model], *, draws: int = 1) -> "list[LoadedJudge]":
        """Return a copy of the judge for each model."""
        # Everything is asked ``draws`` times: repeats need a temperature at which draws differ, as samples do. A 0 that
        # the user gave is left alone, because what an endpoint still varies at 0 is worth measuring.
        return [self.with_model(model, draws=draws) for model in models]

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this judge's answers, as JSON values."""
        fingerprint: dict[str, object] = {**self.stamp(), **request_stamp(self)}
        frozen_model = self.frozen_model
        if frozen_model:
            fingerprint["frozen_api_base"] = frozen_model.api_base
            fingerprint["frozen_temperature"] = frozen_model.temperature
            fingerprint["frozen_max_tokens"] = frozen_model.max_tokens
            fingerprint["frozen"] = self.judge.frozen_hash
        return fingerprint

    def is_same(self, contender: Contender) -> bool:
        """Say whether another one is this version, or this very judge, and asked in the same way."""
        # Prompts do not tell: basic ones of two files may differ in their code alone.
        is_one_judge = self.artifact is not None or self.judge == contender.judge
        if is_one_judge and self.fingerprint() == contender.fingerprint():
            return True
        return self._keeps_prompt_of(contender)

    def _keeps_prompt_of(self, basic: Contender) -> bool:
        """Say whether this is a version that kept the basic prompt, and the other one is that prompt."""
        if self.artifact is None or basic.artifact is not None:
            return False
        return (
            self.artifact.about.decision.keeps_basic
            and self.judge.name == basic.judge.name
            and self.state == basic.state
            and self.adapter == basic.adapter
            and self.sampling.to_card() == basic.sampling.to_card()
            and self.model == basic.model
        )

    def stamp(self) -> dict[str, Any]:
        """Return the fields that identify the judge in its output."""
        stamp: dict[str, Any] = {
            "judge": self.name,
            "artifact": self.artifact.sha256 if self.artifact else None,
            "model": self.model.name,
        }
        if self.settings.verifier:
            stamp["judge_model"] = self.settings.verifier.name
        if self.judge.verifying_versions:
            stamp["verifiers"] = self.judge.verifying_versions
        stamp |= self.judge.option_values
        if not self.artifact and self.adapter != ADAPTER:
            stamp["adapter"] = self.adapter
        stamp["sampling"] = sampling_stamp(self.sampling, self.model)
        return stamp


class JudgeModule(dspy.Module):
    """A judge as a step of a program: its inputs -> its answer (``None`` without one), ``reasoning``, ``judgement``.

    Its predictors are those of the judge's program. An optimizer of DSPy may change their instructions and
    demonstrations: the judge is then asked with these, through jurist's own channel.
    """

    def __init__(self, judge: LoadedJudge) -> None:
        super().__init__()
        self.judge = judge
        self.program = judge.make_program()
        self._state = PromptState.of(self.program)  # as the judge has it

    def forward(self, *row: Any, **inputs: Any) -> dspy.Prediction:
        """Judge one row."""
        return self._traced(inputs, self._prediction(self.as_judge()(*row, **inputs)))

    async def aforward(self, *row: Any, **inputs: Any) -> dspy.Prediction:
        """Judge one row inside a running event loop."""
        return self._traced(inputs, self._prediction(await self.as_judge().acall(*row, **inputs)))

    def as_judge(self) -> LoadedJudge:
        """Return the judge with the prompt that the predictors have by now, to be evaluated and compared."""
        state = PromptState.of(self.program)
        if state == self._state:
            return self.judge
        return replace(
            self.judge,
            state=state,
            artifact=None,
            is_changed=True,
            changed_version=self.judge.artifact or self.judge.changed_version,
            named=None,  # with another model it still has this prompt
            standing=_CHANGED_NOTE,
        )

    def deepcopy(self) -> "JudgeModule":
        """Return a copy with predictors of its own; its calls are counted with those of the judge."""
        copied = copy.copy(self)
        copied.program = self.program.deepcopy()
        return copied

    def _traced(self, inputs: Mapping[str, Any], prediction: dspy.Prediction) -> dspy.Prediction:
        """Return a prediction, after it was written into DSPy's trace under the predictor that gives the answer."""
        trace = dspy.settings.trace
        field = self.judge.judge.answer.field
        for predictor in self.program.predictors():
            outputs = predictor.signature.output_fields
            if trace is not None and field in outputs:
                values = {name: prediction[name] for name in outputs if name in prediction}
                trace.append((predictor, dict(inputs), dspy.Prediction(**values)))
        return prediction

    def _prediction(self, verdict: Verdict) -> dspy.Prediction:
        answer = self.judge.judge.answer
        if answer.criteria:
            fields = answer.row_parts(verdict.values)["answers"]
            assert isinstance(fields, Mapping)
        else:
            value = None
            if verdict.status == "verdict":
                value = verdict.value if len(verdict.values) == 1 else verdict.values
            fields = {answer.field: value}
        return dspy.Prediction(**{"reasoning": verdict.reasoning, "judgement": verdict, **fields})


def read_proven_rows(judge: LoadedJudge) -> list[JudgedRow]:
    """Return the answers of a judge's version on its sealed test, without failed rows."""
    if judge.artifact is None:
        return []
    rows = read_proof_rows(judge.judge.answer, judge.artifact.proof_records(), "compiled")
    return [row for row in rows if not row.failed]


def find_changed_conditions(judge: LoadedJudge, stamp: Mapping[str, Any]) -> dict[str, str]:
    """Return in which ways a judge is, or was, asked otherwise than in its proof, in words by name."""
    assert judge.artifact is not None
    if not judge.settings.asks_model:
        return {}
    card = judge.artifact.about
    proven = {
        "model": card.model.name or None,
        "samples": card.thresholds.samples,
        "threshold": card.thresholds.threshold,
        "weights": card.thresholds.weights,
        "combine": card.thresholds.combine,
        "temperature": card.model.temperature,
        **{option: card.option_values.get(option) for option in JUDGE_OPTIONS},
        "reasoning_effort": card.model.reasoning_effort,
        "body": card.model.body,
    }
    conditions = {**stamp, **stamp["sampling"]}
    differences: dict[str, str] = {}
    for name, value in proven.items():
        if conditions.get(name) != value:
            differences[name] = f"{name} {conditions.get(name)} and not {value}"
    if card.model.name and same_model(card.model.name, conditions["model"]):
        differences.pop("model", None)
    return differences
