"""Small images of one colour, as bytes."""

import struct
import zlib


def png(red: int, green: int = 0, blue: int = 0, width: int = 3, height: int = 2) -> bytes:
    """Return a PNG of one colour."""
    line = b"\0" + bytes([red, green, blue]) * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(line * height)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


GIF = b"GIF89a\x05\x00\x04\x00\x00\x00\x00;"
"""A GIF of 5 x 4 pixels, as far as its size is concerned."""
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x07\x00\x09\x01\x01\x11\x00\xff\xd9"
"""A JPEG of 9 x 7 pixels, as far as its size is concerned."""
WEBP = b"RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x0b\x00\x00"
"""A WebP of 11 x 12 pixels, as far as its size is concerned."""
