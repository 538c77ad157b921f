"""The benchmark's folder: verified items, what they aggregate to, statistics, and a sample for people to check.

Writing is one generation of the generator ``haluagent``, with its checkpoint; everything else follows from its two
files and the seed, and is written anew each time. Of the documents nothing stays in memory; of the items that passed
all do.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...cases import Case
from ...errors import GoldError
from ...generating.generation import Generated, Generation
from ...generating.writing import generate, rejects_path
from ...gold.writing import write_jsonl
from ...keeping.paying import Start
from ...programs.asking import Verdict
from .aggregate import Aggregated, aggregate, questions_of, statistics
from .authors import authors_lines
from .items import TrueFalse, item_line

__all__ = ["Benchmark", "make_benchmark"]

_SHEETS: Final = {
    "answer-check": {"answer": "correct_answer"},
    "hallucination-check": {"correct_answer": "correct_answer", "hallucinated_answer": "hallucinated_answer"},
    "label-check": {
        "correct_answer": "correct_answer",
        "hallucinated_answer": "hallucinated_answer",
        "type": "type",
    },
}
"""Judge -> its inputs, besides the question, by the fields of a verified row."""


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """How the making of a benchmark ended.

    Attributes:
        written: what the generator wrote.
        aggregated: the items.
        statistics: as :func:`~jurist.papers.haluagent.aggregate.statistics`, with the reasons of what was dropped.
    """

    written: Generated
    aggregated: Aggregated
    statistics: Mapping[str, Any]


def make_benchmark(
    job: Generation,
    folder: Path,
    start: Start,
    *,
    topics: Mapping[str, str],
    seed: int = 0,
    sample: int = 0,
    on_document: Callable[[], None] = lambda: None,
) -> Benchmark:
    """Write the folder of a benchmark.

    Args:
        job: what writes, and the passages.
        folder: where.
        start: how the job is started.
        topics: the document's id -> its topic.
        seed: of shuffled options and of the sample.
        sample: items that passed, and as many that did not, for people to check.
        on_document: called after each passage.

    Raises:
        UsageError, CheckpointError, StoppedError, ModelError: as :func:`~jurist.generating.writing.generate`.
    """
    verified = folder / "verified.jsonl"

    def told(case: Case, verdict: Verdict) -> None:
        on_document()

    written = generate(job, verified, start, on_document=told)
    questions = questions_of({**row, "topic": topics.get(row["group"], "")} for row in _rows(verified))
    found = aggregate(questions, seed)
    described = {
        **statistics(found.items),
        "dropped": [{"question": one.id, "reason": why} for one, why in found.dropped],
    }
    _lines(map(item_line, found.items), folder / "benchmark.jsonl")
    theirs = [item for item in found.items if not isinstance(item, TrueFalse)]
    for name, kind in (("generative_qa", "generative"), ("single_choice_qa", "single-choice")):
        _lines(authors_lines(item for item in theirs if item.format == kind), folder / f"{name}.jsonl")
    _lines([json.dumps(described, ensure_ascii=False, indent=2)], folder / "statistics.json")
    if sample:
        _sample(job, folder, sample, seed)
    return Benchmark(written=written, aggregated=found, statistics=described)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of items; documents of which none was written have no row of their own here."""
    if not path.exists():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if "hallucinated_answer" in row:
                yield row


def _lines(lines: Iterable[str], path: Path) -> None:
    try:
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise GoldError(f"it cannot be written: {error.strerror}", path=str(path), hint="check it") from error


def _sample(job: Generation, folder: Path, count: int, seed: int) -> None:
    """Write ``check/JUDGE.jsonl``: rows of that judge without labels, mixed, and ``check/passed.json`` beside."""
    rng = random.Random(f"{seed}/sample")
    rows, passed = [], {}
    for path, good in ((folder / "verified.jsonl", True), (rejects_path(folder / "verified.jsonl"), False)):
        held = list(_rows(path))
        for row in rng.sample(held, min(count, len(held))):
            rows.append(row)
            passed[row["id"]] = good
    rng.shuffle(rows)
    texts = {f"{case.group}/{case.id[:8]}": case.inputs["knowledge"] for case in job.cases}
    (folder / "check").mkdir(exist_ok=True)
    for judge, fields in _SHEETS.items():
        write_jsonl(
            (_to_label(row, judge, fields, texts) for row in rows), folder / "check" / f"{judge}.jsonl"
        )
    _lines([json.dumps(passed, ensure_ascii=False, indent=2)], folder / "check" / "passed.json")


def _to_label(
    row: Mapping[str, Any], judge: str, fields: Mapping[str, str], texts: Mapping[str, Any]
) -> dict[str, Any]:
    asked = {"id": row["id"], "group": row["group"], "question": row["question"]}
    knowledge = {} if judge == "label-check" else {"knowledge": texts[row["question_id"]]}
    return {**asked, **knowledge, **{name: row[field] for name, field in fields.items()}}
