"""What a name stands for: a judge, and of its prompts a version or the basic one.

``JUDGE@V`` is that version, whoever is asked. ``JUDGE`` alone is the latest version shown better with the model that is
asked, and without one the basic prompt: what was proven with one model says nothing of another. Where nobody names a
model, it is the latest version, with its own.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from ..arguments.groups import Combining
from ..engines.model_names import same_model
from ..engines.models import OFFLINE
from ..errors import ArtifactError, JudgeError, UnknownJudgeError, UsageError, as_data
from ..evaluation.votes import Sampling
from ..programs.catalogue import file_of, find, is_packaged
from ..programs.deciding import with_means
from ..programs.judge import Judge
from ..programs.own_answer import OwnAnswer
from ..programs.plugins import executed_hashes
from ..programs.settings import AskSettings
from ..programs.state import PromptState
from ..text.templates import CHAT, PLAIN
from .artifact_card import Artifact
from .artifacts import Store
from .shelves import LATEST
from .verifying import with_recorded_verifiers, with_verifiers

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
    reference: str = field(default="", compare=False)  # by which the judge is found again; empty of an object


@dataclass(frozen=True, kw_only=True)
class Name:
    """A judge as it was named, and how it is asked: what is ``None`` is as its version was proven."""

    judge: Judge
    store: Store = field(repr=False)  # where its versions are
    # or a tag, or ``basic``; empty for what its name stands for with the model that is asked
    version: str = ""
    file: str = ""  # the file that was named, if one was
    reference: str = ""  # by which the judge is found again: a file or a name; empty for a judge itself
    # whether it was found by its name alone, so that each version says what the judge is
    is_bare: bool = False
    samples: int | None = None
    threshold: float | None = None
    combine: Combining | None = None
    verifiers: tuple[str, ...] = ()  # the versions that verify what a generator writes
    options: Mapping[str, str] = field(default_factory=dict)  # values of options that the judge declares
    adapter: str | None = None

    @classmethod
    def of(
        cls,
        reference: str | Judge,
        version: str,
        store: Store,
        *,
        samples: int | None = None,
        threshold: float | None = None,
        combine: Combining | None = None,
        verifiers: Sequence[str] = (),
        options: Mapping[str, str],
    ) -> "Name":
        """Return the judge and version that a reference names, with what was said of how it is asked."""
        file = ""
        source = ""
        is_bare = False
        if isinstance(reference, Judge):
            judge = reference
        elif reference.endswith(BASIC):
            judge, source = locate_judge(reference.removesuffix(BASIC), store)
            version = "basic"
        else:
            judge_reference, version = _split_version(reference)
            judge, source = locate_judge(judge_reference, store, version)
            is_bare = source != judge_reference
            path, _ = file_of(judge_reference)
            if path is not None:
                file = judge_reference
        return cls(
            judge=judge,
            store=store,
            version=version,
            file=file,
            reference=source,
            is_bare=is_bare,
            samples=samples,
            threshold=threshold,
            combine=combine,
            verifiers=tuple(verifiers),
            options=options,
        )

    @property
    def follows_model(self) -> bool:
        """Whether the version that it stands for depends on the model that is asked."""
        return self.version in ("", LATEST)

    def prompt(self, model: str | None, settings: AskSettings) -> Prompt:
        """Return the prompt that the name stands for with a model, without one the latest, and its own settings."""
        version = self.version
        if self.follows_model:
            current = self.store.current(self.judge.name, model)
            if current is not None:
                version = str(current.version)
        version = version or "basic"
        if version == "basic":
            standing = ""
            if not self.version:
                standing = self._reason_for_basic(model)
            return self._basic_prompt(settings, standing)
        artifact = self.store.load(f"{self.judge.name}@{version}")
        if self.is_bare and not self.version:
            return self._version_prompt(settings, judge_of_artifact(artifact, self.store), artifact)
        return self._version_prompt(
            settings, choose_fitting_judge(self.judge, artifact, self.store, self.file), artifact
        )

    def _basic_prompt(self, settings: AskSettings, standing: str) -> Prompt:
        """Return the basic prompt, with the reason why the name stands for it."""
        option_values = {**self.judge.option_values, **self.options}
        judge = with_verifiers(self.judge, self.verifiers, self.store).with_options(option_values)
        is_as_proven = option_values == self.judge.option_values
        sampling = self._sampling(judge, Sampling(samples=1), is_as_proven=is_as_proven)
        return Prompt(
            judge=judge,
            state=PromptState.of(judge.basic()),
            artifact=None,
            settings=replace(settings, sampling=sampling, adapter=self.adapter),
            standing=standing,
            reference=self.reference,
        )

    def _version_prompt(self, settings: AskSettings, judge: Judge, artifact: Artifact) -> Prompt:
        """Return the prompt of a version, asked as it was proven where the name says nothing else."""
        card = artifact.about
        judge = with_verifiers(artifact.as_compiled(judge), self.verifiers, self.store)
        artifact.check(judge)
        adapter = card.adapter or self.adapter or ADAPTER
        if self.adapter not in (None, adapter):
            raise adapter_error(artifact, adapter)
        proven_values = judge.option_values | card.option_values
        language = self.options.get("language")
        if language is not None and judge.languages and language != proven_values.get("language", "en"):
            raise UsageError(
                f"{artifact.ref} was compiled with its prompt in the language {proven_values.get('language', 'en')}",
                hint=f"leave out --language, or name {judge.name}{BASIC}",
            )
        option_values = {**proven_values, **self.options}
        judge = judge.with_options(option_values)
        is_as_proven = option_values == proven_values
        sampling = self._sampling(judge, card.thresholds.sampling, is_as_proven=is_as_proven)
        settings = replace(settings, sampling=sampling, adapter=adapter)
        word_rule = artifact.word_rule
        if word_rule is not None:
            if not is_as_proven or (self.samples, self.threshold, self.combine) != (None, None, None):
                raise UsageError(
                    f"{artifact.ref} is decided by words too, which were fitted to its own samples and options",
                    hint="leave out samples, threshold and options, or compile with --no-words",
                )
            settings = replace(settings, words=word_rule, asks_model=not word_rule.is_alone)
        settings = replace(settings, own_answer=_check_own_answer(artifact, judge))
        return Prompt(
            judge=judge,
            state=artifact.state,
            artifact=artifact,
            settings=settings,
            standing=artifact.about.refit_words,
            reference=self.file or artifact.about.reference,
        )

    def _sampling(self, judge: Judge, proven: Sampling, *, is_as_proven: bool) -> Sampling:
        """Return samples and threshold: those of the proof, as far as the name and the options leave them."""
        samples = proven.samples if self.samples is None else self.samples
        sampling = Sampling(
            samples=samples,
            threshold=self.threshold,
            combine=self.combine,
            is_panel=proven.is_panel and self.samples is None,
        )
        if self.samples is None and self.threshold is None and is_as_proven:
            if judge.answer.scale.uses_threshold:
                sampling = proven
            sampling = replace(sampling, weights=proven.weights, combine=self.combine)
        if self.combine is None and proven.samples > 1:
            return replace(sampling, combine=proven.combine)
        return with_means(judge, sampling)

    def _reason_for_basic(self, model: str | None) -> str:
        """Return in one line why the name stands for the basic prompt, and what proves a version."""
        judge = self.judge.name
        command = f"jurist compile {self.file or judge}"
        if model not in (None, OFFLINE):
            command += f" --model {model}"
        versions = self.store.list(judge)
        for artifact in reversed(versions):
            if model is not None and artifact.was_shown_better and same_model(artifact.model, model):
                return (
                    f"{artifact.ref} was shown to be better, and was not made the latest: the basic prompt is used; "
                    f"jurist artifacts tag {artifact.ref} latest makes it so"
                )
        promoted = self.store.promoted(judge)
        if promoted:
            ref = promoted[0].ref
            return (
                f"{ref} was proven with {promoted[0].model}, not with {model}: the basic prompt is used; "
                f"{ref} names it all the same; {command} proves one"
            )
        if versions:
            return (
                f"no version of {judge} has passed a sealed test: its basic prompt is used; "
                f"{versions[-1].ref} names a version"
            )
        return f"{judge} was not compiled yet: its basic prompt is used; {command} proves a version"


def adapter_error(artifact: Artifact, adapter: str) -> UsageError:
    """Return the refusal of another prompt format than the one that a version was proven with."""
    hint = f"leave out --adapter, or name {artifact.judge}{BASIC}"
    return UsageError(f"{artifact.ref} was proven with {adapter} prompts", hint=hint)


def find_judge(name: str, store: Store) -> Judge:
    """Return a built-in judge, one from a file, or one whose artifacts say which file it came from."""
    return locate_judge(name, store)[0]


def locate_judge(name: str, store: Store, version: str = "", *, source: bool = False) -> tuple[Judge, str]:
    """Return a judge, and the reference under which :func:`~jurist.programs.catalogue.find` finds it again."""
    if version and is_packaged(name):
        artifact = store.load(f"{name}@{version}")
        # The judge is in a file of the user's, who gave it the name of a packaged one.
        if file_of(artifact.about.reference)[0] is not None:
            return judge_of_artifact(artifact, store, source=source), artifact.about.reference
    try:
        path, attribute = file_of(name)
        return find(name if path is None else f"{store.find_file(path)}:{attribute}"), name
    except JudgeError as error:
        version = _version_that_keeps_judge(name, version, store, error)
    artifact = store.load(f"{name}@{version}")
    return judge_of_artifact(artifact, store, source=source), artifact.about.judge_ref or name


def _version_that_keeps_judge(name: str, version: str, store: Store, error: JudgeError) -> str:
    """Return the version by which a judge without a file is found; raise the error where there is none."""
    artifacts = sorted(
        store.list(name), key=lambda artifact: (artifact.latest, artifact.version), reverse=True
    )
    if not artifacts:
        close_names = get_close_matches(name, {artifact.judge for artifact in store.list()}, n=1)
        if close_names and isinstance(error, UnknownJudgeError):
            hint = f"did you mean {close_names[0]}?"
            raise UnknownJudgeError(f"no judge is called {name!r}", hint=hint) from error
        if version and isinstance(error, UnknownJudgeError):
            hint = "name the folder that holds it with --store; a clone has the versions that were committed"
            raise UnknownJudgeError(
                f"{as_data(store.root)} holds no version of {name!r}", hint=hint
            ) from error
        raise error
    for artifact in artifacts:
        if artifact.problem or artifact.about.definition or artifact.about.reference != name:
            return version or str(artifact.version)
    raise JudgeError(
        f"{name}@{version or artifacts[0].version} was compiled from a judge that stands in no file",
        hint="write that judge into a Python file and name it in place of the judge, as FILE.py:judge; "
        "or, where it is defined, give it to jurist.load(judge)",
    ) from None


def defined_judge(definition: Mapping[str, object]) -> Judge:
    """Return the judge of a definition, as cards keep it."""
    from ..programs.definition import read_definition  # it imports the answers of all kinds

    return read_definition(definition)


def judge_of_artifact(artifact: Artifact, store: Store, *, source: bool = False) -> Judge:
    """Return the judge of an artifact, whose seal held: what it keeps, else its file's, executed if trusted."""
    card = artifact.about
    path, attribute = file_of(card.reference)
    if path is None:
        try:
            return choose_fitting_judge(find(card.reference), artifact, store)
        except JudgeError:  # a gold set may have its name
            if not card.definition:
                raise
            return defined_judge(card.definition)
    from ..programs.judge_files import JudgeFile

    place = store.find_code(path)
    if card.definition and not (source and place.is_file()):
        with suppress(OSError):  # a file that is gone, or cannot be read, is not needed
            if _was_changed(artifact, JudgeFile.read(place).hashes):
                changed = f"{place} was changed since {artifact.ref} was compiled from it"
                store.trust.tell(f"{changed}{_goes_on(artifact)}")
        return defined_judge(card.definition)
    if not place.is_file():
        raise JudgeError(
            f"judge {artifact.judge!r} was compiled from {card.reference}: {as_data(path)}: no such file",
            hint="go where that file is, or name the file in place of the judge",
        )
    judge = execute_judge(f"{place}:{attribute}", artifact.ref, card.hashes, store)
    if source:
        return judge
    return choose_fitting_judge(judge, artifact, store, str(place))


