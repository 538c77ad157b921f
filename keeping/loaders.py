"""From a reference to what can be asked: a judge, a version, or a cascade."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import dspy

from ..arguments.groups import Combining
from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Spend
from ..engines.models import OWN, Model
from ..errors import JudgeError, UsageError, as_data
from ..evaluation.scale import Scale
from ..evaluation.trust import AgreementRegression, SureAnswer
from ..programs.asking import Asker
from ..programs.catalogue import file_of
from ..programs.deciding import check_sampling
from ..programs.judge import Judge
from ..programs.remembering import Remembered
from ..programs.settings import FOR_NEW_ROWS
from ..programs.state import PromptState
from ..programs.verdicts import PEOPLE, UNSURE, Verdict
from .artifact_card import Artifact, read_json_prompt
from .artifacts import Store
from .loading import LoadedJudge, choose_verifier, reached_as
from .logs import is_log, new_rows_error
from .naming import BASIC, Name, Prompt, defined_judge, execute_judge, find_judge

if TYPE_CHECKING:
    from .card_parts import MemberCard


def sure_answer(scale: Scale, verdict: Verdict) -> SureAnswer:
    """Return the value of a verdict on one unit as text, and how sure it is: by its tokens, else by its votes."""
    (value,) = verdict.values
    if value is None:
        return None
    shares = verdict.probabilities[0] if verdict.measured else {}
    agreement = verdict.agreement[0]
    if agreement is None:
        agreement = 1.0
    return scale.text(value), shares.get(value, agreement)


@dataclass(frozen=True, kw_only=True)
class Member:
    """A judge of a cascade, ready to be asked."""

    name: str
    asker: Asker
    trust: AgreementRegression


@dataclass(frozen=True, kw_only=True)
class CascadeAsker(Asker):
    """Asks the first judge, and the next one where it is not sure enough; what none is sure of is left to people."""

    members: Sequence[Member]
    level: float  # how probable it must be that a judge agrees with people

    def tried_by(self, lm: dspy.LM, frozen_lm: dspy.LM) -> Asker:
        """Return the asker of its last judge, whose prompt is usually the longest."""
        return self.members[-1].asker.tried_by(lm, frozen_lm)

    @cached_property
    def embedded(self) -> list[tuple[Asker, Remembered]]:
        """The embedded rows that its judges remember."""
        pairs: list[tuple[Asker, Remembered]] = []
        for member in self.members:
            pairs += member.asker.embedded
        return pairs

    async def judged(self, case: Case, usage: Spend | None = None) -> Verdict:
        """Judge one case by the first judge that is sure enough."""
        usage = usage or Spend()
        doubts: list[str] = []
        for member in self.members:
            async with member.asker.ready():
                verdict = await member.asker.judged(case, usage)
            probable = member.trust.of(sure_answer(member.asker.judge.answer.scale, verdict))
            is_sure = verdict.status == "verdict" and probable >= self.level
            if verdict.status == "failed" or is_sure:
                return replace(verdict, by=member.name, usage=usage)
            doubts.append(f"{member.name} {probable:.2f}")
        return replace(
            verdict,
            status="abstained",
            values=(None,),
            agreement=(None,),
            error_kind=UNSURE,
            error=f"no judge is sure enough ({', '.join(doubts)}; {self.level:g} is needed)",
            by=PEOPLE,
            usage=usage,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class CascadeJudge(LoadedJudge):
    """Judges that are asked in their order.

    Attributes:
        members: the judges; ``model`` is that of the last one.
    """

    members: tuple[LoadedJudge, ...]
    other_model = ""  # its judges are asked with the models that they were chosen with

    @property
    def names(self) -> str:
        """The models of its judges."""
        names = [member.model.name for member in self.members]
        return ", ".join(dict.fromkeys(names))

    @property
    def prompts(self) -> tuple[tuple[Judge, PromptState], ...]:
        """Each of its judges with its prompt."""
        return tuple((member.judge, member.state) for member in self.members)

    @property
    def questions(self) -> tuple[int, int]:
        """The times that its judges are asked about a row: at least the first, at most all."""
        samples = [member.sampling.samples for member in self.members]
        return samples[0], sum(samples)

    @property
    def models(self) -> tuple[Model, ...]:
        """All models that are asked."""
        models: list[Model] = []
        for member in self.members:
            models += member.models
        return tuple(dict.fromkeys(models))

    def with_model(self, model: Model, *, draws: int = 1) -> "CascadeJudge":
        """Return it with how models are reached taken from one: who answers is part of the cascade."""
        if not model.is_own and model.name not in {member.model.name for member in self.members}:
            hint = "leave out the model, or choose a cascade with it: jurist cascade"
            raise UsageError(f"{self.name} is a cascade, whose judges are asked with {self.names}", hint=hint)
        members: list[LoadedJudge] = []
        for member in self.members:
            members.append(replace(member, model=reached_as(member.model, model)))
        return replace(self, members=tuple(members), model=members[-1].model)

    def asker(self, repeat: int = 0) -> Asker:
        """Return the asker of its judges, whose draws differ from those of other repeats."""
        assert self.artifact is not None
        cascade = self.artifact.about.cascade
        assert cascade is not None
        members: list[Member] = []
        for judge, card in zip(self.members, cascade.members, strict=True):
            settings = replace(
                judge.settings, concurrency=self.settings.concurrency, redraws=self.settings.redraws
            )
            reached = replace(
                judge, context=self.context, contexts=self.contexts, reach=self.reach, settings=settings
            )
            asker = ask_as_member(reached).asker(repeat)
            members.append(Member(name=card.judge, asker=asker, trust=card.trust.regression))
        last = members[-1].asker
        return CascadeAsker(
            judge=last.judge,
            program=last.program,
            lm=last.lm,
            frozen_lm=last.frozen_lm,
            settings=last.settings,
            first_draw=last.first_draw,
            members=members,
            level=cascade.level,
        )

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this cascade's answers, as JSON values."""
        return {**super().fingerprint(), "members": [member.fingerprint() for member in self.members]}

    def stamp(self) -> dict[str, Any]:
        """Return the fields that identify the cascade in its output."""
        return {**super().stamp(), "model": self.names}


