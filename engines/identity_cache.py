"""Results that are computed once for the same arguments, and not again for each row."""

from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")
_MOST_RESULTS = 256


class IdentityCache(Generic[Result]):
    """A function whose results are cached. Arguments are told apart by identity, as different ones may be equal."""

    def __init__(self, compute: Callable[..., Result]) -> None:
        self._compute = compute
        self._entries = dict[tuple[int, ...], tuple[tuple[object, ...], Result]]()

    def __call__(self, *arguments: object) -> Result:
        """Return the result for these arguments, computed once."""
        key = tuple(map(id, arguments))
        entry = self._entries.get(key)
        if entry is None:
            if len(self._entries) >= _MOST_RESULTS:
                self._entries.clear()
            # The arguments are held too, so that no other object gets the id of one.
            entry = (arguments, self._compute(*arguments))
            self._entries[key] = entry
        return entry[1]
