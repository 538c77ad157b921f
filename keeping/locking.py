"""Locks on folders and output files, so that two processes never work on one; gone with the process that holds them."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def lock_output(output: Path) -> Iterator[bool]:
    """Hold the lock of an output, on a hidden file beside it, during a block; yield whether it was free."""
    output = Path(os.path.realpath(output))
    path = output.with_name(f".{output.name}.jurist-lock")
    try:
        free, descriptor = take_lock(path)
    except OSError:
        # No file can be made here: whoever opens the output will say so, and nobody can continue it, as
        # that replaces it. A lock file that another user's process holds is the exception.
        free, descriptor = not path.exists(), None
    try:
        yield free
    finally:
        if free:
            release_lock(descriptor, lambda: path.unlink(missing_ok=True))


def release_lock(descriptor: int | None, remove: Callable[[], None]) -> None:
    """Remove a lock file, or its folder, and give the lock back, in the order that takes nobody else's file away."""
    with suppress(OSError):
        remove()
    if descriptor is not None:
        os.close(descriptor)


def take_lock(path: Path) -> tuple[bool, int | None]:
    """Lock a file, made if need be; return whether nobody else holds it, and what holds it for this process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # a file system says one or the other
        os.close(descriptor)
        return False, None
    except OSError:
        os.close(descriptor)
        return True, None
    if os.fstat(descriptor).st_nlink == 0:  # whoever held it has removed it since it was opened
        os.close(descriptor)
        return False, None
    return True, descriptor
