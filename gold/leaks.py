"""Leaks: a case of the test part of a split, or one of its texts, stands in train, in dev or in a prompt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..cases import Case
from ..errors import GoldError, as_data
from ..text.wording import normalised, strings
from .containment import find_holders
from .copies import fields_without_evidence, find_constant_texts, texts_of

if TYPE_CHECKING:
    from ..programs.state import Demo, PromptState
    from .splits import Split

_QUOTED_CHARACTERS = 60


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A place where a text stands in a prompt."""

    state_id: str
    words: str  # for people, such as "demonstration 2 of 'judge'"


@dataclass(frozen=True, kw_only=True)
class _PromptText:
    """A text that one or more prompts hold, with all its places."""

    text: str  # normalised
    in_demonstration: bool
    places: list[_Place] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class _Demonstration:
    """A demonstration that one or more prompts have, with all its places."""

    values: Demo
    places: list[_Place] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class _SealedCase:
    """A case of the test, and its texts that a prompt may not hold."""

    case: Case
    values: Demo  # its inputs, as a prompt shows them
    evidence: set[str]  # normalised
    # normalised texts of the other fields, which no instruction may hold, but a demonstration may
    units: set[str]


def check_leaks(split: Split, states: Iterable[PromptState] = ()) -> None:
    """Raise ``GoldError`` for the first leak of a split, or of the prompts ``states``, which were made on it."""
    # A leak is: a test case, or a test case's group, in train or dev; an evidence text of a test case, or the whole
    # case, in a demonstration; an evidence or unit text of a test case inside an instruction, unless train or dev hold
    # the same unit.
    case_of_id: dict[str, Case] = {}
    case_of_group: dict[str, Case] = {}
    for case in split.train + split.dev:
        case_of_id[case.id] = case
        case_of_group[case.group] = case

    hint = "split again by group"
    for case in split.test:
        same_case = case_of_id.get(case.id)
        if same_case is not None:
            message = f"leak: the test case {as_data(case.source)} is also in train or dev, {as_data(same_case.source)}"
            raise GoldError(message, hint=hint)
        same_group = case_of_group.get(case.group)
        if same_group is not None:
            where = f"in test ({case.source}) and in train or dev ({same_group.source})"
            raise GoldError(f"leak: the group {case.group!r} is {where}", hint=hint)
    for leak in find_leaks(split, states).values():
        raise leak


def find_leaks(split: Split, states: Iterable[PromptState]) -> dict[str, GoldError]:
    """Return the first leak of each prompt that shows something of the test part: id of the prompt -> the error."""
    leaks: dict[str, GoldError] = {}
    prompt_texts, demonstrations = _read_prompts(states)
    if not prompt_texts:
        return leaks
    sealed_cases = _seal_cases(split)
    holders_of_text = _find_prompt_texts(sealed_cases, prompt_texts)
    for sealed in sealed_cases:
        source = sealed.case.source
        for demonstration in demonstrations:
            if _shows_values(demonstration.values, sealed.values):
                _note_leaks(leaks, demonstration.places, f"is the test case {source}")
        for text in sorted(sealed.evidence | sealed.units):
            for prompt_text in holders_of_text[text]:
                # A claim may repeat across conversations, so a demonstration may hold the text of a unit.
                if text in sealed.evidence or not prompt_text.in_demonstration:
                    _note_leaks(
                        leaks, prompt_text.places, f"holds {_shorten(text)!r} of the test case {source}"
                    )
    return leaks


def _seal_cases(split: Split) -> list[_SealedCase]:
    """Return the cases of the test, each with its texts that a prompt may not hold."""
    judge = split.judge
    excluded_fields = fields_without_evidence(judge)
    open_cases = split.train + split.dev
    constant_texts = find_constant_texts(open_cases + split.test, excluded_fields)
    allowed_units = _unit_texts(open_cases, excluded_fields) | constant_texts
    sealed_cases: list[_SealedCase] = []
    for case in split.test:
        values = judge.prompt_values(case.inputs)
        evidence = set(texts_of(case.inputs, without=excluded_fields))
        evidence.update(texts_of(values, without=excluded_fields))
        units = _unit_texts([case], excluded_fields) - allowed_units
        sealed_cases.append(
            _SealedCase(case=case, values=values, evidence=evidence - constant_texts, units=units)
        )
    return sealed_cases


def _find_prompt_texts(
    sealed_cases: Sequence[_SealedCase], prompt_texts: Sequence[_PromptText]
) -> dict[str, list[_PromptText]]:
    """Return, for each text of a sealed case, the texts of prompts that hold it."""
    distinct_texts: set[str] = set()
    for sealed in sealed_cases:
        distinct_texts |= sealed.evidence | sealed.units
    sealed_texts = sorted(distinct_texts)
    numbers_of_texts = find_holders(sealed_texts, [prompt_text.text for prompt_text in prompt_texts])
    holders_of_text: dict[str, list[_PromptText]] = {}
    for text, numbers in zip(sealed_texts, numbers_of_texts, strict=True):
        holders_of_text[text] = [prompt_texts[number] for number in numbers]
    return holders_of_text


def _note_leaks(leaks: dict[str, GoldError], places: Iterable[_Place], words: str) -> None:
    """Add a leak for each prompt of these places that has none yet; ``words`` end its message."""
    hint = "compile again on this split: the prompt was made with test rows in sight"
    for place in places:
        leaks.setdefault(place.state_id, GoldError(f"leak: {place.words} {words}", hint=hint))


def _shows_values(demo: Demo, values: Demo) -> bool:
    """Say whether a demonstration has all of these values."""
    return all(demo.get(name) == value for name, value in values.items())


def _shorten(text: str) -> str:
    """Return a text, cut to 60 characters for a message."""
    if len(text) <= _QUOTED_CHARACTERS:
        return text
    return text[: _QUOTED_CHARACTERS - 3] + "..."


def _unit_texts(cases: Iterable[Case], fields: Collection[str]) -> set[str]:
    """Return the normalised texts of some fields of cases."""
    texts: set[str] = set()
    for case in cases:
        for name in fields:
            texts.update(map(normalised, strings(case.inputs[name])))
    return texts


def _read_prompts(states: Iterable[PromptState]) -> tuple[Sequence[_PromptText], Sequence[_Demonstration]]:
    """Return the texts of prompts and their demonstrations, each once, with the places where it stands."""
    texts: dict[tuple[str, bool], _PromptText] = {}
    demonstrations: dict[str, _Demonstration] = {}

    def add_text(text: str, place: _Place, *, in_demonstration: bool) -> None:
        prompt_text = _PromptText(text=text, in_demonstration=in_demonstration)
        texts.setdefault((text, in_demonstration), prompt_text).places.append(place)

    for state in states:
        for name, prompt in state.predictors.items():
            place = _Place(state_id=state.id, words=f"the instruction of {name!r}")
            add_text(normalised(prompt.instructions), place, in_demonstration=False)
            for number, demo in enumerate(prompt.examples, 1):
                place = _Place(state_id=state.id, words=f"demonstration {number} of {name!r}")
                key = repr(sorted(demo.items()))
                demonstrations.setdefault(key, _Demonstration(values=demo)).places.append(place)
                for text in texts_of(demo):
                    add_text(text, place, in_demonstration=True)
    return list(texts.values()), list(demonstrations.values())
