"""How jobs of several roles begin on the command line: the estimate, the question, then the progress bar."""

from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import Any

from ..arguments.groups import PaidOptions
from ..engines.models import Model
from ..jobs.estimate import Estimate, free
from ..keeping.paying import Start
from .approving import agree
from .common import Bar, store_of

__all__ = ["Started"]


class Started:
    """A job from its opening to its end, as a context manager.

    With a real model the estimate is shown and, above the limits, a person is asked, before anything is sent and
    before the bar is drawn. The offline engine is never asked about.

    Attributes:
        estimate: what was shown; ``None`` where nothing can cost anything, or nothing was begun.
    """

    def __init__(
        self, options: PaidOptions, models: Collection[Model], foresee: Callable[[], Estimate]
    ) -> None:
        self.estimate: Estimate | None = None
        self._options, self._foresee = options, foresee
        self._real = [model for model in models if not free(model)]
        self._bar, self._wanted = Bar(), ("", 0)

    @property
    def forecast(self) -> dict[str, Any] | None:
        """The estimate as JSON values."""
        return self.estimate.to_json() if self.estimate else None

    def __enter__(self) -> "Started":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def begin(self, total: int, text: str) -> Start:
        """Return how the job is started, with the first bar it will show."""
        self._wanted = (text, total)
        options = self._options
        return Start(
            root=store_of(options).checkpoints, resume=options.resume, fresh=options.fresh, on_open=self._open
        )

    def step(self) -> None:
        """Advance the bar."""
        self._bar.step()

    def then(self, total: int, text: str) -> None:
        """Go on with a bar below."""
        self._bar.begin(text, total)

    def _open(self, paid: Mapping[str, int]) -> None:
        if self._real:
            self.estimate = self._foresee()
            agree(self.estimate, paid, yes=self._options.yes)
        self._bar.begin(*self._wanted)
