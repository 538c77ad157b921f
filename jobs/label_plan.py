"""The plan of a proof by labels: the units that people label, fixed before any label is seen, and the decision.

Whether a version is better than basic is tested by the judge's own metric, in which each label weighs as much as it
changes that metric. The plan fixes at how many labels that is tested, in which order the labels are taken, and which
part of the level each of these looks may spend (:mod:`~jurist.evaluation.looks`). A look is kept before anybody sees
what it shows, and its labels cannot be changed afterwards. A version that is better becomes the latest if it was asked
as in its proof, and if its sealed test has shown it to be better than the best constant answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import TypeAdapter

from ..cases import Case, Value
from ..errors import CheckpointError, GoldError, JuristError, as_data, plural
from ..evaluation.disagreements import LabelledUnit, UnitGains, Weighed, weigh_estimates, win_share_shown
from ..evaluation.looks import LabelLook, level_of_look
from ..evaluation.paired import ProofOutcome
from ..evaluation.plain import plain, plain_fields
from ..evaluation.scale import resolve
from ..gold.goldset import Gold
from ..gold.raters import merge_case, unit_ratings
from ..gold.rows import AMBIGUITY
from ..gold.sheets import SheetLine
from ..gold.writing import write_whole
from ..keeping.artifact_card import Artifact, read_proof_rows
from ..keeping.artifacts import Store
from ..keeping.locking import lock_output
from ..keeping.sealing import DISAGREEMENTS
from ..programs.judge import Judge
from ..report.shown import Shown
from ..report.table import Table

BASIC = "the basic prompt"
"""The rival of a version, unless a plan names another."""
_FILE = "plan.json"
_UNWEIGHTED_METRIC = "accuracy"  # the metric in which all units count alike
UnitKey = tuple[str, int]
"""The id of a case, and the place of a unit in it, from 0."""
LabelVerdict = ProofOutcome | Literal["as good", "not known"]
"""The verdict of labels on a version: against another version it may be as good, or that is not known."""
Labels = Mapping[UnitKey, Value | None]
"""The labels of planned units: a value, or ``None`` where people could not tell."""
Json = Mapping[str, Any]
"""A JSON object."""


@dataclass(frozen=True, kw_only=True)
class PlannedUnit:
    """A unit to which the version and its rival give different answers."""

    case: str
    unit: int
    group: str  # of its case
    # the answers of the rival (``basic``) and the version, as JSON values; ``None`` where one abstained
    basic: object
    compiled: object

    @property
    def key(self) -> UnitKey:
        """The case and the place of the unit in it."""
        return self.case, self.unit


@dataclass(frozen=True, kw_only=True)
class LookResult:
    """The result of a look at the first labels of a plan."""

    labels: int  # the number of labels that it took
    level: float  # its one-sided level
    wins: int
    losses: int
    ties: int
    untold: int  # units of which people could not tell the label, among the ties
    p: float
    verdict: LabelVerdict


@dataclass(frozen=True, kw_only=True, repr=False)
class LabelPlan(Shown):
    """The units that people label, and the survey that they were drawn from."""

    version: str  # ``JUDGE@VERSION``
    artifact: str  # the hash of that version
    model: str  # the model's name
    conditions: tuple[str, ...]  # the differences from how the version was asked in its proof, in words
    rows: Mapping[str, str]  # ``name`` of the unlabelled rows, and their hash
    opening: int  # the number of this plan on the version or on these units; its level falls with it
    level: float  # of the one-sided test, over all looks together
    # the rows, groups and units that were asked about, and the share of the units that differ, with its interval
    surveyed: Json
    metric: str  # the name of the judge's own metric, by which labels count
    units: tuple[PlannedUnit, ...]  # those to label, in the random order in which looks take them
    content: tuple[Mapping[str, object], ...]  # the rows of these units, without labels
    # when the labels are tested; empty in a plan of an earlier jurist, which is tested once, when all are in
    looks: tuple[LabelLook, ...] = ()
    # what the version is held against: the basic prompt, else another version or a log
    rival: str = BASIC
    # by how much the version may be worse than another one; ``None`` against basic
    margin: float | None = None
    earlier: tuple[UnitKey, ...] = ()  # units of earlier plans, which are not drawn again
    results: tuple[LookResult, ...] = ()  # of the looks that were taken, in their order
    # the labels of the first units, by which the last look was taken, as JSON values; ``None`` where nobody could tell
    labelled: tuple[object, ...] = ()
    decision: Json | None = None  # what was decided; ``None`` as long as labels are missing

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
            raise CheckpointError(f"{as_data(path)} is no plan of labels: {error}", hint=hint) from error
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
        """Return the lines of the sheet: the units to label in their random order, without those of a taken look."""
        cases = {case.id: case for case in gold.cases}
        units = self.units[len(self.labelled) :]
        return [SheetLine(case=cases[unit.case], unit=unit.unit) for unit in units]

    @property
    def confirms(self) -> float | None:
        """The gain in accuracy that the planned labels show with a power of .8; ``None`` for any other metric."""
        share = win_share_shown(len(self.units), self.level)
        if share is None or self.metric != _UNWEIGHTED_METRIC:
            return None
        return float(self.surveyed["rate"]) * (2.0 * share - 1.0)

    @property
    def all_looks(self) -> tuple[LabelLook, ...]:
        """The looks of the plan, the last of which takes all labels."""
        return self.looks or (LabelLook(labels=len(self.units), spent=self.level),)

    @property
    def next_look(self) -> LabelLook | None:
        """The first look that was neither taken nor skipped; ``None`` where there is none, or all is decided."""
        if self.decision is not None:
            return None
        for look in self.all_looks:
            if look.labels > len(self.labelled):
                return look
        return None

    @property
    def summary_lines(self) -> tuple[str, ...]:
        """The findings, the plan and the result of the last look, a line each."""
        surveyed = self.surveyed
        confirmed = self._confirmed_words()
        power = ", power .8" if self.margin is None else ""
        number = ""
        if self.opening > 1:
            number = f", plan {self.opening} of this version or of these rows"
        lines = [
            f"{self.version} and {self.rival} differ on {surveyed['differing']} of {surveyed['units']} units "
            f"({100 * surveyed['rate']:.1f} %, 95 % interval {100 * surveyed['low']:.1f} to "
            f"{100 * surveyed['high']:.1f}), in {surveyed['differing_groups']} of {surveyed['groups']} groups",
            f"planned: {plural(len(self.units), 'label')} of these units, one a group, drawn at random; they "
            f"{confirmed} (one-sided test at the level {self.level:.3g}{number}{power})",
        ]
        if len(self.all_looks) > 1:
            lines.append(self._looks_words())
        if self.results:
            lines.append(self.result_words)
        return tuple(lines)

    def _looks_words(self) -> str:
        """Return in words when labels are tested."""
        numbers = [str(look.labels) for look in self.all_looks]
        listed = f"{', '.join(numbers[:-1])} and {numbers[-1]}"
        return (
            f"jurist tests after {listed} labels, counted from the top of the sheet, and ends where a difference is "
            f"shown; the chance of a false win over all {len(numbers)} tests is about {self.level:.3g} or less"
        )

    @property
    def result_words(self) -> str:
        """The result of the last look, and what the next one takes, in words; empty before the first look."""
        if not self.results:
            return ""
        result = self.results[-1]
        words = (
            f"after {plural(result.labels, 'label')}: {result.wins} won, {result.losses} lost, {result.ties} tied, "
            f"p = {result.p:.3g} (one-sided test by what each counts, level {result.level:.3g})"
        )
        look = self.next_look
        if look is None:
            return words
        missing = look.labels - result.labels
        return f"{words}; nothing is shown yet, and the next test takes {plural(missing, 'label')} more"

    def _confirmed_words(self) -> str:
        """Return in words what the planned labels mostly show: a gain in accuracy, else a share of wins."""
        if self.margin is not None:
            return f"tell whether it is better, as good within {self.margin:g}, or worse"
        if self.confirms is not None:
            return f"will mostly confirm a gain of {100 * self.confirms:.1f} points of correct units"
        share = win_share_shown(len(self.units), self.level) or 1.0
        return f"will mostly confirm a win on {100 * share:.0f} % of them, where they count alike in {self.metric}"

    def parts(self) -> list[Table | str]:
        """Return the findings, the plan and the result of the last look, a line each."""
        return list(self.summary_lines)

    def records(self) -> list[dict[str, object]]:
        """Return a row for each look at the labels that was taken."""
        return [asdict(result) for result in self.results]

    @property
    def columns(self) -> Sequence[str]:
        """The columns of a look, which a plan without any has, too."""
        return [field.name for field in fields(LookResult)]

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values, without the answers of the two prompts, which a rater must not see."""
        hidden = "artifact", "conditions", "units", "content", "earlier", "labelled"
        parts = plain_fields(self, *hidden)
        parts["labels"] = len(self.units)
        parts["confirms"] = self.confirms
        parts["labels_missing"] = self.labels_missing
        return parts

    @property
    def labels_missing(self) -> int:
        """The number of labels that the next look takes beyond those that a look has taken; 0 where all is decided."""
        look = self.next_look
        if look is None:
            return 0
        return look.labels - len(self.labelled)

    def count_in_order(self, labels: Labels) -> int:
        """Return how many units are labelled from the first one on, without a gap."""
        for place, unit in enumerate(self.units):
            if unit.key not in labels:
                return place
        return len(self.units)


