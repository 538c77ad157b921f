"""What a default compilation takes and gives: calls, tokens, tokens a row, and the score on rows that stay sealed.

    python benchmarks/search_prices.py --out before.jsonl                 # at one commit
    python benchmarks/search_prices.py --out after.jsonl --before before.jsonl

The sets are public gold beside this project (``--data``) and gold that jurist brings. Every finished run is one line of
``--out``, and one that is there is not made again. Calls and tokens are those of the search, without the proof. Score
and tokens a row are those of the prompt that the search chose, on the sealed test, asked outside the limit.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from common import PAGE  # type: ignore[import-not-found]  # beside this file

import jurist
from jurist.engines.channel import CallContext
from jurist.engines.meter import Budget
from jurist.engines.models import connect
from jurist.evaluation.measured import objective_score
from jurist.gold.goldset import Gold
from jurist.optimizers.base import Event, Job
from jurist.optimizers.objective import row_of
from jurist.programs.verdicts import Verdict

_MODEL = jurist.Model(temperature=0.0)
_ROOT = Path(__file__).resolve().parents[1]


class Source(NamedTuple):
    """Where gold is, the judge for it, and the names of its columns."""

    gold: str
    judge: str
    mapping: Mapping[str, str] | None = None


_PAIRS = {"output_1": "first", "output_2": "second"}
PUBLIC = {
    "qags": Source("others/qags.jsonl", "others/qags.py:judge"),
    "wice-lenient": Source("wice/lenient.jsonl", "wice/lenient.py:judge"),
    "summedits": Source("summedits/summedits.jsonl", "summedits/summedits.py:judge"),
    "topicalchat": Source("others/topicalchat.jsonl", "others/topicalchat.py:judge"),
    "humanpref": Source("others/humanpref.jsonl", "others/humanpref.py:judge", _PAIRS),
    "wice-strict": Source("wice/strict.jsonl", "wice/strict.py:judge"),
    "fect": Source("fect", "fect"),
}
BUNDLED = {
    "support-desk": Source("support-desk", f"{_ROOT}/docs/may_send.py:judge"),
    "fect-mini": Source("fect-mini", "fect"),
    "reply-score": Source("reply-score", f"{_ROOT}/docs/reply_score.py:judge"),
}
USUAL = ("qags", "wice-lenient", "summedits", "topicalchat", "support-desk", "reply-score")


def run(data: Path, name: str, seed: int, limit: int, optimizer: str) -> dict[str, Any]:
    """Compile one set on one split, and return the line of the run."""
    source = BUNDLED.get(name)
    gold, judge, mapping = "", "", None
    if source is not None:
        gold, judge, mapping = source
    else:
        gold, judge, mapping = PUBLIC[name]
        gold = str(data / gold)
        if ":" in judge:
            judge = str(data / judge)
    jobs: list[Job] = []
    spent: dict[str, int] = {}

    def note_spend() -> None:
        meter = jobs[-1].context.meter
        spent.setdefault("calls", meter.calls)
        spent.setdefault("tokens", meter.tokens)

    def see(event: Event) -> None:
        if event.job is not None:
            jobs.append(event.job)
        if event.phase == "proving":
            note_spend()

    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder  # no compilation knows of another one's openings
        made = jurist.compile(
            judge,
            gold=gold,
            mapping=mapping,
            optimizer=optimizer,
            seed=seed,
            store=Path(folder) / "store",
            model=_MODEL,
            budget=Budget(calls=limit),
            anyway=True,
            sink=see,
        )
        note_spend()
        result, board = made.result, made.result.board
        test = _sealed_cases(made, jobs[-1], gold, judge, mapping, seed)
        verdicts = made.judge.batch([dict(case.inputs) for case in test])
    rows = [row_of(case, verdict) for case, verdict in zip(test, verdicts, strict=True)]
    program = board.judge.basic()
    free = CallContext.fresh()
    job = replace(jobs[-1], context=free, judge_lm=connect(_MODEL, free, "judge"))
    basic = job.asker(program).ask_all(test)
    basic_rows = [row_of(case, verdict) for case, verdict in zip(test, basic, strict=True)]
    return {
        "set": name,
        "seed": seed,
        "limit": limit,
        "optimizer": optimizer,
        "calls": spent["calls"],
        "tokens": spent["tokens"],
        "proposals": int(board.context.ledger.to_json().get("proposer", {}).get("calls", 0)),
        "row_tokens": statistics.mean(
            verdict.usage.input_tokens + verdict.usage.output_tokens for verdict in verdicts
        ),
        "basic_row_tokens": statistics.mean(
            verdict.usage.input_tokens + verdict.usage.output_tokens for verdict in basic
        ),
        "basic": objective_score(basic_rows, board.judge.metric, board.judge.comparison),
        "value": objective_score(rows, board.judge.metric, board.judge.comparison),
        "candidates": len(board.candidates),
        "chosen": result.best.source,
        "verdict": made.verdict,
    }


def _mean_tokens(verdicts: Sequence[Verdict]) -> float:
    """Return the mean tokens of a row."""
    return statistics.mean(one.usage.input_tokens + one.usage.output_tokens for one in verdicts)


def _sealed_cases(made: Any, job: Job, gold: str, judge: str, mapping: Any, seed: int) -> list[Any]:
    """Return the cases of the sealed test."""
    cases = Gold.load(gold, job.judge, mapping=mapping).split(seed).test
    assert {case.id for case in cases}.isdisjoint({case.id for case in job.train + job.dev})
    return list(cases)


def table(rows: Sequence[Mapping[str, Any]], before: Mapping[tuple[str, int], Mapping[str, Any]]) -> str:
    """Return the Markdown table, with the earlier figures in front where there are any."""
    lines = [
        "| set | seed | calls | proposals | tokens | tokens a row | basic | held out | chosen |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        old = before.get((row["set"], row["seed"]))
        cells = [row["set"], str(row["seed"])]
        cells.append(_change(old, row, "calls", "{:.0f}"))
        cells.append(_change(old, row, "proposals", "{:.0f}"))
        cells.append(_change(old, row, "tokens", "{:,.0f}"))
        cells.append(_change(old, row, "row_tokens", "{:.0f}"))
        cells.append(f"{row['basic']:.3f}")
        cells.append(_change(old, row, "value", "{:.3f}"))
        cells.append(row["chosen"])
        lines.append(f"| {' | '.join(cells)} |")
    pairs = [(before[row["set"], row["seed"]], row) for row in rows if (row["set"], row["seed"]) in before]
    if pairs:
        calls = sum(new["calls"] for _, new in pairs) / sum(old["calls"] for old, _ in pairs)
        tokens = sum(new["tokens"] for _, new in pairs) / sum(old["tokens"] for old, _ in pairs)
        gain = statistics.mean(new["value"] - old["value"] for old, new in pairs)
        lines.append(f"\ncalls x {calls:.2f}, tokens x {tokens:.2f}, held-out score {gain:+.4f} on average")
    return "\n".join(lines)


def _change(old: Mapping[str, Any] | None, row: Mapping[str, Any], key: str, form: str) -> str:
    """Return a figure, after the earlier one."""
    figure = form.format(row[key])
    if old is None:
        return figure
    return f"{form.format(old[key])} -> {figure}"


def _lines(path: Path | None) -> dict[tuple[str, int], dict[str, Any]]:
    """Return (set, seed) -> the line of its run."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    if path is None or not path.exists():
        return found
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found[row["set"], row["seed"]] = row
    return found


def main() -> None:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help=PAGE)
    parser.add_argument("--sets", nargs="+", default=list(USUAL), choices=[*PUBLIC, *BUNDLED])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--limit", type=int, default=2000, help="calls, the proof included (default: 2000)")
    parser.add_argument("--optimizer", default="race")
    parser.add_argument("--out", type=Path, default=Path("benchmark-search-prices.jsonl"))
    parser.add_argument("--before", type=Path, help="lines of an earlier commit")
    arguments = parser.parse_args()
    done = _lines(arguments.out)
    rows: list[dict[str, Any]] = []
    with arguments.out.open("a", encoding="utf-8") as out:
        for name in arguments.sets:
            for seed in arguments.seeds:
                if (name, seed) not in done:
                    line = run(arguments.data, name, seed, arguments.limit, arguments.optimizer)
                    done[name, seed] = line
                    out.write(json.dumps(line) + "\n")
                    out.flush()
                    print(json.dumps(line), file=sys.stderr, flush=True)
                rows.append(done[name, seed])
    print(table(rows, _lines(arguments.before)))


if __name__ == "__main__":
    main()
