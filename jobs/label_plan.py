"""The plan of a proof by labels: the units that people label, fixed before any label is seen, and the decision.

Whether a version is better than basic is one test of the judge's own metric, in which each label weighs as much as it
changes that metric. A version that is better becomes the latest if it was asked as in its proof, and if its sealed test
has shown it to be better than the best constant answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import TypeAdapter

from ..cases import Case, Value
from ..errors import CheckpointError, GoldError, JuristError, plural
from ..evaluation.disagreements import LabelledUnit, UnitGains, weigh_estimates, win_share_shown
from ..evaluation.plain import plain, plain_fields
from ..evaluation.scale import resolve
from ..gold.files import Row
from ..gold.goldset import Gold
from ..gold.raters import merge_case, unit_ratings
from ..gold.rows import AMBIGUITY
from ..gold.sheets import SheetLine
from ..gold.writing import write_whole
from ..keeping.artifact_card import Artifact, read_proof_rows
from ..keeping.artifacts import Store
from ..keeping.sealing import DISAGREEMENTS
from ..programs.judge import Judge

_FILE = "plan.json"
_UNWEIGHTED_METRIC = "accuracy"  # the metric in which all units count alike
Key = tuple[str, int]
"""The id of a case, and the place of a unit in it, from 0."""
Labels = Mapping[Key, Value | None]
"""The labels of planned units: a value, or ``None`` where people could not tell."""
Json = Mapping[str, Any]
"""A JSON object."""


@dataclass(frozen=True, kw_only=True)
class PlannedUnit:
    """A unit to which the version and the basic prompt give different answers."""

    case: str
    unit: int
    group: str  # of its case
    # the answers of the two prompts, as JSON values; ``None`` where one abstained
    basic: object
    compiled: object

    @property
    def key(self) -> Key:
        """The case and the place of the unit in it."""
        return self.case, self.unit


@dataclass(frozen=True, kw_only=True)
class LabelPlan:
    """The units that people label, and the survey that they were drawn from."""

    version: str  # ``JUDGE@VERSION``
    artifact: str  # the hash of that version
    model: str  # the model's name
    conditions: tuple[str, ...]  # the differences from how the version was asked in its proof, in words
    rows: Mapping[str, str]  # ``name`` of the unlabelled rows, and their hash
    opening: int  # the number of this plan on the version or on these units; its level falls with it
    level: float  # of the one-sided test
    # rows, groups and units asked about, and the share that differs, with its interval
    surveyed: Json
    metric: str  # the name of the judge's own metric, by which labels count
    units: tuple[PlannedUnit, ...]  # those to label, in the order in which they are shown
    content: tuple[Mapping[str, object], ...]  # the rows of these units, without labels
    earlier: tuple[Key, ...] = ()  # units of earlier plans, which are not drawn again
    decision: Json | None = None  # what was decided; ``None`` until all labels are in

    @staticmethod
    def folder(store: Store, artifact: Artifact) -> Path:
        """Return the folder in which the plan of a version is kept."""
        return store.checkpoints / f"prove-{artifact.judge}-{artifact.version}"

    @classmethod
    def find(cls, store: Store, artifact: Artifact) -> Self | None:
        """Return the plan of a version; ``None`` if there is none, or one of other content of that version."""
        path = cls.folder(store, artifact) / _FILE
        if not path.exists():
            return None
        try:
            plan = TypeAdapter(cls).validate_json(path.read_bytes())
        except (OSError, ValueError) as error:
            hint = "draw another plan with --rows F --fresh, which counts as one more"
            raise CheckpointError(f"{path} is no plan of labels: {error}", hint=hint) from error
        if plan.artifact != artifact.sha256:
            return None
        return plan

    def keep(self, store: Store, artifact: Artifact) -> None:
        """Write the plan to its folder in the store."""
        content = TypeAdapter(LabelPlan).dump_json(self, indent=2)
        write_whole(content, self.folder(store, artifact) / _FILE)

    def gold(self, judge: Judge) -> Gold:
        """Return the rows to label, without labels."""
        return Gold.of(list(self.content), judge, self.rows["name"], labelled=False)

    def lines(self, gold: Gold) -> list[SheetLine]:
        """Return the units to label, in an order that says nothing of the answers."""
        cases = {case.id: case for case in gold.cases}
        return [SheetLine(case=cases[unit.case], unit=unit.unit) for unit in self.units]

    @property
    def confirms(self) -> float | None:
        """The gain in accuracy that the planned labels show with a power of .8; ``None`` for any other metric."""
        share = win_share_shown(len(self.units), self.level)
        if share is None or self.metric != _UNWEIGHTED_METRIC:
            return None
        return float(self.surveyed["rate"]) * (2.0 * share - 1.0)

    @property
    def words(self) -> tuple[str, ...]:
        """The findings and the plan for people, a line each."""
        surveyed = self.surveyed
        confirmed = self._confirmed_words()
        number = ""
        if self.opening > 1:
            number = f", plan {self.opening} of this version or of these rows"
        return (
            f"{self.version} and the basic prompt differ on {surveyed['differing']} of {surveyed['units']} units "
            f"({100 * surveyed['rate']:.1f} %, 95 % interval {100 * surveyed['low']:.1f} to "
            f"{100 * surveyed['high']:.1f}), in {surveyed['differing_groups']} of {surveyed['groups']} groups",
            f"planned: {plural(len(self.units), 'label')} of these units, one a group, drawn at random; they will "
            f"mostly confirm {confirmed} (one-sided test at the level {self.level:.3g}{number}, power .8)",
        )

    def _confirmed_words(self) -> str:
        """Return in words what the planned labels mostly show: a gain in accuracy, else a share of wins."""
        if self.confirms is not None:
            return f"a gain of {100 * self.confirms:.1f} points of correct units"
        share = win_share_shown(len(self.units), self.level) or 1.0
        return f"a win on {100 * share:.0f} % of them, where they count alike in {self.metric}"

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values, without the answers of the two prompts, which a rater must not see."""
        parts = plain_fields(self, "artifact", "conditions", "units", "content", "earlier")
        parts["labels"] = len(self.units)
        parts["confirms"] = self.confirms
        return parts

    def missing(self, labels: Labels) -> int:
        """Return the number of planned units that nobody has labelled yet."""
        unlabelled = 0
        for unit in self.units:
            if unit.key not in labels:
                unlabelled += 1
        return unlabelled


