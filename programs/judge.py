"""A judge: a named program with typed inputs, an answer and a metric.

``Judge`` is the one description from which every command works, for the built-in judges and for a user's own alike. It
knows how a row becomes a case and how a case becomes the program's inputs; what kind of answer comes back is the
answer's own business (:mod:`jurist.programs.answers`). It does not know models, optimizers or files.
"""

import inspect
import json
import keyword
import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from functools import cached_property, partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, get_args

import pydantic
from pydantic_core import ErrorDetails

from ..cases import Case, Label, Values
from ..engines.ledger import Purpose
from ..errors import EmptyInputError, GoldError, JudgeError, UsageError, check_types, repr_in_brief
from ..evaluation.scale import Scale
from ..evaluation.votes import RULES, Rule
from ..text.escaping import defuse
from ..text.templates import CHAT, PLAIN, Template
from ..text.turns import EXACT_TYPES, Text
from ..text.wording import Language, main_language, plain_spelling
from .answers.base import Answer, Inputs, Places, Tokens
from .answers.labels import ClosedLabel, Positive
from .options import JudgeOption, check_options, option_values, with_option_values
from .verdicts import Verdict

if TYPE_CHECKING:
    import dspy

    from .image_inputs import ImageFolder
    from .state import Demo

MISSING = "the field is missing"
"""What is wrong with a row that does not have one of the judge's inputs."""
_WHO_SPEAKS = frozenset(["speaker", "role", "author", "sender"])
_WHAT_IS_SAID = frozenset(["text", "content", "utterance", "message"])
"""Columns of a table with a row for each turn of a conversation."""
NO_TEXT = "it must be text"
"""The start of what is wrong with a row that has a list or an object in place of a text."""
Row: TypeAlias = Mapping[str, object]
"""Column -> its value, as a file has it."""
_judge_numbers = count(1)
MetricChoice = str | Callable[[Any, Any], float]
"""The name of a metric, or a function of (gold values, predicted values), two lists, with a value in [0, 1]."""


def check_judge_name(name: str) -> None:
    """Refuse a name that no folder of artifacts and no reference can have."""
    if not name or not all(c.islower() or c.isdigit() or c == "-" for c in name):
        hint = "use lower-case letters, digits and hyphens"
        raise JudgeError(f"the judge's name {name!r} is not usable", hint=hint)


class OwnSignature(NamedTuple):
    """The place of a signature of jurist's own, which is imported when it is asked for: DSPy takes half a second."""

    module: str  # of ``jurist.signatures``
    name: str
    inputs: tuple[str, ...]  # its input fields, in order: texts
    optional: frozenset[str] = frozenset()  # those that a row may lack

    def load(self) -> "type[dspy.Signature]":
        """Return the signature."""
        package = __package__.rpartition(".")[0]
        signature: type[dspy.Signature] = getattr(
            import_module(f"{package}.signatures.{self.module}"), self.name
        )
        return signature


class OwnProgram(NamedTuple):
    """The place of a program of jurist's own, a class of ``dspy.Module``; called, it makes the program."""

    module: str  # of ``jurist.programs``
    name: str

    def __call__(self) -> "dspy.Module":
        """Return a fresh program."""
        program: dspy.Module = getattr(import_module(f".{self.module}", __package__), self.name)()
        return program


def own_signature(module: str, name: str, *inputs: str, optional: str = "") -> Any:
    """Return a placeholder, in the declaration of a judge with a complete answer, for a signature of jurist's own.

    Its inputs are texts, where the judge declares no rows; a row may lack the ``optional`` one.
    """
    return OwnSignature(module, name, inputs, frozenset({optional} - {""}))


def media_types(annotation: object) -> list[str]:
    """Return the names of DSPy's types of media within a type, such as ``Audio`` in ``list[dspy.Audio]``."""
    import dspy

    if isinstance(annotation, type) and issubclass(annotation, (dspy.Image, dspy.Audio, dspy.File)):
        return [annotation.__name__]
    names: list[str] = []
    for part in get_args(annotation):
        names += media_types(part)
    return names


