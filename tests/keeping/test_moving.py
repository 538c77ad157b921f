"""Artifacts between stores: what arrives is what was sent, or is refused."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hub import Hub
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import POLITE, changed, save
from small import cli, ok

from jurist.errors import ArtifactError, UsageError
from jurist.keeping.artifacts import Store
from jurist.keeping.moving import files_of, pack, receive, unpack
from jurist.keeping.places import pull, push
from jurist.keeping.shelves import Shelf


def store_in(folder: Path) -> Store:
    return Store(folder, shipped=folder / "none")


@pytest.fixture
def mine(tmp_path: Path) -> Store:
    return store_in(tmp_path / "mine")


@pytest.fixture
def other(tmp_path: Path) -> Store:
    return store_in(tmp_path / "other")


def test_a_packed_artifact_arrives_byte_for_byte_and_once(mine: Store, other: Store) -> None:
    save(mine)
    sent = save(mine)
    data = pack(sent)
    assert data == pack(sent)
    first, again = unpack(data, other), unpack(data, other)
    assert (first.new, again.new) == (True, False)
    assert first.artifact.ref == again.artifact.ref == "polite@2"  # its number was free
    assert files_of(first.artifact) == files_of(sent)
    assert other.verify() == []
    assert other.load("polite").version == 2  # the first of its judge there is the latest


def test_a_number_that_is_taken_gives_the_next_one_and_says_so(mine: Store, other: Store) -> None:
    own = save(other)
    sent = mine.save(POLITE, changed(POLITE, "Another."), {}, [], make_latest=True)
    got = receive(files_of(sent), other).artifact
    assert (got.version, got.card["origin"]) == (2, {"version": 1, "sha256": sent.sha256})
    assert got.state == sent.state
    assert other.load("polite").sha256 == own.sha256  # what was the latest stays it
    assert not receive(files_of(sent), other).new
    assert other.verify() == []


def packed(names: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, data in names.items():
            file.writestr(name, data)
    return made.getvalue()


BAD: dict[str, Callable[[dict[str, bytes]], dict[str, bytes]]] = {
    "empty": lambda files: {},
    "outside": lambda files: {"../polite/1/card.json": b"x"},
    "foreign file": lambda files: {**files, "polite/1/judge.py": b"x"},
    "two artifacts": lambda files: {
        **files,
        **{name.replace("/1/", "/2/"): data for name, data in files.items()},
    },
    "absolute": lambda files: {"/polite/1/card.json": b"x"},
    "missing file": lambda files: {name: data for name, data in files.items() if "history" not in name},
    "changed byte": lambda files: {
        name: data.replace(b"Decide", b"decide") if "program" in name else data
        for name, data in files.items()
    },
    "other judge": lambda files: {
        name: data.replace(b'"judge": "polite"', b'"judge": "../x"') for name, data in files.items()
    },
}


@pytest.mark.parametrize("how", sorted(BAD))
def test_what_is_no_whole_artifact_is_refused(how: str, mine: Store, other: Store) -> None:
    files = {f"polite/1/{name}": data for name, data in files_of(save(mine)).items()}
    with pytest.raises(ArtifactError):
        unpack(packed(BAD[how](files)), other)
    assert other.list() == []


def test_a_file_that_grows_beyond_bounds_is_refused_before_it_is_read(
    mine: Store, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jurist.keeping.moving._LARGEST", 100)
    with pytest.raises(ArtifactError, match="more than"):
        unpack(pack(save(mine)), other)


def test_a_folder_is_a_place(mine: Store, other: Store, tmp_path: Path) -> None:
    sent, place = save(mine), str(tmp_path / "team")
    assert push(sent, place).new
    assert not push(sent, place).new
    assert pull("polite@1", place, other).artifact.sha256 == sent.sha256
    for name, there, said in (
        ("polite", tmp_path / "nowhere", "there is no folder"),
        ("polit", place, f"no artifact of judge 'polit' in {place}; did you mean polite"),
        ("polite", tmp_path, "check its name, or name another place"),
        ("polite@7", place, "there is no polite@7"),
    ):
        with pytest.raises(ArtifactError, match=said):
            pull(name, str(there), other)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    made = Hub(monkeypatch)
    yield made
    made.close()


def test_the_hub_is_a_place_for_its_own_client(mine: Store, other: Store, hub: Hub) -> None:
    one, two = save(mine), mine.save(POLITE, changed(POLITE, "Another."), {}, [], make_latest=True)
    assert [push(sent, "hf://acme/judges").artifact.version for sent in (one, two, one)] == [1, 2, 1]
    assert (hub.private, hub.tokens) == ({"acme/judges"}, {"Bearer hf_no_token"})
    there = hub.files["acme/judges"]
    assert {name.split("/")[1] for name in there if name.split("/")[1].isdigit()} == {"1", "2"}
    assert not any(b"hf_no_token" in data for data in there.values())
    assert pull("polite@2", "hf://acme/judges", other).artifact.sha256 == two.sha256
    with pytest.raises(ArtifactError, match="there is no polite@3"):
        pull("polite@3", "hf://acme/judges", other)
    with pytest.raises(
        ArtifactError, match="no artifact of judge 'polit' in hf://acme/judges; check its name"
    ):
        pull("polit", "hf://acme/judges", other)
    with pytest.raises(ArtifactError, match=r"^hf://acme/none cannot be used"):
        pull("polite", "hf://acme/none", other)


def test_what_was_changed_on_the_hub_is_refused(mine: Store, other: Store, hub: Hub) -> None:
    push(save(mine), "hf://acme/judges")
    name = "polite/1/program.json"
    hub.files["acme/judges"][name] = hub.files["acme/judges"][name].replace(b"Decide", b"Defend")
    with pytest.raises(ArtifactError, match="damaged"):
        pull("polite", "hf://acme/judges", other)
    assert other.list() == []


@pytest.mark.parametrize("place", ["hf://", "hf://x", "hf://a/b/c", "hf:///b"])
def test_what_is_no_repository_is_said(place: str, mine: Store) -> None:
    with pytest.raises(UsageError, match="hf://OWNER/NAME"):
        push(save(mine), place)


def test_a_hub_that_cannot_be_reached_is_one_line(mine: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    def refuse(*_: Any, **__: Any) -> None:
        raise httpx.ConnectError("no route\nto host")

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    with pytest.raises(ArtifactError, match=r"^hf://a/b cannot be used: no route to host"):
        pull("polite", "hf://a/b", mine)


# --- names go back -----------------------------------------------------------------------------


@settings(max_examples=50)
@given(steps=st.lists(st.integers(1, 3) | st.just(0), max_size=10))
def test_a_name_goes_back_through_all_that_it_meant(
    steps: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    shelf, meant = Shelf(tmp_path_factory.mktemp("shelf"), "polite"), list[int]()
    for _ in range(3):
        shelf.add(lambda version: {"card.json": b"{}"}, make_latest=False)
    for step in steps:
        if step:
            shelf.point("prod", step)
            meant.append(step)
        elif len(meant) > 1:
            meant.pop()
            assert shelf.back("prod") == meant[-1]
        else:
            with pytest.raises(ArtifactError, match="nothing that is known"):
                shelf.back("prod")
        assert shelf.moves("prod") == meant
        assert shelf.number("prod") == (meant[-1] if meant else None)


def test_a_name_that_was_moved_before_moves_were_noted_goes_back_too(mine: Store) -> None:
    save(mine)
    save(mine)
    shelf = Shelf(mine.root, "polite")
    (shelf.path / "names.jsonl").unlink()
    mine.tag("polite@1", "latest")
    assert mine.rollback("polite", "latest") == 2


def test_a_damaged_record_of_moves_is_one_line(mine: Store) -> None:
    save(mine)
    (mine.root / "polite" / "names.jsonl").write_text("nonsense\n")
    with pytest.raises(ArtifactError, match="moves of names"):
        mine.rollback("polite", "latest")


def test_the_commands(tmp_path: Path) -> None:
    folder, file = str(tmp_path / "a"), str(tmp_path / "p.zip")
    store = store_in(tmp_path / "a")
    for _ in range(2):
        save(store)
    ok("artifacts", "tag", "polite@1", "prod", "--store", folder)
    ok("artifacts", "tag", "polite@2", "prod", "--store", folder)
    assert (
        "polite@prod means polite@1 again"
        in cli("artifacts", "rollback", "polite@prod", "--store", folder).out
    )
    ok("artifacts", "pack", "polite@2", "--output", file, "--store", folder)
    got = cli("artifacts", "unpack", file, "--store", str(tmp_path / "b"), "--json").json
    assert (got["artifact"], got["new"]) == ("polite@2", True)
    ok("artifacts", "push", "polite@1", str(tmp_path / "b"), "--store", folder)
    ok("artifacts", "pull", "polite@1", str(tmp_path / "b"), "--store", str(tmp_path / "c"))
    seen = json.loads(cli("artifacts", "lineage", "polite", "--store", folder, "--json").out)
    assert [(one["version"], one["names"]) for one in seen["versions"]] == [(1, ["prod"]), (2, ["latest"])]
    for arguments in (("unpack", str(tmp_path / "none.zip")), ("lineage", "polit"), ("rollback", "polit")):
        done = cli("artifacts", *arguments, "--store", folder)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("error: ")
