"""Where artifacts are shared: a plain folder, or a repository of the Hugging Face Hub (``hf://OWNER/NAME``).

Both have the layout of a store. The Hub's library is imported when it is needed; its token comes from the environment
or from its own login, and is never written.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ArtifactError, UsageError, choices
from .artifacts import Artifact, Store
from .moving import Received, files_of, receive
from .shelves import parse_ref
from .signing import PublicKey

__all__ = ["HUB", "pull", "push"]

HUB = "hf://"
_PLACES = "name a folder, or hf://OWNER/NAME"


def push(artifact: Artifact, place: str) -> Received:
    """Put an artifact into a place, where it keeps its version if that number is free.

    Raises:
        ArtifactError: the place cannot be read or written.
        UsageError: it is no place.
    """
    if not place.startswith(HUB):
        return receive(files_of(artifact), _store(Path(place)))
    from huggingface_hub import HfApi

    repository = _repository(place)
    with _reached(place), tempfile.TemporaryDirectory() as folder:
        HfApi().create_repo(repository, private=True, exist_ok=True)
        _fetch(repository, artifact.judge, folder)
        sent = receive(files_of(artifact), _store(Path(folder)))
        if sent.new:
            HfApi().upload_folder(
                repo_id=repository,
                folder_path=str(Path(folder) / artifact.judge),
                path_in_repo=artifact.judge,
                commit_message=f"{sent.artifact.ref}, sha256 {sent.artifact.sha256}",
            )
        return sent


def pull(ref: str, place: str, store: Store, by: PublicKey | None = None) -> Received:
    """Get ``JUDGE[@VERSION|@TAG]`` from a place into a store.

    Raises:
        ArtifactError: it is not there, damaged, or not signed ``by`` whom it should be; the place cannot be read.
        UsageError: it is no place, or ``ref`` is no reference.
    """
    judge, _ = parse_ref(ref)
    if not place.startswith(HUB):
        if not Path(place).is_dir():
            raise ArtifactError(f"there is no folder {place}", hint=_PLACES)
        return receive(files_of(_found(ref, place, Path(place))), store, by)
    with _reached(place), tempfile.TemporaryDirectory() as folder:
        _fetch(_repository(place), judge, folder)
        return receive(files_of(_found(ref, place, Path(folder))), store, by)


def _found(ref: str, place: str, folder: Path) -> Artifact:
    """Return an artifact of a place that is, or was copied to, a folder."""
    there, (judge, _) = _store(folder), parse_ref(ref)
    if not there.list(judge):
        names = dict.fromkeys(one.judge for one in there.list())
        hint = choices(judge, names) if names else "check its name, or name another place"
        raise ArtifactError(f"there is no artifact of judge {judge!r} in {place}", hint=hint)
    return there.load(ref)


def _store(folder: Path) -> Store:
    if folder.exists() and not folder.is_dir():
        raise ArtifactError(f"{folder} is not a folder", hint=_PLACES)
    return Store(folder, shipped=folder / ".none")


def _fetch(repository: str, judge: str, folder: str) -> None:
    """Copy the versions of a judge, and what names them, out of a repository."""
    from huggingface_hub import snapshot_download

    snapshot_download(repository, allow_patterns=[f"{judge}/*"], local_dir=folder)


def _repository(place: str) -> str:
    owner, slash, name = place.removeprefix(HUB).partition("/")
    if not (owner and slash and name) or "/" in name:
        raise UsageError(f"{place!r} is no repository", hint="write hf://OWNER/NAME")
    return f"{owner}/{name}"


@contextmanager
def _reached(place: str) -> Iterator[None]:
    """Say in one line why the Hub could not do what it was asked."""
    import httpx
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        yield
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, httpx.HTTPError) as error:
        why = " ".join(str(error).split())[:200]
        raise ArtifactError(
            f"{place} cannot be used: {why}",
            hint="log in with hf auth login or set HF_TOKEN, and check the name and the network",
        ) from error
