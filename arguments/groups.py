"""Options that several commands share, one group for each subject."""

import argparse
import math
from collections.abc import Callable
from typing import Any, Literal

from .options import Options, flag, option, positional, repeated


def name(text: str) -> str:
    """Return a name that an option takes; an empty one is a variable that was not set, and never a default."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty: give a bundled name, a file or a folder")
    return text


def _within(read: Callable[[str], float], low: float, high: float, else_: str) -> Callable[[str], Any]:
    """Return what reads a number between two ends, and says of any other text ``else_``."""

    def number(text: str) -> float:
        try:
            found = read(text)
        except ValueError:
            found = math.nan
        if not low <= found <= high:
            raise argparse.ArgumentTypeError(f"{_short(text)} {else_}")
        return found

    return number


whole = _within(int, 1, math.inf, "is not possible: give a whole number, 1 or more")
share = _within(float, 0, 1, "is no share: give 0 to 1")
port = _within(int, 1, 65535, "is no port: give a number from 1 to 65535")
# The random generators of numpy, and of the optimizers that use it, take no higher seeds.
_seed = _within(int, 0, 2**32 - 1, f"is no seed: give a whole number from 0 to {2**32 - 1}")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def allowed(default: float, help: str) -> Any:
    """Return the field of a share that is allowed, 0 to 1."""
    return option(default, type=share, metavar="SHARE", help=help)


def asked_judge(help: str = "latest version, a certain one, or JUDGE:basic") -> Any:
    """Return the field of a judge that is asked."""
    return positional("JUDGE[@VERSION]|JUDGE:basic", help=help)


class Form(Options):
    """How results are printed on standard output."""

    json: bool = flag(exclusive="form", help="print one JSON object instead of tables")
    markdown: bool = flag(exclusive="form", help="print the tables as Markdown")
    html: bool = flag(exclusive="form", help="print the tables as HTML")


class StoreOptions(Options):
    """Where artifacts are."""

    store: str | None = option(
        metavar="DIR", help="folder of artifacts (default: $JURIST_STORE, else ./compiled)"
    )
    trust: bool = flag(
        help="execute the Python file that an artifact was compiled from, where its code is needed"
    )


class SeedOptions(Options):
    """The seed."""

    seed: int = option(0, type=_seed, help="of every random choice")


class Printed(StoreOptions, Form):
    """What every command has that prints what it finds in a store."""


class Common(SeedOptions, Printed):
    """The same, and a seed."""


def pair(text: str) -> tuple[str, str]:
    """Return the two sides of ``THEIRS=OURS``."""
    theirs, equals, ours = (part.strip() for part in text.partition("="))
    if not (theirs and equals and ours):
        raise argparse.ArgumentTypeError(f"{_short(text)} is no pair: write THEIRS=OURS")
    return theirs, ours


class NameOptions(Options):
    """How a file calls what the judge knows."""

    columns: tuple[tuple[str, str], ...] = repeated(
        name="--column",
        type=pair,
        metavar="THEIRS=OURS",
        help="a column of the file is this field of the judge, as answer=response",
    )
    labels: tuple[tuple[str, str], ...] = repeated(
        name="--map",
        type=pair,
        metavar="THEIRS=OURS",
        help="a label of the file means this label of the judge, as Yes=send; capitals never matter",
    )


class RowOptions(NameOptions):
    """How the rows of a file are read as a judge's."""

    rejects: str | None = option(
        metavar="F.jsonl",
        help="set rows that cannot be used aside in this file, with the reasons (default: refuse the whole)",
    )


def some_gold(help: str) -> Any:
    """Return the field of gold that need not be named."""
    return option(name="--gold", type=name, metavar="PATH|NAME", help=help)


class GoldOptions(RowOptions):
    """Labelled rows."""

    gold: str = option(
        required=True,
        type=name,
        metavar="PATH|NAME",
        help="labelled rows: a bundled name, a file, a folder, hf:org/name",
    )


class SplitOptions(Options):
    """How gold is split."""

    split: str | None = option(
        metavar="T/D/T",
        help="train, dev and test in percent (default: 30/20/50 below 300 labelled rows, else 50/20/30)",
    )


class TimeLimit(Options):
    """How long a request may take."""

    timeout: float = option(120.0, metavar="S", help="seconds one request may take")


class Concurrency(Options):
    """How many are in flight."""

    concurrency: int = option(8, type=whole, help="rows in flight at once")


class Transport(TimeLimit, Concurrency):
    """How long a request may take, and how many are in flight."""


class Endpoint(TimeLimit):
    """How a model is reached and how it draws: the settings of :class:`jurist.Model`, but for its name."""

    rpm: int | None = option(type=whole, help="requests a minute to the model at most (default: as it bears)")
    tpm: int | None = option(type=whole, help="tokens a minute at most, estimated")
    api_base: str | None = option(metavar="URL", help="address of an OpenAI-compatible server")
    key_env: str | None = option(
        name="--api-key-env",
        metavar="NAME",
        help="environment variable that holds its key (default: the provider's)",
    )
    temperature: float | None = option(
        metavar="T", help="0 to 2 (default: 0 for one draw of each row, 0.7 for several)"
    )
    max_tokens: int | None = option(
        type=whole,
        help="limit on one reply (default: by the size of the question, and none for a model that thinks first)",
    )
    structure: Literal["auto", "schema", "object", "prompt"] = option(
        "auto",
        help="what holds answers in JSON to their form (default: a schema, or the next that the endpoint takes)",
    )


