"""The built-in judges and generators, and a user's own from a Python file.

``find("fect")`` and ``find("path/to/file.py:judge")`` both return a :class:`~jurist.programs.judge.Judge`,
``find("dialogue")`` and ``find("path/to/file.py:generator")`` a :class:`~jurist.programs.generator.Generator`, which is
one too.
"""

import difflib
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ..errors import JudgeError, UnknownJudgeError, choices, near_file, why
from .cognibench import COGNIBENCH, COGNIBENCH_TAGS, DETECTOR
from .dialogue import DIALOGUE
from .faithqa.judges import FAITHQA_JUDGES
from .faithqa.writing import FAITHQA_QUERIES
from .fect import FECT_JUDGES
from .generator import Generator
from .haluagent.judges import HALUAGENT_JUDGES
from .haluagent.writing import HALUAGENT, HALUAGENT_ZH
from .judge import Judge
from .judge_files import JudgeFile
from .staged import COGNIBENCH_STAGED, COGNIBENCH_TAGS_STAGED
from .statements import FACTUAL, STATEMENT_TYPE, TIER, TIER_DIRECT

JUDGES: tuple[Judge, ...] = (
    COGNIBENCH,
    COGNIBENCH_TAGS,
    COGNIBENCH_STAGED,
    COGNIBENCH_TAGS_STAGED,
    STATEMENT_TYPE,
    FACTUAL,
    TIER,
    TIER_DIRECT,
    DETECTOR,
    *FECT_JUDGES,
    *FAITHQA_JUDGES,
    *HALUAGENT_JUDGES,
)
"""Every built-in judge."""

CATALOGUE: Mapping[str, Judge] = {judge.name: judge for judge in JUDGES}
"""Every judge by name."""
GENERATORS: Mapping[str, Generator] = {
    generator.name: generator for generator in (DIALOGUE, FAITHQA_QUERIES, HALUAGENT, HALUAGENT_ZH)
}
"""Every generator by name."""
_UNLOADABLE = (
    *(AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError, SyntaxError, TypeError),
    ValueError,
)
"""What loading a Python file of somebody else may raise."""


Allow = Callable[[Path, Mapping[str, str]], None]


def find(name: str, allow: Allow = lambda path, hashes: None) -> Judge:
    """Return a judge or generator by name: built-in, ``FILE.py:ATTRIBUTE``, or of the main module."""
    path, attribute = file_of(name)
    if path is not None:
        return _from_file(path, attribute, allow)
    if name in CATALOGUE or name in GENERATORS:
        return CATALOGUE.get(name) or GENERATORS[name]
    for own in list(vars(sys.modules["__main__"]).values()):  # as in a cell of a notebook
        if isinstance(own, Judge) and own.name == name:
            return own
    raise UnknownJudgeError(f"no judge is called {name!r}", hint=_meant(name))


def _meant(name: str) -> str:
    """Return the hint for an unknown name: a judge that is called nearly so, or a file here."""
    known, here = (*CATALOGUE, *GENERATORS), {path.stem: path.name for path in Path().glob("*.py")}
    own = name.replace("-", "_")
    near = [own] if own in here else []
    if not near and not difflib.get_close_matches(name, known, n=1):
        near = difflib.get_close_matches(name, here, n=1)
    return (
        f"did you mean {here[near[0]]}:judge?" if near else choices(name, known, "or path/to/file.py:judge")
    )


def file_of(name: str) -> tuple[Path | None, str]:
    """Return the file and the attribute that a name means; ``None`` if it means no file."""
    head, _, tail = name.rpartition(":")
    if head.endswith(".py"):
        return Path(head), tail
    return (Path(name) if name.endswith(".py") else None), "judge"


def executed_hashes(path: Path) -> Mapping[str, str]:
    """Return the hashes of a file that was executed as a judge's, with its modules; none if it was not."""
    return _EXECUTED.get(path.resolve(), {})


_EXECUTED: dict[Path, Mapping[str, str]] = {}


def _from_file(path: Path, attribute: str, allow: Allow) -> Judge:
    try:
        file = JudgeFile.read(path)
    except OSError as error:
        missing = why(error) if path.exists() else "no such file"
        hint = near_file(path, "*.py") or "give the path of a Python file that defines a jurist.Judge"
        raise JudgeError(f"{path}: {missing}", hint=hint) from error
    allow(path, file.hashes)
    try:
        module = file.execute()
    except _UNLOADABLE as error:
        hint = "make the file import cleanly"
        raise JudgeError(f"{path}: {type(error).__name__}: {error}", hint=hint) from error
    except SystemExit as error:
        hint = 'put what ends the program below if __name__ == "__main__":'
        raise JudgeError(
            f"{path}: the file ends the program when it is imported (sys.exit)", hint=hint
        ) from error
    _EXECUTED[path.resolve()] = file.hashes
    judges = [name for name, value in vars(module).items() if isinstance(value, Judge)]
    # a file alone means the only judge in it, whatever it is called there
    judge = getattr(module, judges[0] if attribute == "judge" and len(judges) == 1 else attribute, None)
    if not isinstance(judge, Judge):
        what = "not in it" if judge is None else f"of type {type(judge).__name__}, no jurist.Judge"
        hint = choices(attribute, judges) if judges else "name a file that defines one"
        raise JudgeError(f"{path}: {attribute!r} is {what}", hint=hint)
    return judge


def first_steps(name: str, compiled: Iterable[str]) -> str:
    """Return the hint for a judge of which nothing is compiled, ``compiled`` being those of which something is."""
    if name in CATALOGUE or name in GENERATORS:
        return f"compile it first, use {name}:basic, or name another folder with --store"
    if near := difflib.get_close_matches(name, list(compiled), n=1):
        return f"did you mean {near[0]}? else compile it first"
    return "no judge is called so: compile it first from its file, or name another folder with --store"
