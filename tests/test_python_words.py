"""Errors name arguments of Python where Python reads them, and options of the command line where that does."""

import ast
import asyncio
import inspect
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import cli

import jurist
from jurist.engines.direct import wait_in_thread
from jurist.errors import (
    ARGUMENTS,
    CALLS,
    JuristError,
    answering_command_line,
    as_data,
    in_words_of_caller,
    in_words_of_python,
)
from jurist.jobs.generation import RecipeSettings
from jurist.runs.feeding import Feed

ROOT = Path(jurist.__file__).parent
PAIRS = {
    "add --resume to continue it, or --fresh to forget it": "make the same call again to continue it, or fresh=True to "
    "forget it",
    "raise --max-calls to 300": "raise budget=jurist.Budget(calls=...) to 300",
    "limit it with --max-calls 300": "limit it with budget=jurist.Budget(calls=300)",
    "use --temperature 1 and no --max-tokens": "use model=jurist.Model(temperature=1) and no "
    "model=jurist.Model(max_tokens=...)",
    "--column Verdict=label": 'mapping={"Verdict": "label"}',
    "--column 'a[b=c].d=label' finds it": 'mapping={"a[b=c].d": "label"} finds it',
    "--map ok=send: 'x' is no answer": 'mapping=jurist.RowMapping(labels={"ok": "send"}): \'x\' is no answer',
    "--map 'not ok'=LABEL (no LABEL: skipped)": 'mapping=jurist.RowMapping(labels={"not ok": "LABEL"}) '
    "(no LABEL: skipped)",
    "add --map a=b --map 'not ok'=c, then": 'add mapping=jurist.RowMapping(labels={"a": "b", "not ok": "c"}), then',
    "--map '是'=LABEL": 'mapping=jurist.RowMapping(labels={"是": "LABEL"})',
    """--map 'it'"'"'s'=LABEL; so""": """mapping=jurist.RowMapping(labels={"it's": "LABEL"}); so""",
    "the judge's --raters 'a,b c', the reply's": "the judge's raters=\"a,b c\", the reply's",
    "jurist compile 'my j.py:judge' --gold 'a b.csv'; then": 'jurist.compile("my j.py:judge", gold="a b.csv"); then',
    "(--split 20/20/60)": "(shares=(0.2, 0.2, 0.6))",
    "--set rows_per_point=500": 'options={"rows_per_point": 500}',
    "give --min f1=0.8, or --not-worse-than": 'give minimum={"f1": 0.8}, or not_worse_than=',
    "to be asked in another (zh), add --language zh": 'to be asked in another (zh), add language="zh"',
    "name a --model that does": "name a model= that does",
    "try --adapter json, or a larger --model": 'try adapter="json", or a larger model=',
    "--raters ann,bob if each": 'raters="ann,bob" if each',
    "name the task: --own-answer policy": 'name the task: own_answer="policy"',
    "--by policy: no row of gold has it": 'by="policy": no row of gold has it',
    "--by outputs.topic-name is of a version": 'by="outputs.topic-name" is of a version',
    "--merge median is of scores": 'merge="median" is of scores',
    "compile with --no-words": "compile with words=False",
    "jurist gold check lists all, --rejects F.jsonl sets them aside": "jurist.check_gold lists all, "
    'rejects=jurist.Rejects("F.jsonl") sets them aside',
    "jurist compile JUDGE --model M --api-base URL": "jurist compile JUDGE --model M --api-base URL",
    "jurist compile fect proves a version": 'jurist.compile("fect", gold=...) proves a version',
    "jurist compile j.py:judge --model M proves one": 'jurist.compile("j.py:judge", gold=..., model="M") proves one',
    "name at least two, for example fect fect:basic": 'name at least two, for example ["fect", "fect:basic"]',
    "give --min METRIC=VALUE": 'give minimum={"METRIC": VALUE}',
    "a column -- and no option": "a column -- and no option",
    "with more labels: jurist compile tone": 'with more labels: jurist.compile("tone", gold=...)',
    "run it as it is: jurist run tone@1": 'run it as it is: jurist.run("tone@1", rows=..., output=...)',
    "jurist artifacts refit tone@1 --fresh, once the model answers": 'jurist.refit("tone@1", fresh=True), once the '
    "model answers",
    "jurist compile j.py:judge on all rows": 'jurist.compile("j.py:judge", gold=...) on all rows',
    "(jurist prove tone@1 says how)": '(jurist.prove("tone@1") says how)',
    "see with jurist run what it answers": "see with jurist.run what it answers",
    "jurist artifacts list has all": "jurist.artifacts has all",
    "jurist compare JUDGE recorded:FILE --gold F": 'jurist.compare(["JUDGE", "recorded:FILE"], gold="F")',
    "jurist gate tone@1 --gold l.csv --min f1=0.8": 'jurist.gate("tone@1", gold="l.csv", minimum={"f1": 0.8})',
    "jurist compile tone --optimizer cfaith --threshold 1 --no-words": 'jurist.compile("tone", gold=..., '
    'optimizer="cfaith", threshold=1, words=False)',
    "jurist serve tone@1 answers over HTTP": "jurist serve tone@1 answers over HTTP",
    "longer documents, or --turns 1 --words 10-200, fit": 'longer documents, or turns="1", words="10-200", fit',
    "for example jurist assess offline --benchmark F": 'for example jurist.assess(["offline"], benchmark="F")',
    "--per-cell does not apply to dialogues": "per_cell= does not apply to dialogues",
    "jurist compile tone --verbose": "jurist compile tone --verbose",
    # what stands between quotes is the user's
    "unknown label 'jurist run fect --samples 3'; add --map A=b": "unknown label 'jurist run fect --samples 3'; add "
    'mapping=jurist.RowMapping(labels={"A": "b"})',
    """no column "it's --gold"; name it with --column""": """no column "it's --gold"; name it with mapping=...""",
    r"'a\'b\" --gold x' and --gold F": r"'a\'b\" --gold x' and gold=" + '"F"',
    "labels=['add --resume to', b'--gold x']; --fresh": "labels=['add --resume to', b'--gold x']; fresh=True",
    "the judges' --gold F and 'F'": "the judges' gold=\"F\" and 'F'",
    """jurist gate "it's --gold x" --gold F""": 'jurist.gate("it\'s --gold x", gold="F")',
    """jurist gate j --gold "it's --min f1=1" on all""": 'jurist.gate("j", gold="it\'s --min f1=1") on all',
    "/data/--gold/x.csv": "/data/--gold/x.csv",
    """jurist compile 'say "x".py:judge' --gold F""": r'jurist.compile("say \"x\".py:judge", gold="F")',
}


