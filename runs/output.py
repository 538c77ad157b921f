"""The output of a run: one JSON line per row, continued where it was cut off.

The file is the run's own journal. A line is written when its row is judged; a
line torn by a kill, and lines of rows whose machinery failed, are taken out when
the run is continued, and those rows are asked again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..cases import Case
from ..errors import CheckpointError, UsageError
from ..programs.asking import Verdict
from ..programs.judge import Judge

__all__ = ["done_before", "line_of"]


def line_of(judge: Judge, case: Case, verdict: Verdict, stamp: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON-ready line of one row.

    ``label`` is the verdict of a judge with one unit that gives closed labels or preferences, ``value`` that of
    others; ``units`` has one entry per unit with its text, label (with whether it is positive) or value, votes,
    agreement (how far the votes cast agree with it: of labels the share that went to it), and what else the label
    says (for CogniBench: verdict, type and tier); units of a text that the row gave whole
    have its ``start`` and ``end`` there, too. ``counts`` is what the kind of answer counts besides.
    ``drawn`` samples were asked and
    ``saved`` were not, because no outcome could change; ``identical`` says that all
    replies of several samples were the same text. ``inconsistent`` is the number of
    samples whose answer contradicted itself, ``reasked`` of those in which missing
    units were asked for again; ``extra`` counts labels for nothing that was asked,
    ``duplicated`` units that a reply gave two labels.
    """
    units, answer = [], judge.answer
    for index, text in enumerate(answer.units(case.inputs)):
        value, votes = verdict.values[index], verdict.votes[index] if verdict.votes else {}
        unit: dict[str, Any] = {
            "text": text,
            **answer.unit_parts(value),
            "votes": {answer.text(one): count for one, count in votes.items()},
            "agreement": verdict.agreement[index],
        }
        if case.spans:
            unit["start"], unit["end"] = case.spans[index]
        if value is not None:
            unit.update(answer.unit_details(value))
        units.append(unit)
    return {
        "id": case.id,
        "source": case.source,
        "group": case.group,
        "status": verdict.status,
        **answer.row_parts(verdict.values),
        "units": units,
        "reasoning": verdict.reasoning,
        "drawn": verdict.drawn,
        "saved": verdict.saved,
        "identical": verdict.identical,
        "inconsistent": verdict.inconsistent,
        "reasked": verdict.reasked,
        "extra": verdict.extra,
        "duplicated": verdict.duplicated,
        **({"counts": dict(verdict.counts)} if verdict.counts else {}),
        "error": verdict.error,
        "usage": verdict.usage.to_json(),
        **stamp,
    }


def done_before(path: Path, stamp: Mapping[str, Any], *, resume: bool) -> dict[str, list[str]]:
    """Return how the rows with each id ended that need not be asked again, and clean the file for appending.

    Raises:
        UsageError: the file exists and the run was not asked to continue.
        CheckpointError: the file is of another run, or not of a run at all.
        OSError: the file cannot be read.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="name a file")
    if not path.is_file() or path.stat().st_size == 0:
        return {}
    if not resume:
        raise UsageError(f"{path} exists", hint="add --resume to continue it, or name another file")
    data = path.read_bytes()
    kept: list[bytes] = []
    done: dict[str, list[str]] = defaultdict(list)
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        row = _row(path, number, line, stamp)
        if row["status"] != "failed":
            kept.append(line + b"\n")
            done[row["id"]].append(row["status"])
    replacement = path.with_name(path.name + ".part")
    replacement.write_bytes(b"".join(kept))
    replacement.replace(path)
    return done


def _row(path: Path, number: int, line: bytes, stamp: Mapping[str, Any]) -> dict[str, Any]:
    try:
        row = json.loads(line)
        differs = [name for name, value in stamp.items() if row.get(name) != value]
        row["id"] + "", row["status"], row["judge"]
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path}:{number}: not a line of a run", hint="name another output file"
        ) from error
    if differs:
        name = differs[0]
        raise CheckpointError(
            f"{path}:{number}: written with {name} {row.get(name)!r}, not {stamp[name]!r}",
            hint="name another output file",
        )
    return dict(row)
