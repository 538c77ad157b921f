"""What the parsers of all commands share: how a command is added, and options that several have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = [
    "add",
    "budget_options",
    "common_options",
    "endpoint_options",
    "experiment_options",
    "gold_option",
    "handler",
    "limit_options",
    "model_options",
    "named",
    "output_options",
    "sampling_options",
    "seed_option",
    "setting_option",
    "split_option",
    "strictness_option",
    "transport_options",
    "unusable_option",
    "yes_option",
]


def handler(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """Return what calls ``jurist.console.MODULE.FUNCTION``, imported when it is called."""

    def call(arguments: argparse.Namespace) -> int:
        return int(getattr(import_module(f"..console.{module}", __package__), function)(arguments) or 0)

    return call


def add(commands: Any, name: str, help_: str, handler: Callable[..., int], examples: str = "") -> Any:
    """Add a command with its help text, its examples, and the function that does it; return its parser."""
    command = commands.add_parser(
        name,
        help=help_.split(":")[0].split("\n")[0].rstrip(".").lower(),
        description=help_,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(handler=handler)
    return command


_SEEDS = 2**32
"""Seeds are below this: the random generators of numpy, and of the optimizers that use it, take no others."""


def _seed(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number < _SEEDS:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise argparse.ArgumentTypeError(f"{shown!r} is no seed: give a whole number from 0 to {_SEEDS - 1}")
    return number


def named(text: str) -> str:
    """Return a name that an option takes; an empty one is a variable that was not set, and never a default."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty: give a bundled name, a file or a folder")
    return text


def seed_option(command: Any, of: str) -> None:
    """Add ``--seed``."""
    command.add_argument("--seed", type=_seed, default=0, metavar="N", help=f"of {of} (default: 0)")


def gold_option(command: Any, help_: str, *, required: bool = True) -> None:
    """Add ``--gold``."""
    command.add_argument("--gold", type=named, required=required, metavar="PATH|NAME", help=help_)


def model_options(command: Any, *, several: bool = False) -> None:
    """Add the options of a model; with ``several`` the model may be repeated."""
    model = '"offline" (default), or a DSPy model string such as openai/gpt-4.1-mini'
    if several:
        command.add_argument("--model", action="append", metavar="M", help=f"{model}; may be repeated")
    else:
        command.add_argument("--model", default="offline", metavar="M", help=model)
    endpoint_options(command)


def endpoint_options(
    command: Any,
    *,
    temperature: str = "0 to 2 (default: 0 for one draw of each row, 0.7 for several)",
    flight: str = "rows",
) -> None:
    """Add how a model is reached and how it draws."""
    command.add_argument("--api-base", metavar="URL", help="address of an OpenAI-compatible server")
    command.add_argument("--temperature", type=float, metavar="T", help=temperature)
    command.add_argument(
        "--max-tokens", type=int, metavar="N", help="limit on one reply (default: the provider's)"
    )
    transport_options(command, flight=flight)


def transport_options(command: Any, *, flight: str = "rows") -> None:
    """Add how long a request may take, and how many are in flight."""
    command.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="S",
        help="seconds one request may take (default: 120)",
    )
    command.add_argument(
        "--concurrency", type=int, default=8, metavar="N", help=f"{flight} in flight at once (default: 8)"
    )


def budget_options(command: Any, *, over: str = "") -> None:
    """Add hard limits."""
    command.add_argument("--max-calls", type=int, metavar="N", help=f"never make one call more{over}")
    command.add_argument("--max-cost", type=float, metavar="USD", help="stop before the cost goes over this")


def limit_options(command: Any, *, over: str = "", what: str = "job") -> None:
    """Add hard limits and resumption."""
    budget_options(command, over=over)
    unfinished = command.add_mutually_exclusive_group()
    unfinished.add_argument(
        "--resume", action="store_true", help=f"continue an unfinished run of the same {what}"
    )
    unfinished.add_argument(
        "--fresh", action="store_true", help=f"forget an unfinished run of the same {what}"
    )


def experiment_options(command: Any, *, over: str, what: str = "job") -> None:
    """Add what commands share that score several judges."""
    limit_options(command, over=over, what=what)
    command.add_argument(
        "--checkpoint", metavar="DIR", help="folder of unfinished work (default: .checkpoints in the store)"
    )
    yes_option(command)
    command.add_argument("--output", metavar="FILE.json", help="write the JSON object to a file too")
    command.add_argument(
        "--markdown", action="store_true", help="print the tables as Markdown on standard output"
    )


def yes_option(command: Any) -> None:
    """Add ``--yes``."""
    command.add_argument(
        "--yes",
        action="store_true",
        help="do not ask before more than 1000 calls to a real model or more than 1 USD",
    )


def split_option(command: Any) -> None:
    """Add ``--split``."""
    command.add_argument(
        "--split",
        default="50/20/30",
        metavar="T/D/T",
        help="shares of train, dev and test (default: 50/20/30)",
    )


def setting_option(command: Any, whose: str) -> None:
    """Add ``--set``."""
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"a setting of {whose}; may be repeated",
    )


def sampling_options(command: Any) -> None:
    """Add samples and threshold."""
    command.add_argument(
        "--samples", type=int, metavar="K", help="independent draws per row (default: 1, or as proven)"
    )
    command.add_argument(
        "--threshold",
        type=int,
        metavar="T",
        help="votes for a positive verdict (default: fitted, or more than half)",
    )


def strictness_option(command: Any) -> None:
    """Add ``--strictness``."""
    command.add_argument(
        "--strictness",
        choices=("rational", "grounded", "irrefutable"),
        help="for judges with tiers: what falls below it is hallucinated (default: grounded, or as proven)",
    )


def unusable_option(command: Any, what: str) -> None:
    """Add ``--max-unusable``."""
    command.add_argument(
        "--max-unusable",
        type=float,
        default=0.05,
        metavar="SHARE",
        help=f"share of {what} above which the exit code is 3 (default: 0.05)",
    )


def common_options(command: Any, *, of: str = "every random choice") -> None:
    """Add seed, store and ``--json``."""
    seed_option(command, of)
    output_options(command)


def output_options(command: Any) -> None:
    """Add store and ``--json``."""
    command.add_argument(
        "--store", metavar="DIR", help="folder of artifacts (default: $JURIST_STORE, else ./compiled)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