@dataclass(frozen=True, kw_only=True, repr=False)
class Judge:
    """A judge. ``name`` and ``signature`` are needed, and for closed labels ``positive``.

    Attributes:
        name: lower-case letters, digits and hyphens; the folder its artifacts live in.
        signature: the typed task. The annotation of its output field says which kind of answer it is:
            ``bool`` or ``Literal`` of strings (a closed label), ``Literal`` of whole numbers or a number with
            ``ge=`` and ``le=`` (a score), a list of ``Literal`` (several labels). Several such fields are several
            criteria, each with a column of gold.
        answer: the kind of answer, or the name of the one output field that holds it; default: read from the signature.
        metric: what compiling maximises: a name, or a function; default: the answer's own, in which no constant answer
            does well (balanced accuracy for closed labels).
        program: the basic program, or what makes it of nothing (a class); default ``dspy.Predict(signature)``.
        variant: which prompt of several.
        description: one line for the catalogue.
        rows: the pydantic model of a gold row; default: the signature's inputs and the answer.
        to_case: makes a case of such a row; needed with ``rows``.
        bundled: the bundled gold set that goes with it, if there is one.
        document: the input field that holds a document: its rows are then those of
            :func:`~jurist.gold.documents.read_documents`, read from texts, folders and rows alike.
        most_calls: the most calls that one run of the program takes, where the program asks a predictor more than once;
            default: each predictor once.
        expand: turns one row of another layout into this judge's own rows (a response into its sentences): none
            where the row says nothing that concerns this judge, and the row itself (the same object) where it is
            already its own. See :meth:`expanded`.
        demonstrations: what gold says as a demonstration of each predictor, by its path; a predictor that gold says
            nothing about is absent. Needed where predictors do not all give the answer. See :meth:`demos`.
        positive: for a closed label: the positive class, one label or several (hallucinated, non-factual, ...); kept in
            ``answer``. Of several criteria: criterion -> its positive class; of a ``bool`` it is ``true`` by default.
        shares: of the cases in train, dev and test, where a compilation names no others; default: by how many there are
            (see :func:`~jurist.gold.splits.default_shares`).
        most_groups: how many groups of train and of dev a compilation uses at most; default: all.
        most_cases: an input and a number: how many cases of a group a compilation uses at most, drawn so that the
            values of this input are about equally frequent; default: all.
        common: input fields that say the same in many rows by design (a policy, a rubric): they make no rows belong
            together. ``()``: none does; default: they are found by counting (:mod:`jurist.gold.shared`).
        columns: column of your files -> field of the judge, where the names differ. A column may be a path into a row
            (``scores.overall``, ``outputs.0``).
        values: label of your files -> label of the judge, whatever their capitals; ``""`` is no label.
        merge: the rule that makes one label of what several raters said, such as ``median``; default: ``majority``,
            and of scores ``mean``.
        options: options that the judge declares, such as ``strictness``: name -> value -> the settings of ``answer``
            under that value, ``{"strictness": {"high": {"positive": frozenset({"poor", "fair"})}}}``. The prompt is the
            same under all; see :meth:`with_options`.
        ambiguities: reasons that the review page offers for a row on which people cannot decide: ``sentiment``,
            ``relation`` (FECT section 2.3) or ``other``.
        temperature: what it is asked at where nobody names one, 0 to 2; default: 0 for one sample, and for several one
            at which they differ.
        languages: the languages in which its prompt was written (:mod:`jurist.programs.languages`); empty where it
            has one prompt for all.
        programs: language -> the basic program in it, where the judge has a program.
        language: the language of its prompt; ``None`` where rows, or an option, choose it: English until then.
        prompt: your prompt as it stands: a text, or chat messages (``[{"role": "user", "content": "..."}, ...]``), with
            each input as ``{{name}}`` (or all as ``{name}``). The basic prompt is then this text with the values in it,
            and nothing else; the reply's words say the answer. It takes the place of the signature's docstring.
        labels: for a closed label: other names for its values, in their order; kept in ``answer``.
        unit: the input field whose text gets the answer, default the last input; kept in ``answer``.
    """

    name: str
    signature: "type[dspy.Signature]"
    answer: Answer = None  # type: ignore[assignment]  # filled in below; a name chooses an output field
    metric: MetricChoice = ""
    program: "Callable[[], dspy.Module] | dspy.Module | None" = None
    variant: str = "basic"
    description: str = ""
    rows: type[pydantic.BaseModel] | None = None
    to_case: Callable[[Any], Case] | None = field(default=None, repr=False)
    bundled: str = ""
    document: str = ""
    most_calls: int = 0
    expand: Callable[[Row], Sequence[Row]] | None = field(default=None, repr=False)
    demonstrations: "Callable[[Case], Mapping[str, Demo]] | None" = field(default=None, repr=False)
    shares: tuple[float, float, float] | None = None
    most_groups: tuple[int, int] | None = None
    most_cases: tuple[str, int] | None = None
    common: tuple[str, ...] | None = None
    ambiguities: tuple[str, ...] = ("other",)
    temperature: float | None = None
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)
    values: Mapping[str, Label] = field(default_factory=dict, hash=False)
    merge: Rule | None = field(default=None, hash=False)
    options: Mapping[str, JudgeOption] = field(default_factory=dict, hash=False, repr=False)
    languages: tuple[Language, ...] = ()
    programs: "Mapping[Language, Callable[[], dspy.Module]]" = field(
        default_factory=dict, hash=False, repr=False
    )
    language: Language | None = None
    prompt: str | Sequence[Mapping[str, str]] = field(default="", hash=False)
    positive: InitVar[Positive | Mapping[str, Positive]] = ()
    labels: InitVar[Sequence[Label]] = ()
    unit: InitVar[str] = ""

    def __post_init__(
        self, positive: Positive | Mapping[str, Positive], labels: Sequence[Label], unit: str
    ) -> None:
        """Fill in what the signature says, and refuse what cannot work."""
        object.__setattr__(self, "_number", next(_judge_numbers))
        check_types(check_judge_name, {"name": self.name})
        check_judge_name(self.name)
        answer = self.answer
        signature: object = self.signature
        if isinstance(signature, OwnSignature):  # a test makes the judge with the signature itself
            assert answer is not None
            assert not any((positive, labels, unit)), "the answer of such a judge is complete"
            object.__setattr__(self, "_own_signature", signature)
            object.__delattr__(self, "signature")
        else:
            from .answers.infer import answer_for  # all kinds of answers, where one is declared

            self._check_signature()
            answer = answer_for(
                self.name, self.signature, answer, labels=labels, positive=positive, unit=unit
            )
        answer.check_metric(self.name, self.metric)
        check_options(self.name, answer, self.options)
        if self.merge is not None and self.merge not in RULES:
            raise JudgeError(
                f"judge {self.name}: merge={self.merge!r} is no rule", hint=f"use one of {', '.join(RULES)}"
            )
        object.__setattr__(self, "answer", answer)
        object.__setattr__(self, "metric", self.metric or answer.scale.default)
        self._check_program()
        if self.prompt:
            self._take_prompt()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Import a signature of jurist's own when it is first asked for."""
            place = vars(self).get("_own_signature")
            if name != "signature" or place is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            signature = place.load()
            object.__setattr__(self, "signature", signature)
            return signature

    @property
    def rank(self) -> tuple[int, bool]:
        """The rank among judges of one name, the highest of which the name means: a newer judge has a higher one.

        A judge that :meth:`with_options` or the like made of another ranks just below that one.
        """
        values = vars(self)
        return values["_number"], not values.get("_is_copy", False)

    def _changed(self, **changes: Any) -> Self:
        """Return a copy of the judge with some fields changed, which ranks just below it."""
        return self._ranked_below(replace(self, **changes))

    def _ranked_below(self, copy: Self) -> Self:
        """Return a copy of the judge after giving it the rank of one."""
        vars(copy).update(_number=vars(self)["_number"], _is_copy=True)
        return copy

    def _check_signature(self) -> None:
        """Refuse what is no signature, and one with fields that jurist cannot use."""
        if not hasattr(self.signature, "input_fields"):
            hint = 'give a class of dspy.Signature, or dspy.Signature("claim -> true: bool")'
            raise JudgeError(f"judge {self.name}: {repr_in_brief(self.signature)} is no signature", hint=hint)
        self._check_field_names()
        self._check_field_types()

    def _take_prompt(self) -> None:
        """Make the user's prompt the instruction of the signature, or refuse a prompt that does not go with it."""
        from dspy import make_signature

        template, signature = self.template, self.signature
        assert template is not None
        unmatched = sorted(set(template.variables) ^ set(signature.input_fields))
        if unmatched:
            names = ", ".join(unmatched)
            problem = f"judge {self.name}: its prompt and its inputs do not have the same names: {names}"
            raise JudgeError(
                problem, hint="write each input as {{name}} into the prompt, and no other variable"
            )
        if self.program is not None or len(signature.output_fields) > 1:
            hint = "leave out program= and other output fields, or write the prompt as the docstring"
            raise JudgeError(f"judge {self.name}: a prompt as it stands asks once, for one answer", hint=hint)
        default = make_signature(dict(signature.fields), signature_name=signature.__name__).instructions
        if signature.instructions not in (default, template.instruction):
            hint = "leave out the docstring, or prompt="
            raise JudgeError(f"judge {self.name} has two prompts: a docstring and prompt=", hint=hint)
        fields = {name: (info.annotation, info) for name, info in signature.fields.items()}
        with_instruction = make_signature(fields, template.instruction, signature.__name__)
        object.__setattr__(self, "signature", with_instruction)

    def _check_field_names(self) -> None:
        """Refuse a field whose name cannot stand in Python: exported files and schemas hold these names."""
        for name in self.signature.fields:
            if not name.isidentifier() or keyword.iskeyword(name):
                hint = "use letters, digits and underscores, and no word of Python such as class"
                raise JudgeError(
                    f"judge {self.name}: a field cannot be called {repr_in_brief(name, 60)}", hint=hint
                )

    def _check_field_types(self) -> None:
        """Refuse audio, files, lists of images, and images among the outputs."""
        image_inputs = self.image_fields
        for name, item in self.signature.fields.items():
            media = media_types(item.annotation)
            if media and name not in image_inputs:
                hint = (
                    "give the judge an input of type dspy.Image, or text, such as a caption or a transcript"
                )
                problem = f"its field {name!r} is of type {media[0]}, and jurist judges texts, images and JSON values"
                raise JudgeError(f"judge {self.name}: {problem}", hint=hint)

    def _check_program(self) -> None:
        """Refuse what makes a program and needs arguments."""
        make: Any = self.program
        if make is None or isinstance(make, OwnProgram):
            return
        import dspy

        if isinstance(make, dspy.Module):
            return
        if isinstance(make, type):  # the metaclass of modules hides what a class takes
            make = partial(make.__init__, None)  # type: ignore[misc]
        try:
            inspect.signature(make).bind()
        except TypeError as error:
            hint = "give the module itself, as dspy.ChainOfThought(signature), or what makes it of nothing"
            raise JudgeError(f"judge {self.name}: its program cannot be made: {error}", hint=hint) from error

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: the model of its rows, which is cached, is a class that pickle would not find."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """Take the fields of the copied judge, and a number of its own."""
        vars(self).update(state, _number=next(_judge_numbers))

    def __repr__(self) -> str:
        """Name the judge, what it takes and what it says."""
        answer = f"{', '.join(self.answer.fields)} ({self.answer.scale.expects})"
        return f"<Judge {self.name}: {', '.join(self.input_fields)} -> {answer}>"

    @cached_property
    def input_fields(self) -> tuple[str, ...]:
        """The signature's input fields, in order."""
        place: OwnSignature | None = vars(self).get("_own_signature")
        if place is not None:
            return place.inputs
        return tuple(self.signature.input_fields)

    @cached_property
    def image_fields(self) -> tuple[str, ...]:
        """The input fields that hold an image each."""
        if vars(self).get("_own_signature") is not None:
            return ()  # no judge of jurist's own has any
        import dspy

        names: list[str] = []
        for name, item in self.signature.input_fields.items():
            if item.annotation is dspy.Image:
                names.append(name)
        return tuple(names)

    @property
    def has_examples(self) -> bool:
        """Whether gold makes demonstrations: not of images, whose bytes no artifact holds."""
        return self.answer.has_examples and not self.image_fields

    @cached_property
    def template(self) -> Template | None:
        """Its prompt as it stands; ``None`` if the signature's instruction is all there is."""
        if not self.prompt:
            return None
        try:
            return Template.of(self.prompt)
        except ValueError as error:
            hint = "give text, or messages with role and content, with each input as {{name}}"
            raise JudgeError(f"judge {self.name}: its prompt cannot be used: {error}", hint=hint) from error

    @property
    def default_adapter(self) -> str:
        """The adapter of its basic prompt where nobody names one: ``plain``, if it has a prompt as it stands."""
        return PLAIN if self.prompt else CHAT

    def adapter(self, name: str) -> "dspy.Adapter":
        """Return the adapter ``chat``, ``json`` or ``plain``, which writes its prompts and reads the replies."""
        if name == PLAIN and self.template is None:
            problem = f"judge {self.name} has no prompt of a user that could be sent as it stands"
            raise UsageError(
                problem, hint="leave out --adapter plain, or begin with: jurist new NAME --from prompt.md"
            )
        from ..engines.adapters import adapter

        return adapter(name, self.template, self.answer.other_words(self.values))

    @property
    def comparison(self) -> Scale:
        """The scale on which its answers are held against gold."""
        return self.answer.scale

    def with_metric(self, metric: MetricChoice) -> "Judge":
        """Return a copy of the judge with another metric."""
        return self._changed(metric=metric)

    @property
    def option_values(self) -> dict[str, str]:
        """The value that each of its options has; the language only where one was chosen."""
        values = option_values(self.answer, self.options)
        if self.language is not None:
            values["language"] = self.language
        return values

    def with_options(self, values: Mapping[str, str]) -> "Judge":
        """Return the judge with other values of its options: what it searches for, counts and votes on may change."""
        if not values or values == self.option_values:
            return self
        judge = self
        answer_values = dict(values)
        language = answer_values.pop("language", None)
        if language is not None:
            judge = judge.in_language(language)
        answer = with_option_values(judge.name, judge.answer, judge.options, answer_values)
        return judge._changed(answer=answer)

    def identity_under(self, card: Mapping[str, object]) -> dict[str, object]:
        """Return the identity of its scale under the option value that fits a card; its own where none does."""
        for option, values in self.options.items():
            for value in values:
                identity = self.with_options({option: value}).answer.scale.identity()
                if all(card.get(name) == part for name, part in identity.items()):
                    return identity
        return self.answer.scale.identity()

    def of_criterion(self, name: str) -> "Judge":
        """Return a judge of one of several criteria alone; what it asks is as it was."""
        from .answers.criteria import Criteria

        assert isinstance(self.answer, Criteria)
        criterion = self.answer.answers[name]
        if isinstance(criterion, ClosedLabel) and not criterion.positive:
            criterion = replace(criterion, positive=frozenset(criterion.labels[:1]))
        return self._changed(answer=criterion, metric=criterion.scale.default)

    def basic(self) -> "dspy.Module":
        """Return a fresh basic program."""
        import dspy

        if isinstance(self.program, dspy.Module):
            return self.program.deepcopy()
        if self.program is not None:
            try:
                return self.program()
            except Exception as bug:
                # A user's code may raise anything, and is to be one line that names the judge.
                problem = f"judge {self.name}: its program cannot be made: {type(bug).__name__}: {bug}"
                raise JudgeError(problem, hint="correct the program") from bug
        signature = self.signature
        for name, info in signature.input_fields.items():
            is_list = self.answer.per_unit and name in self.answer.unit_fields
            if is_list or is_trace_type(info.annotation):
                signature = signature.with_updated_fields(name, type_=str)  # the prompt shows one text
        return dspy.Predict(signature)

    def in_language(self, language: str) -> Self:
        """Return the judge with its prompt in a language.

        Raises:
            UsageError: its prompt was not written in this language.
        """
        if language == self.language:
            return self
        for written_language in self.languages:
            if written_language == language:
                return self._in_written_language(written_language)
        hint = "leave out --language, or name a judge that has it, such as qa-conflict"
        raise UsageError(f"judge {self.name} has no prompt in the language {language!r}", hint=hint)

    def _in_written_language(self, language: Language) -> Self:
        """Return the judge with its prompt in one of its languages."""
        from .languages import answer_in_language, in_language, with_labels_of

        signature = in_language(self.signature, language)
        answer = answer_in_language(self.answer, language)
        if answer != self.answer:
            signature = with_labels_of(signature, answer)
        program = self.programs.get(language, self.program)
        return self._changed(language=language, signature=signature, answer=answer, program=program)

    def for_texts(self, texts: Iterable[str]) -> Self:
        """Return the judge with its prompt in Chinese where most of these texts are, unless its language was chosen."""
        if self.language is not None or "zh" not in self.languages or main_language(texts) == "en":
            return self
        return self.in_language("zh")

    def as_compiled(self, metric: str | None, common: Sequence[str] | None) -> "Judge":
        """Return the judge with the metric that a version was compiled for, and the inputs that it shares by design."""
        compiled = self
        if (
            metric not in (None, self.metric)
            and metric in self.comparison.metrics
            and not callable(self.metric)
        ):
            compiled = compiled._changed(metric=metric)
        if self.common is None and common is not None:
            compiled = compiled.with_common(common)
        return compiled

    def with_common(self, common: Sequence[str]) -> "Judge":
        """Return a copy of the judge that names the inputs which many rows share by design."""
        judge = object.__new__(type(self))
        vars(judge).update(vars(self), common=tuple(common))
        return self._ranked_below(judge)

    def prompt_values(self, inputs: Inputs, places: Places = None) -> dict[str, Any]:
        """Return the program's inputs: rendered, and defused of headers of prompt formats."""
        rendered = self.answer.render(defuse(dict(inputs)), places)
        values = {name: rendered[name] for name in self.input_fields}
        for name in self.image_fields:
            values[name] = inputs[name]  # a reference, which knows where the bytes of its image are
        if self.language in (None, "en"):
            return values
        from .languages import in_label_words

        return in_label_words(self.signature, values, self.language)

    def read(
        self,
        prediction: "dspy.Prediction",
        inputs: Inputs,
        tokens: Tokens | None = None,
        places: Places = None,
    ) -> Verdict:
        """Return the verdict of a prediction, one sample: values, ``None`` for each unusable unit, and the reason."""
        # ``tokens`` is output field -> label -> probability, for each label that the field gives, where that is known.
        reply = dict(prediction.items())
        defused_inputs = defuse(dict(inputs))
        verdict = self.answer.read(reply, defused_inputs, places)
        if not tokens:
            return verdict
        return replace(verdict, probabilities=self.answer.shares(reply, tokens, defused_inputs))

    def as_reply(self, values: Values, inputs: Inputs) -> dict[str, object]:
        """Return output field -> what a reply says in it that gives these values to a row."""
        return self.answer.examples(values, defuse(dict(inputs)))

    def demo(self, case: Case) -> "Demo":
        """Return a labelled case as a few-shot demonstration: its inputs and the answer that gold gives."""
        # Other output fields (reasoning, units) are not in gold and left out; DSPy shows them as not supplied.
        if case.gold is None:
            raise ValueError(f"case {case.id} has no gold labels")
        return {**self.prompt_values(case.inputs), **self.as_reply(case.gold, case.inputs)}

    def demos(self, case: Case) -> "Mapping[str, Demo]":
        """Return a labelled case as a few-shot demonstration of each predictor, by its path."""
        # By default every predictor that has the answer's field gets :meth:`demo`. A predictor that gold says nothing
        # about (a second step that this case does not come to) is absent.
        if self.demonstrations is not None:
            return self.demonstrations(case)
        return dict.fromkeys(self._answering_paths, self.demo(case))

    @cached_property
    def _answering_paths(self) -> tuple[str, ...]:
        """The paths of the predictors that give all fields of the answer."""
        names: list[str] = []
        for name, predictor in self.basic().named_predictors():
            if predictor.signature.output_fields.keys() >= set(self.answer.fields):
                names.append(name)
        return tuple(names)

    @cached_property
    def calls(self) -> int:
        """The most calls that one sample takes, at least 1: each predictor, frozen ones too, for each presentation."""
        from .frozen import all_predictors

        calls = self.most_calls or max(1, len(all_predictors(self.basic())))
        return calls * self.answer.presentations

    @property
    def role(self) -> Purpose:
        """The purpose under which its tuned predictors' calls are counted; those of frozen ones are the judge's."""
        return "judge"

    @property
    def verifying_versions(self) -> dict[str, str]:
        """The versions of judges that verify what it writes, each with the hash of its content."""
        return {}

    @cached_property
    def frozen_hash(self) -> str:
        """A hash of the prompts of its frozen predictors; empty without any."""
        from .frozen import frozen_id

        return frozen_id(self.basic())

    def expanded(self, row: Row, *, path: str = "", line: int | None = None) -> Sequence[Row]:
        """Return the judge's own rows that a row holds: ``(row,)``, the same object, where it is its own."""
        if self.expand is None:
            return (row,)
        try:
            return self.expand(row)
        except pydantic.ValidationError as error:
            raise _gold_error(error, row, path, line) from error

    def case(self, row: Row, *, path: str = "", line: int | None = None, reads_files: bool = True) -> Case:
        """Validate one row and return it as a case; a ``GoldError`` names field and place of what is wrong with it.

        ``reads_files`` says whether images may be given as paths, relative to the folder of the row's file.
        """
        context = None
        if self.image_fields:
            context = _image_folder(path, reads_files=reads_files)
        try:
            parsed = self.row_model.model_validate(dict(row), context=context)
        except pydantic.ValidationError as error:
            raise _gold_error(error, row, path, line) from error
        place = path if line is None else f"{path}:{line}"
        if self.to_case:
            case = self.to_case(parsed)
            case = replace(case, source=case.source or place, row=row)
        else:
            inputs = {name: getattr(parsed, name) for name in self.input_fields}
            labelled = getattr(parsed, self.answer.field)
            gold = None if labelled is None else self.answer.values_of(labelled)
            group = getattr(parsed, "group", "")
            case = Case(inputs=inputs, group=group, gold=gold, source=place, row=row)
        units = len(self.answer.units(case.inputs))
        if case.gold is not None and len(case.gold) != units:
            raise GoldError(
                f"{len(case.gold)} {self.answer.scale.noun}s for {units} units",
                path=path,
                line=line,
                field=self.answer.field,
                hint="give one, or null, for each unit",
            )
        return case

    def check_json_types(self, row: Row) -> None:
        """Refuse a row whose values are not of the types that the JSON schema of its fields names."""
        text = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")
        try:
            self.row_model.model_validate_json(text, strict=True, context=EXACT_TYPES)
        except pydantic.ValidationError as error:
            raise _gold_error(error, row, "", None) from error

    @cached_property
    def row_model(self) -> type[pydantic.BaseModel]:
        """The pydantic model of a row."""
        if self.rows is not None:
            return self.rows
        fields = self._row_inputs()
        fields[self.answer.field] = (self.answer.row_type | None, None)
        fields["group"] = (Text, "")  # many conversations are numbered
        signature = vars(self).get("_own_signature") or self.signature
        signature_name = getattr(signature, "name", "") or signature.__name__
        return pydantic.create_model(f"{signature_name}Row", __config__={"extra": "ignore"}, **fields)

    def _row_inputs(self) -> dict[str, Any]:
        """Return input field -> its type in a row and its default; an input with a default may be missing there."""
        fields: dict[str, Any] = {}
        place: OwnSignature | None = vars(self).get("_own_signature")
        if place is not None:
            for name in place.inputs:
                fields[name] = (Text, "" if name in place.optional else ...)
            return fields
        for name, info in self.signature.input_fields.items():
            default = ... if info.is_required() else info.default
            fields[name] = (self._row_type(name, info.annotation), default)
        return fields

    def _row_type(self, name: str, annotation: Any) -> Any:
        """Return the type that a row has in the place of an input field."""
        if annotation is str:
            return Text
        if name in self.image_fields:
            from .image_inputs import ImageInput  # few judges see images

            return ImageInput
        if is_trace_type(annotation) and self.answer.per_unit and name in self.answer.unit_fields:
            return annotation.list_type()
        return annotation


