"""Openings of sealed rows, each with its number and level, and the gold rows that a judge was compiled on."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from ..cases import Case, Values, text_hash
from ..engines.models import Model
from ..evaluation.paired import limits
from ..evaluation.proof import level_of
from ..evaluation.votes import Sampling, more_than_half
from ..gold.copies import find_near_cases
from ..gold.goldset import Gold
from ..gold.label_totals import foresee_shown_gain
from ..gold.shown import find_shown_cases
from ..gold.splits import Split
from ..keeping.contenders import Contender
from ..keeping.loading import NO_MODEL
from ..keeping.logs import Log
from ..programs.judge import Judge
from ..programs.own_answer import OwnAnswer
from ..programs.state import Demo, PromptState
from ..programs.word_rule import WordRule
from .openings import Openings

ALPHA = 0.05
"""The level of all openings of a row together."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """One use of sealed rows: the cases, the prompts that are tried on them, and the number of the opening."""

    cases: tuple[Case, ...]  # the sealed rows among those that are scored
    number: int  # which opening of them this is, the highest of all; 0 if none is sealed
    prompts: frozenset[str]  # what is tried on them
    counted: bool  # whether that opens any of them: a prompt that was tried on all of them before opens none
    ledger: Openings  # where it is counted

    @property
    def level(self) -> float:
        """The one-sided level at which differences are tested."""
        return level_of(ALPHA, max(1, self.number))

    @property
    def words(self) -> str:
        """A line about the opening before anything is spent; empty without sealed rows."""
        if not self.number:
            return ""
        sealed = f"{len(self.cases)} of these rows are of a sealed test"
        tested = f"differences are tested at the level {self.level:.3g}"
        if self.counted:
            return f"{sealed}: this is opening {self.number} of them, so that {tested}"
        return f"{sealed}, which this prompt has met before: no row is opened again, and {tested}"

    def limits(self, cases: Sequence[Case], judge: Judge, tests: int = 1) -> tuple[str, ...]:
        """Lines about what so few units and groups can show in a judge's metric, before anything is spent."""
        level = self.level / max(1, tests)
        lines: list[str] = []
        if tests:
            lines.append(foresee_shown_gain(cases, judge, level))
        groups = {case.group for case in cases}
        lines.append(limits(len(groups), level))
        return tuple(filter(None, lines))

    def record(self, what: str) -> None:
        """Count the opening, before anything is shown."""
        if self.counted:
            self.ledger.note(what, self.cases, self.prompts)


@dataclass(frozen=True, kw_only=True)
class ProofOpening(Opening):
    """The opening of a sealed test by a proof, which seals its rows."""

    opened_rows: int  # how many of its rows were opened before

    @property
    def words(self) -> str:
        """The openings of the rows, in words; empty where all are opened for the first time."""
        if not self.opened_rows or not self.counted:
            return ""
        return (
            f"{self.opened_rows} of the {len(self.cases)} sealed rows were opened before: the proof of a new prompt "
            f"is at opening {self.number} (level {self.level:.3g}); rows that you label anew, as --holdout, are at "
            "their first"
        )

    @property
    def words_of_repeat(self) -> str:
        """The level at which prompts are tested again that were tried on the rows before; empty for a new prompt."""
        if self.counted or not self.opened_rows:
            return ""
        return f"; these prompts were tried on them before, at opening {self.number}: its level {self.level:.3g} holds"

    def to_card(self) -> dict[str, Any]:
        """Return the number of the opening and of the rows that were used, for a card."""
        rows = {"sealed": len(self.cases), "opened_before": self.opened_rows, "used": len(self.cases)}
        return {"test_openings": self.number, "test_rows": rows}


