"""Versions whose instructions a person wrote, the page that lists a store, and the store that comes with jurist."""

from pathlib import Path

import pytest
from small import FAST, cli, ok

import jurist

INSTRUCTION = "Decide whether every part of the claim is borne out by the conversation."


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").write_text(INSTRUCTION + "\n", encoding="utf-8")
    Path("empty.txt").write_text(" \n", encoding="utf-8")


def test_an_instruction_is_kept_as_a_version_that_is_not_proven():
    assert "compiled holds no version: nothing was verified" in ok("artifacts", "verify").out
    added = ok(
        "artifacts", "add", "fect", "--instruction", "mine.txt", "--note", "as our raters are told", "--json"
    )
    assert added.json["artifact"] == "fect@1"
    artifact = jurist.Store().load("fect@1")
    (prompt,) = artifact.state.predictors.values()
    assert prompt.instructions == INSTRUCTION
    assert artifact.about.warnings == ["not proven: no language model was asked", "as our raters are told"]
    assert not artifact.latest
    assert jurist.load("fect").artifact is None
    assert "not proven" in ok("artifacts", "list").out
    assert ok("artifacts", "verify").out == "1 artifact verified, no byte changed\n"
    assert INSTRUCTION.split()[-1].strip(".") in ok("artifacts", "diff", "fect:basic", "fect@1").out


def test_a_search_goes_on_from_an_instruction_that_was_added():
    ok("artifacts", "add", "fect", "--instruction", "mine.txt")
    ok("compile", "fect", "--gold", "fect-mini", "--start", "fect@1", "--no-words", *FAST)
    assert jurist.Store().load("fect@2").about.optimizer.start == "fect@1"


def test_the_steps_of_a_generator_have_instructions_of_their_own():
    basic = jurist.load("haluagent:basic").state.predictors
    ok("artifacts", "add", "haluagent", "--instruction", "label=mine.txt")
    added = jurist.Store().load("haluagent@1").state.predictors
    changed = [name for name in basic if added[name].instructions != basic[name].instructions]
    assert changed == ["label"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["fect"], "no instruction is named"),
        (["fect", "--instruction", "absent.txt"], "absent.txt: the file cannot be read"),
        (["fect", "--instruction", "empty.txt"], "the instruction of self is empty"),
        (["fect", "--instruction", "judge=mine.txt"], "fect has no instruction called 'judge'"),
        (["haluagent", "--instruction", "mine.txt"], "haluagent has 3 instructions: question, "),
        (
            ["haluagent", "--instruction", "label=mine.txt", "--instruction", "label=mine.txt"],
            "two files hold",
        ),
        (["fcet", "--instruction", "mine.txt"], "no judge is called 'fcet'"),
        (
            ["fect", "--instruction", "mine.txt", "--store", "shipped"],
            "is only read; name a folder of your own",
        ),
    ],
)
def test_an_instruction_that_cannot_be_kept_is_refused_in_one_line(argv, said):
    refused = cli("artifacts", "add", *argv)
    assert refused.code in (1, 2)
    (line,) = [line for line in refused.lines if line.startswith("error")]
    assert said in line
    assert not Path("compiled").exists()


def test_the_basic_instruction_is_no_version():
    (prompt,) = jurist.load("fect:basic").state.predictors.values()
    Path("mine.txt").write_text(prompt.instructions, encoding="utf-8")
    assert (
        "these are the basic instructions" in cli("artifacts", "add", "fect", "--instruction", "mine.txt").err
    )


@pytest.mark.parametrize(
    "command",
    [
        ["compile", "fect", "--gold", "fect-mini"],
        ["artifacts", "tag", "fect@1", "mine"],
        ["artifacts", "forget", "fect@1", "00"],
        ["artifacts", "refit", "fect@1"],
        ["move", "fect@1", "--model", "offline"],
        ["cascade", "fect:basic", "fect-3d:basic", "--gold", "fect-mini"],
    ],
)
def test_the_store_that_comes_with_jurist_is_only_read(command):
    refused = cli(*command, "--store", "shipped")
    assert refused.code in (1, 2)
    assert "the store that comes with jurist is only read" in refused.err


def test_the_page_of_a_store_lists_its_versions():
    ok("artifacts", "add", "fect", "--instruction", "mine.txt", "--note", "a | b")
    ok("artifacts", "index", "--output", "compiled/README.md")
    page = Path("compiled/README.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("| [fect@1](fect/1/card.json) |")]
    assert "is an interpretive claim factual" in line
    assert "not proven: no language model was asked; a \\| b" in line
    assert ok("artifacts", "index").out.strip() == page.strip()
    Path("compiled/fect/1/program.json").write_text("{}")
    assert "| fect@1 | | | | | damaged: " in ok("artifacts", "index").out
