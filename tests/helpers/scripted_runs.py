"""Runs of optimizers with scripted engines, for the tests of all of them."""

import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from fakes import Scripted, context_with, lm_of
from loopback import field_of

from jurist.engines.journal import Journal
from jurist.engines.meter import Budget
from jurist.gold.goldset import Gold
from jurist.gold.splits import Split
from jurist.optimizers.base import Job, Result, optimize
from jurist.optimizers.board import Board
from jurist.optimizers.registry import make
from jurist.programs.fect import FECT
from jurist.programs.settings import FOR_SEARCHES


@cache
def fect_split() -> Split:
    """Return the split of the bundled FECT gold with seed 0."""
    return Gold.load("fect-mini", FECT).split(0)


@cache
def gold() -> dict[str, str]:
    """Return claim -> label of the bundled FECT gold."""
    whole = fect_split()
    parts = (*whole.train, *whole.dev, *whole.test)
    return {case.inputs["claim"]: (case.gold or ("",))[0] or "" for case in parts}


def hashed(text: str) -> int:
    """Return a number that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def job_with(judged: Any, proposed: Any = "?", *, budget: Budget | None = None, **job: Any) -> Job:
    """Return a job of FECT whose judge and proposer are scripted; more keywords are the job's."""
    context = context_with(budget)
    judge, proposer = (
        one if isinstance(one, Scripted) else Scripted((lambda request: "?") if one == "?" else one)
        for one in (judged, proposed)
    )
    usual = {
        "judge": FECT,
        "train": fect_split().train,
        "dev": fect_split().dev,
        "judge_lm": lm_of(judge, context),
        "proposer_lm": lm_of(proposer, context, "proposer"),
    }
    return Job(context=context, **{**usual, **job})


class ScriptedRun:
    """One run of an optimizer whose judge and proposer are scripted; more keywords are the job's."""

    def __init__(
        self,
        name: str,
        options: Any,
        *,
        judged: Any,
        proposed: Any,
        budget: Budget | None = None,
        journal: Path | None = None,
        **job: Any,
    ) -> None:
        self.judge, self.proposer = Scripted(judged), Scripted(proposed)
        kept = None if journal is None else Journal(journal)
        self.context = context_with(budget, kept)
        self.notes: list[str] = []
        settings = {
            "judge": FECT,
            "judge_lm": lm_of(self.judge, self.context),
            "proposer_lm": lm_of(self.proposer, self.context, "proposer"),
            "settings": replace(FOR_SEARCHES, concurrency=4),
            "sink": lambda event: self.notes.append(event.text),
        }
        self.job = Job(context=self.context, **{**settings, **job})
        try:
            self.result: Result = optimize(make(name, options), self.job)
        finally:
            if kept is not None:
                kept.close()  # as the end of its process does

    @property
    def sent(self) -> int:
        return len(self.judge.requests) + len(self.proposer.requests)

    @property
    def board(self) -> Board:
        return self.result.board

    @property
    def history(self) -> list[dict[str, Any]]:
        return self.board.history(self.job.train, self.job.dev)

    def value(self) -> float:
        return self.board.value(self.result.best, self.job.dev)


def improving(messages: list[dict[str, Any]]) -> str:
    """Judge right for the share of claims that the instruction's ``quality`` says; propose such instructions."""
    system, last = str(messages[0]["content"]), str(messages[-1]["content"])
    asked = system.partition("Your output fields are:")[2].partition("All interactions")[0]
    rule = f"Rule {hashed(system + last)}: be strict. quality={40 + hashed(last) % 55}"
    fields = dict(re.findall(r"^\d+\. `(\w+)` \((\w+)", asked, re.M))
    said = {name: json.dumps({"self": rule}) if kind == "dict" else rule for name, kind in fields.items()}
    if "factual" in fields:
        claim = field_of(last, "claim")
        quality = max(map(int, re.findall(r"quality=(\d+)", system)), default=55)
        right = hashed(claim) % 100 < quality + 2 * len(messages)
        said["factual"] = str(("cancel" in claim or "refuses" in claim) != right)
    blocks = (f"[[ ## {name} ## ]]\n{text}" for name, text in said.items())
    return "\n\n".join([*blocks, "[[ ## completed ## ]]"])


def token_alone(body: dict[str, Any]) -> dict[str, Any] | None:
    """Tell something of tokens, or each process would find out anew that nothing is told, and then ask otherwise."""
    said = {"token": "True", "logprob": 0.0, "bytes": None, "top_logprobs": []}
    return {"content": [said]} if body.get("logprobs") else None
