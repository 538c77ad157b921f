"""Rows that cannot be used: counted by what is wrong with them, and set aside in a file."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ..errors import GoldError, UsageError, as_data, system_message
from .writing import check_files, json_line

_PLACES = 5
_KINDS = 1000
"""Different problems that are counted: memory stays flat in a file where each row has one of its own."""


@dataclass(kw_only=True)
class Problem:
    """One thing that is wrong with some rows."""

    reason: str
    field: str
    hint: str
    rows: int = 0  # how many rows have it, at least 1
    places: tuple[str, ...] = ()  # ``file:line`` of the first few


class Rejects:
    """A file of the rows that could not be used, one JSON line each, with the reasons; none without such rows.

    Args:
        path: the file, which is written anew; ``None`` counts only (``count``, and ``first``, what is wrong there).

    Raises:
        UsageError: the file cannot be written.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path: Path | None = None
        if path is not None:
            self.path = Path(path)
        self.count = 0
        self.first: GoldError | None = None
        self._file: TextIO | None = None
        check_files(self.path)
        self._problems: dict[tuple[str, str], Problem] = {}

    def add(self, error: GoldError, row: Mapping[str, object] | None) -> None:
        """Write why a row could not be used, and the row as far as it could be read."""
        self.count += 1
        self.first = self.first or error
        self._count_problem(error)
        for fault in error.further_errors:
            self._count_problem(fault)
        if self.path is None:
            return
        line: dict[str, object] = {
            "source": error.source,
            "field": error.field,
            "reason": error.reason,
            "hint": error.hint,
        }
        if error.further_errors:
            line["also"] = [f"{fault.field}: {fault.reason}" for fault in error.further_errors]
        try:
            if self._file is None:
                self._file = self.path.open("w", encoding="utf-8", errors="backslashreplace")
            line["row"] = json.loads(json.dumps(row, default=str))
            self._file.write(json_line(line) + "\n")
        except OSError as bad:
            hint = "name a file in a folder that can be written"
            raise GoldError(f"cannot write: {system_message(bad)}", path=str(self.path), hint=hint) from bad

    def _count_problem(self, fault: GoldError) -> None:
        """Count what is wrong with a row, and note where the first rows with it are."""
        key = fault.field, fault.reason
        problem = self._problems.get(key)
        if problem is None:
            if len(self._problems) >= _KINDS:
                return
            problem = Problem(reason=fault.reason, field=fault.field, hint=fault.hint)
            self._problems[key] = problem
        problem.rows += 1
        if len(problem.places) < _PLACES and fault.source not in problem.places:
            problem.places += (fault.source,)

    def check_apart(self, *files: str | Path) -> None:
        """Refuse to write over a file that rows are read from or written to, or into a folder of them."""
        if self.path is None:
            return
        rejects_file = Path(os.path.realpath(self.path))
        for file in files:
            real_file = Path(os.path.realpath(file))
            if real_file == rejects_file or real_file in rejects_file.parents:
                raise UsageError(
                    f"--rejects {as_data(self.path)} would write into {as_data(file)}",
                    hint="name another file",
                )

    def problems(self) -> Sequence[Problem]:
        """Return everything that is wrong, what most rows have first."""
        return sorted(self._problems.values(), key=lambda problem: -problem.rows)

    def refusal(self, *, all_listed: bool = False) -> GoldError | None:
        """Return the error to raise where no row may be bad: the first, how many rows are bad, and what to do.

        Args:
            all_listed: True where a table of all problems stands beside it.
        """
        if self.first is None or self.count == 1:
            return self.first
        first = self.first
        rest = f"{self.count} rows are bad: "
        if not all_listed:
            rest += "jurist gold check lists all, "
        rest += "--rejects F.jsonl sets them aside"
        hint = "; ".join(filter(None, [first.hint, rest]))
        return GoldError(first.reason, path=first.path, line=first.line, field=first.field, hint=hint)

    def __enter__(self) -> "Rejects":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._file is not None:
            self._file.close()
        # the work ended; or the file is of an earlier start, when there were such rows
        if self.path is not None and (error is not None or self._file is None):
            self.path.unlink(missing_ok=True)
