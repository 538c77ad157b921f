"""A set of objects: which spans of the judged text are asked for, and what is said of each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from scipy.special import expit

from ...text.evidence import term_set
from ...text.lexicons import STOP_WORDS
from ...text.terms import neutralise
from .decisions import NO_TEXT, Decision, Lesson, Task, scene_of, text_value
from .features import Scene, read_units
from .labels import meaning_of, meanings, prior_weights
from .learning import Array, Readout, learn, vocabulary
from .request import Field, Part, Roles, Unit, split_lines
from .scores import columns, prior_of, to_levels

_MOST: Final = 200  # candidates of one text
_ALIKE: Final = 0.5  # overlap from which on a candidate is what a demonstration names
_LIKELY: Final = 1.0  # log odds of a candidate about which nothing is known
_CLAUSE: Final = re.compile(
    r"(?<!\s)\s*+(?:[,;:，；：、()（）—–]|(?<=\s)-\s|\b(?:and|but|or|while|which|that)\b)"
)
_WORD: Final = re.compile(r"[\w'’-]+")


@dataclass(frozen=True, kw_only=True)
class _Model:
    """What is learned for one field."""

    level: int | None  # the size of candidates
    words: tuple[str, ...]  # the columns of words
    chosen: Readout  # which are chosen
    about: Mapping[str, tuple[Readout, ...]]  # part -> a readout for each of its labels, or one


def decide_objects(task: Task, field: Field) -> list[Decision]:
    """Return a decision for each span that is chosen."""
    model = _model(task.lesson(field))
    scene = _scene(task.ask.values, task.roles, model.level)
    if not scene.units:
        return []
    x, quotes = columns(scene, model.words), read_units(scene).quotes
    return [
        Decision(
            unit=Unit(number=place + 1, text=scene.units[place]),
            label="found",
            support=float(p),
            holds=True,
            quote=quotes[place],
            reasons=model.chosen.reasons(x[place], high=True),
        )
        for place, p in enumerate(expit(model.chosen.odds(x)))
        if task.manner.holds(float(p))
    ]


def write_objects(task: Task, field: Field, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Return an object for each decision: the span, and what is said of it."""
    model = _model(task.lesson(field))
    x = columns(_scene(task.ask.values, task.roles, model.level), model.words)
    first = _text_part(field)
    objects = []
    for decision in decisions:
        row, value = x[decision.unit.number - 1 : decision.unit.number], dict[str, Any]()
        for part in field.shape.parts:
            if part.role == "number":
                value[part.name] = decision.unit.number
            elif part.name == first:
                value[part.name] = neutralise(decision.unit.text)
            elif part.role == "text":
                text = text_value(part.name, [decision])
                value[part.name] = text if text != NO_TEXT else neutralise(decision.quote)
            else:
                value[part.name] = _filled(task, part, model.about[part.name], row)
        objects.append(value)
    return objects


def _text_part(field: Field) -> str | None:
    """Return the property that holds the span itself."""
    return next((part.name for part in field.shape.parts if part.role == "text"), None)


def _filled(task: Task, part: Part, readouts: Sequence[Readout], x: Array) -> Any:
    """Return the value of a label, a flag or a score of one span."""
    p = [float(expit(readout.odds(x)[0])) for readout in readouts]
    if part.role == "flag":
        return task.manner.holds(p[0])
    if part.role == "label":
        return part.values[task.manner.drawn(p)]
    return part.at(to_levels(p[0], readouts[0].spread, part, task.manner))


def _scene(values: Mapping[str, str], roles: Roles, level: int | None) -> Scene:
    """Return the texts of a case with its candidates as units, each once."""
    whole, _ = scene_of(values, roles)
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
        start, end = word.span()
        if word.group().lower() in STOP_WORDS:
            continue
        if runs and not sentence[runs[-1][1] : start].strip():
            start = runs.pop()[0]
        runs.append((start, end))
    return [sentence[start:end] for start, end in runs]


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """One demonstration at one level: its scene, and which candidate stands for which of its objects."""

    scene: Scene
    matched: Mapping[int, Mapping[str, Any]]
    likeness: float
    objects: int


@lru_cache(maxsize=64)
def _model(lesson: Lesson) -> _Model:
    field = lesson.field
    level, shown = _best_level(lesson)
    words = vocabulary([text for one in shown for text in one.scene.units])
    rows = [columns(one.scene, words) for one in shown]
    target = [float(place in one.matched) for one in shown for place in range(len(one.scene.units))]
    prior = prior_of(field.name, field.description)
    if not meaning_of(field.name).known:
        prior = np.zeros(len(prior))
        prior[-1] = _LIKELY
    matches = [
        (row[place : place + 1], value)
        for one, row in zip(shown, rows, strict=True)
        for place, value in one.matched.items()
    ]
    about: dict[str, tuple[Readout, ...]] = {}
    for part in field.shape.parts:
        told = [(x, value[part.name]) for x, value in matches if value.get(part.name) is not None]
        about[part.name] = tuple(
            learn([x for x, _ in told], [_target(part, place, value) for _, value in told], start, words)
            for place, start in enumerate(_priors(part, lesson.instruction))
        )
    return _Model(level=level, words=words, chosen=learn(rows, target, prior, words), about=about)


def _priors(part: Part, instruction: str) -> list[Array]:
    """Return the prior weights of each readout that a part takes: one per label, one for a flag or a score."""
    if part.role == "label":
        return list(prior_weights(meanings(tuple(map(str, part.values)), part.name, instruction)))
    return [prior_of(part.name)] if part.role in ("flag", "score") else []


def _target(part: Part, place: int, value: Any) -> float:
    if part.role == "label":
        return float(str(value) == str(part.values[place]))
    return float(bool(value)) if part.role == "flag" else part.share(float(value))


def _best_level(lesson: Lesson) -> tuple[int | None, list[_Shown]]:
    """Return the size of candidates that the demonstrations' objects are most like, and the demonstrations."""
    best: tuple[int | None, list[_Shown]] = (None, [])
    text, most = _text_part(lesson.field), 0.0
    lists = [(values, value) for values, value in lesson.shown() if text and isinstance(value, list)]
    for level in (0, 1, 2):
        shown = [_match(_scene(values, lesson.roles, level), value, str(text)) for values, value in lists]
        objects = sum(one.objects for one in shown)
        likeness = sum(one.likeness for one in shown) / objects if objects else 0.0
        if likeness > most + 0.05:
            best, most = (level, shown), likeness
    return best


def _match(scene: Scene, value: list[Any], text: str) -> _Shown:
    left, matched, likeness = set(range(len(scene.units))), dict[int, Mapping[str, Any]](), 0.0
    for item in (item for item in value if isinstance(item, Mapping)):
        alike = [(_alike(scene.units[place], str(item.get(text, ""))), -place) for place in left]
        overlap, place = max(alike, default=(0.0, 0))
        likeness += overlap
        if overlap >= _ALIKE:
            left.discard(-place)
            matched[-place] = item
    return _Shown(scene=scene, matched=matched, likeness=likeness, objects=len(value))


def _alike(one: str, other: str) -> float:
    """Return the F1 of the words of two texts, 1 for equal ones."""
    first, second = term_set(one), term_set(other)
    if one.strip().lower() == other.strip().lower():
        return 1.0
    shared = len(first & second)
    return 2.0 * shared / (len(first) + len(second)) if shared else 0.0
