"""Exporting: a judge as the file of another system."""

import os
from pathlib import Path

from ..errors import UsageError
from ..exports import Subject, exporter
from ..gold.writing import write_whole
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.dspy_state import settle
from ..keeping.loading import LoadedJudge
from ..programs.judge import Judge
from ..programs.state import PromptState
from .judges import JudgeLike, judges_of
from .surface import store_of, warn


def export(
    judge: JudgeLike,
    target: str,
    output: str | os.PathLike[str] | None = None,
    *,
    store: str | os.PathLike[str] | Store | None = None,
) -> str:
    """Return a judge as the file of another system, as ``jurist export``.

    Args:
        judge: see :data:`JudgeLike`.
        target: ``python``, ``messages``, ``promptfoo`` or another; ``jurist export --help`` lists them.
        output: the file to write it to; default: none.
        store: as for :func:`jurist.load`.

    Raises:
        UsageError: there is no such target, or it cannot hold this judge. JudgeError, ArtifactError: as
        :func:`jurist.load`.
    """
    (loaded,) = judges_of([judge], None, store_of(store), {})
    text, _ = exported(loaded, target, output)
    if output is not None:
        write_whole(text, Path(output))
    warn(loaded.standing)
    return text


def exported(
    loaded: LoadedJudge, target: str, output: str | os.PathLike[str] | None
) -> tuple[str, list[str]]:
    """Return the text of the file that is to be written, and what it cannot hold, in words."""
    found = exporter(target)
    if output is not None and found.suffix == ".py" != Path(output).suffix:
        raise UsageError(
            f"{target} takes a file of Python, which {output} is not by its name",
            hint=f"--output {Path(output).with_suffix('.py')}",
        )
    subject = subject_of(loaded.artifact or loaded.state, loaded.judge)
    return found.render(subject), [*getattr(found, "limits", ()), *subject.limits]


def export_text(source: Artifact | PromptState, judge: Judge, target: str) -> str:
    """Return the text of the file that hands a judge to another system."""
    return exporter(target).render(subject_of(source, judge))


def subject_of(source: Artifact | PromptState, judge: Judge) -> Subject:
    """Return what an export target is given."""
    if isinstance(source, Artifact):
        source.check_single()
        return Subject(
            judge=judge,
            program=source.program(judge),
            state=source.state,
            card=source.card,
            price=source.about.price_words,
        )
    state = settle(judge, source)
    return Subject(judge=judge, program=state.apply(judge.basic()), state=state)
