"""The parser of commands, how one of them is done, and what ``jurist.toml`` says of models in their place.

That file is the one of the current folder. What it says of an endpoint holds for the model that it names, and for no
other: another ``--model`` is asked at its own address, with its own key.
"""

import argparse
import difflib
import gc
import inspect
import json
import os
import re
import shutil
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from ..errors import UsageError, choices, why
from .groups import ModelOptions, ModelsOptions
from .options import Options, is_rare

_MANY = 24
"""Options from which on help lists those that are used every day."""


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong on one line, and what may have been meant."""

    actions: frozenset[str] = frozenset()  # the names of a group's actions
    any_other: str = ""  # the action that any other name is given to; empty if there is none
    whole: bool = False  # whether the group is a command itself, and takes options before a name too
    listed: Sequence[tuple[str, list[argparse.Action]]] = ()  # heading -> commands, where help has sections
    rare: Mapping[argparse.Action, str | None] = {}  # what only --help-all lists, with its texts
    command: type[Options] | None = None  # what it parses
    declared: bool = False  # whether the options of that are there
    kept: Mapping[str, Any] = {}  # what a file of settings says
    given: Sequence[str] = ()  # the words that were parsed last

    def __init__(self, *args: Any, **settings: Any) -> None:
        self.general_actions: list[
            argparse.Action
        ] = []  # what argparse and :class:`Parser` declare, as ``--help``
        self.option_actions: list[argparse.Action] = []  # the options of the command, once they are declared
        super().__init__(*args, **settings)

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Declare an argument, and keep it."""
        action = super().add_argument(*names, **settings)
        self.general_actions.append(action)
        return action

    def declare(self) -> None:
        """Declare the options of the command when they are needed: those of all commands take longer than most."""
        if self.command is None or self.declared:
            return
        self.declared = True
        self.option_actions = self.command.add(self)
        if len(self.option_actions) < _MANY:
            return
        rare = {}
        needed = []
        positional = []
        for action in self.option_actions:
            if is_rare(self.command, action):
                rare[action] = action.help
                action.help = argparse.SUPPRESS
            if not action.option_strings:
                positional.append(str(action.metavar))
            elif action.required:
                needed.append(f"{action.option_strings[-1]} {action.metavar}")
        self.rare = rare
        self.usage = " ".join([self.prog.replace("%", "%%"), *positional, *needed, "[OPTIONS]"])
        help_all = f"list {len(rare)} more options, used now and then"
        self.add_argument("--help-all", action=_HelpAll, nargs=0, help=help_all)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Give a name that is no action of the group to the action that takes any other; refuse what nobody takes."""
        self.declare()
        argv = list(args or ())
        named = bool(argv) and not argv[0].startswith("-")
        if self.any_other and (self.whole or named) and not (named and argv[0] in self.actions):
            argv = [self.any_other, *argv]
        if self.kept and self.command:
            argv = in_front(self.kept, self.command, self, argv)
        self.given = argv
        parsed, unknown = super().parse_known_args(argv if args is not None else None, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown[0])}")
        return parsed, unknown

    def _meant(self, word: str) -> str:
        options: list[str] = []
        for action in (*self.option_actions, *self.general_actions):
            options += action.option_strings
        name = word.partition("=")[0]
        if not name.startswith("--") or any(option.startswith(name) for option in options):
            return ""
        close = difflib.get_close_matches(name, options, n=1, cutoff=0.7)
        return f"; did you mean {close[0]}?" if close else ""

    def list_all(self) -> None:
        """Let help list all options from now on."""
        for action, text in self.rare.items():
            action.help = text

    def format_help(self) -> str:
        """Return the help: commands in their sections, or the options that are used every day, with what there is."""
        self.declare()
        if self.listed:
            formatter = self.formatter_class(prog=self.prog)
            formatter.add_text(self.description)
            for heading, commands in self.listed:
                formatter.start_section(heading)
                formatter.add_arguments(commands)
                formatter.end_section()
            formatter.add_text(self.epilog)
            return f"{self.format_usage()}\n{formatter.format_help()}"
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, as every other error is said, and exit with 2."""
        if message.startswith("the following arguments are required"):  # and one of them may be misspelt
            message += next(filter(None, map(self._meant, self.given)), "")
        say(f"error: {message}{'' if message.endswith('?') else ';'} see {self.prog} --help")
        self.exit(2)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Name what is close to a misspelt command or choice; argparse has no public hook for it."""
        if action.choices is None or value in action.choices:
            return
        raise argparse.ArgumentError(
            action, f"there is no {value!r}; {choices(str(value), map(str, action.choices))}"
        )


def say(text: str) -> None:
    """Write one line to standard error; on a terminal it breaks at words."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))
    sys.stderr.write(text + "\n")


