"""What the labels of a plan decide: better than basic is one sign test.

A version becomes the latest by the rule of a compilation: it was asked as in its proof, and its sealed test has shown
it to be better than the best constant answer.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ..errors import JuristError
from ..evaluation.disagreements import Signs, credit, gain_of
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.sealing import DISAGREEMENTS
from ..programs.judge import Judge
from ..text.json_lines import plain
from .label_plan import LabelPlan, Labels


def decide(plan: LabelPlan, artifact: Artifact, judge: Judge, labels: Labels) -> dict[str, Any]:
    """Return what the labels of a plan show, as JSON values."""
    if missing := plan.missing(labels):
        raise JuristError(
            f"{len(plan.units) - missing} of {len(plan.units)} planned units are labelled; nothing is decided "
            "before all are",
            hint=f"label the other {missing} too, or write a reason under 'ambiguity' where nobody can tell",
        )
    comparison, scale, gains = judge.comparison, judge.answer.scale, []
    for unit in plan.units:
        gold = labels[unit.key]
        basic, compiled = (
            None if value is None else scale.of_json(value) for value in (unit.basic, unit.compiled)
        )
        gained = 0.0 if gold is None else credit(comparison, gold, compiled) - credit(comparison, gold, basic)
        gains.append(gained)
    signs = Signs(
        wins=sum(gain > 0 for gain in gains),
        losses=sum(gain < 0 for gain in gains),
        ties=sum(gain == 0 for gain in gains),
    )
    rate = plan.surveyed["rate"], plan.surveyed["low"], plan.surveyed["high"]
    return {
        **{key: value for key, value in plan.to_json().items() if key not in ("decision", "version")},
        "conditions": list(plan.conditions),
        **vars(signs),
        "untold": sum(labels[unit.key] is None for unit in plan.units),
        "p": signs.p,
        "verdict": signs.verdict(sum(gains), plan.level),
        "gain": plain(gain_of(rate, gains, plan.level)),
        "gain_in": "correct units" if plan.right_or_wrong else "similarity to people",
        "decided": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }


def settle(
    store: Store, artifact: Artifact, plan: LabelPlan, decision: Mapping[str, Any]
) -> tuple[bool, str]:
    """Keep a decision beside the version's card; return whether the version is the latest now, and why, in words."""
    replace(plan, decision=decision).keep(store, artifact)
    kept = store.keep_added(artifact, DISAGREEMENTS, decision)
    if not kept:
        return False, f"{artifact.ref} came with the package and is read-only: kept here only"
    if decision["verdict"] != "better":
        return False, f"kept beside the card of {artifact.ref}"
    if any(one.latest and one.path == artifact.path for one in store.list(artifact.judge)):
        return True, f"kept beside the card of {artifact.ref}, which is the latest"
    if lack := _lack(artifact, decision):
        said = f"kept beside the card of {artifact.ref}, and not promoted: {lack}"
        return False, f"{said}; jurist artifacts tag {artifact.ref} latest makes it so all the same"
    store.tag(artifact.ref, "latest")
    return True, f"kept beside the card of {artifact.ref}, which is now the latest"


def _lack(artifact: Artifact, decision: Mapping[str, Any]) -> str:
    """Return what a version that is better than basic lacks to be the latest; empty if nothing."""
    if decision["conditions"]:
        return f"it was asked otherwise than in its proof: {', '.join(decision['conditions'])}"
    if artifact.about.decision.verdict == "worse":
        return "its sealed test has shown it to be worse"
    if not (artifact.card["decision"].get("constant") or {}).get("better"):
        return "its sealed test has not shown it to be better than a constant answer"
    return ""
