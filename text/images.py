"""Images as inputs of a judge: what a row holds becomes a reference, and the bytes are read when they are sent.

A reference is a short text with the hash of the image's bytes. So everything that works with the texts of a case
(ids, groups, near copies, proposers, tables) works with images, and no prompt's text, journal or artifact holds bytes.
"""

import base64
import binascii
import hashlib
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

MOST_BYTES: Final = 20 << 20
"""The most bytes of an image: the limit of the large providers."""
_TYPES: Final = "PNG, JPEG, GIF or WebP"
_DATA_ADDRESS: Final = re.compile(
    r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,(?P<data>.*)", re.DOTALL
)
_WEB_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)
_JPEG_WITHOUT_SIZE: Final = frozenset({0xC4, 0xC8, 0xCC})
"""Markers of JPEG from 0xC0 to 0xCF that begin no frame; all others of these are followed by the size."""


class ImageError(ValueError):
    """A value that is no image, or an image that cannot be read."""


class ImageKind(NamedTuple):
    """The type and the size of an image, by its first bytes."""

    media_type: str  # such as image/png
    width: int  # in pixels; 0 where the bytes do not say it
    height: int


class ImageReference(str):
    """A text that stands for an image: its type, its size in pixels, and the hash of its bytes.

    Equal bytes are equal texts, wherever they were read from. An image that only has an address in the web is known by
    the address: jurist does not fetch it, as rows are data of strangers.
    """

    source: Path | bytes | str
    """The file, the bytes, or the address in the web."""

    def __new__(cls, text: str, source: Path | bytes | str) -> "ImageReference":
        """Return a reference with this text."""
        reference = super().__new__(cls, text)
        reference.source = source
        return reference

    def __reduce__(self) -> tuple[object, ...]:
        """Return how a copy is made, in another process too."""
        return ImageReference, (str(self), self.source)

    def row_value(self) -> str:
        """Return the value for a row in a file of any folder: an absolute path, or an address."""
        if isinstance(self.source, Path):
            return str(self.source.absolute())
        return self.address()

    def address(self) -> str:
        """Return the image as an address that endpoints take: ``data:`` with its bytes, or its address in the web.

        Raises:
            ImageError: its file cannot be read any more, or holds another image than when the row was read.
        """
        if isinstance(self.source, str):
            return self.source
        content = self.source if isinstance(self.source, bytes) else _read_file(self.source)
        is_same_image = str(_make_reference(content, self.source)) == str(self)
        kind = image_kind(content)
        if kind is None or not is_same_image:
            raise ImageError(f"{self.source!s} holds another image than when its row was read")
        return f"data:{kind.media_type};base64,{base64.b64encode(content).decode('ascii')}"


def read_image(value: Any, folder: Path | None) -> ImageReference:
    """Return the reference of an image that a row holds.

    Args:
        value: the path of a file, a web address, a ``data:`` address, bytes, an image of DSPy or PIL, or an object with
            ``bytes``, ``path`` or ``url``, as Hugging Face's data sets and chat messages have it.
        folder: the folder to which paths are relative; ``None`` refuses paths.

    Raises:
        ImageError: it is no image, or cannot be read.
    """
    if isinstance(value, ImageReference):
        return value
    if isinstance(value, bytes):
        return _make_reference(value, value)
    if isinstance(value, str):
        return _read_address_or_path(value.strip(), folder)
    if isinstance(value, Path):
        return _read_path(value, folder)
    if isinstance(value, Mapping):
        return _read_image_object(value, folder)
    if isinstance(getattr(value, "url", None), str):  # DSPy's
        return _read_address_or_path(value.url, folder)
    if hasattr(value, "save") and hasattr(value, "size"):  # PIL's
        buffer = io.BytesIO()
        value.save(buffer, format="PNG")
        content = buffer.getvalue()
        return _make_reference(content, content)
    raise ImageError(f"an image is a path, an address or bytes, not {type(value).__name__}")