def add_commands(
    parser: Parser,
    commands: Sequence[type[Options]],
    groups: Mapping[str, str],
    sections: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Add commands, the groups that some of them belong to, and the sections in which help lists them."""
    top = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    within: dict[str, tuple[Parser, Any]] = {}
    kept = settings()
    summaries: dict[str, str] = {}  # command or group -> its line in the help
    for command in commands:
        help, *examples = re.split(
            r"\n\n(?=(?:exit codes|examples):\n?)", inspect.cleandoc(command.__doc__ or ""), maxsplit=1
        )
        group, _, name = command.command.rpartition(" ")
        listed = top
        if group:
            if group not in within:
                about = groups.get(group, "") or _first_sentence(help)
                summaries[group] = about
                made = top.add_parser(group, help=about, description=f"{about[0].upper()}{about[1:]}.")
                made.whole = group not in groups
                within[group] = made, made.add_subparsers(title="actions", metavar="ACTION", required=True)
            actions, listed = within[group]
            actions.actions |= {name}
            actions.any_other = name if name.isupper() else actions.any_other
        summary = _first_sentence(help)
        if not group:
            summaries[name] = summary
        parsing = listed.add_parser(
            name,
            help=summary,
            description=help,
            epilog="".join(examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if group and name.isupper():
            parsing.prog = f"{parser.prog} {group}"
        parsing.command, parsing.kept = command, kept
        parsing.set_defaults(command=command)
    for group, (made, _) in within.items():
        if made.whole:
            others = ", ".join(
                f"jurist {group} {name} --help" for name in sorted(made.actions - {made.any_other})
            )
            within[group][1].choices[made.any_other].epilog += f"\n\nSee also: {others}"
    for heading, names in sections.items():
        entries = []
        for name in names.split():
            entries.append(argparse.Action([], dest=name, metavar=name, help=summaries[name]))
        parser.listed = [*parser.listed, (heading, entries)]


class _HelpAll(argparse.Action):
    def __call__(self, parser: Any, *_: Any) -> None:
        parser.list_all()
        parser.print_help()
        parser.exit()


def _module(name: str) -> Any:
    """Import a module of the package by its name within it: only when it is needed."""
    return import_module(f"{__package__.rpartition('.')[0]}.{name}")


def _first_sentence(text: str) -> str:
    """Return the first sentence of a help, up to a colon, as lists of commands have it: begun small, but for a name."""
    first, _, rest = re.split(r":|\.\s", " ".join(text.split()) + " ")[0].partition(" ")
    return f"{first.lower() if first.istitle() else first} {rest}"


def load(command: type[Options]) -> Callable[[argparse.Namespace], int]:
    """Import what does a command; return what does it for arguments, prints its result and returns the exit code."""
    module, _, function = command.does.rpartition(".")
    with _loading_line(), _no_garbage_collection():
        does, printing = getattr(_module(f"console.{module}"), function), _module("console.printing")

    def run(arguments: argparse.Namespace) -> int:
        options = command.of(arguments)
        with printing.results_alone():
            result = does(options)
        printing.print_result(result, options)
        return int(result.code)

    return run


@contextmanager
def _loading_line() -> Iterator[None]:
    """Say on a terminal that a command is being loaded, until it is: importing DSPy takes seconds."""
    is_shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    if is_shown:
        sys.stderr.write("loading ...")
        sys.stderr.flush()
    try:
        yield
    finally:
        if is_shown:
            sys.stderr.write(_ERASE_LINE)
            sys.stderr.flush()


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Collect no garbage meanwhile: modules leave little of it, and looking for it takes a tenth of their import."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_ERASE_LINE = "\r\x1b[K"
_FILE = Path("jurist.toml")
_TABLES = {"headers": "--header", "body": "--body"}
"""Tables of the file, and the option that takes each of their entries as NAME=VALUE."""
_OF_MODEL = (
    *("api-base", "api-key-env", "rpm", "temperature", "top-p", "max-tokens", "patience"),
    *("reasoning-effort", "price-in", "price-out", "price-cached", *_TABLES),
)
_KEYS = (
    *("model", *_OF_MODEL, "timeout", "concurrency", "adapter"),
    *("prompt-model", "prompt-api-base", "prompt-api-key-env", "prompt-price-in", "prompt-price-out"),
    *("judge-model", "judge-api-base"),
)


def settings() -> Mapping[str, Any]:
    """Return option (without dashes) -> value in the file of the current folder; nothing without a file."""
    try:
        kept = tomllib.loads(_FILE.read_text(encoding="utf-8")) if _FILE.is_file() else {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{_FILE} cannot be read: {why(error)}", hint="write it as TOML") from error
    for key in kept:
        if key not in _KEYS:
            raise UsageError(f"{_FILE} has no option {key!r}", hint=choices(key, _KEYS))
    if kept and "model" not in kept:
        raise UsageError(f"{_FILE} names no model", hint='add model = "provider/model"')
    return kept


def in_front(
    kept: Mapping[str, Any], command: type[Options], parser: Parser, arguments: Sequence[str]
) -> list[str]:
    """Return the arguments of a command that names its model behind what a file says, which they override."""
    if not issubclass(command, (ModelOptions, ModelsOptions)):
        return [*arguments]
    # as the command's own parser takes it: shortened, too, or the address and the key of one model went to another
    named = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    named.add_argument("--model", action="append", default=[])
    models = named.parse_known_args([*arguments])[0].model
    flags: dict[str, argparse.Action] = {}
    for action in parser.option_actions:
        flags |= dict.fromkeys(action.option_strings, action)
    first = []
    for key, value in kept.items():
        of_another = models and models != [kept["model"]] and key in _OF_MODEL
        if of_another or (key == "model" and models):
            continue
        for flag, text in _options_of(key, value):
            if flag not in flags:
                continue
            _check_value_of(flags[flag], text, key)
            first.append(f"{flag}={text}")
    return [*first, *arguments]


def _check_value_of(action: argparse.Action, text: str, key: str) -> None:
    """Refuse a text in the file of settings that an option does not take."""
    convert = action.type if callable(action.type) else str
    try:
        value = convert(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{_FILE}: {key}: {error}") from error
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{_FILE}: {key}: invalid {getattr(convert, '__name__', 'option')} value: {text!r}"
        ) from error
    if action.choices is not None and value not in action.choices:
        hint = choices(text, map(str, action.choices))
        raise UsageError(f"{_FILE}: {key}: there is no {text!r}; {hint}")


def _options_of(key: str, value: Any) -> list[tuple[str, str]]:
    """Return the options, each with its text, that one entry of the file stands for."""
    if key not in _TABLES:
        return [(f"--{key}", str(value))]
    if not isinstance(value, Mapping):
        raise UsageError(
            f"{_FILE}: {key} is no table", hint=f"write [{key}] on a line, and name = value below it"
        )
    options = []
    for name, entry in value.items():
        text = entry if key == "headers" and isinstance(entry, str) else json.dumps(entry, default=str)
        options.append((_TABLES[key], f"{name}={text}"))
    return options
