"""Lines that decide are held by tests: each of ``mutants.toml`` is broken in a copy of the package, and tests fail.

``pytest -m mutants`` breaks them. The table itself is checked with every run of the suite: a line that was rewritten
is missed at once, and its entry is written anew.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 60
"""In which a broken line has to be found."""
TESTS_FAILED = 1
"""Exit code of pytest: tests ran, and some failed. Other codes say that they could not run."""
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "docs", "compiled", "site")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A line that decides, how it is broken, and the tests that have to fail then."""

    name: str
    file: str
    line: str
    broken: str
    tests: tuple[str, ...]


def read_mutants() -> Iterator[Mutant]:
    """Yield the entries of the table."""
    table = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text("utf-8"))
    for name, entry in table.items():
        yield Mutant(name=name, **{**entry, "tests": tuple(entry["tests"])})


MUTANTS = tuple(read_mutants())
BY_NAME = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)


@BY_NAME
def test_the_line_stands_there_once(mutant: Mutant) -> None:
    source = (ROOT / mutant.file).read_text("utf-8")
    assert source.count(mutant.line) == 1
    assert mutant.line != mutant.broken
    for test in mutant.tests:
        file, _, function = test.partition("::")
        assert not function or f"def {function}(" in (ROOT / file).read_text("utf-8")


def test_there_are_enough_of_them() -> None:
    assert len(MUTANTS) >= 25
    assert len({mutant.file for mutant in MUTANTS}) >= 15


@pytest.fixture(scope="session")
def copied_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package with its tests."""
    copy = tmp_path_factory.mktemp("copy") / "jurist"
    shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
    return copy


def run_tests(package: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run tests of a copy against that copy."""
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.mutants
@BY_NAME
def test_a_broken_line_is_found(mutant: Mutant, copied_package: Path) -> None:
    file = copied_package / mutant.file
    source = file.read_text("utf-8")
    whole = run_tests(copied_package, mutant.tests)
    assert whole.returncode == 0, whole.stdout
    try:
        file.write_text(source.replace(mutant.line, mutant.broken), "utf-8")
        broken = run_tests(copied_package, mutant.tests)
    finally:
        file.write_text(source, "utf-8")
    assert broken.returncode == TESTS_FAILED, broken.stdout
