"""What the labels of a plan decide: better than basic is one sign test.

A version becomes the latest by the rule of a compilation: it was asked as in its proof, and it is shown to be better
than the best constant answer too, by its sealed test or by labels on units where it differs from the constant.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ..cases import Value
from ..errors import JuristError
from ..evaluation.disagreements import Signs, credit, gain_of
from ..evaluation.rows import Row
from ..keeping.artifact_card import Artifact, rows_of
from ..keeping.artifacts import Store
from ..keeping.sealing import DISAGREEMENTS
from ..programs.judge import Judge
from ..text.json_lines import plain
from .label_plan import LabelPlan, Labels

_CONSTANTS = 50
"""Values of the sealed test that are tried as a constant answer: the most frequent."""


def constant_of(judge: Judge, artifact: Artifact) -> dict[str, Any] | None:
    """Return the constant to hold a version against, the nearest on its sealed test; ``None`` if beaten."""
    rows, known = _sealed(judge, artifact), (artifact.card.get("decision") or {}).get("constant") or {}
    if not rows or known.get("better"):
        return None
    golds = [value for row in rows for value in row.gold if value is not None]
    best = max(_values(rows), key=lambda value: sum(credit(judge.comparison, gold, value) for gold in golds))
    return {"value": judge.answer.scale.to_json(best), "text": judge.answer.scale.text(best)}


def _sealed(judge: Judge, artifact: Artifact) -> list[Row]:
    return [row for row in rows_of(judge.answer, artifact.proof(), "compiled") if row.labelled]


def _values(rows: list[Row]) -> list[Value]:
    seen = Counter(value for row in rows for value in row.gold if value is not None)
    return [value for value, _ in seen.most_common(_CONSTANTS)]


_Told = tuple[Value, Value | None, Value | None]
"""Of a labelled unit gold, what the other prompt or the constant says, and what the version says."""


def _told(plan: LabelPlan, judge: Judge, labels: Labels, against: str) -> list[_Told | None]:
    """Return the units on which a version differs from something else; ``None`` where nobody could tell."""
    told: list[_Told | None] = []
    for unit in (unit for unit in plan.units if against in unit.against):
        other = plan.constant["value"] if plan.constant and against == "constant" else unit.basic
        gold = labels[unit.key]
        one, two = (
            None if said is None else judge.answer.scale.of_json(said) for said in (other, unit.compiled)
        )
        told.append(None if gold is None else (gold, one, two))
    return told


def _gains(judge: Judge, told: Sequence[_Told | None]) -> list[float]:
    """Return what the version gains on each unit, -1 to 1; 0 where nobody could tell."""
    kind = judge.comparison
    return [credit(kind, one[0], one[2]) - credit(kind, one[0], one[1]) if one else 0.0 for one in told]


def _signs(judge: Judge, told: Sequence[_Told | None], level: float) -> dict[str, Any]:
    """Return the counts, p and the verdict, as JSON values."""
    gains = _gains(judge, told)
    signs = Signs(
        wins=sum(one > 0 for one in gains),
        losses=sum(one < 0 for one in gains),
        ties=sum(one == 0 for one in gains),
    )
    verdict = signs.verdict(sum(gains), level)
    return {**vars(signs), "untold": told.count(None), "p": signs.p, "verdict": verdict}


def decide(plan: LabelPlan, artifact: Artifact, judge: Judge, labels: Labels) -> dict[str, Any]:
    """Return what the labels of a plan show, as JSON values."""
    if missing := plan.missing(labels):
        raise JuristError(
            f"{len(plan.units) - missing} of {len(plan.units)} planned units are labelled; nothing is decided "
            "before all are",
            hint=f"label the other {missing} too, or write a reason under 'ambiguity' where nobody can tell",
        )
    told, found, constant = _told(plan, judge, labels, "basic"), plan.surveyed, plan.constant
    rate = found["rate"], found["low"], found["high"]
    return {
        **{key: value for key, value in plan.to_json().items() if key not in ("decision", "version")},
        "conditions": list(plan.conditions),
        **_signs(judge, told, plan.level),
        "gain": plain(gain_of(rate, _gains(judge, told), plan.level)),
        "gain_in": "correct units" if plan.right_or_wrong else "similarity to people",
        "constant": constant
        and {
            "answer": constant["text"],
            **_signs(judge, _told(plan, judge, labels, "constant"), plan.level),
        },
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
    constant = decision["constant"]
    if constant is not None and constant["verdict"] != "better":
        counts = f"{constant['wins']} won, {constant['losses']} lost, p = {constant['p']:.3g}"
        return f"it is not shown to be better than always {constant['answer']!r} ({counts})"
    if constant is None and not artifact.proof():
        return "it keeps no sealed test in which it could be held against a constant answer"
    return ""