@pytest.mark.parametrize("text", PAIRS)
def test_an_option_is_the_argument_that_says_the_same(text: str) -> None:
    assert in_words_of_python(text) == PAIRS[text]


def test_the_reader_decides() -> None:
    assert "price_in" in str(JuristError("x", hint="state it with --price-in"))
    with answering_command_line():
        assert str(JuristError("x", hint="state it with --price-in")) == "x; state it with --price-in"
    assert "price_in" in str(JuristError("x", hint="state it with --price-in"))
    refused = cli("gate", "fect:basic", "--gold", "fect-mini")
    assert "give --min METRIC=VALUE" in refused.err
    with pytest.raises(JuristError, match="give minimum="):
        jurist.gate("fect:basic", "fect-mini")


WORDS = [
    "jurist run fect --samples 3",
    "--gold report.csv",
    "add --resume to",
    "--map a=b",
    "run the same command again",
]
HOSTILE = st.lists(st.sampled_from([*WORDS, "'", '"', "\\\\", " ", ";", "(", "jurist", "--", "x", "ß"])).map(
    "".join
)
"""Texts that read like messages of jurist."""


@given(HOSTILE, HOSTILE)
def test_no_value_in_a_message_is_rewritten(value: str, path: str) -> None:
    text = (
        f"{as_data(path)}: unknown label {value!r} in {as_data(path)}; add --map A=b, or --gold F: {[value]}"
    )
    words = in_words_of_python(text)
    assert words.startswith(f"{as_data(path)}: unknown label {value!r} in {as_data(path)}; add ")
    assert words.endswith(f'or gold="F": {[value]}')
    assert in_words_of_python(as_data(words)) == as_data(words)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("gold.csv", "gold.csv"),
        ("my gold.csv", "my gold.csv"),
        ("a--gold.csv", "a--gold.csv"),
        ("the file --gold report.csv", "'the file --gold report.csv'"),
        ("--gold", "'--gold'"),
        ("jurist run 3/x.csv", "'jurist run 3/x.csv'"),
        ("it's.csv", '"it\'s.csv"'),
    ],
)
def test_a_path_has_quotes_where_it_reads_like_an_option(text: str, written: str) -> None:
    assert as_data(text) == as_data(Path(text)) == written


FILE = "the file --gold report.csv"


@pytest.mark.parametrize(
    "call",
    [
        lambda: jurist.evaluate("fect:basic", FILE),
        lambda: jurist.run("fect:basic", FILE, "o.jsonl"),
        lambda: jurist.run("fect:basic", "fect-mini", FILE + "/"),
        lambda: jurist.write_report(FILE),
    ],
)
def test_the_name_of_a_file_is_named_as_it_is(call: Callable[[], object]) -> None:
    Path(FILE).mkdir()
    with pytest.raises(JuristError) as refused:
        call()
    assert FILE in str(refused.value)


