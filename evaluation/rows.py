"""What evaluation sees of a judge's work: one frozen row per case, and the honest count of what is missing.

It knows nothing of judges, models or files, and does not import numpy. A unit is what carries one answer: a sentence of
a response, or the single claim of a case.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ..cases import Value
from ..errors import JuristError


@dataclass(frozen=True, kw_only=True)
class JudgedRow:
    """One case, its gold and what the judge said."""

    id: str
    group: str  # its cluster (conversation, document); rows of one group are not independent
    gold: tuple[Value | None, ...]  # one value per unit; ``None`` is an unlabelled unit and is never counted
    predicted: tuple[Value | None, ...]  # one value per unit; ``None`` where there is no usable answer
    failed: bool = False  # by the machinery, so that the missing answers are no abstentions

    @property
    def labelled(self) -> bool:
        """True where gold has a value for some unit."""
        return any(value is not None for value in self.gold)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The numbers of units (or cases), by what happened to them: the four parts add up to ``total``.

    A unit without gold is unlabelled, whatever the judge did. A case is unlabelled when all its units are,
    failed when its row is, abstained when a labelled unit has no answer, and answered otherwise.
    """

    total: int
    answered: int
    abstained: int
    failed: int
    unlabelled: int

    @property
    def labelled(self) -> int:
        """The number of units (or cases) with a label."""
        return self.total - self.unlabelled

    @property
    def coverage(self) -> float:
        """The share of the labelled that was answered, in [0, 1]; 0.0 when nothing is labelled."""
        if not self.labelled:
            return 0.0
        return self.answered / self.labelled


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Counts of units and of cases."""

    units: Counts
    cases: Counts

    def to_json(self) -> dict[str, object]:
        """Return the counts, and the share of the labelled units that was answered."""
        return {**asdict(self), "coverage": self.units.coverage}


_STATES = ("failed", "abstained", "answered", "unlabelled")
"""What happens to a unit; of a case, the first of these that happened to one of its units."""


def tally(rows: Sequence[JudgedRow]) -> Tally:
    """Count units and cases by what happened to them; repeats of a case count each time."""
    units_by_state = Counter[str]()
    cases_by_state = Counter[str]()
    for row in rows:
        unit_states = _unit_states(row)
        units_by_state.update(unit_states)
        case_state = "unlabelled"
        for state in _STATES:
            if state in unit_states:
                case_state = state
                break
        cases_by_state[case_state] += 1
    return Tally(units=_counts_of(units_by_state), cases=_counts_of(cases_by_state))


def _unit_states(row: JudgedRow) -> list[str]:
    """Return the state of each unit of a row."""
    unanswered = "abstained"
    if row.failed:
        unanswered = "failed"
    states = []
    for gold, answer in zip(row.gold, row.predicted, strict=True):
        state = "answered"
        if gold is None:
            state = "unlabelled"
        elif answer is None:
            state = unanswered
        states.append(state)
    return states


def _counts_of(by_state: Counter[str]) -> Counts:
    return Counts(
        total=by_state.total(),
        answered=by_state["answered"],
        abstained=by_state["abstained"],
        failed=by_state["failed"],
        unlabelled=by_state["unlabelled"],
    )


def matched(first: Sequence[JudgedRow], second: Sequence[JudgedRow]) -> list[JudgedRow]:
    """Return the rows of ``second`` in the order of the same cases in ``first``."""
    first_rows = {row.id: row for row in first}
    second_rows = {row.id: row for row in second}
    unmatched_ids = sorted(first_rows.keys() ^ second_rows.keys())
    if unmatched_ids:
        raise JuristError(
            f"the two systems judged different cases: {len(unmatched_ids)} occur once only, such as "
            f"{unmatched_ids[0]!r}",
            hint="run both on the same rows; a case without an answer stays in, as abstained or failed",
        )
    rows_in_order = []
    for id_, row in first_rows.items():
        second_row = second_rows[id_]
        if (row.gold, row.group) != (second_row.gold, second_row.group):
            hint = "score both systems against the same gold set"
            raise JuristError(f"case {id_!r} has another gold label or group in the second system", hint=hint)
        rows_in_order.append(second_row)
    return rows_in_order
