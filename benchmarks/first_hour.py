"""What a new user waits for and reads: the start, ten rows on a slow server, near copies in large gold, short reprs.

Times are of this machine: read them against each other.

Run: python benchmarks/first_hour.py
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from loopback import Loopback  # type: ignore[import-not-found]  # of the tests

import jurist
from jurist.text.near import clusters, sketches

DELAY = 0.2  # seconds of the server
TEXTS = 100_000


def seconds(work: Callable[[], Any]) -> float:
    """Return how long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def texts() -> list[str]:
    """Return texts of about 200 letters, one in ten a near copy of another."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnop", k=6)) for _ in range(5000)]
    found = [" ".join(draw.choices(words, k=30)) for _ in range(TEXTS * 9 // 10)]
    return found + [f"{one[:50]}, {one[50:]}." for one in found[: TEXTS - len(found)]]


def main() -> None:
    """Print one line each."""
    script = Path(sys.executable).with_name("jurist")
    print(f"jurist --help: {seconds(lambda: subprocess.run([script, '--help'], capture_output=True)):.2f} s")
    rows = [{"conversation": f"Agent: Hello {n}.", "claim": f"Claim {n}."} for n in range(10)]
    with Loopback(delay=DELAY) as server:
        model = jurist.Model(name="openai/x", api_base=server.url, temperature=0.0)
        judge = jurist.load("fect:basic", model=model)
        judge(**rows[0])  # what is imported and connected once
        single, batch = seconds(lambda: [judge(**row) for row in rows]), seconds(lambda: judge.batch(rows))
        print(f"ten rows, {DELAY} s each: {single:.2f} s one by one, {batch:.2f} s as a batch")
    some = texts()
    print(f"near copies among {TEXTS} texts: {seconds(lambda: clusters(sketches(some))):.1f} s")
    with tempfile.TemporaryDirectory() as store:
        made = jurist.compile(
            "fect", gold="fect-mini", optimizer="fewshot", options={"sets": 2, "sizes": "2"}, store=store
        )
    print(f"repr of what compile returns: {len(repr(made))} characters")


if __name__ == "__main__":
    main()
