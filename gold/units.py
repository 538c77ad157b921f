"""One line of an annotation sheet, wherever it was read from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from ..errors import GoldError
from .rowtypes import Place

__all__ = ["AMBIGUITY", "CATEGORIES", "Answer", "Category", "SheetUnit"]

AMBIGUITY = "ambiguity"
"""The field, column and control that says why a unit is ambiguous."""
Category: TypeAlias = Literal["sentiment", "relation", "other", "unknown"]
"""Why a unit is ambiguous, as people said in the row; ``unknown`` where nobody did. It is never guessed."""
CATEGORIES: tuple[Category, ...] = get_args(Category)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one rater said of a unit.

    Attributes:
        rater: the name; empty if the file gives none.
        label: as it stands in the file.
        column: where it stands, for messages.
    """

    rater: str
    label: str
    column: str


@dataclass(frozen=True, kw_only=True)
class SheetUnit:
    """One unit of a case, as a sheet holds it; nothing is checked yet.

    Attributes:
        case: the id of its case; empty where the file has none.
        unit: its number in the case, from 1, as text.
        row: the fields of the case's row, without label, group and ratings.
        group: the group; empty to leave it open.
        path: the file.
        line: of the file.
        answers: the labels given; a rater who gave none is not among them.
        category: why the unit is ambiguous; empty if nobody said so.
    """

    case: str
    unit: str
    row: Mapping[str, Any]
    group: str
    path: str
    line: int
    answers: tuple[Answer, ...]
    category: str

    def wrong(self, message: str, field: str, *, hint: str) -> GoldError:
        """Return the error of this unit's line, in the column or control ``field``."""
        return self.place.wrong(message, field, hint=hint)

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.path, self.line)
