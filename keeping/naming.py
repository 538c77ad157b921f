"""What a name stands for: a judge, and of its prompts a version or the basic one.

A judge is a built-in one, stands in a file, or is kept with its versions as data (:mod:`~jurist.programs.definition`):
these need no file, and go on as they were proven whatever becomes of it. What a changed file means is said in a line.
``JUDGE@V`` is that version, whoever is asked. ``JUDGE`` alone is the latest version shown better with the model that is
asked, and without one the basic prompt: what was proven with one model says nothing of another.
"""

import difflib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ..engines.adapters import ADAPTERS
from ..engines.channel import CallContext
from ..engines.models import OFFLINE, Model, connect, same_model
from ..errors import ArtifactError, JudgeError, JuristError, UnknownJudgeError, UsageError
from ..evaluation.votes import Sampling
from ..programs.catalogue import CATALOGUE, GENERATORS, executed_hashes, file_of, find
from ..programs.definition import defined
from ..programs.judge import Judge
from ..programs.judge_files import JudgeFile
from ..programs.state import PromptState
from ..programs.strictness import with_strictness
from .artifact_card import Artifact
from .artifacts import Store

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
        about = artifact.about if artifact else None
        adapter = (about and about.adapter) or self.adapter or ADAPTER
        if artifact is not None and self.adapter not in (None, adapter):
            hint = f"leave out --adapter, or name {judge.name}{_BASIC}"
            raise UsageError(f"{artifact.ref} was proven with {adapter} prompts", hint=hint)
        proven = (about and about.strictness) or judge.answer.strictness
        kept = about.thresholds if about else None
        if wanted := self.strictness or proven:
            judge = with_strictness(judge, wanted)
        threshold = self.threshold
        if kept and self.samples is None and threshold is None and wanted == proven:
            threshold = kept.threshold if judge.answer.scale.uses_threshold else None
        draws = (kept.samples if kept else samples) if self.samples is None else self.samples
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


def find_judge(name: str, store: Store) -> Judge:
    """Return a built-in judge, one from a file, or one whose artifacts say which file it came from."""
    return locate(name, store)[0]


def locate(name: str, store: Store, version: str = "", *, source: bool = False) -> tuple[Judge, str]:
    """Return a judge, and the reference under which :func:`~jurist.programs.catalogue.find` finds it again."""
    try:
        path, attribute = file_of(name)
        return find(name if path is None else f"{store.file(path)}:{attribute}"), name
    except JudgeError as unknown:
        kept = sorted(store.list(name), key=lambda one: (one.latest, one.version), reverse=True)
        if not kept:
            raise _nearest(name, store) or unknown from None
        named = [
            one
            for one in kept
            if one.problem or (one.about and (one.about.definition or (one.about.judge_ref or name) != name))
        ]
        if not named:
            raise JudgeError(
                f"{name}@{version or kept[0].version} was compiled from a judge that stands in no file",
                hint="write that judge into a Python file and name it in place of the judge, as FILE.py:judge; "
                "or, where it is defined, give it to jurist.load(judge)",
            ) from None
    artifact = store.load(f"{name}@{version or named[0].version}")
    return judge_of(artifact, store, source=source), artifact.about.judge_ref or name


def judge_of(artifact: Artifact, store: Store, *, source: bool = False) -> Judge:
    """Return the judge of an artifact, whose seal held: what it keeps, else its file's, executed if trusted."""
    reference = artifact.about.reference
    definition = artifact.about.definition
    path, attribute = file_of(reference)
    if path is None:
        try:
            return fitting(find(reference), artifact, store)
        except UnknownJudgeError:
            if not definition:
                raise
            return defined(definition)
    place = store.file(path)
    if definition and not (source and place.is_file()):
        with suppress(OSError):  # a file that is gone, or cannot be read, is not needed
            if _was_changed(artifact, JudgeFile.read(place).hashes):
                said = f"{place} was changed since {artifact.ref} was compiled from it"
                store.trust.tell(f"{said}{_goes_on(artifact)}")
        return defined(definition)
    if not place.is_file():
        raise JudgeError(
            f"judge {artifact.judge!r} was compiled from {reference}: {path}: no such file",
            hint="go where that file is, or name the file in place of the judge",
        )
    judge = find(
        f"{place}:{attribute}",
        lambda file, hashes: store.trust.check(artifact.ref, file, hashes, artifact.about.hashes),
    )
    return judge if source else fitting(judge, artifact, store, str(place))


def fitting(judge: Judge, artifact: Artifact, store: Store, reference: str = "") -> Judge:
    """Return a judge if it can be asked as the artifact was proven, else the one that the artifact keeps; say it."""
    definition = artifact.about.definition
    if not definition:
        path, _ = file_of(reference)
        if path is not None and _was_changed(artifact, executed_hashes(store.file(path))):
            said = f"the code of {path} was changed since {artifact.ref} was compiled from it"
            store.trust.tell(f"{said}: its proof is of the code as it was")
        artifact.check(judge.as_compiled(artifact.card))
        return judge
    try:
        artifact.program(judge.as_compiled(artifact.card))
    except ArtifactError as error:
        store.trust.tell(f"{error.message}{_goes_on(artifact)}")
        return defined(definition)
    return judge


def _was_changed(artifact: Artifact, now: Mapping[str, str]) -> bool:
    recorded = artifact.about.hashes
    return bool(now and recorded) and recorded.isdisjoint(now.values())


def _goes_on(artifact: Artifact) -> str:
    again = f"jurist compile {artifact.about.reference} makes a version of the judge as it is"
    return f": {artifact.ref} is asked as it was proven; {again}"


def _nearest(name: str, store: Store) -> JudgeError | None:
    """Return what to say if a name is nearly that of a judge of the user's; ``None`` if it is not."""
    own = {one.judge for one in store.list() if not one.shipped}
    close = difflib.get_close_matches(name, [*sorted(own), *CATALOGUE, *GENERATORS], n=1)
    if not own.intersection(close):
        return None
    return JudgeError(
        f"no judge is called {name!r}", hint=f"did you mean {close[0]}? jurist artifacts list has all"
    )


def parted(reference: str) -> tuple[str, str]:
    """Part the judge from its version, empty without one; an ``@`` in the path of a file is neither."""
    name, at, version = reference.rpartition("@")
    if not at or "/" in version or ":" in version:
        return reference, ""
    if not version:
        raise UsageError(f"{reference!r} names no version", hint=f"write {name}, {name}@3 or {name}@TAG")
    return name, version


def unfit(artifact: Artifact, store: Store) -> str:
    """Return why an artifact cannot be used with what is installed, in one line; empty if it can."""
    try:
        judge = judge_of(artifact, store).as_compiled(artifact.card)
        artifact.program(judge)
        about, adapter = artifact.about, artifact.about.adapter or ADAPTER
        if adapter not in ADAPTERS:
            made = about.versions.get("jurist")
            newer = (
                f"use jurist {made}, with which it was made"
                if made
                else "use the version that it was made with"
            )
            raise ArtifactError(
                f"it was proven with the prompt format {adapter!r}, which is not here", hint=newer
            )
        for role in ("model", "verifier"):
            if (known := getattr(about, role)) and known.name:
                connect(Model(name=known.name), CallContext.fresh())
    except JuristError as error:
        return str(error)
    return ""
