"""The file that a run writes: whether it is free, what stands beside it, and who else may be writing it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import CheckpointError, UsageError, why
from ..keeping.locking import alone
from .formats import check_name


def checkpoint_of(output: Path) -> Path:
    """Return the folder beside an output that holds what an unfinished run of it has paid for."""
    return output.with_name(f".{output.name}.jurist")


def shards_of(output: Path) -> Path:
    """Return the folder beside an output that holds the shards of an unfinished run on several workers."""
    return output.with_name(f".{output.name}.shards")


@contextmanager
def claimed(
    output: Path, sources: Sequence[str], *, going_on: bool, rival: Path | None = None
) -> Iterator[None]:
    """Hold an output during a block, from before it is read until the last line is written."""
    check_name(output)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with _alone(output):
            _check_free(output, sources, going_on=going_on)
            if (other := rival or shards_of(output)).exists():
                hint = "go on as it was begun, with --engine ray or without, and --resume"
                raise CheckpointError(f"an unfinished run of {output} is kept in {other}", hint=hint)
            yield
    except OSError as error:
        hint = "name a file that can be written, or make room and start again with --resume"
        raise UsageError(f"{output}: {why(error)}", hint=hint) from error


def _check_free(output: Path, sources: Sequence[str], *, going_on: bool) -> None:
    if output.is_dir():
        raise UsageError(f"{output} is a folder", hint="name a file")
    for source in sources:
        read = Path(source).resolve()
        if read in (output.resolve(), *output.resolve().parents) and (read.is_dir() or read.is_file()):
            raise UsageError(f"{output} is part of the input {source}", hint="name an output elsewhere")
    new = not output.exists()
    output.open("ab").close()  # before anything is asked
    if new:
        output.unlink()
    if output.is_file() and output.stat().st_size and not going_on:
        raise UsageError(f"{output} exists", hint="add --resume to continue it, or name another file")


@contextmanager
def _alone(output: Path) -> Iterator[None]:
    """Keep other runs off the output.

    Without it, a second run with ``--resume`` would pay for the same rows, and replace the file while the first
    still writes its paid lines into the old one. Devices and pipes are nobody's to continue.
    """
    if output.exists() and not output.is_file():
        yield
        return
    with alone(output) as free:
        if not free:
            raise CheckpointError(
                f"another process is writing {output}",
                hint="wait until it has ended, or name another output file",
            )
        yield
