"""``jurist judges``."""

from __future__ import annotations

from argparse import Namespace

from ..programs.catalogue import JUDGES
from .common import human, print_json
from .tables import plain_table

__all__ = ["judges"]


def judges(arguments: Namespace) -> None:
    """Print the catalogue."""
    entries = [
        {
            "name": judge.name,
            "variant": judge.variant,
            "description": judge.description,
            "inputs": [name for name in judge.row_model.model_fields if name not in ("ratings",)],
            **judge.answer.identity(),
            "metric": judge.metric if isinstance(judge.metric, str) else "custom",
        }
        for judge in JUDGES
    ]
    if arguments.json:
        print_json({"judges": entries})
        return
    rows = [
        [
            entry["name"],
            entry["description"],
            ", ".join(entry["labels"]),
            ", ".join(entry["positive"]),
            entry["metric"],
        ]
        for entry in entries
    ]
    human().print(plain_table("", ["judge", "what it decides", "labels", "counted as found", "metric"], rows))
