"""The tutorial runs as it stands, from the first block to the last, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r'```(\w+)(?: title="([\w.]+)")?\n(.*?)```', PAGE, re.DOTALL)
BY_HAND = {"may_send.py"}
"""Files that a command of the page reads; the others are run where they stand."""


def run(folder: Path, *argv: str) -> str:
    done = subprocess.run(
        [sys.executable, *argv],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")},
    )
    assert done.returncode == 0, (argv, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


@pytest.mark.slow
def test_every_block_in_order(tmp_path: Path) -> None:
    assert {language for language, _, _ in BLOCKS} == {"python", "sh"}
    said = ""
    for language, name, code in BLOCKS:
        if language == "python":
            (tmp_path / name).write_text(code, encoding="utf-8")
            if name not in BY_HAND:
                said += run(tmp_path, name)
            continue
        for line in code.splitlines():
            command, *rest = shlex.split(line)
            said += run(tmp_path, *(["-m", "jurist"] if command == "jurist" else []), *rest)
    assert "decision: compiled is" in said
    assert (tmp_path / "report.html").stat().st_size > 50_000
    assert "verdict " in said
    assert (tmp_path / "gate.xml").is_file()
