"""Whether anything of the sealed test part shows elsewhere: in train and dev, or in a prompt.

Texts are compared as :mod:`.copies` does. That no case of train or dev holds an evidence text of a test case is
the split's work: such groups are one (:mod:`.copies`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..cases import Case
from ..errors import GoldError
from ..text.wording import normalised, strings
from .copies import Index, constants, texts_of
from .splits import Split

if TYPE_CHECKING:
    from ..programs.state import PromptState


def check_leaks(split: Split, states: Iterable[PromptState] = ()) -> None:
    """Refuse a split, or prompts, that show something of the test part.

    A leak is: a test case, or a test case's group, in train or dev; an evidence text of a test case, or the whole
    case, in a demonstration; an evidence or unit text of a test case inside an instruction, unless train or dev hold
    the same unit.
    """
    seen = (*split.train, *split.dev)
    _check_identity(split, seen)
    for leak in leaks_of(split, states).values():
        raise leak


def leaks_of(split: Split, states: Iterable[PromptState]) -> dict[str, GoldError]:
    """Return, by the id of its state, the first leak of each prompt that shows something of the test part."""
    found: dict[str, GoldError] = {}
    states = tuple(states)
    if states:
        for ids, leak in _prompt_leaks(split, states):
            for id_ in ids:
                found.setdefault(id_, leak)
    return found


@dataclass(frozen=True)
class _Hit:
    """A place in prompts: for messages, and the ids of their states."""

    where: str
    demo: bool
    states: frozenset[str]


def _unit_texts(cases: Iterable[Case], fields: Collection[str]) -> set[str]:
    """Return the normalised texts of what is judged."""
    values = (case.inputs[name] for case in cases for name in fields)
    return {normalised(text) for value in values for text in strings(value)}


def _check_identity(split: Split, seen: tuple[Case, ...]) -> None:
    ids, groups = {case.id: case for case in seen}, {case.group: case for case in seen}
    for case in split.test:
        if (other := ids.get(case.id)) is not None:
            raise _leak(f"the test case {case.source} is also in train or dev, {other.source}")
        if (other := groups.get(case.group)) is not None:
            raise _leak(
                f"the group {case.group!r} is in test ({case.source}) and in train or dev ({other.source})"
            )


def _prompt_leaks(split: Split, states: Sequence[PromptState]) -> Iterator[tuple[frozenset[str], GoldError]]:
    """Yield the ids of the states that share a leak, and the leak."""
    judge, hint = split.judge, "compile again on this split: the prompt was made with test rows in sight"
    seen, fields = (*split.train, *split.dev), (*judge.answer.unit_fields, *(judge.common or ()))
    constant = constants((*seen, *split.test), fields)
    known = _unit_texts(seen, fields) | constant
    prompts, demos = _prompt_texts(states)
    index = Index(prompts)
    for case in split.test:
        values = judge.values(case.inputs)
        for hit, demo in demos:
            if all(demo.get(name) == value for name, value in values.items()):
                yield hit.states, _leak(f"{hit.where} is the test case {case.source}", hint=hint)
        evidence = {
            text for inputs in (case.inputs, values) for text, _ in texts_of(inputs, without=fields)
        } - constant
        units = _unit_texts([case], fields) - known
        for text in sorted(evidence | units):
            for hit in index.holding(text):
                # a claim may repeat across conversations, so a demonstration may hold it
                if text in evidence or not hit.demo:
                    message = f"{hit.where} holds {_shown(text)} of the test case {case.source}"
                    yield hit.states, _leak(message, hint=hint)


def _prompt_texts(
    states: Sequence[PromptState],
) -> tuple[list[tuple[str, _Hit]], list[tuple[_Hit, Mapping[str, Any]]]]:
    """Return the texts of prompts and their demonstrations, each once, with all the prompts that have it."""
    texts: dict[tuple[str, bool], _Hit] = {}
    demos: dict[str, tuple[_Hit, Mapping[str, Any]]] = {}
    for state in states:
        own = frozenset({state.id})

        def also(before: _Hit | None, where: str, demo: bool, own: frozenset[str] = own) -> _Hit:
            return replace(before, states=before.states | own) if before else _Hit(where, demo, own)

        for name, prompt in state.predictors.items():
            place = normalised(prompt.instructions), False
            texts[place] = also(texts.get(place), f"the instruction of {name!r}", demo=False)
            for number, demo in enumerate(prompt.demos, 1):
                where, key = f"demonstration {number} of {name!r}", repr(sorted(demo.items()))
                before = demos[key][0] if key in demos else None
                demos[key] = also(before, where, demo=True), demo
                for text, _ in texts_of(demo):
                    texts[text, True] = also(texts.get((text, True)), where, demo=True)
    return [(text, hit) for (text, _), hit in texts.items()], list(demos.values())


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _leak(message: str, *, field: str = "", hint: str = "split again by group") -> GoldError:
    return GoldError(f"leak: {message}", field=field, hint=hint)
