"""Options that several commands share, one group for each subject."""

import argparse
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

from .names import EXAMPLE_MODEL
from .options import Options, choice, flag, option, positional, repeated


def nonempty_name(text: str) -> str:
    """Return the name that was given to an option; an empty one is refused, as a shell variable may not be set."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty: give a bundled name, a file or a folder")
    return text


def _within(read: Callable[[str], float], low: float, high: float, problem: str) -> Callable[[str], Any]:
    """Return a reader of numbers between two ends, which names the ``problem`` of any other text."""

    def number(text: str) -> float:
        try:
            value = read(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{_short(text)} {problem}")
        return value

    return number


positive_integer = _within(int, 1, math.inf, "is not possible: give a whole number, 1 or more")
nonnegative_integer = _within(int, 0, math.inf, "is not possible: give a whole number, 0 or more")
seconds = _within(float, 0.001, math.inf, "is not possible: give seconds, 0.001 or more")


def _of_percent(text: str) -> float:
    """Return a share that is written as ``0.2`` or as ``20%``."""
    if text.endswith("%"):
        return float(text[:-1]) / 100
    return float(text)


share_or_percent = _within(_of_percent, 0, 1, "is no share: give 0 to 1, or 0% to 100%")
share = _within(float, 0, 1, "is no share: give 0 to 1")
_price = _within(float, 0, 1e6, "is no price: give US dollars per million tokens")
port = _within(int, 1, 65535, "is no port: give a number from 1 to 65535")
# The random generators of numpy, and of the optimizers that use it, take no higher seeds.
_seed = _within(int, 0, 2**32 - 1, f"is no seed: give a whole number from 0 to {2**32 - 1}")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def allowed(default: float, help: str) -> Any:
    """Return the field of a share that is allowed, 0 to 1."""
    return option("SHARE", help, default, type=share)


def asked_judge(
    help: str = "the latest version, JUDGE@N for version N, or JUDGE:basic for the prompt you started with",
) -> Any:
    """Return the field of a judge that is asked."""
    return positional("JUDGE[@VERSION]|JUDGE:basic", help)


class Form(Options):
    """The form of results on standard output."""

    json: bool = flag("print one JSON object instead of tables", exclusive="form")
    markdown: bool = flag("print the tables as Markdown", exclusive="form")


class StoreOptions(Options, group=True):
    """Where artifacts are."""

    store: str | None = option(
        "DIR",
        'folder of artifacts, or "shipped", those of jurist itself (default: $JURIST_STORE, else ./compiled)',
    )
    trust: bool = flag("execute the Python file that an artifact was compiled from, where its code is needed")


class SeedOptions(Options, group=True):
    """The seed."""

    seed: int = option("N", "seed of every random choice", 0, type=_seed)


class Details(Form, group=True):
    """The details of a result that are printed."""

    verbose: bool = flag("print all tables above the verdict: references, classes, errors, cost")


class Printed(StoreOptions, Form, group=True):
    """Options of every command that prints the content of a store."""


class Common(SeedOptions, Printed, group=True):
    """Options of every command that prints the content of a store and draws at random."""


def pair(text: str) -> tuple[str, str]:
    """Return the two sides of ``THEIRS=OURS``."""
    theirs, _, ours = text.partition("=")
    return _both_sides(theirs, ours, text)


def column_pair(text: str) -> tuple[str, str]:
    """Return the two sides of ``THEIRS=OURS`` of a column: its path may hold conditions, as ``a[name=x].value``."""
    theirs, _, ours = text.rpartition("=")
    return _both_sides(theirs, ours, text)


def _both_sides(theirs: str, ours: str, text: str) -> tuple[str, str]:
    if "=" not in text or not theirs.strip():
        raise argparse.ArgumentTypeError(f"{_short(text)} is no pair: write THEIRS=OURS")
    return theirs.strip(), ours.strip()


class NameOptions(Options, group=True):
    """The names that a file has for the judge's fields and labels."""

    columns: tuple[tuple[str, str], ...] = repeated(
        "--column THEIRS=OURS",
        "a column of the file is this field of the judge, as answer=response",
        type=column_pair,
    )
    labels: tuple[tuple[str, str], ...] = repeated(
        "--map THEIRS=OURS",
        "a label of the file means this label of the judge, as Yes=send; capitals never matter",
        type=pair,
    )


class RowOptions(NameOptions, group=True):
    """The reading of a file's rows as a judge's."""

    rejects: str | None = option(
        "F.jsonl",
        "set rows that cannot be used aside in this file, with the reasons (default: refuse the whole input)",
    )


Rule = Literal["unanimous", "majority", "adjudicated", "reviewed", "median", "mean"]
"""The rules by which the labels of several raters become one."""


