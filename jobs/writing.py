"""From documents to items: those that pass into one JSONL file, the others with their reasons into another.

Writing is paid for, so every paid answer is kept in a checkpoint, and the output appears when all of it is there: it
is the same, byte for byte, however often it was interrupted. Documents are asked about in bounded batches, and what
is written leaves memory at once.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from ..cases import Case
from ..errors import CheckpointError, UsageError
from ..gold.writing import json_text
from ..keeping.checkpoints import Checkpoint
from ..keeping.paying import PaidJob, Start, paying
from ..programs.answers.checks import items_of
from ..programs.verdicts import Verdict
from .generation import Generated, Generation, job_id

Step = Callable[[Case, Verdict], None]
_BATCH = 1024


def rejects_path(output: Path) -> Path:
    """Return where the rejected items of an output file go: ``F.rejects.jsonl`` for ``F.jsonl``."""
    return output.with_name(f"{output.stem}.rejects{output.suffix or '.jsonl'}")


def generate(
    job: Generation, output: Path, start: Start, *, on_document: Step = lambda case, verdict: None
) -> Generated:
    """Write items into a JSONL file, and the rejected ones into another beside it."""
    if already_made(output, job.fingerprint(), start):
        return Generated(before=True)
    with paying(job, start) as work:
        check_writable(output.parent)
        made = write_items(job, work, output, rejects_path(output), on_document)
        work.unfinished = bool(made.failed)
        return replace(made, spend=work.ledger.to_json())


def write_items(
    job: Generation,
    work: PaidJob,
    output: Path,
    rejects: Path,
    on_document: Step = lambda case, verdict: None,
) -> Generated:
    """Write the items of a job inside an open one: what passes into one file and the others, if any, into another."""
    asker = replace(job.loaded, contexts=work.contexts).asker()
    answer, stamp = job.generator.checked, job.row_stamp()
    statuses: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    parts = [path.with_name(path.name + ".part") for path in (output, rejects)]
    try:
        with ExitStack() as files:
            kept, refused = (files.enter_context(part.open("w", encoding="utf-8")) for part in parts)
            for batch in _batches(job.cases):
                verdicts = asker.ask_all(batch, partial(_told, batch, on_document))
                for case, verdict in zip(batch, verdicts, strict=True):
                    statuses[verdict.status] += 1
                    if verdict.status == "verdict":
                        sums.update(answer.tally(verdict.values, verdict.counts))
                    for row, passed in rows_of(job, case, verdict, stamp):
                        _line(kept if passed else refused, row)
        parts[0].replace(output)
        _keep_rejects(parts[1], rejects)
    finally:
        for part in parts:
            with suppress(FileNotFoundError):
                part.unlink()
    silent = statuses["abstained"]
    return Generated(
        documents=len(job.cases),
        statuses=dict(statuses),
        totals=answer.totals(sums),
        words=(
            *answer.total_words(sums),
            *([f"{silent} of {len(job.cases)} texts gave no item"] if silent else []),
        ),
    )


def _told(batch: Sequence[Case], on_document: Step, place: int, verdict: Verdict) -> None:
    on_document(batch[place], verdict)


def rows_of(
    job: Generation, case: Case, verdict: Verdict, stamp: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the rows of a document's items, and whether each passed; one row with the reason if there is no item.

    Answers that were paid by an earlier start of the same job count as calls: the row of a job that was
    interrupted is the row of one that was not.
    """
    usage, items = verdict.usage, items_of(verdict.value)
    about = {
        "document": case.group,
        "source": case.source,
        "calls": usage.calls - usage.retries - usage.failures + usage.replayed,
    }
    for number, item in enumerate(items, 1):
        row = dict(job.generator.row(case, item, number if len(items) > 1 else 0))
        reasons = row.pop("reasons", None) or job.generator.checked.failures((item,))
        provenance = {**about, **row.pop("provenance", {}), **stamp}
        refused = {} if item.passed else {"status": "rejected", "reasons": reasons}
        yield {**row, **refused, "provenance": provenance}, item.passed
    if not items:
        status = "failed" if verdict.status == "failed" else "rejected"
        row = {"id": case.group, "group": case.group, "status": status, "reasons": [verdict.error]}
        yield {**row, "provenance": {**about, **stamp}}, False


def _batches(cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
    for start in range(0, len(cases), _BATCH):
        yield cases[start : start + _BATCH]


def _line(stream: TextIO, row: Mapping[str, Any]) -> None:
    stream.write(json_text(row) + "\n")


def _keep_rejects(part: Path, rejects: Path) -> None:
    """Put the rejects in their place; without any, those of an earlier start of this job go."""
    if part.stat().st_size:
        part.replace(rejects)
    else:
        rejects.unlink(missing_ok=True)


def already_made(output: Path, fingerprint: Mapping[str, Any], start: Start) -> bool:
    """Say whether the output is that of this very job, finished; refuse what would overwrite other work."""
    if output.is_dir():
        raise UsageError(f"{output} is a folder", hint="name a file")
    if not output.exists():
        return False
    if not start.resume and not start.fresh:
        raise UsageError(f"{output} exists", hint="add --resume to continue it, or name another output")
    if _job_of(output) != job_id(fingerprint):
        raise CheckpointError(f"{output} is the output of another job", hint="name another output")
    unfinished = start.root is not None and Checkpoint.at(start.root, fingerprint).folder.exists()
    return not start.fresh and not unfinished


def _job_of(output: Path) -> str | None:
    try:
        row = json.loads(_head(output) or _head(rejects_path(output)))
        return str((row.get("provenance") or row.get("made") or {}).get("job"))
    except (OSError, ValueError, AttributeError):
        return None


def _head(path: Path) -> str:
    """Return the first line of rows, or all of a JSON file."""
    with path.open(encoding="utf-8") as stream:
        return stream.read() if path.suffix == ".json" else stream.readline()


def check_writable(folder: Path) -> None:
    """Find out before anything is paid."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}", hint="name a folder that can be written") from error