def draw_units(
    units: Sequence[PlannedUnit], labels: int, *, seed: int, without: Sequence[UnitKey] = ()
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
    labels: dict[UnitKey, Value | None] = {}
    for case in gold.cases:
        labels.update(_labels_of_case(case))
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


def _labels_of_case(case: Case) -> dict[UnitKey, Value | None]:
    """Return the labels of the units of a case; ``None`` for a unit that people call ambiguous."""
    labels: dict[UnitKey, Value | None] = {}
    reasons = case.row.get(AMBIGUITY)
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


def find_proven(store: Store, artifact: Artifact) -> Artifact:
    """Return a version, or its nearest ancestor, that kept answers of a sealed test; the first one without any."""
    proven = artifact
    while not proven.proof_records() and proven.about.parent:
        proven = store.load(f"{artifact.judge}@{proven.about.parent}")
    return proven


def load_unit_gains(store: Store, artifact: Artifact, judge: Judge) -> UnitGains:
    """Return the gains of units in the judge's metric, from the sealed test of a version or of its nearest ancestor.

    Raises:
        JuristError: neither the version nor an ancestor kept answers of a sealed test.
    """
    proof = find_proven(store, artifact).proof_records()
    if not proof:
        raise JuristError(
            f"{artifact.ref} kept no answers of a sealed test, by which labels are weighed in {judge.metric}",
            hint=f"compile {artifact.judge} again",
        )
    basic = read_proof_rows(judge.answer, proof, "basic")
    compiled = read_proof_rows(judge.answer, proof, "compiled")
    return UnitGains.of(basic, compiled, resolve(judge.metric, judge.comparison), judge.comparison)


def add_labels_of_looks(plan: LabelPlan, judge: Judge, labels: Labels) -> Labels:
    """Return labels together with those by which looks were taken, which need not be given again.

    Raises:
        GoldError: a unit has another label than at a look.
    """
    labels_in_all = dict(labels)
    for place, (unit, data) in enumerate(zip(plan.units, plan.labelled, strict=False), 1):
        label = _read_value(judge, data)
        if unit.key in labels and labels[unit.key] != label:
            raise GoldError(
                f"label {place} of the plan of {plan.version} is another one than when jurist tested the first "
                f"{len(plan.labelled)} labels: it was {_label_words(label)} and is {_label_words(labels[unit.key])}",
                hint="give that label as it was, or leave out the labels that were tested: jurist keeps them",
            )
        labels_in_all[unit.key] = label
    return labels_in_all


def _label_words(label: Value | None) -> str:
    """Return a label in words, also where nobody could tell it."""
    if label is None:
        return "ambiguous"
    return repr(label)


def find_look(plan: LabelPlan, labels: Labels) -> LabelLook:
    """Return the look to take: the last one whose labels are all in.

    Raises:
        JuristError: the labels of the next look are not all in.
    """
    in_order = plan.count_in_order(labels)
    complete_look: LabelLook | None = None
    for look in plan.all_looks:
        if len(plan.labelled) < look.labels <= in_order:
            complete_look = look
    if complete_look is not None:
        return complete_look
    next_look = plan.next_look
    assert next_look is not None
    missing_in_all = count_missing(plan.units, labels)
    progress = f"{len(plan.units) - missing_in_all} of {len(plan.units)} planned units are labelled"
    if next_look.labels == len(plan.units):
        raise JuristError(
            f"{progress}; nothing is decided before all are",
            hint=f"label the other {missing_in_all} too, or write a reason under 'ambiguity' where nobody can tell",
        )
    missing = count_missing(plan.units[: next_look.labels], labels)
    raise JuristError(
        f"{progress}; jurist tests when the first {next_look.labels} are, and {missing} of these have no label yet",
        hint="label the units in the order of the sheet; where nobody can tell, write a reason under 'ambiguity'",
    )


def count_missing(units: Sequence[PlannedUnit], labels: Labels) -> int:
    """Return the number of units that nobody has labelled yet."""
    missing = 0
    for unit in units:
        if unit.key not in labels:
            missing += 1
    return missing


def take_look(plan: LabelPlan, look: LabelLook, judge: Judge, labels: Labels, gains: UnitGains) -> LabelPlan:
    """Return a plan with the result of a look; decided where the look shows a difference, or is the last one."""
    labelled_units: list[LabelledUnit] = []
    labels_as_json: list[object] = []
    untold = 0  # units of which people could not tell the label
    for unit in plan.units[: look.labels]:
        label = labels[unit.key]
        basic = _read_value(judge, unit.basic)
        compiled = _read_value(judge, unit.compiled)
        labelled_units.append(LabelledUnit(gold=label, first=basic, second=compiled))
        labels_as_json.append(_label_to_json(judge, label))
        if label is None:
            untold += 1
    level = plan.level
    if len(plan.all_looks) > 1:
        # How much of the level a look may spend depends on what the labels up to it weigh.
        looks = plan.all_looks[: plan.all_looks.index(look) + 1]
        level = level_of_look(gains.estimates(labelled_units, plan.level).estimate, looks)
    rate = (plan.surveyed["rate"], plan.surveyed["low"], plan.surveyed["high"])
    weighed = weigh_estimates(gains.estimates(labelled_units, level), rate, level)
    verdict = _verdict_within(weighed, plan.margin)
    result = LookResult(
        labels=look.labels,
        level=level,
        wins=weighed.wins,
        losses=weighed.losses,
        ties=weighed.ties,
        untold=untold,
        p=weighed.better,
        verdict=verdict,
    )
    plan = replace(plan, results=plan.results + (result,), labelled=tuple(labels_as_json))
    if verdict in ("not shown to be better", "not known") and look.labels < len(plan.units):
        return plan
    return replace(plan, decision=_make_decision(plan, weighed))


def _verdict_within(weighed: Weighed, margin: float | None) -> LabelVerdict:
    """Return the verdict that labels show: with a margin, also that a version is worse by no more than that."""
    lowest_gain = weighed.gain.low
    if margin is None or weighed.verdict == "better":
        return weighed.verdict
    if lowest_gain is not None and lowest_gain >= -margin:
        return "as good"
    if weighed.verdict == "worse":
        return "worse"
    return "not known"


def _make_decision(plan: LabelPlan, weighed: Weighed) -> dict[str, object]:
    """Return the decision that follows from the last look of a plan, as JSON values."""
    result = plan.results[-1]
    decision: dict[str, object] = plan.to_json()
    # The plan has no decision yet, and the version's own folder holds this one.
    for name in ("decision", "version", "labels_missing"):
        del decision[name]
    decision["planned"] = len(plan.units)
    decision["level_of_all_looks"] = plan.level
    decision["conditions"] = list(plan.conditions)
    for name in ("labels", "level", "wins", "losses", "ties", "untold", "p", "verdict"):
        decision[name] = getattr(result, name)
    decision["gain"] = plain(weighed.gain)
    decision["gain_in"] = plan.metric
    decision["decided"] = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return decision


def _read_value(judge: Judge, data: object) -> Value | None:
    """Return the value of an answer from its JSON value; ``None`` where the prompt abstained."""
    if data is None:
        return None
    return judge.answer.scale.of_json(data)


def _label_to_json(judge: Judge, label: Value | None) -> object:
    """Return a label as a JSON value; ``None`` where nobody could tell."""
    if label is None:
        return None
    return judge.answer.scale.to_json(label)


def decide_by_labels(
    store: Store, artifact: Artifact, plan: LabelPlan, judge: Judge, labelled: Gold
) -> tuple[LabelPlan, bool, str]:
    """Take the last look of a plan whose labels are all in.

    Returns:
        The plan with the result, whether its version is the latest now, and both in words.

    Raises:
        GoldError: a unit is not planned, or was labelled otherwise at a look. JuristError: labels are missing.
    """
    labels = add_labels_of_looks(plan, judge, read_planned_labels(plan, labelled))
    if plan.labelled and len(labels) == len(plan.labelled):
        return plan, False, plan.result_words  # the look of these labels was taken before
    look = find_look(plan, labels)
    gains = load_unit_gains(store, artifact, judge)
    with lock_output(LabelPlan.folder(store, artifact) / _FILE) as is_free:
        stored_plan = LabelPlan.find(store, artifact)
        if not is_free or stored_plan is None or stored_plan.results != plan.results:
            raise CheckpointError(
                f"another process tests labels of {artifact.ref} at the same time",
                hint="run this command again",
            )
        plan = take_look(plan, look, judge, labels, gains)
        if plan.decision is None:
            plan.keep(store, artifact)
            return plan, False, plan.result_words
        is_latest, words = keep_decision(store, artifact, plan, plan.decision)
    return plan, is_latest, words


def keep_decision(store: Store, artifact: Artifact, plan: LabelPlan, decision: Json) -> tuple[bool, str]:
    """Keep a decision beside the version's card; return whether the version is the latest now, and why, in words."""
    replace(plan, decision=decision).keep(store, artifact)
    is_latest, standing = _promote(store, artifact, decision)
    # It is written last, so that a decision that is there has all its consequences.
    store.keep_added(artifact, DISAGREEMENTS, decision)
    return is_latest, f"kept beside the card of {artifact.ref}{standing}"


def finish_decision(store: Store, artifact: Artifact, plan: LabelPlan) -> None:
    """Keep a decision of a plan beside the card where an earlier process ended before it did so."""
    if plan.decision is not None and plan.decision not in artifact.disagreements:
        keep_decision(store, artifact, plan, plan.decision)


def _promote(store: Store, artifact: Artifact, decision: Json) -> tuple[bool, str]:
    """Make a better version the latest, if nothing speaks against it.

    Returns:
        Whether it is the latest now, and the words that say so or name the obstacle, to be added to a sentence.
    """
    if decision["verdict"] not in ("better", "as good"):
        return False, ""
    current = store.current(artifact.judge)
    if current is not None and current.path == artifact.path:
        return True, ", which is the latest"
    obstacle = _find_obstacle(artifact, decision)
    if obstacle:
        return False, (
            f", and not promoted: {obstacle}; "
            f"jurist artifacts tag {artifact.ref} latest makes it so all the same"
        )
    store.tag(artifact.ref, "latest")
    tags = move_tags(store, artifact) if decision["margin"] is not None else ()
    if tags:
        return True, f", which is now the latest, and {', '.join(tags)}"
    return True, ", which is now the latest"


def move_tags(store: Store, artifact: Artifact) -> tuple[str, ...]:
    """Let a version take over the tags of the version that it was moved from, and return them."""
    if artifact.about.moved is None:
        return ()
    tags = store.load(artifact.about.moved.parent).tags
    for tag in tags:
        store.tag(artifact.ref, tag)
    return tags


def _find_obstacle(artifact: Artifact, decision: Json) -> str:
    """Return the reason why a version that is better than basic does not become the latest; empty without one."""
    if decision["conditions"]:
        return f"it was asked otherwise than in its proof: {', '.join(decision['conditions'])}"
    if decision["margin"] is not None:
        return ""  # the version that it was moved from is better than a constant answer, and it is as good
    if artifact.about.decision.verdict == "worse":
        return "its sealed test has shown it to be worse"
    constant = artifact.about.decision.constant
    if constant is None or not constant.better:
        return "its sealed test has not shown it to be better than a constant answer"
    return ""
