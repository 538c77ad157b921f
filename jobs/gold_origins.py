"""Where the gold is that a card tells of."""

from pathlib import Path

from ..gold.goldset import GoldOrigin
from ..keeping.artifacts import Store


def gold_source(origin: GoldOrigin, store: Store) -> str:
    """Return the name of gold that a card tells of, or where its file is now."""
    if not Path(origin.place).suffix:
        return origin.place
    return str(store.find_file(Path(origin.place)))
