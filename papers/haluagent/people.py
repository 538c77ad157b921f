"""What people say of the sample of a benchmark (Table 2): how often items are right with and without verification.

The sample holds as many items that passed as items that did not, so without verification each counts by how many
of its kind were written. An item is right if people say yes to all three questions about it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import GoldError, UsageError
from ...evaluation.agreement import rater_agreement
from ...evaluation.shares import Share, shares
from ...gold.goldset import Gold
from ...gold.readers import read
from ...gold.strata import rating_columns
from ...programs.haluagent.judges import VERIFIERS
from ...programs.judge import Judge


@dataclass(frozen=True, kw_only=True)
class PeopleCheck:
    """One column of the table."""

    verified: Share  # the share of items that passed which people call right
    written: Share  # the same of all that was written
    rejected: Share  # the same of what did not pass
    alpha: (
        float | None
    )  # Krippendorff's alpha of the raters; ``None`` with one rater, and of all questions together
    unlabelled: int  # items of the sample that people did not label, or not as one


def people_check(folder: Path, people: Path) -> dict[str, PeopleCheck]:
    """Return the column of each check, and of all together."""
    try:
        passed = json.loads((folder / "check" / "passed.json").read_text(encoding="utf-8"))
        overall = json.loads((folder / "CARD.json").read_text(encoding="utf-8"))["acceptance"]["overall"]
    except (OSError, ValueError, KeyError) as error:
        hint = "name the folder of jurist generate haluagent --sample N"
        raise UsageError(f"{folder} is no benchmark with a sample for people", hint=hint) from error
    kinds = {True: overall["count"], False: overall["of"] - overall["count"]}
    weight = {kind: of / max(1, sum(one is kind for one in passed.values())) for kind, of in kinds.items()}
    groups: dict[str, str] = {}
    right: dict[str, dict[str, bool]] = {}
    alphas: dict[str, float | None] = {"all": None}
    for judge in VERIFIERS:
        gold = Gold.load(people / f"{judge.name}.jsonl", judge, labelled=False)
        names = dict(_items(folder / "check" / f"{judge.name}.jsonl", judge, groups))
        right[judge.name] = _right(gold, names)
        columns, of = rating_columns(gold.cases)
        several = len(columns) > 1
        alphas[judge.name] = (
            rater_agreement(columns, judge.comparison, groups=of).alpha.value if several else None
        )
    common = set.intersection(*(set(found) for found in right.values()))
    right["all"] = {name: all(found[name] for found in right.values()) for name in common}
    return {
        name: PeopleCheck(
            **_rates(right[name], passed, weight, groups),
            alpha=alphas[name],
            unlabelled=len(passed) - len(right[name]),
        )
        for name in right
    }


def _items(sheet: Path, judge: Judge, groups: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each case of a sheet with the items that it asks about; items of one question share its answer."""
    found: dict[str, list[str]] = {}
    for _, row in read(sheet).rows:
        groups[row["id"]] = row["group"]
        found.setdefault(judge.case(row).id, []).append(row["id"])
    yield from found.items()


def _right(gold: Gold, names: Mapping[str, list[str]]) -> dict[str, bool]:
    """Return item -> whether people say yes, of those that they labelled."""
    found = {
        name: case.gold[0] == "yes"
        for case in gold.cases
        if case.gold and case.gold[0] is not None
        for name in names.get(case.id, ())
    }
    if not found:
        hint = "give the labelled sheets of this benchmark, as jurist gold import writes them"
        raise GoldError("it labels no item of the sample", path=gold.source, hint=hint)
    return found


def _rates(
    right: Mapping[str, bool],
    passed: Mapping[str, bool],
    weight: Mapping[bool, float],
    groups: Mapping[str, str],
) -> dict[str, Any]:
    def counted(kinds: tuple[bool, ...]) -> list[tuple[str, float, float]]:
        each = weight if len(kinds) > 1 else dict.fromkeys(kinds, 1.0)
        return [
            (groups[one], each[passed[one]] * yes, each[passed[one]])
            for one, yes in right.items()
            if passed[one] in kinds
        ]

    parts = {"verified": (True,), "written": (True, False), "rejected": (False,)}
    return dict(shares({name: counted(kinds) for name, kinds in parts.items()}))
