"""Options as frozen values that declare and read themselves: a command is one of them, and so are Python's settings.

A subclass of :class:`Options` names its options as fields, made by :func:`option`, :func:`choice`, :func:`flag`,
:func:`repeated` or :func:`positional`; a field's type says its choices, and how a number is read. What Python takes as
an object (a budget, a model) is a subclass of the group of its options, so that a setting is declared once, and is read
by the same ``of`` from the options of any command that has the group.
"""

import argparse
import inspect
import os
import shlex
from collections.abc import Collection, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache
from pathlib import PurePath
from typing import Any, ClassVar, Literal, Self, dataclass_transform, get_args, get_origin


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True)
class Options:
    """Some options; subclasses name them as fields, and several groups are mixed in as bases.

    A subclass is a frozen dataclass by itself. One with a ``command`` is that command: ``compare``, ``gold check`` for
    an action of a group, or ``generate NAME`` for any other name there, which is then its first argument. It is done by
    ``does``, module and function in :mod:`jurist.console`, which takes the options and returns a result to print; its
    docstring is the help. ``helps`` are texts by field, in place of those of its groups. An option that is ``rare``
    stands in ``--help-all``. A ``group`` is a base of commands alone: nobody makes one by itself, so it gets no methods
    that would take time at every start.
    """

    command: ClassVar[str] = ""
    does: ClassVar[str] = ""
    helps: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(
        cls, command: str = "", does: str = "", helps: Mapping[str, str] | None = None, *, group: bool = False
    ) -> None:
        cls.command, cls.does, cls.helps = command, does, helps or {}
        is_compared = not group and not command
        dataclass(frozen=True, kw_only=True, init=not group, repr=is_compared, eq=is_compared)(cls)

    @classmethod
    def add(cls, parser: argparse.ArgumentParser) -> list[argparse.Action]:
        """Declare the options, a command's own before those of its groups in the order of its bases; return them."""
        actions: list[argparse.Action] = []
        exclusive: dict[str, Any] = {}
        declared = (item for item in fields(cls) if item.metadata)
        for item in sorted(declared, key=lambda item: _depth(cls, item.name)):
            settings = {**_typed(cls, item), **item.metadata}
            settings.pop("rare", None)
            metavar = settings.pop("spec").rpartition(" ")[2]
            for base in reversed(cls.__mro__):
                settings["help"] = vars(base).get("helps", {}).get(item.name, settings["help"])
            if metavar:
                settings["metavar"] = metavar
            group = settings.pop("exclusive", "")
            if group and group not in exclusive:
                exclusive[group] = parser.add_mutually_exclusive_group()
            holder = exclusive.get(group, parser)
            if settings.pop("positional", False):
                actions.append(holder.add_argument(item.name, **settings))
            else:
                if item.name == "output" and metavar not in ("DIR", "FOLDER"):
                    settings["type"] = file_name
                actions.append(holder.add_argument(*_flags(item), dest=item.name, **settings))
        return actions

    @classmethod
    def of(cls, source: object, **overrides: Any) -> Self:
        """Read what ``source`` (parsed arguments, other options) has under the names of the fields.

        ``overrides`` take the place of what it has. Where it has nothing, or ``None``, the default holds; options that
        may be repeated are tuples.
        """
        values = {item.name: getattr(source, item.name, None) for item in fields(cls)}
        values |= overrides
        settings = {}
        for name, value in values.items():
            if isinstance(value, list):
                settings[name] = tuple(value)
            elif value is not None:
                settings[name] = value
        return cls(**settings)


def _flags(item: Field[Any]) -> list[str]:
    """Return the flags of an option, short ones first."""
    # ``-o --output F``: flags, if there are others, and the name of the value
    spec: str = item.metadata["spec"]
    flags = spec.split(" ")[:-1]
    if flags:
        return flags
    if item.name == "output":
        return ["-o", "--output"]
    return [f"--{item.name.replace('_', '-')}"]


def option_flags(command: type[Options]) -> list[str]:
    """Return the flags of all options of a command, as ``--gold``, without short ones."""
    flags = []
    for item in fields(command):
        if item.metadata and not item.metadata.get("positional"):
            flags.append(_flags(item)[-1])
    return flags


