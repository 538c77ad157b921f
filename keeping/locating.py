"""From a name to a judge: a built-in one, a file, or an artifact that keeps its judge or says which file it came from.

A plain judge is kept with its versions as data (:mod:`~jurist.programs.definition`): they need no file, and go on as
they were proven whatever becomes of it. What a file that was changed means for them is said in one line.
"""

import difflib
from collections.abc import Mapping
from contextlib import suppress

from ..errors import ArtifactError, JudgeError, UnknownJudgeError, UsageError
from ..programs.catalogue import CATALOGUE, GENERATORS, executed_hashes, file_of, find
from ..programs.definition import defined
from ..programs.judge import Judge
from ..programs.judge_files import JudgeFile
from .artifact_card import Artifact
from .artifacts import Store
from .trust import hashes_of


def find_judge(name: str, store: Store) -> Judge:
    """Return a built-in judge, one from a file, or one whose artifacts say which file it came from."""
    return locate(name, store)[0]


def locate(name: str, store: Store, version: str = "", *, source: bool = False) -> tuple[Judge, str]:
    """Return a judge, and the reference under which :func:`~jurist.programs.catalogue.find` finds it again."""
    try:
        path, attribute = file_of(name)
        return find(name if path is None else f"{store.file(path)}:{attribute}"), name
    except JudgeError as unknown:
        kept = sorted(store.list(name), key=lambda one: (one.latest, one.version), reverse=True)
        if not kept:
            raise _nearest(name, store) or unknown from None
        named = [
            one
            for one in kept
            if one.problem or one.card.get("definition") or (one.card.get("judge_ref") or name) != name
        ]
        if not named:
            raise _in_no_file(f"{name}@{version or kept[0].version}") from None
    artifact = store.load(f"{name}@{version or named[0].version}")
    return judge_of(artifact, store, source=source), str(artifact.card.get("judge_ref") or name)


def judge_of(artifact: Artifact, store: Store, *, source: bool = False) -> Judge:
    """Return the judge of an artifact, whose seal held: what it keeps, else its file's, executed if trusted."""
    reference = str(artifact.card.get("judge_ref") or artifact.judge)
    definition = artifact.card.get("definition")
    path, attribute = file_of(reference)
    if path is None:
        try:
            return fitting(find(reference), artifact, store)
        except UnknownJudgeError:
            if not definition:
                raise
            return defined(definition)
    place = store.file(path)
    if definition and not (source and place.is_file()):
        with suppress(OSError):  # a file that is gone, or cannot be read, is not needed
            if _was_changed(artifact, JudgeFile.read(place).hashes):
                said = f"{place} was changed since {artifact.ref} was compiled from it"
                store.trust.tell(f"{said}{_goes_on(artifact)}")
        return defined(definition)
    if not place.is_file():
        raise JudgeError(
            f"judge {artifact.judge!r} was compiled from {reference}: {path}: no such file",
            hint="go where that file is, or name the file in place of the judge",
        )
    judge = find(
        f"{place}:{attribute}",
        lambda file, hashes: store.trust.check(artifact.ref, file, hashes, artifact.card),
    )
    return judge if source else fitting(judge, artifact, store, str(place))


def fitting(judge: Judge, artifact: Artifact, store: Store, reference: str = "") -> Judge:
    """Return a judge if it can be asked as the artifact was proven, else the one that the artifact keeps; say it."""
    definition = artifact.card.get("definition")
    if not definition:
        path, _ = file_of(reference)
        if path is not None and _was_changed(artifact, executed_hashes(store.file(path))):
            said = f"the code of {path} was changed since {artifact.ref} was compiled from it"
            store.trust.tell(f"{said}: its proof is of the code as it was")
        artifact.check(judge.as_compiled(artifact.card))
        return judge
    try:
        artifact.program(judge.as_compiled(artifact.card))
    except ArtifactError as error:
        store.trust.tell(f"{error.message}{_goes_on(artifact)}")
        return defined(definition)
    return judge


def _was_changed(artifact: Artifact, now: Mapping[str, str]) -> bool:
    recorded = hashes_of(artifact.card)
    return bool(now and recorded) and recorded.isdisjoint(now.values())


def _goes_on(artifact: Artifact) -> str:
    reference = artifact.card.get("judge_ref") or artifact.judge
    again = f"jurist compile {reference} makes a version of the judge as it is"
    return f": {artifact.ref} is asked as it was proven; {again}"


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
    """Part the judge from its version, empty without one; an ``@`` in the path of a file is neither."""
    name, at, version = reference.rpartition("@")
    if not at or "/" in version or ":" in version:
        return reference, ""
    if not version:
        raise UsageError(f"{reference!r} names no version", hint=f"write {name}, {name}@3 or {name}@TAG")
    return name, version
