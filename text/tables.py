"""Word lists and other tables that are data: TOML files in a folder ``data`` beside the module that reads them."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(package: str, name: str) -> dict[str, Any]:
    """Return the table ``data/NAME.toml`` of a package of ours; read once."""
    return tomllib.loads((files(package) / "data" / f"{name}.toml").read_text(encoding="utf-8"))


def filled(pattern: str, words: Mapping[str, str]) -> str:
    """Return a pattern in which every ``@NAME`` stands for one of these patterns, which may hold names too."""
    while (found := re.sub(r"@(\w+)", lambda name: f"(?:{words[name[1]]})", pattern)) != pattern:
        pattern = found
    return pattern
