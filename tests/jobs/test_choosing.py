"""The matrix of candidates and cases in an artifact."""

from pathlib import Path

import pytest
from small import FAST, claims, cli, write_jsonl

from jurist.keeping.artifact_card import Artifact
from jurist.keeping.artifacts import Store

JOINT = (
    *("--optimizer", "optuna", "--set", "trials=5", "--set", "sizes=2", "--set", "sets=1"),
    *("--set", "sample=6", "--set", "steps=2"),
)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with gold and two compilations: by few-shot selection, and by the joint search with settings."""
    folder = tmp_path_factory.mktemp("chosen")
    gold = write_jsonl(folder / "gold.jsonl", claims())
    first = cli("compile", "fect", "--gold", gold, *FAST, "--store", folder / "few", "--json")
    more = ("--samples", 3)
    second = cli("compile", "fect", "--gold", gold, *JOINT, *more, "--store", folder / "joint", "--json")
    assert (first.code, second.code) == (0, 0), first.err + second.err
    return folder


def of(folder: Path, ref: str = "fect@1") -> Artifact:
    return Store(folder, shipped=folder / "none").load(ref)


@pytest.mark.parametrize("name", ["few", "joint"])
def test_the_matrix_is_whole_and_never_of_the_test(compiled: Path, name: str) -> None:
    artifact = of(compiled / name)
    rows = artifact.matrix()
    assert artifact.card["matrix"] == {"rows": len(rows)}
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row["candidate"], row["part"]
        counts[key] = counts.get(key, 0) + 1
    expected = {
        (row["candidate"], part): row[part]["cases"]
        for row in artifact.history
        for part in ("train", "dev")
        if row[part]["cases"]
    }
    assert counts == expected
    assert {row["case"] for row in rows} <= set(artifact.card["gold"]["seen"])
    assert all(0 <= row["score"] <= 1 and row["tokens"] > 0 and row["calls"] > 0 for row in rows)
    assert {label for row in rows for label in row["labels"]} <= {*artifact.card["labels"], None}