def draw_units(
    units: Sequence[PlannedUnit], labels: int, *, seed: int, without: Sequence[Key] = ()
) -> tuple[PlannedUnit, ...]:
    """Draw units to label at random, one a group.

    Args:
        units: the units to draw from.
        labels: the most units to draw.
        seed: the seed of the draw.
        without: keys of units that are not drawn.
    """
    excluded = frozenset(without)
    drawable: list[PlannedUnit] = []
    for unit in sorted(units, key=lambda unit: unit.key):
        if unit.key not in excluded:
            drawable.append(unit)
    by_group: dict[str, PlannedUnit] = {}
    for place in np.random.default_rng(seed).permutation(len(drawable)).tolist():
        if len(by_group) < labels:
            by_group.setdefault(drawable[place].group, drawable[place])
    return tuple(by_group.values())


def read_planned_labels(plan: LabelPlan, gold: Gold) -> Labels:
    """Return the labels of planned units in gold; of several raters the majority decides.

    Args:
        plan: the plan whose units were labelled.
        gold: the labels, read from a sheet, the review page or rows.

    Raises:
        GoldError: a unit is labelled that is not planned.
    """
    planned = {unit.key for unit in plan.units}
    labels: dict[Key, Value | None] = {}
    for case in gold.cases:
        labels.update(_labels_of_case(case, gold.rows[case.id]))
    for case_id, place in labels:
        if (case_id, place) in planned:
            continue
        sources = {case.id: case.source for case in gold.cases}
        raise GoldError(
            f"unit {place + 1} is labelled and not planned: the labels are those of {len(planned)} units "
            f"that were drawn at random before (judge {gold.judge.name})",
            path=sources[case_id],
            hint="give back the sheet that jurist prove wrote, without further rows",
        )
    return labels


def _labels_of_case(case: Case, row: Row) -> dict[Key, Value | None]:
    """Return the labels of the units of a case; ``None`` for a unit that people call ambiguous."""
    labels: dict[Key, Value | None] = {}
    reasons = row.get(AMBIGUITY)
    if not isinstance(reasons, list):
        reasons = [reasons]
    for place, reason in enumerate(reasons):
        if reason:
            labels[case.id, place] = None
    ratings_of_units = unit_ratings(case)
    values = merge_case(case, "majority").gold or (None,) * len(ratings_of_units)
    for place, (value, ratings) in enumerate(zip(values, ratings_of_units, strict=True)):
        if value is not None or ratings:
            labels[case.id, place] = value
    return labels


