"""What ships with the package: every built-in judge compiled, small, sealed, usable at once, and made by its script."""

import importlib.util
import json
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from small import start, tree

from jurist.keeping.artifacts import Store
from jurist.keeping.fitness import unfit
from jurist.programs.catalogue import GENERATORS, JUDGES

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "compiled"
LARGEST, ALL = 512 * 1024, 5 * 1024 * 1024  # bytes


def script() -> Any:
    spec = importlib.util.spec_from_file_location("shipped", ROOT / "benchmarks" / "shipped.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shipped"] = module
    spec.loader.exec_module(module)
    return module


def test_every_built_in_judge_and_generator_ships_verifies_and_can_be_used(tmp_path: Path) -> None:
    store = Store(tmp_path / "mine", shipped=SHIPPED)
    every = {one.name for one in JUDGES} | set(GENERATORS)
    assert {one.judge for one in store.list()} == every
    assert list(store.verify()) == []
    for one in store.list():
        artifact = store.load(f"{one.judge}@{one.version}")
        assert (one.shipped, unfit(artifact, store)) == (True, "")
        assert artifact.card["test_openings"] == 1
        assert one.latest == (artifact.card["decision"]["verdict"] == "better"), one.judge


def test_they_are_small_and_hold_nothing_of_the_machine_they_were_made_on() -> None:
    sizes = {
        folder.name: sum(map(len, tree(folder).values())) for folder in SHIPPED.iterdir() if folder.is_dir()
    }
    assert max(sizes.values()) < LARGEST, sizes
    assert sum(sizes.values()) < ALL
    for name, data in tree(SHIPPED).items():
        for folder in (tempfile.gettempdir(), Path.home()):
            assert f"{folder}/".encode() not in data, name


def test_the_flip_rate_of_every_judge_is_beside_its_card(tmp_path: Path) -> None:
    store = Store(tmp_path / "mine", shipped=SHIPPED)
    for judge in JUDGES:
        (measured,) = store.load(f"{judge.name}@1").robustness
        assert (measured["model"], len(measured["flips"])) == ("offline", 25), judge.name
        assert 0 <= measured["flips"]["asked again"]["rate"] <= measured["worst"] <= 1


def test_a_built_in_judge_runs_at_once_and_ones_own_version_wins(tmp_path: Path) -> None:
    judge = next(
        one for one in JUDGES if Store(SHIPPED).latest(one.name)
    )  # one that ships better than its basic prompt
    row = {
        "reference": "The lighthouse was finished in 1874.",
        "question": "When?",
        "sentences": ["In 1874."],
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    running = start("run", judge.name, "--input", "rows.jsonl", "--output", "out.jsonl", cwd=tmp_path)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    (line,) = (tmp_path / "out.jsonl").read_text().splitlines()
    assert f"{judge.name}@1" in line
    mine = Store(tmp_path / "compiled", shipped=SHIPPED)
    theirs = mine.load(judge.name)
    kept = mine.save(judge, theirs.state, {"parent": None}, [], make_latest=False)
    assert mine.load(f"{judge.name}@1").path == kept.path != theirs.path
    # One's own, not shown to be better: the shipped one does not step in.
    assert mine.latest(judge.name) is None


def test_a_wheel_holds_what_ships_and_nothing_that_its_owner_compiled() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    every = {one.name for one in JUDGES} | set(GENERATORS)
    wanted = {"README.md", *(f"{name}/{part}" for name in every for part in ("1/*", "latest"))}
    assert set(project["tool"]["setuptools"]["package-data"]["jurist.compiled"]) == wanted


@pytest.mark.slow
def test_the_script_makes_them_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shipped = script()
    shipped.make("answer-check", tmp_path / "compiled")
    assert shipped.differences("answer-check", tmp_path / "compiled", SHIPPED) == []
    assert shipped.differences("answer-check", tmp_path / "compiled", tmp_path / "compiled") == []
