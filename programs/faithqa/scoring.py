"""From a query to its constraints, from those to lines and marks, and from marks to a score (FAITHQA section 4).

Constraints are anchored in the query's words and written as lines. A query that lacks what it speaks of has no
constraints of its own: it is refused, and the missing parts are named. What a response to it should do is always the
same (section 5.2), see :func:`constraints_of`. Only the standard library: exports carry this source along.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Protocol

from ...text.escaping import defuse, one_line
from ...text.ranking import CJK
from ..answers.portable import COMBINERS, READERS, Reply, Rule, Spec, Votes, by_number, member
from ..flows import FLOWS, Flow, Inputs

PRIORITY: Final[Mapping[str, str]] = {
    "location": "mandatory",
    "time": "mandatory",
    "subject": "mandatory",
    "action": "mandatory",
    "qualifier": "important",
    "quantity": "important",
    "other": "optional",
}
"""Category -> the set that a constraint belongs to: C_m, C_i or C_o (section 4.1)."""
TOP: Final = 10.0
"""The score of a response that satisfies every constraint: Perfect."""
MISSING: Final = "missing"
"""The category of an item that is no constraint: its text names what the query lacks."""
_LINE: Final = re.compile(r"^(?P<n>\d+)\. (?P<category>\w+): (?P<text>.*) \[(?P<anchor>[^\[\]]*)\]$")


class Constraint(Protocol):
    """One condition of a query, or what it lacks."""

    @property
    def category(self) -> str:
        """The kind of condition, or ``missing``."""

    @property
    def anchor(self) -> str:
        """The words of the query that set it."""

    @property
    def text(self) -> str:
        """The condition as a sentence, or the name of the missing part."""


@dataclass(frozen=True, kw_only=True)
class StatedConstraint:
    """A constraint, or a missing part of the query, as a reply states it."""

    category: str
    anchor: str = ""
    text: str


def is_anchored(constraint: Constraint, query: str) -> bool:
    """Return whether the anchor of a constraint stands in the query: all of its words, in order, perhaps with gaps."""
    # Conditions are split ("not born in England or Portugal"), so an anchor may leave words out. Quotes, accents,
    # widths, capitals and spaces do not matter.
    query_words = _plain_words(query)
    anchor_words = _plain_words(constraint.anchor)
    if not anchor_words:
        return False
    unbroken = "".join(anchor_words) in "".join(query_words)
    return unbroken or _stands_in_order(anchor_words, query_words)


def unanchored(constraints: Iterable[StatedConstraint], query: str) -> list[StatedConstraint]:
    """Return the constraints whose anchors do not stand in the query: they are paraphrased, or not set by it."""
    without_anchor: list[StatedConstraint] = []
    for constraint in constraints:
        if constraint.category != MISSING and not is_anchored(constraint, query):
            without_anchor.append(constraint)
    return without_anchor


def _stands_in_order(words: Sequence[str], text_words: Sequence[str]) -> bool:
    """Return whether words stand in a text in their order, with gaps."""
    place = 0
    for text_word in text_words:
        if place < len(words) and text_word == words[place]:
            place += 1
    return place == len(words)


def _plain_words(text: str) -> list[str]:
    """Return the words of a text (of Chinese, the characters) without accents, widths and marks."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    bare = "".join(char for char in plain if not unicodedata.combining(char))
    return re.findall(rf"[{CJK}]|[^\W_{CJK}]+", re.sub("[’'ʼ`]", "", bare))


def stated_constraints(reply: Reply) -> list[StatedConstraint] | None:
    """Return the missing parts that a reply names, else its constraints; ``None`` for one without a list of these."""
    # Where a reply names missing parts, constraints that stand beside them are not looked at.
    missing = _missing_parts(reply.get("missing"))
    if missing:
        return missing
    items = reply.get("constraints")
    if not isinstance(items, list | tuple):
        return None
    constraints: list[StatedConstraint] = []
    for item in items:
        category, anchor, text = member(item, "category"), member(item, "anchor"), member(item, "text")
        if not isinstance(category, str) or not isinstance(anchor, str) or not isinstance(text, str):
            return None
        if category not in PRIORITY:
            return None
        constraints.append(StatedConstraint(category=category, anchor=anchor, text=text))
    return constraints


