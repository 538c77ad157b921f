"""Signals in the first and in the last instants of the process, when no command is at work: the end is quiet."""

import os
import signal
import subprocess
import sys

import pytest

WAITING_THREAD = """
import os, sys, threading, time
def wait():
    threading.main_thread().join()
    time.sleep(0.2)  # so that the main thread waits, too
    os.write(2, b"ending\\n")
    time.sleep(60)
threading.Thread(target=wait).start()
"""
"""The process waits for a thread when its command has ended, as for one that asks a model."""
WAITING_TEARDOWN = """
import os, sys, time
class Slow:
    def __del__(self, write=os.write, sleep=time.sleep):
        write(2, b"ending\\n")
        sleep(0.5)
slow = Slow()
"""
"""The process waits while Python takes its modules down, when handlers of signals are gone."""
START = """
from jurist.__main__ import start
sys.argv = ["jurist", {argument!r}]
start()
"""
INTERRUPTED_IMPORT = """
import sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "jurist.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize(
    ("waiting", "argument", "code"),
    [(WAITING_THREAD, "judges", 0), (WAITING_TEARDOWN, "judges", 0), (WAITING_TEARDOWN, "judgse", 2)],
    ids=["thread", "teardown", "teardown after an error"],
)
def test_a_signal_after_the_result_changes_nothing(
    waiting: str, argument: str, code: int, number: signal.Signals
) -> None:
    command = [sys.executable, "-c", waiting + START.format(argument=argument)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line == "ending\n":
                break
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (code, "")
    assert ("fect-3d" in out) == (code == 0)


def test_ctrl_c_before_the_command_is_imported_ends_in_one_line() -> None:
    command = [sys.executable, "-c", INTERRUPTED_IMPORT + START.format(argument="judges")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped by Ctrl-C\n")
