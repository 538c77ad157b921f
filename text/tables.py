"""Word lists and other tables that are data: TOML files in a folder ``data`` beside the module that reads them."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_table(package: str, name: str) -> dict[str, Any]:
    """Return the table ``data/NAME.toml`` of a package of ours; read once."""
    return tomllib.loads((files(package) / "data" / f"{name}.toml").read_text(encoding="utf-8"))
