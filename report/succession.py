"""A compiled judge against the version before it, on the sealed cases that neither of them has seen."""

from dataclasses import dataclass, replace
from typing import Any

from ..evaluation.contrasts import Contrast, contrast
from ..keeping.artifact_card import Artifact, rows_of
from ..keeping.artifacts import Store
from ..programs.judge import Judge


@dataclass(frozen=True, kw_only=True)
class Succession:
    """What two versions said of the cases that were sealed for both."""

    before: str  # the older version, such as ``fect@1``
    cases: int  # how many cases there are
    # the newer version held against it, at the level of the newer one's proof; ``None`` without such cases
    test: Contrast | None

    @property
    def words(self) -> str:
        """One sentence for people."""
        if self.test is None:
            return f"{self.before}: there is no case that was sealed for both versions"
        return f"{self.test.words}, on {self.cases} cases that neither has seen"

    @property
    def warning(self) -> str:
        """What to do where the newer one is worse, and its judge's name means it now; empty where it is not."""
        if self.test is None or self.test.verdict != "worse":
            return ""
        return (
            f"{self.before} was better: jurist artifacts tag {self.before} latest makes it the latest again"
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {"before": self.before, "cases": self.cases, "test": self.test and self.test.to_json()}


def against_before(artifact: Artifact, judge: Judge, store: Store) -> Succession | None:
    """Hold an artifact against the latest version when it was made, else the one before it.

    Nothing is asked: both proofs are read again, with the labels of the newer one.
    """
    numbers = [one.version for one in store.list(artifact.judge) if not one.shipped and not one.problem]
    earlier = [number for number in numbers if number < artifact.version]
    parent = artifact.card.get("parent")
    if not earlier or not artifact.proof():
        return None
    old = store.load(f"{artifact.judge}@{parent if parent in earlier else max(earlier)}")
    lines = {row["case"]: row for row in old.proof()}
    shared = [
        row
        for row in artifact.proof()
        if (line := lines.get(row["case"])) and len(line["gold"]) == len(row["gold"])
    ]
    if not any(value is not None for row in shared for value in row["gold"]):
        return Succession(before=old.ref, cases=0, test=None)
    new = rows_of(judge.answer, shared, "compiled")
    said = rows_of(judge.answer, [lines[row["case"]] for row in shared], "compiled")
    same = [replace(one, gold=two.gold, group=two.group) for one, two in zip(said, new, strict=True)]
    decision = artifact.card["decision"]
    test = contrast(
        (artifact.ref, [new]),
        (old.ref, [same]),
        judge.metric,
        judge.comparison,
        seed=int((artifact.card.get("optimizer") or {}).get("seed") or 0),
        alpha=2.0 * float(decision["tested"]),  # two-sided
    )
    return Succession(before=old.ref, cases=len(shared), test=test)
