"""The arm of a race that tries the leading prompt under another adapter.

A setting calls its adapter ``form``: ``plain`` is the user's text as it stands, ``chat`` and ``json`` are DSPy's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ..text.templates import CHAT, JSON, PLAIN
from .base import Job
from .board import Candidate
from .raced import Track

_FORMS = (CHAT, PLAIN, JSON)
"""The adapters, in the order in which they are tried."""


@dataclass(frozen=True, kw_only=True)
class Layouts:
    """Proposes the leading prompt under an adapter under which it was not tried yet."""

    name: str = "layout"
    product: ClassVar[str] = "adapter"

    @staticmethod
    def fits(job: Job) -> bool:
        """Say whether there is an adapter to choose: the judge's prompt is plain text, and nobody named an adapter."""
        has_choice = job.settings.adapter is None and job.judge.default_adapter == PLAIN
        return has_choice and not job.decides

    def proposer_calls(self, job: Job) -> int:
        """Return 0: no proposer is asked, as nothing is written."""
        return 0

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter the leader under the next adapter, and return it; JSON only where most chat replies are unreadable."""
        leader = _without_fitted_rule(track, track.leader)
        for form in _FORMS:
            if form == JSON and _reads_chat(track):
                continue
            changed_form = None if form == track.job.basic_adapter else form
            if changed_form == leader.setting.form:
                continue
            setting = replace(leader.setting, form=changed_form)
            candidates = track.fresh(leader.state, parent=leader, source=f"{form} layout", setting=setting)
            if candidates:
                return candidates
        return []


def _without_fitted_rule(track: Track, candidate: Candidate) -> Candidate:
    """Return the candidate that a threshold or words were fitted to; the candidate itself without such a rule."""
    # Another adapter brings other replies: the rule is fitted anew to those. Words alone ask in no adapter at all.
    while candidate.cross_fitted:
        candidate = track.board.candidates[candidate.parent or ""]
    return candidate


def _reads_chat(track: Track) -> bool:
    """Say whether at least half of the replies under the chat adapter could be read; yes if there are none."""
    readable = 0
    unreadable = 0
    for candidate in track.board.candidates.values():
        if candidate.setting.form != CHAT:
            continue
        for outcome in track.board.outcomes(candidate).values():
            if None in outcome.row.predicted:
                unreadable += 1
            else:
                readable += 1
    return readable >= unreadable
