"""Versions of judges that verify what a generator writes: found in the store, and put into its program."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import ArtifactError, UsageError, suggest_name
from ..evaluation.votes import Sampling
from ..programs.judge import Judge
from ..programs.verifiers import CompiledVerifier, verifying_predictors
from .artifact_card import Artifact
from .artifacts import Store

if TYPE_CHECKING:
    from ..programs.generator import Generator


def with_verifiers(judge: Judge, references: Sequence[str], store: Store) -> Judge:
    """Return a generator whose items are verified by these versions; the judge itself where none is named.

    Args:
        judge: the generator.
        references: ``JUDGE@VERSION`` of each.
        store: where the versions are.

    Raises:
        UsageError: the judge is no generator, or has no step that a version's judge verifies.
        ArtifactError: there is no such version, it is damaged, or more than its prompt decides.
    """
    if not references:
        return judge
    from ..programs.generator import Generator  # most judges are none

    if not isinstance(judge, Generator) or not judge.verifiers:
        hint = "leave out --verifier, or name a generator that has verifiers, such as haluagent"
        raise UsageError(f"{judge.name} has no step that a compiled judge can verify", hint=hint)
    compiled: dict[str, CompiledVerifier] = {}
    for reference in references:
        name, at, _ = reference.partition("@")
        if not at:
            raise UsageError(f"--verifier {reference} names no version", hint=f"write {name}@1")
        if name not in judge.verifiers:
            hint = suggest_name(name, judge.verifiers)
            raise UsageError(f"{judge.name} has no step that {name} verifies", hint=hint)
        if name in compiled:
            raise UsageError(f"--verifier names {name} twice", hint="name one version of it")
        artifact = store.load(reference)
        compiled[name] = _verifier_of(artifact, judge, judge.verifiers[name])
    verified_by = tuple(compiled[name] for name in judge.verifiers if name in compiled)
    verified = replace(judge, verified_by=verified_by)
    if judge.language is not None or not judge.languages:  # else the documents choose its language
        verified.check_verifier_languages()
    return verified


def _verifier_of(artifact: Artifact, generator: "Generator", attribute: str) -> CompiledVerifier:
    """Return a version as a verifier; one that asks more than once, or lets more than its prompt decide, is refused."""
    _check_prompt_decides(artifact)
    (prompt,) = artifact.state.predictors.values()
    inputs = set(artifact.about.inputs)
    for predictor in verifying_predictors(generator.basic(), attribute):
        if set(predictor.signature.input_fields) != inputs:
            raise ArtifactError(
                f"{artifact.ref} was compiled for other inputs than {generator.name} gives its verifier",
                hint=f"compile {artifact.judge} again",
            )
    return CompiledVerifier(
        reference=artifact.ref,
        sha256=str(artifact.sha256),
        attribute=attribute,
        prompt=prompt,
        language="zh" if artifact.about.option_values.get("language") == "zh" else "en",
    )


def _check_prompt_decides(artifact: Artifact) -> None:
    """Refuse a version of which more than one prompt decides: votes, words, an own answer, questions, vectors."""
    artifact.check_is_no_cascade()
    card = artifact.about
    parts: list[str] = []
    if len(artifact.state.predictors) > 1:
        parts.append("several steps")
    sampling = card.thresholds.sampling
    if sampling.samples > 1:
        parts.append(f"{sampling.samples} samples")
    if sampling.rule != Sampling().rule:
        parts.append(sampling.rule)
    if artifact.word_rule is not None:
        parts.append("words")
    if card.setting.own_answer_request is not None:
        parts.append("an own answer")
    if artifact.state.questions:
        parts.append("further questions")
    if any(prompt.remembered and prompt.remembered.embedder for prompt in artifact.state.predictors.values()):
        parts.append("vectors of rows")
    if parts:
        raise ArtifactError(
            f"{artifact.ref} is decided by {', '.join(parts)}, and a verifier by one reply to one prompt",
            hint=f"compile it with: jurist compile {artifact.judge} --optimizer cfaith --threshold 1 --no-words",
        )


def with_recorded_verifiers(judge: Judge, artifact: Artifact, store: Store) -> Judge:
    """Return a generator with the verifiers that the card of a version records.

    Raises:
        ArtifactError: one of them is missing, or is no longer what it was.
    """
    verifiers = find_recorded_verifiers(artifact, store)
    return with_verifiers(judge, [verifier.ref for verifier in verifiers], store)


def find_recorded_verifiers(artifact: Artifact, store: Store) -> list[Artifact]:
    """Return the versions that verify what a version of a generator writes, as its card records them.

    Raises:
        ArtifactError: one of them is missing, or is no longer what it was.
    """
    verifiers: list[Artifact] = []
    for reference, sha256 in artifact.about.verifiers.items():
        try:
            verifier = store.load(reference)
        except ArtifactError as error:
            raise ArtifactError(
                f"{artifact.ref} is verified by {reference}, which cannot be used: {error.message}",
                hint=f"restore {reference} in that store, or compile {artifact.judge} again",
            ) from error
        if verifier.sha256 != sha256:
            raise ArtifactError(
                f"{artifact.ref} is verified by {reference}, which is another version by now",
                hint=f"restore it from a copy, or compile {artifact.judge} again",
            )
        verifiers.append(verifier)
    return verifiers
