"""What ships with the package: every built-in judge compiled, small, sealed, usable at once, and made by its script."""

import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from small import ok, tree

from jurist.keeping.artifacts import Store
from jurist.keeping.naming import judge_of
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


def test_what_ships_is_listed_verifies_can_be_used_and_was_shown_to_be_better(tmp_path: Path) -> None:
    store, names = Store(tmp_path / "mine", shipped=SHIPPED), script().shipped()
    assert names <= {one.name for one in JUDGES} | set(GENERATORS)
    for name in names:
        assert list(store.verify(name)) == []
        (one,) = (one for one in store.list(name) if one.version == 1)
        artifact = store.load(f"{name}@1")
        assert (one.shipped, one.latest) == (True, True)
        artifact.check(judge_of(artifact, store).as_compiled(artifact.card))
        assert artifact.card["test_openings"] == 1
        assert artifact.card["decision"]["verdict"] == "better"


def test_they_are_small_and_hold_nothing_of_the_machine_they_were_made_on() -> None:
    sizes = {
        folder.name: sum(map(len, tree(folder).values())) for folder in SHIPPED.iterdir() if folder.is_dir()
    }
    assert max(sizes.values(), default=0) < LARGEST, sizes
    assert sum(sizes.values()) < ALL
    for name, data in tree(SHIPPED).items():
        for folder in (tempfile.gettempdir(), Path.home()):
            assert f"{folder}/".encode() not in data, name


def test_the_flip_rate_of_every_judge_is_beside_its_card(tmp_path: Path) -> None:
    store = Store(tmp_path / "mine", shipped=SHIPPED)
    for name in script().shipped() - set(GENERATORS):
        (measured,) = store.load(f"{name}@1").robustness
        assert (measured["model"], len(measured["flips"])) == ("offline", 25), name
        assert 0 <= measured["flips"]["asked again"]["rate"] <= measured["worst"] <= 1


def test_a_built_in_judge_runs_at_once() -> None:
    Path("rows.jsonl").write_text(
        json.dumps({"conversation": "A: It was finished in 1874.", "claim": "1874"})
    )
    done = ok("run", "fect", "--input", "rows.jsonl", "--output", "out.jsonl")
    assert "fect:basic" in Path("out.jsonl").read_text()
    assert (
        "fect was not compiled yet: its basic prompt is used; jurist compile fect proves a version"
        in done.err
    )


@pytest.mark.slow
def test_the_script_makes_them_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shipped = script()
    assert not shipped.make("answer-check", tmp_path / "compiled")
    assert not (tmp_path / "compiled").exists()
    for name in sorted(shipped.shipped()):
        assert shipped.make(name, tmp_path / "compiled")
        assert shipped.differences(name, tmp_path / "compiled", SHIPPED) == []
