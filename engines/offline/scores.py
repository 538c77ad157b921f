"""Answers that are one yes or no, or a share, each: a score, several labels at once, a preference of two."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from operator import sub
from typing import Final

from ...text.evidence import term_set
from .decisions import Decision, FieldExamples, Task, decide_labels, read_case
from .features import BIAS_COLUMN, NAMES, CaseTexts, Matrix, measure_case, share_of_terms
from .labels import find_definition, prior_of
from .learning import Regression, choose_vocabulary, columns, dot, learn, targets_of
from .roles import Roles, Unit
from .sampler import Sampler
from .shapes import Field, Shape

_STEPS: Final = 100  # of a scale without levels
_SPREAD: Final = 0.15  # share of the range by which a drawn score is off
_NUMBER: Final = re.compile(r"\s*[-+]?\d+(?:\.\d+)?\s*")
_LABEL_PRIOR: Final = (-2.0, 4.0, 4.0)
"""Weights of the bias, that the label is named in the text, and that the words of its definition are."""
_NAME_MARKS: Final = (("first", "second"), ("a", "b"), ("1", "2"), ("left", "right"))
"""Words by which the names of two candidates differ."""
_TIE_PRIOR: Final = [[-1.0, 0.0], [0.0, 0.0]]
"""Weights of the difference and of the bias, for a tie and for none: a tie if they are about even."""
_SHARES_OF_FIRST: Final[Mapping[str, float]] = {"first": 1.0, "second": 0.0, "tie": 0.5}


def decide_score(task: Task, field: Field) -> list[Decision]:
    """Return the score of the whole claim; the decision's ``support`` is where on the scale it lies, 0 to 1."""
    case = read_case(task.request.inputs, task.roles)
    model = _learn_score(task.examples_of(field))
    x = columns(case, model.words)
    support = choose_level(_probability_of_yes(model, x), field.shape, task.sampler)
    label = f"{field.shape.score_at(support):g}"
    return [_decide_whole(case, x, model, label, support, holds=support >= 0.5)]


def _probability_of_yes(model: Regression, x: Matrix) -> float:
    return model.probabilities(x)[0][0]


def _decide_whole(
    case: CaseTexts, x: Matrix, model: Regression, label: str, support: float, *, holds: bool
) -> Decision:
    """Return a decision on the only unit of a case, by a model of yes or no."""
    chosen, rival = (0, 1) if holds else (1, 0)
    return Decision(
        unit=Unit(number=1, text=case.units[0]),
        label=label,
        support=support,
        holds=holds,
        quote=measure_case(case).quotes[0],
        reasons=model.reasons(x[0], chosen, rival),
    )


def choose_level(share: float, shape: Shape, sampler: Sampler) -> float:
    """Return a level as a share of the range: the nearest to ``share``, or, above temperature 0, one drawn near it."""
    shares: list[float] = []
    weights: list[float] = []
    for level in _levels_of(shape):
        level_share = shape.share_of(level)
        distance = (level_share - share) / _SPREAD
        shares.append(level_share)
        weights.append(math.exp(-(distance**2) / 2.0))
    return shares[sampler.choose(weights)]


def _levels_of(shape: Shape) -> Sequence[float]:
    """Return the scores that a scale has: its levels, its integers if they are few, or steps between its ends."""
    if shape.levels:
        return shape.levels
    if shape.is_integer and shape.high - shape.low <= _STEPS:
        integers = range(round(shape.low), round(shape.high) + 1)
        if integers:
            return integers
    step = (shape.high - shape.low) / _STEPS
    levels = [shape.low + place * step for place in range(_STEPS)]
    levels.append(shape.high)
    return levels


@lru_cache(maxsize=64)
def _learn_score(examples: FieldExamples) -> Regression:
    """Return the model of a score: how far what the field's name says holds."""
    cases: list[CaseTexts] = []
    targets: list[Matrix] = []
    for inputs, value in examples.labelled():
        number = str(value)
        if _NUMBER.fullmatch(number):
            cases.append(read_case(inputs, examples.roles))
            targets.append(targets_of([examples.field.shape.share_of(float(number))]))
    words = _choose_words(cases)
    rows: list[Matrix] = []
    for case in cases:
        rows.append(columns(case, words))
    return learn(rows, targets, prior_of(examples.field.name), words)


def _choose_words(cases: Sequence[CaseTexts]) -> tuple[str, ...]:
    """Return the words that the judged texts of several cases are told apart by."""
    texts: list[str] = []
    for case in cases:
        texts.append(case.units[0])
    return choose_vocabulary(texts)


def decide_each_label(task: Task, field: Field) -> list[Decision]:
    """Return a decision for each label of a set; it holds if the label is given."""
    case = read_case(task.request.inputs, task.roles)
    models = _learn_each_label(task.examples_of(field))
    decisions: list[Decision] = []
    for label, model in zip(field.shape.labels, models, strict=True):
        x = _columns_of_label(case, label, task.request.instruction, model.words)
        probability = _probability_of_yes(model, x)
        holds = task.sampler.choose_yes(probability)
        verdict = label if holds else f"not {label}"
        decisions.append(_decide_whole(case, x, model, verdict, probability, holds=holds))
    return decisions


@lru_cache(maxsize=64)
def _learn_each_label(examples: FieldExamples) -> list[Regression]:
    """Return a model of yes or no for each label of a set."""
    cases: list[CaseTexts] = []
    label_sets: list[set[str]] = []
    for inputs, value in examples.labelled():
        if isinstance(value, list):
            cases.append(read_case(inputs, examples.roles))
            label_sets.append({str(label) for label in value})
    words = _choose_words(cases)
    no_features = [0.0] * len(NAMES)
    prior = [no_features + list(_LABEL_PRIOR), no_features + [0.0] * len(_LABEL_PRIOR)]
    models: list[Regression] = []
    for label in examples.field.shape.labels:
        rows: list[Matrix] = []
        targets: list[Matrix] = []
        for case, labels in zip(cases, label_sets, strict=True):
            rows.append(_columns_of_label(case, label, examples.instruction, words))
            targets.append(targets_of([label in labels]))
        models.append(learn(rows, targets, prior, words))
    return models


