"""Exporting: a judge as the file of another system, or as a training file for fine-tuning a model of one's own."""

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, TypeAlias

import dspy
from dspy import AdapterParseError

from ..cases import Case
from ..errors import UsageError, as_data, checked, plural
from ..exports import Exporter, Subject, exporter
from ..exports.portable_file import PortableFile
from ..exports.target import UnsuitableTargetError
from ..exports.targets.markdown import Piece, page_pieces
from ..gold.data import WITHOUT_LABEL
from ..gold.goldset import Gold
from ..gold.splits import Part, Shares
from ..gold.writing import write_whole
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.dspy_state import settle_prompt
from ..keeping.loading import LoadedJudge
from ..programs.generator import Generator
from ..programs.judge import Judge
from ..programs.state import PromptState
from .judges import JudgeLike, load_for_new_rows
from .surface import open_store, warn


class Exported(str):
    """The text of an exported file. A notebook shows its length, and ``print`` the text."""

    target: str  # the name of the target

    def __new__(cls, text: str, target: str) -> Self:
        """Make the text of a target."""
        exported_text = super().__new__(cls, text)
        exported_text.target = target
        return exported_text

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return the arguments with which a copy is made."""
        return str(self), self.target

    def __repr__(self) -> str:
        """Say how long it is."""
        return f"<Exported for {self.target}: {len(self):,} letters; print() shows them, write(FILE) writes them>"

    def write(self, output: str | os.PathLike[str]) -> Path:
        """Write the text to a file, and return its path."""
        path = Path(output)
        write_whole(str(self), path)
        return path


@checked
def export(
    judge: JudgeLike,
    target: str,
    output: str | os.PathLike[str] | None = None,
    *,
    store: str | os.PathLike[str] | Store | None = None,
) -> Exported:
    """Return a judge as the file of another system, as ``jurist export``: a text with ``write(FILE)``.

    Args:
        judge: see :data:`JudgeLike`.
        target: ``python``, ``messages``, ``promptfoo`` or another, which ``jurist export --help`` lists; the name that
            an installed package brings; or ``FILE.py:NAME``, an :class:`~jurist.exports.Exporter` of your own.
        output: the file to write it to; default: none.
        store: as for :func:`jurist.load`.

    Raises:
        UsageError: there is no such target, or it cannot hold this judge.
        JuristError: as :func:`jurist.load`.
    """
    loaded = load_for_new_rows(judge, None, open_store(store), {})
    text, _ = exported(loaded, target, output)
    exported_text = Exported(text, target)
    if output is not None:
        exported_text.write(output)
    warn(loaded.standing)
    return exported_text


def exported(
    loaded: LoadedJudge, target: str, output: str | os.PathLike[str] | None
) -> tuple[str, list[str]]:
    """Return the text of the exported file, and its limits in words; nothing is written.

    Args:
        loaded: the judge.
        target: the name of the target.
        output: the name of the file that the text is meant for, which must suit the target; ``None`` without a file.

    Raises:
        UsageError: the target cannot hold this judge, or the file has another suffix.
    """
    chosen = exporter(target)
    if isinstance(loaded.judge, Generator):
        loaded.judge.check_verifier_languages()
    if output is not None and chosen.suffix == ".py" != Path(output).suffix:
        hint = f"--output {Path(output).with_suffix('.py')}"
        raise UsageError(
            f"{as_data(target)} takes a file of Python, which {as_data(output)} is not by its name", hint=hint
        )
    if loaded.artifact is not None and chosen.name != "markdown":  # a description for people asks no model
        loaded.artifact.check_is_no_panel()
    subject = subject_of(loaded.artifact or loaded.state, loaded.judge)
    try:
        text = _rendered(chosen, subject)
    except UnsuitableTargetError as error:
        raise _with_suitable_target(error, subject) from None
    return text, list(chosen.limits) + list(subject.limits)


def _rendered(target: Exporter, subject: Subject) -> str:
    """Return the text of the exported file. Raises ``UsageError`` where the target cannot hold the judge."""
    _check_holds(target, subject)
    return target.render(subject)


def _with_suitable_target(error: UnsuitableTargetError, subject: Subject) -> UsageError:
    """Return the error with a target that holds the judge: the one that it names, else the card for people, or none."""
    for name in (error.target, "markdown"):
        with suppress(UsageError):
            _rendered(exporter(name), subject)
            return UnsuitableTargetError(error.what, target=name, otherwise=error.otherwise)
    return UsageError(error.what, hint=error.otherwise)


def export_text(source: Artifact | PromptState, judge: Judge, target: str) -> str:
    """Return the text of an exported file without asking whether its target can hold the judge (:func:`exported`)."""
    return exporter(target).render(subject_of(source, judge))


def artifact_page(source: Artifact, judge: Judge) -> list[Piece]:
    """Return the page about a version in pieces, which the target ``markdown`` writes as Markdown."""
    return page_pieces(subject_of(source, judge))


def _check_holds(target: Exporter, subject: Subject) -> None:
    """Refuse what a target cannot hold beside the prompt: a decision model, words, questions or an own answer."""
    if subject.asks_decision_model and target.name not in ("markdown", "python"):
        raise UnsuitableTargetError(
            f"{subject.ref} asks a decision model ({subject.model_of_proof}), and the files of {target.name} ask "
            "models that write text",
            target="python",
            otherwise="let jurist serve answer over HTTP",
        )
    if isinstance(target, PortableFile):
        return
    if subject.state.questions:
        raise UnsuitableTargetError(
            f"{subject.ref} weighs the answers to {plural(len(subject.state.questions), 'question')}, which "
            f"{target.name} cannot do",
            target="python",
            otherwise="compile it with --no-questions",
        )
    if subject.word_rule is not None:
        raise UnsuitableTargetError(
            f"{subject.ref} is decided by words, alone or with the replies, which {target.name} cannot hold",
            target="python",
            otherwise="compile it with --no-words",
        )
    if subject.own_answer is not None:
        raise UnsuitableTargetError(
            f"the model of {subject.ref} answers the task itself before it judges, which {target.name} cannot hold",
            target="python",
            otherwise="compile it with --no-own-answer",
        )


def subject_of(source: Artifact | PromptState, judge: Judge) -> Subject:
    """Return the subject of an export: the judge with the prompt and rules of an artifact, or with a prompt alone."""
    if isinstance(source, Artifact):
        source.check_is_no_cascade()
        return Subject(
            judge=judge,
            program=source.program(judge),
            state=source.state,
            card=source.about,
            word_rule=source.word_rule,
            own_answer=source.about.setting.own_answer_request,
        )
    state = settle_prompt(judge, source)
    return Subject(judge=judge, program=state.apply(judge.basic()), state=state)


Messages: TypeAlias = tuple[Mapping[str, str], ...]
"""``{"role": "system" | "user" | "assistant", "content": str}``, the assistant's last."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """A training file."""

    examples: tuple[tuple[Case, Messages], ...]  # in the order of the gold
    left_out: Mapping[str, int]  # how many cases are not in it, by reason


