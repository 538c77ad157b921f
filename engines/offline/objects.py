"""A set of objects: which spans of the judged text are asked for, and what is said of each.

Candidates are sentences, clauses or phrases of the text, whichever the objects of the demonstrations are most like.
One readout tells which are chosen; further ones fill the labels, flags and scores beside the text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...text.evidence import term_set
from ...text.lexicons import STOP_WORDS
from ...text.terms import neutralise
from .criteria import shifts_for
from .decisions import Decision, Task, drawn, given, scene_of
from .features import NAMES, Scene, read_units
from .labels import meaning_of, meanings, prior_weights
from .learning import Readout, chance, design, learn, vocabulary
from .request import Demo, Field
from .roles import Roles, Unit, split_lines
from .scores import levels_of, prior_of, share_of, to_levels
from .shapes import Part
from .words import NO_TEXT, text_value

_MOST: Final = 200  # candidates of one text
_ALIKE: Final = 0.5  # overlap from which on a candidate is what a demonstration names
_LIKELY: Final = 1.0  # log odds of a candidate about which nothing is known
_CLAUSE: Final = re.compile(
    r"(?<!\s)\s*+(?:[,;:，；：、()（）—–]|(?<=\s)-\s|\b(?:and|but|or|while|which|that)\b)"
)
_WORD: Final = re.compile(r"[\w'’-]+")


@dataclass(frozen=True, kw_only=True)
class _Model:
    """What is learned for one field: the size of candidates, which are chosen, and what is said of them."""

    level: int | None
    words: tuple[str, ...]
    chosen: Readout
    said: Mapping[tuple[str, int], Readout]


def decide_objects(task: Task, field: Field) -> list[Decision]:
    """Return a decision for each span that is chosen."""
    model = _model(field, task.ask.instruction, task.ask.demos, task.roles)
    scene = _scene(task.ask.values, task.roles, model.level)
    if not scene.units:
        return []
    reading = read_units(scene)
    x = design(reading.matrix, scene.units, model.words)
    decisions = []
    for place, p in enumerate(chance(model.chosen.odds(x))):
        if drawn([float(p), 1.0 - float(p)], task.manner) == 0:
            decisions.append(
                Decision(
                    unit=Unit(number=place + 1, text=scene.units[place]),
                    label="found",
                    support=float(p),
                    holds=True,
                    quote=reading.quotes[place],
                    reasons=model.chosen.reasons(x[place], high=True),
                )
            )
    return decisions


def write_objects(task: Task, field: Field, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Return an object for each decision: the span, and what is said of it."""
    model = _model(field, task.ask.instruction, task.ask.demos, task.roles)
    scene = _scene(task.ask.values, task.roles, model.level)
    found = []
    for decision in decisions:
        place = decision.unit.number - 1
        x = design(read_units(scene).matrix, scene.units, model.words)[place : place + 1]
        texts = [part for part in field.shape.parts if part.role == "text"]
        value: dict[str, Any] = {}
        for part in field.shape.parts:
            if part.role == "text":
                value[part.name] = _text(part, decision, first=part is texts[0])
            elif part.role == "number":
                value[part.name] = decision.unit.number
            else:
                value[part.name] = _said(task, part, model, x)
        found.append(value)
    return found


def _text(part: Part, decision: Decision, *, first: bool) -> str:
    if first:
        return neutralise(decision.unit.text)
    told = text_value(part.name, [decision])
    return told if told != NO_TEXT else neutralise(decision.quote)


def _said(task: Task, part: Part, model: _Model, x: NDArray[np.float64]) -> Any:
    odds = [float(model.said[part.name, place].odds(x)[0]) for place in range(_readings(part))]
    p = [float(chance(np.array(one))) for one in odds]
    if part.role == "flag":
        return drawn([p[0], 1.0 - p[0]], task.manner) == 0
    if part.role == "label":
        return part.values[drawn(p, task.manner)]
    spread = model.said[part.name, 0].spread
    share = to_levels(p[0], spread, levels_of(part), part.low, part.high, task)
    value = part.low + share * (part.high - part.low)
    return round(value) if part.whole else round(value, 3)


def _readings(part: Part) -> int:
    return len(part.values) if part.role == "label" else 1


def _scene(values: Mapping[str, str], roles: Roles, level: int | None) -> Scene:
    """Return the texts of a case with its candidates as units, each once."""
    whole, _ = scene_of(dict(values), roles, per_unit=False)
    texts = [span for text in whole.units for span in _spans(text, level)]
    return replace(whole, units=tuple(dict.fromkeys(texts))[:_MOST])


def _spans(text: str, level: int | None) -> list[str]:
    """Return the sentences (0), clauses (1) or phrases (2) of a text as they stand in it.

    Without a level: sentences, or the clauses of a single one.
    """
    sentences = [unit.text for unit in split_lines(text)]
    if level == 0 or (level is None and len(sentences) > 1):
        return sentences
    cut = _clauses if level != 2 else _phrases
    return [span for sentence in sentences for span in cut(sentence)]


