"""The model's own answer: before the model judges, it does the task itself, without the text that is judged.

The own answer then stands below the task in the judge's prompt. A model wrote it from text of strangers, so it is
defused like every input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ..errors import UsageError
from ..text.escaping import defuse
from ..text.templates import Template
from .answers.base import Inputs
from .flows import below_task
from .judge import Judge

if TYPE_CHECKING:
    import dspy

    from ..engines.adapters import TextAdapter

OUTPUT: Final = "own_answer"
"""The output field of the request for the own answer."""
LABEL: Final = "Your own earlier answer, which you gave before you saw what you judge. It may be wrong:"
"""The line above the own answer in the judge's prompt."""
_REQUEST: Final = "Here is a task. Do it yourself, as well as you can, in at most 200 words."
_TASK_NAMES: Final = frozenset({
    "question", "query", "prompt", "instruction", "instructions", "task", "problem", "request", "exercise",
})  # fmt: skip
"""Words in the names of inputs that hold a task for the model."""
_MATERIAL_NAMES: Final = frozenset({
    "context", "contexts", "document", "documents", "passage", "passages", "article", "source", "sources",
    "knowledge", "facts", "evidence", "choices", "options", "history",
})  # fmt: skip
"""Words in the names of inputs that are the material of a task."""
_JUDGE_NAMES: Final = frozenset({"system", "rubric", "judge", "judging"})
"""Words in the names of inputs that are for the judge alone."""
_REFERENCE_NAMES: Final = frozenset({"reference", "expected", "gold", "correct"})
"""Words in the names of inputs that are the correct answer, with which the judge compares."""


@dataclass(frozen=True, kw_only=True)
class OwnAnswer:
    """The request for a model's own answer, and the place of that answer in the judge's prompt."""

    task: tuple[str, ...]  # the inputs in the request; the answer stands below the last of them
    prompt: str  # the request, with each of these inputs as ``{{name}}``
    label: str = LABEL  # the line above the answer in the judge's prompt

    @property
    def words(self) -> str:
        """A line for people that says what the setting does."""
        names = " and ".join(self.task)
        return f"reference first: the model answers {names} itself before it judges, in one more call for each task"

    def to_json(self) -> dict[str, object]:
        """Return the request as JSON values."""
        return {"task": list(self.task), "prompt": self.prompt, "label": self.label}

    def task_values(self, inputs: Inputs) -> dict[str, str]:
        """Return the inputs in the request, defused: name -> text."""
        return {name: str(defuse(inputs[name])) for name in self.task}

    def add_to(self, values: dict[str, object], answer: str) -> dict[str, object]:
        """Return the inputs of a judge's prompt with an own answer below the task; the answer is defused here."""
        name = self.task[-1]
        return {**values, name: below_task(str(values[name]), self.label, defuse(answer))}

    def predictor(self) -> dspy.Predict:
        """Return the predictor of the request, one for equal requests."""
        return _make_predictor(self)

    def adapter(self) -> TextAdapter:
        """Return the adapter of the request, one for equal prompts."""
        return _make_text_adapter(self.prompt)


@lru_cache(maxsize=64)
def _make_predictor(own_answer: OwnAnswer) -> dspy.Predict:
    """Return the predictor of a request for an own answer."""
    import dspy

    fields: dict[str, tuple[type, object]] = {}
    for name in own_answer.task:
        fields[name] = (str, dspy.InputField())
    fields[OUTPUT] = (str, dspy.OutputField())
    instruction = Template.of(own_answer.prompt).instruction
    return dspy.Predict(dspy.make_signature(fields, instruction, "OwnAnswer"))


@lru_cache(maxsize=64)
def _make_text_adapter(prompt: str) -> TextAdapter:
    """Return the adapter of a request with this prompt."""
    from ..engines.adapters import TextAdapter

    return TextAdapter(Template.of(prompt), {})


def own_answer_of(judge: Judge, task: Sequence[str] = ()) -> OwnAnswer:
    """Return the request for the own answer of a judge's model.

    Args:
        judge: the judge.
        task: the inputs that are the task; default: those whose names say so.

    Raises:
        UsageError: the judge has no task that a model could do itself.
    """
    reason = why_no_own_answer(judge, task)
    if reason:
        raise UsageError(
            f"the model cannot answer first for judge {judge.name}: {reason}",
            hint=_hint_of(judge),
        )
    names = tuple(task) or infer_task(judge)
    parts = [_REQUEST]
    for name in names:
        placeholder = f"{{{{{name}}}}}"
        if len(names) > 1:
            placeholder = f"{name}:\n{placeholder}"
        parts.append(placeholder)
    return OwnAnswer(task=names, prompt="\n\n".join(parts))


def _hint_of(judge: Judge) -> str:
    """Return the advice for a judge whose model cannot answer first; it names an input that may be the task."""
    texts = _text_inputs_beside_judged(judge)
    if not texts:
        return "leave out --own-answer"
    return f"leave out --own-answer, or name the inputs that are the task: --own-answer {texts[0]}"


def infer_task(judge: Judge) -> tuple[str, ...]:
    """Return the inputs whose names say that they are the task or its material, in their order.

    There are none if no name says that it is the task, if an input is the correct answer, and if an input is no text,
    such as an image: the task may be about that.
    """
    text_inputs = _text_inputs_beside_judged(judge)
    if len(text_inputs) + len(judge.answer.unit_fields) < len(judge.input_fields):
        return ()
    names: list[str] = []
    has_task = False
    for name in text_inputs:
        words = set(name.lower().split("_"))
        if words & _REFERENCE_NAMES:
            return ()
        if words & _JUDGE_NAMES:
            continue
        if words & _TASK_NAMES:
            has_task = True
        elif not words & _MATERIAL_NAMES:
            continue
        names.append(name)
    return tuple(names) if has_task else ()


def why_no_own_answer(judge: Judge, task: Sequence[str] = ()) -> str:
    """Return the reason why a judge's model cannot answer first, in words; empty if it can.

    Args:
        judge: the judge.
        task: the inputs that are the task; default: those whose names say so.
    """
    import dspy

    if judge.role != "judge" or not isinstance(judge.basic(), dspy.Predict | dspy.ChainOfThought):
        return "its program has several steps, or code of its own"
    if judge.answer.per_unit:
        return "it labels the parts of a text, and a task has no such parts"
    text_inputs = _text_inputs_beside_judged(judge)
    for name in task:
        if name in judge.answer.unit_fields:
            return f"{name} is what it judges"
        if name not in text_inputs:
            names = ", ".join(text_inputs) or "none"
            return f"{name} is none of its inputs of text beside what it judges ({names})"
    if not task and not infer_task(judge):
        return "by their names and types its inputs are no task of text, such as question, without a given answer"
    return ""


def _text_inputs_beside_judged(judge: Judge) -> list[str]:
    """Return the names of the inputs that are text and are not judged, in their order."""
    names: list[str] = []
    for name, info in judge.signature.input_fields.items():
        if name not in judge.answer.unit_fields and info.annotation is str:
            names.append(name)
    return names