def _image_folder(path: str, *, reads_files: bool) -> "ImageFolder":
    """Return where the paths of images in a file of rows begin: its folder, or the working directory without a file."""
    from .image_inputs import ImageFolder

    if not reads_files:
        return ImageFolder(None)
    if path and Path(path).is_file():
        return ImageFolder(Path(path).parent)
    return ImageFolder(Path())


def is_trace_type(annotation: object) -> bool:
    """Say whether the type of an input is that of a trace."""
    if not isinstance(annotation, type) or annotation.__module__ == "builtins":
        return False
    from ..text.traces import Trace  # few judges read traces

    return issubclass(annotation, Trace)


def _gold_error(error: pydantic.ValidationError, row: Row, path: str, line: int | None) -> GoldError:
    """Return the first fault of a row, with the others."""
    faults: list[GoldError] = []
    for details in error.errors(include_url=False):
        faults.append(_fault(details, row, path, line))
    faults[0].further_errors = tuple(faults[1:])
    return faults[0]


def _fault(details: ErrorDetails, row: Row, path: str, line: int | None) -> GoldError:
    """Return one of pydantic's faults as an error of ours."""
    name = ".".join(map(str, details["loc"]))
    if details["type"] == "missing":
        return GoldError(MISSING, path=path, line=line, field=name, hint=hint_for_missing(name, row))
    value = details.get("input")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        hint = "fill in the cell (an empty text is one, too) or remove the row"
        return EmptyInputError("nothing is given", path=path, line=line, field=name, hint=hint)
    if details["type"] in ("string_type", "literal_error") and isinstance(value, list | Mapping):
        kind = "an object" if isinstance(value, Mapping) else "a list"
        hint = hint_for_structure(name, value, name)
        return GoldError(f"{NO_TEXT}, got {kind}", path=path, line=line, field=name, hint=hint)
    value_text = inspect.cleandoc(repr(value))[:80]
    hint = "correct the value or remove the row"
    return GoldError(f"{details['msg']}, got {value_text}", path=path, line=line, field=name, hint=hint)


def hint_for_structure(column: str, value: Sequence[object] | Mapping[str, object], name: str) -> str:
    """Return the hint for a column that holds a list or an object in place of the text of a field."""
    inner_path = "0"
    if isinstance(value, Mapping):
        inner_path = str(next(iter(value), ""))
    return f"say what in it is the text: --column {shlex.quote(f'{column}.{inner_path}={name}')}"


def hint_for_missing(name: str, row: Row) -> str:
    """Return the hint for a field that a row lacks: its columns, and how one of them is named."""
    columns = ", ".join(repr(key) for key in list(row)[:8]) or "nothing"
    meant_column = "THEIRS"
    for key in map(str, row):
        if plain_spelling(key) == plain_spelling(name):
            meant_column = key
            break
    option = shlex.quote(f"{meant_column}={name}")
    if _WHO_SPEAKS.intersection(row) and _WHAT_IS_SAID.intersection(row):
        return (
            f"the row has {columns}, and is one turn: write one row for each conversation, in JSONL, with its turns "
            'in one field as [{"role": "user", "content": "..."}, ...]'
        )
    return f"the row has {columns}; add the field, or say which column it is: --column {option}"