def identify_prompt(
    judge: Judge,
    state: PromptState,
    model: Model,
    adapter: str,
    sampling: Sampling,
    word_rule: WordRule | None = None,
    own_answer: OwnAnswer | None = None,
) -> str:
    """Return the identity of a prompt in the ledger: all that decides its verdicts on a row."""
    fields: list[tuple[str, str, str, str]] = []
    for predictor in judge.basic().predictors():
        signature = predictor.signature
        for kind, kind_fields in (("input", signature.input_fields), ("output", signature.output_fields)):
            for name, info in kind_fields.items():
                description = str((info.json_schema_extra or {}).get("desc"))
                fields.append((name, kind, str(info.annotation), description))
    is_majority = sampling.needed == more_than_half(sampling.samples)
    if sampling.weights is not None:
        votes = sampling.rule
    elif is_majority:
        votes = ""
    else:
        votes = f"{sampling.needed:g} of {sampling.samples}"
    if sampling.takes_mean:
        votes += "mean"
    if word_rule is not None:
        votes = word_rule.digest
    if own_answer is not None:
        votes += repr(own_answer)
    if word_rule is not None and word_rule.is_alone:
        model = NO_MODEL  # the model of the compilation decides nothing, and a loaded version has this one
    temperature: object = model.temperature
    if model.members:
        temperature = [member.temperature for member in model.members]
    return text_hash(repr((state.id, fields, model.name, temperature, adapter, votes)))[:16]


def identify_log(log: Log, cases: Sequence[Case]) -> str:
    """Return the identity of a log in the ledger: its verdicts on some rows, whatever its file is called."""
    verdicts: list[tuple[str, Values, list[str]]] = []
    for case, verdict in zip(cases, log.verdicts(cases), strict=True):
        probabilities = [repr(sorted(unit.items(), key=repr)) for unit in verdict.probabilities]
        verdicts.append((case.id, verdict.values, probabilities))
    return text_hash(repr(sorted(verdicts, key=itemgetter(0))))[:16]


def foresee_opening(
    cases: Sequence[Case], judges: Sequence[Contender] = (), *, chooses: bool = True
) -> Opening:
    """Return the opening that scoring some rows would be: it counts if a prompt is new to a sealed one of them."""
    ledger = Openings()
    prompts: set[str] = set()
    for judge in judges:
        if isinstance(judge, Log):
            opened_rows = zip(cases, ledger.of(cases), strict=True)
            prompts.add(identify_log(judge, [case for case, row in opened_rows if row.openings]))
            continue
        prompts.add(
            identify_prompt(
                judge.judge,
                judge.state,
                judge.model,
                judge.adapter,
                judge.sampling,
                judge.word_rule,
                judge.own_answer,
            )
        )
    sealed_cases: list[Case] = []
    number = 0
    opens_a_row = False
    for case, row in zip(cases, ledger.of(cases, prompts), strict=True):
        if row.openings:
            sealed_cases.append(case)
            number = max(number, row.number)
            opens_a_row = opens_a_row or row.number > row.openings
    compares_artifacts_alone = all(judge.artifact for judge in judges)
    return Opening(
        cases=tuple(sealed_cases),
        number=number,
        prompts=frozenset(prompts),
        counted=opens_a_row and (chooses or not compares_artifacts_alone),
        ledger=ledger,
    )


def foresee_proof_opening(
    split: Split, prompts: Collection[str] = (), earlier_openings: int = 0
) -> ProofOpening:
    """Return the opening that a proof on a test would be: its most-opened row gives the number.

    Args:
        split: whose test it is.
        prompts: identities of the prompts that are scored.
        earlier_openings: openings of the test that the ledger need not know of.
    """
    ledger = Openings()
    number = earlier_openings + 1
    opens_a_row = False
    opened_rows = 0
    for row in ledger.of(split.test, prompts):
        number = max(number, row.number)
        opens_a_row = opens_a_row or row.number > row.openings
        if row.openings:
            opened_rows += 1
    return ProofOpening(
        cases=split.test,
        number=number,
        prompts=frozenset(prompts),
        counted=opens_a_row,
        ledger=ledger,
        opened_rows=opened_rows,
    )


def select_unseen(judges: Sequence[Contender], gold: Gold) -> tuple[Case, ...]:
    """Return the rows of gold that no judge was compiled on or shows, without near copies of such rows."""
    seen_ids: set[str] = set()
    for contender in judges:
        for judge, state in contender.prompts:
            demos: list[Demo] = []
            for prompt in state.predictors.values():
                demos.extend(prompt.examples)
            seen_ids.update(find_shown_cases(judge, gold.cases, demos))
        for version in contender.versions:
            seen_ids.update(version.about.gold.seen)
            seen_ids.update(find_near_cases(contender.judge, gold.cases, version.seen()))
    unseen_cases: list[Case] = []
    for case in gold.cases:
        if case.id not in seen_ids:
            unseen_cases.append(case)
    return tuple(unseen_cases)