class VerifierOptions(Options):
    """Who answers the frozen steps of a program, such as the verifiers of a generator."""

    judge_model: str | None = option(
        metavar="M",
        help="who answers frozen steps, such as a generator's verifiers (default: --model at temperature 0)",
    )
    judge_api_base: str | None = option(metavar="URL", help="address of an OpenAI-compatible server for them")


_MODEL = '"offline" (default), or a DSPy model string such as openai/gpt-4.1-mini'


class ModelOptions(Endpoint, Transport):
    """Who answers."""

    model: str = option("offline", metavar="M", help=_MODEL)


class ModelsOptions(Endpoint, Transport):
    """Who answers, one after the other."""

    models: tuple[str, ...] = repeated(name="--model", metavar="M", help=f"{_MODEL}")

    @property
    def names(self) -> tuple[str, ...]:
        """The models, each once; the offline engine if none is named."""
        return tuple(dict.fromkeys(self.models or ("offline",)))


class SamplingOptions(Options):
    """The settings of :class:`jurist.Sampling`."""

    samples: int | None = option(metavar="K", help="independent draws per row (default: 1, or as proven)")
    threshold: float | None = option(
        metavar="T",
        help="votes for a positive verdict, or below 1 its probability (default: fitted, or more than half)",
    )


class StrictnessOptions(Options):
    """What counts as found, of judges with tiers."""

    strictness: str | None = option(
        choices=("rational", "grounded", "irrefutable"),
        help="for judges with tiers: what falls below it is hallucinated (default: grounded, or as proven)",
    )


class HardLimits(Options):
    """Hard limits, as of :class:`jurist.Budget`."""

    calls: int | None = option(name="--max-calls", help="never make one call more")
    cost: float | None = option(name="--max-cost", metavar="USD", help="stop before the cost goes over this")


class AllLimits(HardLimits):
    """All settings of :class:`jurist.Budget`."""

    tokens: int | None = option(
        name="--max-tokens-total", help="stop before input and output tokens go over this"
    )
    seconds: float | None = option(
        name="--max-seconds", metavar="S", help="stop when this much time has passed"
    )


class Limits(HardLimits):
    """The same, and whether to ask before much is spent."""

    yes: bool = flag(help="do not ask before more than 1000 calls to a real model or more than 1 USD")


class Resume(Options):
    """What becomes of an unfinished run."""

    resume: bool = flag(exclusive="unfinished", help="continue an unfinished run of the same job")
    fresh: bool = flag(exclusive="unfinished", help="forget an unfinished run of the same job")


class PaidOptions(Limits, Resume, Common):
    """What every job takes that asks models and can be continued."""


class VerifierPromptOptions(VerifierOptions):
    """The same, and with which compiled prompts."""

    verifiers: tuple[str, ...] = repeated(
        name="--verifier",
        metavar="JUDGE@V",
        help="a compiled judge whose prompt the verifiers get that ask the same, such as answer-check@1 "
        "(default: their basic prompts, or those that a version was compiled with)",
    )


class WritingOptions(ModelOptions, VerifierPromptOptions, PaidOptions):
    """What every command takes that writes the verified items of a generator."""

    input: str = option(
        required=True,
        metavar="DOCS",
        help="rows with 'text', a folder of .txt and .md, hf:org/name, or gold with references",
    )
    output: str = option(required=True, metavar="F.jsonl", help="the file to write, an item a line")
    max_rejected: float = allowed(0.5, "share of rejected and failed items above which the exit code is 3")


class Checkpoints(Resume):
    """The same, with a place for what is unfinished and for the result."""

    checkpoint: str | None = option(
        metavar="DIR", help="folder of unfinished work (default: .checkpoints in the store)"
    )
    output: str | None = option(metavar="FILE.json", help="write the JSON object to a file too")


class JudgingOptions(VerifierOptions, SamplingOptions, StrictnessOptions, Transport, HardLimits, Common):
    """How judges are asked, but for who answers."""

    adapter: Literal["chat", "json", "xml"] | None = option(
        help="DSPy's prompt format of a basic prompt (default: chat; a version keeps its own)"
    )


class AskedOptions(ModelOptions, JudgingOptions):
    """Who answers, and how that one is asked."""


class ScoringOptions(GoldOptions, Limits, JudgingOptions, Checkpoints):
    """What every command takes that scores judges on gold, but for who answers."""


class AttackedField(Options):
    """Which text is attacked."""

    field: str = option(
        "", metavar="INPUT", help="the input that is attacked (default: that whose text is judged)"
    )


PORT = 8421
"""Of the page on which people label."""