def load_unit_gains(store: Store, artifact: Artifact, judge: Judge) -> UnitGains:
    """Return the gains of units in the judge's metric, from the sealed test of a version or of its nearest ancestor.

    Raises:
        JuristError: neither the version nor an ancestor kept answers of a sealed test.
    """
    proven = artifact
    while not proven.proof_records() and proven.about.parent:
        proven = store.load(f"{artifact.judge}@{proven.about.parent}")
    proof = proven.proof_records()
    if not proof:
        raise JuristError(
            f"{artifact.ref} kept no answers of a sealed test, by which labels are weighed in {judge.metric}",
            hint=f"compile {artifact.judge} again",
        )
    basic = read_proof_rows(judge.answer, proof, "basic")
    compiled = read_proof_rows(judge.answer, proof, "compiled")
    return UnitGains.of(basic, compiled, resolve(judge.metric, judge.comparison), judge.comparison)


def make_decision(plan: LabelPlan, judge: Judge, labels: Labels, gains: UnitGains) -> dict[str, object]:
    """Return the decision that follows from the labels of a plan, as JSON values.

    Raises:
        JuristError: a planned unit is not labelled.
    """
    missing = plan.missing(labels)
    if missing:
        raise JuristError(
            f"{len(plan.units) - missing} of {len(plan.units)} planned units are labelled; nothing is decided "
            "before all are",
            hint=f"label the other {missing} too, or write a reason under 'ambiguity' where nobody can tell",
        )
    labelled_units: list[LabelledUnit] = []
    untold = 0  # units of which people could not tell the label
    for unit in plan.units:
        label = labels[unit.key]
        basic = _read_value(judge, unit.basic)
        compiled = _read_value(judge, unit.compiled)
        labelled_units.append(LabelledUnit(gold=label, first=basic, second=compiled))
        if label is None:
            untold += 1
    rate = (plan.surveyed["rate"], plan.surveyed["low"], plan.surveyed["high"])
    weighed = weigh_estimates(gains.estimates(labelled_units, plan.level), rate, plan.level)
    decision: dict[str, object] = plan.to_json()
    # The plan has no decision yet, and the version's own folder holds this one.
    del decision["decision"]
    del decision["version"]
    decision["conditions"] = list(plan.conditions)
    decision["wins"] = weighed.wins
    decision["losses"] = weighed.losses
    decision["ties"] = weighed.ties
    decision["untold"] = untold
    decision["p"] = weighed.better
    decision["verdict"] = weighed.verdict
    decision["gain"] = plain(weighed.gain)
    decision["gain_in"] = plan.metric
    decision["decided"] = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return decision


def _read_value(judge: Judge, data: object) -> Value | None:
    """Return the value of an answer from its JSON value; ``None`` where the prompt abstained."""
    if data is None:
        return None
    return judge.answer.scale.of_json(data)


def decide_by_labels(
    store: Store, artifact: Artifact, plan: LabelPlan, judge: Judge, labelled: Gold
) -> tuple[LabelPlan, bool, str]:
    """Decide a plan by people's labels; return it, whether its version is the latest now, and why in words."""
    labels = read_planned_labels(plan, labelled)
    gains = load_unit_gains(store, artifact, judge)
    decision = make_decision(plan, judge, labels, gains)
    is_latest, words = keep_decision(store, artifact, plan, decision)
    return replace(plan, decision=decision), is_latest, words


def keep_decision(store: Store, artifact: Artifact, plan: LabelPlan, decision: Json) -> tuple[bool, str]:
    """Keep a decision beside the version's card; return whether the version is the latest now, and why, in words."""
    replace(plan, decision=decision).keep(store, artifact)
    store.keep_added(artifact, DISAGREEMENTS, decision)
    if decision["verdict"] != "better":
        return False, f"kept beside the card of {artifact.ref}"
    for version in store.list(artifact.judge):
        if version.latest and version.path == artifact.path:
            return True, f"kept beside the card of {artifact.ref}, which is the latest"
    obstacle = _find_obstacle(artifact, decision)
    if obstacle:
        return False, (
            f"kept beside the card of {artifact.ref}, and not promoted: {obstacle}; "
            f"jurist artifacts tag {artifact.ref} latest makes it so all the same"
        )
    store.tag(artifact.ref, "latest")
    return True, f"kept beside the card of {artifact.ref}, which is now the latest"


def _find_obstacle(artifact: Artifact, decision: Json) -> str:
    """Return the reason why a version that is better than basic does not become the latest; empty without one."""
    if decision["conditions"]:
        return f"it was asked otherwise than in its proof: {', '.join(decision['conditions'])}"
    if artifact.about.decision.verdict == "worse":
        return "its sealed test has shown it to be worse"
    constant = artifact.about.decision.constant
    if constant is None or not constant.better:
        return "its sealed test has not shown it to be better than a constant answer"
    return ""
