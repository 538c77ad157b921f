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
    "questions": {"shown": 12},
}
"""Settings with which each is done in a moment."""
NAMES = (*OPTIMIZERS, "dspy:BootstrapFewShot")
PROPOSING = ("questions", "race", "opro", "cfaith", "copro", "mipro", "gepa", "simba", "infer-rules")
"""Those whose instructions a proposer writes in these runs."""
SEEDLESS = ("nearest", "teach", "threshold")
"""Those that draw nothing, or nothing that is seen."""


@cache
def split(train: int = 24) -> Split:
    """Return few cases of FECT, ``train`` of them to learn from."""
    whole = fect_split()  # of many conversations, so that few cases can show something
    return dataclasses.replace(
        whole, train=(whole.train[::3] + whole.train[1::3])[:train], dev=whole.dev[::2][:14]
    )


def judged(request: Request) -> str:
    """Answer right for the share of claims that the instruction's ``quality`` says; unsteadily when it is hot."""
    claim = field_of(user_of(request), "claim")
    quality = max(map(int, re.findall(r"quality=(\d+)", system_of(request))), default=55)
    quality += 2 * (len(request.messages) - 1)  # demonstrations help
    drawn = str(request.config.seed) if request.config.temperature == 1.0 else ""
    right = hashed(claim + drawn) % 100 < quality
    answer = {"factual": (gold()[claim] == "factual") == right}
    asked = re.findall(r"^  (\d+): (.*) \(yes or no\)$", system_of(request), re.M)
    if not asked:
        return reply("chat", **answer)
    lines = [f"{number}: {('no', 'yes')[hashed(text + claim) % 2]}" for number, text in asked]
    return reply("chat", question_answers="\n".join(lines), **answer)


def proposed(request: Request) -> str:
    """Fill every output field that the prompt asks for with a rule that depends on the request and the draw."""
    number = hashed(system_of(request) + user_of(request) + str(request.config.seed))
    rule = f"Rule {number}: be strict. quality={40 + number % 55}"
    asked = system_of(request).partition("Your output fields are:")[2].partition("All interactions")[0]
    fields = re.findall(r"^\d+\. `(\w+)` \((\w+)", asked, re.M)
    texts = {name: {"program": rule} if kind == "dict" else rule for name, kind in fields}
    if "questions" in texts:
        texts["questions"] = "\n".join(f"Is it rule {number % 97 + place}? [yes or no]" for place in range(4))
    return reply("chat", **texts)


class Run(ScriptedRun):
    """One run of an optimizer, with its usual small settings unless others are given."""

    def __init__(self, name: str = "opro", **job: Any) -> None:
        options = job.pop("options", SMALL.get(name, {}))
        scripts = {"judged": judged, "proposed": proposed}
        train = split().train
        if name == "questions":  # a head takes 40 labelled cases
            train = split(26).train
        super().__init__(name, options, **{"train": train, "dev": split().dev, **scripts, **job})


@cache
def whole(name: str) -> Run:
    """Return an uninterrupted run with the usual settings."""
    return Run(name)
