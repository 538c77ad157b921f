"""A judge that first has sentences echoed in tags: the order of its steps. Only the standard library."""

from collections.abc import Mapping, Sequence
from typing import Final

from .answers.echo import put_in_tags, read_echo
from .flows import FLOWS, Flow, Inputs, make_label_items, read_labels, select_lines

ECHO_THEN_LABELS: Final = "echo, then labels"


def echo_then_labels(
    inputs: Inputs,
    steps: Sequence[str],
    unit: str,
    field: str,
    tags: Sequence[str],
    facts: Mapping[str, str],
) -> Flow:
    """Ask for an echo in tags, then for a label of each numbered line whose tag is in ``facts``.

    A line that the second step labels a ``fact`` has the label of its tag in ``facts``; a line that this step leaves
    out has no label.
    """
    first_step, second_step = steps
    texts: dict[int, str] = {}
    for line in str(inputs[unit]).split("\n"):
        number_text, _, text = line.partition(". ")
        texts[int(number_text)] = text
    sentences = list(texts.values())
    places = range(len(sentences))
    first_reply = yield first_step, {**inputs, unit: put_in_tags(sentences, places, tags)}
    echo = read_echo(first_reply.get(field), tags, sentences, places)
    tag_of_number = dict(zip(texts, echo.labels, strict=True))

    open_numbers: list[int] = []
    for number, tag in tag_of_number.items():
        if tag in facts:
            open_numbers.append(number)
    open_lines = select_lines(inputs[unit], open_numbers)
    finer_labels: dict[int, object] = {}
    if open_lines:
        second_reply = yield second_step, {**inputs, unit: open_lines}
        finer_labels = read_labels(second_reply, field, open_lines, inputs[unit])

    labels: dict[int, object] = {}
    for number, tag in tag_of_number.items():
        labels[number] = tag
        if tag is not None and tag in facts:
            finer_label = finer_labels.get(number)
            labels[number] = facts[tag] if finer_label == "fact" else finer_label
    return {field: make_label_items(labels.items())}


FLOWS[ECHO_THEN_LABELS] = echo_then_labels
