"""Options: every command declares its own once, reads them back, and says what is meant by a misspelt one."""

import argparse
import dataclasses
import inspect
from importlib import import_module
from types import MappingProxyType

import pytest
from small import cli

import jurist
from jurist.arguments.command import add_commands
from jurist.arguments.commands import COMMANDS, GROUPS
from jurist.arguments.options import Options, flag, option, positional, repeated
from jurist.cli import build_parser
from jurist.jobs.plan import CALLS


class Shared(Options):
    """A group."""

    seed: int = option("N", "of everything", 0)
    slow: bool = flag("slowly", exclusive="pace")
    fast: bool = flag("fast", exclusive="pace")


class Toy(Shared, command="toy", helps={"seed": "of the toy"}):
    """Of a toy command."""

    names: tuple[str, ...] = positional("NAME", nargs="+")
    settings: tuple[str, ...] = repeated("--set NAME=VALUE", "a setting")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(exit_on_error=False)
    Toy.add(made)
    return made


def test_options_are_read_back_as_they_were_declared() -> None:
    given = parser().parse_args(["a", "b", "--set", "x=1", "--set", "y=2", "--fast"])
    assert Toy.of(given) == Toy(names=("a", "b"), settings=("x=1", "y=2"), fast=True)
    assert Toy.of(parser().parse_args(["a"])) == Toy(names=("a",))


def test_a_command_may_say_what_an_option_of_a_group_is_of() -> None:
    assert "of the toy" in parser().format_help()
    assert "of everything" not in parser().format_help()


@pytest.mark.parametrize("command", COMMANDS, ids=[command.command for command in COMMANDS])
def test_every_command_declares_each_of_its_options_once(command: type[Options]) -> None:
    made = argparse.ArgumentParser()
    command.add(made)  # argparse refuses an option that is there already
    declared = {action.dest for action in made._actions} - {"help"}
    assert declared == {item.name for item in dataclasses.fields(command)}
    assert command.__doc__
    module, _, function = command.does.rpartition(".")
    assert callable(getattr(import_module(f"jurist.console.{module}"), function))
    assert command.command.rpartition(" ")[0] in ("", *GROUPS)


PRINTED = {"json", "markdown", "html", "yes", "output", "checkpoint", "junit", "plot", "worst", "rejects"}
"""Options about what a terminal shows, asks and writes."""
ELSEWHERE = {
    **{
        "prompt_api_base": "Model.api_base",
        "prompt_key_env": "Model.key_env",
        "judge_api_base": "Model.api_base",
    },
    **{"judge_model": "verifier", "settings": "options", "split": "shares", "models": "models"},
    **{"metric": "Judge.with_metric", "only": "attacks", "suite": "attacks", "verifiers": "Judge.verifiers"},
    **{"labels": "RowMapping.labels", "columns": "RowMapping.columns", "trust": "load.trust"},
    **{"max_flip": "max_flip", "strictness": "load.strictness", "timeout": "Model.timeout"},
}
"""Option -> what it is in Python, where that is no argument of the function, or one of another name."""
NOTHING = {str(one) for one in (None, "", (), {}, MappingProxyType({}), inspect.Parameter.empty)}
NOTHING |= {str(dataclasses.MISSING)}
SETTINGS = (jurist.Budget, jurist.Model, jurist.Sampling)


@pytest.mark.parametrize("name", ["compile", "evaluate", "compare", "gate", "harden"])
def test_every_flag_has_its_field_in_python_and_the_same_default(name: str) -> None:
    (command,) = [one for one in COMMANDS if one.command == name]
    function = getattr(jurist, name)
    taken = {**inspect.signature(jurist.load).parameters, **inspect.signature(function).parameters}
    for item in dataclasses.fields(command):
        where, _, what = ELSEWHERE.get(item.name, item.name).rpartition(".")
        owner = next((one for one in SETTINGS if item.name in one.__dataclass_fields__), None)
        if item.name in PRINTED:
            continue
        if item.name in ELSEWHERE:
            place = getattr(jurist, where) if where else function
            assert what in taken or hasattr(place, what) or what in inspect.signature(place).parameters
        elif item.name in taken:
            theirs, ours = taken[item.name].default, item.default
            assert theirs == ours or {str(theirs), str(ours)} <= NOTHING or item.name == "model", item.name
        else:
            assert owner is not None, item.name
            assert owner.__dataclass_fields__[item.name].default == item.default, item.name


def test_a_compilation_is_limited_alike_in_both() -> None:
    assert f"(default: {CALLS})" in " ".join(cli("compile", "--help").out.split())
    assert f"{CALLS:,}" in str(jurist.compile.__doc__)


@pytest.mark.parametrize(
    ("help", "listed"),
    [
        ("Pass or fail a judge in CI: limits.\nAnd more.\n", "pass or fail a judge in CI"),
        ("CogniBench's Table 3 on any gold: detectors.\n", "CogniBench's Table 3 on any gold"),
        (
            "A page of F.jsonl, whose first sentence goes\non here. Another.\n",
            "a page of F.jsonl, whose first sentence goes on here",
        ),
        ("All artifacts.", "all artifacts"),
    ],
)
def test_lists_of_commands_have_first_sentences(help: str, listed: str) -> None:
    parser = argparse.ArgumentParser()
    toy = type(Options)("toy", (Shared,), {"__doc__": help}, command="toy")
    add_commands(parser, [toy], {})
    assert " ".join(parser.format_help().split()).endswith(f"COMMAND toy {listed}")


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (("comple",), "compile"),
        (("gold", "chek"), "check"),
        (("compile", "fect", "--adapter", "jsom"), "json"),
        (("judges", "--jsn"), "--json"),
        (("gold", "check", "fect", "g.csv", "--rejcts", "f"), "--rejects"),
        (("compile", "fekt"), "fect"),
        (("compile", "fect", "--optimizer", "ophro"), "opro"),
        (("compile", "fect", "--metric", "acuracy"), "accuracy"),
        (("compile", "fect", "--optimizer", "opro", "--set", "stepz=3"), "steps"),
        (("export", "fect:basic", "--to", "mesages"), "messages"),
    ],
)
def test_what_may_have_been_meant_is_said(argv: tuple[str, ...], meant: str) -> None:
    done = cli(*argv)
    assert done.code in (1, 2)
    assert done.lines[-1].startswith("error: ")
    assert f"did you mean {meant}?" in done.lines[-1]


def test_completions_are_the_commands_and_their_options() -> None:
    argcomplete = pytest.importorskip("argcomplete", reason="the extra completion is not installed")
    finder = argcomplete.CompletionFinder(build_parser(), always_complete_options=True)
    found = finder._get_completions(["jurist"], "ev", "", None)
    assert [one.strip() for one in found] == ["evaluate"]
    found = finder._get_completions(["jurist", "evaluate"], "--wor", "", None)
    assert [one.strip() for one in found] == ["--worst"]
