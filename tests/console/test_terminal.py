"""What stands on a terminal: a long text goes through the user's pager there, and through a pipe as it is."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "jurist", "judges"]


@pytest.mark.parametrize("lines", [10, 200])
def test_what_is_taller_than_the_terminal_is_paged(lines: int, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nsed 's/^/paged: /'\n")
    pager.chmod(0o755)
    outside, inside = pty.openpty()
    env = {**os.environ, "PAGER": str(pager), "LINES": str(lines), "COLUMNS": "100"}
    shown = b""
    with subprocess.Popen(COMMAND, stdin=inside, stdout=inside, stderr=subprocess.DEVNULL, env=env) as child:
        os.close(inside)
        while True:
            try:
                part = os.read(outside, 65536)
            except OSError:  # Linux ends a terminal nobody writes to any more so
                break
            if not part:
                break
            shown += part
    os.close(outside)
    assert child.returncode == 0
    assert b"fect-3d" in shown
    assert (b"paged: " in shown) == (lines == 10)
    piped = subprocess.run(COMMAND, stdin=subprocess.DEVNULL, capture_output=True, env=env, check=True)
    assert b"paged: " not in piped.stdout
