"""The benchmark's folder: verified items, what they aggregate to, its card, and a sample for people to check.

Writing is one generation of the generator ``haluagent``, with its checkpoint; everything else follows from its two
files and the seed, and is written anew each time, question by question: of what was written nothing stays in
memory but counts.
"""

import hashlib
import heapq
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from ...cases import Case
from ...evaluation.intervals import Share, breakdown
from ...gold.writing import json_text, write_jsonl, write_whole
from ...jobs.generation import Generated, Generation, generate, rejects_path
from ...keeping.paying import Start
from ...programs.haluagent.judges import VERIFIERS
from ...text.json_lines import plain
from .aggregate import NearDuplicates, Statistics, aggregate, questions_of
from .items import TrueFalse, authors_line, item_line

_BLOCKS: Final = 1000
"""Documents are drawn in at most as many blocks, so that the interval takes no more memory for more of them."""
_AUTHORS: Final = {"generative": "generative_qa", "single-choice": "single_choice_qa"}
"""Format -> the authors' file."""
_FILES: Final = ("benchmark", *_AUTHORS.values(), "benchmark.rejects")


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """How the making of a benchmark ended."""

    written: Generated  # what the generator wrote
    # what stands in ``CARD.json``: who wrote, acceptance rates with intervals, and statistics
    card: Mapping[str, Any]


def distinct(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return the passages without near-duplicates of earlier ones, within and across documents."""
    with closing(NearDuplicates(str(case.inputs["knowledge"]) for case in cases)) as near:
        return tuple(case for case in cases if near.first(case.id, str(case.inputs["knowledge"])) is None)


def make_benchmark(
    job: Generation,
    folder: Path,
    start: Start,
    *,
    topics: Mapping[str, str],
    about: Mapping[str, Any],
    seed: int = 0,
    sample: int = 0,
    on_document: Callable[[], None] = lambda: None,
) -> Benchmark:
    """Write the folder of a benchmark."""
    verified = folder / "verified.jsonl"

    written = generate(job, verified, start, on_document=lambda case, verdict: on_document())
    acceptance = plain(_acceptance(job.generator.checked.checks, verified))
    card = {
        **about,
        "made": job.row_stamp(),
        "passages": len(job.cases),
        "acceptance": acceptance,
        "statistics": _aggregated(verified, topics, seed).to_json(),
    }
    write_whole(json_text(card, indent=2) + "\n", folder / "CARD.json")
    if sample:
        _sample(job, folder, sample, seed)
    return Benchmark(written=written, card=card)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of items; documents of which none was written have no row of their own here."""
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            yield from (row for row in map(json.loads, lines) if "hallucinated_answer" in row)


def _acceptance(checks: Sequence[str], verified: Path) -> dict[str, Share]:
    """Return the share of the written items that pass all checks, and each, with intervals by document.

    More documents than blocks are drawn block by block (the method of random groups).
    """
    sums: Counter[tuple[str, str, bool]] = Counter()
    for row in chain(_rows(verified), _rows(rejects_path(verified))):
        failed = {reason.split(":")[0] for reason in row.get("reasons", ())}
        block = str(zlib.crc32(row["group"].encode("utf-8", "surrogatepass")) % _BLOCKS)
        sums.update([(block, "overall", not failed), *((block, name, name not in failed) for name in checks)])
    cells = (
        (block, "", name, float(passed * count), float(count))
        for (block, name, passed), count in sums.items()
    )
    return breakdown(cells).get("", {}) or dict.fromkeys(("overall", *checks), Share.over(()))


def _aggregated(verified: Path, topics: Mapping[str, str], seed: int) -> Statistics:
    """Write the items in all formats and in the authors', and what was left out; return their statistics."""
    found, parts = Statistics(), {name: verified.with_name(f"{name}.jsonl.part") for name in _FILES}
    with ExitStack() as opened:
        streams = {
            name: opened.enter_context(path.open("w", encoding="utf-8")) for name, path in parts.items()
        }
        for made in aggregate(
            lambda: questions_of({**row, "topic": topics.get(row["group"], "")} for row in _rows(verified)),
            seed,
        ):
            found.add(made)
            for item in made.items:
                streams["benchmark"].write(item_line(item) + "\n")
                if not isinstance(item, TrueFalse):
                    streams[_AUTHORS[item.format]].write(authors_line(item) + "\n")
            if made.dropped:
                why = {"question": made.question.id, "reason": made.dropped}
                streams["benchmark.rejects"].write(json_text(why) + "\n")
    for name, path in parts.items():
        path.replace(verified.with_name(f"{name}.jsonl"))
    return found


def _sample(job: Generation, folder: Path, count: int, seed: int) -> None:
    """Write ``check/JUDGE.jsonl``: rows of that judge without labels, mixed, and ``check/passed.json`` beside."""

    def drawn(row: Mapping[str, Any]) -> str:
        return hashlib.sha256(f"{seed}/{row['id']}".encode("utf-8", "surrogatepass")).hexdigest()

    verified = folder / "verified.jsonl"
    good, bad = (heapq.nsmallest(count, _rows(path), drawn) for path in (verified, rejects_path(verified)))
    rows = sorted([*good, *bad], key=drawn)
    wanted = {row["question_id"] for row in rows}
    names = ((f"{case.group}/{case.id[:8]}", case) for case in job.cases)
    texts = {name: case.inputs["knowledge"] for name, case in names if name in wanted}
    known = [{**row, "knowledge": texts[row["question_id"]], "answer": row["correct_answer"]} for row in rows]
    for judge in VERIFIERS:
        # the definition follows from the type
        fields = [name for name in ("id", "group", *judge.input_fields) if name != "definition"]
        sheet = ({name: row[name] for name in fields} for row in known)
        write_jsonl(sheet, folder / "check" / f"{judge.name}.jsonl")
    passed = {row["id"]: row in good for row in rows}
    write_whole(json_text(passed, indent=2) + "\n", folder / "check" / "passed.json")