def _columns_of_label(case: CaseTexts, label: str, instruction: str, words: tuple[str, ...]) -> Matrix:
    """Return the columns of a case, with how far its text has the words of a label and of its definition."""
    text_terms = term_set(case.units[0])
    name_terms = term_set(re.sub(r"[_-]+", " ", label))
    definition_terms = term_set(find_definition(label, instruction))
    shares = [share_of_terms(name_terms, text_terms), share_of_terms(definition_terms, text_terms)]
    return columns(case, words, shares)


@dataclass(frozen=True, kw_only=True, eq=False)
class _PreferenceModel:
    """Which of two candidates is better, by their difference; and whether they are even, by its size."""

    better: Regression
    tie: Regression


def decide_preference(task: Task, field: Field) -> list[Decision]:
    """Return the decision between two candidates; without two inputs to compare, as for any label."""
    # What is learned is of their difference: exchanging them exchanges the odds, for no weight is of a place.
    pair = _find_compared_inputs([input_field.name for input_field in task.request.input_fields])
    if pair is None:
        return decide_labels(task, field)
    first, second = pair
    roles = _roles_beside(pair, task.roles)
    model = _learn_preference(replace(task.examples_of(field), roles=roles), pair)
    x = _difference(task.request.inputs, pair, roles, model.better.words)
    labels = field.shape.labels
    tie = 0.0
    if "tie" in labels:
        tie = _probability_of_yes(model.tie, _columns_of_tie(model.better, x))
    first_is_better = _probability_of_yes(model.better, x)
    probabilities = {
        "first": (1.0 - tie) * first_is_better,
        "second": (1.0 - tie) * (1.0 - first_is_better),
        "tie": tie,
    }
    label_probabilities = [probabilities[label] for label in labels]
    label = labels[task.sampler.choose(label_probabilities)]
    preferred = second if label == "second" else first
    case = read_case(task.request.inputs, replace(roles, judged=preferred))
    return [_decide_whole(case, x, model.better, label, probabilities[label], holds=label != "second")]


def _find_compared_inputs(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the inputs that are compared: two whose names differ in a mark (a and b, 1 and 2), else the last two."""
    for name, next_name in combinations(names, 2):
        words, next_words = _words_of_name(name), _words_of_name(next_name)
        difference = (words - next_words, next_words - words)
        for first_mark, second_mark in _NAME_MARKS:
            if difference == ({first_mark}, {second_mark}):
                return name, next_name
            if difference == ({second_mark}, {first_mark}):
                return next_name, name
    if len(names) < 2:
        return None
    return names[-2], names[-1]


def _words_of_name(name: str) -> set[str]:
    return set(re.split(r"_+|(?<=\D)(?=\d)", name.lower()))


def _roles_beside(pair: tuple[str, str], roles: Roles) -> Roles:
    """Return the roles of the inputs that are not compared, with the first candidate as what is judged."""
    evidence: list[str] = []
    context: list[str] = []
    for name in roles.evidence:
        if name not in pair:
            evidence.append(name)
    for name in (roles.judged,) + roles.context:
        if name not in pair:
            context.append(name)
    if not evidence and context:
        evidence.append(context.pop(0))
    return Roles(evidence=tuple(evidence), judged=pair[0], context=tuple(context))


def _difference(
    inputs: Mapping[str, str], pair: tuple[str, str], roles: Roles, words: Sequence[str]
) -> Matrix:
    """Return the columns of the first candidate less those of the second."""
    first, second = pair
    (first_columns,) = columns(read_case(inputs, replace(roles, judged=first)), words)
    (second_columns,) = columns(read_case(inputs, replace(roles, judged=second)), words)
    return [list(map(sub, first_columns, second_columns))]


def _columns_of_tie(better: Regression, x: Matrix) -> Matrix:
    """Return how far the candidates are apart, as log odds, and 1."""
    first_weights, second_weights = better.weights
    weights = list(map(sub, first_weights, second_weights))
    return [[abs(dot(difference, weights)), 1.0] for difference in x]


@lru_cache(maxsize=64)
def _learn_preference(examples: FieldExamples, pair: tuple[str, str]) -> _PreferenceModel:
    """Return the model of the better candidate, and that of a tie."""
    first, second = pair
    labelled: list[tuple[dict[str, str], str]] = []
    candidates: list[str] = []
    for inputs, value in examples.labelled():
        label = str(value)
        if label in _SHARES_OF_FIRST:
            labelled.append((inputs, label))
            candidates += [inputs.get(first, ""), inputs.get(second, "")]
    words = choose_vocabulary(candidates)
    prior = prior_of("supported")
    for weights in prior:
        weights[BIAS_COLUMN] = 0.0  # it is the same for both
    rows: list[Matrix] = []
    targets: list[Matrix] = []
    tie_targets: list[Matrix] = []
    for inputs, label in labelled:
        rows.append(_difference(inputs, pair, examples.roles, words))
        targets.append(targets_of([_SHARES_OF_FIRST[label]]))
        tie_targets.append(targets_of([label == "tie"]))
    better = learn(rows, targets, prior, words)
    tie_rows: list[Matrix] = []
    for row in rows:
        tie_rows.append(_columns_of_tie(better, row))
    return _PreferenceModel(better=better, tie=learn(tie_rows, tie_targets, _TIE_PRIOR))
