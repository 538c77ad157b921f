"""The built-in judges, generators and gold sets, and a user's own judges from a Python file.

``find("fect")`` and ``find("path/to/file.py:judge")`` both return a :class:`~jurist.programs.judge.Judge`,
``find("dialogue")`` and ``find("path/to/file.py:generator")`` a :class:`~jurist.programs.generator.Generator`, which is
one too.
"""

import difflib
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeGuard, TypeVar

from ..errors import JudgeError, UnknownJudgeError, suggest_name
from .judge import Judge
from .plugins import AllowExecution, PluginKind, split_file_name

if TYPE_CHECKING:
    from .generator import Generator

JudgeT = TypeVar("JudgeT", bound=Judge)


class Catalogue(Mapping[str, JudgeT]):
    """Judges by name. The module of a judge is imported when the judge is asked for: all take a while."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places  # name of a judge -> the module that defines it, and its name there

    def __getitem__(self, name: str) -> JudgeT:
        module, _, attribute = self._places[name].partition(":")
        judge: JudgeT = getattr(import_module(f".{module}", __package__), attribute)
        return judge

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


CATALOGUE: Final[Catalogue[Judge]] = Catalogue(
    {
        "cognibench": "cognibench:COGNIBENCH",
        "cognibench-tags": "cognibench:COGNIBENCH_TAGS",
        "cognibench-staged": "staged:COGNIBENCH_STAGED",
        "cognibench-tags-staged": "staged:COGNIBENCH_TAGS_STAGED",
        "statement-type": "statements:STATEMENT_TYPE",
        "factual": "statements:FACTUAL",
        "tier": "statements:TIER",
        "tier-direct": "statements:TIER_DIRECT",
        "detector": "cognibench:DETECTOR",
        "fect": "fect:FECT",
        "fect-reasoning": "fect:FECT_REASONING",
        "fect-3d": "fect:FECT_3D",
        "fect-3d-reasoning": "fect:FECT_3D_REASONING",
        "fect-3d-reasoning-label": "fect:FECT_3D_LABEL",
        "constraints": "faithqa.judges:CONSTRAINTS",
        "constraints-steps": "faithqa.judges:CONSTRAINTS_STEPS",
        "satisfaction": "faithqa.judges:SATISFACTION",
        "constraint-score": "faithqa.judges:CONSTRAINT_SCORE",
        "intent-baseline": "faithqa.judges:INTENT_BASELINE",
        "fact-check": "faithqa.judges:FACT_CHECK",
        "answer-check": "haluagent.judges:ANSWER_CHECK",
        "hallucination-check": "haluagent.judges:HALLUCINATION_CHECK",
        "label-check": "haluagent.judges:LABEL_CHECK",
        "qa-conflict": "haluagent.judges:QA_CONFLICT",
    }
)
"""Every built-in judge by name."""
GENERATORS: "Final[Catalogue[Generator]]" = Catalogue(
    {
        "dialogue": "dialogue:DIALOGUE",
        "faithqa": "faithqa.writing:FAITHQA_QUERIES",
        "haluagent": "haluagent.writing:HALUAGENT",
        "haluagent-zh": "haluagent.writing:HALUAGENT_ZH",
    }
)
"""Every built-in generator by name."""
BUNDLED_GOLD: Final = Path(__file__).parent.parent / "datasets"  # it has no __init__.py
"""The folder that holds a folder for each gold set that comes with jurist."""


def list_bundled_gold() -> tuple[str, ...]:
    """Return the names of the gold sets that come with jurist, sorted."""
    return tuple(sorted(file.parent.name for file in BUNDLED_GOLD.glob("*/gold.jsonl")))


def _accepts_judge(value: object) -> TypeGuard[Judge]:
    return isinstance(value, Judge)


PLUGIN_JUDGES = PluginKind(
    group="jurist.judges", noun="judge", expected="a jurist.Judge", accepts=_accepts_judge
)
"""Where judges and generators come from that are not built in: Python files and installed packages."""


def find(name: str, allow: AllowExecution | None = None) -> Judge:
    """Return a judge or generator by name: built-in, ``FILE.py:ATTRIBUTE``, of the main module, or installed.

    ``allow`` is asked whether a file may be executed.

    Raises:
        UnknownJudgeError: no judge has this name.
        JudgeError: it is the name of a gold set or of a file without a judge.
    """
    path, attribute = split_file_name(name)
    if path is not None:
        return PLUGIN_JUDGES.from_file(path, attribute, allow)
    if is_built_in(name):
        return CATALOGUE.get(name) or GENERATORS[name]
    judge = _newest_of_main_module(name)
    if judge is not None:
        return judge
    plugin = PLUGIN_JUDGES.from_package(name)
    if plugin is not None:
        return plugin
    if name in list_bundled_gold():
        hint = f"name a judge there, and {name} as its rows"
        raise JudgeError(f"no judge is called {name!r}: it is a gold set", hint=hint)
    if _is_file(name):
        hint = f"name a judge there, and {name} as its rows; verdicts of another system are recorded:{name}"
        raise JudgeError(f"no judge is called {name!r}: it is a file that holds none", hint=hint)
    raise UnknownJudgeError(f"no judge is called {name!r}", hint=_suggest_name(name))


def _is_file(name: str) -> bool:
    """Say whether there is a file of this name; a name that no file can have is none."""
    try:
        return Path(name).is_file()
    except OSError:
        return False


def is_built_in(name: str) -> bool:
    """Say whether a judge or a generator that comes with jurist has this name."""
    return name in CATALOGUE or name in GENERATORS


def is_packaged(name: str) -> bool:
    """Say whether a judge or a generator of jurist or of another installed package has this name."""
    return is_built_in(name) or name in PLUGIN_JUDGES.installed_names()


def _newest_of_main_module(name: str) -> Judge | None:
    """Return the judge of this name that was made last of those in the main module, such as a notebook."""
    judges: list[Judge] = []
    for value in list(vars(sys.modules["__main__"]).values()):
        # A notebook holds the results of earlier cells, too: a judge before its docstring was edited.
        if isinstance(value, Judge) and value.name == name:
            judges.append(value)
    return max(judges, key=lambda judge: judge.rank, default=None)


_NEAREST_NAMES = 3
_LEAST_LIKE = 0.3
"""The likeness from which a name is listed beside an unknown one."""


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
    if difflib.get_close_matches(name, names, n=1):
        return suggest_name(name, names)
    hint = "jurist judges lists the built-in ones, jurist artifacts list the compiled ones; a file is FILE.py:judge"
    nearest_names = difflib.get_close_matches(name, names, n=_NEAREST_NAMES, cutoff=_LEAST_LIKE)
    if nearest_names:
        hint = f"the nearest names are {', '.join(nearest_names)}; {hint}"
    return hint


def file_of(name: str) -> tuple[Path | None, str]:
    """Return the file in a name and its attribute, by default ``judge``; the file is ``None`` if the name has none."""
    path, attribute = split_file_name(name)
    return path, attribute or "judge"


def first_steps(name: str, compiled: Iterable[str]) -> str:
    """Return the hint for a judge without an artifact; ``compiled`` are the names of the judges that have one."""
    if is_built_in(name):
        return f"compile it first, use {name}:basic, or name another folder with --store"
    near_names = difflib.get_close_matches(name, list(compiled), n=1)
    if near_names:
        return f"did you mean {near_names[0]}? else compile it first"
    return "no judge is called so: compile it first from its file, or name another folder with --store"
