"""A picture of what a command prints in a terminal: its results, without progress.

The end of the picture's name says how wide the terminal is:

    python benchmarks/terminal.py docs/images/terminal-100.svg jurist compile docs/may_send.py:judge --gold support-desk
    python benchmarks/terminal.py list-80.svg jurist artifacts list
"""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text


def printed(command: list[str], columns: int) -> str:
    """Return what a command writes to a terminal, with its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "PAGER": "cat"}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=env) as running:
        os.close(theirs)
        parts = []
        while True:
            try:
                parts.append(os.read(ours, 65536))
            except OSError:  # the command has closed its side
                break
            if not parts[-1]:
                break
    if running.returncode:
        sys.exit(f"{command[0]} ended with {running.returncode}")
    return b"".join(parts).decode().replace("\r\n", "\n")


def main() -> None:
    """Write the picture."""
    target, *command = sys.argv[1:]
    columns = int(Path(target).stem.rpartition("-")[2])
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    typed = " ".join([Path(command[0]).name, *command[1:]])  # not where the command lies on this machine
    console.print(Text.assemble(f"$ {typed}\n", Text.from_ansi(printed(command, columns))))
    # the fonts that rich names are fetched from somewhere else; a reader's own will do
    picture = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="jurist"), flags=re.DOTALL)
    Path(target).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
