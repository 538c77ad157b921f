"""Everything that makes one compilation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..engines.meter import Budget
from ..engines.models import Model
from ..evaluation.ceiling import Ceiling
from ..gold.goldset import Gold
from ..gold.leaks import check_leaks
from ..gold.splits import Split
from ..gold.strata import ceiling_of, rated_in_test
from ..keeping.resolving import verifier_of
from ..optimizers.base import Optimizer
from ..optimizers.registry import DEFAULT, settings_of
from ..programs.asking import check_sampling, room_for
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..programs.votes import Sampling
from .proving import described


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that makes one compilation."""

    judge: Judge  # the judge
    gold: Gold  # its labelled cases
    holdout: Gold | None = None  # the sealed test, where it is no part of ``gold``
    # a name of :mod:`jurist.optimizers.registry`, or several joined by ``+``; or an optimizer itself
    optimizer: str | Optimizer = DEFAULT
    options: Mapping[str, Any] = field(default_factory=dict)  # the optimizer's settings
    model: Model = field(default_factory=Model)  # answers as the judge
    prompt_model: Model | None = None  # writes prompts; default: the judge's own model
    verifier: Model | None = (
        None  # answers the judge's frozen steps, where that is not ``model`` at temperature 0
    )
    budget: Budget = field(default_factory=Budget)  # hard limits for the whole job, the proof included
    seed: int = 0  # of the split and of every random choice
    # of the cases in train, dev and test; default: the judge's own, else by how many there are
    shares: tuple[float, float, float] | None = None
    # the hash of a group's name -> its part in an earlier version; such groups stay there
    earlier: Mapping[str, str] = field(default_factory=dict)
    # samples per case; a threshold left open is fitted on train and dev
    sampling: Sampling = field(default_factory=Sampling)
    adapter: str = "chat"  # DSPy's prompt format
    concurrency: int = 8  # cases in flight at once
    judge_ref: str = ""  # how the user named the judge

    def __post_init__(self) -> None:
        """Refuse what cannot be asked, before anything is."""
        self.model.check_prompts(self.adapter)
        check_sampling(self.judge, self.sampling)

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same job when it is started again, as JSON values."""
        strictness = self.judge.answer.strictness
        return {
            "judge": f"{self.judge.name}:{self.judge.variant}",
            "prompt": PromptState.of(self.judge.basic()).id,
            "metric": self.judge.metric if isinstance(self.judge.metric, str) else "custom",
            "gold": self.gold.sha256,
            "optimizer": self.optimizer_name,
            "options": self.params,
            "model": described(self.model),
            "prompt_model": described(self.proposer),
            "seed": self.seed,
            "shares": list(self.split.shares),
            "test": self.split.test_hash,
            "samples": self.sampling.samples,
            "threshold": self.sampling.threshold,
            "adapter": self.adapter,
            **({"holdout": self.holdout.sha256} if self.holdout else {}),
            **({"strictness": strictness} if strictness else {}),
            **({"most_groups": list(self.judge.most_groups)} if self.judge.most_groups else {}),
            **self._frozen_print(),
        }

    @property
    def optimizer_name(self) -> str:
        """What the optimizer is called."""
        return self.optimizer if isinstance(self.optimizer, str) else self.optimizer.name

    @property
    def params(self) -> dict[str, str]:
        """The optimizer's settings, as far as they were given; in a chain of optimizers, by ``PART.NAME``."""
        if isinstance(self.optimizer, str):
            return {name: str(value) for name, value in self.options.items()}
        known = settings_of(self.optimizer)
        return {
            f"{part}.{name}" if len(known) > 1 else name: str(value)
            for part, settings in known.items()
            for name, value in settings.items()
        }

    def _frozen_print(self) -> dict[str, Any]:
        if self.frozen_model is None:
            return {}
        return {"frozen": self.judge.frozen, "verifier": described(self.frozen_model)}

    @property
    def frozen_model(self) -> Model | None:
        """The model that answers the judge's frozen steps; ``None`` without any."""
        return verifier_of(self.judge, self.model, self.verifier)

    @property
    def roles(self) -> tuple[str, ...]:
        """Judge and proposer share one journal: they are told apart by purpose."""
        return ("judge",)

    @cached_property
    def split(self) -> Split:
        """Train, dev and the sealed test, which shows nowhere else."""
        split = self.gold.split(self.seed, self.shares, earlier=self.earlier, holdout=self.holdout)
        check_leaks(split)
        return split

    @cached_property
    def people(self) -> Ceiling | None:
        """How good people are on the rows of the proof; ``None`` unless several rated them."""
        test, gold = {case.id for case in self.split.test}, self.holdout or self.gold
        return ceiling_of(gold, only=rated_in_test(gold, test))

    @property
    def proof_calls(self) -> int:
        """The calls that are kept back for the proof: both programs on the sealed test."""
        return 2 * room_for(self.judge, len(self.split.test), self.sampling.samples)

    @property
    def proposer(self) -> Model:
        """The model that writes prompts."""
        return self.prompt_model or self.model
