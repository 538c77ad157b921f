"""Which judge files may be executed for an artifact: files whose content is on the card, and trusted by the user.

An artifact may come from anywhere, and its seal has no key: whoever writes a card can seal it. So the file it names
is executed only if the user has compiled from that very content, or has said ``--trust`` to it. Both are remembered in
the user's data home, which no folder of artifacts brings along. A file that the user names is the user's own affair.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import JudgeError, printable

__all__ = ["Trust", "data_file", "remembered_file", "to_stderr"]


def data_file(name: str) -> Path:
    """Return a file of the user's own: in ``$XDG_DATA_HOME/jurist``, by default below ``~/.local/share``."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "jurist" / name


def remembered_file() -> Path:
    """Return the file of trusted hashes."""
    return data_file("trusted")


def to_stderr(line: str) -> None:
    """Say something to whoever sits there."""
    sys.stderr.write(line + "\n")


@dataclass(frozen=True, kw_only=True)
class Trust:
    """What the user trusts.

    Attributes:
        given: whether the user has said ``--trust``.
        path: the file of remembered hashes, one a line with its file.
        say: takes the line that tells what will be executed, once for each content.
    """

    given: bool = False
    path: Path = field(default_factory=remembered_file)
    say: Callable[[str], None] = to_stderr
    _said: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def check(self, ref: str, file: Path, sha256: str, recorded: object) -> None:
        """Refuse to execute a file for an artifact, or say that it is executed.

        Args:
            ref: the artifact, whose seal holds.
            file: the file that its card names.
            sha256: of the file's content.
            recorded: what the card has as that.

        Raises:
            JudgeError: the card has another hash or none, or the user has not trusted the file.
        """
        own = f"read {file}, and name it in place of the judge ({file}:ATTRIBUTE) if it is yours"
        if recorded is None:
            raise JudgeError(f"{ref} does not say from which content of {file} it was compiled", hint=own)
        if recorded != sha256:
            raise JudgeError(f"{file} is not what {ref} was compiled from: its content was changed", hint=own)
        if not self.given and sha256 not in self._remembered():
            raise JudgeError(
                f"{ref} needs the code of {file}, which you have not trusted yet",
                hint="read that file, and add --trust",
            )
        self.remember(sha256, file)
        if sha256 not in self._said:
            self._said.add(sha256)
            self.say(printable(f"executing {file} (sha256 {sha256[:16]}), from which {ref} was compiled"))

    def remember(self, sha256: str, file: Path) -> None:
        """Keep a hash, if it is not kept yet; where nothing can be written, say so."""
        if sha256 in self._remembered():
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(f"{sha256}  {printable(str(file))}\n")
        except OSError as error:
            self.say(printable(f"{self.path}: {error.strerror}; that {file} is trusted is not remembered"))

    def _remembered(self) -> set[str]:
        text = ""
        with suppress(OSError):
            text = self.path.read_text(encoding="utf-8", errors="replace")
        return {line.partition(" ")[0] for line in text.splitlines()}
