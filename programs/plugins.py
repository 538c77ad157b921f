"""What modules of jurist, Python files (``file.py:name``) and installed packages (entry points) bring by name.

A registry declares one :class:`PluginKind`. It looks a name up among its own first, so that a plugin never replaces
what comes with jurist. The entry points of installed packages are read only for a name that is not its own, or for a
list of names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeGuard, TypeVar

from ..arguments.names import list_module_names
from ..errors import JudgeError, JuristError, as_data, suggest_file, suggest_name, system_message

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

AllowExecution = Callable[[Path, Mapping[str, str]], None]
"""Called with a file and the hashes of its code before the file is executed; raises where that is not allowed."""

LOADING_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""Errors that code of somebody else may raise while it is imported."""

_executed_hashes: dict[Path, Mapping[str, str]] = {}
"""The hashes of every file that was executed in this process, by its absolute path."""


@dataclass(frozen=True, kw_only=True)
class PluginKind(Generic[T]):
    """One kind of thing that a Python file or an installed package may bring.

    Attributes:
        group: the group of entry points, ``jurist.judges``.
        noun: the word for one of them in messages, ``judge``. A file that is named alone means its only object of
            the kind, or its attribute of this name. A module of jurist has an attribute of this name.
        expected: what an object must be, with an article: ``a jurist.Judge``.
        accepts: whether an object is of the kind.
        error: the error that says what is wrong with a plugin.
    """

    group: str
    noun: str
    expected: str
    accepts: Callable[[object], TypeGuard[T]]
    error: type[JuristError] = JudgeError

    def load_modules(self, package: str) -> dict[str, T]:
        """Return name of a module -> the object that it brings: its attribute called like the noun.

        Args:
            package: a package of jurist, such as ``exports.targets``.

        Raises:
            TypeError: a module has no such object, or one of another kind.
        """
        objects: dict[str, T] = {}
        for name in list_module_names(package):
            module = import_module(f"jurist.{package}.{name.replace('-', '_')}")
            value = getattr(module, self.noun, None)
            if not self.accepts(value):
                raise TypeError(f"{module.__file__}: {self.noun} is not {self.expected}")
            objects[name] = value
        return objects

    def from_file(self, path: Path, attribute: str = "", allow: AllowExecution | None = None) -> T:
        """Execute a Python file and return the object that it calls ``attribute``.

        Raises:
            JuristError: the file cannot be read or executed, or the object is not in it or of another kind. Whatever
                ``allow`` raises.
        """
        from .judge_files import JudgeFile

        try:
            file = JudgeFile.read(path)
        except OSError as error:
            problem = system_message(error) if path.exists() else "no such file"
            hint = (
                suggest_file(path, "*.py") or f"give the path of a Python file that defines {self.expected}"
            )
            raise self.error(f"{path}: {problem}", hint=hint) from error
        if allow is not None:
            allow(path, file.hashes)
        try:
            module = file.execute()
        except LOADING_ERRORS as error:
            message = f"{as_data(path)}: {type(error).__name__}: {error}"
            raise self.error(message, hint="make the file import cleanly") from error
        except SystemExit as error:
            message = f"{as_data(path)}: the file ends the program when it is imported (sys.exit)"
            hint = 'put what ends the program below if __name__ == "__main__":'
            raise self.error(message, hint=hint) from error
        _executed_hashes[path.resolve()] = file.hashes

        candidates = [name for name, value in vars(module).items() if self.accepts(value)]
        attribute = attribute or self.noun
        if attribute == self.noun and len(candidates) == 1:
            attribute = candidates[0]
        value = getattr(module, attribute, None)
        if self.accepts(value):
            return value
        problem = f"of type {type(value).__name__}, not {self.expected}"
        if value is None:
            problem = "not in it"
        hint = suggest_name(attribute, candidates) if candidates else "name a file that defines one"
        raise self.error(f"{path}: {attribute!r} is {problem}", hint=hint)

    def installed_names(self) -> list[str]:
        """Return the names that installed packages bring, in alphabetical order; none of them is imported."""
        return sorted({plugin.name for plugin in installed_plugins(self.group)})

    def from_package(self, name: str) -> T | None:
        """Return the object that an installed package brings under a name; ``None`` if there is no such name.

        Raises:
            JuristError: two packages bring the name, its package cannot be imported, or the object is of another kind
                or is called otherwise.
        """
        matches = [entry for entry in _entry_points(self.group) if entry.name == name]
        if not matches:
            return None
        packages = sorted({_package_of(entry) for entry in matches})
        if len(packages) > 1:
            message = f"{' and '.join(packages)} each bring {self._a_noun()} called {name!r}"
            raise self.error(message, hint=f"uninstall one of them: pip uninstall {packages[-1]}")
        return self._load(matches[0])

    def _load(self, entry: "EntryPoint") -> T:
        """Import the package of an entry point, and return the object that it names."""
        package = _package_of(entry)
        place = f"{entry.name} = {entry.value} ({self.group} of {package})"
        try:
            value: object = entry.load()
        except (JuristError, *LOADING_ERRORS, SystemExit) as error:
            message = f"{place}: {type(error).__name__}: {error}"
            raise self.error(
                message, hint=f"install another version of {package}, or uninstall it"
            ) from error
        hint = f"report it to the authors of {package}, or uninstall it"
        if not self.accepts(value):
            raise self.error(f"{place}: it is of type {type(value).__name__}, not {self.expected}", hint=hint)
        own_name = getattr(value, "name", entry.name)
        if own_name != entry.name:
            raise self.error(f"{place}: the {self.noun} itself is called {own_name!r}", hint=hint)
        return value

    def _a_noun(self) -> str:
        """Return the noun with its article: ``an optimizer``."""
        article = "an" if self.noun[0] in "aeiou" else "a"
        return f"{article} {self.noun}"


@dataclass(frozen=True, kw_only=True)
class InstalledPlugin:
    """The name that an installed package brings, and the package."""

    name: str
    package: str


def installed_plugins(group: str) -> list[InstalledPlugin]:
    """Return the plugins in a group of entry points, in alphabetical order; no package is imported."""
    plugins: set[InstalledPlugin] = set()
    for entry in _entry_points(group):
        plugins.add(InstalledPlugin(name=entry.name, package=_package_of(entry)))
    return sorted(plugins, key=lambda plugin: (plugin.name, plugin.package))


def split_file_name(name: str) -> tuple[Path | None, str]:
    """Return the Python file and the attribute in ``file.py:attribute``.

    The file is ``None`` where the name means no Python file, the attribute is empty where the file is named alone.
    """
    head, _, tail = name.rpartition(":")
    if head.endswith(".py"):
        return Path(head), tail
    if name.endswith(".py"):
        return Path(name), ""
    return None, ""


def executed_hashes(path: Path) -> Mapping[str, str]:
    """Return the hashes of a file and its modules, if it was executed in this process; else none."""
    return _executed_hashes.get(path.resolve(), {})


def _entry_points(group: str) -> "list[EntryPoint]":
    """Return the entry points of a group in all installed packages; none of these is imported."""
    # Importing importlib.metadata costs a third of the start of the command line.
    from importlib.metadata import entry_points

    return list(entry_points(group=group))


def _package_of(entry: "EntryPoint") -> str:
    """Return the name of the package that an entry point belongs to."""
    if entry.dist is None:
        return entry.module.partition(".")[0]
    return entry.dist.name
