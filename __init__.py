"""jurist: the compiler for LLM judges.

A judge is a DSPy program with a typed signature and an answer: a label, a score,
several labels, a set of objects, or a preference.
jurist compiles its prompt against human labels, proves the result on rows that
no optimizer saw, keeps it as a versioned artifact, and runs, compares and
exports it.

>>> import jurist
>>> gold = jurist.Gold.load("fect-mini", jurist.judge("fect"))       # doctest: +SKIP
>>> compiled = jurist.compile("fect", gold="fect-mini")              # doctest: +SKIP
>>> judge = jurist.load("fect")                                      # doctest: +SKIP
>>> judge(conversation="...", claim="...").label                     # doctest: +SKIP

Importing this package is cheap: DSPy and everything else that is heavy is
imported by the first call that needs it.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: home for home, name in re.findall(r"^from \.([\w.]+) import (\w+) as ", _STUB, re.M)}
"""Public name -> the module that has it."""
__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    """Import what is asked for, and only that."""
    if name == "__version__":
        from importlib.metadata import version

        return version("jurist")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'jurist' has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
