"""How the rows of a run differ from those of its earlier starts, when it is continued."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_NAMED = 5  # rows that are named of each kind
_KINDS = ("changed", "added", "removed", "moved")


@dataclass(frozen=True, kw_only=True)
class Named:
    """Some rows: how many, and the numbers of the first of them."""

    count: int = 0
    rows: tuple[int, ...] = ()

    @classmethod
    def merged(cls, shards: Iterable[Named]) -> Named:
        """Return the rows of several together."""
        shards = list(shards)
        rows = sorted(row for one in shards for row in one.rows)
        return cls(count=sum(one.count for one in shards), rows=tuple(rows[:_NAMED]))

    @property
    def words(self) -> str:
        """Return ``row 3``, ``rows 1, 2, 3``, ``rows 1, 2, 3, 4, 5 and 7 more``."""
        more = f" and {self.count - len(self.rows)} more" if self.count > len(self.rows) else ""
        return f"row{'s' if self.count > 1 else ''} {', '.join(map(str, self.rows))}{more}"


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What became of the rows."""

    changed: Named = Named()  # rows that say something else than the row in their place did
    added: Named = Named()  # rows that were not there
    removed: Named = Named()  # rows that are not there any more, by the number they had
    moved: Named = Named()  # rows that stood elsewhere

    @classmethod
    def merged(cls, shards: Sequence[Changes]) -> Changes:
        """Return the changes of several together."""
        return cls(**{name: Named.merged(getattr(one, name) for one in shards) for name in _KINDS})

    @property
    def words(self) -> tuple[str, ...]:
        """Return what there is to say."""
        said = (
            (self.changed, "changed", "asked anew"),
            (self.added, "new", "asked"),
            (self.removed, "gone", "left out (by the numbers they had)"),
            (self.moved, "elsewhere than before", "not asked again"),
        )
        return tuple(
            f"{named.words} {'is' if named.count == 1 else 'are'} {what}: {then}"
            for named, what, then in said
            if named.count
        )

    def to_json(self) -> dict[str, int]:
        """Return the counts."""
        return {name: getattr(self, name).count for name in _KINDS}


def changes_of(data: sqlite3.Connection, *, whole_before: bool) -> Changes:
    """Compare ``rows_before`` with ``rows_now``, both (row, part, case_id); none if there was no before."""
    (last,) = data.execute("SELECT max(row) FROM rows_before").fetchone()
    if last is None:
        return Changes()
    seen = "" if whole_before else f"AND row <= {int(last)} "
    data.executescript(
        "CREATE TEMP TABLE fresh AS SELECT row, part FROM rows_now "
        f"WHERE case_id NOT IN (SELECT case_id FROM rows_before) {seen};"
        "CREATE TEMP TABLE gone AS SELECT row, part FROM rows_before "
        "WHERE case_id NOT IN (SELECT case_id FROM rows_now);"
    )
    found = Changes(
        changed=_named(data, "SELECT row FROM fresh JOIN gone USING (row, part)"),
        added=_named(
            data, "SELECT f.row FROM fresh f LEFT JOIN gone g USING (row, part) WHERE g.row IS NULL"
        ),
        removed=_named(
            data, "SELECT g.row FROM gone g LEFT JOIN fresh f USING (row, part) WHERE f.row IS NULL"
        ),
        moved=_named(
            data,
            "SELECT n.row FROM rows_now n LEFT JOIN rows_before b USING (row, part) "
            "WHERE n.case_id IS NOT b.case_id AND n.case_id IN (SELECT case_id FROM rows_before)",
        ),
    )
    data.executescript("DROP TABLE fresh; DROP TABLE gone;")
    return found


def _named(data: sqlite3.Connection, query: str) -> Named:
    (count,) = data.execute(f"SELECT count(*) FROM ({query})").fetchone()
    rows = data.execute(f"SELECT DISTINCT row FROM ({query}) ORDER BY row LIMIT {_NAMED}")
    return Named(count=count, rows=tuple(row for (row,) in rows))
