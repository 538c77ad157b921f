"""One artifact: a compiled judge with its card; imports the types of a card, and DSPy, only when they are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArtifactError
from ..evaluation.rows import JudgedRow
from .sealing import ANSWERS, DISAGREEMENTS, PROOF, ROBUSTNESS, SEEN, WORDS, JsonObject, read_artifact_file

RESTORE = "restore the folder from a copy, or compile the judge again"
REMEMBERED_ROWS = "remembered rows"
WORD_RULE = "rule of words"
WORDS_AND_REPLIES = "rule of words and replies"
LABEL_WEIGHTS = "weights of labels"

if TYPE_CHECKING:
    import dspy

    from ..cases import Value
    from ..programs.answers.base import Answer
    from ..programs.judge import Judge
    from ..programs.state import PromptState
    from ..programs.word_rule import WordRule
    from .card import Card
    from .card_parts import SettingCard
    from .records import CandidateRecord, LabelProofRecord, ProofRecord, RobustnessRecord


@dataclass(frozen=True, kw_only=True, repr=False)
class Artifact:
    """One compiled judge, checked against its seal when it was read.

    Attributes:
        judge: the judge's name.
        version: 1 or more.
        path: its folder.
        card: provenance, labels, thresholds, scores: the content of ``card.json`` as JSON values; empty if that is
            none. ``about`` has the same by name and type.
        program_state: the content of ``program.json``.
        history: the candidates that were tried, in order.
        added: name -> content of the files that were added after it was saved, with measurements of it.
        latest: whether ``JUDGE`` meant it, for the model that it was proven with, when it was read.
        tags: its other names.
        faults: why it cannot be used, a line each; none if :meth:`~jurist.Store.load` returned it.
        extras: faults of files in its folder that are no part of it, a line each.
    """

    judge: str
    version: int
    path: Path
    card: JsonObject
    program_state: JsonObject
    history: tuple[JsonObject, ...] = ()
    added: Mapping[str, JsonObject] = field(default_factory=dict)
    latest: bool = False
    tags: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Name the artifact and where it is: the card alone fills a screen."""
        return f"<Artifact {self.ref} in {self.path}>"

    @property
    def ref(self) -> str:
        """``JUDGE@VERSION``."""
        return f"{self.judge}@{self.version}"

    @property
    def names(self) -> tuple[str, ...]:
        """Its names beside its number: ``latest`` and its tags."""
        return ("latest",) + self.tags if self.latest else self.tags

    @property
    def problem(self) -> str:
        """The first fault of a file beside it, or of the artifact itself, as a line; empty without one."""
        problems = self.extras + self.faults
        return problems[0] if problems else ""

    @property
    def model(self) -> str:
        """The model that it was proven with; empty if its card names none."""
        return self.about.model.name

    @property
    def was_shown_better(self) -> bool:
        """Whether its sealed test has shown it to be better than the basic prompt and a constant answer."""
        return self.about.decision.verdict == "better"

    @property
    def sha256(self) -> str:
        """The hash of all of its content, 64 hex digits."""
        return self.about.sha256 or ""

    @cached_property
    def about(self) -> Card:
        """The card as an object: each part has its name and type, and a default if an older version lacks it."""
        from .card import Card

        return Card.model_validate(self.card or {"judge": self.judge, "version": self.version})

    @cached_property
    def state(self) -> PromptState:
        """The prompts: instructions and demonstrations."""
        from .dspy_state import read_state

        return read_state(self.program_state)

    @property
    def robustness(self) -> tuple[JsonObject, ...]:
        """The results of attacks, as JSON, for each model and gold: see :class:`~jurist.jobs.hardening.Robustness`."""
        return tuple(self.added.get(ROBUSTNESS, {}).get("measured", ()))

    @property
    def disagreements(self) -> tuple[JsonObject, ...]:
        """The decisions by labels where it differs from basic, as JSON: see :func:`~jurist.jobs.label_plan.decide`."""
        return tuple(self.added.get(DISAGREEMENTS, {}).get("measured", ()))

    @cached_property
    def candidates(self) -> tuple[CandidateRecord, ...]:
        """The candidates of its history, in the order in which they were tried."""
        from .records import CandidateRecord

        return tuple(CandidateRecord.model_validate(line) for line in self.history)

    @cached_property
    def robustness_records(self) -> list[RobustnessRecord]:
        """The results of attacks (``robustness``), one record for each model and gold."""
        from .records import MeasuredRobustness

        content = self.added.get(ROBUSTNESS)
        return MeasuredRobustness.model_validate(content).measured if content else []

    @cached_property
    def label_proofs(self) -> list[LabelProofRecord]:
        """The decisions by labels (``disagreements``), one record for each plan."""
        from .records import MeasuredByLabels

        content = self.added.get(DISAGREEMENTS)
        return MeasuredByLabels.model_validate(content).measured if content else []

    def proof(self) -> tuple[JsonObject, ...]:
        """Return the answers of both programs on the sealed test, for people to read; no optimizer sees them.

        Each row has ``case``, ``group``, ``gold`` (a value per unit), and for ``basic`` and ``compiled`` each
        ``status``, ``values``, ``votes``, ``agreement``, ``probability`` (of being positive), ``drawn``,
        ``reasoning`` and ``error``; inputs are in the gold.

        Raises:
            ArtifactError: the file was changed since it was saved.
        """
        return self._lines_of(PROOF)

    def proof_records(self) -> list[ProofRecord]:
        """Return the lines of :meth:`proof` as objects.

        Raises:
            ArtifactError: the file was changed since it was saved, or a line is no line of a proof.
        """
        from .records import ProofRecord

        records = []
        for number, line in enumerate(self.proof(), 1):
            fault = ProofRecord.fault(line)
            if fault:
                raise ArtifactError(
                    f"{self.ref} in {self.path.parent.parent} is damaged: {PROOF}: line {number}: {fault}",
                    hint=RESTORE,
                )
            records.append(ProofRecord.model_validate(line))
        return records

    @property
    def demonstrated_ids(self) -> tuple[str, ...]:
        """The ids of the rows that its prompt demonstrates, sorted."""
        for candidate in self.candidates:
            if candidate.candidate == self.about.optimizer.candidate:
                return tuple(sorted(candidate.demo_ids))
        return ()

    def seen(self) -> tuple[JsonObject, ...]:
        """Return the rows of train and dev as sketches, by which near copies are found: no text.

        Raises:
            ArtifactError: the file was changed since it was saved.
        """
        return self._lines_of(SEEN)

    def answers(self) -> dict[str, list[float | None]]:
        """Return by the ids of cases the answers that a rule over questions was fitted to; no text.

        Raises:
            ArtifactError: the file was changed since it was saved.
        """
        return {line["case"]: line["answers"] for line in self._lines_of(ANSWERS)}

    @cached_property
    def word_rule(self) -> WordRule | None:
        """The rule by which words decide, alone or with the replies; ``None`` where replies alone decide.

        Raises:
            ArtifactError: the file was changed since it was saved.
        """
        from ..programs.word_rule import WordRule

        lines = self._lines_of(WORDS)
        if not lines:
            return None
        return WordRule.of_lines(lines)

    @property
    def fitted_parts(self) -> tuple[str, ...]:
        """The parts that are fitted to labels, beside instructions and demonstrations; empty where none is."""
        return list_fitted_parts(self.state, self.about.setting, self.word_rule)

    def _lines_of(self, name: str) -> tuple[JsonObject, ...]:
        """Return the JSON values in the lines of a sealed file; none if the card names no such file."""
        sealed = self.about.files.get(name)
        if sealed is None:
            return ()
        try:
            data = read_artifact_file(self.path / name)
        except OSError:
            data = b""
        if hashlib.sha256(data).hexdigest() != sealed:
            raise ArtifactError(
                f"{self.ref}: {name} was changed after it was saved", hint="restore it from a copy"
            )
        texts = filter(None, data.decode("utf-8").split("\n"))
        return tuple(json.loads(text) for text in texts)

    def as_compiled(self, judge: Judge) -> Judge:
        """Return a judge with the metric of this compilation, and its inputs that are common to rows by design."""
        metric = self.about.decision.metric
        if self.about.refit is not None:
            metric = self.about.refit.metric or None
        compiled = judge.as_compiled(metric, self.about.gold.common)
        language = self.about.option_values.get("language")
        if language is None:
            return compiled
        return compiled.in_language(language)

    def check(self, judge: Judge) -> None:
        """Refuse a judge of another name, or with other labels, positive labels, input fields or types of fields."""
        from .card import task_of

        card = self.about
        task = task_of(judge)
        types = task.pop("types")
        verifiers = task.pop("verifiers", {})
        if judge.name == card.judge and verifiers != card.verifiers:
            compiled_with = ", ".join(card.verifiers) or "its own verifiers"
            raise ArtifactError(
                f"{self.ref} was compiled with {compiled_with}, not with {', '.join(verifiers) or 'its own'}",
                hint="leave out --verifier, or compile it again with it",
            )
        recorded = {name: getattr(card, name) for name in card.model_fields_set}
        identity = {"judge": judge.name, **judge.identity_under(recorded), **task}
        for name, value in identity.items():
            if name in recorded:
                self._check_part(name, recorded[name], value)
        # The cards of older versions have no types.
        compiled_types = card.types or types
        for name, value in types.items():
            self._check_part(f"{name} of type", compiled_types.get(name), value)

    def _check_part(self, name: str, compiled_value: object, value: object) -> None:
        """Refuse a judge of which a part, such as its labels, is not as it was compiled."""
        if compiled_value != value:
            raise ArtifactError(
                f"{self.ref} was compiled for {name} {compiled_value!r}, the judge has {value!r}",
                hint="compile it again with this judge, or use the judge it was made for",
            )

    def check_is_no_cascade(self) -> None:
        """Raise ``ArtifactError`` if this is a cascade, for commands that need one prompt."""
        if self.about.cascade:
            raise ArtifactError(
                f"{self.ref} is a cascade, and has no prompt of its own", hint="name one of its judges"
            )

    def check_has_no_words(self, hint: str) -> None:
        """Raise ``ArtifactError`` if words decide, for commands that know replies alone."""
        if self.about.words is not None:
            raise ArtifactError(f"{self.ref} is decided by words, alone or with the replies", hint=hint)

    def check_is_no_panel(self) -> None:
        """Raise ``ArtifactError`` if several models answer together, for files that ask one."""
        if self.about.model.members:
            raise ArtifactError(
                f"{self.ref} is asked with a {self.about.model.name}, and an exported file asks one model",
                hint=f"serve it, as jurist serve {self.ref}, or compile the judge for one --model",
            )

    def program(self, judge: Judge) -> dspy.Module:
        """Return the compiled program: with the prompt and the field descriptions that were proved."""
        from .dspy_state import load_program

        self.check(judge)
        try:
            return load_program(judge, self.program_state)
        except ArtifactError as error:
            raise ArtifactError(f"{self.ref}: {error.message}", hint=error.hint) from error


