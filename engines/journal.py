"""Every paid answer, kept as it arrives, so that no call is ever paid twice.

A journal is an append-only JSONL file. A request is looked up by the hash of
all that is sent, and by how often this run has sent it: a seeded job that is
started again asks the same questions in the same order, is answered from the
file as far as the file goes, and then goes on for real. A line torn by a kill
is dropped when the file is read. Keys and addresses are never part of a request.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CheckpointError

__all__ = ["Answer", "Journal", "request_key"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back for one request: all that a later replay needs."""

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    model: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a plain mapping."""
        return dict(self.__dict__)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Answer:
        """Rebuild the answer that :meth:`to_json` gave. Raises ``TypeError`` on anything else."""
        answer = cls(**data)
        numbers = (answer.input_tokens, answer.output_tokens, answer.cost or 0.0)
        if not isinstance(answer.text, str) or not all(isinstance(number, int | float) for number in numbers):
            raise TypeError("not an answer")
        return answer


def request_key(request: Mapping[str, Any]) -> str:
    """Return the sha256 of a request's content."""
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Journal:
    """An append-only file of answers. ``path=None`` keeps nothing and replays nothing.

    Raises:
        CheckpointError: the file is not a journal.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()
        self._answers: dict[tuple[str, int], Answer] = {}
        self._file = None
        if path is not None:
            self._load(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8")

    def __len__(self) -> int:
        """Return the number of answers kept."""
        return len(self._answers)

    def ask(self, key: str) -> tuple[int, Answer | None]:
        """Count one more occurrence of ``key`` and return its number with the kept answer, if there is one."""
        with self._lock:
            self._seen[key] += 1
            occurrence = self._seen[key]
        return occurrence, self._answers.get((key, occurrence))

    def keep(self, key: str, occurrence: int, answer: Answer) -> None:
        """Append an answer; it is on its way to the disk when this returns."""
        if self._file is None:
            return
        line = json.dumps({"key": key, "n": occurrence, **answer.to_json()}, ensure_ascii=False)
        with self._lock:
            self._answers[key, occurrence] = answer
            try:
                self._file.write(line + "\n")
                self._file.flush()
            except OSError as error:
                hint = "make room on the disk and start again with --resume"
                raise CheckpointError(
                    f"{self.path}: cannot be written: {error.strerror}", hint=hint
                ) from error

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with suppress(OSError):  # whoever kept the answer that cannot be written was told so
                self._file.close()
            self._file = None

    def _load(self, path: Path) -> None:
        if not path.exists():
            return
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                row = dict(json.loads(line))
                key, occurrence = row.pop("key"), row.pop("n")
                self._answers[key, occurrence] = Answer.of(row)
            except (ValueError, KeyError, TypeError) as error:
                raise CheckpointError(
                    f"{path}:{number}: not a journal line",
                    hint="remove the checkpoint folder and start again",
                ) from error
        if len(whole) != len(data):
            os.truncate(path, len(whole))  # in place: on a full disk, writing it anew would lose it all
