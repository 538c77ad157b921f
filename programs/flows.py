"""Flows: the order in which a program asks its steps, when it goes on, and its result, as functions of JSON values.

A flow is a generator: it yields the name of a step and that step's inputs, is sent the output fields of the reply, and
returns the output fields of the program. What differs between programs is given as settings, which are JSON values.
Only the standard library: exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..text.escaping import one_line
from .answers.portable import Reply, by_number, member

Inputs: TypeAlias = Mapping[str, object]
"""Input field -> its value, as the prompt shows it."""
Flow: TypeAlias = Generator[tuple[str, Inputs], Reply, Any]
"""Yields a step with its inputs, is sent the fields of the reply, and returns the program's own output fields."""


def once(inputs: Inputs, step: str) -> Flow:
    """Ask one step, whose reply is the program's."""
    reply = yield step, inputs
    return dict(reply.items())


def tests_in_turn(inputs: Inputs, field: str, steps: Sequence[str], ends: Sequence[str]) -> Flow:
    """Ask steps for yes or no until one says no: the answer is then its end, and the last end if all say yes.

    Args:
        field: the output field of the answer; ``None`` is its value where a reply is unusable.
        steps: the steps, each with an output field of its own name.
        ends: the answer for a no of each step, and one more for yes of all.
    """
    lines: list[str] = []
    for step, end_of_no in zip(steps, ends, strict=False):
        reply = yield step, inputs
        passed = reply.get(step)
        passed_word = "unusable"
        if isinstance(passed, bool):
            passed_word = "yes" if passed else "no"
        line = f"{step}: {passed_word}"
        reason = one_line(str(reply.get("reason") or ""))
        if reason:
            line += f": {reason}"
        lines.append(line)
        if passed is not True:
            end = end_of_no if passed is False else None
            return {field: end, "reasoning": "\n".join(lines)}
    return {field: ends[-1], "reasoning": "\n".join(lines)}


def labels_in_two_stages(inputs: Inputs, steps: Sequence[str], unit: str, field: str, refined: str) -> Flow:
    """Ask for a label of each numbered line; lines that got the label ``refined`` are asked about in a second step."""
    first_step, second_step = steps
    first_reply = yield first_step, inputs
    labels = read_labels(first_reply, field, inputs[unit])
    refined_numbers: list[int] = []
    for number, label in labels.items():
        if label == refined:
            refined_numbers.append(number)
    refined_lines = select_lines(inputs[unit], refined_numbers)
    finer_labels: dict[int, object] = {}
    if refined_lines:
        second_reply = yield second_step, {**inputs, unit: refined_lines}
        finer_labels = read_labels(second_reply, field, refined_lines, inputs[unit])
    for number in refined_numbers:
        labels[number] = finer_labels.get(number)
    return {field: make_label_items(sorted(labels.items()))}


def until_two_agree(inputs: Inputs, step: str, field: str, most: int, reasons: Sequence[str] = ()) -> Flow:
    """Ask a step until a value has come twice, at most ``most`` times; the answer is this value, or ``None``.

    A reply that cannot be read is one without a value. The fields ``reasons`` of the last reply are in the reasoning.
    """
    counts: Counter[object] = Counter()
    agreed = None
    lines: list[str] = []
    while agreed is None and counts.total() < most:
        try:
            reply = yield step, inputs
        except (RecursionError, ValueError):
            counts[None] += 1
            continue
        value = reply.get(field)
        counts[value] += 1
        if value is not None and counts[value] > 1:
            agreed = value
        lines = [f"{name}: {one_line(str(reply.get(name) or ''))}" for name in reasons]
    ratings = "ratings: " + ", ".join(map(str, counts.elements()))
    return {field: agreed, "reasoning": "\n".join([ratings, *lines])}


def most_frequent(inputs: Inputs, step: str, field: str, draws: int, allowed: Collection[str]) -> Flow:
    """Ask a step ``draws`` times; the answer is the most frequent allowed value, of equals the one that came first.

    A reply that cannot be read is one without a value.
    """
    counts: Counter[object] = Counter()
    for _ in range(draws):
        try:
            reply = yield step, inputs
        except (RecursionError, ValueError):
            continue
        value = reply.get(field)
        if value in allowed:
            counts[value] += 1
    if not counts:
        return {field: None, "reasoning": "no usable draw"}
    by_frequency = counts.most_common()
    words = ", ".join(f"{count} {value}" for value, count in by_frequency)
    return {field: by_frequency[0][0], "reasoning": words}


def read_labels(reply: Reply, field: str, lines: object, all_lines: object = "") -> dict[int, object]:
    """Return number -> label of the lines that were shown; empty where the reply has other numbers.

    Args:
        lines: the numbered lines that were shown.
        all_lines: the lines of which these are a part.
    """
    try:
        items = by_number(reply.get(field), parse_numbers(lines), parse_numbers(all_lines))
    except ValueError:
        return {}
    return {number: member(item, "label") for number, item in items.items()}


def parse_numbers(lines: object) -> list[int]:
    """Return the numbers of numbered lines."""
    numbers: list[int] = []
    for line in str(lines).split("\n"):
        head, _, _ = line.partition(". ")
        if head.isdecimal():
            numbers.append(int(head))
    return numbers


def make_label_items(labels: Iterable[tuple[int, object]]) -> list[dict[str, object]]:
    """Return ``{"n": number, "label": label}`` for each number that has a label."""
    items: list[dict[str, object]] = []
    for number, label in labels:
        if label:
            items.append({"n": number, "label": label})
    return items


def select_lines(lines: object, numbers: Iterable[int]) -> str:
    """Return the numbered lines that have these numbers."""
    heads = {str(number) for number in numbers}
    selected_lines: list[str] = []
    for line in str(lines).split("\n"):
        head, _, _ = line.partition(". ")
        if head in heads:
            selected_lines.append(line)
    return "\n".join(selected_lines)


def below_task(task: str, label: str, own_answer: str) -> str:
    """Return a task with the model's own answer to it below, under a label."""
    return f"{task}\n\n{label}\n{own_answer.strip()}"


FLOWS: Final[dict[str, Callable[..., Flow]]] = {
    "once": once,
    "tests in turn": tests_in_turn,
    "labels in two stages": labels_in_two_stages,
    "until two agree": until_two_agree,
    "most frequent": most_frequent,
}
"""Name -> (inputs, settings by name) -> the flow. Modules with flows of their own add them."""
