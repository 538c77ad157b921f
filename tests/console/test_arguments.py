"""Options: every command declares its own once, reads them back, and says what is meant by a misspelt one."""

import argparse
import dataclasses
import inspect
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

import pytest
from small import claims, cli, write_jsonl

import jurist
from jurist.arguments.commands import COMMANDS
from jurist.arguments.options import Options
from jurist.jobs.plan import CALLS
from jurist.jobs.surface import Asking, Loading


@pytest.mark.parametrize("command", COMMANDS, ids=[command.command for command in COMMANDS])
def test_every_command_declares_each_of_its_options_once(command: type[Options]) -> None:
    made = argparse.ArgumentParser()
    command.add(made)  # argparse refuses an option that is there already
    declared = {action.dest for action in made._actions} - {"help"}
    assert declared == {item.name for item in dataclasses.fields(command)}
    assert command.__doc__
    module, _, function = command.does.rpartition(".")
    assert callable(getattr(import_module(f"jurist.console.{module}"), function))


PRINTED = {
    "json",
    "markdown",
    "yes",
    "output",
    "worst",
    "rejects",
    "verbose",
}
"""Options about what a terminal shows, asks and writes."""
ELSEWHERE = {
    **{
        "prompt_api_base": "Model.api_base",
        "prompt_key_env": "Model.key_env",
        "judge_api_base": "Model.api_base",
    },
    **{"judge_model": "verifier", "settings": "options", "split": "shares", "models": "models"},
    **{"metric": "Judge.with_metric", "only": "attacks", "suite": "attacks"},
    **{"labels": "RowMapping.labels", "columns": "RowMapping.columns", "trust": "load.trust"},
    **{"strictness": "load.strictness", "timeout": "Model.timeout"},
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
            assert theirs == ours or {str(theirs), str(ours)} <= NOTHING or item.name == "model", item.name
        else:
            assert owner is not None, item.name
            assert owner.__dataclass_fields__[item.name].default == item.default, item.name


def test_a_compilation_is_limited_alike_in_both() -> None:
    assert f"(default: {CALLS})" in " ".join(cli("compile", "--help").out.split())
    assert f"{CALLS:,}" in str(jurist.compile.__doc__)


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


def test_a_command_with_actions_beside_it_takes_options_before_its_name() -> None:
    write_jsonl(Path("few.jsonl"), claims(2))
    assert "fect:basic on few" in cli("evaluate", "--gold", "few.jsonl", "fect:basic").out
    assert "see jurist evaluate --help" in cli("evaluate").err
    assert "see jurist run join --help" in cli("run", "join").err
