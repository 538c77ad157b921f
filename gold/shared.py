"""Inputs that the rows of a gold set share by design (a policy, a rubric, a system prompt), and groups without them.

Such an input names no document, and rows that have it in common are no copies. The judge may name them (``common=``).
Otherwise they are found by counting: few texts, each of many groups, are in most of the rows.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

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
        empty.update(empty_inputs_of(case))
    return dict(sorted(empty.items()))


def empty_inputs_of(case: Case) -> list[str]:
    """Return the names of the inputs of a case that are an empty text."""
    names: list[str] = []
    for name, value in case.inputs.items():
        if isinstance(value, str) and not value.strip():
            names.append(name)
    return names


def shared_inputs(judge: "Judge", cases: Sequence[Case]) -> dict[str, str]:
    """Return the inputs that rows share by design, each with a note for people.

    The note is empty where sharing changes nothing. A judge that names its shared inputs (``common=``) has none to
    find.
    """
    shared: dict[str, str] = {}
    if judge.common is not None:
        return shared
    lacks_groups = not all(case.group for case in cases)
    for name in judge.input_fields:
        if name in judge.answer.unit_fields:
            continue
        rows_by_text = _shared_texts(name, cases)
        if not rows_by_text:
            continue
        note = ""
        if lacks_groups or max(map(len, rows_by_text)) >= _LONG:
            texts = plural(len(rows_by_text), "text")
            note = (
                f"{name} is the same in many rows ({texts} in {rows_by_text.total()} rows): taken as shared "
                "by design, it makes no rows belong together; common=() in the judge says otherwise"
            )
        shared[name] = note
    return shared


def _shared_texts(name: str, cases: Sequence[Case]) -> Counter[str]:
    """Return text -> its rows, for the texts of an input that are shared by design; empty if there are none."""
    row_counts = Counter[str]()  # text -> rows that have it
    groups: defaultdict[str, set[str]] = defaultdict(set)  # text -> groups that have it
    for case in cases:
        text = joined_text(case.inputs.get(name))
        if text:
            row_counts[text] += 1
            groups[text].add(case.group or case.id)
    shared_counts = Counter[str]()
    for text, text_groups in groups.items():
        if len(text_groups) > HANDFUL:
            shared_counts[text] = row_counts[text]
    is_shared_by_design = len(shared_counts) <= MOST_TEXTS
    if is_shared_by_design and shared_counts.total() >= COVERED * row_counts.total():
        return shared_counts
    return Counter[str]()


def joined_text(value: object) -> str:
    """Return a value as one normalised text, in which near copies are equal."""
    return " ".join(normalised(text) for text in strings(value))


def group_of(judge: "Judge", case: Case) -> str:
    """Return the group of a case: its own, else the hash of its evidence without shared inputs, else its id."""
    if case.group:
        return case.group
    no_evidence = set(judge.answer.unit_fields).union(judge.common or ())
    evidence: dict[str, str] = {}
    for name, value in case.inputs.items():
        if name not in no_evidence:
            evidence[name] = joined_text(value)
    if not any(evidence.values()):
        return case.id
    content = "\n".join(f"{name}: {evidence[name]}" for name in sorted(evidence))
    return text_hash(content)[:12]
