"""How far work is, where somebody looks at it: a bar in a notebook or a terminal, nothing in a script's log."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import printable
from ..optimizers.base import Event, Sink


@contextmanager
def shown(title: str) -> Iterator[Sink]:
    """Yield a sink that shows a compilation's calls, its phase and the value it last spoke of."""
    with _bar(title, None, "call") as bar:

        def take(event: Event) -> None:
            if event.kind == "phase":
                bar.total = None if event.expected is None else event.calls + event.expected
                bar.set_description_str(f"{title}: {event.phase}")
            value = "" if event.best is None else f" {event.best:.3f}"
            bar.set_postfix_str(printable(" ".join(event.text.split()))[:60] + value, refresh=False)
            bar.update(event.calls - bar.n)

        yield take


@contextmanager
def counted(title: str, rows: int | None) -> Iterator[Callable[[], None]]:
    """Yield what is to be called after each of so many rows; ``None`` where nobody knows how many."""
    with _bar(title, rows, "row") as bar:
        yield lambda: bar.update(1)


def _bar(title: str, total: int | None, unit: str) -> Any:
    from tqdm.auto import tqdm  # draws a widget in a notebook that has them, else a line of text

    looked_at = "ipykernel" in sys.modules or sys.stderr.isatty()
    return tqdm(total=total, desc=title, unit=unit, leave=False, disable=not looked_at)
