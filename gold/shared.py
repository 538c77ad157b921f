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
"""Rows share at most this many texts by design: more texts are documents."""
HANDFUL = 8
"""A document is in at most this many groups (rows, without a group column); a text of more groups is shared."""
COVERED = 0.8
"""An input is shared by design if at least this share of rows has a shared text."""
_LONG = 40
"""Characters from which a text could have made rows near copies."""


def empty_inputs(cases: Sequence[Case]) -> dict[str, int]:
    """Return input -> number of cases in which it is an empty text, by name, without inputs that are never empty."""
    empty = Counter[str]()
    for case in cases:
        for name, value in case.inputs.items():
            if isinstance(value, str) and not value.strip():
                empty[name] += 1
    return dict(sorted(empty.items()))


def shared_inputs(judge: "Judge", cases: Sequence[Case]) -> dict[str, str]:
    """Return the inputs that rows share by design, each with a note for people.

    The note is empty where sharing changes nothing. A judge that names its shared inputs (``common=``) has none to
    find.
    """
    shared: dict[str, str] = {}
    if judge.common is not None:
        return shared
    for name in judge.input_fields:
        if name in judge.answer.unit_fields:
            continue
        row_counts = Counter[str]()  # text -> rows that have it
        groups: defaultdict[str, set[str]] = defaultdict(set)  # text -> groups that have it
        for case in cases:
            text = text_of(case.inputs.get(name))
            if text:
                row_counts[text] += 1
                groups[text].add(case.group or case.id)
        shared_texts = [text for text, holders in groups.items() if len(holders) > HANDFUL]
        covered_rows = sum(row_counts[text] for text in shared_texts)
        if not shared_texts or len(shared_texts) > MOST_TEXTS:
            continue
        if covered_rows < COVERED * row_counts.total():
            continue
        could_join_rows = any(len(text) >= _LONG for text in shared_texts)
        lacks_groups = any(not case.group for case in cases)
        note = ""
        if could_join_rows or lacks_groups:
            texts = plural(len(shared_texts), "text")
            note = (
                f"{name} is the same in many rows ({texts} in {covered_rows} rows): taken as shared "
                "by design, it makes no rows belong together; common=() in the judge says otherwise"
            )
        shared[name] = note
    return shared


def text_of(value: Any) -> str:
    """Return a value as one normalised text, in which near copies are equal."""
    return " ".join(normalised(text) for text in strings(value))


def grouped(judge: "Judge", case: Case) -> Case:
    """Return a case with a group: its own, else the hash of its evidence without shared inputs, else its id."""
    if case.group:
        return case
    no_evidence = {*judge.answer.unit_fields, *(judge.common or ())}
    evidence = {name: text_of(value) for name, value in case.inputs.items() if name not in no_evidence}
    if not any(evidence.values()):
        return replace(case, group=case.id)
    content = "\n".join(f"{name}: {evidence[name]}" for name in sorted(evidence))
    return replace(case, group=text_hash(content)[:12])
