"""The package as it is installed: cheap to import, complete, and writing nothing by itself."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

import jurist

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("dspy", "datasets", "sklearn", "numpy", "pydantic", "rich", "optuna", "openai", "litellm")
MODULE_OF = {"scikit-learn": "sklearn", "markdown-it-py": "markdown_it"}
"""Requirement -> its module, where the two are called differently."""
HELP = "from jurist.cli import main\ntry:\n    main({argv})\nexcept SystemExit:\n    pass\n"


def _python(code: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home/cache")}
    (folder / "home").mkdir()
    (folder / "here").mkdir()
    return subprocess.run(
        [sys.executable, *flags, "-c", code],
        cwd=folder / "here",
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.parametrize(
    "code",
    [
        "import jurist; jurist.__all__; dir(jurist); jurist.__version__",
        "from jurist.evaluation.rows import JudgedRow, tally",
        HELP.format(argv=["--help"]),
        HELP.format(argv=["compile", "--help"]),
        HELP.format(argv=["export", "--help"]),
        HELP.format(argv=["--version"]),
        HELP.format(argv=["artifacts", "verify", "--help"]),
        HELP.format(argv=["nonsense"]),
    ],
)
def test_importing_and_helping_load_nothing_heavy_and_write_nothing(code: str, tmp_path: Path) -> None:
    found = (
        f"{code}\nimport sys, json\nprint(); print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    )
    assert json.loads(_python(found, tmp_path).stdout.splitlines()[-1]) == []
    assert [str(path) for path in tmp_path.rglob("*") if path.is_file()] == []


def test_loading_every_public_name_writes_nothing_where_the_user_is(tmp_path: Path) -> None:
    code = "import jurist\nfor name in jurist.__all__: getattr(jurist, name)"
    _python(code, tmp_path)
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("name", jurist.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(jurist, name)
    assert name in dir(jurist)


def test_type_checkers_see_the_same_public_names() -> None:
    stub = ast.parse((ROOT / "__init__.pyi").read_text(encoding="utf-8"))
    typed = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                typed[alias.asname] = node.module
    assert typed == jurist.MODULES


def test_every_public_name_has_one_place_on_the_page_of_python() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: jurist\.(\w+)$", page, re.MULTILINE)) == sorted(jurist.MODULES)


def raised(docstring: str) -> list[str]:
    """Return the entries of the section ``Raises`` of a docstring."""
    section = docstring.partition("\nRaises:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in section.splitlines() if re.match(r" {4}\S", line)]


@pytest.mark.parametrize("name", sorted(jurist.MODULES))
def test_what_is_raised_stands_as_a_list_that_the_page_of_python_reads(name: str) -> None:
    value = getattr(jurist, name)
    documented = [value]
    if isinstance(value, type):
        documented += [member for key, member in inspect.getmembers(value) if not key.startswith("_")]
    for one in documented:
        for entry in raised(inspect.getdoc(one) or ""):
            assert re.match(r"\w+(, \w+)*: ", entry), f"{entry!r} does not begin with the name of an error"


def imported_packages(files: Iterable[Path]) -> set[str]:
    """Return the top-level names of what files import, without Python's own modules."""
    names = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names)


def declared_modules(*extras: str) -> set[str]:
    """Return the modules that the declared requirements of the package, and of extras, bring under their own name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = list(project["dependencies"])
    for extra in extras:
        requirements += project["optional-dependencies"][extra]
    names = {re.split(r"[<>=\[ ]", requirement)[0] for requirement in requirements}
    return {MODULE_OF.get(name, name.replace("-", "_")) for name in names}


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    files = [*ROOT.glob("*.py")]
    for folder in jurist_folders():
        files += folder.rglob("*.py")
    imported = imported_packages(files)
    assert imported - declared_modules("serve", "frames") == set()
    assert declared_modules() - imported == set()


def test_plain_mypy_checks_every_folder_of_code() -> None:
    files = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"]
    folders = {folder.name for folder in jurist_folders()} - {"datasets", "compiled"}
    assert set(files) == {"*.py", *folders}


def jurist_folders() -> list[Path]:
    """Return the folders of the package that hold code."""
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    return sorted({ROOT / name.split(".")[1] for name in packages if "." in name})


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        jurist.nonsense  # noqa: B018


class TestSource:
    """The layout, which only a checkout has."""

    def test_data_folders_hold_no_python(self) -> None:
        assert [str(path) for name in ("datasets", "compiled") for path in (ROOT / name).rglob("*.py")] == []

    def test_no_module_hides_another(self) -> None:
        names = {path.stem for path in ROOT.glob("*.py")} | {
            path.parent.name for path in ROOT.glob("*/__init__.py")
        }
        taken = {*sys.stdlib_module_names, *HEAVY} - {"__main__"}
        assert names & taken == set()

    def test_every_package_is_declared_and_every_declared_one_exists(self) -> None:
        declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
        assert len(set(declared)) == len(declared)
        places = {name: ROOT.joinpath(*name.split(".")[1:]) for name in declared}
        assert [name for name, place in places.items() if not place.is_dir()] == []
        python = {
            path.parent
            for path in ROOT.rglob("__init__.py")
            if not set(path.relative_to(ROOT).parts) & {".venv", "build"}
        }
        assert python - set(places.values()) == set()
        assert set(places.values()) - python == {ROOT / "datasets", ROOT / "compiled"}


_NO_NAMES = {"YOURS", "TYPE_CHECKING", "JURIST_LLM_PYTHON"}
"""Words of CONTRIBUTING.md that look like names of ours and are none."""


def _names_in_contributing() -> tuple[set[str], set[str]]:
    """Return the paths and the names of Python that CONTRIBUTING.md puts between backticks."""
    paths: set[str] = set()
    names: set[str] = set()
    for word in re.findall(r"`([^`\n]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        for part in word.split():
            if re.fullmatch(r"[\w.]+/[\w./]*", part) and not part.startswith(".venv") and "YOURS" not in part:
                paths.add(part)
        if re.fullmatch(r"_?[A-Z][A-Z_]{3,}|_\w+|[A-Z][a-z]+[A-Z]\w+", word) and word not in _NO_NAMES:
            names.add(word)
    return paths, names


def test_contributing_names_files_and_names_that_there_are() -> None:
    paths, names = _names_in_contributing()
    assert {path for path in paths if not (ROOT / path).exists()} == set()
    source = ""
    for folder in ("arguments", "console", "evaluation", "exports", "optimizers", "programs", "tests"):
        for file in (ROOT / folder).rglob("*.py"):
            source += file.read_text(encoding="utf-8")
    assert {name for name in names if not re.search(rf"\b{name}\b", source)} == set()
    assert {"SECTIONS", "_SUBJECTS", "PLAIN_KINDS", "ScorerFile"} <= names
