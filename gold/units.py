"""One line of an annotation sheet, wherever it was read from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from ..errors import GoldError
from .files import Place

Category: TypeAlias = Literal["sentiment", "relation", "other", "unknown"]
"""Why a unit is ambiguous, as people said in the row; ``unknown`` where nobody did. It is never guessed."""
CATEGORIES: tuple[Category, ...] = get_args(Category)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one rater said of a unit."""

    rater: str  # the name; empty if the file gives none
    label: str  # as it stands in the file
    column: str  # where it stands, for messages


@dataclass(frozen=True, kw_only=True)
class SheetUnit:
    """One unit of a case, as a sheet holds it; nothing is checked yet."""

    case: str  # the id of its case; empty where the file has none
    unit: str  # its number in the case, from 1, as text
    row: Mapping[str, Any]  # the fields of the case's row, without label, group and ratings
    group: str  # the group; empty to leave it open
    path: str  # the file
    line: int  # of the file
    answers: tuple[Answer, ...]  # the labels given; a rater who gave none is not among them
    category: str  # why the unit is ambiguous; empty if nobody said so

    def wrong(self, message: str, field: str, *, hint: str) -> GoldError:
        """Return the error of this unit's line, in the column or control ``field``."""
        return self.place.wrong(message, field, hint=hint)

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.path, self.line)
