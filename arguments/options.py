"""Options as frozen values that declare and read themselves.

A group of options is a subclass of :class:`Options` whose fields are made by :func:`option`, :func:`flag` or
:func:`positional`; a field's type says its choices, and how a number is read. ``Group.add(parser)`` declares them and
``Group.of(arguments)`` reads them: one place for both, and what a command gets is typed. What Python takes as an object
(a budget, a model) is a subclass of the group of its options, so that a setting is declared once, and is read by the
same ``of`` from the options of any command that has the group.
"""

import argparse
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Literal, Self, dataclass_transform, get_args, get_origin


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True)
class Options:
    """Some options of a command; subclasses name them as fields, and several groups are mixed in as bases.

    A subclass is a frozen dataclass by itself.
    """

    helps: ClassVar[Mapping[str, str]] = {}  # help texts by field, in place of those of the groups

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def add(cls, parser: argparse.ArgumentParser) -> None:
        """Declare the options: a command's own, then those of its groups in the order of its bases."""
        exclusive: dict[str, Any] = {}
        declared = (item for item in fields(cls) if item.metadata)
        for item in sorted(declared, key=lambda item: _depth(cls, item.name)):
            name, alone, told = (item.metadata[key] for key in ("name", "exclusive", "told"))
            if alone and alone not in exclusive:
                exclusive[alone] = parser.add_mutually_exclusive_group()
            place = exclusive[alone] if alone else parser
            told = {**_read(cls, item.name), **told, "help": cls.helps.get(item.name, told["help"])}
            if name is None:
                place.add_argument(item.name, **told)
            else:
                flags = name.split() or [f"--{item.name.replace('_', '-')}"]
                place.add_argument(*flags, dest=item.name, **told)

    @classmethod
    def of(cls, given: object, **others: Any) -> Self:
        """Read what ``given`` (parsed arguments, other options) has under the names of the fields, and ``others``.

        Where it has nothing, or ``None``, the default holds; options that may be repeated are tuples.
        """
        values = {item.name: getattr(given, item.name, None) for item in fields(cls)} | others
        return cls(
            **{
                name: tuple(value) if isinstance(value, list) else value
                for name, value in values.items()
                if value is not None
            }
        )


def _depth(cls: type[Options], name: str) -> int:
    return next(place for place, base in enumerate(cls.__mro__) if name in _annotated(base))


@cache
def _annotated(cls: type) -> Mapping[str, Any]:
    return inspect.get_annotations(cls, eval_str=True)


def _read(cls: type[Options], name: str) -> dict[str, Any]:
    """Return what a field's type says of its values: the choices of a ``Literal``, how a number is read."""
    kind = _annotated(cls.__mro__[_depth(cls, name)])[name]
    for one in (kind, *get_args(kind)):
        if get_origin(one) is Literal:
            return {"choices": get_args(one)}
        if one in (int, float):
            return {"type": one, **({"metavar": "N"} if one is int else {})}
    return {}


def option(default: Any = None, *, help: str, name: str = "", exclusive: str = "", **told: Any) -> Any:
    """Return a field that is an option, ``--`` and its own name but for another ``name``; help ends in its default."""
    said = isinstance(default, int | float | str) and default is not False and default != ""
    shown = f"{default:g}" if isinstance(default, float) else default
    about = {
        "default": default,
        "help": f"{help} (default: {shown})" if said and "default" not in help else help,
        **told,
    }
    return field(default=default, metadata={"name": name, "exclusive": exclusive, "told": about})


def repeated(*, help: str, **told: Any) -> Any:
    """Return a field that is an option that may be given several times: a tuple, empty without any."""
    return option((), help=f"{help}; may be repeated", action=_Append, **told)


def flag(**told: Any) -> Any:
    """Return a field that is true if the option is given."""
    return option(False, action="store_true", **told)


def positional(metavar: str, *, help: str = "", **told: Any) -> Any:
    """Return a field that is an argument without a name."""
    about = {"metavar": metavar, "help": help or None, **told}
    metadata = {"name": None, "exclusive": "", "told": about}
    return field(default=None, metadata=metadata) if told.get("nargs") == "?" else field(metadata=metadata)


class _Append(argparse.Action):
    def __call__(self, parser: object, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        setattr(namespace, self.dest, (*getattr(namespace, self.dest), values))
