"""Leaks: whether the test part of a split, or what stands in it, is seen in train, in dev or in a prompt."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, TypeAlias

from ..cases import Case
from ..errors import GoldError
from ..text.wording import normalised, strings
from .copies import Index, constants, texts_of

if TYPE_CHECKING:
    from ..programs.state import Demo, PromptState
    from .splits import Split

_Place: TypeAlias = tuple[str, str]
"""The id of a prompt's state, and where in it, in words."""


def check_leaks(split: Split, states: Iterable[PromptState] = ()) -> None:
    """Refuse a split, or prompts, that show something of the test part."""
    # A leak is: a test case, or a test case's group, in train or dev; an evidence text of a test case, or the whole
    # case, in a demonstration; an evidence or unit text of a test case inside an instruction, unless train or dev hold
    # the same unit.
    seen = (*split.train, *split.dev)
    ids, groups = {case.id: case for case in seen}, {case.group: case for case in seen}
    again = "split again by group"
    for case in split.test:
        if (other := ids.get(case.id)) is not None:
            message = f"leak: the test case {case.source} is also in train or dev, {other.source}"
            raise GoldError(message, hint=again)
        if (other := groups.get(case.group)) is not None:
            where = f"in test ({case.source}) and in train or dev ({other.source})"
            raise GoldError(f"leak: the group {case.group!r} is {where}", hint=again)
    for leak in leaks_of(split, states).values():
        raise leak


def leaks_of(split: Split, states: Iterable[PromptState]) -> dict[str, GoldError]:
    """Return, by the id of its state, the first leak of each prompt that shows something of the test part."""
    leaks: dict[str, GoldError] = {}
    prompts, demos = _prompt_texts(states)
    if not prompts:
        return leaks
    judge, seen = split.judge, (*split.train, *split.dev)
    fields = (*judge.answer.unit_fields, *(judge.common or ()))
    constant = constants((*seen, *split.test), fields)
    known = _unit_texts(seen, fields) | constant
    index = Index((text, (in_demo, places)) for (text, in_demo), places in prompts.items())

    def note(places: Iterable[_Place], what: str) -> None:
        for state, where in places:
            hint = "compile again on this split: the prompt was made with test rows in sight"
            leaks.setdefault(state, GoldError(f"leak: {where} {what}", hint=hint))

    for case in split.test:
        values = judge.prompt_values(case.inputs)
        for demo, places in demos.values():
            if all(demo.get(name) == value for name, value in values.items()):
                note(places, f"is the test case {case.source}")
        evidence = {text for inputs in (case.inputs, values) for text in texts_of(inputs, without=fields)}
        evidence -= constant
        for text in sorted(evidence | (_unit_texts([case], fields) - known)):
            shown = repr(text if len(text) <= 60 else text[:57] + "...")
            for in_demo, places in index.holding(text):
                # a claim may repeat across conversations, so a demonstration may hold it
                if text in evidence or not in_demo:
                    note(places, f"holds {shown} of the test case {case.source}")
    return leaks


def _unit_texts(cases: Iterable[Case], fields: Collection[str]) -> set[str]:
    """Return the normalised texts of what is judged."""
    values = (case.inputs[name] for case in cases for name in fields)
    return {normalised(text) for value in values for text in strings(value)}


def _prompt_texts(
    states: Iterable[PromptState],
) -> tuple[dict[tuple[str, bool], list[_Place]], dict[str, tuple[Demo, list[_Place]]]]:
    """Return the texts of prompts, and whether of a demonstration, and the demonstrations, with where each stands."""
    texts: dict[tuple[str, bool], list[_Place]] = {}
    demos: dict[str, tuple[Demo, list[_Place]]] = {}
    for state in states:
        for name, prompt in state.predictors.items():
            instruction = normalised(prompt.instructions)
            texts.setdefault((instruction, False), []).append((state.id, f"the instruction of {name!r}"))
            for number, demo in enumerate(prompt.examples, 1):
                place = state.id, f"demonstration {number} of {name!r}"
                demos.setdefault(repr(sorted(demo.items())), (demo, []))[1].append(place)
                for text in texts_of(demo):
                    texts.setdefault((text, True), []).append(place)
    return texts, demos
