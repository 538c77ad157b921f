"""What other installed packages add: judges, generators, optimizers and export targets, found by entry points.

Nothing is loaded before it is asked for, and each plug-in once. One that cannot be loaded is an error where it is
named, and a line where all are listed; everything else works as if it were not there.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from ..errors import PluginError

UNLOADABLE = (
    *(AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError, SyntaxError, TypeError),
    ValueError,
)
"""What loading a Python file of somebody else may raise."""

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Things by name: our own, then those of installed packages, which cannot take a name of ours."""

    def __init__(self, own: Mapping[str, T], *, group: str, fits: Callable[[Any], bool], what: str) -> None:
        self._own, self._group, self._fits, self._what = dict(own), group, fits, what
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        """Return the thing of that name."""
        if name in self._own:
            return self._own[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(self._offered[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        """Yield all names, our own first; loads nothing."""
        yield from self._own
        yield from self._offered

    def __len__(self) -> int:
        return len(self._own) + len(self._offered)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._offered

    def usable(self) -> tuple[dict[str, T], list[PluginError]]:
        """Return everything that can be loaded, and why the rest cannot."""
        loaded, broken = {}, []
        for name in self:
            try:
                loaded[name] = self[name]
            except PluginError as error:
                broken.append(error)
        return loaded, broken

    @cached_property
    def _offered(self) -> dict[str, EntryPoint]:
        points = sorted(entry_points(group=self._group), key=lambda point: point.name)
        return {point.name: point for point in points if point.name not in self._own}

    def _load(self, point: EntryPoint) -> T:
        package = point.dist.name if point.dist else point.value
        try:
            loaded = point.load()
            wrong = "" if self._fits(loaded) else f"it is {loaded!r:.60}, which is no {self._what}"
        except UNLOADABLE as error:
            wrong = f"{type(error).__name__}: {error}"
        else:
            name = getattr(loaded, "name", point.name)
            wrong = wrong or ("" if name == point.name else f"it calls itself {name!r}")
        if wrong:
            raise PluginError(
                f"the {self._what} {point.name!r} of {package} cannot be loaded: {wrong}",
                hint=f"ask the authors of {package}, or uninstall it",
            )
        return loaded  # type: ignore[no-any-return]