def compiled_judge_of(artifact: Artifact, store: Store) -> Judge:
    """Return the judge of an artifact as it was compiled: with that metric, those common inputs and that language."""
    return artifact.as_compiled(judge_of_artifact(artifact, store))


def execute_judge(file: str, ref: str, recorded: frozenset[str], store: Store) -> Judge:
    """Return the judge in ``FILE.py:ATTRIBUTE``, which is executed for ``ref`` if its code is recorded and trusted."""
    return find(file, lambda path, hashes: store.trust.check(ref, path, hashes, recorded))


def choose_fitting_judge(judge: Judge, artifact: Artifact, store: Store, reference: str = "") -> Judge:
    """Return a judge if it can be asked as the artifact was proven, else the one that the artifact keeps; say it."""
    judge = with_recorded_verifiers(judge, artifact, store)
    compiled, definition = artifact.as_compiled(judge), artifact.about.definition
    if not definition:
        path, _ = file_of(reference)
        if path is not None and _was_changed(artifact, executed_hashes(store.find_file(path))):
            changed = f"the code of {path} was changed since {artifact.ref} was compiled from it"
            store.trust.tell(f"{changed}: its proof is of the code as it was")
        artifact.check(compiled)
        return judge
    try:
        artifact.program(compiled)
    except ArtifactError as error:
        store.trust.tell(f"{error.message}{_goes_on(artifact)}")
        return defined_judge(definition)
    return _with_kept_prompt(judge, artifact)


