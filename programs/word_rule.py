"""Deciding by words: a regression on words, overlap and support signals gives the value, alone or with the model.

The rule is data, kept with an artifact. Alone it asks no model. Together with the model it adds log odds: those of the
regression, and those of the reply, each calibrated on labels of people; of scores it takes the mean.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias, cast

from ..cases import Case, Value
from ..evaluation.criteria import Rated
from ..text.word_regression import (
    CriterionRule,
    Regression,
    add_answers,
    add_reply,
    join_texts,
    label_figures,
    member_figures,
    members_named,
    softmax,
    word_scores,
)
from .answers.base import Answer, Inputs
from .verdicts import UNDECIDED, Status, Verdict

NO_CRITERION: Final = ""
"""The criterion of all units of a judge without several criteria."""
Shares: TypeAlias = Mapping[Value, float]
"""Value -> its probability."""


class JudgedUnit(NamedTuple):
    """The texts of a unit that a regression reads."""

    criterion: str  # empty for a judge without several
    judged: Sequence[str]  # the judged text, or the two that are compared
    evidence: str  # the text of all other inputs


@dataclass(frozen=True, kw_only=True, eq=False)
class WordRule:
    """The rule by which words decide.

    Attributes:
        criteria: the rule of each criterion; one rule for a judge without several.
        summary: what a card says of it, as JSON values; empty for a rule that was read from a file.
        answers: where questions decide, by the id of each case that it was fitted to the answers and the figures of the
            model's own vote; empty for a rule that was read from a file.
    """

    criteria: tuple[CriterionRule, ...]
    summary: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[str, Sequence[float | None]] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        """Say whether another rule has the same numbers."""
        return isinstance(other, WordRule) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def is_alone(self) -> bool:
        """Whether words decide alone, so that no model is asked."""
        return all(rule["reply"] is None for rule in self.criteria) and not self.asks_questions

    @cached_property
    def asks_questions(self) -> bool:
        """Whether answers to questions count."""
        return any("questions" in rule for rule in self.criteria)

    @cached_property
    def reads_words(self) -> bool:
        """Whether words of the row count."""
        return any(rule["regression"]["overlap"]["weights"] for rule in self.criteria)

    @cached_property
    def reads_signals(self) -> bool:
        """Whether support signals of the row count."""
        return any("signals" in rule["regression"] for rule in self.criteria)

    @property
    def name(self) -> str:
        """``words`` or ``length`` where that decides alone, ``questions`` where answers count, else ``stack``."""
        if self.is_alone:
            return "words" if self.reads_words else "length"
        if self.asks_questions:
            return "questions"
        return "stack"

    @property
    def description(self) -> str:
        """The decider, words or a model or both, in words for people."""
        basis = "words, overlap and support signals" if self.reads_signals else "words and overlap"
        if self.is_alone and not self.reads_words:
            return "which of the two texts is longer decides, and no model is asked"
        if self.is_alone:
            return f"a regression on {basis} decides, and no model is asked"
        if self.asks_questions:
            if self.reads_words:
                return f"a regression on the model's answers to questions, and on {basis}, decides"
            return "a regression on the model's answers to questions decides"
        return f"a regression on {basis} decides together with the model's reply"

    @cached_property
    def digest(self) -> str:
        """A hash of all its numbers, 16 hex digits."""
        text = json.dumps(self.criteria, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def _rule_of(self) -> Mapping[str, CriterionRule]:
        """Criterion -> its rule."""
        rules: dict[str, CriterionRule] = {}
        for rule in self.criteria:
            rules[rule["criterion"]] = rule
        return rules

    def to_lines(self) -> list[dict[str, Any]]:
        """Return the rule as the lines of a JSONL file, one for each criterion."""
        return [dict(rule) for rule in self.criteria]

    def answer_lines(self) -> list[dict[str, Any]]:
        """Return the answers that it was fitted to as the lines of a JSONL file, one for each case."""
        lines: list[dict[str, Any]] = []
        for case_id, answers in self.answers.items():
            lines.append({"case": case_id, "answers": list(answers)})
        return lines

    @classmethod
    def of_lines(cls, lines: Sequence[Mapping[str, Any]]) -> "WordRule":
        """Return the rule that :meth:`to_lines` wrote."""
        return cls(criteria=tuple(cast(CriterionRule, dict(line)) for line in lines))

    def decide(self, answer: Answer, case: Case, verdict: Verdict) -> Verdict:
        """Return the verdict by this rule; a unit for which the model's ``verdict`` has no usable reply has no value.

        Where words decide alone, the values of ``verdict`` do not matter.
        """
        if not self.is_alone and (verdict.status == "failed" or verdict.refused):
            return verdict
        values: list[Value | None] = []
        probabilities: list[Shares] = []
        texts_of_units = read_unit_texts(answer, case.inputs, self.criteria[0]["regression"])
        for unit, texts in enumerate(texts_of_units):
            value, shares = self._decide_unit(answer, texts, verdict, unit)
            values.append(value)
            probabilities.append(shares)
        return self._with_values(verdict, values, probabilities)

    def _decide_unit(
        self, answer: Answer, texts: JudgedUnit, verdict: Verdict, unit: int
    ) -> tuple[Value | None, Shares]:
        """Return the value of a unit, and the probability of each label."""
        rule = self._rule_of[texts.criterion]
        regression = rule["regression"]
        scores = word_scores(regression, texts.judged, texts.evidence)
        reply = rule["reply"]
        part = rule.get("questions")
        if reply is not None or part is not None:
            figures = reply_figures(regression, texts.criterion, answer, verdict, unit)
            is_answered = part is None or bool(verdict.answers)
            if not figures or not is_answered:
                return None, {}
            if reply is not None:
                scores = add_reply(scores, reply, figures)
            if part is not None:
                scores = add_answers(scores, part, verdict.answers, figures)
        value, shares = _read_scores(regression, scores, answer, unit)
        if not texts.criterion:
            return value, shares
        rated_shares: dict[Value, float] = {}
        for label, share in shares.items():
            rated_shares[Rated(texts.criterion, label)] = share
        return Rated(texts.criterion, value), rated_shares

    def _with_values(
        self, verdict: Verdict, values: Sequence[Value | None], probabilities: Sequence[Shares]
    ) -> Verdict:
        """Return the verdict with the values that the rule gives."""
        agreement: list[float | None] = [None] * len(values)
        if verdict.agreement and not self.is_alone:
            agreement = list(verdict.agreement)
        has_probabilities = any(probabilities)
        status: Status = "verdict"
        error_kind = error = ""
        if None in values:
            status = "abstained"
            error_kind = verdict.error_kind or UNDECIDED
            error = verdict.error or f"no usable reply for {values.count(None)} of {len(values)} units"
        return replace(
            verdict,
            values=tuple(values),
            agreement=tuple(agreement),
            probabilities=tuple(probabilities) if has_probabilities else (),
            measured=int(has_probabilities),
            status=status,
            error_kind=error_kind,
            error=error,
        )


def read_unit_texts(answer: Answer, inputs: Inputs, regression: Regression) -> list[JudgedUnit]:
    """Return the texts of each unit of a case that a regression reads."""
    evidence = join_texts(inputs, regression["evidence"])
    names = regression["judged"]
    units: list[JudgedUnit] = []
    if answer.criteria:
        for criterion in answer.criteria:
            units.append(JudgedUnit(criterion, [str(inputs[names[0]])], evidence))
    elif len(names) > 1:
        pair = [join_texts(inputs, [name]) for name in names]
        units.append(JudgedUnit(NO_CRITERION, pair, evidence))
    else:
        for text in answer.units(inputs):
            units.append(JudgedUnit(NO_CRITERION, [text], evidence))
    return units


def reply_figures(
    regression: Regression, criterion: str, answer: Answer, verdict: Verdict, unit: int
) -> list[float]:
    """Return the figures of a unit's samples, one for each output of the regression; empty without a reply.

    Of labels it is the logarithm of each one's share, of members the log odds of being named, of a score the score.
    """
    if regression["learned"] == "number":
        value = verdict.values[unit]
        if value is None:
            return []
        return [float(value.value if criterion else value)]
    votes: Mapping[Any, float] = verdict.votes[unit] if verdict.votes else {}
    if regression["learned"] == "label" and verdict.probabilities and verdict.probabilities[unit]:
        votes = verdict.probabilities[unit]
    plain_votes: dict[Any, float] = {}
    for value, count in votes.items():
        plain_votes[value.value if criterion else value] = count
    if regression["learned"] == "members":
        return member_figures(regression["outputs"], plain_votes)
    labels = [answer.scale_of(unit).of_json(name) for name in regression["outputs"]]
    return label_figures(labels, plain_votes)


def _read_scores(
    regression: Regression, scores: Sequence[float], answer: Answer, unit: int
) -> tuple[Value, Shares]:
    """Return the value that the outputs of a rule give a unit, and the probability of each label."""
    scale = answer.scale_of(unit)
    if regression["learned"] == "number":
        return scale.on_scale(scores[0]), {}
    names = regression["outputs"]
    if regression["learned"] == "members":
        return members_named(names, scores), {}
    labels = [scale.of_json(name) for name in names]
    shares: dict[Value, float] = {}
    for label, share in zip(labels, softmax(scores), strict=True):
        shares[label] = round(share, 6)
    return labels[scores.index(max(scores))], shares