def ask_as_member(judge: LoadedJudge) -> LoadedJudge:
    """Return a judge that is asked as a member of a cascade is: all samples, and probabilities where tokens tell.

    Raises:
        ArtifactError: words decide its answers, which a cascade does not keep.
    """
    if judge.artifact is not None:
        judge.artifact.check_has_no_words("compile its judge with --no-words, and name that version")
    return replace(judge, settings=replace(judge.settings, stopping="all", probabilities="tokens"))


def load_judge(
    reference: str | Judge,
    *,
    store: Store,
    version: str = "",
    model: Model | None = None,
    samples: int | None = None,
    threshold: float | None = None,
    combine: Combining | None = None,
    concurrency: int = 8,
    verifier: Model | None = None,
    verifiers: Sequence[str] | None = None,
    **options: str | None,
) -> LoadedJudge:
    """Load ``JUDGE``, ``JUDGE@VERSION`` or ``JUDGE:basic`` for a model; default: that of the version (:data:`OWN`).

    ``JUDGE`` is the latest version shown better with that model (without one: with any), or else the basic prompt.

    Samples, threshold and prompt format are those the artifact was proven with, unless given here. A number of samples
    without a threshold goes with a majority, because a fitted threshold belongs to its number of samples. Several
    scores become one by their mean unless the version was proven with the median of several. Further
    keywords are options that the judge declares, such as ``strictness``: as it was proven, unless given here; under
    other values a fitted threshold is not used. ``verifiers`` are versions that verify what a generator writes.
    """
    if is_log(reference):
        raise new_rows_error(reference)
    values = {option: value for option, value in options.items() if value is not None}
    name = Name.of(
        reference,
        version,
        store,
        samples=samples,
        threshold=threshold,
        combine=combine,
        verifiers=verifiers or (),
        options=values,
    )
    settings = replace(FOR_NEW_ROWS, concurrency=concurrency, verifier=verifier)
    if model is None:
        model = Model(name=OWN)
    prompt = name.prompt(None if model.is_own else model.name, settings)
    if prompt.artifact and prompt.artifact.about.cascade:
        chosen = {
            "samples": samples,
            "threshold": threshold,
            "combine": combine,
            **values,
            "verifier": verifier,
            "verifiers": verifiers or None,
        }
        return _load_cascade(prompt, prompt.artifact, store, chosen).with_model(model)
    # that there are no frozen steps is said before anything is asked
    choose_verifier(prompt.judge, Model(), verifier)
    check_sampling(prompt.judge, prompt.settings.sampling)
    loaded = LoadedJudge(
        **vars(prompt),
        model=model,
        context=CallContext.fresh(),
    )
    return replace(loaded.with_model(model), named=name)


def _load_cascade(
    prompt: Prompt, artifact: Artifact, store: Store, settings: Mapping[str, object]
) -> CascadeJudge:
    """Return a cascade with its judges, each as it was when the level was chosen; none takes other settings."""
    for name, value in settings.items():
        if value is not None:
            message = f"{artifact.ref} is a cascade, whose judges keep their own {name}"
            raise UsageError(message, hint="leave it out")
    assert artifact.about.cascade is not None
    members = tuple(_load_member(card, artifact, store) for card in artifact.about.cascade.members)
    model = members[-1].model
    return CascadeJudge(**vars(prompt), model=model, context=CallContext.fresh(), members=members)


def _load_member(card: "MemberCard", cascade: Artifact, store: Store) -> LoadedJudge:
    """Return a judge of a cascade, from what the cascade keeps of it."""
    judge = _judge_of_member(card, cascade, store)
    settings = replace(FOR_NEW_ROWS, adapter=card.adapter, sampling=card.thresholds.sampling, concurrency=1)
    if card.verifier:
        settings = replace(settings, verifier=card.verifier.model())
    return LoadedJudge(
        judge=judge.with_options(card.option_values),
        state=read_json_prompt(card.prompt, f"the prompt of {card.judge} in the cascade"),
        artifact=None,
        settings=settings,
        model=card.model.model(),
        context=CallContext.fresh(),
        own_name=card.judge,
    )


def _judge_of_member(card: "MemberCard", cascade: Artifact, store: Store) -> Judge:
    """Return the judge of a member: what the cascade keeps, else its file's, executed if trusted."""
    if card.definition:
        return defined_judge(card.definition)
    path, attribute = file_of(card.reference)
    if path is None:
        return find_judge(card.reference, store)
    place = store.find_code(path)
    if not place.is_file():
        raise JudgeError(
            f"{card.judge} in {cascade.ref} needs the code of {card.reference}: {as_data(path)}: no such file",
            hint="go where that file is, or put it beside the store",
        )
    recorded = card.hashes
    if not recorded and not card.judge.endswith(BASIC):  # an earlier jurist kept no hashes of a member's file
        recorded = store.load(card.judge).about.hashes
    return execute_judge(f"{place}:{attribute}", cascade.ref, recorded, store)
