"""The benchmark's folder: verified items, what they aggregate to, and its card.

Everything follows from the two files of a generation and the seed, and is written anew each time.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...evaluation.intervals import Share, breakdown
from ...gold.writing import json_text, write_whole
from ...jobs.generation import Generation, rejects_path
from ...report.table import Table, table
from ...text.json_lines import plain
from .aggregate import aggregate, questions_of, statistics
from .items import item_line

Row = Mapping[str, Any]


def write_benchmark(
    job: Generation, verified: Path, *, topics: Mapping[str, str], seed: int = 0
) -> dict[str, Any]:
    """Write what the verified items aggregate to beside them, and return what stands in ``CARD.json``."""
    good, bad = _rows(verified), _rows(rejects_path(verified))
    questions = questions_of({**row, "topic": topics.get(row["group"], "")} for row in good)
    made = list(aggregate(list(questions), seed))
    left_out = [
        json_text({"question": one.question.id, "reason": one.dropped}) for one in made if one.dropped
    ]
    items = [item_line(item) for one in made for item in one.items]
    for name, lines in (("benchmark", items), ("benchmark.rejects", left_out)):
        write_whole("".join(f"{line}\n" for line in lines), verified.with_name(f"{name}.jsonl"))
    card = {
        "documents": len(topics),
        "seed": seed,
        "made": job.row_stamp(),
        "passages": len(job.cases),
        "acceptance": plain(_acceptance(job.generator.checked.checks, [*good, *bad])),
        "statistics": statistics(made),
    }
    write_whole(json_text(card, indent=2) + "\n", verified.with_name("CARD.json"))
    return card


def _rows(path: Path) -> list[Row]:
    """Return the rows of items; documents of which none was written have no row of their own here."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if "hallucinated_answer" in row]


def _acceptance(checks: Sequence[str], rows: Iterable[Row]) -> dict[str, Share]:
    """Return the share of the written items that pass all checks, and each, with intervals by document."""
    cells = []
    for row in rows:
        failed = {reason.split(":")[0] for reason in row.get("reasons", ())}
        cells.append((row["group"], "", "overall", float(not failed), 1.0))
        cells += [(row["group"], "", name, float(name not in failed), 1.0) for name in checks]
    return breakdown(cells).get("", {}) or dict.fromkeys(("overall", *checks), Share.over(()))


def card_tables(card: Mapping[str, Any]) -> list[Table]:
    """Return what passed and what it aggregates to."""
    counts, accepted = card["statistics"], card["acceptance"]
    positions = ", ".join(f"{letter} {count}" for letter, count in counts["correct_positions"].items())
    questions = [
        (name, value, count, f"{count / max(1, counts['questions']):.1%}")
        for name in ("types", "topics", "languages")
        for value, count in counts[name].items()
    ]
    return [
        table(
            "share of written items that pass [95 % interval]",
            tuple(accepted),
            [[str(Share(**one)) for one in accepted.values()]],
        ),
        table(
            f"items by format (as C-FAITH Table 4); the correct option is {positions}; {counts['dropped']} questions "
            "are not there in a format or at all",
            ("overall", *counts["formats"]),
            [[counts["items"], *counts["formats"].values()]],
        ),
        table("questions (as Figure 6)", ("by", "of", "questions", "share"), questions),
    ]
