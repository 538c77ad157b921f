"""Artifacts between stores: what arrives is what was sent, or is refused."""

import io
import json
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judges import POLITE, changed, save
from small import cli, ok

from jurist.errors import ArtifactError
from jurist.keeping.artifacts import Store
from jurist.keeping.moving import files_of, pack, receive, unpack


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
    (first, new), (again, twice) = unpack(data, other), unpack(data, other)
    assert (new, twice) == (True, False)
    assert first.ref == again.ref == "polite@2"  # its number was free
    assert files_of(first) == files_of(sent)
    assert other.verify() == []
    assert other.load("polite").version == 2  # the first of its judge there is the latest


def test_a_number_that_is_taken_gives_the_next_one_and_says_so(mine: Store, other: Store) -> None:
    own = save(other)
    sent = mine.save(POLITE, changed(POLITE, "Another."), {}, [], make_latest=True)
    got = receive(files_of(sent), other)[0]
    assert (got.version, got.card["origin"]) == (2, {"version": 1, "sha256": sent.sha256})
    assert got.state == sent.state
    assert other.load("polite").sha256 == own.sha256  # what was the latest stays it
    assert not receive(files_of(sent), other)[1]
    assert other.verify() == []


def packed(names: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as file:
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


def test_sizes_that_are_forged_take_no_more_memory_than_they_say(other: Store) -> None:
    data = bytearray(
        packed({"polite/1/card.json": b" " * (1 << 26)}, zipfile.ZIP_DEFLATED)
    )  # 64 MiB in 64 KiB
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(mark) + at, 1000)
    tracemalloc.start()
    with pytest.raises(ArtifactError, match="cannot be unpacked"):
        unpack(bytes(data), other)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 1 << 23


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_changed_byte_is_refused_or_changes_nothing(data: st.DataObject, tmp_path: Path) -> None:
    mine, other = store_in(tmp_path / "mine"), store_in(tmp_path / "other")
    sent = mine.load("polite@1") if mine.list() else save(mine)
    whole = bytearray(pack(sent))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    try:
        received, _ = unpack(bytes(whole), other)
    except ArtifactError:
        return
    assert files_of(received) == files_of(sent)


def test_a_damaged_record_of_moves_is_one_line(mine: Store) -> None:
    save(mine)
    (mine.root / "polite" / "names.jsonl").write_text("nonsense\n")
    with pytest.raises(ArtifactError, match="moves of names"):
        mine.tag("polite@1", "latest")


def test_the_commands(tmp_path: Path) -> None:
    folder, file = str(tmp_path / "a"), str(tmp_path / "p.zip")
    store = store_in(tmp_path / "a")
    for _ in range(2):
        save(store)
    ok("artifacts", "tag", "polite@1", "prod", "--store", folder)
    ok("artifacts", "tag", "polite@2", "prod", "--store", folder)
    ok("artifacts", "tag", "polite@1", "prod", "--store", folder)
    ok("artifacts", "pack", "polite@2", "--output", file, "--store", folder)
    got = cli("artifacts", "unpack", file, "--store", str(tmp_path / "b"), "--json").json
    assert (got["artifact"], got["new"]) == ("polite@2", True)
    seen = json.loads(cli("artifacts", "list", "polite", "--store", folder, "--json").out)["artifacts"]
    assert {(one["artifact"], *one["tags"], one["latest"]) for one in seen} == {
        ("polite@1", "prod", False),
        ("polite@2", True),
    }
    for arguments in (("unpack", str(tmp_path / "none.zip")), ("list", "polit")):
        done = cli("artifacts", *arguments, "--store", folder)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("error: ")
