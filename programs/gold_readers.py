"""Formats in which others publish labelled rows: those of our papers, and those of installed packages.

The formats of our papers are recognised by their files. ``NAME:PATH`` in place of a path reads a file or a folder in
the format of an installed package, which brings a :class:`GoldReader` as an entry point of the group
``jurist.readers``.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeGuard, runtime_checkable

from ..errors import GoldError
from .plugins import PluginKind


@runtime_checkable
class GoldReader(Protocol):
    """A format of labelled rows. A record is what a file holds; a row is what a judge takes."""

    @property
    def name(self) -> str:
        """The name in ``NAME:PATH``."""

    @property
    def file_name(self) -> str:
        """The name of the file that is read where a folder is named."""

    @property
    def companion(self) -> str:
        """The name of a file beside it that holds one JSON object; empty without one."""

    def records(self, file: Path) -> Iterator[Mapping[str, object]] | None:
        """Yield the records of a file; ``None`` where it is JSON, CSV, Excel or Parquet, which jurist reads itself."""

    def recognises(self, record: Mapping[str, object]) -> bool:
        """Return whether a file whose first record this is has the format."""

    def row(self, record: Mapping[str, object], companion: Mapping[str, object]) -> Mapping[str, object]:
        """Return the row of a record; ``companion`` is empty without such a file. Raises ``ValueError``."""


def _is_reader(value: object) -> TypeGuard[GoldReader]:
    return isinstance(value, GoldReader) and not isinstance(value, type)


PLUGIN_READERS: PluginKind[GoldReader] = PluginKind(
    group="jurist.readers", noun="reader", expected="a GoldReader", accepts=_is_reader, error=GoldError
)
"""The formats of the modules in ``readers/``, and of installed packages."""
PAPER_READERS: tuple[GoldReader, ...] = tuple(PLUGIN_READERS.load_modules("programs.readers").values())
"""The formats of our papers."""


def reader_of(record: object) -> GoldReader | None:
    """Return the paper's format that a first record has; ``None`` where it is a row as it stands."""
    if isinstance(record, Mapping):
        for reader in PAPER_READERS:
            if reader.recognises(record):
                return reader
    return None


def published_file(folder: Path) -> Path | None:
    """Return the file of one of our papers that a folder holds, itself or in ``data/``; ``None`` without one."""
    for reader in PAPER_READERS:
        for file in (folder / reader.file_name, folder / "data" / reader.file_name):
            if file.is_file():
                return file
    return None


def split_reader_name(source: str) -> tuple[GoldReader | None, str]:
    """Return the reader and the path in ``NAME:PATH``; ``None`` and the whole where no installed package has it."""
    name, colon, path = source.partition(":")
    if not (colon and path and name.replace("-", "").replace("_", "").isalnum()):
        return None, source
    reader = PLUGIN_READERS.from_package(name)
    return (None, source) if reader is None else (reader, path)
