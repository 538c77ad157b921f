"""The subject of an export, the members of an export target, and the one prompt that most targets hold.

A new target is an :class:`Exporter`, about 30 lines, in a module of ``targets/``; one of your own stands in a Python
file, or in an installed package under the entry points ``jurist.exports``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from uuid import uuid4

from ..engines.model_names import is_decision_model
from ..errors import UsageError
from ..keeping.card import Card
from ..keeping.card_parts import DecisionCard, ThresholdCard
from ..text.templates import CHAT, PLAIN

if TYPE_CHECKING:
    import dspy

    from ..programs.judge import Judge
    from ..programs.own_answer import OwnAnswer
    from ..programs.remembering import Remembered
    from ..programs.state import PromptState
    from ..programs.stepwise import Plan
    from ..programs.word_rule import WordRule

_MOST_ENDINGS = 100
"""The most endings of placeholders that are tried, until the prompt itself holds none of them."""


class UnsuitableTargetError(UsageError):
    """A target cannot hold a judge; the hint names one that may.

    Attributes:
        what: the reason, in words.
        target: a target that may hold the judge.
        otherwise: the next step without an export.
    """

    def __init__(self, what: str, *, target: str, otherwise: str = "run it with jurist") -> None:
        self.what = what
        self.target = target
        self.otherwise = otherwise
        super().__init__(what, hint=f"export it to {target}, or {otherwise}")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The subject of an export: a judge with one prompt, and, if it comes from an artifact, its card."""

    judge: Judge  # the judge
    program: dspy.Module  # its program with the prompt
    state: PromptState  # the prompt
    card: Card | None = None  # the artifact's; ``None`` for a prompt that was never proven
    word_rule: WordRule | None = None  # by which words decide, alone or with the replies
    own_answer: OwnAnswer | None = None  # by which the model answers the task itself before it judges

    @property
    def ref(self) -> str:
        """``JUDGE@VERSION``, or ``JUDGE (not an artifact)``."""
        if self.card is None:
            return f"{self.judge.name} (not an artifact)"
        return f"{self.judge.name}@{self.card.version}"

    @property
    def asks_model(self) -> bool:
        """Whether a model is asked: not where words decide alone."""
        return self.word_rule is None or not self.word_rule.is_alone

    @property
    def form(self) -> str:
        """The adapter of its prompt: ``chat``, ``json`` or ``plain``."""
        if self.card is None:
            return self.judge.default_adapter
        return self.card.adapter or CHAT

    @property
    def stamp(self) -> dict[str, object]:
        """The identity of the exported prompt, and the model that it was proven with, if any, as JSON values."""
        version, sha256 = None, None
        if self.card:
            version, sha256 = self.card.version, self.card.sha256
        verifiers: dict[str, object] = {}
        if self.judge.verifying_versions:
            verifiers["verified_by"] = ", ".join(self.judge.verifying_versions)
        return {
            "judge": self.judge.name,
            **verifiers,
            "variant": self.judge.variant,
            "version": version,
            "sha256": sha256,
            "prompt": self.state.id,
            "proven_with": self.model_of_proof,
        }

    @property
    def decision(self) -> DecisionCard:
        """The decision of its sealed test; without a verdict where nothing was tested."""
        return self.card.decision if self.card else DecisionCard()

    @property
    def proof(self) -> str:
        """A sentence with the decision of its sealed test, the model and the day, or that nothing was proven."""
        if self.card is None:
            return "Not proven: the basic prompt, which nobody tuned"
        words = self.decision.words
        if self.card.refit is not None:
            return f"Not proven: {self.card.refit_words}"
        if self.decision.keeps_basic:
            return f"Not proven: {words}"
        if not words:
            return "Not proven: no sealed test decided"
        return f"Sealed test with {self.model_of_proof}, {self.card.created[:10]}: {words}"

    @property
    def model_of_proof(self) -> str | None:
        """The name of the model that it was proven with; ``None`` where the card names none."""
        if self.card is None:
            return None
        return self.card.model.name or None

    @property
    def asks_decision_model(self) -> bool:
        """Whether the model that it asks is a decision model."""
        return self.asks_model and is_decision_model(self.model_of_proof or "")

    @property
    def thresholds(self) -> ThresholdCard:
        """The samples of a case, and the threshold or the weights that decide among them."""
        return self.card.thresholds if self.card else ThresholdCard()

    @property
    def samples(self) -> int:
        """The samples of a case."""
        return self.thresholds.samples

    @property
    def limits(self) -> tuple[str, ...]:
        """The parts of this judge that no target holds, a sentence each."""
        limits = []
        if self.model_of_proof and self.asks_model:
            limits.append(
                f"{self.ref} was proven with {self.model_of_proof}: its scores do not hold for other models"
            )
        if self.card is None:
            limits.append(self.proof)
        elif self.card.refit is not None:
            limits.append(self.card.refit_words)
        elif self.decision.verdict != "better":
            limits.append(f"{self.ref} has not passed a sealed test")
        limits += self._limits_of_code()
        limits += self._limits_of_language()
        limits += self._limits_of_probabilities()
        return tuple(limits)

    def _limits_of_code(self) -> list[str]:
        """Return the limit that an export leaves out a program's code; nothing for a judge without code."""
        from dspy import ChainOfThought, Predict

        has_steps = getattr(self.program, "plan", None) is not None
        if has_steps or isinstance(self.program, Predict | ChainOfThought):
            return []
        code = type(self.program).__name__
        return [
            f"{self.judge.name} has code of its own ({code}): the export asks its prompt and does no more"
        ]

    def _limits_of_language(self) -> list[str]:
        """Return the limit that labels among the inputs are given in the words of the prompt's language."""
        from ..programs.languages import worded_labels

        limits: list[str] = []
        language = self.judge.language
        if language is None:
            return limits
        for name, info in self.judge.signature.input_fields.items():
            words = worded_labels(info.annotation, language)
            if words:
                limits.append(f"its prompt is in {language}: give {name} as one of {', '.join(words)}")
        return limits

    @property
    def probability_rule(self) -> str:
        """The rule by which probabilities decide, in words; empty where votes decide."""
        if self.thresholds.weights:
            return "the label is the likeliest by its weight"
        threshold = self.thresholds.threshold or 1
        if threshold >= 1:
            return ""
        return f"the judge is positive from a probability of {threshold:.3g} on"

    def _limits_of_probabilities(self) -> list[str]:
        """Return the limit that replies give no probabilities without logprobs; nothing where votes decide."""
        rule = self.probability_rule
        if not rule or self.asks_decision_model:
            return []
        return [
            f"{rule}, read from the tokens of replies; without them the share of the samples counts, and of one "
            "sample its label"
        ]


