"""Judges that public functions take, by name, loaded or compiled, are loaded; and a judge is run over new rows."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, Unpack

import dspy

from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import Interrupted, StoppedError, UsageError, as_data, checked
from ..gold.mapping import MappingLike, make_mapping
from ..gold.new_rows import Source
from ..keeping.artifacts import Store
from ..keeping.loaders import load_judge
from ..keeping.loading import LoadedJudge
from ..keeping.logs import LogReference, is_log, new_rows_error
from ..keeping.naming import find_judge
from ..programs.judge import Judge
from ..runs.row_language import in_language_of_rows, unread_language_note
from ..runs.runner import RunSettings, run_judge
from ..runs.summary import Summary
from .cascading import with_models
from .compiling import Compiled
from .surface import Loading, ModelLike, count_rows, make_model, open_store, warn

_Contender = TypeVar("_Contender")
"""A judge or a log."""
JudgeLike: TypeAlias = str | Judge | LoadedJudge | Compiled
"""A reference or a judge as for :func:`jurist.load`; or what :func:`jurist.load` or :func:`jurist.compile`
returned, with its own model."""


@checked
def judge(name: str, *, store: str | os.PathLike[str] | None = None, trust: bool = False) -> Judge:
    """Return a judge by name: a built-in one, ``path/to/file.py:judge``, or one whose artifact names its file.

    Args:
        name: which one.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.
        trust: execute the Python file that an artifact was compiled from, where its code is needed.

    Raises:
        JudgeError: there is none, or its file may not be executed.
    """
    return find_judge(name, open_store(store, trust=trust))


@checked
def load(
    reference: str | Judge,
    *,
    version: int | str = "",
    model: ModelLike | None = None,
    store: str | os.PathLike[str] | None = None,
    trust: bool = False,
    **options: Unpack[Loading],
) -> LoadedJudge:
    """Load a judge that can be called with its inputs.

    Args:
        reference: ``JUDGE`` (the latest version shown better, if a ``model`` is named with that, else the basic
            prompt, and a warning says why), ``JUDGE@VERSION``, or ``JUDGE:basic``; or the judge itself, where no file
            defines it.
        version: a number, a tag, or ``"basic"``, where the reference names none; default: as its name alone.
        model: see :data:`ModelLike`; default: of a version its own, else ``offline``.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.
        trust: execute the Python file that the artifact was compiled from, where its code is needed; it is
            remembered.
        samples: draws per case, at least 1; default: as proven.
        threshold: votes for a positive verdict, 1..samples, or below 1 the probability; default: as proven.
        combine: ``mean`` or ``median``, by which several scores of a row become one; default: as proven.
        concurrency: cases in flight at once.
        strictness: of a judge with tiers: ``rational``, ``grounded`` or ``irrefutable``; default: as proven.
        verifier: answers the judge's frozen steps; default: ``model`` at temperature 0.
        verifiers: versions that verify what a generator writes, such as ``("label-check@2",)``; default: as proven.
        adapter: of a basic prompt: ``chat`` or ``json``, which are DSPy's, or ``plain``, a judge's ``prompt`` as it
            stands; default: ``plain`` for a judge that has one, else ``chat``. A version keeps its own.
        redraws: how often a case is drawn again, at most, where a reply cannot be read; default: once.

    Raises:
        JudgeError, ArtifactError: no such judge, no such version, or a damaged one.
    """
    loaded = load_reference(
        reference, open_store(store, trust=trust), version=version, model=model, **options
    )
    warn(loaded.note, loaded.ending)
    return loaded


def load_reference(
    reference: str | Judge,
    store: Store,
    *,
    version: int | str = "",
    model: ModelLike | None = None,
    verifier: ModelLike | None = None,
    adapter: str | None = None,
    redraws: int | None = None,
    **options: Any,
) -> LoadedJudge:
    """Return the loaded judge of a reference, as :func:`jurist.load` does, without its warning."""
    if isinstance(reference, str) and version:
        separator = ":" if version == "basic" else "@"
        reference, version = f"{reference}{separator}{version}", ""
    frozen_model = None
    if verifier is not None:
        frozen_model = make_model(verifier)
    loaded = load_judge(
        reference,
        version=str(version or ""),
        store=store,
        model=make_model(model),
        verifier=frozen_model,
        **options,
    ).with_adapter(adapter)
    if redraws is None:
        return loaded
    if redraws < 0:
        raise UsageError(f"{redraws} redraws are not possible", hint="give 0 or more")
    return replace(loaded, settings=replace(loaded.settings, redraws=redraws))


def load_contenders(
    judges: JudgeLike | Sequence[JudgeLike],
    models: ModelLike | Sequence[ModelLike] | None,
    store: Store,
    options: Mapping[str, Any],
    draws: int = 1,
) -> tuple[LoadedJudge | LogReference, ...]:
    """Return each judge with each of the models (default: its own), and each log once."""
    # A judge that was loaded keeps its own model and settings.
    items = []
    for item in as_items(judges):
        if isinstance(item, Compiled):
            item = item.judge
        items.append(item)
    _check_nothing_to_change(items, models, options)
    answering_models = list(map(make_model, as_items(models) or [None]))
    contenders: list[LoadedJudge | LogReference] = []
    for item in items:
        if isinstance(item, LoadedJudge):
            contenders.append(item)
        elif is_log(item):
            contenders.append(LogReference.of(item, options.get("threshold")))
        else:
            loaded = load_reference(item, store, model=answering_models[0], **options)
            contenders += loaded.on(answering_models, draws=draws)
    return tuple(share_model(contenders, answering_models[0], items, draws))


def share_model(
    contenders: Sequence[_Contender], settings: Model, given: Sequence[object] = (), draws: int = 1
) -> list[_Contender | LoadedJudge]:
    """Return the judges, the basic prompts among them with the model of the first version.

    Args:
        contenders: judges with the models of their versions, and logs.
        settings: the model that stands for each version's own, with the settings that were named.
        given: what was given for the judges; those that were loaded before keep their model.
        draws: how often everything is asked.
    """
    if not settings.is_own:
        return list(contenders)
    judges = [contender for contender in contenders if isinstance(contender, LoadedJudge)]
    asked_versions = [judge for judge in judges if judge.artifact and judge.settings.asks_model]
    if not asked_versions:
        return list(contenders)
    shared = replace(asked_versions[0].model, temperature=settings.temperature)
    ready: list[_Contender | LoadedJudge] = []
    for contender in contenders:
        was_given = any(contender is item for item in given)
        if isinstance(contender, LoadedJudge) and contender.artifact is None and not was_given:
            basic = replace(contender, named=None)
            ready.append(basic.with_model(shared, draws=draws))
        else:
            ready.append(contender)
    return ready


def _check_nothing_to_change(items: Sequence[object], models: object, options: Mapping[str, object]) -> None:
    """Refuse settings beside a judge that was loaded before, and models where all judges were."""
    ready = [item for item in items if isinstance(item, LoadedJudge)]
    settings = [name for name, value in options.items() if value is not None]
    if models is not None and len(ready) == len(items):
        settings.append("model")
    if ready and settings:
        problem = f"{ready[0].name} was loaded before, and keeps its own {' and '.join(settings)}"
        raise UsageError(problem, hint="give that to jurist.load, or name the judge here")


def load_for_new_rows(
    judge: JudgeLike, model: ModelLike | None, store: Store, options: Mapping[str, Any]
) -> LoadedJudge:
    """Return a judge with its model, as new rows are judged by it."""
    (contender,) = load_contenders([judge], model, store, options)
    if isinstance(contender, LogReference):
        raise new_rows_error(contender.name)
    return contender


def load_cascade(
    judges: JudgeLike | Sequence[JudgeLike],
    models: ModelLike | Sequence[ModelLike] | None,
    store: Store,
    options: Mapping[str, Any],
    draws: int = 1,
) -> tuple[LoadedJudge | LogReference, ...]:
    """Return the judges of a cascade, each with its model; one that was loaded keeps its own."""
    named_models = list(map(make_model, as_items(models)))
    if not named_models or named_models[0].is_own:
        return load_contenders(judges, named_models or None, store, options, draws)
    ready = load_contenders(judges, None, store, options, draws)
    keep: list[bool] = []
    for judge, contender in zip(as_items(judges), ready, strict=True):
        keep.append(isinstance(judge, LoadedJudge | Compiled) or isinstance(contender, LogReference))
    return with_models(ready, named_models, keep)


def as_items(values: Any) -> list[Any]:
    """Return several judges or models as a list; a name alone, which Python takes for letters, is one of them."""
    if isinstance(values, str | Judge | LoadedJudge | Compiled | Model | dspy.LM):
        return [values]
    return list(values or ())


@checked
def run(
    judge: JudgeLike,
    rows: str | os.PathLike[str] | Any,
    output: str | os.PathLike[str],
    *,
    model: ModelLike | None = None,
    budget: Budget | None = None,
    mapping: MappingLike | None = None,
    keep: Sequence[str] | None = None,
    resume: bool = True,
    fresh: bool = False,
    store: str | os.PathLike[str] | None = None,
    **options: Unpack[Loading],
) -> Summary:
    """Judge any number of rows into a file, a line a row, as ``jurist run``: no row is held or paid for twice.

    Args:
        judge: see :data:`JudgeLike`.
        rows: what ``jurist run --input`` takes (a file, a folder, ``hf:org/name``); or mappings, DSPy's examples, or a
            table of pandas, Polars, PyArrow or ``datasets``. A generator is read once, as it is judged.
        output: ``.jsonl`` or ``.csv``. Rows that cannot be used are set aside beside it.
        model: who answers; default: of a version, and of a judge that was loaded, its own, else ``offline``.
        budget: hard limits.
        mapping: the names of columns in the rows, where they are not the judge's.
        keep: columns that travel into the output; default: all that are not judged.
        resume: continue what an earlier run left; rows that failed are asked again. ``False``
            refuses an output that exists.
        fresh: forget an unfinished run of this output.
        store, options: as for :func:`compare`.

    Returns:
        The counts of the run.

    Raises:
        StoppedError: a limit; the lines so far are kept.
        Interrupted: Ctrl-C; they are kept, too.
        GoldError: the rows cannot be read, or none can be used.
        UsageError: the output cannot be used.
        CheckpointError: the output is of another run, or unfinished.
        JudgeError, ArtifactError: as :func:`load`.
        ModelError: the model cannot be used at all.
    """
    loaded = load_for_new_rows(judge, model, open_store(store), options)
    warn(loaded.note, loaded.ending)
    columns = make_mapping(mapping)
    columns.check(loaded.judge)
    if isinstance(rows, str | os.PathLike):
        source = Source(name=os.fspath(rows), judge=loaded.judge, mapping=columns)
    else:
        source = Source(name="<rows>", judge=loaded.judge, mapping=columns, records=rows)
    warn(unread_language_note(loaded, source))
    loaded, source = in_language_of_rows(loaded, source)
    if isinstance(keep, str):
        keep = (keep,)
    settings = RunSettings(budget=budget or Budget(), keep=keep, resume=resume, fresh=fresh)
    with count_rows(loaded.name, None) as step:
        summary = run_judge(loaded, source, Path(output), settings=settings, on_row=step)
    if summary.stopped:
        message = f"{summary.stop_words}; what was judged is in {as_data(output)}"
        hint = "the same call judges the rows that are left"
        if summary.signal is not None:
            raise Interrupted(message, hint=hint, signal=summary.signal)
        raise StoppedError(message, hint=hint)
    return summary
