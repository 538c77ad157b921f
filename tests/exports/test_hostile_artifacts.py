"""Artifacts of strangers: nothing that a card says becomes code, and no file of theirs is read without an end."""

import json
import os
from collections.abc import Callable, Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, SimpleNamespace
from typing import Any, Literal

import dspy
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from parity import executed

from jurist.errors import ArtifactError, JudgeError
from jurist.exports import EXPORTERS
from jurist.jobs.exporting import export, export_text
from jurist.keeping.artifacts import Store
from jurist.keeping.sealing import CARD, HISTORY, PROGRAM, canonical_json, seal_card
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState

TRAPS = (
    '"""\nimport os; os.mkdir("owned")\n"""',
    "'''\nimport os; os.mkdir('owned')\n'''",
    "\\",
    '\\"""',
    "${inputs} $call $$ $",
    "{{ 7 * 7 }} {% include 'x' %}",
    "</script><img src=x onerror=alert(1)>",
    "# heading\n\n[a link](javascript:alert(1))",
    "\x00\x1b[2J\u202e\u2028",
)
TEXTS = st.one_of(
    st.sampled_from(TRAPS),
    st.text("\\\"'`\n\r\t${}#<>[]()*_ab é中\x00\x1b\u202e", min_size=1, max_size=40),
).filter(str.strip)


def judge_saying(text: str) -> Judge:
    """Return a judge whose instruction, descriptions and first label hold a text."""
    fields = {
        "reply": (str, dspy.InputField(desc=text)),
        "verdict": (Literal[text or "x", "hold"], dspy.OutputField(desc=text)),
    }
    signature = dspy.Signature(fields, text)
    return Judge(name="strange", signature=signature, positive=frozenset({"hold"}), description=text)


def card_saying(text: str) -> dict[str, Any]:
    """Return a card that holds a text wherever free text can stand."""
    decision = {"metric": text, "verdict": text, "words": text, "warnings": [text]}
    return {
        "created": text,
        "decision": decision,
        "warnings": [text],
        "model": {"name": text},
        "prompt_model": {"name": text},
        "gold": {"name": text, "source": text},
        "optimizer": {"name": text, "candidate": text},
        "versions": {text: text},
    }


def exports_saying(text: str, folder: Path, targets: Collection[str] = tuple(EXPORTERS)) -> dict[str, str]:
    """Return each target's file of an artifact that holds a text everywhere."""
    judge = judge_saying(text)
    state = PromptState.of(judge.basic())
    artifact = Store(folder).save(judge, state, card_saying(text), [], make_latest=True)
    return {target: export_text(artifact, judge, target) for target in targets}


def code_of(source: str) -> list[Any]:
    """Return the compiled code of a file of Python, that of its functions too, without the values of its constants."""

    def parts(code: CodeType) -> list[Any]:
        inner = [parts(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
        return [code.co_name, code.co_code, code.co_names, code.co_varnames, inner]

    return parts(compile(source, "exported.py", "exec", dont_inherit=True))


def client(reply: str) -> Any:
    choice = SimpleNamespace(message=SimpleNamespace(content=reply), finish_reason="stop")
    answer = SimpleNamespace(choices=[choice])
    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=lambda **_: answer)))


@pytest.fixture(scope="module")
def plain_exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return exports_saying("plain", tmp_path_factory.mktemp("plain"))


def test_no_trap_becomes_code_in_any_target(plain_exports: dict[str, str], tmp_path: Path) -> None:
    plain = {name: code_of(file) for name, file in plain_exports.items() if EXPORTERS[name].suffix == ".py"}
    for number, text in enumerate(TRAPS[:5]):
        files = exports_saying(text, tmp_path / str(number))
        for target, code in plain.items():
            assert code_of(files[target]) == code, target


@settings(max_examples=15, deadline=None)
@given(text=TEXTS)
def test_an_exported_judge_decides_whatever_its_artifact_says(text: str) -> None:
    with TemporaryDirectory() as folder:
        files = exports_saying(text, Path(folder), ("python", "messages"))
    judge = executed(files["python"])["judge"]
    reply = "[[ ## verdict ## ]]\nhold\n\n[[ ## completed ## ]]"
    assert judge(client(reply), "m", reply="I will.")["value"] == "hold"
    assert json.loads(files["messages"])["artifact"]["judge"] == "strange"


def page_structure(markdown: str) -> list[str]:
    """Return the kinds of parts that a page of Markdown has, fenced text and list lengths aside."""
    tokens = MarkdownIt("commonmark", {"html": True}).parse(markdown)
    inline = [child.type for token in tokens for child in token.children or ()]
    blocks = [token.type for token in tokens if token.type in ("heading_open", "html_block", "code_block")]
    return blocks + [kind for kind in inline if kind not in ("text", "code_inline", "softbreak")]


