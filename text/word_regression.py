"""A regression on words, overlap and support signals, as data: its outputs for a text beside its evidence.

Fitting is elsewhere (:mod:`jurist.optimizers.word_fitting`). Written with the standard library, because exports carry
this source along and have to give the same numbers.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NotRequired, TypedDict

from .ranking import words
from .support_signals import measure_support
from .wording import strings

LEAST_SHARE: Final = 1e-4
"""The share in place of 0 for a label without a vote, whose logarithm would be infinite."""
LARGEST_ODDS: Final = 4.0
"""The figure of a member that all samples name; that of one that none names is the negative."""


class GramWeights(TypedDict):
    """The grams of one kind of text, with what each of them weighs."""

    kind: str  # ``judged`` for the judged text, ``evidence`` for the text of all other inputs
    # gram -> its inverse document frequency, then its weight in each output
    grams: Mapping[str, Sequence[float]]


class FigureWeights(TypedDict):
    """The scaling and the weights of some figures of a text."""

    centers: Sequence[float]
    scales: Sequence[float]
    weights: Sequence[Sequence[float]]  # of each output, for each figure


class Regression(TypedDict):
    """A linear regression with one output or several."""

    learned: str  # the kind of its outputs: ``label``, ``members`` or ``number``
    outputs: Sequence[object]  # each output's label or member as JSON; nothing for a number
    judged: Sequence[str]  # the inputs that are judged: two where a unit compares two texts
    evidence: Sequence[str]  # the other inputs
    intercepts: Sequence[float]  # of each output
    grams: Sequence[GramWeights]
    overlap: FigureWeights  # of the four figures of :func:`measure_overlap`
    signals: NotRequired[FigureWeights]  # of the figures of :func:`measure_support`, where these count
    # where a unit compares two texts: what is added to each output if the first is longer, taken off if it is shorter
    longer: NotRequired[Sequence[float]]


class ReplyPart(TypedDict):
    """The calibration of the model's reply beside the regression: what each figure of the reply adds to its output."""

    slope: float  # the factor of each figure
    offsets: Sequence[float]  # of each figure
    words_weight: float  # the factor of the regression's outputs: 1 for log odds


class QuestionPart(TypedDict):
    """The scaling and the weights of the columns of answers to questions and of the model's own vote."""

    kinds: Sequence[str]  # what each question is answered with
    centers: Sequence[float]  # of each column: the questions, then the figures of the model's own vote
    scales: Sequence[float]
    weights: Sequence[Sequence[float]]  # of each score, for each column


class CriterionRule(TypedDict):
    """The rule by which words decide one criterion, or all units of a judge without several."""

    criterion: str  # empty for a judge without several
    regression: Regression
    reply: ReplyPart | None  # ``None`` where words decide alone
    questions: NotRequired[QuestionPart]  # where answers to questions count


class EvidenceWords:
    """The words of a row's evidence: distinct ones, distinct pairs of neighbours, and the number of all."""

    def __init__(self, text: str) -> None:
        all_words = words(text)
        self.words = frozenset(all_words)
        self.pairs = frozenset(pairwise(all_words))
        self.length = len(all_words)


def measure_overlap(text: str, evidence: EvidenceWords) -> list[float]:
    """Return the shares of a text's words and pairs that the evidence holds, and the log lengths of both."""
    text_words = words(text)
    distinct_words = set(text_words)
    distinct_pairs = set(pairwise(text_words))
    return [
        len(distinct_words & evidence.words) / max(1, len(distinct_words)),
        len(distinct_pairs & evidence.pairs) / max(1, len(distinct_pairs)),
        math.log1p(len(text_words)),
        math.log1p(evidence.length),
    ]


def grams_of(text: str) -> list[str]:
    """Return the grams of a text: its words, and its pairs of neighbouring words."""
    text_words = words(text)
    return text_words + [f"{word} {following}" for word, following in pairwise(text_words)]


def regress(regression: Regression, judged: Sequence[str], evidence: str) -> list[float]:
    """Return the outputs of a regression for one unit.

    Args:
        regression: the regression.
        judged: the judged text, or the two that are compared: then the first counts less the second.
        evidence: the text of all other inputs.
    """
    totals = list(regression["intercepts"])
    for block in regression["grams"]:
        texts = judged
        if block["kind"] == "evidence":
            texts = [evidence]
        for text, sign in zip(texts, (1.0, -1.0), strict=False):  # the second of two texts is taken off
            _add_grams(totals, block["grams"], text, sign)
    overlap = regression["overlap"]
    if overlap["weights"]:
        evidence_words = EvidenceWords(evidence)
        _add_figures(totals, overlap, [measure_overlap(text, evidence_words) for text in judged])
    if "signals" in regression:
        _add_figures(totals, regression["signals"], [measure_support(text, evidence) for text in judged])
    if "longer" in regression:
        side = longer_side(judged)
        for output, weight in enumerate(regression["longer"]):
            totals[output] += side * weight
    return totals


