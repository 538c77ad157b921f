"""The command in processes of its own that begin at once: forked from one that has imported all of it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

_SERVER = """
import json, os, signal, sys
from jurist.cli import main
from jurist.console import batch, compile, generate, run, scoring
from jurist.engines import direct
from jurist.optimizers import learners
from jurist.runs import listening, serving

def begin(told):
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        for number, name in enumerate([os.devnull, *told["files"]]):
            os.dup2(os.open(name, os.O_RDWR), number)
        os.chdir(told["cwd"])
        os.environ.clear()
        os.environ.update(told["env"])
        for number in told["ignored"]:
            signal.signal(number, signal.SIG_IGN)
        try:
            exec(told["code"], {"main": main, "argv": told["argv"]})
            code = 0
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
    finally:
        os._exit(code)

for line in sys.stdin:
    told = json.loads(line)
    if "argv" in told:
        said = begin(told)
    else:
        pid, status = os.waitpid(told["pid"], os.WNOHANG)
        said = os.waitstatus_to_exitcode(status) if pid else None
    print(json.dumps(said), flush=True)
"""


_ONE_AT_A_TIME = threading.RLock()
"""A server on the loopback kills a command while the test waits for it: each is answered its own question."""


@cache
def _server() -> "subprocess.Popen[str]":
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", _SERVER], **pipes)


def _ask(**told: Any) -> Any:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with _ONE_AT_A_TIME:
        server.stdin.write(json.dumps(told) + "\n")
        server.stdin.flush()
        return json.loads(server.stdout.readline())


COMMAND = "raise SystemExit(main(argv))"


class Forked:
    """One run of the command, or of other ``code``, with what tests use of ``subprocess.Popen``."""

    def __init__(self, *argv: object, cwd: Path, ignored: Sequence[int] = (), code: str = COMMAND) -> None:
        self.returncode: int | None = None
        self._files = [tempfile.mkstemp()[1] for _ in ("out", "err")]
        env = {name: value for name, value in os.environ.items() if not name.startswith("JURIST_")}
        about = {"files": self._files, "cwd": str(cwd.resolve()), "env": env, "ignored": list(ignored)}
        self.pid = _ask(argv=list(map(str, argv)), code=code, **about)

    @property
    def said(self) -> tuple[str, str]:
        """What it has written so far to standard output and to standard error."""
        out, err = (Path(name).read_text(encoding="utf-8") for name in self._files)
        return out, err

    def poll(self) -> int | None:
        with _ONE_AT_A_TIME:
            if self.returncode is None:
                self.returncode = _ask(pid=self.pid)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                self.kill()
                raise subprocess.TimeoutExpired("jurist", timeout)
            time.sleep(0.005)
        return self.said
