"""From a name to a judge: a built-in one, a file, or an artifact that says which file it came from."""

import difflib

from ..errors import JudgeError, UsageError
from ..programs.catalogue import CATALOGUE, GENERATORS, file_of, find
from ..programs.judge import Judge
from .artifacts import Artifact, Store

__all__ = ["find_judge", "judge_of", "locate", "parted"]


def find_judge(name: str, store: Store) -> Judge:
    """Return a built-in judge, one from a file, or one whose artifacts say which file it came from.

    Raises:
        JudgeError: there is none.
    """
    return locate(name, store)[0]


def locate(name: str, store: Store, version: str = "") -> tuple[Judge, str]:
    """Return a judge, and the reference under which :func:`~jurist.programs.catalogue.find` finds it again.

    Args:
        name: a judge, or a file: what the user names is executed.
        store: where the artifacts are of a judge that has a file.
        version: of which of them; default: the latest.

    Raises:
        JudgeError: there is none, or its file is gone, or may not be executed.
        ArtifactError: the artifact that names the file is damaged.
    """
    try:
        path, attribute = file_of(name)
        return find(name if path is None else f"{store.file(path)}:{attribute}"), name
    except JudgeError as unknown:
        kept = sorted(store.list(name), key=lambda one: (one.latest, one.version), reverse=True)
        if not kept:
            raise _nearest(name, store) or unknown from None
        named = [one for one in kept if one.problem or (one.card.get("judge_ref") or name) != name]
        if not named:
            raise _in_no_file(f"{name}@{version or kept[0].version}") from None
    artifact = store.load(f"{name}@{version or named[0].version}")
    return judge_of(artifact, store), str(artifact.card.get("judge_ref") or name)


def judge_of(artifact: Artifact, store: Store) -> Judge:
    """Return the judge of an artifact, whose seal held; its file is executed if the user trusts it.

    Raises:
        JudgeError: there is none, or its file is gone, or may not be executed.
    """
    reference = str(artifact.card.get("judge_ref") or artifact.judge)
    path, attribute = file_of(reference)
    if path is None:
        return find(reference)
    place = store.file(path)
    if not place.is_file():
        raise JudgeError(
            f"judge {artifact.judge!r} was compiled from {reference}: {path}: no such file",
            hint="go where that file is, or name the file in place of the judge",
        )
    recorded = artifact.card.get("judge_sha256")
    return find(
        f"{place}:{attribute}",
        lambda file, sha256: store.trust.check(artifact.ref, file, sha256, recorded),
    )


def _nearest(name: str, store: Store) -> JudgeError | None:
    """Return what to say if a name is nearly that of a judge of the user's; ``None`` if it is not."""
    own = {one.judge for one in store.list() if not one.shipped}
    close = difflib.get_close_matches(name, [*sorted(own), *CATALOGUE, *GENERATORS], n=1)
    if not own.intersection(close):
        return None
    return JudgeError(
        f"no judge is called {name!r}", hint=f"did you mean {close[0]}? jurist artifacts list has all"
    )


def _in_no_file(ref: str) -> JudgeError:
    return JudgeError(
        f"{ref} was compiled from a judge that stands in no file",
        hint="write that judge into a Python file and name it in place of the judge, as FILE.py:judge; "
        "or, where it is defined, give it to jurist.load(judge)",
    )


def parted(reference: str) -> tuple[str, str]:
    """Part the judge from its version, empty without one; an ``@`` in the path of a file is neither.

    Raises:
        UsageError: there is an ``@`` and no version.
    """
    name, at, version = reference.rpartition("@")
    if not at or "/" in version or ":" in version:
        return reference, ""
    if not version:
        raise UsageError(f"{reference!r} names no version", hint=f"write {name}, {name}@3 or {name}@TAG")
    return name, version
