"""Files: those that somebody else may have made are regular and of a limited size, and never end; the user's own."""

import os
import stat
from pathlib import Path


class UnreadableFileError(OSError):
    """A path is no regular file, or the file is larger than what is read; ``strerror`` says which."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(0, problem, str(path))


def data_file(name: str) -> Path:
    """Return a file of the user's own: in ``$XDG_DATA_HOME/jurist``, by default below ``~/.local/share``."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "jurist" / name


def read_regular_file(path: Path, *, limit: int, follow_links: bool = False) -> bytes:
    """Return the bytes of a regular file.

    Args:
        path: the file.
        limit: the most bytes that it may have.
        follow_links: whether a symbolic link stands for the file that it names; otherwise it is refused.

    Raises:
        UnreadableFileError: the path is a link, a device, a pipe or a socket, or the file is larger than ``limit``.
        OSError: the file cannot be read.
    """
    if path.is_symlink() and not follow_links:
        raise UnreadableFileError(path, "it is a symbolic link, not a regular file")
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # opening a pipe would wait for somebody who writes
    if not follow_links:
        flags |= os.O_NOFOLLOW  # the path may have become a link since it was looked at
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFileError(path, "it is not a regular file")
        data = b""
        if status.st_size <= limit:
            data = file.read(limit + 1)
    if status.st_size > limit or len(data) > limit:
        raise UnreadableFileError(path, f"it has more than {limit // 1024**2} MiB, which is the limit")
    return data


def hide_from_git(folder: Path) -> None:
    """Write a file by which git leaves out a folder of unfinished work, with the texts and replies in it."""
    ignoring = folder / ".gitignore"
    if not ignoring.exists():
        ignoring.write_text("*\n", encoding="utf-8")
