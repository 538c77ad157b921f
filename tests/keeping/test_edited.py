"""A judge's file is edited, moved or deleted, and its versions go on: silently, with a line, or refused in one line."""

import contextlib
import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hostile import JSON
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import CHECK, COT, FLAG, POLITE, TWO
from small import FAST, OWN, Done, cli, ok, replies, tree, write_jsonl

from jurist.errors import ArtifactError
from jurist.keeping.card import CardContent, build_card
from jurist.keeping.sealing import CARD, HISTORY, PROGRAM, canonical_json, seal_card
from jurist.programs.catalogue import CATALOGUE
from jurist.programs.definition import read_definition, write_definition
from jurist.programs.judge import Judge
from jurist.text.files import data_file

PLAIN = (
    OWN.partition("def ")[0]
    + '''def twice(number):
    """Return a number twice."""
    return number * 2


judge = jurist.Judge(name="may-go", signature=MaySend, positive={"hold"})
'''
)
CODE = PLAIN.replace(
    "judge = jurist",
    """class Steps(dspy.Module):
    def __init__(self):
        super().__init__()
        self.decide = dspy.Predict(MaySend)

    def forward(self, policy, reply):
        return self.decide(policy=policy, reply=reply[: twice(500)])


judge = jurist""",
).replace("signature=MaySend,", "signature=MaySend, program=Steps,")

Edit = Callable[[str], str]
EDITS: Mapping[str, Edit] = {
    "comment": lambda text: "# judged since May\n" + text,
    "formatting": lambda text: text.replace(
        'Literal["send", "hold"]', "Literal[\n'send',\n        'hold',\n    ]"
    ),
    "desc word": lambda text: text.replace("one sentence", "one short sentence"),
    "docstring": lambda text: text.replace("may be sent:", "may go out:").replace(
        "number twice", "doubled number"
    ),
    "how files are read": lambda text: text.replace(
        "positive=", 'columns={"answer": "reply"}, values={"unsure": ""}, positive='
    ),
    "label renamed": lambda text: text.replace('"hold"', '"stop"'),
    "input added": lambda text: text.replace(
        "    reply: str", "    tone: str = dspy.InputField()\n    reply: str"
    ),
    "function body": lambda text: text.replace("number * 2", "number + number"),
}
SILENT = ("comment", "formatting", "desc word", "docstring", "how files are read")
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "run": ("run", "may-go@1", "--input", "new.jsonl", "--output", "out.jsonl"),
    "show": ("artifacts", "show", "may-go@1"),
    "named by its file": ("run", "own.py:judge@1", "--input", "new.jsonl", "--output", "out.jsonl"),
}


@functools.cache
def made(source: str) -> tuple[Mapping[str, bytes], bytes]:
    """Compile the judge of a file here, and return the files of its store and what is trusted then."""
    Path("own.py").write_text(source)
    write_jsonl(Path("new.jsonl"), replies())
    ok("compile", "own.py:judge", "--gold", "new.jsonl", "--force", *FAST)
    return tree(Path("compiled")), data_file("trusted").read_bytes()


def compiled(source: str) -> None:
    """Put the judge of a file here, and what compiling it leaves."""
    files, trusted = made(source)
    Path("own.py").write_text(source)
    write_jsonl(Path("new.jsonl"), replies())
    data_file("trusted").parent.mkdir(parents=True, exist_ok=True)
    data_file("trusted").write_bytes(trusted)
    for name, data in files.items():
        (Path("compiled") / name).parent.mkdir(parents=True, exist_ok=True)
        (Path("compiled") / name).write_bytes(data)


def told(done: Done) -> list[str]:
    """Return the lines about the file."""
    return [line for line in done.lines if "own.py" in line and not line.startswith("executing")]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("edit", [*EDITS, "deleted", "moved"])
def test_a_plain_judge_goes_on(edit: str, command: str) -> None:
    compiled(PLAIN)
    if edit in EDITS:
        text = EDITS[edit](PLAIN)
        assert text != PLAIN
        if edit == "function body" and command != "named by its file":
            text = "raise SystemExit(9)\n"  # nothing of it is executed
        Path("own.py").write_text(text)
    elif command == "named by its file":
        return  # who names a file that is not there is told so
    elif edit == "moved":
        Path("own.py").rename("elsewhere.py")
    else:
        Path("own.py").unlink()
    done = cli(*COMMANDS[command])
    assert done.code == 0, done.err
    lines = told(done)
    if edit in (*SILENT, "deleted", "moved") or (command == "named by its file" and edit == "function body"):
        assert lines == []
    else:
        (line,) = lines
        assert "may-go@1 is asked as it was proven; jurist compile own.py:judge makes a version" in line
    if command in ("run", "named by its file"):
        (first, *_) = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
        assert first["judge"] == "may-go@1"
        assert first["label"] in ("send", "hold")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("edit", [*EDITS, "deleted", "moved"])
