"""A judge that first has sentences echoed in tags: the order of its steps. Only the standard library."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .answers.echo import put_in_tags, read_echo
from .flows import FLOWS, Flow, labels_of, lines_of_numbers, numbered_labels

ECHO_THEN_LABELS: Final = "echo, then labels"


def echo_then_labels(
    inputs: Mapping[str, Any],
    steps: Sequence[str],
    unit: str,
    field: str,
    tags: Sequence[str],
    facts: Mapping[str, str],
) -> Flow:
    """Ask for an echo in tags, then for a label of each numbered line whose tag is in ``facts``."""
    # of a line that is labelled a ``fact`` the tag counts; one that the second step leaves out has no label
    first, second = steps
    lines = str(inputs[unit]).split("\n")
    texts = {int(number): text for number, _, text in (line.partition(". ") for line in lines)}
    asked = list(texts.values())
    every = range(len(asked))
    reply = yield first, {**inputs, unit: put_in_tags(asked, every, tags)}
    tagged = dict(zip(texts, read_echo(reply.get(field), tags, asked, every).labels, strict=True))
    left = lines_of_numbers(inputs[unit], [n for n, tag in tagged.items() if tag in facts])
    labels: dict[int, Any] = {}
    if left:
        labels = labels_of((yield second, {**inputs, unit: left}), field, left, inputs[unit])
    sure = ((n, labels.get(n) if tag in facts else tag) for n, tag in tagged.items())
    return {
        field: numbered_labels((n, facts[str(tagged[n])] if label == "fact" else label) for n, label in sure)
    }


FLOWS[ECHO_THEN_LABELS] = echo_then_labels
