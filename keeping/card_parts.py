"""The parts of an artifact's card, each a type of its own (:mod:`jurist.keeping.part`)."""

from __future__ import annotations

import keyword
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    field_validator,
    model_validator,
)

from ..arguments.groups import Combining, Effort
from ..cases import ROWS, SHARES_OF_FEW, SHARES_OF_MANY
from ..evaluation.trust import AgreementRegression
from ..evaluation.votes import Sampling
from ..programs.options import JUDGE_OPTIONS
from ..text.templates import Template
from .part import Count, Figure, Part

if TYPE_CHECKING:
    from ..engines.models import Model
    from ..programs.own_answer import OwnAnswer

_SPLIT_PARTS = ("train", "dev", "test")
_MAPPING_PARTS = ("columns", "labels", "merge", "groups")
"""The parts of a mapping of gold, as ``to_json`` of :class:`jurist.RowMapping` writes them."""
Votes = Annotated[int, Field(ge=1, le=1000)]
"""A number of samples, or of votes among them."""
Weights = dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]
"""Label -> the factor of its votes or its probability."""


def _check_identifier(name: str) -> str:
    """Return a name that can be a field in Python; exported files and schemas hold such names."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError("the name of a field must be a Python identifier")
    return name


Identifier = Annotated[str, AfterValidator(_check_identifier)]


def _check_definition(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a judge whose fields all have usable names."""
    _DEFINED_FIELDS.validate_python(definition.get("fields", []))
    return definition


