"""How jobs of several roles begin on the command line: the estimate, the question, then the progress bar."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..arguments.groups import PaidOptions
from ..engines.models import Model
from ..jobs.estimate import Estimate, free
from ..keeping.paying import Start
from .approving import agree
from .common import Bar, store_of


class Started(Bar):
    """A job from its opening to its end, as a context manager, and its bars.

    With a real model the estimate is shown and, above the limits, a person is asked, before anything is sent and
    before the bar is drawn. The offline engine is never asked about.
    """

    def __init__(
        self, options: PaidOptions, models: Collection[Model], foresee: Callable[[], Estimate]
    ) -> None:
        super().__init__()
        self.estimate: Estimate | None = None
        self._options, self._foresee = options, foresee
        self._real = [model for model in models if not free(model)]

    @property
    def forecast(self) -> dict[str, Any] | None:
        """The estimate as JSON values."""
        return self.estimate.to_json() if self.estimate else None

    def start(self, text: str, total: int) -> Start:
        """Return how the job is started, with the first bar it will show."""
        options, root = self._options, store_of(self._options).checkpoints

        def opened(paid: Mapping[str, int]) -> None:
            if self._real:
                self.estimate = self._foresee()
                agree(self.estimate, paid, yes=options.yes)
            self.begin(text, total)

        return Start(root=root, resume=options.resume, fresh=options.fresh, on_open=opened)
