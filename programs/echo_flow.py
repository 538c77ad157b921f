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
    divisions: Mapping[str, Mapping[str, str]],
) -> Flow:
    """Ask for an echo in tags, then for a label of each numbered line whose tag is in ``divisions``.

    The tag of a line and the label of the second step make its label (``divisions``); a line that the second step
    leaves out has none.
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
        if tag in divisions:
            open_numbers.append(number)
    open_lines = select_lines(show_tags(inputs[unit], tag_of_number), open_numbers)
    second_labels: dict[int, object] = {}
    if open_lines:
        second_reply = yield second_step, {**inputs, unit: open_lines}
        second_labels = read_labels(second_reply, field, open_lines, inputs[unit])

    labels: dict[int, object] = {}
    for number, tag in tag_of_number.items():
        labels[number] = tag
        if tag is not None and tag in divisions:
            labels[number] = divisions[tag].get(str(second_labels.get(number)))
    return {field: make_label_items(labels.items())}


def show_tags(lines: object, tag_of_number: Mapping[int, str | None]) -> str:
    """Return numbered lines with the tag of each behind its number: ``3. [faithful] It closed in 1911.``"""
    tagged_lines: list[str] = []
    for line in str(lines).split("\n"):
        number_text, _, text = line.partition(". ")
        tagged_lines.append(f"{number_text}. [{tag_of_number.get(int(number_text))}] {text}")
    return "\n".join(tagged_lines)


FLOWS[ECHO_THEN_LABELS] = echo_then_labels
