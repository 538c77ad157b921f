"""Errors name arguments of Python where Python reads them, and options of the command line where that does."""

import ast
import inspect
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from small import cli

import jurist
from jurist.errors import ARGUMENTS, CALLS, JuristError, answering_command_line, in_words_of_python
from jurist.jobs.generation import RecipeSettings

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
