"""What is taller than the terminal goes through the user's pager there, and through a pipe as it is."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest


@pytest.mark.parametrize("lines", [10, 200])
def test_what_is_taller_than_the_terminal_is_paged(lines: int, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nsed 's/^/paged: /'\n")
    pager.chmod(0o755)
    outside, inside = pty.openpty()
    env = {**os.environ, "PAGER": str(pager), "TERM": "xterm", "LINES": str(lines), "COLUMNS": "100"}
    command, shown = [sys.executable, "-m", "jurist", "judges"], b""
    with subprocess.Popen(command, stdin=inside, stdout=inside, stderr=subprocess.DEVNULL, env=env) as child:
        os.close(inside)
        with suppress(OSError):  # Linux ends a terminal nobody writes to any more so
            while part := os.read(outside, 65536):
                shown += part
    os.close(outside)
    assert child.returncode == 0
    assert b"fect-3d" in shown
    assert (b"paged: " in shown) == (lines == 10)
