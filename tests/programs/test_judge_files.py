"""A judge's file gets the modules that were read and hashed, and nobody else gets them."""

import copy
import multiprocessing
import pickle
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from jurist.programs.judge_files import JudgeFile


@pytest.fixture(autouse=True)
def _modules_of_the_host() -> Iterator[None]:
    before = dict(sys.modules)
    yield
    for name in sys.modules.keys() - before.keys():
        del sys.modules[name]
    sys.modules.update(before)


def write(folder: Path, **sources: str) -> Path:
    """Write modules, ``a__b`` for ``a/b.py``, and return the folder."""
    for name, source in sources.items():
        file = folder / (name.replace("__", "/", 1) + ".py")
        if name.endswith("__init"):
            file = folder / name.removesuffix("__init") / "__init__.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return folder


def execute(folder: Path) -> types.ModuleType:
    return JudgeFile.read(folder / "mine.py").execute()


IMPORTS = [
    ("import helpers\nfound = helpers.NAME", "judge"),
    ("import helpers as other\nfound = other.NAME", "judge"),
    ("from helpers import NAME as found", "judge"),
    ("from helpers import *\nfound = NAME", "judge"),
    ("import json, helpers, os.path\nfound = json.loads(json.dumps(helpers.NAME)) + os.path.sep", "judge/"),
    ("def find():\n    import helpers\n    return helpers.NAME\nfound = find()", "judge"),
    (
        "class A:\n    import rules.words\n    found = rules.words.NAME + rules.ALL\nfound = A.found",
        "wordsall",
    ),
    ("import rules.words\nfound = rules.ALL + rules.words.NAME", "allwords"),
    ("import rules.words as words\nfound = words.NAME", "words"),
    ("from rules import words\nfound = words.NAME", "words"),
    ("from rules.words import NAME as found", "words"),
    ("try:\n    import rules.nothing\nexcept ModuleNotFoundError:\n    found = 'none'", "none"),
    ("from __future__ import annotations\nimport helpers\nfound = helpers.NAME", "judge"),
    ("from rules.words import NESTED as found", "judge"),
    ("import chain\nfound = chain.NAME", "judge!"),
    ("import circle\nfound = circle.NAME + circle.other.name()", "circlecircle"),
    (
        "import dataclasses, helpers\n@dataclasses.dataclass\nclass A:\n    a: 'helpers.Row'\n"
        "import typing\nfound = typing.get_type_hints(A)['a'].__name__",
        "Row",
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path / "judge",
        helpers="NAME = 'judge'\nclass Row:\n    pass\n",
        chain="from helpers import NAME as first\nNAME = first + '!'\n",
        circle="import other\nNAME = 'circle'\n",
        other="import circle\ndef name():\n    return circle.NAME\n",
        rules__init="from . import words\nfrom rules.words import ALL\n",
        rules__words="import helpers\nNAME = 'words'\nALL = 'all'\nNESTED = helpers.NAME\n",
    )


@pytest.mark.parametrize(("source", "found"), IMPORTS)
@pytest.mark.parametrize("host_has_them", [False, True])
def test_every_import_gets_what_was_read(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    found: str,
    host_has_them: bool,
) -> None:
    if host_has_them:
        names = ("helpers", "rules", "chain", "circle", "other")
        write(tmp_path / "host", **dict.fromkeys(names, "NAME = 'host'\n"))
        monkeypatch.syspath_prepend(str(tmp_path / "host"))
        for name in names:
            __import__(name)
    hosts = {name: module for name, module in sys.modules.items() if not name.startswith("jurist_user")}
    assert execute(write(folder, mine=source)).found == found
    for name in ("helpers", "rules", "rules.words", "chain", "circle", "other"):
        assert sys.modules.get(name) is hosts.get(name)


def test_later_imports_of_the_host_are_its_own(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = execute(write(folder, mine="def find():\n    import helpers\n    return helpers.NAME\n"))
    monkeypatch.syspath_prepend(str(write(tmp_path / "host", helpers="NAME = 'host'\n")))
    import helpers  # type: ignore[import-not-found]

    assert helpers.NAME == "host"
    assert module.find() == "judge"
    assert sys.modules["helpers"] is helpers


def test_two_judges_with_modules_of_one_name_do_not_meet(tmp_path: Path) -> None:
    source = "import helpers\ndef find():\n    import late\n    return helpers.NAME + late.NAME\n"
    modules = []
    for name in ("first", "second"):
        place = write(tmp_path / name, mine=source, helpers=f"NAME = '{name}'", late=f"NAME = ' {name}'")
        modules.append(execute(place))
    assert [module.find() for module in modules] == ["first first", "second second"]


def test_what_was_edited_since_is_not_what_an_earlier_judge_imports(folder: Path) -> None:
    write(folder, mine="def find():\n    import helpers\n    return helpers.NAME\n")
    before = execute(folder)
    write(folder, helpers="NAME = 'edited'\n")
    after = execute(folder)
    assert (before.find(), after.find()) == ("judge", "edited")


def test_what_is_executed_is_what_was_read(folder: Path) -> None:
    write(folder, mine="import helpers, rules.words\nfound = helpers.NAME + rules.words.NAME\n")
    file = JudgeFile.read(folder / "mine.py")
    write(folder, mine="found = 'edited'", helpers="NAME = 'edited'", rules__words="NAME = 'edited'")
    assert file.execute().found == "judgewords"


def test_modules_are_executed_anew_with_their_file(folder: Path) -> None:
    write(folder, mine="import helpers\nhelpers.NAME += '+'\nfound = helpers.NAME\n")
    assert [execute(folder).found, execute(folder).found] == ["judge+", "judge+"]


def _type_name(value: object) -> str:
    return type(value).__name__


def test_their_values_are_copied_and_pickled(folder: Path) -> None:
    module = execute(write(folder, mine="from helpers import Row\nclass Own:\n    pass\n"))
    for value in (module.Row(), module.Own()):
        assert type(pickle.loads(pickle.dumps(value))) is type(value)  # noqa: S301 - our own
        assert type(copy.deepcopy(value)) is type(value)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(_type_name, [module.Row(), module.Own()]) == ["Row", "Own"]


@pytest.mark.parametrize(
    ("source", "error"),
    [("import helpers\n1 +\n", SyntaxError), ("import helpers\nraise KeyError(helpers.NAME)\n", KeyError)],
)
def test_errors_name_the_line_of_the_file(folder: Path, source: str, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        execute(write(folder, mine=source))
    if isinstance(raised.value, SyntaxError):
        assert (raised.value.filename, raised.value.lineno) == (str(folder / "mine.py"), 2)
    else:
        assert raised.traceback[-1].lineno == 1
        assert str(raised.traceback[-1].path) == str(folder / "mine.py")
