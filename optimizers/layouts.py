"""The arm that tries a prompt in another form: the user's text as it stands, or DSPy's chat or JSON layout."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..text.templates import CHAT, JSON, PLAIN
from .base import Job
from .board import Candidate
from .raced import Track

_FORMS = (CHAT, PLAIN, JSON)  # in the order in which they are tried


@dataclass(frozen=True, kw_only=True)
class Layouts:
    """Puts the prompt that leads into a form in which it was not tried yet."""

    name: str = "layout"

    @staticmethod
    def fits(job: Job) -> bool:
        """Return whether the form of the prompt is open: of a judge with a prompt as it stands, if nobody named one."""
        return job.settings.adapter is None and job.judge.default_adapter == PLAIN

    def proposer_calls(self, job: Job) -> int:
        """Return 0: a form is chosen and not written."""
        return 0

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter the leader in the next form; JSON only where replies to the chat layout cannot be read."""
        leader = track.leader
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


def _reads_chat(track: Track) -> bool:
    """Return whether most replies to prompts in the chat adapter could be read; yes if there are none."""
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