@runtime_checkable
class Exporter(Protocol):
    """One target system. A Python file or an installed package may bring its own."""

    @property
    def name(self) -> str:
        """The word after ``--to``."""

    @property
    def suffix(self) -> str:
        """The usual end of the file's name, with its dot."""

    @property
    def limits(self) -> Sequence[str]:
        """The parts of a judge that a file of this target cannot hold, a sentence each; may be empty."""

    def render(self, subject: Subject) -> str:
        """Return the text of the file."""


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt to be filled."""

    messages: tuple[Mapping[str, str], ...]  # byte for byte as the adapter formats them
    # input field -> what stands for it; it occurs nowhere but where the value goes
    placeholders: Mapping[str, str]
    judge: Judge
    adapter: str  # ``chat``, ``json`` or ``plain``
    signature: type[dspy.Signature]  # its inputs and outputs, with their types
    demos: Sequence[dspy.Example] = ()  # its demonstrations
    # the rows of which it shows those most like the row it is filled with
    remembered: Remembered | None = None

    def sent(self, values: Mapping[str, object]) -> list[dict[str, str]]:
        """Return the messages that the adapter formats for the values of :meth:`Judge.values`."""
        demonstrations = list(self.demos)
        if self.remembered:
            demonstrations += self.remembered.near(values)
        adapter = self.judge.adapter(self.adapter)
        return _plain_messages(adapter.format(self.signature, demonstrations, dict(values)))

    @property
    def turn(self) -> int:
        """The number of messages at the end that are of the row in hand; labelled rows are shown before them."""
        template = self.judge.template
        if self.adapter != PLAIN or template is None:
            return 1
        revised = template.revised(self.signature.instructions)
        return len(revised.messages) - len(revised.opening)


def _plain_messages(formatted: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the messages of an adapter with role and content alone."""
    return [{"role": str(message["role"]), "content": message["content"]} for message in formatted]


def messages_of_rows(prompt: Prompt) -> list[list[dict[str, str]]]:
    """Return the messages that each remembered row stands for, in a target that chooses among them itself."""
    if prompt.remembered is None:
        return []
    adapter = prompt.judge.adapter(prompt.adapter)
    messages = []
    for example in prompt.remembered.examples:
        messages.append(_plain_messages(adapter.format_demos(prompt.signature, [example])))
    return messages


