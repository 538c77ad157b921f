"""Whoever is held against gold: a judge with its model, a cascade of judges, or the verdicts of a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Self

from ..engines.channel import CallContext
from ..engines.ledger import Spend
from ..engines.models import Model
from ..evaluation.votes import Sampling
from ..programs.own_answer import OwnAnswer
from ..programs.state import PromptState
from ..programs.verdict_sources import VerdictSource

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from ..programs.word_rule import WordRule
    from .artifact_card import Artifact


class Contender(VerdictSource, Protocol):
    """A source of verdicts with a name, a price and an identity, so that several can be compared."""

    @property
    def own_name(self) -> str:
        """Its name where that is no judge with a version: of a log, or of a member of a cascade; else empty."""

    @property
    def artifact(self) -> Artifact | None:
        """The compiled version; ``None`` for a basic prompt and for a log."""

    @property
    def versions(self) -> Sequence[Artifact]:
        """The versions that its verdicts stand on, which have seen labelled rows; none of a basic prompt."""

    @property
    def prompts(self) -> Sequence[tuple[Judge, PromptState]]:
        """Each judge that is asked, with its prompt, which may show labelled rows; none of a log."""

    @property
    def model(self) -> Model:
        """The model that answers; of a log its own name."""

    @property
    def models(self) -> Sequence[Model]:
        """All models that are asked."""

    @property
    def state(self) -> PromptState:
        """The prompt; the ledger of openings counts which prompts were tried on sealed rows."""

    @property
    def adapter(self) -> str:
        """The format of the prompt."""

    @property
    def sampling(self) -> Sampling:
        """Samples and threshold."""

    @property
    def word_rule(self) -> WordRule | None:
        """The rule by which words decide, alone or with the replies; ``None`` where replies alone decide."""

    @property
    def own_answer(self) -> OwnAnswer | None:
        """The request for its model's own answer to the task; ``None`` where it asks for none."""

    @property
    def questions(self) -> tuple[int, int]:
        """The fewest and the most samples that are drawn for a row; both 0 for a log."""

    @property
    def note(self) -> str:
        """A note for the user before the first call, in one line; empty without one."""

    @property
    def spend(self) -> Spend:
        """The calls, tokens and cost of all its verdicts so far."""

    def paid_by(self, context: CallContext) -> Self:
        """Return a copy of the contender whose calls are counted in a context."""

    def check(self) -> None:
        """Refuse what cannot be asked, before anything is paid."""

    def is_same(self, contender: Contender) -> bool:
        """Say whether another one is asked the same in the same way."""

    def fingerprint(self) -> dict[str, object]:
        """Return the settings that identify this contender's verdicts, as JSON values."""


def sampling_stamp(sampling: Sampling, model: Model) -> dict[str, object]:
    """Return how often a model is asked, at which temperature and with which further settings, as JSON values."""
    stamp = {**sampling.to_card(), "temperature": model.temperature, **model.further_settings}
    if model.members:  # wherever they are reached
        stamp["members"] = [_member_stamp(member) for member in model.members]
    return stamp


def _member_stamp(member: Model) -> dict[str, object]:
    """Return who a member of a panel is, and what decides its answers, as JSON values."""
    return {"name": member.name, "temperature": member.temperature, **member.further_settings}


def request_stamp(contender: Contender) -> dict[str, object]:
    """Return the prompt of a contender and the settings of its requests, as JSON values."""
    model = contender.model
    return {
        "prompt": contender.state.id,
        "adapter": contender.adapter,
        "api_base": model.api_base,
        "max_tokens": model.max_tokens,
        "seed": model.seed,
        **model.further_settings,
    }