def image_kind(content: bytes) -> ImageKind | None:
    """Return the type and the size that the first bytes of an image say; ``None`` if they are of no known type."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return ImageKind("image/png", _big_endian(content[16:20]), _big_endian(content[20:24]))
    if content.startswith((b"GIF87a", b"GIF89a")):
        return ImageKind("image/gif", _little_endian(content[6:8]), _little_endian(content[8:10]))
    if content.startswith(b"\xff\xd8\xff"):
        return _kind_of_jpeg(content)
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return _kind_of_webp(content)
    return None


def _read_address_or_path(text: str, folder: Path | None) -> ImageReference:
    """Return the reference of an image that a text names: by a ``data:`` address, a web address, or a path."""
    if not text:
        raise ImageError("no image is given")
    data = _DATA_ADDRESS.fullmatch(text)
    if data:
        try:
            content = base64.b64decode(data["data"], validate=True)
        except binascii.Error as error:
            raise ImageError(f"the data of the image are no base64: {error}") from error
        return _make_reference(content, content)
    if _WEB_ADDRESS.match(text):
        if not _has_host(text):
            raise ImageError(f"{text[:200]} is no address in the web")
        return ImageReference(f"[image at {text}]", text)
    return _read_path(Path(text), folder)


def _has_host(address: str) -> bool:
    """Say whether an address in the web names a host and holds no blanks."""
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return False
    return bool(host) and not re.search(r"\s", address)


def _read_path(path: Path, folder: Path | None) -> ImageReference:
    """Return the reference of an image in a file; an ``ImageError`` where paths are refused."""
    if folder is None:
        raise ImageError("a path is not read here; give the image as data:image/png;base64,...")
    file = folder / path
    return _make_reference(_read_file(file), file)


def _read_image_object(value: Mapping[str, Any], folder: Path | None) -> ImageReference:
    """Return the reference of an image in an object of Hugging Face's data sets, or a part of a chat message."""
    content = value.get("bytes")
    if isinstance(content, bytes):
        return _make_reference(content, content)
    for key in ("path", "url", "image_url", "data"):
        if value.get(key):
            return read_image(value[key], folder)
    raise ImageError("the object of the image has neither bytes nor path nor url")


def _read_file(file: Path) -> bytes:
    """Return the bytes of a file; an ``ImageError`` where it cannot be read, or is too large for an image."""
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ImageError(f"{file} is larger than {MOST_BYTES >> 20} MB")
        return file.read_bytes()
    except ImageError:
        raise
    except (OSError, ValueError) as error:
        raise ImageError(f"there is no image that can be read at {str(file)[:200]}") from error


def _make_reference(content: bytes, source: Path | bytes) -> ImageReference:
    """Return the reference of an image with these bytes."""
    origin = source if isinstance(source, Path) else "the data"
    if len(content) > MOST_BYTES:
        raise ImageError(f"{origin} are larger than {MOST_BYTES >> 20} MB")
    kind = image_kind(content)
    if kind is None:
        raise ImageError(f"{origin} holds no {_TYPES}")
    size = f", {kind.width} x {kind.height} pixels" if kind.width else ""
    digest = hashlib.sha256(content).hexdigest()
    return ImageReference(f"[{kind.media_type}{size}, sha256 {digest}]", source)


def _kind_of_jpeg(content: bytes) -> ImageKind:
    """Return the kind of a JPEG, with the size that its first frame gives; 0 where no frame is found."""
    place = 2
    while place + 9 < len(content) and content[place] == 0xFF:
        marker = content[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in _JPEG_WITHOUT_SIZE:
            height = _big_endian(content[place + 5 : place + 7])
            width = _big_endian(content[place + 7 : place + 9])
            return ImageKind("image/jpeg", width, height)
        place += 2 + _big_endian(content[place + 2 : place + 4])
    return ImageKind("image/jpeg", 0, 0)


def _kind_of_webp(content: bytes) -> ImageKind:
    """Return the kind of a WebP, with the size that its first part gives: extended, lossless, or lossy."""
    form = content[12:16]
    if form == b"VP8X":
        return ImageKind("image/webp", 1 + _little_endian(content[24:27]), 1 + _little_endian(content[27:30]))
    if form == b"VP8L":
        bits = _little_endian(content[21:25])
        return ImageKind("image/webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    return ImageKind(
        "image/webp", _little_endian(content[26:28]) & 0x3FFF, _little_endian(content[28:30]) & 0x3FFF
    )


def _big_endian(digits: bytes) -> int:
    """Return a number whose first byte weighs most."""
    return int.from_bytes(digits, "big")


def _little_endian(digits: bytes) -> int:
    """Return a number whose last byte weighs most."""
    return int.from_bytes(digits, "little")