def _missing_parts(names: object) -> list[StatedConstraint]:
    """Return the parts that a reply names as missing, each once."""
    if not isinstance(names, list | tuple):
        return []
    parts: dict[str, StatedConstraint] = {}
    for name in names:
        plain_name = str(name).strip().lower()
        if plain_name:
            parts.setdefault(plain_name, StatedConstraint(category=MISSING, text=plain_name))
    return list(parts.values())


def missing_of(items: Iterable[Constraint]) -> list[str]:
    """Return the names of the missing parts among some constraints."""
    names: list[str] = []
    for item in items:
        if item.category == MISSING:
            names.append(item.text)
    return names


def constraints_of(items: Sequence[Constraint]) -> tuple[StatedConstraint, ...]:
    """Return the constraints that a response has to meet; of a query that lacks parts those of section 5.2."""
    # A response to such a query says what is missing, asks for it or declines, and makes nothing up.
    missing = " and the ".join(missing_of(items))
    if not missing:
        return tuple(
            StatedConstraint(category=item.category, anchor=item.anchor, text=item.text) for item in items
        )
    return (
        StatedConstraint(category="subject", text=f"the response says that the {missing} is missing"),
        StatedConstraint(
            category="action", text=f"it asks for the {missing}, or declines to go on without it"
        ),
        StatedConstraint(category="other", text=f"it does not make up the {missing}"),
    )


def line_of(constraint: Constraint) -> str:
    """Return a constraint on one line: ``time: it was published after 1980 [after 1980]``."""
    anchor = one_line(constraint.anchor).replace("[", "(").replace("]", ")")
    return f"{constraint.category}: {one_line(constraint.text)} [{anchor}]"


def parse_lines(text: str) -> dict[int, StatedConstraint]:
    """Return the constraints of numbered lines by their numbers; other lines, as users may write, are left out."""
    constraints: dict[int, StatedConstraint] = {}
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        if match and match["category"] in PRIORITY:
            constraints[int(match["n"])] = StatedConstraint(
                category=match["category"], anchor=match["anchor"], text=match["text"]
            )
    return constraints


def weighted_score(weights: Sequence[float], satisfied: Sequence[bool]) -> float:
    """Return W_s / W_t x 10 of one response, in [0, 10]."""
    if not weights or len(weights) != len(satisfied):
        raise ValueError(f"{len(weights)} constraints and {len(satisfied)} marks give no score")
    if all(satisfied):
        return TOP  # exactly, whatever the weights: Perfect is counted by it
    satisfied_weights: list[float] = []
    for weight, is_met in zip(weights, satisfied, strict=True):
        if is_met:
            satisfied_weights.append(weight)
    return TOP * sum(satisfied_weights) / sum(weights)


def band(score: float) -> str:
    """Return the band of a score: from 9 on ``strong``, above 7 ``partial``, up to 7 ``major`` (section 4.2)."""
    # The paper gives 7 to both lower bands; here it is ``major``.
    if score >= 9:
        return "strong"
    if score > 7:
        return "partial"
    return "major"


def marks_of_lines(inputs: Inputs, step: str) -> Flow:
    """Ask for the mark of each constraint; an empty response omits them all."""
    constraints = parse_lines(str(inputs["constraints"]))
    if constraints and not str(inputs["response"]).strip():
        empty = {"evidence": "the response is empty", "label": "omitted"}
        return {"marks": [{"n": n, **empty} for n in constraints]}
    reply = yield step, inputs
    marks = reply.get("marks")
    return {"marks": list(marks) if isinstance(marks, list | tuple) else []}


