"""How a candidate is asked, besides its prompt: model, temperature, prompt format, vote threshold.

A :class:`Setting` says only what differs from the job's own; the empty one is the
job's. Two candidates with the same prompt and another setting are two candidates.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What differs from how the job asks; ``None`` is the job's own."""

    model: str | None = None  # ``offline`` or a DSPy model string
    temperature: float | None = None  # 0 to 2
    adapter: str | None = None  # DSPy's prompt format: ``chat``, ``json`` or ``xml``
    # votes for a positive verdict, 1..samples, or below 1 the probability of one. It changes no request:
    # verdicts under another threshold follow from the votes and probabilities that are stored
    threshold: float | None = None

    @property
    def asked(self) -> Setting:
        """The part that changes requests: all but the threshold."""
        return replace(self, threshold=None)

    def within(self, own: Setting) -> Setting:
        """Return the same setting with everything left out in which it equals the job's ``own``."""
        mine, theirs = asdict(self), asdict(own)
        return Setting(**{name: value for name, value in mine.items() if value != theirs[name]})

    def over(self, own: Setting) -> Setting:
        """Return what is really used: this setting's values, and the job's ``own`` where there is none."""
        mine, theirs = asdict(self), asdict(own)
        return Setting(**{name: theirs[name] if mine[name] is None else mine[name] for name in mine})

    def id_of(self, prompt: str) -> str:
        """Return the id of a candidate with the prompt of that id: the prompt's own under the job's setting."""
        data = self.to_json()
        if not data:
            return prompt
        text = json.dumps([prompt, data], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """Return what differs from the job's own, by name; empty for the job's own."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Setting:
        """Rebuild the setting that :meth:`to_json` gave; nothing is the job's own."""
        return cls(**(data or {}))

    def words(self) -> str:
        """Return it in words for a list of candidates; empty for the job's own."""
        return ", ".join(f"{name} {value}" for name, value in self.to_json().items())


DEFAULT_SETTING = Setting()
"""The job's own."""
