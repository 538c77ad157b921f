"""A generator: a program that writes items from documents, and verifies them.

It is a judge in everything that commands, optimizers and artifacts do with it: what it gives is a
:class:`~jurist.programs.answers.whole.Checked` answer, and what is wanted of it needs no labels, so plain documents
are its gold. Its program wires steps that write (and are tuned) with verifiers that are left as they are
(:func:`~jurist.programs.frozen.frozen`) and checks by code.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import dspy
import pydantic

from ..cases import Case, Label
from ..engines.frames import says_chinese
from ..engines.ledger import Purpose
from ..errors import JudgeError, UsageError
from ..evaluation.checked_items import Check, CheckedItem
from ..text.escaping import well_formed
from ..text.wording import LANGUAGES, Language
from .answers.base import Answer
from .answers.labels import Positive
from .answers.whole import Checked
from .frozen import frozen_predictors
from .judge import Judge
from .languages import in_language
from .stepwise import Making, Steps, Stepwise
from .verifiers import CompiledVerifier

ToRow = Callable[[Case, CheckedItem, int], Mapping[str, Any]]
"""(document, item, its number) -> its row; ``reasons`` and ``provenance`` in it are added to those of the output."""
REASONS_JOINT = "; "
"""What stands between the reasons of a check by code."""
_FACTS = ("title", "topic", "language")
"""Facts of every document, which may be inputs."""


@dataclass(frozen=True, kw_only=True)
class Generator(Judge):
    """A generator. ``name``, ``signature``, ``program`` and ``checks`` are needed for one's own.

    Attributes:
        checks: the names of the checks that the program gives for each item.
        concerns: check, or a reason that a check by code gives -> the predictors whose writing it is about. Only they
            are shown its failures when prompts are optimized (HaluAgent section 3.2); default: all predictors.
        verifiers: judge -> the attribute of the program with the frozen step, or the list of them, that asks what the
            judge decides: a version of it can stand there (``--verifier``).
        verified_by: the versions that do.
        items: how many items it is to write from each document.
        document: the input field that gets the document's text; default: the first. ``title``, ``topic`` and
            ``language`` may be inputs too.
        case_calls: the fewest and the most calls of its tuned predictors that one run on a case takes, where that
            differs by case; default: each predictor once.
        case_nouns: what people call a case of it, and several, such as ``("question", "questions")``.
        to_row: the row of an item in the output; default: the item's fields with ``id``, ``group`` and ``checks``.
    """

    checks: tuple[str, ...] = ()
    concerns: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False, repr=False)
    verifiers: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    verified_by: tuple[CompiledVerifier, ...] = field(default=(), hash=False)
    items: int = 1
    case_nouns: tuple[str, str] = ("document", "documents")
    case_calls: Callable[[Case], tuple[int, int]] | None = field(default=None, repr=False)
    to_row: ToRow | None = field(default=None, repr=False)

    def __post_init__(
        self, positive: Positive | Mapping[str, Positive], labels: Sequence[Label], unit: str
    ) -> None:
        """Fill in what makes it a generator."""
        if self.program is None:
            hint = "give program=, a dspy.Module that returns dspy.Prediction(written=[...], checks=[...])"
            raise JudgeError(f"generator {self.name} has no program", hint=hint)
        document = self.document or next(iter(self.signature.input_fields))
        answer: Answer = Checked(field="written", unit=document, checks=tuple(self.checks), items=self.items)
        settings = {
            "document": document,
            "answer": self.answer or answer,
            "rows": self.rows or self._make_row_model(),
            "to_case": self.to_case or self._case_of_row,
            "demonstrations": self.demonstrations or (lambda case: {}),
        }
        for name, value in settings.items():
            object.__setattr__(self, name, value)
        super().__post_init__(positive, labels, unit)

    @property
    def role(self) -> Purpose:
        """The purpose under which its writers' calls are counted; those of frozen verifiers are the judge's."""
        return "generator"

    def basic(self) -> dspy.Module:
        """Return a fresh basic program, with the prompts of the versions that verify."""
        program = super().basic()
        for compiled_verifier in self.verified_by:
            compiled_verifier.put_into(program)
        return program

    def for_texts(self, texts: Iterable[str]) -> Self:
        """Return the generator with its prompts in Chinese where most of these texts are, unless one was chosen."""
        generator = super().for_texts(texts)
        generator.check_verifier_languages()
        return generator

    def check_verifier_languages(self) -> None:
        """Refuse versions that verify with a prompt in another language than that of the generator's prompts."""
        language: Language = "zh" if says_chinese(self.signature) else "en"
        for verifier in self.verified_by:
            if verifier.language != language:
                name, _, _ = verifier.reference.partition("@")
                what = f"{verifier.reference} has its prompt in the language {verifier.language}"
                hint = f"add --language {verifier.language}, or name a version of {name} in {language}"
                raise UsageError(f"{what}, and {self.name} is asked in {language}", hint=hint)

    @property
    def verifying_versions(self) -> dict[str, str]:
        """The versions that verify, each with the hash of its content."""
        return {verifier.reference: verifier.sha256 for verifier in self.verified_by}

    @cached_property
    def verifier_calls(self) -> int:
        """The number of its frozen predictors."""
        return len(frozen_predictors(self.basic()))

    def writer_calls(self, case: Case) -> tuple[int, int]:
        """Return the fewest and the most calls of its tuned predictors that one run takes."""
        if self.case_calls is not None:
            return self.case_calls(case)
        calls = self.calls - self.verifier_calls
        return calls, calls

    def reason_for(self, step: str, check: str, reason: str) -> str | None:
        """Return the part of a failed check's reason that concerns a predictor; ``None`` if the failure does not."""
        if step not in self._concerns.get(check, (step,)):
            return None
        parts: list[str] = []
        for part in reason.split(REASONS_JOINT):
            if step in self._concerns.get(part, (step,)):
                parts.append(part)
        if not parts:
            return None
        return REASONS_JOINT.join(parts)

    @cached_property
    def _concerns(self) -> Mapping[str, Sequence[str]]:
        """``concerns``, whose predictors all exist."""
        names = [name for name, _ in self.basic().named_predictors()]
        for check, steps in self.concerns.items():
            for step in steps:
                if step not in names:
                    hint = f"name one of {', '.join(names)}"
                    raise JudgeError(f"generator {self.name}: concerns[{check!r}] names {step!r}", hint=hint)
        return self.concerns

    @property
    def checked(self) -> Checked:
        """The answer as what it is."""
        assert isinstance(self.answer, Checked)
        return self.answer

    def row(self, case: Case, item: CheckedItem, number: int) -> Mapping[str, Any]:
        """Return the row of an item in the output of ``jurist generate``; ``number`` is 0 for a document's only one."""
        if self.to_row is not None:
            return self.to_row(case, item, number)
        fields = item.data
        if not isinstance(fields, dict):
            fields = {"item": fields}
        name = f"{case.group}-{number}" if number else case.group
        return {"id": name, "group": case.group, **fields}

    def _make_row_model(self) -> type[pydantic.BaseModel]:
        """Return the model of a document's row: the program's inputs, and facts that every document may have."""
        fields: dict[str, Any] = {}
        for name, info in self.signature.input_fields.items():
            fields[name] = (info.annotation, "" if name in _FACTS else ...)
        for name in ("group", "id", "source") + _FACTS:
            fields.setdefault(name, (str, ""))
        return pydantic.create_model(
            f"{self.signature.__name__}Row", __config__={"extra": "ignore"}, **fields
        )

    def _case_of_row(self, row: Any) -> Case:
        inputs = {name: getattr(row, name) for name in self.input_fields}
        return Case(
            inputs=inputs, group=row.group or row.id, gold=(self.checked.scale.expected,), source=row.source
        )


