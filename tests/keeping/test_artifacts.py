"""The store: versions, pointers, many savers, places, and judges that do not fit."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import POLITE, ROBUSTNESS, Polite, TwoSteps, basic, changed, save

from jurist.errors import ArtifactError, UsageError
from jurist.keeping.artifacts import Store
from jurist.keeping.copying import copy_version
from jurist.programs.judge import Judge


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "mine")


# --- versions and names ------------------------------------------------------------------------


def test_versions_count_up_and_latest_moves_only_when_told(store: Store) -> None:
    assert [save(store, latest=latest).version for latest in (True, False, True, False)] == [1, 2, 3, 4]
    assert store.load("polite").version == store.load("polite@latest").version == 3
    assert [store.load(f"polite@{n}").version for n in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert [one.version for one in store.list() if one.latest] == [3]
    assert json.loads((store.root / "polite" / "names.json").read_text()) == {"latest": [3, 1]}


def test_nothing_at_all_says_so(store: Store) -> None:
    with pytest.raises(ArtifactError, match=r"no compiled artifact.*compile it first"):
        store.load("polite")
    assert (store.list(), store.verify(), store.root.exists()) == ([], [], False)  # reading writes nothing


def test_tags(store: Store) -> None:
    save(store)
    with pytest.raises(ArtifactError, match=r"there is no polite@3; version 1 exists"):
        store.load("polite@3")
    save(store)
    store.tag("polite@1", "prod")
    store.tag("polite@2", "v2.0-rc_1")
    assert store.load("polite@prod").version == 1
    store.tag("polite", "prod")
    assert store.load("polite@prod").version == 2
    assert store.list()[1].tags == ("prod", "v2.0-rc_1")
    store.tag("polite@1", "latest")
    assert store.load("polite").version == 1
    with pytest.raises(ArtifactError, match=r"no polite@beta; versions 1, 2 exist, tags prod, v2.0-rc_1"):
        store.load("polite@beta")


def files_below(folder: Path) -> dict[str, bytes]:
    """Return path -> bytes of the files below a folder, without the names of versions."""
    files = {}
    for path in folder.rglob("*.*"):
        if path.is_file() and path.name != "names.json":
            files[str(path.relative_to(folder))] = path.read_bytes()
    return files


def test_a_copy_has_its_parents_its_names_and_every_byte(store: Store, tmp_path: Path) -> None:
    save(store)
    save(store, parent=1)
    save(store)  # no part of the line
    save(store, parent=2, latest=False)
    store.tag("polite@4", "prod")
    target = Store(tmp_path / "other")
    copied = copy_version(store, "polite@4", target)
    assert [version.version for version in (*copied.foundations, copied.artifact)] == [1, 2, 4]
    assert target.verify() == []
    assert target.load("polite@prod").sha256 == store.load("polite@4").sha256
    with pytest.raises(ArtifactError, match="no version of polite is the latest"):
        target.load("polite")  # as in the first store, JUDGE alone does not mean it
    copies = files_below(target.root)
    assert copies.items() <= files_below(store.root).items()
    copy_version(store, "polite@4", target)  # again: nothing changes
    assert files_below(target.root) == copies
    copy_version(store, "polite@3", target)
    assert target.load("polite").version == 3


def test_a_copy_gets_the_measurements_that_it_lacks_and_keeps_its_own(store: Store, tmp_path: Path) -> None:
    save(store)
    target = Store(tmp_path / "other")
    copy_version(store, "polite@1", target)
    entries = [{**ROBUSTNESS, "model": model} for model in ("here", "there", "both")]
    for kept_in, models in ((store, "here both"), (target, "there both")):
        for entry in entries:
            if entry["model"] in models.split():
                kept_in.keep_added(kept_in.load("polite@1"), "robustness.json", entry)
    for _ in range(2):
        copied = copy_version(store, "polite@1", target).artifact
        assert [entry["model"] for entry in copied.robustness] == ["both", "here", "there"]
    assert [entry["model"] for entry in store.load("polite@1").robustness] == ["both", "here"]
    assert target.verify() == []


def test_a_copy_of_changed_bytes_or_over_another_version_is_refused(store: Store, tmp_path: Path) -> None:
    save(store)
    target = Store(tmp_path / "other")
    save(target, note="another")
    with pytest.raises(ArtifactError, match="has another polite@1: its number is part of its seal"):
        copy_version(store, "polite@1", target)
    with pytest.raises(UsageError, match="already"):
        copy_version(store, "polite@1", Store(store.root))
    program = store.root / "polite" / "1" / "program.json"
    program.write_bytes(program.read_bytes() + b" ")
    with pytest.raises(ArtifactError, match=r"is damaged: program\.json"):
        copy_version(store, "polite@1", Store(tmp_path / "third"))
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize("tag", ["", "3", "007", "a b", "../x", "-x", ".x", "a" * 65, "x@y", "é", "a\n"])
def test_tags_that_are_refused(store: Store, tag: str) -> None:
    save(store)
    with pytest.raises(UsageError):
        store.tag("polite", tag)


@pytest.mark.parametrize(
    "ref", ["", "@1", "Polite", "../polite", "polite@", "polite@0", "polite@01", "a/b", "polite@1@2", "."]
)
def test_refs_that_are_refused(store: Store, ref: str) -> None:
    save(store)
    for use in (store.load, store.verify, lambda ref: store.tag(ref, "x")):
        with pytest.raises(UsageError):
            use(ref)


def test_removed_numbers_that_are_named_are_not_given_again(store: Store) -> None:
    import shutil

    save(store)
    shutil.rmtree(save(store).path)
    assert [str(problem) for problem in store.verify()] == ["polite: 'latest' means version 2, which is gone"]
    with pytest.raises(ArtifactError, match=r"means version 2, which is gone; versions: 1"):
        store.load("polite")
    assert save(store).version == 3


@settings(max_examples=12)
@given(st.lists(st.tuples(st.sampled_from(["save", "keep", "tag", "latest"]), st.integers(0, 9)), max_size=8))
def test_pointers_follow_a_simple_model(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    store = Store(tmp_path_factory.mktemp("s") / "x")
    count, latest = 0, None
    tags: dict[str, int] = {}
    state = basic(POLITE)
    for what, pick in steps:
        if what in ("save", "keep"):
            count += 1
            latest = count if what == "save" else latest
            assert store.save(POLITE, state, {}, [], make_latest=what == "save").version == count
        elif count:
            version = pick % count + 1
            store.tag(f"polite@{version}", "t" if what == "tag" else "latest")
            tags, latest = ({"t": version}, latest) if what == "tag" else (tags, version)
    assert [one.version for one in store.list()] == list(range(1, count + 1))
    assert {tag: one.version for one in store.list() for tag in one.tags} == tags
    assert next((one.version for one in store.list() if one.latest), None) == latest
    assert store.verify() == []


# --- many savers -------------------------------------------------------------------------------


@pytest.mark.parametrize("locks", [True, False])
def test_threads_never_overwrite(store: Store, locks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not locks:  # the rename still protects
        monkeypatch.setattr("fcntl.flock", Mock(side_effect=OSError))

    def saved(number: int) -> Any:
        return store.save(POLITE, basic(POLITE), {"parent": number}, [], make_latest=True)

    with ThreadPoolExecutor(8) as pool:
        artifacts = list(pool.map(saved, range(24)))
    assert sorted(artifact.version for artifact in artifacts) == list(range(1, 25))
    assert all(store.load(artifact.ref).card["parent"] == artifact.card["parent"] for artifact in artifacts)
    assert not locks or store.load("polite").version == 24
    assert store.verify() == []
    assert not [entry for entry in (store.root / "polite").iterdir() if entry.name.startswith(".")]


# --- places ------------------------------------------------------------------------------------


def test_root_comes_from_argument_then_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Store().root == Path("compiled")
    monkeypatch.setenv("JURIST_STORE", str(tmp_path / "env"))
    assert Store().root == tmp_path / "env"
    assert Store(tmp_path / "arg").root == tmp_path / "arg"
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path / "a" / "b")
    (tmp_path / "a").write_text("in the way")
    with pytest.raises(ArtifactError, match="cannot be written"):
        save(store)
    with pytest.raises(ArtifactError, match="not a folder"):
        Store(tmp_path / "a")


def test_a_failed_write_leaves_no_trace(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    save(store)
    real = os.fsync
    calls: list[int] = []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArtifactError, match="No space left"):
        save(store)
    assert [one.version for one in store.list()] == [1]
    assert sorted(entry.name for entry in (store.root / "polite").iterdir()) == ["1", "names.json"]


def test_other_folders_in_the_store_are_left_alone(store: Store) -> None:
    save(store)
    (store.checkpoints / "x").mkdir(parents=True)
    (store.root / "Notes").mkdir()
    (store.root / "empty").mkdir()
    (store.root / "README.md").write_text("x")
    assert [one.judge for one in store.list()] == ["polite"]
    assert store.verify() == []


# --- does it fit -------------------------------------------------------------------------------


SHORTER = dspy.Signature("reply -> polite: Literal['yes', 'no']")
THREE = dspy.Signature("message, reply -> polite: Literal['yes', 'no', 'unclear']")


class Reworded(Polite):
    """Another text in the code."""

    reply: str = dspy.InputField(desc="another description in the code")


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (replace(POLITE, name="rude"), "judge"),
        (replace(POLITE, positive=frozenset({"yes"})), "positive"),
        (Judge(name="polite", signature=SHORTER, positive=frozenset({"no"})), "inputs"),
        (Judge(name="polite", signature=THREE, positive=frozenset({"no"})), "labels"),
    ],
)
def test_another_judge_is_refused(store: Store, other: Judge, word: str) -> None:
    with pytest.raises(ArtifactError, match=rf"polite@1 was compiled for {word}"):
        save(store).program(other)


@pytest.mark.parametrize("program", [TwoSteps, lambda: dspy.ChainOfThought(Polite)])
def test_another_program_is_refused(store: Store, program: Any) -> None:
    with pytest.raises(ArtifactError, match="polite@1"):
        save(store).program(replace(POLITE, program=program))


def test_another_output_beside_the_answer_is_refused(store: Store) -> None:
    longer = POLITE.signature.prepend("why", dspy.OutputField(), str)
    with pytest.raises(ArtifactError, match="other fields"):
        save(store).program(replace(POLITE, program=lambda: dspy.Predict(longer)))


def test_the_descriptions_that_were_proved_come_back(store: Store) -> None:
    artifact = save(store)
    program = artifact.program(Judge(name="polite", signature=Reworded, positive=frozenset({"no"})))
    content = dspy.ChatAdapter().format(program.signature, program.demos, {"message": "m", "reply": "r"})
    original = changed(POLITE).apply(POLITE.basic())
    assert content == dspy.ChatAdapter().format(
        original.signature, original.demos, {"message": "m", "reply": "r"}
    )


def test_damaged_names_are_one_line_and_nothing_is_written_over_them(store: Store) -> None:
    save(store)
    (store.root / "polite" / "names.json").write_text("nonsense\n")
    for write in (lambda: store.tag("polite@1", "latest"), lambda: save(store)):
        with pytest.raises(ArtifactError, match="does not hold names and versions"):
            write()
    assert [one.version for one in store.list()] == [1]


def test_a_store_that_is_only_read_keeps_unfinished_work_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "mine")
    own = Store("here").checkpoints
    monkeypatch.setattr("os.access", lambda path, mode: False)  # the superuser may write anywhere
    elsewhere = [Store(name).checkpoints for name in ("here", "there")]
    assert own == Path("here/.checkpoints")
    assert {path.parent for path in elsewhere} == {Path("mine/jurist/checkpoints")}
    assert elsewhere[0] != elsewhere[1]
