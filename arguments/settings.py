"""How models are reached, kept in ``jurist.toml`` or ``[tool.jurist]`` of ``pyproject.toml``, for every command.

The file is that of the current folder. What it says of an endpoint holds for the model that it names, and for no other:
another ``--model`` is asked at its own address, with its own key.
"""

import argparse
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError, choices, why
from .groups import ModelOptions, ModelsOptions
from .options import Options

_FILES = ("jurist.toml", "pyproject.toml")
_OF_MODEL = ("api-base", "api-key-env", "rpm", "tpm", "temperature", "max-tokens", "structure", "patience")
_KEYS = (
    *("model", *_OF_MODEL, "timeout", "concurrency", "adapter"),
    *("prompt-model", "prompt-api-base", "prompt-api-key-env", "judge-model", "judge-api-base"),
)


def settings() -> Mapping[str, Any]:
    """Return what the file of the current folder says, by option without its dashes; nothing without a file."""
    for name in _FILES:
        path = Path(name)
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        except (OSError, ValueError) as error:
            if name == "pyproject.toml":  # of others: it says nothing to us
                continue
            raise UsageError(f"{name} cannot be read: {why(error)}", hint="write it as TOML") from error
        kept = found if name == "jurist.toml" else found.get("tool", {}).get("jurist", {})
        for key in kept:
            if key not in _KEYS:
                raise UsageError(f"{name} has no option {key!r}", hint=choices(key, _KEYS))
        if kept and "model" not in kept:
            raise UsageError(f"{name} names no model", hint='add model = "provider/model"')
        if kept:
            return kept
    return {}


def apply(
    kept: Mapping[str, Any], command: type[Options], parser: argparse.ArgumentParser
) -> Mapping[str, tuple[Any, Any]]:
    """Make what a file says the defaults of a command that names its model; return field -> that and what was."""
    applied = {}
    by_flag = {flag: action for action in parser._actions for flag in action.option_strings}
    for key, value in kept.items() if issubclass(command, (ModelOptions, ModelsOptions)) else ():
        action = by_flag.get(f"--{key}")
        if action is None:
            continue
        try:
            read = parser._get_value(action, str(value))
            parser._check_value(action, read)
        except argparse.ArgumentError as error:
            raise UsageError(f"jurist.toml, option {key!r}: {error.message}") from error
        plain = action.default
        action.default = (read,) if isinstance(plain, tuple) else read
        applied[action.dest] = action.default, plain
    return applied


def keep_to_model(parser: Any, namespace: argparse.Namespace) -> None:
    """Take back what a file says of an endpoint, where another model was named than the file's."""
    name = "models" if "models" in parser.kept else "model"
    if getattr(namespace, name) == parser.kept[name][0]:
        return
    for action in parser._actions:
        own = {flag.removeprefix("--") for flag in action.option_strings} & {*_OF_MODEL}
        if (
            own
            and action.dest in parser.kept
            and getattr(namespace, action.dest) == parser.kept[action.dest][0]
        ):
            setattr(namespace, action.dest, parser.kept[action.dest][1])
