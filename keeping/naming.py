"""What a name stands for: a version, or the basic prompt.

``JUDGE@V`` is that version, whoever is asked. ``JUDGE`` alone is the latest version shown better with the model that is
asked, and without one the basic prompt: what was proven with one model says nothing of another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..engines.models import OFFLINE, same_model
from ..errors import UsageError
from ..programs.catalogue import file_of
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..programs.strictness import with_strictness
from ..programs.votes import Sampling
from .artifact_card import Artifact
from .artifacts import Store
from .locating import find_judge, fitting, judge_of, locate, parted

_BASIC = ":basic"
ADAPTER = "chat"
"""DSPy's prompt format of a basic prompt for which none is named."""


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A judge with a prompt; its attributes are those of a :class:`~.loading.LoadedJudge`."""

    judge: Judge
    state: PromptState
    artifact: Artifact | None
    adapter: str
    wanted: Sampling
    standing: str = ""


@dataclass(frozen=True, kw_only=True)
class Given:
    """How a judge is asked: what is ``None`` is as its version was proven, or its basic prompt is asked."""

    samples: int | None = None
    threshold: float | None = None
    strictness: str | None = None
    adapter: str | None = None

    def prompt(self, judge: Judge, artifact: Artifact | None = None, *, samples: int = 1) -> Prompt:
        """Return a judge with the prompt of a version, or with its basic one, which is asked ``samples`` times."""
        if artifact is not None:
            judge = judge.as_compiled(artifact.card)
            artifact.check(judge)
        card: Mapping[str, Any] = artifact.card if artifact else {}
        adapter = str(card.get("adapter", self.adapter or ADAPTER))
        if artifact is not None and self.adapter not in (None, adapter):
            hint = f"leave out --adapter, or name {judge.name}{_BASIC}"
            raise UsageError(f"{artifact.ref} was proven with {adapter} prompts", hint=hint)
        kept, proven = dict(card.get("thresholds") or {}), card.get("strictness") or judge.answer.strictness
        if wanted := self.strictness or proven:
            judge = with_strictness(judge, wanted)
        if wanted != proven or not judge.answer.uses_threshold:
            kept.pop("threshold", None)
        threshold = self.threshold
        if self.samples is None and threshold is None:
            threshold = kept.get("threshold")
        draws = int(kept.get("samples", samples)) if self.samples is None else self.samples
        return Prompt(
            judge=judge,
            state=artifact.state if artifact else PromptState.of(judge.basic()),
            artifact=artifact,
            adapter=adapter,
            wanted=Sampling(samples=draws, threshold=threshold),
        )


@dataclass(frozen=True, kw_only=True)
class Name:
    """A judge that was named without a version: with another model it may stand for another prompt."""

    judge: Judge  # the judge
    store: Store = field(repr=False)  # where its versions are
    given: Given  # how it is asked
    keeps: bool = False  # whether it was found by its name alone, so that each version says what the judge is
    reference: str = ""  # the file that was named, if one was

    def with_adapter(self, adapter: str) -> "Name":
        """Return the same, asked with another prompt format."""
        return replace(self, given=replace(self.given, adapter=adapter))

    def prompt(self, model: str | None) -> Prompt:
        """Return what it stands for with a model; with none, whichever it is, the latest."""
        name, store = self.judge.name, self.store
        version, standing = meaning(name, model, store, self.reference)
        if not version:
            return replace(self.given.prompt(self.judge), standing=standing)
        artifact = store.load(f"{name}@{version}")
        if self.keeps:
            return self.given.prompt(judge_of(artifact, store), artifact)
        return self.given.prompt(fitting(self.judge, artifact, store, self.reference), artifact)


def named_prompt(
    reference: str | Judge, version: str, model: str | None, store: Store, given: Given
) -> tuple[Prompt, Name | None]:
    """Return the prompt that a reference means with a model, and the name, if it was one without a version."""
    found = ""
    if isinstance(reference, Judge):
        judge, named = reference, ""
    elif reference.endswith(_BASIC):
        judge, version, named = find_judge(reference.removesuffix(_BASIC), store), "basic", ""
    else:
        named, version = parted(reference)
        judge, found = locate(named, store, version)
    file = named if file_of(named)[0] else ""
    if not version:
        keeps = found not in ("", named)
        name = Name(judge=judge, store=store, given=given, keeps=keeps, reference=file)
        return name.prompt(model), name
    if version == "basic":
        return given.prompt(judge), None
    artifact = store.load(f"{judge.name}@{version}")
    return given.prompt(fitting(judge, artifact, store, file), artifact), None


def meaning(judge: str, model: str | None, store: Store, reference: str = "") -> tuple[int, str]:
    """Return the version that a judge's name stands for, or 0 and in one line why it is the basic prompt.

    A version whose card names no model goes with any.
    """
    promoted = store.promoted(judge)
    for one in promoted:
        if model is None or one.problem or not one.model or same_model(one.model, model):
            return one.version, ""
    proving = f"jurist compile {reference or judge}" + (
        "" if model in (None, OFFLINE) else f" --model {model}"
    )
    if promoted:
        ref = f"{judge}@{promoted[0].version}"
        return 0, (
            f"{ref} was proven with {promoted[0].model}, not with {model}: the basic prompt is used; "
            f"{ref} names it all the same; {proving} proves one"
        )
    if not (kept := store.list(judge)):
        return 0, f"{judge} was not compiled yet: its basic prompt is used; {proving} proves a version"
    newest = [one for one in kept if one.shipped == kept[0].shipped][-1]  # one's own come first
    return 0, (
        f"no version of {judge} was shown to be better than its basic prompt, which is used; "
        f"{judge}@{newest.version} names a version"
    )
