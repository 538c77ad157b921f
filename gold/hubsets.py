"""Rows from anything the Hugging Face ``datasets`` library loads: a hub name, a local folder, what it has saved.

The library is imported when it is needed, because that takes seconds.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import GoldError
from .rowtypes import Row

_SAVED = "state.json"  # what save_to_disk writes beside the rows of one split
_SAVED_SPLITS = "dataset_dict.json"


def hub_name(source: str) -> tuple[str, str] | None:
    """Return name and split of a source that the library reads: ``hf:NAME:SPLIT``, or a folder of ``save_to_disk``."""
    if source.startswith("hf:"):
        name, _, split = source.removeprefix("hf:").partition(":")
        return name, split
    try:
        saved = any(Path(source, file).is_file() for file in (_SAVED, _SAVED_SPLITS))
    except OSError:  # a name that no file can have
        return None
    return (source, "") if source and saved else None


def stream_hub(name: str, split: str, path: str) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a dataset, with 1-based record numbers; the library keeps them on disk.

    Class labels become their names.
    """
    if not name.strip("/"):
        raise GoldError("the dataset has no name", path=path, hint="write hf:org/name or hf:org/name:split")
    number = 0
    for number, row in enumerate(_load(name, split, path), 1):
        yield number, row
    if not number:
        raise GoldError("the dataset has no rows", path=path, hint="name another split: hf:org/name:split")


def _load(name: str, split: str, path: str) -> Iterator[Row]:
    import datasets
    import httpx
    import pyarrow

    broken = (
        OSError,
        ValueError,
        RuntimeError,
        ImportError,
        httpx.HTTPError,
        pyarrow.ArrowException,
        datasets.exceptions.DatasetsError,
    )
    local = Path(name).exists()
    # a local folder is read afresh each time: a shared cache would answer with what it held yesterday
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            if Path(name, _SAVED).is_file():
                if split:
                    raise GoldError("the dataset has no splits", path=path, hint=f"write hf:{name}")
                found = datasets.load_from_disk(name)
            else:
                found = datasets.load_dataset(name, split=split or None, cache_dir=folder if local else None)
        except broken as error:
            raise _unusable(error, path, local) from error
        yield from _rows(_only(found, path))


def _only(found: Any, path: str) -> Any:
    if not isinstance(found, dict):
        return found
    if len(found) > 1:
        names = ", ".join(found)
        raise GoldError(
            f"the dataset has the splits {names}",
            path=path,
            hint=f"name one, or all: hf:NAME:{next(iter(found))}",
        )
    return next(iter(found.values()))


def _rows(dataset: Any) -> Iterator[Row]:
    names = {key: kind.int2str for key, kind in dataset.features.items() if hasattr(kind, "int2str")}
    for row in dataset:
        for key, name_of in names.items():
            if row[key] is not None:
                row[key] = name_of(row[key])
        yield row


def _unusable(error: Exception, path: str, local: bool) -> GoldError:
    said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
    hint = (
        "put JSONL, CSV or Parquet files with the same columns into the folder, and name a split it has"
        if local
        else "check the name, the split, the network and HF_TOKEN, or download the file and give its path"
    )
    return GoldError(f"the dataset cannot be loaded: {said}", path=path, hint=hint)
