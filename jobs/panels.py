"""The models of a panel by themselves: how often each answered, how far they agree, and what each would score alone.

Nothing is asked for it: a verdict of a panel keeps the values that each member gave.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from ..cases import Case, Values
from ..evaluation.rows import JudgedRow
from ..evaluation.scale import Scale
from ..keeping.card_parts import PanelCard
from ..optimizers.objective import row_of
from ..programs.verdicts import Verdict


def member_names(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return the models of a panel that gave some verdicts; empty of a single model."""
    for verdict in verdicts:
        if verdict.members:
            return tuple(verdict.members)
    return ()


def member_rows(name: str, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> list[JudgedRow]:
    """Return the cases with what one member of a panel says of them alone."""
    rows: list[JudgedRow] = []
    for case, verdict in zip(cases, verdicts, strict=True):
        values = verdict.members.get(name)
        if values is None:
            values = (None,) * len(verdict.values)
        rows.append(row_of(case, replace(verdict, values=values)))
    return rows


def describe_panel(scale: Scale, verdicts: Sequence[Verdict]) -> PanelCard | None:
    """Return how often each member of a panel answered, and how far they agree; ``None`` of a single model."""
    names = member_names(verdicts)
    if not names:
        return None
    answered = dict.fromkeys(names, 0)
    shares: list[float] = []
    for verdict in verdicts:
        answers: list[Values] = []
        for name, values in verdict.members.items():
            if values is not None:
                answered[name] += 1
                answers.append(values)
        shares += _agreements(scale, answers)
    agreement = None
    if shares:
        agreement = sum(shares) / len(shares)
    return PanelCard(cases=len(verdicts), answered=answered, agreement=agreement)


def _agreements(scale: Scale, answers: Sequence[Values]) -> list[float]:
    """Return the likeness of the values of each two members, 0 to 1, unit by unit where both gave one."""
    shares: list[float] = []
    for first, second in combinations(answers, 2):
        for value, other_value in zip(first, second, strict=True):
            if value is not None and other_value is not None:
                shares.append(scale.credit(value, other_value))
    return shares
