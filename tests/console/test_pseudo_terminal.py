"""On a terminal a result is printed as it is: in colour, whatever its length, and without a pager that waits."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

TIMEOUT = 120
WAITS = """#!/bin/sh
echo paged
sleep 600
"""


def shown_at_80x24(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the command in a pseudo-terminal of 80 x 24 with nobody there; return its exit code and what it shows."""
    pager = folder / "pager"
    pager.write_text(WAITS)
    pager.chmod(0o755)
    outside, inside = pty.openpty()
    env = {**os.environ, "PAGER": str(pager), "TERM": "xterm", "LINES": "24", "COLUMNS": "80"}
    for name in ("CI", "NO_COLOR"):
        env.pop(name, None)
    command = [sys.executable, "-c", "from jurist.cli import program; program()", *arguments]
    shown = b""
    with subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, env=env, cwd=folder) as child:
        os.close(inside)
        with suppress(OSError):  # Linux ends the reading of a terminal so when nobody writes to it any more
            while part := os.read(outside, 65536):
                shown += part
        code = child.wait(TIMEOUT)
    os.close(outside)
    return code, shown.decode("utf-8")


def test_a_long_list_is_not_paged(tmp_path: Path) -> None:
    code, shown = shown_at_80x24(tmp_path, "judges")
    assert code == 0
    assert shown.count("\n") > 24
    assert "fect-3d" in shown
    assert "paged" not in shown


def test_the_decision_and_the_next_step_end_what_evaluate_shows_in_colour(tmp_path: Path) -> None:
    code, shown = shown_at_80x24(tmp_path, "evaluate", "fect:basic", "--gold", "fect-mini", "--verbose")
    assert code == 0
    assert "paged" not in shown
    end = shown[-4000:]
    assert "\x1b[3" in end
    assert "next: jurist compile fect" in end
    assert "engine: offline" in end
