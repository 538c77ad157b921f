"""What the parsers of all commands share: how a command is added, and options that several have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["add", "common_options", "handler", "model_options", "sampling_options"]


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


def model_options(command: Any, *, several: bool = False) -> None:
    """Add the options of a model; with ``several`` the model may be repeated."""
    model = '"offline" (default), or a DSPy model string such as openai/gpt-4.1-mini'
    if several:
        command.add_argument("--model", action="append", metavar="M", help=f"{model}; may be repeated")
    else:
        command.add_argument("--model", default="offline", metavar="M", help=model)
    command.add_argument("--api-base", metavar="URL", help="address of an OpenAI-compatible server")
    command.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="0 to 2 (default: 0 for one draw of each row, 0.7 for several)",
    )
    command.add_argument(
        "--max-tokens", type=int, metavar="N", help="limit on one reply (default: the provider's)"
    )
    command.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="S",
        help="seconds one request may take (default: 120)",
    )
    command.add_argument(
        "--concurrency", type=int, default=8, metavar="N", help="rows in flight at once (default: 8)"
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


def common_options(command: Any) -> None:
    """Add seed, store and ``--json``."""
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of every random choice (default: 0)"
    )
    command.add_argument(
        "--store", metavar="DIR", help="folder of artifacts (default: $JURIST_STORE, else ./compiled)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")
