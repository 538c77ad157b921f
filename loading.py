"""From a reference to a judge that can be asked.

``fect`` is the latest compiled version, ``fect@2`` a certain one, ``fect:basic``
the prompt nobody tuned. A user's own judge is named by its file the first time
(``judge.py:judge``); its artifacts are found by its name afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .artifacts import Artifact, Store
from .cases import Case
from .engines.channel import Desk
from .engines.models import Model, connect
from .errors import JudgeError, UsageError
from .programs.asking import Asker, Sampling, Verdict
from .programs.catalogue import find
from .programs.judge import Judge
from .programs.state import PromptState

__all__ = ["LoadedJudge", "find_judge", "load_judge", "locate", "suited"]

_BASIC = ":basic"
_WARM = 0.7


@dataclass(frozen=True, kw_only=True)
class LoadedJudge:
    """A judge with a prompt and a model: call it with the judge's inputs.

    Attributes:
        judge: the judge.
        state: its prompt.
        artifact: the compiled version; ``None`` for the basic prompt.
        model: who answers.
        sampling: samples and vote threshold.
        adapter: DSPy's prompt format.
        concurrency: cases in flight at once.
        desk: the ledger of all its calls.
    """

    judge: Judge
    state: PromptState
    artifact: Artifact | None
    model: Model
    sampling: Sampling
    adapter: str
    concurrency: int
    desk: Desk

    @property
    def name(self) -> str:
        """``judge@version``, or ``judge:basic``."""
        return f"{self.judge.name}@{self.artifact.version}" if self.artifact else self.judge.name + _BASIC

    def __call__(self, **inputs: Any) -> Verdict:
        """Judge one row, given by the names its gold uses.

        Raises:
            GoldError: an input is missing or ill-typed.
            ModelError: the model cannot be used at all.
        """
        return self.asker().ask(self.judge.case(inputs))

    def ask(self, cases: Sequence[Case]) -> list[Verdict]:
        """Judge many cases; the result is in their order."""
        return self.asker().ask_all(cases)

    def asker(self) -> Asker:
        """Return what asks this judge."""
        return Asker(
            judge=self.judge,
            program=self.artifact.program(self.judge) if self.artifact else self.judge.basic(),
            lm=connect(self.model, self.desk),
            sampling=self.sampling,
            adapter=self.adapter,
            concurrency=self.concurrency,
        )

    def with_model(self, model: Model) -> LoadedJudge:
        """Return the same judge for another model."""
        return replace(self, model=model)

    def stamp(self) -> dict[str, Any]:
        """Return what identifies the judge in its output."""
        return {
            "judge": self.name,
            "artifact": self.artifact.sha256 if self.artifact else None,
            "model": self.model.name,
            "sampling": {
                "samples": self.sampling.samples,
                "threshold": self.sampling.needed,
                "temperature": self.model.temperature,
            },
        }


def load_judge(
    reference: str,
    *,
    store: Store,
    model: Model | None = None,
    samples: int | None = None,
    threshold: int | None = None,
    concurrency: int = 8,
) -> LoadedJudge:
    """Load ``JUDGE``, ``JUDGE@VERSION`` or ``JUDGE:basic`` for a model.

    Samples, threshold and prompt format are those the artifact was proven with,
    unless given here. A number of samples given here without a threshold goes
    with a majority, because a fitted threshold belongs to its number of samples.

    Raises:
        JudgeError: no such judge.
        ArtifactError: no such version, or a damaged one.
        UsageError: samples, threshold and temperature do not fit each other.
    """
    if reference.endswith(_BASIC):
        judge, artifact = find_judge(reference.removesuffix(_BASIC), store), None
        state, card = PromptState.of(judge.basic()), {}
    else:
        name, version = _parted(reference)
        judge = find_judge(name, store)
        artifact = store.load(f"{judge.name}@{version}")
        artifact.check(judge)
        state, card = artifact.state, artifact.card
    kept = card.get("thresholds") or {}
    if samples is None:
        samples = int(kept.get("samples", 1))
        threshold = threshold if threshold is not None else kept.get("threshold")
    sampling = Sampling(samples=samples, threshold=threshold)
    return LoadedJudge(
        judge=judge,
        state=state,
        artifact=artifact,
        model=suited(model or Model(), sampling.samples),
        sampling=sampling,
        adapter=str(card.get("adapter", "chat")),
        concurrency=concurrency,
        desk=Desk.fresh(),
    )


def find_judge(name: str, store: Store) -> Judge:
    """Return a built-in judge, one from a file, or one whose artifacts say which file it came from.

    Raises:
        JudgeError: there is none.
    """
    return locate(name, store)[0]


def locate(name: str, store: Store) -> tuple[Judge, str]:
    """Return a judge, and the reference under which :func:`~jurist.programs.catalogue.find` finds it again.

    Raises:
        JudgeError: there is none, or its file is gone.
    """
    try:
        return find(name), name
    except JudgeError:
        kept = sorted(store.list(name), key=lambda one: (one.latest, one.version), reverse=True)
        references = [str(one.card.get("judge_ref") or name) for one in kept]
        reference = next((one for one in references if one != name), None)
        if reference is None:
            raise
    try:
        return find(reference), reference
    except JudgeError as error:
        raise JudgeError(
            f"judge {name!r} was compiled from {reference}: {error.message}",
            hint="go where that file is, or name the file in place of the judge",
        ) from error


def suited(model: Model, samples: int) -> Model:
    """Return the model with the temperature that suits the number of samples, where that was left open.

    One sample is drawn at 0, several at a temperature at which they differ; a model that refuses any
    temperature but its own keeps it.

    Raises:
        UsageError: temperature 0 with several samples.
    """
    if samples > 1 and model.temperature == 0:
        raise UsageError(
            "samples at temperature 0 are all the same", hint="leave the temperature out, or give one above 0"
        )
    if model.temperature is not None or model.fixed_temperature:
        return model
    return replace(model, temperature=_WARM if samples > 1 else 0.0)


def _parted(reference: str) -> tuple[str, str]:
    """Part the judge from its version; an ``@`` in the path of a file is neither."""
    name, at, version = reference.rpartition("@")
    return (name, version) if at and "/" not in version and ":" not in version else (reference, "latest")