def column_names(text: str) -> tuple[str, ...]:
    """Return the names of columns between commas."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError("names no column: write label_ann,label_bob or 'label_*'")
    return names


def raters_option(help: str) -> Any:
    """Return the field of the columns of raters."""
    return option("COLUMN,...|PATTERN", help, (), type=column_names)


class RaterOptions(Options, group=True):
    """Whose labels the rows hold, where several people labelled them."""

    raters: tuple[str, ...] = raters_option(
        "columns with the labels of one rater each, with commas between, or a pattern as 'label_*'; jurist merges them"
    )
    merge: Rule | None = choice(
        "the rule that merges the labels of raters (default: the judge's, else majority, and of scores mean)"
    )


def gold_option(help: str, **settings: Any) -> Any:
    """Return a field for ``--gold``, which need not be given."""
    return option("--gold PATH|NAME", help, type=nonempty_name, **settings)


class GoldOptions(RaterOptions, RowOptions, group=True):
    """Labelled rows."""

    gold: str = option(
        "PATH|NAME", "labelled rows: a bundled name, a file, a folder, hf:org/name", type=nonempty_name
    )


class SplitOptions(Options, group=True):
    """The split of gold."""

    split: str | None = option(
        "T/D/T", "train, dev and test in percent (default: 30/20/50 below 300 labelled rows, else 50/20/30)"
    )
    keep_groups: bool = flag(
        "keep the groups of the file, even where texts nearly repeat across them", rare=True
    )


class DocumentOptions(Options, group=True):
    """The questions that haluagent asks of a document."""

    per_document: int | None = option(
        "N",
        "of haluagent: N questions a document, of random types (default: one of each type; of compile: 2)",
        type=positive_integer,
        rare=True,
    )
    types: str | None = option(
        "A,B",
        "of haluagent: questions of these types only: fabrication, attribute, entity, relation, spatiotemporal, "
        "reference",
        rare=True,
    )
    characters: int | None = option(
        "N",
        "of haluagent: the most characters of a document (default: 3000); a longer one is cut at sentence ends, and "
        "each part has its questions",
        type=positive_integer,
        rare=True,
    )


class TimeLimit(Options, group=True):
    """The time limit of a request."""

    timeout: float = option("S", "seconds one request may take", 120.0)


class Concurrency(Options, group=True):
    """The number of rows in flight."""

    concurrency: int = option("N", "rows in flight at once", 8, type=positive_integer)


class Transport(TimeLimit, Concurrency, group=True):
    """The time limit of a request, and the number of rows in flight."""


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""The amount of thinking of a reasoning model before it answers."""


class Prices(Options):
    """Prices of a model's tokens, where no table has them or another price was agreed."""

    price_in: float | None = option(
        "USD", "price of a million input tokens (default: that of the price table)", type=_price, rare=True
    )
    price_out: float | None = option(
        "USD", "price of a million output tokens, with --price-in", type=_price, rare=True
    )
    price_cached: float | None = option(
        "USD", "price of a million cached input tokens (default: --price-in)", type=_price, rare=True
    )


class Endpoint(Prices, TimeLimit, group=True):
    """The way to a model, and its draws: the settings of :class:`jurist.Model`, but for its name."""

    rpm: int | None = option(
        "N",
        "requests a minute to the model at most (default: adapts to the endpoint's limits)",
        type=positive_integer,
    )
    api_base: str | None = option("URL", "address of an OpenAI-compatible server")
    key_env: str | None = option(
        "--api-key-env NAME", "environment variable that holds its key (default: the provider's)"
    )
    temperature: float | None = option("T", "0 to 2 (default: 0 for one draw of each row, 0.7 for several)")
    top_p: float | None = option(
        "P", "draw tokens from this share of their probability, 0 to 1 (default: the provider's)", type=share
    )
    max_tokens: int | None = option(
        "N",
        "limit on one reply (default: by the size of the question, and none for a model that thinks first)",
        type=positive_integer,
    )
    patience: float = option("S", "seconds to wait for an endpoint that is away or overloaded", 60.0)
    reasoning_effort: Effort | None = choice(
        "how much a reasoning model thinks before it answers (default: as proven, else the provider's)"
    )
    headers: tuple[tuple[str, str], ...] = repeated(
        "--header NAME=VALUE",
        "an HTTP header of every request; $VARIABLE in it is read from the environment, as a key has to be",
        type=pair,
        rare=True,
    )
    body: tuple[tuple[str, str], ...] = repeated(
        "--body NAME=JSON",
        "a field of the JSON of every request, such as service_tier=flex",
        type=pair,
        rare=True,
    )


class VerifierOptions(Options, group=True):
    """The model that answers the frozen steps of a program, such as the verifiers of a generator."""

    judge_model: str | None = option(
        "M", "who answers frozen steps, such as a generator's verifiers (default: --model at temperature 0)"
    )
    judge_api_base: str | None = option("URL", "address of an OpenAI-compatible server for them")


