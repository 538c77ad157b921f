"""No changed byte is missed, and a damaged artifact is never loaded."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jurist.errors import ArtifactError
from jurist.keeping.artifact_card import Artifact
from jurist.keeping.artifacts import Store
from jurist.keeping.sealing import (
    CARD,
    FILES,
    HISTORY,
    PROGRAM,
    PROOF,
    SEEN,
    canonical_json,
    inspect_files,
    seal_card,
)
from jurist.programs.fect import FECT
from jurist.programs.state import PromptState

SEALED = (*FILES, PROOF)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "mine")
    history = [{"id": "a", "instruction": "x  y"}, {"id": "b"}]
    records = {PROOF: [{"candidate": "a", "case": "c", "score": 1.0}, {"candidate": "b"}]}
    card = {"gold": {"name": "g  h"}}
    store.save(FECT, PromptState.of(FECT.basic()), card, history, make_latest=True, records=records)
    return store


@pytest.fixture
def artifact(store: Store) -> Artifact:
    return store.load("fect")


def refused(store: Store) -> bool:
    try:
        store.load("fect@1")
    except ArtifactError as error:
        return "damaged" in str(error) and "restore" in str(error)
    return False


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(SEALED),
    where=st.floats(0, 1),
    insert=st.sampled_from([b"", b" ", b"\n", b"\t", b"\r", b"0", b"\xff", b"A", b"\x00"]),
    drop=st.integers(0, 3),
)
def test_every_changed_byte_is_found(
    store: Store, artifact: Artifact, name: str, where: float, insert: bytes, drop: int
) -> None:
    path = artifact.path / name
    good = path.read_bytes()
    position = int(where * len(good))
    bad = good[:position] + insert + good[position + drop :]
    try:
        path.write_bytes(bad)
        assert bool(inspect_files(artifact.path).faults) == (bad != good) == refused(store)
        if name == PROOF and bad != good:  # which is read when it is asked for
            with pytest.raises(ArtifactError, match=r"proof\.jsonl was changed"):
                artifact.proof()
    finally:
        path.write_bytes(good)


def _edit(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        (path / name).write_bytes(change((path / name).read_bytes()))

    return damage


def _without(key: str) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        card = json.loads(data)
        del card[key]
        return canonical_json(card)

    return change


def _reordered(data: bytes) -> bytes:
    card = dict(reversed(json.loads(data).items()))
    return (json.dumps(card, indent=2, ensure_ascii=False) + "\n").encode()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: (path / PROGRAM).unlink(), "program.json: is missing"),
        (lambda path: (path / HISTORY).unlink(), "history.jsonl: is missing"),
        (lambda path: (path / CARD).unlink(), "card.json: is missing"),
        (lambda path: (path / PROOF).unlink(), "proof.jsonl: is missing"),
        (_edit(PROGRAM, lambda data: b""), "program.json: is not JSON"),
        (_edit(PROGRAM, lambda data: b"[]\n"), "program.json: is not a JSON object"),
        (_edit(PROGRAM, lambda data: b"[" * 100_000), "program.json: is not JSON"),
        (_edit(HISTORY, lambda data: data + b"[]\n"), "history.jsonl: line 3 is not a JSON object"),
        (_edit(HISTORY, lambda data: data[:-1]), "history.jsonl: its content was changed"),
        (_edit(HISTORY, lambda data: b""), "history.jsonl: its content was changed"),
        (_edit(CARD, lambda data: data.replace(b"g  h", b"g h")), "card.json: its content was changed"),
        (
            _edit(CARD, lambda data: canonical_json(json.loads(data)).replace(b": ", b":")),
            "card.json: its layout",
        ),
        (_edit(CARD, lambda data: data.replace(b"{\n", b'{\n  "gold": 1,\n', 1)), "card.json: its layout"),
        (_edit(CARD, _reordered), "card.json: its layout was changed after it was saved"),
        (_edit(CARD, _without("sha256")), "card.json: its content was changed"),
        (_edit(CARD, _without("files")), "program.json: its content was changed"),
        (_edit(CARD, lambda data: b"\xff"), "card.json: is not JSON"),
        (_edit(CARD, lambda data: b"null"), "card.json: is not a JSON object"),
        (_edit(CARD, lambda data: b'{"a":' * 100_000), "card.json: is not JSON"),
        (_edit(CARD, lambda data: b'{"version": ' + b"9" * 9999 + b"}"), "card.json: is not JSON"),
    ],
)
def test_damage_is_named_and_refused(
    store: Store, artifact: Artifact, damage: Callable[[Path], None], message: str
) -> None:
    damage(artifact.path)
    assert any(message in str(problem) for problem in store.verify()), store.verify()
    assert store.verify("fect@1") == store.verify("fect") == store.verify()
    assert refused(store)
    assert store.list()[0].problem


def test_foreign_files_are_a_problem_but_do_not_stop_loading(store: Store, artifact: Artifact) -> None:
    (artifact.path / ".DS_Store").write_text("x")
    (artifact.path / "program.pkl").write_text("x")
    (artifact.path / SEEN).write_text("{}\n")
    assert [problem.message for problem in store.verify()] == [
        ".DS_Store: does not belong to the artifact",
        "program.pkl: does not belong to the artifact",
        "seen.jsonl: does not belong to the artifact",
    ]
    assert (store.load("fect").version, store.load("fect").seen()) == (1, ())


def test_a_copied_folder_is_not_another_version(store: Store, artifact: Artifact) -> None:
    shutil.copytree(artifact.path, artifact.path.parent / "2")
    assert [str(p) for p in store.verify()] == [
        "fect@2: card.json: says fect@1, but lies in the folder of fect@2"
    ]
    with pytest.raises(ArtifactError, match="says fect@1"):
        store.load("fect@2")


@pytest.mark.parametrize(
    "change",
    [
        {"lm": {"model": "x"}},
        {"traces": [1]},
        {"forward": 1},
        {"signature": 3},
        {"demos": [3]},
        {"signature": {}},
    ],
)
def test_a_resealed_file_that_is_more_than_a_prompt_is_refused(
    store: Store, artifact: Artifact, change: dict[str, object]
) -> None:
    """The seal is no signature: whoever forges it must still not smuggle in a model or an attribute."""
    program = canonical_json({**artifact.program_state, **change})
    more = {PROOF: (artifact.path / PROOF).read_bytes()}
    card = seal_card(program, (artifact.path / HISTORY).read_bytes(), artifact.card, more)
    (artifact.path / PROGRAM).write_bytes(program)
    (artifact.path / CARD).write_bytes(canonical_json(card))
    assert [problem.ref for problem in store.verify()] == ["fect@1"]
    with pytest.raises(ArtifactError, match=r"program\.json"):
        store.load("fect").program(FECT)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", '{"latest": 1}', '{"latest": ["1"]}', '{"latest": [true]}', '{"latest": [0]}', '{"latest": []}',
     '{"latest": [7]}', '{"a b": [1]}'],
)  # fmt: skip
def test_damaged_names_are_found_and_numbers_still_work(store: Store, text: str) -> None:
    (store.root / "fect" / "names.json").write_text(text)
    assert [problem.ref for problem in store.verify()] == ["fect"]
    with pytest.raises(ArtifactError):
        store.load("fect")
    assert store.load("fect@1").version == 1
    assert len(store.list()) == 1


def test_no_byte_moves_between_files_unnoticed() -> None:
    assert seal_card(b"ab", b"c", {})["sha256"] != seal_card(b"a", b"bc", {})["sha256"]


def _cloned_store(store: Store, folder: Path) -> Store:
    """Commit a store with git, and return it as a clone with ``core.autocrlf`` has it, as git for Windows sets it."""

    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.autocrlf=true")
        env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run(["git", *identity, *words], check=True, env=env, capture_output=True)

    origin = store.root.parent
    git("init", str(origin))
    git("-C", str(origin), "add", "-A")
    git("-C", str(origin), "commit", "-m", "a store")
    git("clone", str(origin), str(folder))
    return Store(folder / store.root.name)


def test_a_store_survives_a_clone_that_rewrites_the_ends_of_lines(store: Store, tmp_path: Path) -> None:
    cloned = _cloned_store(store, tmp_path / "clone")
    assert not cloned.verify()
    assert cloned.load("fect").sha256 == store.load("fect").sha256


def test_a_clone_that_rewrote_the_ends_of_lines_is_told_how_to_restore_it(
    store: Store, tmp_path: Path
) -> None:
    (store.root / ".gitattributes").unlink()
    cloned = _cloned_store(store, tmp_path / "clone")
    (problem,) = cloned.verify()
    assert "core.autocrlf" in problem.message
    assert "* -text" in problem.message
    assert refused(cloned)


def test_attributes_of_a_user_stay_as_they_are(store: Store) -> None:
    path = store.root / ".gitattributes"
    path.write_text("* text eol=lf\n")
    store.save(FECT, PromptState.of(FECT.basic()), {}, [], make_latest=False)
    assert path.read_text() == "* text eol=lf\n"
