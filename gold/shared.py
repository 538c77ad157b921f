"""Inputs that the rows of a gold set share by design (a policy, a rubric, a system prompt), and groups without them.

Such an input names no document, and rows that have it in common are no copies. The judge may name them (``common=``).
Otherwise they are found by counting: few texts, each of many groups, are in most of the rows.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..cases import Case, text_hash
from ..errors import plural
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
    empty = Counter(
        name
        for case in cases
        for name, value in case.inputs.items()
        if isinstance(value, str) and not value.strip()
    )
    return dict(sorted(empty.items()))


def shared_inputs(judge: "Judge", cases: Sequence[Case]) -> dict[str, str]:
    """Return the inputs that rows share by design, with what people are told: nothing where groups are the same."""
    shared: dict[str, str] = {}
    if judge.common is not None:
        return shared
    for name in (name for name in judge.input_fields if name not in judge.answer.unit_fields):
        rows, groups = Counter[str](), defaultdict[str, set[str]](set)  # by the text that the input has
        for case in cases:
            if text := text_of(case.inputs.get(name)):
                rows[text] += 1
                groups[text].add(case.group or case.id)
        often = [text for text, holders in groups.items() if len(holders) > HANDFUL]
        covered = sum(rows[text] for text in often)
        if often and len(often) <= MOST_TEXTS and covered >= COVERED * rows.total():
            matters = any(len(text) >= _LONG for text in often) or any(not case.group for case in cases)
            words = (
                f"{name} is the same in many rows ({plural(len(often), 'text')} in {covered} rows): taken as shared "
                "by design, it makes no rows belong together; common=() in the judge says otherwise"
            )
            shared[name] = words if matters else ""
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
