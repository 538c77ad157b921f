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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypeAlias

from ..errors import UsageError, suggest_name, system_message
from .groups import ModelOptions, ModelsOptions, Prices
from .names import name_example_models
from .options import Options, is_rare

Settings: TypeAlias = Mapping[str, Any]
"""Option, without dashes -> its value in a file of settings."""
_MANY = 24
"""Options from which on help lists those that are used every day."""
_USES_ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {"--by": "jurist evaluate JUDGE --gold GOLD --by COLUMN scores one judge by the values of a column"}
)
"""Option that people look for in commands without it -> the command that has it."""


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong on one line, and what may have been meant."""

    actions: frozenset[str] = frozenset()  # the names of a group's actions
    default_action: str = ""  # the action that any other name is given to; empty if there is none
    is_command: bool = False  # whether the group is a command itself, and takes options before a name too
    listed: Sequence[tuple[str, list[argparse.Action]]] = ()  # heading -> commands, where help has sections
    rare: Mapping[argparse.Action, str | None] = {}  # what only --help-all lists, with its texts
    command: type[Options] | None = None  # what it parses
    is_declared: bool = False  # whether the options of that are there
    file_settings: Mapping[str, Any] = {}  # what a file of settings says
    parsed_words: Sequence[str] = ()  # the words that were parsed last

    def __init__(self, *args: Any, **settings: Any) -> None:
        # what argparse and :class:`Parser` declare, as ``--help``
        self.general_actions: list[argparse.Action] = []
        self.option_actions: list[argparse.Action] = []  # the options of the command, once they are declared
        super().__init__(*args, **settings)

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Declare an argument, and keep it."""
        action = super().add_argument(*names, **settings)
        self.general_actions.append(action)
        return action

    def declare(self) -> None:
        """Declare the options of the command when they are needed: those of all commands take longer than most."""
        if self.command is None or self.is_declared:
            return
        self.is_declared = True
        self.option_actions = self.command.add(self)
        if len(self.option_actions) < _MANY:
            return
        rare = {}
        required = []
        positional = []
        for action in self.option_actions:
            if is_rare(self.command, action):
                rare[action] = action.help
                action.help = argparse.SUPPRESS
            if not action.option_strings:
                positional.append(str(action.metavar))
            elif action.required:
                required.append(f"{action.option_strings[-1]} {action.metavar}")
        self.rare = rare
        self.usage = " ".join([self.prog.replace("%", "%%")] + positional + required + ["[OPTIONS]"])
        help_all = f"list {len(rare)} more options, used now and then"
        self.add_argument("--help-all", action=_HelpAll, nargs=0, help=help_all)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Give a name that is no action of the group to the action that takes any other; refuse what nobody takes."""
        self.declare()
        argv = list(args or ())
        if self.default_action and self._is_for_default_action(argv):
            argv.insert(0, self.default_action)
        if self.file_settings and self.command:
            argv = with_file_settings(self.file_settings, self.command, self, argv)
        self.parsed_words = argv
        parsed, unknown = super().parse_known_args(argv if args is not None else None, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._near_option(unknown[0])}")
        return parsed, unknown

    def _is_for_default_action(self, argv: Sequence[str]) -> bool:
        """Whether words name no action of the group, and are for the action that takes any other name."""
        begins_with_name = bool(argv) and not argv[0].startswith("-")
        if begins_with_name:
            return argv[0] not in self.actions
        return self.is_command

    def _near_option(self, word: str) -> str:
        """Return the question whether an option was meant that is called nearly so; empty if there is none."""
        options: list[str] = []
        for action in self.option_actions + self.general_actions:
            options += action.option_strings
        name = word.partition("=")[0]
        if name in _USES_ELSEWHERE and name not in options:
            return f"; {name} is an option of another command: {_USES_ELSEWHERE[name]}"
        if not name.startswith("--") or any(option.startswith(name) for option in options):
            return ""
        close_options = difflib.get_close_matches(name, options, n=1, cutoff=0.7)
        if not close_options:
            return ""
        return f"; did you mean {close_options[0]}?"

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
            for word in self.parsed_words:
                near_option = self._near_option(word)
                if near_option:
                    message += near_option
                    break
        separator = "" if message.endswith("?") else ";"
        say(f"error: {message}{separator} see {self.prog} --help")
        self.exit(2)

    def _match_arguments_partial(self, actions: Sequence[argparse.Action], pattern: str) -> list[int]:
        """Leave names that may be missing for the words behind the options; argparse has no public hook for it."""
        # Until Python 3.13 argparse takes PATH in ``JUDGE -o F PATH`` as missing once it has met JUDGE.
        counts: list[int] = super()._match_arguments_partial(actions, pattern)
        if "O" in pattern:  # options follow, and perhaps names behind them
            while counts and counts[-1] == 0:
                counts.pop()
        return counts

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Name what is close to a misspelt command or choice; argparse has no public hook for it."""
        if action.choices is None or value in action.choices:
            return
        raise argparse.ArgumentError(
            action, f"there is no {value!r}; {suggest_name(str(value), map(str, action.choices))}"
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
    top_level = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    group_parsers: dict[str, _GroupParser] = {}
    file_settings = settings()
    summaries: dict[str, str] = {}  # command or group -> its line in the help
    for command in commands:
        help_text, epilog = _help_and_epilog(command)
        summary = _first_sentence(help_text)
        group, _, name = command.command.rpartition(" ")
        siblings = top_level
        if not group:
            summaries[name] = summary
        else:
            if group not in group_parsers:
                summaries[group] = groups.get(group, "") or summary
                group_parsers[group] = _add_group(top_level, group, summaries[group])
                group_parsers[group].parser.is_command = group not in groups
            group_parser, siblings = group_parsers[group]
            group_parser.actions |= {name}
            if name.isupper():
                group_parser.default_action = name
        command_parser = siblings.add_parser(
            name,
            help=summary,
            description=help_text,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if group and name.isupper():
            command_parser.prog = f"{parser.prog} {group}"
        command_parser.command = command
        command_parser.file_settings = file_settings
        command_parser.set_defaults(command=command)
    for group, (group_parser, siblings) in group_parsers.items():
        if group_parser.is_command:
            siblings.choices[group_parser.default_action].epilog += _see_also(group, group_parser)
    listed = []
    for heading, names in sections.items():
        entries = []
        for name in names.split():
            entries.append(argparse.Action([], dest=name, metavar=name, help=summaries[name]))
        listed.append((heading, entries))
    parser.listed = listed


class _GroupParser(NamedTuple):
    """The parser of a group, and what adds the parsers of its actions."""

    parser: Parser
    actions: Any


def _add_group(top_level: Any, group: str, summary: str) -> _GroupParser:
    """Add the parser of a group of commands."""
    description = f"{summary[0].upper()}{summary[1:]}."
    group_parser = top_level.add_parser(group, help=summary, description=description)
    actions = group_parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    return _GroupParser(group_parser, actions)


def _help_and_epilog(command: type[Options]) -> tuple[str, str]:
    """Return the text of a command's help, and its exit codes and examples, which stand below the options."""
    text = name_example_models(inspect.cleandoc(command.__doc__ or ""))
    help_text, *epilogs = re.split(r"\n\n(?=(?:exit codes|examples):\n?)", text, maxsplit=1)
    return help_text, "".join(epilogs)


def _see_also(group: str, group_parser: Parser) -> str:
    """Return the end of the help of a command that has actions, too: how to get the help of these."""
    commands = []
    for action in sorted(group_parser.actions - {group_parser.default_action}):
        commands.append(f"jurist {group} {action} --help")
    return f"\n\nSee also: {', '.join(commands)}"


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
    first_word, _, rest = re.split(r":|\.\s", " ".join(text.split()) + " ")[0].partition(" ")
    if first_word.istitle():
        first_word = first_word.lower()
    return f"{first_word} {rest}"


def load_command(command: type[Options], *, owns_process: bool) -> Callable[[argparse.Namespace], int]:
    """Import what does a command; return what does it for arguments, prints its result and returns the exit code.

    ``owns_process`` says that the process ends with the command.
    """
    module, _, function = command.does.rpartition(".")
    with _loading_line(), _no_garbage_collection(owns_process):
        do = getattr(_module(f"console.{module}"), function)
        printing = _module("console.printing")

    def run(arguments: argparse.Namespace) -> int:
        options = command.of(arguments)
        with printing.reserve_standard_output():
            result = do(options)
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
def _no_garbage_collection(owns_process: bool) -> Iterator[None]:
    """Collect no garbage meanwhile: modules leave little of it, and looking for it takes a tenth of their import."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if owns_process:
            # Modules stay until the process ends: neither the work nor the end of it is to search them for garbage.
            # A collection begins as soon as it may, so they are set apart before.
            gc.freeze()
        if was_enabled:
            gc.enable()


_ERASE_LINE = "\r\x1b[K"
_FILE = Path("jurist.toml")
_TABLES = {"headers": "--header", "body": "--body"}
"""Tables of the file, and the option that takes each of their entries as NAME=VALUE."""
_FIELDS = {"api-key-env": "key_env"}
"""Keys of the file that a model has under another name."""
_MODEL_KEYS = [
    "api-base",
    "api-key-env",
    "rpm",
    "temperature",
    "top-p",
    "max-tokens",
    "patience",
    "reasoning-effort",
    "price-in",
    "price-out",
    "price-cached",
    "headers",
    "body",
]
"""What the file says of the model that it names, and of no other."""
_PANEL = "panel"
"""The table of the file with a table for each model of a panel: what the file says of that one."""
_KEYS = [
    "model",
    _PANEL,
    *_MODEL_KEYS,
    "timeout",
    "concurrency",
    "adapter",
    "prompt-model",
    "prompt-api-base",
    "prompt-api-key-env",
    "prompt-price-in",
    "prompt-price-out",
    "judge-model",
    "judge-api-base",
]


def settings() -> Settings:
    """Return option (without dashes) -> value in the file of the current folder; nothing without a file."""
    try:
        if not _FILE.is_file():
            return {}
        import tomllib

        file_settings = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{_FILE} cannot be read: {system_message(error)}", hint="write it as TOML"
        ) from error
    for key in file_settings:
        if key not in _KEYS:
            raise UsageError(f"{_FILE} has no option {key!r}", hint=suggest_name(key, _KEYS))
    if file_settings.keys() - {_PANEL} and "model" not in file_settings:
        raise UsageError(f"{_FILE} names no model", hint='add model = "provider/model"')
    return file_settings


def file_prices(model: str) -> dict[str, Any]:
    """Return the prices that the file of the current folder states for a model, by option's name; none of another."""
    file_settings = settings()
    if file_settings.get("model") != model:
        return {}
    prices: dict[str, Any] = {}
    for item in fields(Prices):
        value = file_settings.get(item.name.replace("_", "-"))
        if value is not None:
            prices[item.name] = value
    return prices


def panel_settings() -> dict[str, dict[str, Any]]:
    """Return the name of a model of a panel -> what the file of the current folder says of it, by option's name."""
    tables = settings().get(_PANEL, {})
    members: dict[str, dict[str, Any]] = {}
    for model, table in tables.items() if isinstance(tables, Mapping) else ():
        if not isinstance(table, Mapping):
            raise UsageError(f"{_FILE}: panel.{model} is no table", hint=f'write [panel."{model}"]')
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in _MODEL_KEYS:
                raise UsageError(
                    f"{_FILE}: a model of a panel has no {key!r}", hint=suggest_name(key, _MODEL_KEYS)
                )
            values[_FIELDS.get(key, key.replace("-", "_"))] = _pairs_of_table(key, value)
        members[model] = values
    return members


def _pairs_of_table(key: str, value: object) -> object:
    """Return a table of headers or of fields as pairs of texts, and any other value as it is."""
    if key not in _TABLES:
        return value
    pairs = []
    for _, entry in _options_of(key, value):
        name, _, text = entry.partition("=")
        pairs.append((name, text))
    return tuple(pairs)


def with_file_settings(
    file_settings: Settings, command: type[Options], parser: Parser, arguments: Sequence[str]
) -> list[str]:
    """Return the arguments of a command that names its model behind what a file says, which they override."""
    if not issubclass(command, (ModelOptions, ModelsOptions)):
        return list(arguments)
    # as the command's own parser takes it: shortened, too, or the address and the key of one model went to another
    model_parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    model_parser.add_argument("--model", action="append", default=[])
    model_parser.add_argument("--panel", action="append", default=[])
    parsed = model_parser.parse_known_args(list(arguments))[0]
    models = parsed.model + parsed.panel
    is_other_model = bool(models) and models != [file_settings.get("model")]
    actions: dict[str, argparse.Action] = {}
    for action in parser.option_actions:
        for flag in action.option_strings:
            actions[flag] = action
    words = []
    for key, value in file_settings.items():
        if key == _PANEL:
            continue
        if (key == "model" and models) or (key in _MODEL_KEYS and is_other_model):
            continue
        for flag, text in _options_of(key, value):
            if flag in actions:
                _check_value_of(actions[flag], text, key)
                words.append(f"{flag}={text}")
    words.extend(arguments)
    return words


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
        hint = suggest_name(text, map(str, action.choices))
        raise UsageError(f"{_FILE}: {key}: there is no {text!r}; {hint}")


def _options_of(key: str, value: object) -> list[tuple[str, str]]:
    """Return the options, each with its text, that one entry of the file stands for."""
    if key not in _TABLES:
        return [(f"--{key}", str(value))]
    if not isinstance(value, Mapping):
        raise UsageError(
            f"{_FILE}: {key} is no table", hint=f"write [{key}] on a line, and name = value below it"
        )
    options = []
    for name, entry in value.items():
        text = json.dumps(entry, default=str)
        if key == "headers" and isinstance(entry, str):
            text = entry
        options.append((_TABLES[key], f"{name}={text}"))
    return options
