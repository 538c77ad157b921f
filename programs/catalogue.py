"""The built-in judges and generators, those of plug-ins, and a user's own from a Python file.

``find("fect")`` and ``find("path/to/file.py:judge")`` both return a
:class:`~jurist.programs.judge.Judge`, ``find("dialogue")`` and ``find("path/to/file.py:generator")`` a
:class:`~jurist.programs.generator.Generator`, which is one too.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from ..errors import JudgeError, choices
from .cognibench import COGNIBENCH
from .cognibench_tags import COGNIBENCH_TAGS
from .detector import DETECTOR
from .dialogue import DIALOGUE
from .faithqa.judges import FAITHQA_JUDGES
from .faithqa.writing import FAITHQA_QUERIES
from .fect import FECT_JUDGES
from .generator import Generator
from .haluagent.judges import HALUAGENT_JUDGES
from .haluagent.writing import HALUAGENT, HALUAGENT_ZH
from .judge import Judge
from .plugins import UNLOADABLE, Registry
from .staged import COGNIBENCH_STAGED
from .statements import FACTUAL, STATEMENT_TYPE
from .tiers import TIER

__all__ = ["CATALOGUE", "GENERATORS", "JUDGES", "find"]

JUDGES: tuple[Judge, ...] = (
    COGNIBENCH,
    COGNIBENCH_TAGS,
    COGNIBENCH_STAGED,
    STATEMENT_TYPE,
    FACTUAL,
    TIER,
    DETECTOR,
    *FECT_JUDGES,
    *FAITHQA_JUDGES,
    *HALUAGENT_JUDGES,
)
"""Every built-in judge."""

CATALOGUE: Registry[Judge] = Registry(
    {judge.name: judge for judge in JUDGES},
    group="jurist.judges",
    fits=lambda found: isinstance(found, Judge),
    what="judge",
)
"""Every judge by name, those of plug-ins too."""
GENERATORS: Registry[Generator] = Registry(
    {one.name: one for one in (DIALOGUE, FAITHQA_QUERIES, HALUAGENT, HALUAGENT_ZH)},
    group="jurist.generators",
    fits=lambda found: isinstance(found, Generator),
    what="generator",
)
"""Every generator by name, those of plug-ins too."""


def find(name: str) -> Judge:
    """Return a judge or generator by name: a built-in one, a plug-in's, or ``FILE.py:ATTRIBUTE`` (default: ``judge``).

    Raises:
        JudgeError: there is none, or its file cannot be used.
    """
    head, _, tail = name.rpartition(":")
    if head.endswith(".py") or name.endswith(".py"):
        return _from_file(Path(head or name), tail if head else "judge")
    for registry in (CATALOGUE, GENERATORS):
        if name in registry:
            return registry[name]
    known = (*CATALOGUE, *GENERATORS)
    raise JudgeError(f"no judge is called {name!r}", hint=f"{choices(name, known)}, or path/to/file.py:judge")


def _from_file(path: Path, attribute: str) -> Judge:
    if not path.is_file():
        raise JudgeError(
            f"{path}: no such file", hint="give the path of a Python file that defines a jurist.Judge"
        )
    module_name = f"jurist_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise JudgeError(f"{path}: not a Python file", hint="its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except UNLOADABLE as error:
        raise JudgeError(
            f"{path}: {type(error).__name__}: {error}", hint="make the file import cleanly"
        ) from error
    judge = getattr(module, attribute, None)
    if not isinstance(judge, Judge):
        kind = "nothing" if judge is None else type(judge).__name__
        raise JudgeError(
            f"{path}: {attribute!r} is {kind}, not a jurist.Judge", hint="name the variable after the colon"
        )
    return judge
