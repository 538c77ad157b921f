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
from typing import Any, Final

from ...text.escaping import defuse, one_line
from ...text.ranking import CJK
from ..answers.portable import COMBINERS, READERS, by_number, member
from ..flows import FLOWS, Flow

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


@dataclass(frozen=True, kw_only=True)
class Part:
    """One condition of a query, or what it lacks."""

    category: str
    anchor: str = ""
    text: str


def anchored(constraints: Iterable[Any], query: str) -> list[Any]:
    """Return the constraints whose anchors stand in the query: in its words, or all of them in order, with gaps."""
    # Conditions are split ("not born in England or Portugal"), so an anchor may leave words out. Quotes, accents,
    # widths, capitals and spaces do not matter.
    words = _words(query)

    def stands(anchor: list[str]) -> bool:
        left = iter(words)
        return "".join(anchor) in "".join(words) or all(word in left for word in anchor)

    return [part for part in constraints if (anchor := _words(part.anchor)) and stands(anchor)]


def _words(text: str) -> list[str]:
    """Return the words of a text (of Chinese, the characters) without accents, widths and marks."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    bare = "".join(char for char in plain if not unicodedata.combining(char))
    return re.findall(rf"[{CJK}]|[^\W_{CJK}]+", re.sub("[’'ʼ`]", "", bare))


def parts_of(reply: Any, query: str) -> tuple[list[Part] | None, int]:
    """Return what a reply maps a query to, and how many of its constraints were rejected."""
    # Missing parts end it: constraints that stand beside them are not looked at. ``None`` stands for a reply without a
    # list of constraints.
    missing = reply.get("missing")
    named = [str(part).strip().lower() for part in missing] if isinstance(missing, list | tuple) else []
    if any(named):
        return [Part(category=MISSING, text=part) for part in dict.fromkeys(named) if part], 0
    listed = reply.get("constraints")
    if not isinstance(listed, list | tuple):
        return None, 0
    each = [{name: member(item, name) for name in ("category", "anchor", "text")} for item in listed]
    for fields in each:
        if not all(isinstance(value, str) for value in fields.values()) or fields["category"] not in PRIORITY:
            return None, 0
    kept = anchored([Part(**fields) for fields in each], query)
    return kept, len(listed) - len(kept)


def missing_of(items: Iterable[Any]) -> list[str]:
    """Return what is missing."""
    return [item.text for item in items if item.category == MISSING]


def constraints_of(items: Sequence[Any]) -> tuple[Part, ...]:
    """Return what a response has to meet: the constraints, or, of a query that lacks parts, what section 5.2 asks."""
    # Such a response says what is missing, asks for it or declines, and makes nothing up.
    parts = " and the ".join(missing_of(items))
    if not parts:
        return tuple(Part(category=item.category, anchor=item.anchor, text=item.text) for item in items)
    return (
        Part(category="subject", text=f"the response says that the {parts} is missing"),
        Part(category="action", text=f"it asks for the {parts}, or declines to go on without it"),
        Part(category="other", text=f"it does not make up the {parts}"),
    )


def line_of(constraint: Any) -> str:
    """Return a constraint on one line: ``time: it was published after 1980 [after 1980]``."""
    anchor = one_line(constraint.anchor).replace("[", "(").replace("]", ")")
    return f"{constraint.category}: {one_line(constraint.text)} [{anchor}]"


def parse_lines(text: str) -> dict[int, Part]:
    """Return the constraints of numbered lines by their numbers; other lines, as users may write, are left out."""
    parts: dict[int, Part] = {}
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        if match and match["category"] in PRIORITY:
            parts[int(match["n"])] = Part(
                category=match["category"], anchor=match["anchor"], text=match["text"]
            )
    return parts


def weighted_score(weights: Sequence[float], satisfied: Sequence[bool]) -> float:
    """Return W_s / W_t x 10 of one response, in [0, 10]."""
    if not weights or len(weights) != len(satisfied):
        raise ValueError(f"{len(weights)} constraints and {len(satisfied)} marks give no score")
    if all(satisfied):
        return TOP  # exactly, whatever the weights: Perfect is counted by it
    return TOP * sum(weight for weight, held in zip(weights, satisfied, strict=True) if held) / sum(weights)


def band(score: float) -> str:
    """Return what a score says: 9 and more ``strong``, more than 7 ``partial``, 7 and less ``major`` (section 4.2)."""
    # The paper gives 7 to both lower bands; here it is ``major``.
    return "strong" if score >= 9 else "partial" if score > 7 else "major"


def marks_of_lines(inputs: Mapping[str, Any], step: str) -> Flow:
    """Ask for the mark of each constraint; an empty response omits them all."""
    constraints = parse_lines(str(inputs["constraints"]))
    if constraints and not str(inputs["response"]).strip():
        empty = {"evidence": "the response is empty", "label": "omitted"}
        return {"marks": [{"n": n, **empty} for n in constraints]}
    marks = (yield step, inputs).get("marks")
    return {"marks": list(marks) if isinstance(marks, list | tuple) else []}


def mapped_by_steps(inputs: Mapping[str, Any], steps: Sequence[str], elements: Sequence[str]) -> Flow:
    """Ask what is missing, then for the core elements, then for the constraints; stop at once if something is."""
    lacking, core, extract = steps
    missing = (yield lacking, inputs).get("missing")
    if missing:
        return {"missing": missing, "constraints": []}
    known = yield core, inputs
    # What a model wrote goes into the next prompt: it must not look like a field of it.
    listed = defuse({name: list(known.get(name) or ()) for name in elements})
    return {"missing": [], "constraints": (yield extract, {**inputs, **listed}).get("constraints")}


def score_of_marks(
    inputs: Mapping[str, Any], steps: Sequence[str], weights: Mapping[str, float], labels: Collection[str]
) -> Flow:
    """Ask for the constraints, then for the marks; a constraint that was dropped is a light one that is not met."""
    mapping, judging = steps
    query = inputs["query"]
    items, rejected = parts_of((yield mapping, {"query": query}), query)
    constraints = constraints_of(items or ())
    if not constraints:
        return {"score": None, "reasoning": "no constraint that the query supports"}
    lines = defuse("\n".join(f"{number}. {line_of(part)}" for number, part in enumerate(constraints, 1)))
    marked = yield from marks_of_lines({**inputs, "constraints": lines}, judging)
    every = range(1, len(constraints) + 1)
    try:
        marks = by_number(marked["marks"], every, labels=labels)
    except ValueError as error:
        return {"score": None, "reasoning": str(error)}
    if set(marks) != set(every):
        return {"score": None, "reasoning": "not every constraint was marked"}
    satisfied, shown = [], [f"missing: {part}" for part in missing_of(items or ())]
    for number, part in enumerate(constraints, 1):
        label, evidence = (member(marks[number], name) for name in ("label", "evidence"))
        satisfied.append(label == "satisfied")
        shown.append(f"{PRIORITY[part.category]} {part.category} ({part.text}): {label}: {evidence or ''}")
    # Nobody knows whether a constraint was met that the query's words do not support: it is never Perfect.
    categories = [part.category for part in constraints] + ["other"] * rejected
    heavy = [weights[PRIORITY[category]] for category in categories]
    score = weighted_score(heavy, satisfied + [False] * rejected)
    if rejected:
        shown.append(f"{rejected} constraints rejected, each counted as an optional one that is not met")
    return {"score": score, "reasoning": "\n".join([*shown, f"{score:.2f}: {band(score)}"])}


def _mapped(
    rule: Mapping[str, Any], reply: Mapping[str, Any], texts: Sequence[str], places: Sequence[int]
) -> list[Any]:
    items, _ = parts_of(reply, texts[0])
    if items is None:
        raise ValueError("no list of constraints")
    kept = {json.dumps(asdict(item), sort_keys=True, ensure_ascii=False) for item in items}
    return [tuple(sorted(kept))]


FLOWS.update(
    {"marks of lines": marks_of_lines, "mapped by steps": mapped_by_steps, "score of marks": score_of_marks}
)
READERS["constraints"] = _mapped
# of one sample: several are refused by exports
COMBINERS["constraints"] = lambda votes, *_: (
    [json.loads(text) for text in next(iter(votes))] if votes else None
)
