"""Options: every command declares its own once, reads them back, and says what is meant by a misspelt one."""

import argparse
import dataclasses
import inspect
import pkgutil
import re
import shlex
import subprocess
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from small import claims, cli, write_jsonl

import jurist
from jurist import arguments
from jurist.arguments import commands
from jurist.arguments.commands import all_commands, commands_beside
from jurist.arguments.options import Options
from jurist.cli import build_parser
from jurist.errors import UsageError
from jurist.exports import EXPORTERS
from jurist.jobs.plan import CALLS
from jurist.jobs.surface import Asking, Loading

COMMANDS = all_commands()


@pytest.mark.parametrize("command", COMMANDS, ids=[command.command for command in COMMANDS])
def test_every_command_declares_each_of_its_options_once(command: type[Options]) -> None:
    made = argparse.ArgumentParser()
    command.add(made)  # argparse refuses an option that is there already
    declared = {action.dest for action in made._actions} - {"help"}
    assert declared == {item.name for item in dataclasses.fields(command)}
    assert command.__doc__
    module, _, function = command.does.rpartition(".")
    assert callable(getattr(import_module(f"jurist.console.{module}"), function))
    parser = build_parser()
    for line in re.findall(r"^ {6}(?:\S+=\S+ )?jurist (.*)", command.__doc__.replace("\\\n", ""), re.M):
        parser.parse_args(shlex.split(re.split(r" (?:&&|>>?) ", line)[0], comments=True))


def test_every_command_with_a_limit_on_cost_takes_the_price_that_this_needs() -> None:
    without = set()
    for command in COMMANDS:
        names = {item.name for item in dataclasses.fields(command)}
        if "cost" in names and not {"price_in", "price_out"} <= names:
            without.add(command.command)
    assert without == {"batch collect"}  # its price was stated when the rows were submitted


