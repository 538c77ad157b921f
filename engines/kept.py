"""What was made of things once, so that it is not made again for each row."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Made = TypeVar("Made")
_MOST = 256


class Kept(Generic[Made]):
    """A function whose results are kept. Arguments are told apart by identity, as things that differ may be equal."""

    def __init__(self, make: Callable[..., Made]) -> None:
        self._make, self._known = make, dict[tuple[int, ...], tuple[tuple[Any, ...], Made]]()

    def __call__(self, *things: Any) -> Made:
        """Return the result of ``make`` for these arguments, made once."""
        key = tuple(map(id, things))
        kept = self._known.get(key)
        if kept is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            # the things are kept too: so no other thing gets the id of one
            kept = self._known[key] = (things, self._make(*things))
        return kept[1]
