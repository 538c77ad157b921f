"""``jurist artifacts list``: the versions in a store. It is looked at often, and imports neither DSPy nor NumPy."""

import os
from dataclasses import replace
from pathlib import Path

from ..arguments.artifacts import ListOptions
from ..arguments.groups import StoreOptions
from ..errors import ArtifactError
from ..keeping.artifacts import SHIPPED, Store
from ..keeping.trust import Trust
from ..report.listing import artifacts
from .printing import Result, print_notes


def open_named_store(options: StoreOptions) -> Store:
    """Return the store that the options or ``JURIST_STORE`` name; a named folder that is missing is refused."""
    # A folder that is missing would only look like an empty store.
    folder = options.store or os.environ.get("JURIST_STORE")
    if folder and folder != SHIPPED and not Path(folder).exists():
        raise ArtifactError(
            f"there is no folder {folder}", hint="name the store with --store or JURIST_STORE"
        )
    return Store(options.store, trust=Trust(trusts_all=options.trust, say=print_notes))


def list_artifacts(options: ListOptions) -> Result:
    """List the artifacts of a store, or of one judge, a line each; ``artifacts show`` has the rest."""
    if options.shipped:
        options = replace(options, store=SHIPPED)
    store = open_named_store(options)
    listed = artifacts(options.judge, store=store)
    if not listed.versions:
        return Result(
            data=listed.to_json(), body=[f"no version in {store.root} yet: jurist compile makes one"]
        )
    return Result(data=listed.to_json(), body=listed.parts()[:1], notes=list(listed.notes))
