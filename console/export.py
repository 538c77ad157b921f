"""``jurist export``."""

from __future__ import annotations

from argparse import Namespace

from ..exports import export
from ..keeping.loading import load_judge
from .common import store_of, write_text

__all__ = ["run"]


def run(arguments: Namespace) -> None:
    """Write a judge's prompt for another system."""
    loaded = load_judge(arguments.judge, store=store_of(arguments))
    write_text(export(loaded.artifact or loaded.state, loaded.judge, arguments.to), arguments.output)
