"""Every kind of fault of an endpoint, met by ``jurist run``: no row is lost, invented, doubled or misplaced.

``pytest -m slow -n 0 -s tests/runs/test_run_faults.py`` prints what each kind of fault cost.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from loopback import FAULTS, Fault, field_of, truth_of
from small import cli, read_jsonl, write_jsonl

ROWS, BAD = 100, (7, 41, 83)
ABSTAINED = ("cut", "garbage", "half", "filtered", "refused")
FAILED = ("400", "thought")
"""What fails a row and is not asked again: a refusal, and a reply whose whole text is the model's thinking."""
ENDING = ("quota", "401", "404")
"""What every other row would meet too: it ends the run."""
Lasting = Literal["first", "always"]

pytestmark = pytest.mark.slow


def is_touched(number: int, lasting: Lasting) -> bool:
    """Say whether a row meets the fault."""
    return number in BAD if lasting == "always" else number % 5 == 0


@pytest.mark.parametrize("lasting", ["first", "always"])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_row_its_line(
    fault: Fault, lasting: Lasting, serve: Callable[..., Any], no_waiting: None
) -> None:
    rows = [{"id": f"r{n}", "conversation": f"talk {n}", "claim": f"claim {n}"} for n in range(ROWS)]
    write_jsonl(Path("rows.jsonl"), rows)
    seen = Counter[int]()

    def plan(index: int, body: dict[str, Any]) -> Fault | None:
        number = int(field_of(body["messages"][-1]["content"], "claim").split()[1])
        seen[number] += 1
        if is_touched(number, lasting) and (lasting == "always" or seen[number] == 1):
            return fault
        return None

    server = serve(faults=plan)
    told = ("--model", "openai/m", "--api-base", server.url, "--concurrency", 16, "--json")
    told += ("--timeout", 2 if fault == "hang" else 60)
    done = cli("run", "fect:basic", "--input", "rows.jsonl", "--output", "o.jsonl", *told)
    lines = read_jsonl(Path("o.jsonl")) if Path("o.jsonl").exists() else []
    counts = Counter(line["status"] for line in lines)
    print(
        f"| {fault} | {lasting} | {counts['verdict']} | {counts['abstained']} | {counts['failed']} "
        f"| {ROWS - len(lines)} | {server.count} |"
    )
    numbers = [int(line["id"][1:]) for line in lines]
    assert numbers == sorted(set(numbers)), "each row once, in its order"
    for number, line in zip(numbers, lines, strict=True):
        assert line["row"] == number + 1
        if line["status"] == "verdict":
            is_factual = truth_of(f"claim {number}")
            if fault == "tool" and is_touched(number, lasting):
                is_factual = True  # the call of a tool is an answer, and this one says so
            assert (line["label"] == "factual") is is_factual, "its own answer, and no other"
    assert sum(line["usage"]["calls"] for line in lines) == server.count or fault in ENDING
    if fault in ENDING:
        assert done.code == 1
        assert len(lines) < ROWS
        return
    touched_count = sum(is_touched(number, lasting) for number in range(ROWS))
    if fault == "tool" or (
        fault == "garbage" and lasting == "first"
    ):  # a reply that cannot be read is drawn again
        assert counts == {"verdict": ROWS}
    elif fault in ABSTAINED:
        assert counts == {"verdict": ROWS - touched_count, "abstained": touched_count}
    elif fault in FAILED or lasting == "always":
        assert counts == {"verdict": ROWS - touched_count, "failed": touched_count}
    else:
        assert counts == {"verdict": ROWS}