def _clauses(sentence: str) -> list[str]:
    parts = [part.strip().strip(" .!?。！？\"'") for part in _CLAUSE.split(sentence)]
    return [part for part in parts if part]


def _phrases(sentence: str) -> list[str]:
    """Return runs of content words that only spaces part."""
    runs: list[tuple[int, int]] = []
    for word in _WORD.finditer(sentence):
        if word.group().lower() in STOP_WORDS:
            continue
        start, end = word.span()
        if runs and not sentence[runs[-1][1] : start].strip():
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return [sentence[start:end] for start, end in runs]


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """One demonstration at one level: its scene, and which candidate stands for which of its objects."""

    scene: Scene
    matched: tuple[tuple[int, Mapping[str, Any]], ...]
    likeness: float
    objects: int


@lru_cache(maxsize=64)
def _model(field: Field, instruction: str, demos: tuple[Demo, ...], roles: Roles) -> _Model:
    level, shown = _best_level(field, demos, roles)
    words = vocabulary([text for one in shown for text in one.scene.units])
    width = len(NAMES) + 1 + len(words)
    rows = [design(read_units(one.scene).matrix, one.scene.units, words) for one in shown]
    gold = [dict(one.matched) for one in shown]
    target = [
        float(place in found)
        for one, found in zip(shown, gold, strict=True)
        for place in range(len(one.scene.units))
    ]
    prior = prior_of(field.name, instruction, field.description)
    if not meaning_of(field.name).known:
        prior = np.zeros(len(prior))
        prior[-1] = _LIKELY
    chosen = learn(rows, target, prior, words)
    picked = [row[place] for row, found in zip(rows, gold, strict=True) for place in found]
    values = [found[place] for found in gold for place in found]
    said = {}
    for part in field.shape.parts:
        for place, start in enumerate(_priors(part, instruction)):
            kept = [
                (row, told)
                for row, value in zip(picked, values, strict=True)
                if (told := _target(part, place, value)) is not None
            ]
            told_x = np.array([row for row, _ in kept]).reshape(len(kept), width)
            said[part.name, place] = learn([told_x], [told for _, told in kept], start, words)
    return _Model(level=level, words=words, chosen=chosen, said=said)


def _priors(part: Part, instruction: str) -> list[NDArray[np.float64]]:
    """Return the prior weights of each readout that a part takes: one per label, one for a flag or a score."""
    if part.role == "label":
        known = meanings(tuple(map(str, part.values)), part.name, instruction)
        return list(prior_weights(known, shifts_for(instruction)))
    return [prior_of(part.name, instruction)] if part.role in ("flag", "score") else []


def _target(part: Part, place: int, value: Mapping[str, Any]) -> float | None:
    said = value.get(part.name)
    if said is None:
        return None
    if part.role == "label":
        return float(str(said) == str(part.values[place]))
    return float(bool(said)) if part.role == "flag" else share_of(float(said), part.low, part.high)


def _best_level(field: Field, demos: tuple[Demo, ...], roles: Roles) -> tuple[int | None, list[_Shown]]:
    """Return the size of candidates that the demonstrations' objects are most like, and the demonstrations."""
    best: tuple[int | None, list[_Shown]] = (None, [])
    most = 0.0
    for level in (0, 1, 2):
        shown = [one for demo in demos if (one := _match(field, demo, roles, level)) is not None]
        objects = sum(one.objects for one in shown)
        likeness = sum(one.likeness for one in shown) / objects if objects else 0.0
        if likeness > most + 0.05:
            best, most = (level, shown), likeness
    return best


def _match(field: Field, demo: Demo, roles: Roles, level: int) -> _Shown | None:
    value = given(demo, field.name)
    text = next((part.name for part in field.shape.parts if part.role == "text"), None)
    if not isinstance(value, list) or text is None:
        return None
    scene = _scene(dict(demo.inputs), roles, level)
    left, matched, likeness = set(range(len(scene.units))), [], 0.0
    for item in (item for item in value if isinstance(item, Mapping)):
        alike = [(_alike(scene.units[place], str(item.get(text, ""))), -place) for place in left]
        overlap, place = max(alike, default=(0.0, 0))
        likeness += overlap
        if overlap >= _ALIKE:
            left.discard(-place)
            matched.append((-place, item))
    return _Shown(scene=scene, matched=tuple(matched), likeness=likeness, objects=len(value))


def _alike(one: str, other: str) -> float:
    """Return the F1 of the words of two texts, 1 for equal ones."""
    first, second = term_set(one), term_set(other)
    if one.strip().lower() == other.strip().lower():
        return 1.0
    shared = len(first & second)
    return 2.0 * shared / (len(first) + len(second)) if shared else 0.0
