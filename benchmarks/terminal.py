"""A picture of what a command prints in a terminal of 100 columns: its results, without progress.

python benchmarks/terminal.py docs/images/terminal-100.svg jurist compile docs/may_send.py:judge --gold support-desk
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

COLUMNS = 100


def printed(command: list[str]) -> str:
    """Return what a command writes to a terminal, with its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "PAGER": "cat"}
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
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    typed = " ".join([Path(command[0]).name, *command[1:]])  # not where the command lies on this machine
    console.print(Text.assemble(f"$ {typed}\n", Text.from_ansi(printed(command))))
    # the fonts that rich names are fetched from somewhere else; a reader's own will do
    picture = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="jurist"), flags=re.DOTALL)
    Path(target).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
