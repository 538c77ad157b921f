"""How jobs of several roles begin on the command line: the estimate, the question, then the progress bar."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import TracebackType

from ..arguments.groups import PaidOptions
from ..engines.models import Model
from ..jobs.estimates import Estimate
from ..jobs.forecast import free
from ..keeping.paying import Start
from .approving import Bill, approve
from .common import Bar, store_of
from .printing import remark

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

    def __enter__(self) -> Started:
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
            self._announce(self.estimate, sum(paid.values()))
            approve(self._bill(self.estimate, paid), yes=self._options.yes)
        self._bar.begin(*self._wanted)

    def _announce(self, estimate: Estimate, paid: int) -> None:
        limit = estimate.budget.calls
        kept = f"; {paid} answers are paid already" if paid else ""
        remark(f"before: {estimate.words}{kept}")
        if limit is not None and limit < sum(part.calls.least for part in estimate.parts):
            remark(f"--max-calls {limit} will stop it before the end; --resume continues from there")

    def _bill(self, estimate: Estimate, paid: Mapping[str, int]) -> Bill:
        calls, cost = estimate.left(paid)
        hosted = {model.name for model in self._real if model.api_base is None}
        return Bill(
            calls=calls,
            cost=cost,
            unpriced=tuple(name for name in estimate.unpriced if name in hosted),
            unknown=tuple(estimate.unpriced),
            bounded=estimate.budget.calls is not None,
            capped=estimate.budget.cost is not None,
            about="up to",
        )
