"""A copied version works in the other store alone: with its verifiers, its judges' code, and the modules of that."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from judges import basic, changed
from small import OWN, cli, ok, replies, write_jsonl

from jurist.keeping.artifacts import Store
from jurist.keeping.copying import copy_version
from jurist.keeping.verifying import with_verifiers
from jurist.programs.catalogue import find

CODE = OWN.replace("import jurist\n", "import jurist\nimport gate_measures.shares\n")


def write_project() -> None:
    """Write a judge with code that imports a package, labels, rows to judge, and an instruction."""
    Path("judges/gate_measures").mkdir(parents=True)
    Path("judges/gate_measures/__init__.py").touch()
    Path("judges/gate_measures/shares.py").write_text("HALF = 0.5\n")
    Path("judges/own.py").write_text(CODE)
    rows = []
    for number, row in enumerate(replies(30)):
        # The offline engine says send to all.
        rows.append({**row, "verdict": "send" if number % 9 else "hold"})
    write_jsonl(Path("gold.jsonl"), rows)
    write_jsonl(Path("new.jsonl"), [{"policy": "Keep it.", "reply": "Keep it."}])
    Path("i.md").write_text("Hold a reply that promises what the policy lacks.")


def add_version(file: str) -> str:
    """Add a version of the judge in a file."""
    ok("artifacts", "add", f"{file}:judge", "--instruction", "i.md")
    return "may-go@1"


def add_cascade() -> str:
    """Add a cascade whose last judge is plain, and whose first one is the basic prompt of a judge with code."""
    Path("plain.py").write_text(OWN.replace("metric=share_right", 'metric="accuracy"'))
    add_version("plain.py")
    gold = ("--gold", "gold.jsonl", "--agree", "0.1", "--risk", "0.5")
    ok("cascade", "judges/own.py:judge:basic", "may-go@1", *gold)
    return "may-go@2"


MADE: dict[str, tuple[Callable[[], str], list[str]]] = {
    "a judge with code": (
        lambda: add_version("judges/own.py"),
        ["judges/gate_measures/__init__.py", "judges/gate_measures/shares.py", "judges/own.py"],
    ),
    "a file named by its whole path": (
        lambda: add_version(str(Path("judges/own.py").resolve())),
        ["gate_measures/__init__.py", "gate_measures/shares.py", "own.py"],
    ),
    "a cascade of judges with code": (
        add_cascade,
        ["judges/gate_measures/__init__.py", "judges/gate_measures/shares.py", "judges/own.py"],
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_a_copy_works_where_nothing_else_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, place = tmp_path / "project", tmp_path / "place"
    for folder in (project, place):
        folder.mkdir()
    monkeypatch.chdir(project)
    write_project()
    make, code = MADE[name]
    ref = make()
    copied = ok("artifacts", "copy", ref, "--to", "../place/compiled", "--json").json
    assert (copied["copied"], copied["notes"]) == ([ref], [])
    assert sorted(copied["code"]) == [f"../place/{file}" for file in code]
    shutil.copy("new.jsonl", place)
    shutil.rmtree(project / "judges")
    monkeypatch.chdir(place)
    run = ("run", ref, "--input", "new.jsonl", "--output", "out.jsonl")
    ok(*run)
    # whoever did not make it must trust its code first
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "somebody"))
    Path("out.jsonl").unlink()
    refused = cli(*run)
    assert refused.code == 1
    assert "which you have not trusted yet; read that file, and add --trust" in refused.lines[-1]
    ok(*run, "--trust")
    assert ok("artifacts", "verify").code == 0


def test_the_code_of_a_member_is_not_executed_once_it_was_changed() -> None:
    write_project()
    ref = add_cascade()
    own = Path("judges/own.py")
    own.write_text("from pathlib import Path\nPath('executed').touch()\n" + own.read_text())
    refused = cli("run", ref, "--input", "new.jsonl", "--output", "out.jsonl")
    assert (refused.code, Path("executed").exists()) == (1, False)
    assert "judges/own.py was changed since may-go@2 was compiled from it" in refused.lines[-1]
    ok("run", ref, "--input", "new.jsonl", "--output", "out.jsonl", "--trust")
    assert Path("executed").exists()


def test_code_that_cannot_be_copied_is_told_with_the_command_that_does() -> None:
    write_project()
    add_version("judges/own.py")
    # The file stands beside both stores.
    assert ok("artifacts", "copy", "may-go@1", "--to", "second", "--json").json["code"] == []
    ok("artifacts", "copy", "may-go@1", "--to", "deployed/compiled")
    assert Path("deployed/judges/own.py").read_bytes() == Path("judges/own.py").read_bytes()
    other = Path("../other")
    ok("artifacts", "copy", "may-go@1", "--to", "../other/compiled")
    (other / "judges/own.py").write_text(CODE + "more = 1\n")
    told = ok("artifacts", "copy", "may-go@1", "--to", "../other/compiled").out
    assert "to replace it: cp judges/own.py ../other/judges/own.py\n" in told
    assert "more = 1" in (other / "judges/own.py").read_text()
    Path("judges/own.py").write_text(CODE + "more = 2\n")
    told = ok("artifacts", "copy", "may-go@1", "--to", "../third/compiled").out
    assert "judges/own.py was changed since may-go@1 was made with it: the copy, too, takes --trust" in told
    shutil.rmtree("judges")
    told = ok("artifacts", "copy", "may-go@1", "--to", "../fourth/compiled").out
    assert "may-go@1 needs the code of judges/own.py, which is not here: put that file beside" in told


def test_data_that_the_code_names_are_told_with_the_command_that_copies_them() -> None:
    write_project()
    Path("judges/words.json").write_text("[]")
    Path("judges/other.json").write_text("[]")
    Path("judges/own.py").write_text(CODE + 'WORDS = Path(__file__).with_name("words.json").read_text()\n')
    Path("judges/own.py").write_text("from pathlib import Path\n" + Path("judges/own.py").read_text())
    version = add_version("judges/own.py")
    copied = copy_version(Store(), version, Store("elsewhere/compiled"))
    (note,) = copied.notes
    assert "judges/words.json, which the code of may-go@1 names, is not copied" in note
    assert note.endswith("elsewhere/judges/words.json")
    Path("elsewhere/judges/words.json").write_text("[]")
    assert copy_version(Store(), version, Store("elsewhere/compiled")).notes == ()


def test_the_verifiers_of_a_generator_are_copied_with_it(tmp_path: Path) -> None:
    store, other = Store("compiled"), Store(tmp_path / "other" / "compiled")
    check = find("label-check")
    first = store.save(check, changed(check), {}, [], make_latest=True)
    store.save(check, changed(check, "Say no."), {"parent": first.version}, [], make_latest=False)
    generator = with_verifiers(find("haluagent"), ["label-check@2"], store)
    store.save(generator, basic(generator), {}, [], make_latest=True)
    copied = copy_version(store, "haluagent@1", other)
    assert [version.ref for version in copied.foundations] == ["label-check@1", "label-check@2"]
    page = ("export", "haluagent@1", "--to", "markdown", "--store", other.root)
    assert "It is from label-check@2." in ok(*page).out
