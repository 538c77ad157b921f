"""Folders that tests begin with: what a preparation leaves is made once in a process, and each test gets a copy."""

import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

Preparation = Callable[[], object]
"""Writes files into the working directory and into the user's data home, and nothing anywhere else."""


def begin_with(prepare: Preparation) -> None:
    """Bring the working directory and the user's data home to where a preparation brings them."""
    prepared = Path(_prepared(prepare).name)
    shutil.copytree(prepared / "work", Path.cwd(), dirs_exist_ok=True)
    shutil.copytree(prepared / "data", os.environ["XDG_DATA_HOME"], dirs_exist_ok=True)


@cache
def _prepared(prepare: Preparation) -> "tempfile.TemporaryDirectory[str]":
    """Return the folder that a preparation filled, which is removed with the process."""
    folder = tempfile.TemporaryDirectory()
    work, data = Path(folder.name, "work"), Path(folder.name, "data")
    work.mkdir()
    data.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work)
        patch.setenv("XDG_DATA_HOME", str(data))
        prepare()
    return folder
