"""Bytes as text, or where and why they are none."""

import io
from importlib.resources.abc import Traversable
from typing import Any, BinaryIO

from ..errors import GoldError, why

_SAVE = "save the file as UTF-8 (from Excel: as CSV UTF-8)"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_PACKED = {b"\x1f\x8b": "a gzip file", b"PK\x03\x04": "a zip archive or an Excel workbook", b"%PDF": "a PDF"}


def bytes_of(file: Traversable, path: str) -> bytes:
    """Return what a file holds."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise GoldError(f"the file cannot be read: {why(error)}", path=path, hint="check it") from error


def check_packed(head: bytes, path: str) -> None:
    """Refuse what is no UTF-8 text by its first bytes."""
    for magic, what in _PACKED.items():
        if head.startswith(magic):
            raise GoldError(
                f"this is {what}, not rows", path=path, hint="unpack it, or export it as CSV or JSONL"
            )
    if head.startswith(_UTF16):
        raise GoldError("the file is UTF-16, not UTF-8", path=path, line=1, hint=_SAVE)


def text_of(data: bytes, path: str) -> str:
    """Decode UTF-8, with or without a byte order mark."""
    check_packed(data, path)
    text = data.decode("utf-8-sig", "surrogateescape")
    if error := unreadable(text, path, 1):
        raise error
    return text


def unreadable(text: str, path: str, line: int) -> GoldError | None:
    """Return what is wrong with the characters of a text that was decoded with ``surrogateescape``."""
    if "\0" in text:
        line += text.count("\n", 0, text.index("\0"))
        said = "the file holds a NUL character: it is not text"
        return GoldError(said, path=path, line=line, hint="export it again")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line += text.count("\n", 0, error.start)
        column = error.start - text.rfind("\n", 0, error.start)
        said = f"byte 0x{ord(text[error.start]) & 0xFF:02x} at column {column} is not UTF-8"
        return GoldError(said, path=path, line=line, hint=_SAVE)
    return None


class Rejoined(io.RawIOBase):
    """A stream whose beginning has been read; what is there is given at once, so that a pipe may be slow."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        """Say so to those who wrap it."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, first with the beginning."""
        data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        data = data or self._rest.read1(len(buffer))  # type: ignore[attr-defined]
        buffer[: len(data)] = data
        return len(data)
