"""In which order a program asks its steps, when it goes on, and what it ends as: plain functions of JSON values.

A flow is a generator: it yields the name of a step and that step's inputs, is sent the output fields of the reply, and
returns the output fields of the program. What differs between programs is given as settings, which are JSON values.
Only the standard library: exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..text.escaping import one_line
from .answers.portable import by_number, member

Flow: TypeAlias = Generator[tuple[str, Mapping[str, Any]], Any, Any]
"""Yields a step with its inputs, is sent what a reply says, and returns the program's own output fields."""


def once(inputs: Mapping[str, Any], step: str) -> Flow:
    """Ask one step, whose reply is the program's."""
    reply = yield step, inputs
    return dict(reply.items())


def tests_in_turn(inputs: Mapping[str, Any], field: str, steps: Sequence[str], ends: Sequence[str]) -> Flow:
    """Ask yes or no of each step until one fails, which gives its end; the last end is that of passing all."""
    lines: list[str] = []
    for step, failing in zip(steps, ends, strict=False):
        reply = yield step, inputs
        holds, why = reply.get(step), one_line(str(reply.get("reason") or ""))
        word = "yes" if holds is True else "no" if holds is False else "unusable"
        lines.append(f"{step}: {word}" + (f": {why}" if why else ""))
        if holds is not True:
            return {field: failing if holds is False else None, "reasoning": "\n".join(lines)}
    return {field: ends[-1], "reasoning": "\n".join(lines)}


def labels_in_two_stages(
    inputs: Mapping[str, Any], steps: Sequence[str], unit: str, field: str, refined: str
) -> Flow:
    """Ask for a label of each numbered line, then again, if there are any, of the lines that got ``refined``."""
    first, second = steps
    labels = labels_of((yield first, inputs), field, inputs[unit])
    lines = lines_of_numbers(inputs[unit], [n for n, label in labels.items() if label == refined])
    finer: dict[int, Any] = {}
    if lines:
        finer = labels_of((yield second, {**inputs, unit: lines}), field, lines, inputs[unit])
    sure = ((n, finer.get(n) if label == refined else label) for n, label in sorted(labels.items()))
    return {field: numbered_labels(sure)}


def until_two_agree(inputs: Mapping[str, Any], step: str, field: str, most: int) -> Flow:
    """Ask the same again as long as no value came twice, at most so often."""
    values: Counter[Any] = Counter()
    agreed = None
    while agreed is None and values.total() < most:
        value = (yield step, inputs).get(field)
        values[value] += 1
        agreed = value if value is not None and values[value] > 1 else None
    return {field: agreed, "reasoning": "ratings: " + ", ".join(map(str, values.elements()))}


def most_frequent(
    inputs: Mapping[str, Any], step: str, field: str, draws: int, allowed: Collection[str]
) -> Flow:
    """Ask the same so often; among equally frequent values the earliest counts."""
    drawn: Counter[str] = Counter()
    for _ in range(draws):
        value = (yield step, inputs).get(field)
        drawn.update([value] if value in allowed else [])
    words = ", ".join(f"{count} {value}" for value, count in drawn.most_common()) or "no usable draw"
    return {field: next((value for value, _ in drawn.most_common()), None), "reasoning": words}


def labels_of(reply: Any, field: str, lines: Any, every_line: Any = "") -> dict[int, Any]:
    """Return number -> label of the numbered lines that were shown; nothing if the reply has other numbers."""
    try:
        items = by_number(reply.get(field), numbers_of_lines(lines), numbers_of_lines(every_line))
    except ValueError:
        return {}
    return {number: member(item, "label") for number, item in items.items()}


def numbers_of_lines(lines: Any) -> list[int]:
    """Return the numbers of numbered lines."""
    heads = [line.partition(". ")[0] for line in str(lines).split("\n")]
    return [int(head) for head in heads if head.isdecimal()]


def numbered_labels(pairs: Iterable[tuple[int, Any]]) -> list[dict[str, Any]]:
    """Return an item for each number with a label."""
    return [{"n": n, "label": label} for n, label in pairs if label]


def lines_of_numbers(lines: Any, numbers: Iterable[int]) -> str:
    """Return those of some numbered lines, under their own numbers."""
    wanted = set(map(str, numbers))
    return "\n".join(line for line in str(lines).split("\n") if line.partition(". ")[0] in wanted)


FLOWS: Final[dict[str, Callable[..., Flow]]] = {
    "once": once,
    "tests in turn": tests_in_turn,
    "labels in two stages": labels_in_two_stages,
    "until two agree": until_two_agree,
    "most frequent": most_frequent,
}
"""Name -> (inputs, settings by name) -> the flow. Modules with flows of their own add them."""
