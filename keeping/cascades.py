"""A cascade as a judge: its members answer one after the other, each with its own model, until one is sure enough."""

from dataclasses import dataclass, fields, replace
from typing import Any

from ..engines.models import Model
from ..errors import UsageError
from ..programs.asking import Asker
from ..programs.cascaded import CascadeAsker, Member
from .loading import LoadedJudge

_REACHED = ("timeout", "patience", "rpm", "tpm")
"""Settings of how models are reached, which say nothing of who answers."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CascadeJudge(LoadedJudge):
    """Judges that are asked in their order.

    Attributes:
        members: the judges; ``model`` is that of the last one.
    """

    members: tuple[LoadedJudge, ...]

    @property
    def names(self) -> str:
        """The models of its judges."""
        return ", ".join(dict.fromkeys(one.model.name for one in self.members))

    @property
    def other_model(self) -> str:
        """Nothing: its judges are asked with the models that they were chosen with."""
        return ""

    @property
    def questions(self) -> tuple[int, int]:
        """How often its judges are asked about a row: at least the first, at most all."""
        samples = [one.sampling.samples for one in self.members]
        return samples[0], sum(samples)

    @property
    def models(self) -> tuple[Model, ...]:
        """All models that are asked."""
        return tuple(dict.fromkeys(model for one in self.members for model in one.models))

    def with_model(self, model: Model, *, draws: int = 1) -> "CascadeJudge":
        """Return it with how models are reached taken from one: who answers is part of the cascade."""
        if not model.offline and model.name not in {one.model.name for one in self.members}:
            raise UsageError(
                f"{self.name} is a cascade, whose judges are asked with {self.names}",
                hint="leave out the model, or choose a cascade with it: jurist cascade",
            )
        reached = {name: getattr(model, name) for name in _REACHED}
        members = [replace(one, model=replace(one.model, **reached)) for one in self.members]
        return replace(self, members=tuple(members), model=members[-1].model)

    def asker(self) -> Asker:
        """Return what asks its judges."""
        assert self.artifact is not None
        shared = {name: getattr(self, name) for name in ("context", "contexts", "reach", "concurrency")}
        kept = self.artifact.about.cascade
        assert kept is not None
        askers = [as_member(replace(one, **shared)).asker() for one in self.members]
        members = [
            Member(name=known.judge, asker=asker, trust=known.trusted)
            for known, asker in zip(kept.members, askers, strict=True)
        ]
        last = {one.name: getattr(askers[-1], one.name) for one in fields(Asker)}
        return CascadeAsker(**last, members=members, level=kept.level)

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes its answers those of this cascade, as JSON values."""
        return {**super().fingerprint(), "members": [one.fingerprint() for one in self.members]}

    def stamp(self) -> dict[str, Any]:
        """Return what identifies it in its output."""
        return {**super().stamp(), "model": self.names}


def as_member(judge: LoadedJudge) -> LoadedJudge:
    """Return a judge as one of a cascade is asked: all of its samples, and probabilities where tokens tell them."""
    return replace(judge, stopping="all", probabilities="tokens")