def prompt_of(
    subject: Subject,
    mark: Callable[[str], str] = "⟦{}⟧".format,
    *,
    remembers: bool = False,
    predictor: dspy.Predict | None = None,
) -> Prompt:
    """Return the prompt of a judge that asks once, or of one of its predictors.

    Args:
        subject: the judge.
        mark: makes the placeholder of an input of its name.
        remembers: whether the target can show other rows with each call.
        predictor: the predictor; default: the only one.
    """
    from ..programs.state import PredictorPrompt

    predictor = predictor or only_predictor(subject)
    remembered = PredictorPrompt.of(predictor).remembered
    if remembered and not remembers:
        raise UnsuitableTargetError(
            f"{subject.ref} shows with each row the {remembered.shown} labelled rows most like it, which this target "
            "cannot do",
            target="python",
        )
    adapter = subject.judge.adapter(subject.form)
    placeholders = _placeholders(adapter, predictor, mark)
    if placeholders is None:
        raise UnsuitableTargetError(
            f"{subject.judge.name} has an input that is not inserted as text, which this target cannot hold",
            target="markdown",
        )
    messages = adapter.format(predictor.signature, predictor.demos, placeholders)
    return Prompt(
        messages=tuple(_plain_messages(messages)),
        placeholders=placeholders,
        judge=subject.judge,
        adapter=subject.form,
        signature=predictor.signature,
        demos=tuple(predictor.demos),
        remembered=remembered,
    )


def _placeholders(
    adapter: dspy.Adapter, predictor: dspy.Predict, mark: Callable[[str], str]
) -> dict[str, str] | None:
    """Return a placeholder of each input that the prompt does not hold itself; ``None`` where an input is no text."""
    fields = predictor.signature.input_fields
    if not takes_text(predictor):
        return None
    # Marks that no text holds tell how often each value stands in the messages.
    places = _count_marks(adapter, predictor, {field: f"mark{uuid4().hex}" for field in fields})
    if not places:
        return None
    for number in range(_MOST_ENDINGS):
        ending = f"_{number}" if number else ""
        placeholders = {field: mark(f"{field}{ending}") for field in fields}
        if _count_marks(adapter, predictor, placeholders) == places:
            return placeholders
    return None


def _count_marks(adapter: dspy.Adapter, predictor: dspy.Predict, marks: Mapping[str, str]) -> dict[str, int]:
    """Return input field -> how often its mark stands in the messages that are sent with these marks as values."""
    messages = adapter.format(predictor.signature, predictor.demos, dict(marks))
    text = "\0".join(str(message["content"]) for message in messages)
    return {field: text.count(mark) for field, mark in marks.items()}


def takes_text(predictor: dspy.Predict) -> bool:
    """Whether every input is inserted where it stands; DSPy's own types (histories, images) are not."""
    from dspy import History, Type

    for info in predictor.signature.input_fields.values():
        if Type.extract_custom_type_from_annotation(info.annotation) or info.annotation is History:
            return False
    return True


def program_steps(subject: Subject) -> tuple[Plan, Mapping[str, dspy.Predict]]:
    """Return the plan of a judge's program, and the predictors that it asks, by name."""
    from ..programs.stepwise import Plan, Stepwise

    program = subject.program
    predictors = dict(program.named_predictors())
    if not isinstance(program, Stepwise):
        only_predictor(subject)
        (name,) = predictors
        return Plan("once", {"step": name}), predictors
    if program.plan is None:
        raise UsageError(
            f"{subject.judge.name} goes on by jurist's own code ({type(program).__name__}), which no file holds",
            hint=f"export {program.instead}, or run it with jurist; its as_module() is a module of DSPy",
        )
    planned_predictors = {}
    for name, predictor in predictors.items():
        if name in program.plan.step_names:
            planned_predictors[name] = predictor
    return program.plan, planned_predictors


def only_predictor(subject: Subject) -> dspy.Predict:
    """Return the one predictor of a judge that asks once."""
    judge, predictors = subject.judge, dict(subject.program.named_predictors())
    first = next(iter(predictors.values()), None)
    steps = getattr(subject.program, "plan", None)
    if len(predictors) > 1:
        what = f"asks up to {len(predictors)} prompts ({', '.join(predictors)}), each after what the last one answered"
    elif steps is not None:
        what = f"asks its prompt up to {judge.calls} times for one answer"
    elif first is None or tuple(first.signature.input_fields) != judge.input_fields:
        what = "is not one prompt filled with its inputs"
    else:
        return first
    target = "python" if steps else "markdown"
    raise UnsuitableTargetError(f"{judge.name} {what}; this target holds one prompt", target=target)