def read_proof_rows(answer: Answer, proof: Sequence[ProofRecord], system: str) -> list[JudgedRow]:
    """Return the answers of ``basic`` or ``compiled`` on the sealed test as rows of the evaluation.

    Raises:
        ArtifactError: the proof holds a value that the judge does not give.
    """

    def values_of(json_values: Sequence[object]) -> tuple[Value | None, ...]:
        values: list[Value | None] = []
        for json_value in json_values:
            if json_value is None:
                values.append(None)
            else:
                values.append(answer.scale.of_json(json_value))
        return tuple(values)

    rows = []
    for record in proof:
        answer_record = record.answer_of(system)
        try:
            row = JudgedRow(
                id=record.case,
                group=record.group,
                gold=values_of(record.gold),
                predicted=values_of(answer_record.values),
                failed=answer_record.status == "failed",
            )
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ArtifactError(
                f"{PROOF}: case {record.case} has a value that the judge does not give", hint=RESTORE
            ) from error
        rows.append(row)
    return rows


def read_json_prompt(prompt: Mapping[str, object], place: str) -> PromptState:
    """Return a prompt from JSON values that stand in a file of an artifact.

    Raises:
        ArtifactError: they are no prompt; ``place`` says where they stand.
    """
    from ..programs.state import PromptState

    try:
        state = PromptState.from_json(prompt)
        for step in state.predictors.values():
            if not isinstance(step.instructions, str):
                raise TypeError("an instruction is no text")
            if not all(isinstance(demo, Mapping) for demo in step.demos):
                raise TypeError("a demonstration is no object")
        return state
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ArtifactError(f"{place} is damaged: {type(error).__name__}", hint=RESTORE) from error


def list_fitted_parts(
    state: PromptState, setting: SettingCard, word_rule: WordRule | None
) -> tuple[str, ...]:
    """Return the parts of a prompt with its setting that are fitted to labels, in words; empty where none is."""
    parts: list[str] = []
    remembers = any(prompt.remembered is not None for prompt in state.predictors.values())
    if remembers and setting.asks_model is not False:
        parts.append(REMEMBERED_ROWS)
    if word_rule is not None:
        parts.append(_PART_OF_RULE[word_rule.name])
    elif setting.weights is not None:
        parts.append(LABEL_WEIGHTS)
    elif setting.threshold is not None:
        parts.append("threshold")
    return tuple(parts)


_PART_OF_RULE = {
    "words": WORD_RULE,
    "length": "rule of length",
    "stack": WORDS_AND_REPLIES,
    "questions": "head on questions",
}
"""Name of a rule by which words decide -> the part that is fitted."""
