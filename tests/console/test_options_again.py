"""The options of a proposed command: those that were given, of each option that there is."""

import argparse
import shlex
from dataclasses import fields
from typing import Any

import pytest

from jurist.arguments.compile import CompileOptions
from jurist.arguments.options import Options
from jurist.arguments.scoring import EvaluateOptions, GateOptions
from jurist.console.inputs import OF_CARD, options_again

COMMANDS: tuple[type[Options], ...] = (CompileOptions, EvaluateOptions, GateOptions)
SAID = ("3", "0.25", "it's=o k", "f1=0.5", "label_a,label_b", "kept x.jsonl")
"""Values of which each option takes one."""
ENDS = {"output", "resume", "fresh", "yes", "verbose", "json", "markdown", "anyway", "force"}
"""Options that are not repeated: how this run ends, and how it is printed."""
LIMITS = {"calls", "cost", "tokens", "seconds"}


class RefusedError(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise RefusedError(message)


def parsed(command: type[Options], words: str) -> Options:
    parser = Parser()
    command.add(parser)
    return command.of(parser.parse_args(shlex.split(words)))


def values_of(command: type[Options], flag: str) -> list[str]:
    """Return how an option can be given with a value that is not its default, as words for a shell."""
    parser = Parser()
    (action,) = [action for action in command.add(parser) if flag in action.option_strings]
    if action.nargs == 0:
        return [flag]
    said = action.choices or SAID
    return [f"{flag} {shlex.quote(str(value))}" for value in said if str(value) != str(action.default)]


def given(command: type[Options]) -> list[Any]:
    rows = []
    parser = Parser()
    for action in command.add(parser):
        if action.option_strings:
            flag = action.option_strings[-1]
            rows.append(pytest.param(command, flag, action.dest, id=f"{command.command.split()[0]} {flag}"))
    return rows


@pytest.mark.parametrize(("command", "flag", "name"), [row for command in COMMANDS for row in given(command)])
def test_each_option_that_was_given_is_repeated(command: type[Options], flag: str, name: str) -> None:
    start = "JUDGE" if command is CompileOptions else "JUDGE --gold g.csv"
    for words in values_of(command, flag):
        try:
            options: Any = parsed(command, f"{start} {words}")
        except RefusedError:
            continue
        break
    else:
        pytest.fail(f"no value of {SAID} fits {flag}")
    for target in COMMANDS:
        again = parsed(target, f"JUDGE --gold g.csv {options_again(options, target)}")
        names = {item.name for item in fields(target)}
        if name in names and name not in ENDS and (target is command or name not in LIMITS):
            assert getattr(again, name) == getattr(options, name)
        else:
            assert flag not in options_again(options, target).split()


def test_what_a_card_keeps_are_options() -> None:
    assert {item.name for item in fields(CompileOptions)} >= OF_CARD
