"""What a name stands for: a judge, and of its prompts a version or the basic one.

``JUDGE@V`` is that version, whoever is asked. ``JUDGE`` alone is the latest version shown better with the model that is
asked, and without one the basic prompt: what was proven with one model says nothing of another.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from ..engines.models import OFFLINE, same_model
from ..errors import ArtifactError, JudgeError, UnknownJudgeError, UsageError
from ..evaluation.votes import Sampling
from ..programs.catalogue import file_of, find
from ..programs.definition import read_definition
from ..programs.judge import Judge
from ..programs.judge_files import JudgeFile
from ..programs.plugins import executed_hashes
from ..programs.settings import AskSettings
from ..programs.state import PromptState
from ..text.templates import CHAT, PLAIN
from .artifact_card import Artifact
from .artifacts import Store
from .card import Card

BASIC = ":basic"
ADAPTER = CHAT
"""DSPy's prompt format of a version whose card names none."""


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A judge with a prompt."""

    judge: Judge
    state: PromptState
    artifact: Artifact | None
    settings: AskSettings
    standing: str = ""


@dataclass(frozen=True, kw_only=True)
class Name:
    """A judge as it was named, and how it is asked: what is ``None`` is as its version was proven."""

    judge: Judge
    store: Store = field(repr=False)  # where its versions are
    # or a tag, or ``basic``; empty for what its name stands for with the model that is asked
    version: str = ""
    file: str = ""  # the file that was named, if one was
    kept: bool = False  # whether it was found by its name alone, so that each version says what the judge is
    samples: int | None = None
    threshold: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)  # values of options that the judge declares
    adapter: str | None = None

    @classmethod
    def of(cls, reference: str | Judge, version: str, store: Store, **asked: Any) -> "Name":
        """Return the judge and version that a reference names."""
        if isinstance(reference, Judge):
            return cls(judge=reference, store=store, version=version, **asked)
        if reference.endswith(BASIC):
            judge = find_judge(reference.removesuffix(BASIC), store)
            return cls(judge=judge, store=store, version="basic", **asked)
        named, version = _parted(reference)
        judge, source = locate(named, store, version)
        file = named if file_of(named)[0] else ""
        return cls(judge=judge, store=store, version=version, file=file, kept=source != named, **asked)

    def prompt(self, model: str | None, settings: AskSettings) -> Prompt:
        """Return the prompt that the name stands for with a model, without one the latest, and its own settings."""
        version, standing = (self.version, "") if self.version else self._meaning(model)
        if version == "basic":
            return self._prompt(settings, self.judge, None, standing)
        artifact = self.store.load(f"{self.judge.name}@{version}")
        if self.kept and not self.version:
            return self._prompt(settings, judge_of(artifact, self.store), artifact)
        return self._prompt(settings, fitting(self.judge, artifact, self.store, self.file), artifact)

    def _prompt(
        self, settings: AskSettings, judge: Judge, artifact: Artifact | None, standing: str = ""
    ) -> Prompt:
        about = Card(judge=judge.name, version=1)
        if artifact is not None:
            judge, about = artifact.as_compiled(judge), artifact.about
            artifact.check(judge)
        adapter = self.adapter
        if artifact is not None:
            adapter = about.adapter or self.adapter or ADAPTER
            if self.adapter not in (None, adapter):
                raise proven_with(artifact, adapter)
        kept = about.thresholds
        proven_values = judge.option_values | about.option_values
        option_values = {**proven_values, **self.options}
        judge = judge.with_options(option_values)
        samples = kept.samples if self.samples is None else self.samples
        sampling = Sampling(samples=samples, threshold=self.threshold)
        if self.samples is None and self.threshold is None and option_values == proven_values:
            known = kept.sampling if judge.answer.scale.uses_threshold else sampling
            sampling = replace(known, weights=kept.weights)
        return Prompt(
            judge=judge,
            state=artifact.state if artifact else PromptState.of(judge.basic()),
            artifact=artifact,
            settings=replace(settings, sampling=sampling, adapter=adapter),
            standing=standing,
        )

    def _meaning(self, model: str | None) -> tuple[str, str]:
        """Return the version that the name stands for, or ``basic`` and why; a card without a model goes with any."""
        judge = self.judge.name
        promoted = self.store.promoted(judge)
        for artifact in promoted:
            if model is None or artifact.problem or not artifact.model or same_model(artifact.model, model):
                return str(artifact.version), ""
        proving = f"jurist compile {self.file or judge}"
        proving += "" if model in (None, OFFLINE) else f" --model {model}"
        kept = self.store.list(judge)
        if promoted:
            ref = promoted[0].ref
            why = f"{ref} was proven with {promoted[0].model}, not with {model}: the basic prompt is used; "
            why += f"{ref} names it all the same; {proving} proves one"
        elif kept:
            why = f"no version of {judge} has passed a sealed test: its basic prompt is used; "
            why += f"{kept[-1].ref} names a version"
        else:
            why = f"{judge} was not compiled yet: its basic prompt is used; {proving} proves a version"
        return "basic", why


def proven_with(artifact: Artifact, adapter: str) -> UsageError:
    """Return the refusal of another prompt format than the one that a version was proven with."""
    hint = f"leave out --adapter, or name {artifact.judge}{BASIC}"
    return UsageError(f"{artifact.ref} was proven with {adapter} prompts", hint=hint)


def find_judge(name: str, store: Store) -> Judge:
    """Return a built-in judge, one from a file, or one whose artifacts say which file it came from."""
    return locate(name, store)[0]


def locate(name: str, store: Store, version: str = "", *, source: bool = False) -> tuple[Judge, str]:
    """Return a judge, and the reference under which :func:`~jurist.programs.catalogue.find` finds it again."""
    try:
        path, attribute = file_of(name)
        return find(name if path is None else f"{store.file(path)}:{attribute}"), name
    except JudgeError as error:
        kept = sorted(store.list(name), key=lambda one: (one.latest, one.version), reverse=True)
        if not kept:
            own = get_close_matches(name, {one.judge for one in store.list()}, n=1)
            if own and isinstance(error, UnknownJudgeError):
                hint = f"did you mean {own[0]}?"
                raise UnknownJudgeError(f"no judge is called {name!r}", hint=hint) from error
            raise
        named = [
            each for each in kept if each.problem or each.about.definition or each.about.reference != name
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
    about = artifact.about
    path, attribute = file_of(about.reference)
    if path is None:
        try:
            return fitting(find(about.reference), artifact, store)
        except UnknownJudgeError:
            if not about.definition:
                raise
            return read_definition(about.definition)
    place = store.file(path)
    if about.definition and not (source and place.is_file()):
        with suppress(OSError):  # a file that is gone, or cannot be read, is not needed
            if _was_changed(artifact, JudgeFile.read(place).hashes):
                changed = f"{place} was changed since {artifact.ref} was compiled from it"
                store.trust.tell(f"{changed}{_goes_on(artifact)}")
        return read_definition(about.definition)
    if not place.is_file():
        raise JudgeError(
            f"judge {artifact.judge!r} was compiled from {about.reference}: {path}: no such file",
            hint="go where that file is, or name the file in place of the judge",
        )
    judge = find(
        f"{place}:{attribute}",
        lambda file, hashes: store.trust.check(artifact.ref, file, hashes, about.hashes),
    )
    return judge if source else fitting(judge, artifact, store, str(place))


def fitting(judge: Judge, artifact: Artifact, store: Store, reference: str = "") -> Judge:
    """Return a judge if it can be asked as the artifact was proven, else the one that the artifact keeps; say it."""
    compiled, definition = artifact.as_compiled(judge), artifact.about.definition
    if not definition:
        path, _ = file_of(reference)
        if path is not None and _was_changed(artifact, executed_hashes(store.file(path))):
            changed = f"the code of {path} was changed since {artifact.ref} was compiled from it"
            store.trust.tell(f"{changed}: its proof is of the code as it was")
        artifact.check(compiled)
        return judge
    try:
        artifact.program(compiled)
    except ArtifactError as error:
        store.trust.tell(f"{error.message}{_goes_on(artifact)}")
        return read_definition(definition)
    return _with_kept_prompt(judge, artifact)


def _with_kept_prompt(judge: Judge, artifact: Artifact) -> Judge:
    """Return the judge of a file with the prompt that a version sends as it stands, whatever the file says by now."""
    if artifact.about.adapter != PLAIN:
        return judge
    kept = read_definition(artifact.about.definition or {})
    if kept.template == judge.template:
        return judge
    return replace(kept, columns=judge.columns, values=judge.values)


def _was_changed(artifact: Artifact, now: Mapping[str, str]) -> bool:
    recorded = artifact.about.hashes
    return bool(now and recorded) and recorded.isdisjoint(now.values())


def _goes_on(artifact: Artifact) -> str:
    again = f"jurist compile {artifact.about.reference} makes a version of the judge as it is"
    return f": {artifact.ref} is asked as it was proven; {again}"


def _parted(reference: str) -> tuple[str, str]:
    """Part the judge from its version, empty without one; an ``@`` in the path of a file is neither."""
    name, at, version = reference.rpartition("@")
    if not at or "/" in version or ":" in version:
        return reference, ""
    if not version:
        raise UsageError(f"{reference!r} names no version", hint=f"write {name}, {name}@3 or {name}@TAG")
    return name, version
