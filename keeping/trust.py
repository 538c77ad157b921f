"""Which judge files may be executed for an artifact: files whose code is on the card, and trusted by the user.

An artifact may come from anywhere, and its seal has no key: whoever writes a card can seal it. So the file it names
is executed only if the user has compiled from that very code, or has said ``--trust`` to it; both are remembered.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import JudgeError, as_data, printable
from ..text.files import data_file


def to_stderr(line: str) -> None:
    """Say something to whoever sits there."""
    sys.stderr.write(line + "\n")


@dataclass(frozen=True, kw_only=True)
class Trust:
    """The user's trust in the code of judges."""

    trusts_all: bool = False  # whether the user has said ``--trust``
    # the file of remembered hashes, one a line with its file
    path: Path = field(default_factory=lambda: data_file("trusted"))
    # takes the line that tells what will be executed, once for each content
    say: Callable[[str], None] = to_stderr
    _told_lines: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def check(self, ref: str, file: Path, hashes: Mapping[str, str], recorded: frozenset[str]) -> None:
        """Refuse to execute a file for an artifact, whose card recorded these hashes, or say that it is executed."""
        hint = f"read {as_data(file)}, and name it in place of the judge ({as_data(file)}:ATTRIBUTE) if it is yours"
        trusted = self._trusted_hashes()
        if not recorded:
            raise JudgeError(
                f"{ref} does not say from which content of {as_data(file)} it was compiled", hint=hint
            )
        is_unchanged = not recorded.isdisjoint(hashes.values())
        if not is_unchanged and recorded.isdisjoint(trusted):
            raise JudgeError(
                f"{as_data(file)} is not what {ref} was compiled from: its content was changed", hint=hint
            )
        if not self.trusts_all and trusted.isdisjoint(hashes.values()):
            problem = f"{ref} needs the code of {as_data(file)}, which you have not trusted yet"
            if not is_unchanged:
                problem = f"the code of {as_data(file)} was changed since {ref} was compiled from it"
            raise JudgeError(problem, hint="read that file, and add --trust")
        self.remember(hashes, file)
        executing = f"executing {file} (sha256 {hashes['judge_sha256'][:16]})"
        if is_unchanged:
            self.tell(f"{executing}, from which {ref} was compiled")
        else:
            self.tell(f"{executing} as it is now")

    def tell(self, line: str) -> None:
        """Say a line, once."""
        if line not in self._told_lines:
            self._told_lines.add(line)
            self.say(printable(line))

    def remember(self, hashes: Mapping[str, str], file: Path) -> None:
        """Keep hashes, unless they are kept; where nothing can be written, say so."""
        trusted = self._trusted_hashes()
        new_hashes = [
            content_hash for content_hash in dict.fromkeys(hashes.values()) if content_hash not in trusted
        ]
        if not new_hashes:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as stream:
                for content_hash in new_hashes:
                    stream.write(f"{content_hash}  {printable(str(file))}\n")
        except OSError as error:
            self.say(printable(f"{self.path}: {error.strerror}; that {file} is trusted is not remembered"))

    def _trusted_hashes(self) -> set[str]:
        """Return the hashes that are kept in the file."""
        text = ""
        with suppress(OSError):
            text = self.path.read_text(encoding="utf-8", errors="replace")
        return {line.partition(" ")[0] for line in text.splitlines()}