def test_a_judge_with_code_asks_where_it_is_other_code(edit: str, command: str) -> None:
    compiled(CODE)
    if edit in EDITS:
        Path("own.py").write_text(EDITS[edit](CODE))
    else:
        Path("own.py").rename("elsewhere.py")
    done = cli(*COMMANDS[command])
    assert "Traceback" not in done.err
    named = command == "named by its file"
    if edit in SILENT:
        assert (done.code, told(done)) == (0, []), done.err
    elif edit in ("deleted", "moved"):
        assert (done.code, "own.py: no such file" in done.lines[-1]) == (1, True)
    elif not named:
        assert done.code == 1
        assert done.lines[-1] == (
            "error: the code of own.py was changed since may-go@1 was compiled from it; read that file, and add --trust"
        )
        done = cli(*COMMANDS[command], "--trust")
    if edit == "function body":
        assert done.code == 0, done.err
        assert told(done) == [
            "the code of own.py was changed since may-go@1 was compiled from it: its proof is of the code as it was"
        ]
    elif edit in ("label renamed", "input added"):
        assert done.code == 1
        assert done.lines[-1].startswith("error: may-go@1 was compiled for ")


def test_what_is_compiled_by_its_name_is_the_file_as_it_is() -> None:
    compiled(PLAIN)
    Path("own.py").write_text(EDITS["label renamed"](PLAIN))
    done = cli("compile", "may-go", "--gold", "new.jsonl")
    assert (done.code, done.lines[-1]) == (
        1,
        "error: the code of own.py was changed since may-go@1 was compiled from it; read that file, and add --trust",
    )


def test_a_stranger_s_card_does_not_make_a_file_be_executed() -> None:
    compiled(CODE)
    Path("own.py").write_text("from pathlib import Path\nPath('executed').write_text('yes')\n" + CODE)
    folder = Path("compiled/may-go/1")
    card = {**json.loads((folder / CARD).read_text()), "judge_sha256": "0" * 64, "judge_code": "1" * 64}
    (folder / CARD).write_bytes(
        canonical_json(seal_card((folder / PROGRAM).read_bytes(), (folder / HISTORY).read_bytes(), card))
    )
    done = cli(*COMMANDS["run"], "--trust")
    assert (done.code, Path("executed").exists()) == (1, False)
    assert "own.py is not what may-go@1 was compiled from" in done.lines[-1]


# -- definitions -----------------------------------------------------------------------------------


LIMITED = replace(POLITE, name="limited", most_groups=(3, 2), most_cases=("reply", 2), merge="unanimous")
MAPPED = replace(POLITE, name="mapped", columns={"Chat": "group", "map": "reply"}, values={"Unsure": ""})
SET = replace(
    POLITE,
    name="set",
    variant="strict",
    description="a reply's tone",
    bundled="polite",
    document="the chat",
    most_calls=7,
    shares=(40.0, 20.0, 40.0),
    common=("reply",),
    ambiguities=("sarcasm",),
    temperature=0.5,
)


@pytest.mark.parametrize(
    "judge", [POLITE, COT, CHECK, FLAG, LIMITED, MAPPED, SET], ids=lambda judge: judge.name
)
def test_a_plain_judge_is_made_again_of_its_definition(judge: Judge) -> None:
    data = write_definition(judge)
    assert data is not None
    made = read_definition(json.loads(json.dumps(data)))
    assert write_definition(made) == data
    for field in fields(Judge):
        if field.name not in ("signature", "program"):
            assert getattr(made, field.name) == getattr(judge, field.name), field.name
    keys = ("labels", "positive", "inputs", "types", "output_field")
    assert all(build_card(judge, CardContent())[key] == build_card(made, CardContent())[key] for key in keys)


def test_a_judge_with_code_has_no_definition() -> None:
    assert write_definition(TWO) is None
    assert [judge.name for judge in CATALOGUE.values() if judge.to_case and write_definition(judge)] == []


@settings(max_examples=40)
@given(
    st.sampled_from(["settings", "signature", "instructions", "fields", "program", "answer", "answers"]), JSON
)
def test_a_damaged_definition_is_refused_in_one_line(key: str, value: Any) -> None:
    data = write_definition(POLITE) or {}
    if {**data, key: value} != data:
        with contextlib.suppress(ArtifactError):  # and nothing else
            assert isinstance(read_definition({**data, key: value}), Judge)
