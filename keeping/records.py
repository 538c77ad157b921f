"""The records in the files beside an artifact's card: candidates, answers of the proof, and what was measured later."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from .card_parts import SettingCard
from .part import Count, Figure, Part


class PartScore(Part):
    """The score of a candidate on train or dev; ``value`` is ``None`` if it met no case."""

    value: Figure | None = None
    metrics: dict[str, Figure] = {}
    cases: Count = 0
    failed: Count = 0


class EstimateRecord(Part):
    """The estimated score of a candidate on dev, with its standard error."""

    value: Figure
    error: Figure


class CandidateRecord(Part):
    """A line of ``history.jsonl``: a candidate that was tried."""

    candidate: str = ""
    parent: str | None = None
    source: str = ""
    step: Count | None = None
    calls: Count | None = None
    demo_ids: list[str] = []
    setting: SettingCard = SettingCard()
    params: dict[str, Any] = {}
    prompt: dict[str, Any] | None = None
    train: PartScore = PartScore()
    dev: PartScore = PartScore()
    gain: Figure | None = None
    estimate: EstimateRecord | None = None
    tokens: Figure | None = None
    cost: Figure | None = None


class AnswerRecord(Part):
    """The answer of one prompt to a case of the proof, a value for each unit."""

    status: Literal["verdict", "abstained", "failed"]
    values: list[Any]
    votes: list[dict[str, Count]] = []
    agreement: list[Figure | None] = []
    probability: list[Figure | None] = []
    drawn: Count = 1
    reasoning: str | None = None
    error: str | None = None


class ProofRecord(Part):
    """A line of ``proof.jsonl``: a case of the sealed test, and what both prompts answered."""

    case: str
    group: str
    gold: list[Any]
    basic: AnswerRecord
    compiled: AnswerRecord

    @model_validator(mode="after")
    def _check_units(self) -> ProofRecord:
        for system in ("basic", "compiled"):
            answer = self.answer_of(system)
            units = len(answer.values)
            if self.gold and len(self.gold) != units:
                raise ValueError(f"gold has {len(self.gold)} units and {system} {units}")
            for counts in (answer.votes, answer.agreement, answer.probability):
                if counts and len(counts) != units:
                    raise ValueError(
                        f"the votes of {system} are of {len(counts)} units and its values of {units}"
                    )
        return self

    def answer_of(self, system: str) -> AnswerRecord:
        """Return the answer of ``basic`` or ``compiled``."""
        if system == "basic":
            return self.basic
        return self.compiled


class AttackRecord(Part):
    """The share of answers that one change of the text changed."""

    kind: str
    cases: Count
    flipped: Count
    silenced: Count
    failed: Count
    rate: Figure
    low: Figure
    high: Figure
    shift: Figure | None = None
    answers: Annotated[
        dict[str, Annotated[list[Count], Field(min_length=2, max_length=2)]], Field(min_length=1)
    ]


class RobustnessRecord(Part):
    """The results of attacks and probes on a version, on one model and gold."""

    judge: str | None = None
    model: str
    gold: str
    field: str
    cases: Count
    suite: str | None = None
    worst: Figure | None = None
    flips: dict[str, AttackRecord]


class RowsRecord(Part):
    """The rows that a plan of labels was drawn from."""

    name: str
    sha256: str | None = None


class SurveyRecord(Part):
    """The number of units that were asked about, and the share on which the two prompts differ."""

    rate: Figure
    units: Count
    groups: Count
    rows: Count | None = None
    low: Figure | None = None
    high: Figure | None = None
    differing: Count | None = None
    differing_groups: Count | None = None


class GainRecord(Part):
    """The gain that labels show, with the ends of its interval."""

    value: Figure
    low: Figure
    high: Figure


class LabelProofRecord(Part):
    """The decision of labels where a version differs from the basic prompt."""

    verdict: str
    decided: str
    model: str
    rows: RowsRecord
    opening: Count
    level: Figure
    surveyed: SurveyRecord
    wins: Count
    losses: Count
    ties: Count
    untold: Count
    p: Figure
    gain: GainRecord
    gain_in: str
    planned: Count | None = None  # units to label, of which a look may have taken fewer
    rival: str = ""  # what the version was held against; empty for the basic prompt, in decisions of before
    margin: Figure | None = None  # by how much it might be worse than another version

    @property
    def labels(self) -> int:
        """Units that were labelled."""
        return self.wins + self.losses + self.ties


class MeasuredRobustness(Part):
    """The content of ``robustness.json``."""

    measured: list[RobustnessRecord]


class MeasuredByLabels(Part):
    """The content of ``disagreements.json``."""

    measured: list[LabelProofRecord]
