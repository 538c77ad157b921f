"""The built-in judges and generators, and a user's own from a Python file.

``find("fect")`` and ``find("path/to/file.py:judge")`` both return a :class:`~jurist.programs.judge.Judge`,
``find("dialogue")`` and ``find("path/to/file.py:generator")`` a :class:`~jurist.programs.generator.Generator`, which is
one too.
"""

import difflib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeGuard

from ..engines.offline.filler import register_writers
from ..errors import UnknownJudgeError, suggest_name
from .cognibench import COGNIBENCH, COGNIBENCH_TAGS, DETECTOR
from .dialogue import DIALOGUE
from .dialogue_offline import DIALOGUE_WRITERS
from .faithqa.judges import FAITHQA_JUDGES
from .faithqa.offline import FAITHQA_WRITERS
from .faithqa.writing import FAITHQA_QUERIES
from .fect import FECT_JUDGES
from .generator import Generator
from .haluagent.judges import HALUAGENT_JUDGES
from .haluagent.offline import HALUAGENT_WRITERS
from .haluagent.writing import HALUAGENT, HALUAGENT_ZH
from .judge import Judge
from .plugins import Allow, PluginKind, split_file_name
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
)
JUDGES += FECT_JUDGES + FAITHQA_JUDGES + HALUAGENT_JUDGES
"""Every built-in judge."""

CATALOGUE: Mapping[str, Judge] = {judge.name: judge for judge in JUDGES}
"""Every built-in judge by name."""
GENERATORS: Mapping[str, Generator] = {
    generator.name: generator for generator in (DIALOGUE, FAITHQA_QUERIES, HALUAGENT, HALUAGENT_ZH)
}
"""Every built-in generator by name."""
register_writers(DIALOGUE_WRITERS + HALUAGENT_WRITERS + FAITHQA_WRITERS)


def _accepts_judge(value: object) -> TypeGuard[Judge]:
    return isinstance(value, Judge)


PLUGIN_JUDGES = PluginKind(
    group="jurist.judges", noun="judge", expected="a jurist.Judge", accepts=_accepts_judge
)
"""Where judges and generators come from that are not built in: Python files and installed packages."""


def find(name: str, allow: Allow | None = None) -> Judge:
    """Return a judge or generator by name: built-in, ``FILE.py:ATTRIBUTE``, of the main module, or installed.

    ``allow`` is asked whether a file may be executed.

    Raises:
        UnknownJudgeError: no judge has this name.
    """
    path, attribute = split_file_name(name)
    if path is not None:
        return PLUGIN_JUDGES.from_file(path, attribute, allow)
    if name in CATALOGUE or name in GENERATORS:
        return CATALOGUE.get(name) or GENERATORS[name]
    for value in list(vars(sys.modules["__main__"]).values()):  # such as a notebook
        if isinstance(value, Judge) and value.name == name:
            return value
    plugin = PLUGIN_JUDGES.installed(name)
    if plugin is not None:
        return plugin
    raise UnknownJudgeError(f"no judge is called {name!r}", hint=_suggest_name(name))


def _suggest_name(name: str) -> str:
    """Return the hint for an unknown name: a judge of a similar name, or a file of such a name in this folder."""
    names = list(CATALOGUE) + list(GENERATORS) + PLUGIN_JUDGES.installed_names()
    file_of_stem = {path.stem: path.name for path in Path().glob("*.py")}
    stem = name.replace("-", "_")
    if stem in file_of_stem:
        return f"did you mean {file_of_stem[stem]}:judge?"
    if not difflib.get_close_matches(name, names, n=1):
        near_stems = difflib.get_close_matches(name, file_of_stem, n=1)
        if near_stems:
            return f"did you mean {file_of_stem[near_stems[0]]}:judge?"
    return suggest_name(name, names, "or path/to/file.py:judge")


def file_of(name: str) -> tuple[Path | None, str]:
    """Return the file in a name and its attribute, by default ``judge``; the file is ``None`` if the name has none."""
    path, attribute = split_file_name(name)
    return path, attribute or "judge"


def first_steps(name: str, compiled: Iterable[str]) -> str:
    """Return the hint for a judge without an artifact; ``compiled`` are the names of the judges that have one."""
    if name in CATALOGUE or name in GENERATORS:
        return f"compile it first, use {name}:basic, or name another folder with --store"
    near_names = difflib.get_close_matches(name, list(compiled), n=1)
    if near_names:
        return f"did you mean {near_names[0]}? else compile it first"
    return "no judge is called so: compile it first from its file, or name another folder with --store"
