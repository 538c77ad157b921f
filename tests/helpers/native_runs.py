"""Small runs of our own optimizers on a little FECT gold."""

import dataclasses
import re
from functools import cache
from typing import Any

from dspy.lm15 import Request
from fakes import reply, system_of, user_of
from loopback import field_of
from scripted_runs import ScriptedRun, fect_split, gold, hashed

from jurist.gold.splits import Split

__all__ = ["OWN", "Run", "judged", "judged_without_rule", "proposed", "split", "whole"]

OPTIONS = {"steps": 3, "candidates": 3, "sample": 12, "sizes": (2, 4), "sets": 2, "block": 5}
OWN = {
    "opro": {name: OPTIONS[name] for name in ("steps", "candidates", "sample")},
    "fewshot": {name: OPTIONS[name] for name in ("steps", "sizes", "sets", "block", "sample")},
    "race": {"steps": 5, "candidates": 3, "sample": 12, "sizes": (2, 4), "block": 5},
    "opro+fewshot": OPTIONS,
    "opro-paper": {name: OPTIONS[name] for name in ("steps", "candidates", "sample")},
    "cfaith": {"rounds": 3, "rewrites": 3, "sample": 12, "errors": 3},
    "contrastive": {"sample": 20, "draws": 2, "pairs": 1},
}
"""Settings with which each is done in a moment."""


@cache
def split() -> Split:
    return dataclasses.replace(fect_split(), train=fect_split().train[:24], dev=fect_split().dev[:14])


def judged(request: Request) -> str:
    """Answer right for the share of claims that the instruction's ``quality`` says."""
    claim = field_of(user_of(request), "claim")
    quality = int((re.findall(r"quality=(\d+)", system_of(request)) or ["55"])[0])
    quality += 2 * (len(request.messages) - 1)  # demonstrations help
    right = hashed(claim) % 100 < quality
    return reply("chat", factual=(gold()[claim] == "factual") == right)


def judged_without_rule(request: Request) -> str:
    """Answer as :func:`judged`, but call everything non-factual where the instruction says no ``quality``."""
    return judged(request) if "quality=" in system_of(request) else reply("chat", factual=False)


def proposed(request: Request) -> str:
    """Propose an instruction of a quality that depends on the whole request and the draw."""
    number = hashed(user_of(request) + str(request.config.seed))
    return reply("chat", instruction=f"Rule {number}: be strict. quality={40 + number % 55}")


class Run(ScriptedRun):
    """One run of an optimizer, with its usual small settings unless others are given."""

    def __init__(self, name: str = "opro", **job: Any) -> None:
        options = job.pop("options", OWN.get(name, {}))
        scripts = {"judged": judged, "proposed": proposed}
        super().__init__(name, options, **{"train": split().train, "dev": split().dev, **scripts, **job})


@cache
def whole(name: str) -> Run:
    """Return an uninterrupted run with the usual settings."""
    return Run(name)