def test_a_command_in_a_thread_changes_nobody_elses_words() -> None:
    """Each context has its own caller; threads that jurist starts have that of their starter."""
    in_command, may_end = threading.Event(), threading.Event()
    words: list[str] = []

    def command() -> None:
        with answering_command_line():
            in_command.set()
            may_end.wait()
            words.append(in_words_of_caller("--gold"))

    thread = threading.Thread(target=command)
    thread.start()
    in_command.wait()
    assert in_words_of_caller("--gold") == "gold="
    may_end.set()
    thread.join()
    assert words == ["--gold"]


@pytest.mark.parametrize("caller", [nullcontext, answering_command_line])
def test_threads_of_jurist_have_the_caller_of_their_starter(caller: Callable[[], Any]) -> None:
    def rows() -> Iterator[str]:
        yield in_words_of_caller("--gold")

    async def read() -> object:
        return await Feed(rows()).take()

    async def answer() -> Any:
        return in_words_of_caller("--gold")

    with caller():
        words = in_words_of_caller("--gold")
        assert asyncio.run(read()) == wait_in_thread(answer()) == words


PATH_NAMES = {
    "path",
    "output",
    "file",
    "folder",
    "root",
    "rival",
    "beside",
    "self.path",
    "self.root",
    "store.root",
}


def test_every_path_in_an_error_is_data() -> None:
    raw: list[str] = []
    for folder in set(FOLDERS) - {"engines"}:  # whose paths are those of addresses
        for path in (ROOT / folder).rglob("*.py"):
            for call in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Error"):
                    raw += [f"{path.name}: {name}" for name in _raw_values(call) if name in PATH_NAMES]
    assert raw == []


def _raw_values(call: ast.Call) -> Iterator[str]:
    """Yield what a call interpolates into texts as it is."""
    for node in ast.walk(call):
        if isinstance(node, ast.FormattedValue) and node.conversion == -1:
            yield ast.unparse(node.value)


def test_every_argument_is_one_of_a_public_function() -> None:
    known: set[str] = {"at_least", "ask_old", "against", "use", "labels"}
    for name in jurist.__all__:
        value = getattr(jurist, name)
        if callable(value):
            try:
                known |= set(inspect.signature(value).parameters)
            except ValueError:
                continue
    known |= set(inspect.get_annotations(__import__("jurist.jobs.surface", fromlist=["Asking"]).Asking))
    known |= set(inspect.get_annotations(__import__("jurist.jobs.surface", fromlist=["Loading"]).Loading))
    known |= set(inspect.get_annotations(RecipeSettings))
    for flag, argument in ARGUMENTS.items():
        for name in re.findall(r"(?<![\w.])(\w+)=", argument):
            assert name in known, f"{flag}: no public function takes {name}"


SHELL_ONLY = {
    *{
        "--all",
        "--benchmark",
        "--canary",
        "--characters",
        "--engine",
        "--from",
        "--history",
        "--instruction",
        "--language",
        "--to",
    },
    *{"--no-probe", "--per-document", "--prefer", "--score", "--tasks", "--types", "--verbose"},
}
"""Options of commands that no function of Python stands for."""


FOLDERS = ("engines", "evaluation", "gold", "jobs", "keeping", "optimizers", "programs", "runs")
"""Folders whose messages reach readers of Python."""


@cache
def _texts(path: Path) -> Sequence[str]:
    """Return the texts of a module that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            texts.append(node.value)
    return texts


def test_every_option_in_a_message_has_its_argument() -> None:
    missing: dict[str, str] = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for text in _texts(path):
                for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text):
                    if flag not in ARGUMENTS and flag not in SHELL_ONLY | {"--column", "--map"}:
                        missing[flag] = path.name
    assert missing == {}


SHELL_COMMANDS = {
    *(
        "artifacts show",
        "artifacts tag",
        "artifacts verify",
        "assess",
        "batch",
        "gold traces",
        "judges",
        "new",
    ),
    *("report", "review", "serve", "evaluate harden"),
}
"""Commands that no function of Python stands for under the same name."""


def test_every_command_in_a_message_has_its_function() -> None:
    """What is left of a command is one without a function, or one with an option that no argument stands for."""
    command = re.compile(rf"\bjurist (?:{'|'.join(CALLS)})\b")
    left: dict[str, str] = {}
    seen = 0
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for text in _texts(path):
                if command.search(text):
                    seen += 1
                    if command.search(in_words_of_python(text)) and not _names_shell_only(text):
                        left[text] = path.name
    assert seen > 20, "messages are found"
    assert left == {}


def _names_shell_only(text: str) -> bool:
    """Whether a text has an option or a command that stays in the shell's words."""
    # Two options that are one argument, and a pipe, have no call that is as short.
    words = [*SHELL_ONLY, *(f"jurist {command}" for command in SHELL_COMMANDS), "--api-base URL", "zcat F |"]
    return any(word in text for word in words)
