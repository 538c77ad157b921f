"""Results in Python: tables in a notebook, as a data frame, and as LaTeX."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import importing_extra
from .render import html_of, render_latex
from .table import Table

if TYPE_CHECKING:
    import pandas

    from ..evaluation.intervals import Estimate


class Shown(ABC):
    """A result with tables. Subclasses give ``parts``, ``records`` and ``to_json``."""

    @abstractmethod
    def parts(self) -> Sequence[Table | str]:
        """Return the tables and lines that a notebook shows, the main table first."""

    @abstractmethod
    def records(self) -> Sequence[Mapping[str, object]]:
        """Return the rows of :meth:`to_frame`, each a mapping of columns to values."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns of :meth:`to_frame` where it has no rows; results that always have rows name none."""
        return ()

    @property
    def headline(self) -> str:
        """The line that a program shows of it: the first of ``parts``, of a table its title; empty without parts."""
        first_part = next(iter(self.parts()), "")
        if isinstance(first_part, Table):
            return first_part.title
        return first_part

    def __repr__(self) -> str:
        """Return one line; a notebook shows the tables."""
        return f"<{type(self).__name__}: {self.headline}>"

    def to_frame(self) -> pandas.DataFrame:
        """Return the figures as a ``pandas.DataFrame``, unrounded, with the 95 % interval from ``low`` to ``high``.

        Raises:
            JuristError: pandas is not installed.
        """
        with importing_extra("frames"):
            import pandas
        records = list(self.records())
        if not records:
            return pandas.DataFrame(columns=list(self.columns))
        return pandas.DataFrame(records)

    @property
    def latex_tables(self) -> Sequence[Table]:
        """The tables of :meth:`to_latex`: the main one, unless a result names others."""
        return self.tables[:1]

    @property
    def tables(self) -> Sequence[Table]:
        """All tables of ``parts``."""
        return [part for part in self.parts() if isinstance(part, Table)]

    def to_latex(self, *, caption: str = "", label: str = "") -> str:
        """Return the figures as LaTeX, which needs the package ``booktabs``.

        A comparison has a table for each metric and one of the tests; an evaluation with ``by`` has one by the values
        of that column, too; agreement has all its tables; other results have their main table.

        Args:
            caption: LaTeX; where it is given, the table floats.
            label: for ``\\\\ref``; with a caption.
        """
        tables = self.latex_tables
        if not tables:
            return ""
        return render_latex(*tables, caption=caption, label=label)

    def _repr_html_(self) -> str:
        return html_of(self.parts())


def score_record(score: Estimate | None) -> dict[str, float | None]:
    """Return the value of a score or an estimate, and the ends of its interval, for a record."""
    if score is None:
        return {"value": None, "low": None, "high": None}
    return {"value": score.value, "low": score.interval.low, "high": score.interval.high}
