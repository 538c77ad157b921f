"""The days on which providers shut models down, by the dated table ``data/model_ends.toml``."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Protocol

from ..text.tables import read_table

NOTICE = timedelta(days=90)
"""The time before the end of a model from which on jurist warns of it."""
_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$|-\d{8}$")
"""The date at the end of a model's name that makes it a snapshot."""


@dataclass(frozen=True, kw_only=True)
class ModelEnd:
    """The announced end of a model."""

    day: date  # the day from which the provider answers no more
    source: str  # where the provider says so
    written: date  # the day on which the table's author read it there

    def words(self, today: date | None = None) -> str:
        """Return the end in words, such as ``ends 2027-01-14``."""
        if today is None:
            today = datetime.now(UTC).date()
        if self.day <= today:
            return f"ended {self.day}"
        return f"ends {self.day}"


class AskedModel(Protocol):
    """A model, as far as its end depends on it."""

    @property
    def name(self) -> str:
        """Its model string."""

    @property
    def api_base(self) -> str | None:
        """The address at which it is asked; ``None`` for that of its provider."""


def find_model_end(model: str) -> ModelEnd | None:
    """Return the announced end of a model, however far away; ``None`` where the table has none.

    Args:
        model: a model string, such as ``openai/gpt-4o``. A snapshot, a fine-tuned model, and a model that is reached
            through another provider (``openrouter/openai/gpt-4o``) end with it. A cloud's own deployment
            (``azure/gpt-4o``) has days of its own.
    """
    providers, _, name = model.lower().rpartition("/")
    provider = providers.rpartition("/")[
        2
    ]  # the last one, of a model that is reached through another provider
    if name.startswith("ft:"):  # a fine-tuned model: ft:gpt-4o:...
        name = name.split(":")[1]
    ends = _read_ends()
    return ends.get(f"{provider}/{name}") or ends.get(f"{provider}/{_SNAPSHOT.sub('', name)}")


@cache
def _read_ends() -> Mapping[str, ModelEnd]:
    """Return the table: model string -> end."""
    ends: dict[str, ModelEnd] = {}
    for entry in read_table(__package__, "model_ends")["ends"]:
        end = ModelEnd(day=entry["day"], source=entry["source"], written=entry["written"])
        for model in entry["models"]:
            ends[model] = end
    return ends


def find_near_ends(models: Iterable[AskedModel], today: date | None = None) -> dict[str, ModelEnd]:
    """Return the ends that are past or come within 90 days: model string -> end.

    Args:
        models: the models. One at an address of its own is left out: that server may keep it.
        today: the day to count from; default: the present one.
    """
    if today is None:
        today = datetime.now(UTC).date()
    ends: dict[str, ModelEnd] = {}
    for model in models:
        if model.api_base:
            continue
        end = find_model_end(model.name)
        if end is not None and end.day <= today + NOTICE:
            ends[model.name] = end
    return ends


def warning_of_ends(models: Iterable[AskedModel], today: date | None = None) -> str:
    """Return a line that warns of the ends of models, past or within 90 days; empty without any."""
    warnings: list[str] = []
    for model, end in find_near_ends(models, today).items():
        warnings.append(f"{model} {end.words(today)} ({end.source}, read {end.written})")
    return "; ".join(warnings)