class CompiledVerifiers(Options, group=True):
    """Which versions verify what a generator writes."""

    verifiers: tuple[str, ...] = repeated(
        "--verifier JUDGE@V",
        "a version that verifies what a generator writes, such as label-check@2 (default: as proven, else its own "
        "prompts)",
    )


_MODEL = (
    f'"offline" (a text-overlap scorer, not an LLM), or a DSPy model string as {EXAMPLE_MODEL} (default: of a version '
    "its own, of a basic prompt that of the first version beside it, else offline)"
)


class ModelOptions(Endpoint, Transport, group=True):
    """The model that answers."""

    model: str | None = option("M", _MODEL)


class PanelOptions(Options, group=True):
    """The models that answer together."""

    panel: tuple[str, ...] = repeated(
        "--panel M",
        "a model of a panel, in place of --model: each answers a row once, and all votes weigh the same",
    )


class ModelsOptions(Endpoint, Transport, group=True):
    """The models that answer, one after the other."""

    models: tuple[str, ...] = repeated("--model M", _MODEL)


Combining = Literal["median", "mean"]
"""The rules by which several scores of a row become one."""


class SamplingOptions(Options, group=True):
    """The settings of :class:`jurist.Sampling`."""

    samples: int | None = option("K", "independent draws per row (default: 1, or as proven)")
    threshold: float | None = option(
        "T", "votes for a positive verdict, or below 1 its probability (default: fitted, or more than half)"
    )
    combine: Combining | None = choice(
        "how several scores of a row become one: their mean, or the lower median (default: mean, or as proven)"
    )


class LanguageOption(Options, group=True):
    """The language of a prompt."""

    language: str | None = choice(
        "for prompts that were written in both: the language of the prompt (default: that of most rows, or as proven)",
        choices=("en", "zh"),
    )


class JudgeOptions(LanguageOption, group=True):
    """Options that some judges declare (:mod:`jurist.programs.options`)."""

    strictness: str | None = choice(
        "for judges with tiers: what falls below it is hallucinated (default: grounded, or as proven)",
        choices=("rational", "grounded", "irrefutable"),
    )

    @property
    def judge_options(self) -> dict[str, str]:
        """The options of a judge that were given, with their values."""
        values = {}
        for item in fields(JudgeOptions):
            value = getattr(self, item.name)
            if value is not None:
                values[item.name] = value
        return values


class HardLimits(Options, group=True):
    """Hard limits, as of :class:`jurist.Budget`."""

    calls: int | None = option("--max-calls N", "hard limit on calls")
    cost: float | None = option("--max-cost USD", "stop before the cost goes over this")


class AllLimits(HardLimits, group=True):
    """All settings of :class:`jurist.Budget`."""

    tokens: int | None = option("--max-tokens-total N", "stop before input and output tokens go over this")
    seconds: float | None = option("--max-seconds S", "stop when this much time has passed")


class Limits(HardLimits, group=True):
    """Hard limits, and whether to ask before much is spent."""

    yes: bool = flag(
        "do not ask after the forecast (by default jurist asks above 1000 calls to a real model, or 1 USD)"
    )


class Resume(Options, group=True):
    """Options for an unfinished run."""

    resume: bool = flag(
        "after Ctrl-C, a limit or a crash: continue, and pay for nothing twice", exclusive="unfinished"
    )
    fresh: bool = flag(
        "forget an unfinished run of the same job, and use no earlier answers", exclusive="unfinished"
    )


class PaidOptions(Limits, Resume, Common, group=True):
    """Options of every job that asks models and can be continued."""


class Checkpoints(Resume, group=True):
    """Options for an unfinished run, and for the result as JSON."""

    output: str | None = option("FILE.json", "write the JSON object to a file too")


class Adapter(Options, group=True):
    """The form of prompts."""

    adapter: str | None = choice(
        "form of a basic prompt: DSPy's chat or json layout, or plain, your prompt as it stands (default: plain, "
        "if the judge has one, else chat; a version keeps its own)",
        choices=("chat", "json", "plain"),
    )


class JudgingOptions(
    Adapter,
    VerifierOptions,
    CompiledVerifiers,
    SamplingOptions,
    JudgeOptions,
    Transport,
    HardLimits,
    Common,
    group=True,
):
    """The settings of asking judges, but for the model."""

    redraw: int = option(
        "N",
        "ask again, at most N times, if a reply cannot be read (default: 1; 0: never)",
        1,
        type=nonnegative_integer,
        rare=True,
    )


class AskedOptions(ModelOptions, PanelOptions, JudgingOptions, group=True):
    """The model that answers, and the settings of asking it."""


class ScoringOptions(GoldOptions, Limits, JudgingOptions, Checkpoints, group=True):
    """Options of every command that scores judges on gold, except for the model."""
