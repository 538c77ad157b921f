"""What ships with the package is sealed, small and better, and built-in judges are usable without it."""

import json
import tempfile
from pathlib import Path

import pytest
from pages import script
from small import ok, tree

from jurist.keeping.artifacts import Store
from jurist.keeping.naming import judge_of
from jurist.programs.catalogue import JUDGES

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "compiled"
LARGEST = 512 * 1024  # bytes


def test_what_ships_was_shown_to_be_better_is_small_and_holds_nothing_of_its_machine(tmp_path: Path) -> None:
    store, names = Store(tmp_path / "mine", shipped=SHIPPED), script("shipped").shipped()
    assert names <= {one.name for one in JUDGES}
    for name in names:
        assert list(store.verify(name)) == []
        artifact = store.load(f"{name}@1")
        artifact.check(judge_of(artifact, store).as_compiled(artifact.card))
        assert artifact.card["decision"]["verdict"] == "better"
        files = tree(SHIPPED / name)
        assert sum(map(len, files.values())) < LARGEST
        for folder in (tempfile.gettempdir(), Path.home()):
            assert not any(f"{folder}/".encode() in data for data in files.values())


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
def test_the_script_ships_nothing_that_is_not_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shipped = script("shipped")
    assert not shipped.make("answer-check", tmp_path / "compiled")
    assert not (tmp_path / "compiled").exists()
