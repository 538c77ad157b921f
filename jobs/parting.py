"""A split in view of earlier versions of the judge, and whether anything can be shown on its test."""

from collections.abc import Sequence
from typing import Any

from ..errors import TooFewGroupsError
from ..evaluation.power import fewest_groups
from ..gold.goldset import Gold
from ..gold.splits import Split, shared_hint
from ..keeping.artifacts import Store
from ..programs.judge import Judge

_TRIED = ((0.3, 0.2, 0.5), (0.2, 0.2, 0.6), (0.15, 0.15, 0.7), (0.1, 0.1, 0.8))
"""Splits that are offered where the test has too few groups, the one with the smallest test first."""


def earlier_parts(
    store: Store, judge: Judge, seed: int, shares: Sequence[float] | None, *, holdout: bool = False
) -> dict[str, str]:
    """Return the part that each group had in the user's versions of a judge, by the hash of its name.

    The newest version that knows a group counts. Versions of another seed, of other shares than those asked for, or
    with a test of their own where there is none now (or the reverse), were another split.
    """
    found: dict[str, str] = {}
    for one in reversed(store.list(judge.name)):
        about: dict[str, Any] = dict(one.card.get("gold") or {})
        asked = tuple(about.get("shares") or ())
        same = shares is None or [round(share, 6) for share in asked] == [round(share, 6) for share in shares]
        seeded = (one.card.get("optimizer") or {}).get("seed") == seed
        if not one.shipped and same and seeded and holdout == bool(about.get("holdout")):
            for part, names in (about.get("parts") or {}).items():
                for name in names:
                    found.setdefault(name, part)
    return found


def check_showable(split: Split, gold: Gold, level: float) -> None:
    """Refuse a test on which nothing can be shown, before anything is spent, with what would do."""
    groups, needed = len({case.group for case in split.test}), fewest_groups(level)
    if groups >= needed:
        return
    raise TooFewGroupsError(
        f"the sealed test has {groups} groups ({len(split.test)} cases), and nothing can be shown on fewer than "
        f"{needed} at the level {level:.3g}: nothing was asked and nothing was spent",
        hint=f"{_enough(split, gold, needed)}; --anyway goes on",
    )


def _enough(split: Split, gold: Gold, needed: int) -> str:
    """Return the split that would do, else the number of groups that would."""
    if split.holdout:
        return f"label rows of {needed} groups or more in {split.holdout}"
    total = len({case.group for part in (split.train, split.dev, split.test) for case in part})
    for shares in _TRIED:
        if shares[2] > split.shares[2] and total > needed:
            again = gold.split(split.seed, shares)
            if len({case.group for case in again.test}) >= needed:
                return "--split {:.0f}/{:.0f}/{:.0f} gives it enough".format(
                    *(100 * share for share in shares)
                )
    wanted = round(needed / max(split.shares[2], 0.5) + 0.5)
    lacking = max(wanted - total, 1)
    more = (
        f"label rows of {lacking} more groups: there are {total}, and about {wanted} do with --split 30/20/50"
    )
    return f"{more}; {hint}" if (hint := shared_hint(gold)) else more
