"""Which gold rows a judge has seen, which are sealed, and the number of their opening."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cases import Case, text_hash
from ..engines.models import Model
from ..evaluation.paired import fewest_groups, gains, limits
from ..evaluation.proof import level_of
from ..evaluation.scale import Scale
from ..evaluation.votes import Sampling, more_than_half
from ..gold.copies import near_rows
from ..gold.goldset import Gold
from ..gold.splits import Split
from ..keeping.loading import LoadedJudge
from ..programs.judge import Judge
from ..programs.state import PromptState
from .openings import Openings

ALPHA = 0.05
"""The level of all openings of a row together."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What is looked at."""

    cases: tuple[Case, ...]  # the sealed rows among those that are scored
    opening: int  # which opening of them this is, the highest of all; 0 if none is sealed
    prompts: frozenset[str]  # what is tried on them
    counted: bool  # whether that opens any of them: a prompt that was tried on all of them before opens none
    ledger: Openings  # where it is counted

    @property
    def level(self) -> float:
        """The one-sided level at which differences are tested."""
        return level_of(ALPHA, max(1, self.opening))

    @property
    def words(self) -> str:
        """What is said before anything is spent; empty where nothing is sealed."""
        if not self.opening:
            return ""
        sealed = f"{len(self.cases)} of these rows are of a sealed test"
        level = f"level {self.level:.3g}"
        if self.counted:
            return f"{sealed}: this is opening {self.opening} of them ({level})"
        return f"{sealed}: this opens none of them again, and tests at the {level} of opening {self.opening}"

    def limits(self, cases: Sequence[Case], comparison: Scale, tests: int = 1) -> tuple[str, ...]:
        """What so few units and groups can and cannot show, in words, said before anything is spent."""
        level, units = self.level / max(1, tests), Counter(case.group for case in cases for _ in case.known)
        labelled = np.array(list(units.values()), dtype=np.int64)
        few = limits(len({case.group for case in cases}), level)
        able = len(labelled) >= fewest_groups(level)  # else ``few`` says it
        told = str(gains(labelled, level)) if tests and able and comparison.right_means else ""
        return tuple(said for said in (told, few) if said)

    def done(self, what: str) -> None:
        """Count it, before anything is shown."""
        if self.counted:
            self.ledger.note(what, self.cases, self.prompts)


@dataclass(frozen=True, kw_only=True)
class Proving(Look):
    """The look that a proof is, which seals its rows."""

    before: int  # how many of its rows were opened before

    @property
    def words(self) -> str:
        """How often the rows were opened; empty where all are opened for the first time."""
        if not self.before or not self.counted:
            return ""
        return (
            f"{self.before} of the {len(self.cases)} sealed rows were opened before: the proof is at opening "
            f"{self.opening} (level {self.level:.3g}); rows that you label anew are at their first, as --holdout"
        )

    def to_card(self) -> dict[str, Any]:
        """Return what a card says of it: the number of the opening, and how many rows were used."""
        rows = {"sealed": len(self.cases), "opened_before": self.before, "used": len(self.cases)}
        return {"test_openings": self.opening, "test_rows": rows}


def prompt_of(judge: Judge, state: PromptState, model: Model, adapter: str, sampling: Sampling) -> str:
    """Return what names a prompt in the ledger: all that is sent, to whom and how, and a threshold of its own."""
    fields = [
        (name, kind, str(field.annotation), str((field.json_schema_extra or {}).get("desc")))
        for predictor in judge.basic().predictors()
        for kind in ("input", "output")
        for name, field in getattr(predictor.signature, f"{kind}_fields").items()
    ]
    usual = sampling.needed == more_than_half(sampling.samples)
    votes = "" if usual else f"{sampling.needed:g} of {sampling.samples}"
    votes = votes if sampling.weights is None else sampling.rule
    return text_hash(repr((state.id, fields, model.name, model.temperature, adapter, votes)))[:16]


def look_at(cases: Sequence[Case], judges: Sequence[LoadedJudge] = (), *, chooses: bool = True) -> Look:
    """Return the look that scoring some rows is: an opening if a prompt was never tried on a sealed one of them."""
    ledger = Openings()
    tried = {prompt_of(one.judge, one.state, one.model, one.adapter, one.sampling): one for one in judges}
    known = ledger.of(cases, tried)
    sealed = [(case, row) for case, row in zip(cases, known, strict=True) if row.before]
    new = any(row.number > row.before for _, row in sealed)
    return Look(
        cases=tuple(case for case, _ in sealed),
        opening=max((row.number for _, row in sealed), default=0),
        prompts=frozenset(tried),
        counted=new and (chooses or not all(one.artifact for one in judges)),
        ledger=ledger,
    )


def proof_of(split: Split, prompts: Collection[str] = (), known: int = 0) -> Proving:
    """Return the look that a proof on a test is: at the level of that of its rows which was opened most often."""
    ledger = Openings()
    rows = ledger.of(split.test, prompts)
    return Proving(
        cases=split.test,
        opening=max([known + 1, *(row.number for row in rows)]),
        prompts=frozenset(prompts),
        counted=any(row.number > row.before for row in rows),
        ledger=ledger,
        before=sum(row.before > 0 for row in rows),
    )


def unseen(judges: Sequence[LoadedJudge], gold: Gold) -> tuple[Case, ...]:
    """Return the rows of gold that no judge's artifact was trained or selected on, or on near copies of."""
    seen = set[str]()
    for judge in judges:
        if judge.artifact is not None:
            seen.update(judge.artifact.about.gold.seen)
            seen |= near_rows(judge.judge, gold.cases, judge.artifact.seen())
    return tuple(case for case in gold.cases if case.id not in seen)
