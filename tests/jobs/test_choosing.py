"""The matrix and the front in an artifact, and any point of the front made the artifact."""

from pathlib import Path

import pytest
from small import FAST, Done, claims, cli, ok, tree, write_jsonl

from jurist.keeping.artifact_card import Artifact
from jurist.keeping.artifacts import Store
from jurist.programs.state import PromptState

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


@pytest.fixture
def store(compiled: Path, tmp_path: Path) -> Path:
    """A copy of the joint search's store, to write into; the gold set lies beside it."""
    (tmp_path / "gold.jsonl").write_bytes((compiled / "gold.jsonl").read_bytes())
    for name, data in tree(compiled / "joint").items():
        (tmp_path / "store" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "store" / name).write_bytes(data)
    return tmp_path / "store"


def choose(store: Path, candidate: str, *more: object) -> Done:
    gold = store.parent / "gold.jsonl"
    return cli("artifacts", "choose", "fect@1", candidate, "--gold", gold, "--store", store, "--json", *more)


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


def test_every_point_of_the_front_can_be_chosen(compiled: Path, store: Path) -> None:
    first = of(store)
    assert first.card["test_openings"] == 2  # the other compilation has opened the same test at temperature 0
    tried = 2
    for version, point in enumerate(first.card["pareto"], 2):
        done = choose(store, point["candidate"])
        assert done.code == 0, done.err
        card, artifact = done.json, of(store, f"fect@{version}")
        row = next(row for row in first.history if row["candidate"] == point["candidate"])
        assert artifact.state.id == PromptState.from_json(row["prompt"]).id
        assert card["setting"] == row["setting"]
        assert card["adapter"] == row["setting"].get("adapter", "chat")
        assert card["model"]["temperature"] == row["setting"].get("temperature", 0.7)
        assert card["thresholds"] == {"samples": 3, "threshold": point["threshold"] or 2}  # a majority
        assert card["parent"] == 1
        own = point["candidate"] == first.card["optimizer"]["candidate"]
        tried += not own
        opened = 2 if own else tried  # the artifact's own candidate was proven already
        assert card["test_openings"] == card["decision"]["openings"] == opened
        assert card["decision"]["tested"] == pytest.approx(0.05 / (opened * (opened + 1)))
        assert artifact.matrix() == first.matrix()
    ok("artifacts", "verify", "--store", store)


@pytest.mark.parametrize(
    ("candidate", "gold", "words"),
    [
        ("ffffffffffff", "gold.jsonl", "no candidate 'ffffffffffff'; on its front"),
        ("", "gold.jsonl", "no candidate ''"),
        (None, "gone.jsonl", "gone.jsonl: there is no such file"),
        (None, "other.jsonl", "does not give the sealed test of fect@1"),
    ],
)
def test_what_cannot_be_chosen_is_one_line(
    candidate: str | None, gold: str, words: str, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    write_jsonl(Path("other.jsonl"), claims(20))
    named = of(store).card["pareto"][0]["candidate"] if candidate is None else candidate
    done = cli("artifacts", "choose", "fect@1", named, "--gold", gold, "--store", store)
    assert (done.code, len(done.lines), words in done.err) == (1, 1, True), done.err