def mapped_by_steps(inputs: Inputs, steps: Sequence[str], elements: Sequence[str]) -> Flow:
    """Ask for missing parts of the query, then for its core elements, then for its constraints.

    Where a part is missing, nothing further is asked.
    """
    missing_step, core_step, extract_step = steps
    missing_reply = yield missing_step, inputs
    missing = missing_reply.get("missing")
    if missing:
        return {"missing": missing, "constraints": []}
    core_reply = yield core_step, inputs
    core_elements: dict[str, list[object]] = {}
    for name in elements:
        texts = core_reply.get(name)
        core_elements[name] = list(texts) if isinstance(texts, list | tuple) else []
    # A model's text goes into the next prompt: it must not look like a field of it.
    extract_reply = yield extract_step, {**inputs, **defuse(core_elements)}
    return {"missing": [], "constraints": extract_reply.get("constraints")}


def score_of_marks(
    inputs: Inputs, steps: Sequence[str], weights: Mapping[str, float], labels: Collection[str]
) -> Flow:
    """Ask for the constraints, then for the marks; constraints whose anchors are not in the query are counted."""
    mapping_step, judging_step = steps
    query = str(inputs["query"])
    mapping_reply = yield mapping_step, {"query": query}
    stated = stated_constraints(mapping_reply) or []
    constraints = constraints_of(stated)
    if not constraints:
        return {"score": None, "reasoning": "no constraint"}
    unanchored_constraints = unanchored(stated, query)
    lines = [f"{number}. {line_of(constraint)}" for number, constraint in enumerate(constraints, 1)]
    defused_lines = defuse("\n".join(lines))
    marked = yield from marks_of_lines({**inputs, "constraints": defused_lines}, judging_step)
    numbers = range(1, len(constraints) + 1)
    try:
        marks = by_number(marked["marks"], numbers, labels=labels)
    except ValueError as error:
        return {"score": None, "reasoning": str(error)}
    if set(marks) != set(numbers):
        return {"score": None, "reasoning": "not every constraint was marked"}
    reasons = [f"missing: {name}" for name in missing_of(stated)]
    constraint_weights: list[float] = []
    satisfied: list[bool] = []
    for number, constraint in enumerate(constraints, 1):
        label, evidence = member(marks[number], "label"), member(marks[number], "evidence")
        priority = PRIORITY[constraint.category]
        constraint_weights.append(weights[priority])
        satisfied.append(label == "satisfied")
        reason = f"{priority} {constraint.category} ({constraint.text}): {label}: {evidence or ''}"
        if constraint in unanchored_constraints:
            reason += f" (the query does not say {constraint.anchor!r})"
        reasons.append(reason)
    score = weighted_score(constraint_weights, satisfied)
    reasons.append(f"{_count_by_priority(constraints, satisfied)}; {score:.2f}: {band(score)}")
    return {"score": score, "reasoning": "\n".join(reasons), "unanchored": len(unanchored_constraints)}


def _count_by_priority(constraints: Sequence[StatedConstraint], satisfied: Sequence[bool]) -> str:
    """Return how many constraints of each priority are satisfied (Table 7): ``mandatory 2/3, optional 0/1``."""
    met: dict[str, list[bool]] = {}
    for constraint, is_met in zip(constraints, satisfied, strict=True):
        met.setdefault(PRIORITY[constraint.category], []).append(is_met)
    words: list[str] = []
    for priority in dict.fromkeys(PRIORITY.values()):
        if priority in met:
            words.append(f"{priority} {sum(met[priority])}/{len(met[priority])}")
    return ", ".join(words)


def _read_constraints(rule: Rule, reply: Reply, texts: Sequence[str], places: Sequence[int]) -> list[object]:
    """Return the value of a query, its only unit: the canonical texts of its constraints."""
    items = stated_constraints(reply)
    if items is None:
        raise ValueError("no list of constraints")
    texts_of_items = {json.dumps(asdict(item), sort_keys=True, ensure_ascii=False) for item in items}
    return [tuple(sorted(texts_of_items))]


def _combine_constraints(votes: Votes, spec: Spec, samples: int, threshold: float) -> list[object] | None:
    """Return the constraints of one sample; several samples are refused by exports."""
    if not votes:
        return None
    return [json.loads(text) for text in next(iter(votes))]


FLOWS["marks of lines"] = marks_of_lines
FLOWS["mapped by steps"] = mapped_by_steps
FLOWS["score of marks"] = score_of_marks
READERS["constraints"] = _read_constraints
COMBINERS["constraints"] = _combine_constraints