class _DefinedField(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: Identifier


_DEFINED_FIELDS = TypeAdapter(list[_DefinedField])
Definition = Annotated[dict[str, Any], AfterValidator(_check_definition)]
"""A judge as data, see :mod:`jurist.programs.definition`."""


class JudgePart(Part):
    """A part about a judge: it holds the values of the judge's options under their names."""

    @property
    def option_values(self) -> dict[str, str]:
        """The value of each option that the judge had."""
        extra = self.model_extra or {}
        return {name: extra[name] for name in JUDGE_OPTIONS if name in extra}

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        for name, value in self.option_values.items():
            if not isinstance(value, str):
                raise ValueError(f"{name} must be a text")
        return self


class CodePart(Part):
    """A part about a judge that may stand in a Python file."""

    judge_sha256: str | None = None
    judge_code: str | None = None

    @property
    def hashes(self) -> frozenset[str]:
        """The hashes of the file that the judge stood in; empty if the part has none."""
        return frozenset(filter(None, (self.judge_sha256, self.judge_code)))


# How the judge is asked.


class ThresholdCard(Part):
    """The samples of a case, and the rule that decides among the replies."""

    samples: Votes = 1
    threshold: Votes | Annotated[float, Field(gt=0, lt=1)] | None = None
    weights: Weights | None = None
    combine: Combining | None = None  # of scores; older versions have the median
    panel: bool = False  # whether each sample is of another model

    @property
    def sampling(self) -> Sampling:
        """The samples and the threshold."""
        return Sampling(
            samples=self.samples,
            threshold=self.threshold,
            weights=self.weights,
            combine=self.combine,
            is_panel=self.panel,
        )

    @classmethod
    def of(cls, sampling: Sampling) -> Self:
        """Return a sampling as a card shows it, with the threshold that is in force."""
        return cls.model_validate(sampling.to_card())

    @model_validator(mode="after")
    def _check_threshold(self) -> ThresholdCard:
        if self.threshold is not None and self.threshold > self.samples:
            raise ValueError(f"a threshold of {self.threshold} is above {self.samples} samples")
        return self


class ModelCard(Part):
    """A model, without credentials."""

    name: str = ""
    api_base: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: Count | None = None
    reasoning_effort: Effort | None = None
    body: dict[str, Any] | None = None
    members: list[ModelCard] | None = None  # of a panel

    @property
    def each(self) -> list[ModelCard]:
        """The models that are asked: the members of a panel, else this one."""
        return self.members or [self]

    def model(self, timeout: float = 120.0) -> Model:
        """Return the model, at an address that no user has named."""
        from ..engines.hosts import CardAddress
        from ..engines.models import Model

        if self.members:
            members = [member.model(timeout=timeout) for member in self.members]
            return Model.panel(members)
        settings = {name: value for name, value in vars(self).items() if value is not None}
        settings.pop("members", None)
        settings["body"] = self.body or {}
        if self.api_base is not None:
            settings["api_base"] = CardAddress(self.api_base)
        return Model(**settings, timeout=timeout)

    @classmethod
    def of(cls, model: Model) -> ModelCard:
        """Return a model as a card shows it; :meth:`model` makes it again."""
        return cls.model_validate(describe_model(model))


def describe_model(model: Model) -> dict[str, Any]:
    """Return the settings of a model that decide its answers, as JSON values without credentials."""
    return model.described


class OwnAnswerCard(Part):
    """The request for the model's own answer to the task, and its place in the judge's prompt."""

    task: Annotated[list[Identifier], Field(min_length=1)]
    prompt: str
    label: str

    @model_validator(mode="after")
    def _check_prompt(self) -> OwnAnswerCard:
        variables = Template.of(self.prompt).variables
        if set(variables) != set(self.task):
            raise ValueError(
                f"its request has {', '.join(variables) or 'nothing'} and not the inputs of its task"
            )
        return self

    @property
    def own_answer(self) -> OwnAnswer:
        """The own answer as it is asked for."""
        from ..programs.own_answer import OwnAnswer

        return OwnAnswer(task=tuple(self.task), prompt=self.prompt, label=self.label)


class SettingCard(Part):
    """The setting that the search chose beside the words of the prompt."""

    threshold: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    weights: Weights | None = None
    form: str | None = None
    words: dict[str, str] | None = None  # who decides, and the hash of the rule
    asks_model: bool | None = None
    own_answer: OwnAnswerCard | None = None

    @property
    def own_answer_request(self) -> OwnAnswer | None:
        """The request for the model's own answer; ``None`` where it is not asked for."""
        return self.own_answer.own_answer if self.own_answer is not None else None


class WeighedQuestion(Part):
    """A question that a model answers, and what its answer weighs."""

    text: str = ""
    kind: str = ""  # what it is answered with
    towards: str = ""  # the label that a yes, or a higher answer, speaks for
    weight: Figure = 0.0  # of a standard deviation of the answers, in log odds or in scores


_SHOWN_QUESTIONS = 3
"""The questions that :attr:`WordsCard.words` shows at most."""
_SHOWN_GRAMS = 12
"""The words that it shows at most, of all labels together; of each label at least one."""


class WordsCard(Part):
    """The rule that decides: words, alone or together with the model's replies, or answers to questions."""

    # ``words`` where they decide alone, ``length`` where the longer of two texts does, ``stack`` where replies count
    # too, ``questions`` where answers to questions do
    decide: str = "words"
    share: Figure = 1.0  # of words in the decision: of the spread of the log odds, or of the scores
    heaviest: dict[str, list[str]] = {}  # label or member -> the words and pairs of words that say it most
    questions: list[WeighedQuestion] = []  # the heaviest first
    share_of_vote: Figure = 0.0  # of the judge's own vote among all weights, where questions decide
    warnings: list[str] = []

    @property
    def without_model(self) -> str:
        """The sentence that names the rule which decides without a language model; empty where one is asked."""
        if self.decide == "length":
            return "no language model is asked: the longer of two texts decides"
        if self.decide == "words":
            return "no language model is asked: words alone decide"
        return ""

    @property
    def who_decides(self) -> str:
        """The shares of the model, its answers to questions, and words in the decision."""
        if self.decide == "length":
            return "what decides: which of the two texts is longer, no language model is asked"
        if self.decide == "words":
            return "what decides: words alone, no language model is asked"
        of_model = 1 - self.share
        if self.decide == "questions":
            parts = [
                f"{of_model * (1 - self.share_of_vote):.0%} answers to {len(self.questions)} questions",
                f"{of_model * self.share_of_vote:.0%} the model's own verdict",
            ]
            if self.share:
                parts.append(f"{self.share:.0%} words")
            return f"what decides: {', '.join(parts)}"
        return f"what decides: {of_model:.0%} model, {self.share:.0%} words"

    @property
    def words(self) -> str:
        """The decider and the features that weigh most, in one line."""
        line = self.who_decides
        if self.decide == "questions":
            heaviest_questions = []
            for question in self.questions[:_SHOWN_QUESTIONS]:
                heaviest_questions.append(f'"{question.text}" ({question.towards})')
            line += f"; the heaviest questions: {'; '.join(heaviest_questions)}"
        heaviest = []
        for label, grams in self.heaviest.items():
            shown = max(1, _SHOWN_GRAMS // len(self.heaviest))
            heaviest.append(f"{label}: {', '.join(grams[:shown])}")
        if heaviest:
            line += f"; what weighs most: {'; '.join(heaviest)}"
        return line

    def question_lines(self) -> list[str]:
        """Return each question with its weight, a line each."""
        lines: list[str] = []
        for question in self.questions:
            lines.append(
                f"{question.weight:.2f} towards {question.towards}: {question.text} ({question.kind})"
            )
        return lines


class JobCard(Part):
    """The model and the settings that the compilation was started with; the search may have chosen others."""

    model: ModelCard = ModelCard()
    adapter: str | None = None
    samples: Votes | None = None
    threshold: Figure | None = None
    combine: Combining | None = None
    words: bool = True  # whether words might decide; written where they might not
    questions: bool = True  # whether answers to questions might decide; written where they might not
    own_answer: bool = True  # whether the model might answer first; written where it might not


BY_HAND: Final = "by hand"
"""The name in the place of an optimizer where a person wrote the prompt."""


class OptimizerCard(Part):
    """The search that found the prompt."""

    name: str | None = None
    params: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    seed: Count | None = None
    ending: str | None = None
    reason: str | None = None
    candidate: str | None = None
    candidates: Count | None = None  # how many were tried
    chosen_from: str | None = None  # the version whose candidates this one was chosen from
    start: str | None = None  # the version from whose prompt the search began, if not from the basic one


class Guideline(Part):
    """A rule of the instruction, with the ids of the cases that it was drawn from."""

    rule: str
    cases: list[str] = []


# The gold.


class GoldFileCard(Part):
    """Where gold is from, and how its columns and labels were read."""

    name: str | None = None
    source: str | None = None
    sha256: str | None = None
    mapping: dict[str, dict[str, str]] = {}
    rejected: Count | None = None  # rows that were set aside because they cannot be used

    @field_validator("mapping")
    @classmethod
    def _check_mapping(cls, mapping: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        unknown = sorted(mapping.keys() - set(_MAPPING_PARTS))
        if unknown:
            raise ValueError(
                f"it maps {unknown[0]}, which is not {', '.join(_MAPPING_PARTS[:-1])} or {_MAPPING_PARTS[-1]}"
            )
        return mapping

    @property
    def place(self) -> str:
        """The file or the name under which it is read again; empty if the card names none."""
        return self.source or self.name or ""

    @property
    def gold_option(self) -> str:
        """The options by which a command reads the gold again; ``labels.csv`` stands for rows that were in no file."""
        place = self.place
        if place in ("", ROWS):
            place = "labels.csv"
        return f"--gold {shlex.quote(place)}{self.reading_options}"

    @property
    def reading_options(self) -> str:
        """The options by which a command reads the gold as it was read, with a space before each; empty without any."""
        pairs: list[tuple[str, str]] = []
        if self.rejected:
            pairs.append(("--rejects", "aside.jsonl"))
        for column, field in self.mapping.get("columns", {}).items():
            pairs.append(("--column", f"{column}={field}"))
        for label, meaning in self.mapping.get("labels", {}).items():
            pairs.append(("--map", f"{label}={meaning}"))
        rule = self.mapping.get("merge", {}).get("rule")
        if rule:
            pairs.append(("--merge", rule))
        return "".join(f" {name} {shlex.quote(value)}" for name, value in pairs)

    @property
    def split_option(self) -> str:
        """The option by which ``compile`` leaves near groups apart, as then, with a space before it; else empty."""
        return " --keep-groups" if "groups" in self.mapping else ""


class HoldoutCard(GoldFileCard):
    """Gold that is the sealed test alone."""

    left_out: Count | None = None


class GoldCard(GoldFileCard):
    """The gold that the version was compiled and proven on."""

    train: Count | None = None
    dev: Count | None = None
    test: Count | None = None
    test_ids_sha256: str | None = None
    seen: list[str] = []  # ids of the cases of train and dev
    shares: list[Figure] = []
    common: list[str] | None = None  # inputs that are the same in many cases by design
    parts: dict[str, list[str]] = {}
    holdout: HoldoutCard | None = None

    @property
    def three_shares(self) -> tuple[float, float, float] | None:
        """The shares of train, dev and test; ``None`` where the card does not have all three."""
        if len(self.shares) != len(_SPLIT_PARTS):
            return None
        train, dev, test = self.shares
        return train, dev, test

    @property
    def split_option(self) -> str:
        """The options by which ``compile`` splits the gold as then, with a space before each; else empty."""
        words = super().split_option
        if self.holdout is not None:
            words += f" --holdout {shlex.quote(self.holdout.place)}"
        elif self.three_shares not in (None, SHARES_OF_FEW, SHARES_OF_MANY):
            percents = "/".join(f"{100 * share:g}" for share in self.shares)
            words += f" --split {percents}"
        return words


class SealedRowsCard(Part):
    """The number of rows in the sealed test, and of those that the proof used."""

    sealed: Count | None = None
    opened_before: Count | None = None
    used: Count | None = None


# The proof.


class ScoreCard(Part):
    """A score with the ends of its interval; ``worst`` and ``best`` are what unanswered units can make of it."""

    value: Figure
    low: Figure
    high: Figure
    worst: Figure = 0.0
    best: Figure = 0.0


class UnitCounts(Part):
    """The number of units or cases that were answered."""

    total: Count
    answered: Count
    abstained: Count
    failed: Count
    unlabelled: Count


class CountsCard(Part):
    """The number of units and cases that a prompt answered."""

    units: UnitCounts
    cases: UnitCounts | None = None
    coverage: Figure


class ReferenceCard(Part):
    """The score of a reference, and the paired test of the judge against it."""

    answer: str
    score: Figure
    low: Figure
    high: Figure
    judge_is: str | None = None
    difference: Figure | None = None
    p: Figure | None = None

    @property
    def interval(self) -> ScoreCard:
        """The score with its interval."""
        return ScoreCard(value=self.score, low=self.low, high=self.high)


References = dict[str, ReferenceCard | None]
Scores = dict[str, ScoreCard | None]
"""Metric -> score."""


class ConstantCard(Part):
    """The best constant answer against compiled."""

    answer: str = ""
    value: Figure | None = None
    difference: Figure | None = None
    low: Figure | None = None
    high: Figure | None = None
    p: Figure | None = None
    better: bool = False
    worse: bool = False


class CriterionCard(Part):
    """Basic against compiled on one criterion; ``shown`` is ``better``, ``worse`` or empty."""

    metric: str
    basic: Figure
    compiled: Figure
    difference: Figure
    low: Figure
    high: Figure
    p: Figure | None = None
    shown: str = ""
    units: Count
    groups: Count | None = None


NOTHING_BETTER = "nothing better found"
"""The verdict of a compilation that keeps the basic prompt: nothing was asked of the sealed test."""


class ProofFigures(Part):
    """The figures of a decision that rests on the sealed test."""

    metric: str
    verdict: str
    basic: Figure
    compiled: Figure
    difference: Figure
    low: Figure
    high: Figure
    cases: Count


class DecisionCard(Part):
    """The decision between basic and compiled."""

    verdict: str | None = None
    words: str = ""
    warnings: list[str] = []
    metric: str | None = None
    higher_is_better: bool | None = None
    difference: Figure | None = None
    basic: Figure | None = None
    compiled: Figure | None = None
    low: Figure | None = None
    high: Figure | None = None
    missing: str | None = None  # how missing answers were counted
    level: Figure = 0.95  # of the interval
    p: Figure = 1.0
    openings: Count | None = None  # times that the sealed test was opened, this proof included
    alpha: Figure | None = None  # the level of all openings together
    tested: Figure = 0.0  # the one-sided level of this test
    groups: Count | None = None
    test: str | None = None
    constant: ConstantCard | None = None
    right: str | None = None  # when a unit counts as right
    b: Count | None = None  # units that only basic got right
    c: Count | None = None  # units that only compiled got right
    units: Count | None = None
    cases: Count | None = None
    criteria: dict[str, CriterionCard] = {}

    @property
    def keeps_basic(self) -> bool:
        """Whether the compilation found nothing better than the basic prompt, so that nothing was proven."""
        return self.verdict == NOTHING_BETTER

    @property
    def tested_figures(self) -> ProofFigures | None:
        """The figures that it rests on; ``None`` where nothing was tested."""
        figures = {name: getattr(self, name) for name in ProofFigures.model_fields}
        if None in figures.values():
            return None
        return ProofFigures(**figures)


class ChoiceCard(Part):
    """The choice of a refit on all labelled rows, each of which was judged by a fit without its fold."""

    kept: bool  # whether what was in use before stays
    decides: str  # who decides now, in words
    over: str  # what was in use before, in words
    value: Figure  # of the metric, of who decides now
    value_before: Figure  # of what was in use before, fitted again

    def words_of(self, metric: str, parts: Sequence[str]) -> str:
        """Return who decides now, which parts are fitted, and the values of the metric that led to it, in words."""
        if self.kept:
            manner = "with its parts fitted again" if parts else "as it was"
            why = f"nothing else was clearly better ({metric} {self.value_before:.3f}, cross-fitted)"
            return f"it is {self.over} {manner}, as {why}"
        values = f"{metric} {self.value:.3f} in place of {self.value_before:.3f} (cross-fitted)"
        return f"{self.decides} is ahead of {self.over}, with {values}"


class RefitCard(Part):
    """The version whose fitted parts were fitted again, and what its sealed test has shown of it."""

    parent: Annotated[int, Field(ge=1)]
    rows: Count  # labelled rows that the parts are fitted on now
    earlier_rows: Count  # those that the parts of the parent were fitted on
    parts: list[str] = []  # what was fitted again, in words
    # ``None`` where the parent's own parts were fitted again, and nothing chosen
    choice: ChoiceCard | None = None
    metric: str
    verdict: str = ""  # of the parent's sealed test
    difference: Figure | None = None
    low: Figure | None = None
    high: Figure | None = None

    def words_of(self, version: int) -> str:
        """Return sentences about a version: its parts that were fitted again, and the test of its parent."""
        tested = f"was not tested: {self.verdict}"
        if self.difference is not None and self.low is not None and self.high is not None:
            interval = f"[{self.low:+.3f}, {self.high:+.3f}]"
            gain = f"{self.metric} {self.difference:+.3f} {interval}"
            tested = f"was tested against the basic prompt: {gain}, {self.verdict}"
        parts = ", ".join(self.parts) or "no part that is fitted"
        made = f"is version {self.parent} fitted again on all {self.rows} labelled rows ({parts})"
        if self.choice is not None:
            made = f"was chosen and fitted again on all {self.rows} labelled rows ({parts}): "
            made += self.choice.words_of(self.metric, self.parts)
        return (
            f"Version {version} {made}. Version {self.parent}, fitted on {self.earlier_rows}, {tested}. "
            f"Version {version} was not tested itself: label new rows and run jurist prove"
        )


class CalibrationBin(Part):
    """A range of probability that holds some units."""

    low: Figure | None = None  # its least probability; only the first range has it
    high: Figure | None = None  # its greatest
    units: Count = 0
    said: Figure = 0.0  # the mean probability of its units
    found: Figure = 0.0  # the share of its units that gold calls positive


class CalibrationCard(Part):
    """The calibration of the probabilities of the positive label."""

    units: Count
    positive: Count | None = None
    ece: Figure | None = None
    brier: Figure | None = None
    auc: Figure | None = None
    average_precision: Figure | None = None
    bins: list[CalibrationBin] = []


class NotWorseCard(Part):
    """Whether the version is worse than the one before by no more than a margin."""

    outcome: str
    margin: Figure
    words: str


class AgainstCard(Part):
    """The version against the one that it is made of."""

    first: str = ""
    second: str = ""
    verdict: str = ""
    words: str = ""
    not_worse: NotWorseCard | None = None


class MoveCard(Part):
    """The scores of a version beside the one that it was moved from, on another model."""

    parent: str  # ``JUDGE@VERSION``
    model: str  # the model that the version before was proven with
    outcome: str  # better, as good, worse or not known
    margin: Figure
    words: str
    way: str  # how the new model is asked
    tried: dict[str, Figure] = {}  # way of asking -> the metric on train and dev
    differing: Figure  # share of the units of the sealed test on which the models answer otherwise
    # how many further units on which the models differ have to be labelled, so that an equal model mostly passes
    labels: Count | None = None
    rows: Count | None = None  # of further rows, among which so many units differ

    @property
    def verdict_words(self) -> str:
        """The verdict in a few words."""
        return self.words.partition(":")[0]


class PanelCard(Part):
    """The answers of a panel's models on the sealed test, in number, and their agreement."""

    cases: Count
    answered: dict[str, Count]
    agreement: Figure | None = None

    @property
    def words(self) -> str:
        """The findings in one line."""
        members = [f"{name} {count}" for name, count in self.answered.items()]
        words = f"of {self.cases} cases answered: {', '.join(members)}"
        if self.agreement is not None:
            words += f"; two of them agree on {self.agreement:.0%}"
        return words


# What it took.


class TokensCard(Part):
    """Tokens a row."""

    input: Figure = 0
    output: Figure = 0

    @property
    def total(self) -> float:
        """Tokens of both kinds."""
        return self.input + self.output


# Cascades.


class TrustCard(Part):
    """The probability that a judge agrees with people: a logistic regression on its label and on its sureness."""

    intercept: Figure
    slope: Figure
    labels: dict[str, Figure]

    @property
    def regression(self) -> AgreementRegression:
        """The regression from a label and a sureness to the probability that people agree."""
        return AgreementRegression(intercept=self.intercept, slope=self.slope, labels=self.labels)


class MemberCard(JudgePart, CodePart):
    """A judge of a cascade, whole, as it was when the level was chosen."""

    judge: str
    reference: str
    definition: Definition | None = None
    prompt: dict[str, Any]
    model: ModelCard
    verifier: ModelCard | None = None
    adapter: str
    thresholds: ThresholdCard
    trust: TrustCard


class AnsweringCard(Part):
    """The answers of one judge of a cascade on the gold that the level was chosen on."""

    name: str = ""
    judge: str
    model: str
    alone: Figure
    answered: Count
    right: Count


class StepCard(Part):
    """One level of sureness that was tested, and how many rows each judge answers at it."""

    level: Figure
    by: list[Count]
    right: list[Count] = []
    bound: Figure
    answered: Count
    agreement: Figure


class LabelAgreementCard(Part):
    """The answers of a cascade to the rows to which people gave one label."""

    label: str
    rows: Count
    answered: Count
    right: Count


class CascadeFound(Part):
    """The findings behind the chosen level of a cascade."""

    gold: str
    cases: Annotated[Count, Field(ge=1)]
    groups: Count | None = None
    left_out: Count = 0
    opening: Count | None = None
    agree: Figure
    risk: Figure | None = None
    level: Figure | None = None
    chosen: StepCard | None = None
    steps: list[StepCard] = []
    judges: Annotated[list[AnsweringCard], Field(min_length=1)]
    labels: list[LabelAgreementCard] = []
    warnings: list[str] = []
    tokens: dict[str, Figure] = {}
    dollars: dict[str, Figure] = {}
    words: str = ""
    shown: bool | None = None
    artifact: str | None = None


class CascadeCard(Part):
    """The judges of a cascade, and the level from which on each may answer."""

    level: Figure
    members: Annotated[list[MemberCard], Field(min_length=1)]
    found: CascadeFound | None = None
