"""What an export target is given and has to offer, and the one prompt that most targets hold.

A new target is an :class:`Exporter`, about 30 lines, and its name in ``jurist.exports``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from uuid import uuid4

from ..errors import UsageError
from ..keeping.card import NOTHING_BETTER
from ..text.templates import CHAT, PLAIN

if TYPE_CHECKING:
    import dspy

    from ..programs.judge import Judge
    from ..programs.remembering import Remembered
    from ..programs.state import PromptState
    from ..programs.stepwise import Plan

_ENDINGS = ("", *(f"_{number}" for number in range(1, 100)))
"""Of placeholders: the first with which the prompt itself holds none of them."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is exported: a judge with one prompt, and, if it comes from an artifact, its card."""

    judge: Judge  # the judge
    program: dspy.Module  # its program with the prompt
    state: PromptState  # the prompt
    # the artifact's card; empty for a prompt that was never proved
    card: Mapping[str, Any] = field(default_factory=dict)
    price: str = ""  # what a row takes, before and after compiling, in words

    @property
    def ref(self) -> str:
        """``JUDGE@VERSION``, or ``JUDGE (not an artifact)``."""
        return self.judge.name + (f"@{self.card['version']}" if self.card else " (not an artifact)")

    @property
    def form(self) -> str:
        """The form of its prompt: ``chat``, ``json`` or ``plain``."""
        if self.card:
            return str(self.card.get("adapter") or CHAT)
        return self.judge.form

    @property
    def stamp(self) -> dict[str, Any]:
        """Which prompt an exported file holds, and which model it was proven with (``None``: none)."""
        return {
            "judge": self.judge.name,
            "variant": self.judge.variant,
            "version": self.card.get("version"),
            "sha256": self.card.get("sha256"),
            "prompt": self.state.id,
            "proven_with": self.model_of_proof,
        }

    @property
    def proof(self) -> str:
        """What its sealed test decided, with the model and the day; or that nothing was proven."""
        decision = self.card.get("decision") or {}
        words = decision.get("words")
        if decision.get("verdict") == NOTHING_BETTER:
            return f"Not proven: {words}"
        if not words:
            return "Not proven: " + (
                "no sealed test decided" if self.card else "the basic prompt, which nobody tuned"
            )
        day = str(self.card.get("created") or "")[:10]
        return f"Sealed test with {self.model_of_proof}, {day}: {words}"

    @property
    def model_of_proof(self) -> str | None:
        """The model that it was proven with."""
        return (self.card.get("model") or {}).get("name")

    @property
    def samples(self) -> int:
        """How often a case is asked."""
        return int((self.card.get("thresholds") or {}).get("samples") or 1)

    @property
    def limits(self) -> tuple[str, ...]:
        """What no target holds of this judge, in words."""
        from dspy import ChainOfThought, Predict

        kept = self.card.get("thresholds") or {}
        threshold = kept.get("threshold") or 1
        limits = []
        if model := self.model_of_proof:
            limits = [f"{self.ref} was proven with {model}: its scores do not hold for other models"]
        if (self.card.get("decision") or {}).get("verdict") != "better":
            limits.append(f"{self.ref} has not passed a sealed test" if self.card else self.proof)
        if (
            not isinstance(self.program, Predict | ChainOfThought)
            and getattr(self.program, "plan", None) is None
        ):
            own = type(self.program).__name__
            limits.append(
                f"{self.judge.name} has code of its own ({own}): the export asks its prompt and does no more"
            )
        if threshold < 1 or kept.get("weights"):
            rule = "the label is the likeliest by its weight" if kept.get("weights") else ""
            limits.append(
                f"{rule or f'the judge is positive from a probability of {threshold:.3g} on'}, read from the tokens of "
                "replies; without them the share of the samples counts, and of one sample its label"
            )
        return tuple(limits)


