"""What a gold set holds, and the inputs that its rows share by design (a policy, a rubric, a system prompt).

Such an input names no document, and rows that have it in common are no copies. The judge may name them (``common=``).
Otherwise they are found by counting: few texts, each of many groups, are in most of the rows.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..cases import Case, text_hash
from ..text.wording import normalised, strings

if TYPE_CHECKING:
    from ..programs.judge import Judge

MOST_TEXTS = 12
"""Texts that rows share by design, at most: so few groups could hardly prove anything, more are documents."""
HANDFUL = 8
"""Groups (rows, without a group column) that a document may be in; a text of more is shared by many."""
COVERED = 0.8
"""The share of rows that have such a text, from which the input is shared by design."""
_LONG = 40
"""Characters from which a text could have made rows near copies."""


def empty_inputs(cases: Sequence[Case]) -> dict[str, int]:
    """Return how many cases have an input of text that is empty, by its name."""
    found = Counter(
        name
        for case in cases
        for name, value in case.inputs.items()
        if isinstance(value, str) and not value.strip()
    )
    return dict(sorted(found.items()))


def shared_inputs(judge: "Judge", cases: Sequence[Case]) -> dict[str, str]:
    """Return the inputs that rows share by design, with what people are told: nothing where groups are the same."""
    shared: dict[str, str] = {}
    for name in judge.input_fields if judge.common is None else ():
        holders: dict[str, list[Case]] = {}
        for case in cases if name not in judge.answer.unit_fields else ():
            if text := text_of(case.inputs.get(name)):
                holders.setdefault(text, []).append(case)
        groups = {text: {one.group or one.id for one in held} for text, held in holders.items()}
        often = {text: len(holders[text]) for text, some in groups.items() if len(some) > HANDFUL}
        rows = sum(often.values())
        if often and len(often) <= MOST_TEXTS and rows >= COVERED * sum(map(len, holders.values())):
            matters = any(len(text) >= _LONG for text in often) or any(not case.group for case in cases)
            texts = "1 text" if len(often) == 1 else f"{len(often)} texts"
            shared[name] = matters * (
                f"{name} is the same in many rows ({texts} in {rows} rows): taken as shared by design, it makes "
                "no rows belong together; common=() in the judge says otherwise"
            )
    return shared


def text_of(value: Any) -> str:
    """Return a value as one text, as texts are compared."""
    return " ".join(normalised(text) for text in strings(value))


def grouped(judge: "Judge", case: Case) -> Case:
    """Return a case with a group: its own, else the hash of its evidence without what is common, else its id."""
    if case.group:
        return case
    apart = (*judge.answer.unit_fields, *(judge.common or ()))
    evidence = {name: text_of(value) for name, value in case.inputs.items() if name not in apart}
    if not any(evidence.values()):
        return replace(case, group=case.id)
    content = "\n".join(f"{name}: {evidence[name]}" for name in sorted(evidence))
    return replace(case, group=text_hash(content)[:12])
