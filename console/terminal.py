"""The terminal, as Python's functions see it: where they say how work goes, and ask before much is paid."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from ..arguments.groups import Limits, NameOptions, Resume, RowOptions, StoreOptions
from ..engines.ledger import Spend
from ..engines.meter import Meter
from ..errors import plural, words_of_counts
from ..gold.data import WITH_DIFFERENCE
from ..gold.goldset import Gold
from ..gold.mapping import RowMapping
from ..jobs.estimate import CostEstimate
from ..jobs.surface import Asked, GoldLike, Surface
from ..keeping.loading import LoadedJudge
from ..keeping.paying import PaidAnswers
from ..programs.judge import Judge
from .bars import progress
from .inputs import start_of
from .printing import print_notes
from .questions import agree
from .rows import gold_of, mapping_of, store_of


class Terminal(Surface):
    """The surface of a command: notes and bars on standard error, gold as the options say."""

    def __init__(self, options: StoreOptions) -> None:
        store = store_of(options)
        start = None
        if isinstance(options, Resume):
            start = replace(start_of(options, store), on_first_replies=self.foresee_again)
        super().__init__(store, start)
        self._estimate: CostEstimate | None = None
        self.forecast: dict[str, object] | None = None  # the estimate as JSON values
        self._options = options
        self.mapping = RowMapping()
        if isinstance(options, NameOptions):
            self.mapping = mapping_of(options)

    def opened(self, work: Asked, paid: PaidAnswers) -> None:
        """Say what is about to be spent and can be shown by it, and ask a person where that is much."""
        estimate = work.foresee()
        self.agreed(estimate, paid, [*self.notes(work), estimate.ending])

    def agreed(self, estimate: CostEstimate, paid: PaidAnswers, notes: Sequence[str] = ()) -> None:
        """Say what is about to be spent, and ask a person where that is much."""
        self._estimate = estimate
        self.forecast = estimate.to_json()
        yes = isinstance(self._options, Limits) and self._options.yes
        agree(estimate, paid, yes=yes, notes=notes)

    def foresee_again(self, spend: Spend) -> None:
        """Say what is to be expected by the first replies, where that differs much from what was said before."""
        if self._estimate is None or self.forecast is None or not self._estimate.paid:
            return
        self.forecast["after_first_replies"] = self._estimate.revise(spend).to_json()
        print_notes(self._estimate.describe_revision(spend))

    def notes(self, work: Any) -> Sequence[str]:
        """Return notes for the user before the first call."""
        return tuple(work.notes)

    def note(self, *notes: str) -> None:
        """Say each."""
        print_notes(*notes)

    def loaded(self, judge: LoadedJudge) -> None:
        """Say which model a version asks, if nobody named any."""
        print_notes(judge.own_model_words)

    def gold(self, gold: GoldLike, judge: Judge) -> Gold:
        """Return gold, read as the options say."""
        assert isinstance(self._options, RowOptions)
        labelled = gold_of(str(gold), judge, self._options)
        for words in labelled.blank_words:
            print_notes(f"{words}: judged as it is")
        counts = dict(labelled.skipped_by)
        counts.pop(WITH_DIFFERENCE, None)  # these have a note of their own
        if counts:
            print_notes(f"{plural(sum(counts.values()), 'row')} set aside: {words_of_counts(counts)}")
        return labelled

    def counted(self, title: str, rows: int, meter: Meter) -> AbstractContextManager[Callable[[], None]]:
        """Show a bar."""
        return progress(rows, title, meter)
