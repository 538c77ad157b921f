"""Locks on folders, so that two processes never work on one: held by the operating system, gone with the process.

A lock is the process's own: taking it again in the same process succeeds. A file system without locks (some network
ones) is worked on without.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

__all__ = ["held", "let_go"]

_NAME = "lock"
_LOCKS: dict[Path, int] = {}
_GUARD = threading.Lock()


def held(folder: Path) -> bool:
    """Take the lock of an existing folder for this process; return whether it holds it now.

    Raises:
        OSError: the folder cannot be written.
    """
    path = folder.resolve() / _NAME
    with _GUARD:
        if path in _LOCKS and path.exists():
            return True
        _close(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(descriptor)
        except (BlockingIOError, PermissionError):  # POSIX and Windows say so
            os.close(descriptor)
            return False
        except OSError:
            os.close(descriptor)
            return True
        if os.fstat(descriptor).st_nlink == 0:  # whoever held it has removed the folder since it was opened
            os.close(descriptor)
            return False
        _LOCKS[path] = descriptor
        return True


def let_go(folder: Path) -> None:
    """Give the lock back; nothing happens if this process does not hold it."""
    with _GUARD:
        _close(folder.resolve() / _NAME)


def _close(path: Path) -> None:
    descriptor = _LOCKS.pop(path, None)
    if descriptor is not None:
        with suppress(OSError):
            os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
