"""Running a judge on new rows: each is judged once and written at once.

Rows are handed to the event loop in bounded batches, so that memory stays flat
however many there are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from ..cases import Case
from ..errors import UsageError
from ..programs.asking import Asker, Verdict
from .output import done_before, line_of

__all__ = ["Summary", "run_cases"]

_BATCH = 1024


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How a run ended.

    Attributes:
        rows: rows of the input.
        resumed: rows that an earlier run had done.
        verdicts: rows judged now, by status.
        positive: rows judged now with a positive label in them.
        inconsistent: samples asked now whose answer contradicted itself, whatever was made of them.
    """

    rows: int
    resumed: int
    verdicts: Mapping[str, int]
    positive: int
    inconsistent: int = 0

    @property
    def unusable(self) -> float:
        """The share of the rows judged now that failed or abstained, 0 to 1."""
        judged = sum(self.verdicts.values())
        return (judged - self.verdicts.get("verdict", 0)) / judged if judged else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "rows": self.rows,
            "resumed": self.resumed,
            "verdict": self.verdicts.get("verdict", 0),
            "abstained": self.verdicts.get("abstained", 0),
            "failed": self.verdicts.get("failed", 0),
            "positive": self.positive,
            "inconsistent": self.inconsistent,
        }


def run_cases(
    asker: Asker,
    cases: Sequence[Case],
    output: Path | TextIO,
    *,
    stamp: Mapping[str, Any],
    resume: bool = False,
    on_row: Callable[[Verdict], None] = lambda verdict: None,
) -> Summary:
    """Judge ``cases`` and write a JSON line for each.

    Args:
        asker: the judge, ready to be asked.
        cases: the rows.
        output: a file, or an open text stream.
        stamp: what every line says about the run: judge, artifact, model.
        resume: continue a file that an earlier run of the same kind left.
        on_row: called after each row.

    Raises:
        UsageError, CheckpointError: the output file cannot be used; see :func:`~jurist.runs.output.done_before`.
        ModelError: the model cannot be used at all. What was judged is in the file.
    """
    if not isinstance(output, Path):
        return _run(asker, cases, output, stamp, on_row)
    try:
        done = done_before(output, stamp, resume=resume)
        todo = [case for case in cases if not _taken(done, case.id)]
        output.parent.mkdir(parents=True, exist_ok=True)
        with _appended(output) as stream:
            summary = _run(asker, todo, stream, stamp, on_row)
    except OSError as error:
        hint = "name a file that can be written, or make room and add --resume"
        raise UsageError(f"{output}: {error.strerror or error}", hint=hint) from error
    return replace(summary, rows=len(cases), resumed=len(cases) - len(todo))


def _taken(done: Counter[str], id_: str) -> bool:
    """Take one row off those that were done, if there is one: equal rows each have their own line."""
    if done[id_] == 0:
        return False
    done[id_] -= 1
    return True


@contextmanager
def _appended(path: Path) -> Iterator[TextIO]:
    """Open a file for appending; if nothing is written, a new one does not stay."""
    new = not path.exists()
    try:
        with path.open("a", encoding="utf-8") as stream:
            yield stream
    finally:
        if new and path.is_file() and path.stat().st_size == 0:
            path.unlink()


def _run(
    asker: Asker,
    cases: Sequence[Case],
    stream: TextIO,
    stamp: Mapping[str, Any],
    on_row: Callable[[Verdict], None],
) -> Summary:
    counts: Counter[str] = Counter()
    positive = inconsistent = 0
    for start in range(0, len(cases), _BATCH):
        batch = cases[start : start + _BATCH]

        def write(index: int, verdict: Verdict, batch: Sequence[Case] = batch) -> None:
            nonlocal positive, inconsistent
            line = line_of(asker.judge, batch[index], verdict, stamp)
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            stream.flush()
            counts[verdict.status] += 1
            positive += any(label in asker.judge.positive for label in verdict.labels)
            inconsistent += verdict.inconsistent
            on_row(verdict)

        asker.ask_all(batch, write)
    return Summary(
        rows=len(cases), resumed=0, verdicts=dict(counts), positive=positive, inconsistent=inconsistent
    )