def repeat_options(options: Options, command: type[Options], *, without: Collection[str] = ()) -> list[str]:
    """Return the options that were given and that a command takes, each as words for a shell, such as ``--seed 3``.

    Args:
        options: the options that were given; those with their default are left out.
        command: the command that is to take them.
        without: the names of fields that are not repeated.
    """
    taken_flags = set(option_flags(command))
    words: list[str] = []
    for item in fields(options):
        is_option = item.metadata and not item.metadata.get("positional")
        if not is_option or item.name in without or _flags(item)[-1] not in taken_flags:
            continue
        value = getattr(options, item.name)
        if value == item.default:
            continue
        flag_name = _flags(item)[-1]
        if value is True:
            words.append(flag_name)
        elif item.metadata.get("action") == "append":
            words.extend(f"{flag_name} {shlex.quote(_option_text(part))}" for part in value)
        elif isinstance(value, tuple):
            words.append(f"{flag_name} {shlex.quote(','.join(value))}")
        else:
            words.append(f"{flag_name} {shlex.quote(_option_text(value))}")
    return words


def _option_text(value: object) -> str:
    """Return a value as it is written after its option; a pair with a sign of equality."""
    if isinstance(value, tuple):
        return "=".join(_option_text(part) for part in value)
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value)


def file_name(text: str) -> str:
    """Refuse what names no file: an empty variable of a shell, a dot, a folder by its slash."""
    if not PurePath(text).name or text.endswith(("/", os.sep)):
        raise argparse.ArgumentTypeError(f"{text!r} names no file")
    return text


_EVERYDAY = frozenset(
    "help gold model models api_base input output calls cost yes resume columns labels verbose".split()  # noqa: SIM905
)


def is_rare(command: type[Options], action: argparse.Action) -> bool:
    """Say whether an option of a command with many is one that is used now and then: no everyday one, nor its own."""
    if not action.option_strings or action.dest in _EVERYDAY:
        return False
    for item in fields(command):
        if item.name == action.dest:
            return bool(item.metadata.get("rare")) or _depth(command, item.name) > 0
    return True


def _depth(cls: type[Options], name: str) -> int:
    """Return how far up among the bases a field is declared: 0 if it is the class's own."""
    return next(depth for depth, base in enumerate(cls.__mro__) if name in _annotations(base))


@cache
def _annotations(cls: type) -> Mapping[str, Any]:
    """Return the types of the fields that a class itself declares."""
    return inspect.get_annotations(cls, eval_str=True)


def _typed(cls: type[Options], item: Field[Any]) -> dict[str, Any]:
    """Return the arguments of a field's type: choices of a ``Literal``, the reader of a number, and if it is needed."""
    annotation = _annotations(cls.__mro__[_depth(cls, item.name)])[item.name]
    is_needed = item.default is None and type(None) not in get_args(annotation)
    settings: dict[str, Any] = {}
    if is_needed and not item.metadata.get("positional"):
        settings["required"] = True
    for kind in (annotation, *get_args(annotation)):
        if get_origin(kind) is Literal:
            settings["choices"] = get_args(kind)
            break
        if kind in (int, float):
            settings["type"] = kind
            break
    return settings


def option(spec: str, help: str, default: Any = None, **settings: Any) -> Any:
    """Return a field that is an option, by the name of its value, as ``DIR``; its help ends in its default."""
    # Its flag is its own name, but for one that stands before that of the value: ``-o --output F``.
    if default not in (None, "", ()) and default is not False and "default" not in help:
        default_text = f"{default:g}" if isinstance(default, float) else default
        help = f"{help} (default: {default_text})"
    return field(default=default, metadata={"spec": spec, "help": help, **settings})


def choice(help: str, default: Any = None, **settings: Any) -> Any:
    """Return a field that is an option with a few values."""
    return option("", help, default, **settings)


def repeated(spec: str, help: str, **settings: Any) -> Any:
    """Return a field that is an option that may be given several times: a tuple, empty without any."""
    return option(spec, f"{help}; may be repeated", (), action="append", **settings)


def flag(help: str, flags: str = "", **settings: Any) -> Any:
    """Return a field that is true if the option is given."""
    spec = f"{flags} " if flags else ""
    return option(spec, help, False, action="store_true", **settings)


def positional(metavar: str, help: str | None = None, **settings: Any) -> Any:
    """Return a field that is an argument without a name."""
    metadata = {"spec": metavar, "help": help, "positional": True, **settings}
    if settings.get("nargs") == "?":
        return field(default=None, metadata=metadata)
    return field(metadata=metadata)