def make_training(
    loaded: LoadedJudge,
    gold: Gold,
    part: Part | Literal["all"] = "train",
    *,
    seed: int = 0,
    shares: Shares | None = None,
    earlier: Mapping[str, str] | None = None,
    on_case: Callable[[], None] = lambda: None,
) -> Training:
    """Return the labelled cases of a part of the gold as a training file, with how many are left out and why.

    Args:
        loaded: the judge that the file teaches to imitate people.
        gold: the labelled cases.
        part: the part of the split by groups, or ``all``. A compilation with the same seed and shares tests on another.
        seed: of the split.
        shares: of the split.
        earlier: hash of a group -> the part in which earlier versions had it, where it stays.
        on_case: called before each case, for a progress bar.
    """
    predictor = _only_predictor(loaded)
    chosen = gold.cases
    if part != "all":
        chosen = gold.split(seed, shares, earlier=earlier).part(part)
    chosen_ids = {case.id for case in chosen}
    left_out = Counter[str]()
    examples: dict[str, tuple[Case, Messages]] = {}
    replies: dict[str, set[str]] = {}
    for case in gold.cases:
        on_case()
        if case.labels and case.id not in chosen_ids:
            left_out["held out"] += 1
            continue
        if case.gold is None or None in case.gold:
            left_out[WITHOUT_LABEL] += 1
            continue
        messages = _training_messages(loaded, predictor, case)
        if messages is None:
            left_out["not readable"] += 1
            continue
        prompt = json.dumps(messages[:-1], ensure_ascii=False)
        replies.setdefault(prompt, set()).add(messages[-1]["content"])
        if prompt in examples:
            left_out["duplicates"] += 1
        else:
            examples[prompt] = (case, messages)
    consistent = []
    for prompt, example in examples.items():
        if len(replies[prompt]) == 1:
            consistent.append(example)
        else:
            left_out["conflicting"] += 1
    return Training(examples=tuple(consistent), left_out=dict(sorted(left_out.items())))


def _only_predictor(loaded: LoadedJudge) -> dspy.Predict:
    """Return the one predictor of a judge whose replies are its labels; refuse other judges."""
    judge = loaded.judge
    if loaded.own_answer is not None:
        raise UsageError(
            f"the model of {loaded.name} answers the task itself before it judges, which no training file shows",
            hint=f"use {judge.name}:basic, or compile it with --no-own-answer",
        )
    program = loaded.artifact.program(judge) if loaded.artifact else judge.basic()
    predictors = program.predictors()
    first = predictors[0]
    if len(predictors) > 1 or tuple(first.signature.input_fields) != judge.input_fields:
        problem = "is not one prompt filled with its inputs, so there is nothing to train one model on"
        raise UsageError(f"{loaded.name} {problem}", hint="use a judge that asks once, such as detector")
    further_fields = [name for name in first.signature.output_fields if name not in judge.answer.fields]
    if further_fields:
        problem = f"the reply of {loaded.name} also has {', '.join(further_fields)}, which gold does not give"
        raise UsageError(problem, hint="use a judge whose reply is its labels, such as detector")
    return first


def _training_messages(loaded: LoadedJudge, predictor: dspy.Predict, case: Case) -> Messages | None:
    """Return the example of a case, or ``None`` if its reply would not be read as its labels."""
    judge, signature = loaded.judge, predictor.signature
    adapter = judge.adapter(loaded.adapter)
    assert case.gold is not None
    messages: list[dict[str, object]] = adapter.format(
        signature, predictor.demos, judge.prompt_values(case.inputs)
    )
    fields = judge.as_reply(case.gold, case.inputs)
    reply = adapter.format_assistant_message_content(signature, fields).strip()
    try:
        verdict = judge.read(dspy.Prediction(**adapter.parse(signature, reply)), case.inputs)
    except AdapterParseError:
        return None
    if verdict.values != case.gold:
        return None
    training = []
    for message in [*messages, {"role": "assistant", "content": reply}]:
        content = message["content"]
        if not isinstance(content, str):  # such as an image
            return None
        training.append({"role": str(message["role"]), "content": content})
    return tuple(training)
