"""What is taller than the terminal goes through the user's pager there, and what is not does not."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

TWICE = """
import os
from jurist.cli import main
main(["judges"])
print("=====", flush=True)
os.environ["LINES"] = "200"
main(["judges"])
"""


def test_what_is_taller_than_the_terminal_is_paged(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nsed 's/^/paged: /'\n")
    pager.chmod(0o755)
    outside, inside = pty.openpty()
    env = {**os.environ, "PAGER": str(pager), "TERM": "xterm", "LINES": "10", "COLUMNS": "100"}
    command, shown = [sys.executable, "-c", TWICE], b""
    with subprocess.Popen(command, stdin=inside, stdout=inside, stderr=subprocess.DEVNULL, env=env) as child:
        os.close(inside)
        with suppress(OSError):  # Linux ends a terminal nobody writes to any more so
            while part := os.read(outside, 65536):
                shown += part
    os.close(outside)
    assert child.returncode == 0
    low, _, high = shown.partition(b"=====")
    assert b"fect-3d" in low
    assert b"fect-3d" in high
    assert (b"paged: " in low, b"paged: " in high) == (True, False)
