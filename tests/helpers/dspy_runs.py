"""Small runs of DSPy's optimizers: an engine that answers by a rule, and a proposer that writes rules."""

import dataclasses
import re
from functools import cache
from typing import Any

from dspy.lm15 import Request
from fakes import reply, system_of, user_of
from loopback import field_of
from scripted_runs import ScriptedRun, fect_split, gold, hashed

from jurist.engines.meter import Budget
from jurist.gold.splits import Split

NAMES = ("bootstrap", "copro", "mipro", "gepa", "simba", "infer-rules")
PROPOSING = ("copro", "mipro", "gepa", "simba", "infer-rules")
CALLS = dict.fromkeys(NAMES, 100) | {"simba": 200}


@cache
def split() -> Split:
    whole = fect_split()  # of many conversations, so that few cases can show something
    return dataclasses.replace(whole, train=whole.train[::4][:12], dev=whole.dev[::4][:8])


def judged(request: Request) -> str:
    """Answer right for the share of claims that the instruction's ``quality`` says; unsteadily when it is hot."""
    claim = field_of(user_of(request), "claim")
    quality = max(map(int, re.findall(r"quality=(\d+)", system_of(request))), default=50)
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
    """One run of one of DSPy's optimizers, with a small budget."""

    def __init__(self, name: str, *, calls: int | None = None, **job: Any) -> None:
        parts = {"train": split().train, "dev": split().dev, "judged": judged, "proposed": proposed}
        budget = Budget(calls=calls or CALLS.get(name, 120))
        super().__init__(name, job.pop("options", None), budget=budget, **{**parts, **job})