def generator_of(judge: Judge) -> Generator:
    """Return a judge as the generator that it is."""
    if not isinstance(judge, Generator):
        hint = "name a generator: jurist judges lists them"
        raise UsageError(f"{judge.name} is a judge and writes nothing", hint=hint)
    return judge


class _Answering(Stepwise):
    """Asks once; the item is the text of the reply."""

    def __init__(self, signature: type[dspy.Signature]) -> None:
        super().__init__()
        self.reply = dspy.Predict(signature)
        (self._field,) = signature.output_fields

    def steps(self, **inputs: object) -> Steps:
        reply = yield self.reply, inputs
        text = well_formed(str(reply.get(self._field) or "")).strip()
        check = Check(verdict="yes" if text else "no")
        return dspy.Prediction(written=[text], checks=[{"answered": check}])


def make_answerer(name: str, signature: type[dspy.Signature]) -> Generator:
    """Return a generator of answers, zero-shot, for a model that is assessed; others judge what they are worth."""
    programs: dict[Language, Making] = {}
    for language in LANGUAGES:
        programs[language] = Making(_Answering, (in_language(signature, language),))
    is_written = programs["zh"] != programs["en"]
    return Generator(
        name=name,
        signature=signature,
        program=programs["en"],
        programs=programs,
        languages=LANGUAGES if is_written else (),
        checks=("answered",),
        description="a reply, as a model that is assessed gives it",
    )
