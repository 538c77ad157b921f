"""A proven artifact of FECT's judge, without a compilation."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from judges import basic

from jurist.gold.goldset import Gold
from jurist.keeping.artifact_card import Artifact
from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT


def proven_fect(
    gold: Path, said: Callable[[Mapping[str, Any]], str | None], *, model: str = "offline"
) -> Artifact:
    """Save ``fect@N`` into ``./compiled``, its prompt the basic one, as proven on all rows of a gold file.

    Args:
        gold: the file.
        said: the inputs of a row -> what the judge said of it in the proof; ``None`` where it abstained.
        model: who answered there.
    """
    rows = []
    for case in Gold.load(str(gold), FECT).cases:
        label = said(case.inputs)
        told = {"status": "abstained" if label is None else "verdict", "values": [label]}
        known = {"case": case.id, "group": case.group, "gold": list(case.gold or ())}
        rows.append({**known, "basic": told, "compiled": told})
    card = {
        "model": {"name": model, "temperature": 0.0},
        "thresholds": {"samples": 1, "threshold": 1},
        "gold": {"name": gold.stem, "source": str(gold)},
    }
    records = {"proof.jsonl": rows}
    return Store("compiled").save(FECT, basic(FECT), card, [], make_latest=True, records=records)
