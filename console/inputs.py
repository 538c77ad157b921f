"""From options to what they name: models, judges, samples and the gold of a card."""

import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..arguments.command import file_prices, panel_settings
from ..arguments.groups import (
    AskedOptions,
    Checkpoints,
    JudgingOptions,
    ModelsOptions,
    Resume,
    ScoringOptions,
    StoreOptions,
    Transport,
    VerifierOptions,
)
from ..arguments.options import Options, repeat_options
from ..engines.models import OFFLINE, OWN, Model
from ..errors import UsageError
from ..gold.writing import check_files
from ..keeping.artifacts import Store
from ..keeping.loaders import load_judge
from ..keeping.loading import LoadedJudge, proven_model
from ..keeping.paying import Start
from ..programs.options import JUDGE_OPTIONS
from .printing import print_notes
from .rows import check_apart

if TYPE_CHECKING:
    from ..arguments.artifacts import RefitOptions, RememberOptions
    from ..arguments.compile import CompileOptions
    from ..arguments.generate import AssessOptions
    from ..arguments.scoring import CompareOptions, DetectorOptions, EvaluateOptions, GateOptions
    from ..keeping.card_parts import ModelCard


def store_option(options: StoreOptions) -> str:
    """Return the option, with a space before it, by which a proposed command finds the same artifacts."""
    if not options.store:
        return ""
    return f" --store {shlex.quote(options.store)}"


def start_of(options: Resume, store: Store) -> Start:
    """Return how work is started that keeps its checkpoint in the store."""
    if isinstance(options, Checkpoints):
        check_files(options.output)
    if isinstance(options, ScoringOptions):
        check_apart(options.output, options.gold)
    return Start(root=store.checkpoints, resume=options.resume, fresh=options.fresh)


def models_of(options: ModelsOptions) -> list[Model]:
    """Return the models of the options, each once, without any each version's own; ``offline`` has no address."""
    models = []
    for name in dict.fromkeys(options.models):
        if name == OFFLINE and len(options.models) > 1:
            models.append(Model.of(options, name=name, api_base=None))
        else:
            models.append(Model.of(options, name=name))
    return models or [own_model(options)]


def own_model(options: Transport) -> Model:
    """Return the model that stands for each version's own, with the settings of the options."""
    return Model.of(options, name=OWN, terms=member_terms())


def verifier_model(options: VerifierOptions, timeout: float, seed: int) -> Model | None:
    """Return who answers frozen steps; ``None`` if nobody is named."""
    if options.judge_model is None:
        if options.judge_api_base is not None:
            raise UsageError("--judge-api-base is the address of no model", hint="add --judge-model")
        return None
    return Model(name=options.judge_model, api_base=options.judge_api_base, timeout=timeout, seed=seed)


def judge_of(
    reference: str,
    options: "JudgingOptions | AssessOptions | DetectorOptions",
    store: Store,
    model: Model,
    **overrides: Any,
) -> LoadedJudge:
    """Return a judge as the options say, or as it was proven, for a model.

    ``overrides`` are arguments of ``load_judge`` that take the place of what the options say.
    """
    settings: dict[str, Any] = {}
    for name in ("samples", "threshold", "combine", "concurrency") + JUDGE_OPTIONS:
        settings[name] = getattr(options, name, None)
    settings |= overrides
    if not isinstance(options, JudgingOptions):
        loaded = load_judge(reference, store=store, model=model, **settings)
        return loaded.with_adapter(None)
    settings["verifier"] = verifier_model(options, options.timeout, options.seed)
    settings["verifiers"] = options.verifiers
    loaded = load_judge(reference, store=store, model=model, **settings)
    loaded = loaded.with_adapter(options.adapter)
    return replace(loaded, settings=replace(loaded.settings, redraws=options.redraw))


def answering_model(options: "CompileOptions | AskedOptions") -> Model:
    """Return the model of the options, or the panel; without any each version's own."""
    if options.panel:
        return panel_of(options, options.model is not None)
    if options.model is None:
        return own_model(options)
    return Model.of(options, name=options.model)


def panel_of(options: "CompileOptions | AskedOptions | CompareOptions", names_model: bool) -> Model:
    """Return the panel of the options, whose members may have settings of their own in a file."""
    if names_model:
        hint = "leave out --model, or name it as --panel"
        raise UsageError("a panel answers in place of a model", hint=hint)
    members = []
    file_settings = panel_settings()
    for name in options.panel:
        members.append(Model.of(options, **{**file_settings.get(name, {}), "name": name}))
    return Model.panel(members)


def model_of_card(options: "RefitOptions | RememberOptions", card: "ModelCard") -> Model:
    """Return the model of a card, reached and priced as the options say, else as the settings file does.

    Members of a panel are each at their own address and price.
    """
    model = proven_model(card, own_model(options))
    if model.members or options.price_in is not None or options.price_out is not None:
        return model
    return replace(model, **file_prices(model.name))


def member_terms() -> tuple[Model, ...]:
    """Return the settings of a panel's models in the settings file, for a version that is asked with its own panel."""
    terms: list[Model] = []
    for name, settings in panel_settings().items():
        terms.append(Model(name=name, **settings))
    return tuple(terms)


def loaded_of(reference: str, options: AskedOptions, store: Store) -> LoadedJudge:
    """Return a judge with the model of the options; say which one a version asks, if nobody named any."""
    loaded = judge_of(reference, options, store, answering_model(options))
    print_notes(loaded.own_model_words)
    return loaded


def labelling_model(options: "AssessOptions") -> Model:
    """Return the model of those who label."""
    return Model(
        name=options.judge_model or OWN,
        api_base=options.judge_api_base,
        timeout=options.timeout,
        seed=options.seed,
    )


def settings_of(pairs: Sequence[str]) -> dict[str, str]:
    """Return ``["steps=3"]`` as settings of an optimizer."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {pair!r} is not a setting", hint="write it as --set NAME=VALUE")
        settings[name] = value
    return settings


_OF_ONE_RUN = frozenset(
    ["output", "resume", "fresh", "yes", "verbose", "json", "markdown", "anyway", "force", "store"]
)
"""Options that say how this run ends and is printed; the store stands at the end."""
_LIMITS = frozenset(["calls", "cost", "tokens", "seconds"])
"""Limits of one job."""
OF_CARD = frozenset(
    ["adapter", "samples", "threshold", "combine", "embedder", "language", "strictness", "verifiers"]
)
"""Options that the card of a version keeps."""
_FIRST = (
    "--gold",
    "--rejects",
    "--column",
    "--map",
    "--raters",
    "--merge",
    "--model",
    "--api-base",
    "--api-key-env",
)
"""Options that stand at the front of a command, in this order."""


def options_again(
    options: "EvaluateOptions | GateOptions | CompileOptions | CompareOptions",
    command: type[Options],
    gold: str | None = None,
    *,
    without: Collection[str] = (),
) -> str:
    """Return the options by which a command reads the same rows and asks the same models in the same way.

    Args:
        options: the options that were given.
        command: the options of the command that takes them.
        gold: the gold, where none was named.
        without: the names of further options that are left out.
    """
    if gold and not options.gold:
        options = replace(options, gold=gold)
    left_out = _OF_ONE_RUN.union(without)
    if not isinstance(options, command):  # limits are of one kind of job
        left_out |= _LIMITS
    words = repeat_options(options, command, without=left_out)

    def place(word: str) -> int:
        flag_name, _, _ = word.partition(" ")
        return _FIRST.index(flag_name) if flag_name in _FIRST else len(_FIRST)

    return " ".join(sorted(words, key=place)) + store_option(options)
