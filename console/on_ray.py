"""``jurist run --engine ray``: what each worker is told, and the one output of all."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..arguments.run import RunOptions
from ..errors import CheckpointError, JuristError, StoppedError, UsageError, signal_name
from ..gold.sources import can_be_read_again
from ..programs.judge import Judge
from ..runs.batch_store import check_no_batches
from ..runs.cluster import ShardEnd, cluster, judged_on_ray
from ..runs.outputs import checkpoint_of, claimed, shards_of
from ..runs.runner import RunPlan
from ..runs.shards import Shard, join
from ..runs.summary import Summary, merged

Judged = Callable[[RunOptions, Path, Callable[[RunPlan], None], Callable[[], None]], Summary]


def run_on_ray(
    options: RunOptions,
    judge: Judge,
    judged: Judged,
    on_begin: Callable[[RunPlan], None],
    on_row: Callable[[], None],
) -> Summary:
    """Judge the rows in shards on a Ray cluster, and join their lines."""
    _check(options)
    output, going_on = Path(options.output), options.resume or options.retry_failed
    with (
        claimed(output, [options.input], going_on=going_on, rival=checkpoint_of(output)),
        cluster() as cpus,
    ):
        check_no_batches(output, forget=options.fresh)
        folder = _folder(options, cpus)
        shards = [Shard(number, int(folder.name)) for number in range(1, int(folder.name) + 1)]
        own = [_part(options, shard, folder) for shard in shards]
        paths = [Path(one.output) for one in own]
        with _kept(folder, paths):
            works = [partial(judged, one, output) for one in own]
            found = _all(judged_on_ray(works, folder, on_begin=on_begin, on_row=on_row), folder.parent)
            for path in paths:
                path.touch()  # nothing of it was judged before a limit
            join(paths, output)
    return merged(judge, found)


def _check(options: RunOptions) -> None:
    if not can_be_read_again(options.input):
        raise UsageError(f"workers cannot read {options.input}", hint="write the rows into a file first")
    wrong = {
        "--shard": options.shard is not None,
        "--unordered": options.unordered,
        "--output -": options.output == "-",
        "--canary": options.canary,
    }
    for name in (name for name, given in wrong.items() if given):
        raise UsageError(f"{name} does not go with --engine ray", hint="leave one of them out")


@contextmanager
def _kept(folder: Path, paths: Sequence[Path]) -> Iterator[None]:
    """Keep the files of the shards after a block if there is more in them than the output has."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = True
    try:
        yield
        lines = False  # they are joined
    finally:
        worth = [path for path in paths if checkpoint_of(path).exists() or (lines and path.exists())]
        if not worth:
            shutil.rmtree(folder.parent)


def _folder(options: RunOptions, cpus: int) -> Path:
    """Return the folder of the shards, which bears their number."""
    root = shards_of(Path(options.output))
    if options.fresh and root.exists():
        shutil.rmtree(root)
    begun = [int(folder.name) for folder in root.iterdir()] if root.exists() else []
    if begun and not (options.resume or options.retry_failed):
        hint = "add --resume to continue it without paying again, or --fresh to forget it"
        raise CheckpointError(f"an unfinished run of {options.output} is kept in {root}", hint=hint)
    of = begun[0] if begun else options.workers or cpus
    if options.workers not in (None, of):
        raise UsageError(f"this run was begun with {of} workers", hint=f"name --workers {of}")
    if of > cpus:
        said = f"{of} workers take a CPU each, and the cluster has {cpus}"
        raise UsageError(said, hint=f"start one of {of} CPUs" if begun else f"name --workers {cpus}")
    return root / str(of)


def _part(options: RunOptions, shard: Shard, folder: Path) -> RunOptions:
    """Return what one worker is told: limits on all are shared out."""

    def share(name: str, limit: int | None) -> int | None:
        if limit is not None and limit < shard.of:
            said = f"--{name} {limit} is less than one for each of {shard.of} workers"
            raise UsageError(said, hint=f"allow {shard.of} or more, or name fewer --workers")
        return None if limit is None else limit // shard.of + (shard.number <= limit % shard.of)

    output = Path(options.output)
    return replace(
        options,
        engine="local",
        shard=(shard.number, shard.of),
        output=str(shard.path(folder / "lines.jsonl")),
        rejects=options.rejects or str(output.with_name(f"{output.stem}.rejected.jsonl")),
        resume=not options.retry_failed,
        fresh=False,
        calls=share("max-calls", options.calls),
        cost=None if options.cost is None else options.cost / shard.of,
        rpm=share("rpm", options.rpm),
        tpm=share("tpm", options.tpm),
    )


def _all(found: Sequence[ShardEnd], root: Path) -> list[Summary]:
    """Return how the shards ended, or raise why one could not be judged."""
    errors = [one for one in found if isinstance(one, JuristError)]
    if errors:
        # where one could not be judged, the others were stopped because of it
        error = min(errors, key=lambda one: isinstance(one, StoppedError))
        if isinstance(error, StoppedError) and error.signal is not None:
            said = f"stopped by {signal_name(error.signal)}; what was paid for is kept in {root}"
            raise StoppedError(said, hint="add --resume to go on without paying again", signal=error.signal)
        raise error
    return [one for one in found if isinstance(one, Summary)]
