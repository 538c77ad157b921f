"""How models are reached, kept in ``jurist.toml``, for every command that takes ``--model``.

The file is that of the current folder. What it says of an endpoint holds for the model that it names, and for no other:
another ``--model`` is asked at its own address, with its own key.
"""

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError, choices, why
from .groups import ModelOptions, ModelsOptions
from .options import Options

_FILE = Path("jurist.toml")
_OF_MODEL = ("api-base", "api-key-env", "rpm", "temperature", "top-p", "max-tokens", "patience")
_KEYS = (
    *("model", *_OF_MODEL, "timeout", "concurrency", "adapter"),
    *("prompt-model", "prompt-api-base", "prompt-api-key-env", "judge-model", "judge-api-base"),
)


def settings() -> Mapping[str, Any]:
    """Return what the file of the current folder says, by option without its dashes; nothing without a file."""
    try:
        kept = tomllib.loads(_FILE.read_text(encoding="utf-8")) if _FILE.is_file() else {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{_FILE} cannot be read: {why(error)}", hint="write it as TOML") from error
    for key in kept:
        if key not in _KEYS:
            raise UsageError(f"{_FILE} has no option {key!r}", hint=choices(key, _KEYS))
    if kept and "model" not in kept:
        raise UsageError(f"{_FILE} names no model", hint='add model = "provider/model"')
    return kept


def in_front(
    kept: Mapping[str, Any], command: type[Options], parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> list[str]:
    """Return the arguments of a command that names its model behind what a file says, which they override."""
    if not issubclass(command, (ModelOptions, ModelsOptions)):
        return [*arguments]
    # as the command's own parser takes it: shortened, too, or the address and the key of one model went to another
    named = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    named.add_argument("--model", action="append", default=[])
    models = named.parse_known_args([*arguments])[0].model
    flags = {flag for action in parser._actions for flag in action.option_strings}
    first = []
    for key, value in kept.items():
        of_another = models and models != [kept["model"]] and key in _OF_MODEL
        if f"--{key}" in flags and not of_another and not (key == "model" and models):
            first.append(f"--{key}={value}")
    return [*first, *arguments]