def _with_kept_prompt(judge: Judge, artifact: Artifact) -> Judge:
    """Return the judge of a file with the prompt that a version sends as it stands, whatever the file says by now."""
    if artifact.about.adapter != PLAIN:
        return judge
    compiled_judge = defined_judge(artifact.about.definition or {})
    if compiled_judge.template == judge.template:
        return judge
    return replace(compiled_judge, columns=judge.columns, values=judge.values, merge=judge.merge)


def _was_changed(artifact: Artifact, hashes: Mapping[str, str]) -> bool:
    """Say whether a file, by its hashes, is none of those that the artifact was compiled from."""
    recorded = artifact.about.hashes
    if not hashes or not recorded:
        return False
    return recorded.isdisjoint(hashes.values())


def _goes_on(artifact: Artifact) -> str:
    """Return the end of a line that says how an artifact is asked whose judge was changed."""
    command = f"jurist compile {artifact.about.reference}"
    return f": {artifact.ref} is asked as it was proven; {command} makes a version of the judge as it is"


def _split_version(reference: str) -> tuple[str, str]:
    """Return the judge of a reference and its version, empty without one; an ``@`` in the path of a file is neither."""
    name, at, version = reference.rpartition("@")
    if not at or "/" in version or ":" in version:
        return reference, ""
    if not version:
        raise UsageError(f"{reference!r} names no version", hint=f"write {name}, {name}@3 or {name}@TAG")
    return name, version


def _check_own_answer(artifact: Artifact, judge: Judge) -> OwnAnswer | None:
    """Return the request for the own answer of a version's model; ``None`` where it asks for none.

    Raises:
        ArtifactError: the judge lacks an input of the task.
    """
    own_answer = artifact.about.setting.own_answer_request
    if own_answer is None:
        return None
    missing = [name for name in own_answer.task if name not in judge.input_fields]
    if missing:
        raise ArtifactError(
            f"{artifact.ref} answers {', '.join(missing)} first, which is no input of {judge.name}",
            hint="restore it from a copy, or compile it again",
        )
    return own_answer