@settings(max_examples=25, deadline=None)
@given(text=TEXTS)
@example(text=TRAPS[7])
def test_no_text_of_an_artifact_becomes_markup(text: str) -> None:
    with TemporaryDirectory() as folder:
        pages = [exports_saying(said, Path(folder), ("markdown",))["markdown"] for said in ("plain", text)]
    assert page_structure(pages[0]) == page_structure(pages[1])


@pytest.mark.targets
@pytest.mark.parametrize("text", TRAPS)
def test_hostile_files_load_in_their_frameworks(text: str, tmp_path: Path) -> None:
    for target, file in exports_saying(text, tmp_path).items():
        if EXPORTERS[target].suffix == ".py":
            executed(file)


CODE = "reply, x=print('owned')"
HOSTILE_CARDS: dict[str, Callable[[dict[str, Any]], object]] = {
    "an input": lambda card: card["inputs"].append(CODE),
    "a keyword": lambda card: card["inputs"].append("class"),
    "a typed field": lambda card: card["types"].update({CODE: {"type": "string"}}),
    "a field of the definition": lambda card: card["definition"]["fields"][0].update(name=CODE),
    "a field without a name": lambda card: card["definition"]["fields"][0].pop("name"),
    "fields that are no list": lambda card: card["definition"].update(fields={"reply": CODE}),
    "no number of samples": lambda card: card.update(thresholds={"samples": CODE}),
}


def reseal(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a card as a stranger can who seals it again."""
    card = json.loads((folder / CARD).read_bytes())
    change(card)
    program, history = ((folder / name).read_bytes() for name in (PROGRAM, HISTORY))
    (folder / CARD).write_bytes(canonical_json(seal_card(program, history, card)))


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """Return the folder of a version of a judge that is kept as data."""
    judge = judge_saying("Decide.")
    return Store(tmp_path / "store").save(judge, PromptState.of(judge.basic()), {}, [], make_latest=True).path


@pytest.mark.parametrize("card", sorted(HOSTILE_CARDS))
def test_a_card_with_unusable_names_is_refused_in_one_line(card: str, strange: Path) -> None:
    store = Store(strange.parent.parent)
    export("strange@1", "python", store=store)
    reseal(strange, HOSTILE_CARDS[card])
    with pytest.raises(ArtifactError, match=r"strange@1 .* is damaged: card\.json: ") as refused:
        export("strange@1", "python", store=store)
    assert "\n" not in str(refused.value)
    assert [problem.message for problem in store.verify()]


@pytest.mark.parametrize("name", ["my field", "class", "a-b", "x):\n    pass"])
def test_a_judge_has_fields_whose_names_can_stand_in_a_file(name: str) -> None:
    fields = {name: (str, dspy.InputField()), "good": (bool, dspy.OutputField())}
    with pytest.raises(JudgeError, match="a field cannot be called"):
        Judge(name="some", signature=dspy.Signature(fields, "Decide."))


def replaced_by_link(target: str) -> Callable[[Path], None]:
    def replace(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return replace


def replaced_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def grown(path: Path) -> None:
    """Give a file a size that no memory holds; the file system keeps it sparse."""
    with path.open("r+b") as file:
        file.truncate(2**40)


ENDLESS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link to a device": (replaced_by_link("/dev/zero"), "symbolic link"),
    "a link to a file": (replaced_by_link("card.json"), "symbolic link"),
    "a link to nothing": (replaced_by_link("nowhere"), "symbolic link"),
    "a pipe": (replaced_by_pipe, "not a regular file"),
    "a huge file": (grown, "more than 256 MiB"),
}


@pytest.mark.parametrize("kind", sorted(ENDLESS))
@pytest.mark.parametrize("name", [PROGRAM, HISTORY])
def test_only_regular_files_of_a_limited_size_are_read(kind: str, name: str, strange: Path) -> None:
    damage, reason = ENDLESS[kind]
    damage(strange / name)
    store = Store(strange.parent.parent)
    with pytest.raises(ArtifactError, match=reason):
        store.load("strange@1")
    assert [artifact.problem for artifact in store.list()] == [problem.message for problem in store.verify()]


@pytest.mark.parametrize("kind", ["a pipe", "a link to a device"])
def test_names_that_are_no_regular_file_do_not_hold_up_a_store(kind: str, strange: Path) -> None:
    damage, reason = ENDLESS[kind]
    damage(strange.parent / "names.json")
    (problem,) = Store(strange.parent.parent).verify()
    assert reason in problem.message


def test_a_judge_file_that_never_ends_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "judge.py")
    (tmp_path / "endless.py").symlink_to("/dev/zero")
    for name in ("judge.py", "endless.py"):
        with pytest.raises(JudgeError, match="not a regular file"):
            export(f"{tmp_path / name}:judge", "python")
