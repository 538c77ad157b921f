"""The shares of a run, for Python: apart from what ``jurist run`` loads, as it takes whatever may be gold."""

import os
from pathlib import Path

from ..programs.judge import Judge
from .given import GoldLike, checked, gold_of, store_of
from .sharing import RunShares, run_shares, who_judged


@checked
def share(
    output: str | os.PathLike[str],
    *,
    gold: GoldLike | None = None,
    judge: str | Judge = "",
    store: str | os.PathLike[str] | None = None,
    trust: bool = False,
) -> RunShares:
    """Say how prevalent each label is: its share as judged, and corrected for the judge's errors.

    Args:
        output: what ``jurist run`` has written.
        gold: rows of the run's input, drawn at random, with labels of people; see :data:`GoldLike`.
        judge: who judged, where the output's own name of it is not enough, as ``path/to/file.py:judge``, or itself.
        store, trust: as for :func:`jurist.load`.

    Raises:
        UsageError: it is no output of this judge, or the judge gives no labels. GoldError: the labelled rows cannot
        be used. JudgeError, ArtifactError: as :func:`jurist.load`.
    """
    path = Path(output)
    loaded = who_judged(path, store_of(store, trust=trust), judge)
    return run_shares(path, loaded, None if gold is None else gold_of(gold, loaded.judge))