@runtime_checkable
class Exporter(Protocol):
    """One target system."""

    @property
    def name(self) -> str:
        """The word after ``--to``."""

    @property
    def suffix(self) -> str:
        """The usual end of the file's name, with its dot."""

    def render(self, subject: Subject) -> str:
        """Return the text of the file."""


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt to be filled."""

    messages: tuple[Mapping[str, str], ...]  # byte for byte as the adapter formats them
    # input field -> what stands for it; it occurs nowhere but where the value goes
    placeholders: Mapping[str, str]
    judge: Judge
    adapter: str  # the form of the prompt: ``chat``, ``json`` or ``plain``
    signature: type[dspy.Signature]  # its inputs and outputs, with their types
    demos: Sequence[Any] = ()  # its demonstrations
    # the rows of which it shows those most like the row it is filled with
    remembered: Remembered | None = None

    def sent(self, values: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the messages that the adapter formats for the values of :meth:`Judge.values`."""
        near = self.remembered.near(values) if self.remembered else []
        adapter = self.judge.adapter(self.adapter)
        return _messages(adapter.format(self.signature, [*self.demos, *near], dict(values)))

    @property
    def turn(self) -> int:
        """How many messages at the end are those of the row in hand; labelled rows are shown before them."""
        template = self.judge.template
        if self.adapter != PLAIN or template is None:
            return 1
        own = template.revised(self.signature.instructions)
        return len(own.messages) - len(own.opening)


def _messages(formatted: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{"role": str(message["role"]), "content": message["content"]} for message in formatted]


def shown_rows(prompt: Prompt) -> list[list[dict[str, str]]]:
    """Return the messages that each remembered row stands for, in a target that chooses among them itself."""
    adapter, kept = prompt.judge.adapter(prompt.adapter), prompt.remembered
    return [
        _messages(adapter.format_demos(prompt.signature, [one])) for one in (kept.examples if kept else ())
    ]


def prompt_of(
    subject: Subject,
    mark: Callable[[str], str] = "⟦{}⟧".format,
    *,
    remembers: bool = False,
    predictor: dspy.Predict | None = None,
) -> Prompt:
    """Return the prompt of a judge that asks once, or of one of its predictors."""
    # ``remembers``: the target can show other rows with each call.
    from ..programs.state import PredictorPrompt

    judge, predictor = subject.judge, predictor or only_predictor(subject)
    remembered = PredictorPrompt.of(predictor).remembered
    if remembered and not remembers:
        raise UsageError(
            f"{subject.ref} shows with each row the {remembered.shown} labelled rows most like it, which this target "
            "cannot do",
            hint="export it to python, or run it with jurist",
        )
    adapter = judge.adapter(subject.form)
    fields = predictor.signature.input_fields
    # Marks that no text holds tell how often each value stands in the messages.
    places: Mapping[str, int] = {}
    if takes_text(predictor):
        places = _count_marks(adapter, predictor, {field: f"mark{uuid4().hex}" for field in fields})
    for ending in _ENDINGS if places else ():
        marks = {field: mark(f"{field}{ending}") for field in fields}
        if _count_marks(adapter, predictor, marks) == places:
            return Prompt(
                messages=tuple(_messages(adapter.format(predictor.signature, predictor.demos, marks))),
                placeholders=marks,
                judge=judge,
                adapter=subject.form,
                signature=predictor.signature,
                demos=tuple(predictor.demos),
                remembered=remembered,
            )
    raise UsageError(
        f"{judge.name} has an input that is not inserted as text, which this target cannot hold",
        hint="export it to markdown, or run it with jurist",
    )


def _count_marks(adapter: dspy.Adapter, predictor: dspy.Predict, marks: Mapping[str, str]) -> dict[str, int]:
    """Return input field -> how often its mark stands in the messages that are sent with these marks as values."""
    messages = adapter.format(predictor.signature, predictor.demos, dict(marks))
    whole = "\0".join(str(message["content"]) for message in messages)
    return {field: whole.count(mark) for field, mark in marks.items()}


def takes_text(predictor: dspy.Predict) -> bool:
    """Whether every input is inserted where it stands; DSPy's own types (histories, images) are not."""
    from dspy import History, Type

    return not any(
        Type.extract_custom_type_from_annotation(info.annotation) or info.annotation is History
        for info in predictor.signature.input_fields.values()
    )


def planned(subject: Subject) -> tuple[Plan, Mapping[str, dspy.Predict]]:
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
    return program.plan, {name: one for name, one in predictors.items() if name in program.plan.asked}


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
    hint = f"export it to {'python' if steps else 'markdown'}, or run it with jurist"
    raise UsageError(f"{judge.name} {what}; this target holds one prompt", hint=hint)
