"""Batches of a few rows, asked of a server on the loopback."""

from pathlib import Path
from typing import Any

import pytest
from batch_server import BatchServer
from small import Done, cli, ok, read_jsonl, write_jsonl

ROWS = 10
heavy = pytest.mark.batch
"""One of many like it: pytest -m batch."""


def rows(count: int = ROWS) -> Path:
    return write_jsonl(
        Path("rows.jsonl"),
        (
            {"id": f"r{n}", "conversation": f"talk {n}", "claim": f"claim {n}", "more": n}
            for n in range(count)
        ),
    )


def submit(server: BatchServer, *told: object, judge: str = "fect:basic", model: str = "openai/m") -> Done:
    """Submit rows, with a live request before if "--probe" is among the options."""
    where = ("--input", "rows.jsonl", "--output", "b.jsonl", "--model", model, "--api-base", server.url)
    probing = () if "--probe" in told else ("--no-probe",)
    return cli("batch", "submit", judge, *where, *probing, *(word for word in told if word != "--probe"))


def collect(*told: object) -> Done:
    return cli("batch", "collect", "b.jsonl", *told)


def run(server: BatchServer, *told: object, judge: str = "fect:basic") -> list[dict[str, Any]]:
    """Return the lines of a run that asks at once."""
    where = ("--input", "rows.jsonl", "--output", "o.jsonl", "--model", "openai/m", "--api-base", server.url)
    ok("run", judge, *where, "--stopping", "all", *told)
    return read_jsonl(Path("o.jsonl"))


def without_usage(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**line, "usage": None} for line in lines]


def finished(most: int = 9) -> Done:
    """Collect until all is there."""
    done = collect()
    while done.code == 1 and most:
        done, most = collect(), most - 1
    return done
