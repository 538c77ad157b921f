"""Whether anything of the sealed test part shows elsewhere: in train and dev, or in a prompt.

Texts are compared after NFKC, case folding and collapsing of white space, and
only from 40 characters on: shorter ones repeat by chance. What every case of
the set says alike (a policy, a rule) belongs to the task and gives nothing away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..cases import Case
from ..errors import GoldError
from ..text.folding import normalised
from .splits import Split

if TYPE_CHECKING:
    from ..programs.state import PromptState

__all__ = [
    "MIN_CHARACTERS",
    "check_leaks",
]

MIN_CHARACTERS = 40
"""The length from which a shared text counts as a leak, in characters after normalisation."""
_BLOCK = MIN_CHARACTERS // 2

P = TypeVar("P")


def check_leaks(split: Split, states: Iterable[PromptState] = ()) -> None:
    """Refuse a split, or prompts, that show something of the test part.

    Args:
        split: the parts.
        states: the prompts of programs that are to be proved on the test part.

    A leak is: a test case, or a test case's group, in train or dev; an evidence text of a test case
    inside an input of a train or dev case; such a text, or a whole test case, in a demonstration; an
    evidence or unit text of a test case inside an instruction, unless train or dev hold the same unit.

    Raises:
        GoldError: there is a leak; the message names both places.
    """
    seen = (*split.train, *split.dev)
    _check_identity(split, seen)
    units = split.judge.answer.unit_fields
    constant = _constants((*seen, *split.test), units)
    _check_cases(split.test, seen, units, constant)
    states = tuple(states)
    if states:
        _check_prompts(split, seen, states, constant)


@dataclass(frozen=True)
class _Hit:
    """A place in a prompt, for messages."""

    where: str
    demo: bool


class _Index(Generic[P]):
    """Finds which of many texts hold a given text of at least ``MIN_CHARACTERS``.

    Any occurrence of such a text covers one whole block of half that length that starts at a multiple
    of it, so only those blocks are indexed, and the search does not grow with the number of texts.
    """

    def __init__(self, texts: Iterable[tuple[str, P]]) -> None:
        self._texts = [(text, place) for text, place in texts if len(text) >= MIN_CHARACTERS]
        self._blocks: dict[str, list[tuple[int, int]]] = {}
        for number, (text, _) in enumerate(self._texts):
            for start in range(0, len(text) - _BLOCK + 1, _BLOCK):
                self._blocks.setdefault(text[start : start + _BLOCK], []).append((number, start))

    def holding(self, wanted: str) -> Iterator[P]:
        """Yield the place of every text that holds ``wanted``."""
        if len(wanted) < MIN_CHARACTERS:
            return
        for offset in range(_BLOCK):
            for number, start in self._blocks.get(wanted[offset : offset + _BLOCK], ()):
                text, place = self._texts[number]
                if start >= offset and text.startswith(wanted, start - offset):
                    yield place


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


def _texts(inputs: Mapping[str, Any], *, without: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield (normalised text, field) for the texts long enough to matter."""
    for name, value in inputs.items():
        if name not in without:
            for text in _strings(value):
                if len(short := normalised(text)) >= MIN_CHARACTERS:
                    yield short, name


def _unit_texts(cases: Iterable[Case], fields: Collection[str]) -> set[str]:
    """Return the normalised texts of what is judged."""
    values = (case.inputs[name] for case in cases for name in fields)
    return {normalised(text) for value in values for text in _strings(value)}


def _constants(cases: Iterable[Case], units: Collection[str]) -> frozenset[str]:
    common: frozenset[str] | None = None
    for case in cases:
        texts = frozenset(text for text, _ in _texts(case.inputs, without=units))
        common = texts if common is None else common & texts
        if not common:
            break
    return common or frozenset()


def _check_identity(split: Split, seen: tuple[Case, ...]) -> None:
    ids, groups = {case.id: case for case in seen}, {case.group: case for case in seen}
    for case in split.test:
        if (other := ids.get(case.id)) is not None:
            raise _leak(f"the test case {case.source} is also in train or dev, {other.source}")
        if (other := groups.get(case.group)) is not None:
            raise _leak(
                f"the group {case.group!r} is in test ({case.source}) and in train or dev ({other.source})"
            )


def _check_cases(
    test: Iterable[Case], seen: Iterable[Case], units: Collection[str], constant: frozenset[str]
) -> None:
    first = {(text, case.group): case for case in seen for text, _ in _texts(case.inputs)}
    index = _Index((text, case) for (text, _), case in first.items())
    done: set[tuple[str, str]] = set()
    for case in test:
        for text, name in _texts(case.inputs, without=units):
            if text in constant or (text, case.group) in done:
                continue
            done.add((text, case.group))
            for other in index.holding(text):
                if other.group != case.group:
                    places = f"the test case {case.source} and the train or dev case {other.source}"
                    hint = "give both rows the same group, or remove one"
                    raise _leak(f"{places} share {_shown(text)}", field=name, hint=hint)


def _check_prompts(
    split: Split, seen: Iterable[Case], states: Iterable[PromptState], constant: frozenset[str]
) -> None:
    judge, hint = split.judge, "compile again on this split: the prompt was made with test rows in sight"
    fields = judge.answer.unit_fields
    known = _unit_texts(seen, fields) | constant
    prompts, demos = _prompt_texts(states)
    index = _Index(prompts)
    for case in split.test:
        values = judge.values(case.inputs)
        for where, demo in demos:
            if all(demo.get(name) == value for name, value in values.items()):
                raise _leak(f"{where} is the test case {case.source}", hint=hint)
        evidence = {
            text for inputs in (case.inputs, values) for text, _ in _texts(inputs, without=fields)
        } - constant
        units = _unit_texts([case], fields) - known
        for text in sorted(evidence | units):
            for hit in index.holding(text):
                # a claim may repeat across conversations, so a demonstration may hold it
                if text in evidence or not hit.demo:
                    raise _leak(f"{hit.where} holds {_shown(text)} of the test case {case.source}", hint=hint)


def _prompt_texts(
    states: Iterable[PromptState],
) -> tuple[list[tuple[str, _Hit]], list[tuple[str, Mapping[str, Any]]]]:
    texts: dict[tuple[str, bool], str] = {}
    demos: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for state in states:
        for name, prompt in state.predictors.items():
            texts.setdefault((normalised(prompt.instructions), False), f"the instruction of {name!r}")
            for number, demo in enumerate(prompt.demos, 1):
                where = f"demonstration {number} of {name!r}"
                demos.setdefault(repr(sorted(demo.items())), (where, demo))
                for text, _ in _texts(demo):
                    texts.setdefault((text, True), where)
    return [(text, _Hit(where, demo)) for (text, demo), where in texts.items()], list(demos.values())


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _leak(message: str, *, field: str = "", hint: str = "split again by group") -> GoldError:
    return GoldError(f"leak: {message}", field=field, hint=hint)