def longer_side(texts: Sequence[str]) -> int:
    """Return 1 where the first of two texts has more characters, -1 where the second has; 0 for equal lengths."""
    first, second = texts
    if len(first) == len(second):
        return 0
    if len(first) > len(second):
        return 1
    return -1


def _add_grams(totals: list[float], grams: Mapping[str, Sequence[float]], text: str, sign: float) -> None:
    """Add to each output what the grams of a text weigh by TF-IDF: logarithmic counts, scaled to length 1."""
    values: dict[str, float] = {}
    for gram, count in Counter(grams_of(text)).items():
        if gram in grams:
            values[gram] = (1.0 + math.log(count)) * grams[gram][0]
    length = math.hypot(*values.values())
    for gram, value in values.items():
        for output, weight in enumerate(grams[gram][1:]):
            totals[output] += sign * weight * value / length


def _add_figures(
    totals: list[float], part: FigureWeights, figures_of_texts: Sequence[Sequence[float]]
) -> None:
    """Add to each output what figures weigh: those of the judged text, or of two the first's less the second's."""
    figures = figures_of_texts[0]
    if len(figures_of_texts) > 1:
        figures = [first - other for first, other in zip(*figures_of_texts, strict=True)]
    for place, figure in enumerate(figures):
        scaled = (figure - part["centers"][place]) / part["scales"][place]
        for output, weights in enumerate(part["weights"]):
            totals[output] += weights[place] * scaled


def word_scores(regression: Regression, judged: Sequence[str], evidence: str) -> list[float]:
    """Return the scores of a unit by a regression: one for each label or member, or the one number."""
    outputs = regress(regression, judged, evidence)
    if regression["learned"] == "label" and len(regression["outputs"]) == 2:
        return [0.0, outputs[0]]  # of two labels a regression has one output: the log odds of the second
    return outputs


def label_figures(labels: Sequence[object], votes: Mapping[Any, float]) -> list[float]:
    """Return the logarithm of each label's share of votes or probability; empty without a vote."""
    total = sum(votes.values())
    if not total:
        return []
    return [math.log(max(LEAST_SHARE, votes.get(label, 0.0) / total)) for label in labels]


def member_figures(names: Sequence[object], votes: Mapping[Any, float]) -> list[float]:
    """Return a figure for each member that grows with the share of samples that name it; empty without a sample.

    The figures are from -4 to 4, and 0 where half of the samples name the member.
    """
    total = sum(votes.values())
    if not total:
        return []
    figures: list[float] = []
    for name in names:
        naming = 0.0
        for members, count in votes.items():
            if name in members:
                naming += count
        figures.append(LARGEST_ODDS * (2.0 * naming / total - 1.0))
    return figures


def add_reply(scores: Sequence[float], reply: ReplyPart, figures: Sequence[float]) -> list[float]:
    """Return the outputs of a regression with what the model's reply adds to each."""
    totals: list[float] = []
    for score, figure, offset in zip(scores, figures, reply["offsets"], strict=True):
        totals.append(reply["words_weight"] * score + reply["slope"] * figure + offset)
    return totals


def add_answers(
    scores: Sequence[float], part: QuestionPart, answers: Sequence[float | None], figures: Sequence[float]
) -> list[float]:
    """Return the scores of a unit with what the answers to questions, and the model's own vote, add to each.

    A question without an answer counts as its center, the mean of the rows that the rule was fitted to.
    """
    columns: list[float] = []
    for column, center, scale in zip([*answers, *figures], part["centers"], part["scales"], strict=True):
        columns.append(0.0 if column is None else (column - center) / scale)
    totals: list[float] = []
    for score, weights in zip(scores, part["weights"], strict=True):
        added = 0.0
        for weight, column in zip(weights, columns, strict=True):
            added += weight * column
        totals.append(score + added)
    return totals


def members_named(names: Sequence[object], scores: Sequence[float]) -> tuple[object, ...]:
    """Return the members whose log odds are above 0."""
    return tuple(name for name, score in zip(names, scores, strict=True) if score > 0)


def join_texts(inputs: Mapping[str, object], names: Sequence[str]) -> str:
    """Return one text: all texts in some inputs, joined by line breaks."""
    return "\n".join(strings([inputs[name] for name in names]))


def softmax(scores: Sequence[float]) -> list[float]:
    """Return the share of each score among the exponentials of all; they add up to 1."""
    largest = max(scores)
    exponentials = [math.exp(score - largest) for score in scores]
    total = sum(exponentials)
    return [exponential / total for exponential in exponentials]
