"""Small runs of every optimizer: an engine that answers by a rule, and a proposer that writes rules."""

import dataclasses
import re
from functools import cache
from typing import Any

from dspy.lm15 import Request
from fakes import reply, system_of, user_of
from loopback import field_of
from scripted_runs import ScriptedRun, fect_split, gold, hashed

from jurist.gold.splits import Split
from jurist.optimizers.registry import OPTIMIZERS

OPTIONS = {"steps": 3, "candidates": 3, "sample": 12, "sizes": (2, 4), "sets": 2, "block": 5}
SMALL: dict[str, dict[str, Any]] = {
    "opro": {name: OPTIONS[name] for name in ("steps", "candidates", "sample")},
    "fewshot": {name: OPTIONS[name] for name in ("steps", "sizes", "sets", "block", "sample")},
    "race": {"steps": 5, "candidates": 3, "sample": 12, "sizes": (2, 4), "block": 5},
    "cfaith": {"steps": 3, "rewrites": 3, "sample": 12, "errors": 3},
    "contrastive": {"sample": 20, "draws": 2, "pairs": 1},
    "optuna": {"steps": 2, "trials": 5, "sizes": (2, 4), "sets": 1, "sample": 6, "startup": 2},
    "bootstrap": {"num_candidate_programs": 2, "max_labeled_demos": 4, "sample": 12},
    "copro": {"breadth": 3, "depth": 2, "sample": 8},
    "mipro": {"num_candidates": 3, "num_trials": 4, "sample": 12},
    "gepa": {"max_metric_calls": 80, "validation": 8},
    "simba": {"max_steps": 2, "bsize": 6, "num_candidates": 2, "sample": 8},
    "infer-rules": {"num_candidates": 2, "sample": 8},
    "dspy:BootstrapFewShot": {"sample": 12},
}
"""Settings with which each is done in a moment."""
NAMES = (*OPTIMIZERS, "dspy:BootstrapFewShot")
PROPOSING = ("race", "opro", "cfaith", "copro", "mipro", "gepa", "simba", "infer-rules")
"""Those whose instructions a proposer writes in these runs."""
SEEDLESS = ("nearest", "teach", "threshold")
"""Those that draw nothing, or nothing that is seen."""


@cache
def split() -> Split:
    whole = fect_split()  # of many conversations, so that few cases can show something
    return dataclasses.replace(whole, train=whole.train[::3][:24], dev=whole.dev[::2][:14])


def judged(request: Request) -> str:
    """Answer right for the share of claims that the instruction's ``quality`` says; unsteadily when it is hot."""
    claim = field_of(user_of(request), "claim")
    quality = max(map(int, re.findall(r"quality=(\d+)", system_of(request))), default=55)
    quality += 2 * (len(request.messages) - 1)  # demonstrations help
    drawn = str(request.config.seed) if request.config.temperature == 1.0 else ""
    right = hashed(claim + drawn) % 100 < quality
    return reply("chat", factual=(gold()[claim] == "factual") == right)


def proposed(request: Request) -> str:
    """Fill every output field that the prompt asks for with a rule that depends on the request and the draw."""
    number = hashed(system_of(request) + user_of(request) + str(request.config.seed))
    rule = f"Rule {number}: be strict. quality={40 + number % 55}"
    asked = system_of(request).partition("Your output fields are:")[2].partition("All interactions")[0]
    fields = re.findall(r"^\d+\. `(\w+)` \((\w+)", asked, re.M)
    return reply("chat", **{name: {"program": rule} if kind == "dict" else rule for name, kind in fields})


class Run(ScriptedRun):
    """One run of an optimizer, with its usual small settings unless others are given."""

    def __init__(self, name: str = "opro", **job: Any) -> None:
        options = job.pop("options", SMALL.get(name, {}))
        scripts = {"judged": judged, "proposed": proposed}
        super().__init__(name, options, **{"train": split().train, "dev": split().dev, **scripts, **job})


@cache
def whole(name: str) -> Run:
    """Return an uninterrupted run with the usual settings."""
    return Run(name)
