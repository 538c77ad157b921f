"""Judged cases as a page shows them, and what became of each of them from one judge to another."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..cases import Case, Value
from ..evaluation.measured import UNANSWERED
from ..evaluation.rows import Row
from ..keeping.artifact_card import rows_of
from ..programs.answers.base import Answer
from .document import Cases, Tone, text_of

SYSTEMS = ("basic", "compiled")
"""Who answered in a proof."""
KINDS: tuple[tuple[str, Tone, str], ...] = (
    ("corrected", "good", "wrong before, right after compiling"),
    ("nearer", "good", "nearer to what people said after compiling"),
    ("broken", "bad", "right before, wrong after compiling"),
    ("farther", "bad", "farther from what people said after compiling"),
    ("still wrong", "bad", "wrong before and after"),
    ("no nearer", "bad", "off before and after, by as much"),
    ("abstained", "open", "a model answered, and the answer is unusable"),
    ("failed", "open", "the machinery failed: network, quota"),
    ("right", "good", "right before and after"),
    ("unlabelled", "open", "nobody labelled it"),
)
"""All that can have become of a unit or a case; of what can not happen with a kind of answer, nothing is shown."""
_ORDER = [name for name, _, _ in KINDS]


def paired_cases(
    answer: Answer, proof: Sequence[Mapping[str, Any]], known: Mapping[str, Case], note: str = ""
) -> Cases:
    """Return the cases of a proof, the most telling first."""
    befores, afters = (rows_of(answer, proof, system) for system in SYSTEMS)
    cases = [
        _paired_case(answer, line, before, after, known.get(after.id))
        for line, before, after in zip(proof, befores, afters, strict=True)
    ]
    units = Counter(unit["became"] for case in cases for unit in case["units"])
    cases.sort(key=lambda case: min(map(_ORDER.index, case["kinds"])))
    return Cases(systems=SYSTEMS, kinds=KINDS, units=units, cases=cases, note=note)


def _paired_case(
    answer: Answer, line: Mapping[str, Any], before: Row, after: Row, case: Case | None
) -> dict[str, Any]:
    """Return a line of a proof: of each unit what people and both prompts said, and what became of it."""
    texts = answer.units(case.inputs) if case is not None else ("",) * len(after.gold)
    sure = [_sure(answer, line[system]) for system in SYSTEMS]
    units = []
    for place, text in enumerate(texts):
        gold, said = after.gold[place], (before.predicted[place], after.predicted[place])
        # what is wanted of a generator is the same for every document, and nobody said it
        people = None if answer.scale.row_type is type(None) else gold
        units.append(
            {
                # a single unit's text is one of the inputs, and stands there
                "text": text if len(texts) > 1 else "",
                "gold": _text(answer, people),
                "said": [_text(answer, value) for value in said],
                "names": [_name(answer, people, ""), *(_name(answer, value, UNANSWERED) for value in said)],
                "sure": [shares[place] for shares in sure],
                "became": _became(answer, gold, *said),
            }
        )
    kinds = {unit["became"] for unit in units} | {line[system]["status"] for system in SYSTEMS}
    return {
        "id": after.id,
        "group": after.group,
        "source": case.source if case is not None else "",
        "kinds": [name for name in _ORDER if name in kinds - {"right"}] or ["right"],
        "inputs": [[name, text_of(value)] for name, value in case.inputs.items()] if case else [],
        "units": units,
        "notes": [note_json(system, line[system]) for system in SYSTEMS],
    }


def _text(answer: Answer, value: Value | None) -> str:
    return "" if value is None else answer.scale.text(value)


def _name(answer: Answer, value: Value | None, none: str) -> str:
    """Return the name under which a value is counted in the tables of what was taken for what."""
    return none if value is None else answer.scale.category(value)


def _sure(answer: Answer, line: Mapping[str, Any]) -> list[float | None]:
    """Return how sure each answer is, 0 to 1: by the probability of its side, or by the votes of several samples."""
    if not line.get("probability"):
        return list(line["agreement"]) if line["drawn"] > 1 else [None] * len(line["values"])
    scale, sure = answer.scale, list[float | None]()
    for said, probability in zip(line["values"], line["probability"], strict=True):
        value = None if said is None else scale.of_json(said)
        positive = value is not None and scale.probability({value: 1.0}) == 1
        sure.append(None if probability is None else round(probability if positive else 1 - probability, 3))
    return sure


def _became(answer: Answer, gold: Value | None, before: Value | None, after: Value | None) -> str:
    if gold is None:
        return "unlabelled"
    if (kind := answer.scale).right(gold, gold) is not None:
        first, second = (value is not None and bool(kind.right(gold, value)) for value in (before, after))
        return {(0, 1): "corrected", (1, 0): "broken", (0, 0): "still wrong", (1, 1): "right"}[first, second]
    near, nearer = answer.scale.credit(gold, before), answer.scale.credit(gold, after)
    if near == nearer:
        return "right" if near == 1 else "no nearer"
    return "nearer" if nearer > near else "farther"


def note_json(system: str, line: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a system said of a whole case as JSON values for :class:`Cases`."""
    words = {name: line.get(name) or "" for name in ("reasoning", "error")}
    return {"system": system, "status": line["status"], **words}