def test_every_command_of_every_module_is_found() -> None:
    declared: set[type[Options]] = set()
    for module in pkgutil.iter_modules(arguments.__path__):
        for value in vars(import_module(f"jurist.arguments.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Options) and value.command:
                declared.add(value)
    assert declared == set(COMMANDS), "a module is missing in _SUBJECTS of arguments/commands.py"
    for command in COMMANDS:
        name = command.command.split()[0]
        assert command in commands_beside(name), f"{name} is missing in _SUBJECTS of arguments/commands.py"


def test_a_command_that_help_does_not_list_is_named() -> None:
    class Unlisted(Options, command="unlisted"):
        """Do nothing."""

    with pytest.raises(ValueError, match="lists the command unlisted: add it to SECTIONS"):
        commands._place_in_help(Unlisted)


PRINTED = {"json", "markdown", "yes", "output", "rejects", "verbose", "junit"}
"""Options about what a terminal shows, asks and writes."""
ELSEWHERE = {
    **{
        "prompt_api_base": "Model.api_base",
        "prompt_key_env": "Model.key_env",
        "prompt_max_tokens": "Model.max_tokens",
        "prompt_price_in": "Model.price_in",
        "prompt_price_out": "Model.price_out",
        "judge_api_base": "Model.api_base",
        "panel": "Model.panel",
    },
    **{
        "judge_model": "verifier",
        "redraw": "redraws",
        "settings": "options",
        "split": "shares",
        "models": "models",
        "no_words": "words",
        "questions": "questions",  # in Python the lines, and True where no option is given
        "no_questions": "questions",
        "own_answer": "own_answer",  # in Python True, where no option is given
        "no_own_answer": "own_answer",
        "keep_groups": "RowMapping.keep_groups",
    },
    **{"labels": "RowMapping.labels", "columns": "RowMapping.columns", "trust": "load.trust"},
    **{"per_document": "Judge.most_cases", "types": "Judge.expand", "characters": "Judge.expand"},
    **{"metric": "Judge.with_metric", "strictness": "load.strictness", "timeout": "Model.timeout"},
}
"""Option -> what it is in Python, where that is no argument of the function, or one of another name."""
NOTHING = {str(one) for one in (None, "", (), {}, MappingProxyType({}), inspect.Parameter.empty)}
NOTHING |= {str(dataclasses.MISSING)}
SETTINGS = (jurist.Budget, jurist.Model, jurist.Sampling)


@pytest.mark.parametrize("name", ["compile", "evaluate", "compare", "gate", "harden"])
def test_every_flag_has_its_field_in_python_and_the_same_default(name: str) -> None:
    (command,) = [one for one in COMMANDS if one.command in (name, f"{name} JUDGE", f"evaluate {name}")]
    function = getattr(jurist, name)
    taken = {**inspect.signature(jurist.load).parameters, **inspect.signature(function).parameters}
    # of these nothing is the default
    open_ = {*Loading.__annotations__, *Asking.__annotations__} - taken.keys()
    for item in dataclasses.fields(command):
        where, _, what = ELSEWHERE.get(item.name, item.name).rpartition(".")
        owner = next((one for one in SETTINGS if item.name in one.__dataclass_fields__), None)
        if item.name in PRINTED:
            continue
        if item.name in ELSEWHERE:
            place = getattr(jurist, where) if where else function
            known = {*taken, *open_, *inspect.signature(place).parameters}
            assert what in known or hasattr(place, what)
        elif item.name in open_:
            assert not item.default or item.name == "concurrency", item.name
        elif item.name in taken:
            theirs, ours = taken[item.name].default, item.default
            assert (
                theirs == ours or {str(theirs), str(ours)} <= NOTHING or item.name in ("model", "resume")
            ), item.name
        else:
            assert owner is not None, item.name
            assert owner.__dataclass_fields__[item.name].default == item.default, item.name


def test_the_command_gives_each_argument_of_a_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def compile_nothing(**arguments: object) -> None:
        given.update(arguments)
        raise UsageError("nothing is compiled")

    monkeypatch.setattr("jurist.console.compile.compile", compile_nothing)
    cli("compile", "fect", "--gold", "fect-mini")
    brought_by_surface = {"store", "mapping", "raters", "merge", "resume", "fresh", "sink"}
    assert given.keys() | brought_by_surface == inspect.signature(jurist.compile).parameters.keys()
    assert not given.keys() & brought_by_surface


def test_a_compilation_is_limited_alike_in_both() -> None:
    assert f"(default: {CALLS})" in " ".join(cli("compile", "--help").out.split())
    assert f"{CALLS:,}" in str(jurist.compile.__doc__)


def test_help_fits_a_screen_and_every_command_stands_in_it_once() -> None:
    lines = cli("--help").out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    listed = Counter(
        line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")
    )
    assert {command.command.split()[0] for command in COMMANDS} == {
        name for name in listed if name != "jurist"
    }


def test_options_used_now_and_then_stand_in_the_whole_help_alone() -> None:
    usual, whole = cli("compile", "--help").out, cli("compile", "--help-all").out
    assert "--optimizer" in usual
    assert "--rpm" not in usual
    (command,) = [one for one in COMMANDS if one.command == "compile"]
    flags = {
        flag for line in whole.splitlines() for flag in re.findall(r"^  (?:-\w \S+, )?(--[a-z-]+)", line)
    }
    assert len(flags - {"--help-all"}) == sum(
        not one.metadata.get("positional") for one in dataclasses.fields(command)
    )
    assert ",".join(sorted(EXPORTERS)) in "".join(cli("export", "--help").out.split())


@pytest.mark.parametrize(
    "words",
    [
        "JUDGE PATH -o F",
        "JUDGE -o F PATH",
        "-o F JUDGE PATH",
        "-o F JUDGE --seed 3 PATH",
        "JUDGE -o F --gold PATH",
    ],
)
def test_names_may_stand_before_and_behind_options(words: str) -> None:
    parsed = build_parser().parse_args(["gold", "split", *words.split()])
    assert (parsed.judge, parsed.source or parsed.gold, parsed.output) == ("JUDGE", "PATH", "F")


def test_a_command_with_actions_beside_it_takes_options_before_its_name() -> None:
    write_jsonl(Path("few.jsonl"), claims(2))
    assert "fect:basic on few" in cli("evaluate", "--gold", "few.jsonl", "fect:basic").out
    assert "see jurist evaluate --help" in cli("evaluate").err
    assert "see jurist run join --help" in cli("run", "join").err


MODEL = 'model = "openai/a"\napi-base = "http://127.0.0.1:9/v1"\ntimeout = 3\n'


@pytest.mark.parametrize(
    ("file", "text"),
    [("jurist.toml", MODEL), ("pyproject.toml", "[tool.jurist]\n" + MODEL)],
)
def test_a_file_says_once_how_a_model_is_reached(
    file: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).write_text(text)
    kept = file == "jurist.toml"

    def read(*argv: str) -> tuple[Any, ...]:
        parsed = build_parser().parse_args([*argv, "--gold", "g"])
        given = parsed.command.of(parsed)
        return getattr(given, "model", None) or getattr(given, "models", None), given.api_base, given.timeout

    base, timeout = ("http://127.0.0.1:9/v1", 3.0) if kept else (None, 120.0)
    assert read("evaluate", "j") == ("openai/a" if kept else None, base, timeout)
    assert read("compile", "j") == ("openai/a" if kept else None, base, timeout)
    assert read("compare", "j") == (("openai/a",) if kept else (), base, timeout)
    # the address and the key of one model are never another's
    assert read("evaluate", "j", "--model", "openai/b") == ("openai/b", None, timeout)
    assert read("compare", "j", "--model", "offline") == (("offline",), None, timeout)
    assert read("evaluate", "j", "--mod", "openai/b") == ("openai/b", None, timeout)
    assert read("evaluate", "j", "--model", "openai/b", "--api-base", "http://b")[1] == "http://b"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = ", "cannot be read"),
        ('modle = "openai/a"', "did you mean model?"),
        ('api-base = "http://b"', "names no model"),
        ('model = "openai/a"\nconcurrency = "many"', "concurrency: 'many' is not possible"),
    ],
)
def test_a_wrong_file_of_settings_is_one_line(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jurist.toml").write_text(text)
    done = cli("evaluate", "fect:basic", "--gold", "fect-mini")
    assert (done.code, len(done.lines)) == (2, 1)
    assert done.err.startswith("error: jurist.toml")
    assert said in done.err


@pytest.mark.parametrize(
    ("line", "word", "completed"),
    [
        ("", "go", ["gold"]),
        ("gold", "ch", ["check"]),
        ("gold check fect", "--reje", ["--rejects"]),
        ("compile", "--opti", ["--optimizer"]),
        ("run", "jo", ["join"]),
        ("run join", "--out", ["--output"]),
    ],
)
def test_bash_completes_commands_actions_and_options(line: str, word: str, completed: list[str]) -> None:
    words = " ".join(f"'{part}'" for part in ["jurist", *line.split(), word])
    count = len(line.split()) + 1
    script = f'COMP_WORDS=({words}); COMP_CWORD={count}; _jurist; echo "${{COMPREPLY[@]}}"'
    source = cli("--completion", "bash").out + script
    done = subprocess.run(["bash", "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.split() == completed


def test_every_command_is_completed_in_fish_and_zsh() -> None:
    fish, zsh = cli("--completion", "fish").out, cli("--completion", "zsh").out
    assert zsh.startswith("autoload -U +X bashcompinit")
    for command in COMMANDS:
        assert command.command.split()[0] in fish
        assert command.command.split()[0] in zsh
    assert "use one of bash, zsh, fish" in cli("--completion", "tcsh").err
