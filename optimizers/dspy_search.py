"""Any optimizer of DSPy behind our interface: ``dspy:NAME``; six of them have modules in ``named/``."""

from __future__ import annotations

import dataclasses
import inspect
import io
import logging
import math
import random
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Annotated, Any

import dspy
from dspy import AdapterParseError, LMError
from dspy.lm15 import Request, Response

from ..cases import Case
from ..engines.adapters import ChatAdapter
from ..engines.draws import change_draw, current_draw
from ..engines.dspy_internals import BaseCallback, InstructionProposer, Teleprompter, argument_of
from ..engines.failures import ROW_REFUSED, brief, kind_of, model_error
from ..errors import JuristError, OptimizerError, Within, suggest_name
from .base import Event, Job, Optimizer
from .board import Board, Candidate
from .drawing import order_by_strata
from .proposing import count_proposals, has_given_up
from .raced import Finalists
from .recorder import CarriedError, Judging, Recorder, Unanswered
from .settings import ABOVE_ZERO, FROM_ONE, SettingValue, read_typed_settings

PREFIX = "dspy:"
_SIZES = ("sample", "validation", "finalists")  # settings that jurist adds
_NEVER = 10**9
_MINIBATCH, _SMALL = 35, 50  # dev cases from which MIPROv2 scores on mini-batches, and of how many
# GEPA's metric calls to a paid one, at most: a case that was asked before costs nothing here
_CALLS_PER_PAID_CALL = 4
_LENGTHS = {"max_metric_calls", "max_full_evals", "num_trials", "num_candidates"}
"""Settings that stand in for DSPy's ``auto``."""
_NOT_OFFERED = {
    "AvatarOptimizer",
    "BetterTogether",
    "BootstrapFewShotWithOptuna",  # has no seed
    "BootstrapFinetune",
    "Ensemble",
    "GRPO",
    "KNNFewShot",
}
_DEFECTS = (
    AdapterParseError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LMError,
    LookupError,
    RuntimeError,
    TypeError,
    Unanswered,
    ValueError,
)
"""Errors with which DSPy's optimizers end without returning what they found; those of jurist are carried past them."""
# DSPy takes any score that is not 0 for a right answer; 1.4 is hotter than some providers allow.
_USUAL = {"metric_threshold": 0.5, "init_temperature": 1.0, "auto": "light", "max_demos": 4}
"""Settings of DSPy's classes that have no good value of their own."""
_DEMONSTRATIONS = ("max_bootstrapped_demos", "max_labeled_demos", "max_demos")
_FROM_ZERO = {
    *_DEMONSTRATIONS,
    "k",
    "max_merge_invocations",
    "metric_threshold",
    "restrict",
    "sample",
    "stop_at_score",
    "validation",
}
"""Settings that may be 0; of other settings a whole number is a count from 1."""
_RANGES = {
    "breadth": Within(2, math.inf, "a whole number, 2 or more"),
    "temperature_for_candidates": ABOVE_ZERO,
    "temperature_for_sampling": ABOVE_ZERO,
}
"""Settings that DSPy cannot use below another number."""
_PLAIN = (bool, int, float, str, type(None))
_GIVEN_BY_JOB = {
    "demo_input_field_maxlen",
    "eval_kwargs",
    "max_errors",
    "metric",
    "num_threads",
    "program_aware_proposer",
    "prompt_model",
    "reflection_lm",
    "seed",
    "student",
    "task_model",
    "teacher",
    "trainset",
    "valset",
}
"""Parameters of DSPy's classes that the job gives, whatever an object was constructed with."""
_NOT_TAKEN = {
    "instruction_proposer",  # a proposal that cannot be read is counted by jurist's own adapter
    "log_dir",  # a checkpoint resumes every optimizer
    "teacher_settings",
    "wandb_api_key",  # a key belongs on no card
}
"""Other parameters of DSPy's classes that are no settings."""


@dataclass(frozen=True, kw_only=True)
class DspyOptimizer(Optimizer):
    """One of DSPy's optimizers with its settings.

    Attributes:
        kind: DSPy's class, or one made from it.
        name: a short name, or ``dspy:CLASS``.
        sample: the most training cases that it works on; 0 for all.
        validation: the most dev cases that it scores on; 0 for all.
        finalists: prompts that are scored on all of dev at the end.
        arguments: settings by DSPy's names of its parameters.
    """

    kind: type[Teleprompter]
    name: str
    sample: int = 0
    validation: int = 0
    finalists: int = 2
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def called(cls, name: str) -> DspyOptimizer:
        """Return the optimizer of ``dspy:CLASS``, with its usual settings."""
        class_name = name.removeprefix(PREFIX)
        classes = offered_classes()
        if class_name not in classes:
            hint = suggest_name(class_name, sorted(classes))
            raise OptimizerError(f"{name!r} names no optimizer of DSPy that leaves a prompt", hint=hint)
        return cls.of_class(classes[class_name], name)

    @classmethod
    def from_object(cls, optimizer: Teleprompter) -> DspyOptimizer:
        """Return an optimizer with the settings that an object of DSPy was constructed with.

        Metric, models, seed and threads are those of the job. A setting that is DSPy's default is as ``dspy:CLASS``
        has it.

        Raises:
            OptimizerError: it leaves no prompt, or it was given something that is no setting.
        """
        kind = type(optimizer)
        name = f"{PREFIX}{kind.__name__}"
        if not _leaves_prompt(kind):
            hint = f"give one of {', '.join(sorted(offered_classes()))}"
            raise OptimizerError(f"{name} is no optimizer of DSPy that leaves a prompt", hint=hint)
        usual = cls.of_class(kind, name)
        constructor, _ = _parameters(kind)
        settings: dict[str, Any] = {}
        for parameter, default in constructor.items():
            if parameter in _GIVEN_BY_JOB:
                continue
            try:
                value = argument_of(optimizer, parameter)
            except AttributeError as error:
                hint = f"keep it as an attribute of this name in {kind.__name__}.__init__"
                raise OptimizerError(
                    f"{name} does not say what {parameter} it was given", hint=hint
                ) from error
            if value == default or (value == {} and default is None):
                continue
            if parameter not in usual.parameters() or not isinstance(value, _PLAIN):
                hint = "leave it out; docs/optimizers.md says what jurist gives to DSPy's optimizers"
                message = f"{name} was given {parameter}, which jurist does not pass on"
                raise OptimizerError(message, hint=hint)
            settings[parameter] = value
        return usual.changed(settings)

    @classmethod
    def of_class(cls, kind: type[Teleprompter], name: str, **settings: object) -> DspyOptimizer:
        """Return the optimizer of a class of DSPy with the usual settings of those that it has, and some others."""
        optimizer = cls(kind=kind, name=name)
        usual = optimizer.changed(_select_arguments(_USUAL, optimizer.parameters()))
        return usual.changed(settings)

    @property
    def most_demonstrations(self) -> int:
        """The most demonstrations of any kind that its settings allow."""
        counts = [self.arguments.get(setting) or 0 for setting in _DEMONSTRATIONS]
        return int(max(counts))

    def least_cases(self, job: Job) -> int:
        """Return the dev cases, and the training cases of a sample that is limited."""
        return min(len(job.train), self.sample) + len(job.dev)

    def changed(self, settings: Mapping[str, Any]) -> DspyOptimizer:
        """Return the optimizer with other settings, jurist's and DSPy's."""
        sizes = {}
        arguments = dict(self.arguments)
        for name, value in settings.items():
            if name in _SIZES:
                sizes[name] = value
            else:
                arguments[name] = value
        if "auto" in self.arguments and "auto" not in settings and _LENGTHS & settings.keys():
            arguments["auto"] = None
        return dataclasses.replace(self, **sizes, arguments=arguments)

    def settings(self) -> dict[str, SettingValue]:
        """Return jurist's settings, and DSPy's as far as they are not DSPy's own defaults."""
        settings: dict[str, SettingValue] = {name: getattr(self, name) for name in _SIZES}
        settings.update(self.arguments)
        return settings

    def with_settings(self, settings: Mapping[str, object]) -> DspyOptimizer:
        """Return the optimizer with some settings changed, each of the type of its default."""
        defaults = {**self.parameters(), **self.settings()}
        types = {setting: type_of_setting(setting, default) for setting, default in defaults.items()}
        return self.changed(read_typed_settings(self.name, types, defaults, settings))

    def parameters(self) -> dict[str, Any]:
        """Return parameter of DSPy's class -> default, of those that can be set; objects cannot."""
        parameters: dict[str, Any] = {}
        constructor, compile_ = _parameters(self.kind)
        for name, default in {**constructor, **compile_}.items():
            if name in _GIVEN_BY_JOB or name in _NOT_TAKEN:
                continue
            if default is inspect.Parameter.empty:
                parameters[name] = None
            elif isinstance(default, _PLAIN):
                parameters[name] = default
        return parameters

    def minimum(self, job: Job) -> int:
        """Return the calls of two prompts on dev, and one for what makes another one."""
        return 2 * len(job.dev) * job.calls_per_case + 1

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Search from ``start``."""
        import optuna  # noqa: F401 - its log handler must not be made while our streams are silenced

        finalists = Finalists(job, board, self.finalists, self.name)
        with finalists.after():
            try:
                with _silenced(job) as silent_job:
                    self._compile(Recorder(silent_job, board, start, self.name), finalists)
            except CarriedError as carried:
                raise carried.error from carried
            except _UselessProposer:
                pass  # which was noted; what was found before counts
            except _DEFECTS as defect:
                reason = f"{type(defect).__name__}: {brief(defect)}"
                if not any(candidate.source == self.name for candidate in board.candidates.values()):
                    hint = "look at its settings in DSPy's documentation, and give them with --set"
                    message = f"{self.name} failed before it tried anything: {reason}"
                    raise OptimizerError(message, hint=hint) from defect
                job.note(f"{self.name} ended early: {reason}")
        best = board.best(job.dev) or start
        job.note(f"{self.name}: best on dev {board.name(best)}", board.value(best, job.dev), kind="step")

    def _compile(self, recorder: Recorder, finalists: Finalists) -> None:
        """Run DSPy's optimizer on a fresh student, and enter what it returns."""
        job = recorder.job
        adapter = _Lenient(job, self.name)
        constructor, compile_ = _parameters(self.kind)
        values = self._values(recorder, adapter, constructor)
        context = {
            "lm": job.judge_lm,
            "adapter": adapter,
            "callbacks": [_BeforeEvaluation(recorder, finalists)],
            "disable_history": True,
            "track_usage": False,
            "trace": None,
            "max_errors": _NEVER,
            "num_threads": 1,
        }
        drawn = change_draw(sample=job.seed)  # of proposals: not all of DSPy's optimizers have a seed
        try:
            with dspy.context(**context):
                optimizer = self.kind(**_select_arguments(values, constructor))
                student = optimizer.compile(recorder.program(), **_select_arguments(values, compile_))
                recorder.candidate(student)
        finally:
            current_draw.reset(drawn)

    def _values(
        self, recorder: Recorder, adapter: ChatAdapter, constructor: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return parameter -> value for all parameters that the job gives, and the settings over them."""
        job = recorder.job
        judged_dev = [case for case in job.dev if case.labels] or job.dev
        train = self._ordered(job, job.labelled_train(), self.sample)
        dev = self._ordered(job, judged_dev, self.validation)
        proposer = job.proposer_lm.copy(engine=_Proposer(job.proposer_lm.engine))
        values = {
            "metric": recorder.feedback if "reflection_lm" in constructor else recorder.metric,
            "prompt_model": proposer,
            "reflection_lm": proposer.copy(temperature=1.0),
            "instruction_proposer": InstructionProposer(adapter=adapter),
            "task_model": job.judge_lm,
            "trainset": recorder.examples(train),
            "valset": recorder.examples(dev),
            "teacher": recorder.program(teacher=True),
            "seed": job.seed % 2**32,
            "num_threads": 1,
            "eval_kwargs": {"num_threads": 1, "display_progress": False},
            "program_aware_proposer": False,  # it would describe our wrapper, not the judge
            "demo_input_field_maxlen": 0,  # nothing is cut: a demonstration is what its case says, and traced to it
            "bsize": min(32, len(train)),
            "minibatch": len(dev) > _SMALL,
            "minibatch_size": min(_MINIBATCH, len(dev)),
            **self.arguments,
        }
        if "num_rules" in constructor:  # of the rules; the judge teaches demonstrations whatever is said here
            values["teacher_settings"] = {"lm": proposer}
        if "reflection_lm" in constructor:
            del values["teacher"]  # GEPA takes none
        calls_left = job.context.meter.calls_left()
        if "max_metric_calls" in constructor and values["auto"] == "light" and calls_left is not None:
            paid_calls = max(1, calls_left // job.calls_per_case)
            values["auto"] = None
            values["max_metric_calls"] = _CALLS_PER_PAID_CALL * paid_calls
        return values

    def _ordered(self, job: Job, cases: Sequence[Case], size: int) -> list[Case]:
        """Return up to ``size`` cases (0 for all) in a random order with all strata in every prefix."""
        # DSPy's demonstration optimizers have no seed: the order of their training set stands in for it.
        order = order_by_strata(cases, job.judge.answer, random.Random(f"{self.name}/{job.seed}"))
        return order[: size or None]


def type_of_setting(name: str, default: object) -> object:
    """Return the type of a setting's default, with a range where it is a count, or where DSPy names no default."""
    kind: Any = type(default)
    if name in _RANGES:
        return Annotated[kind, _RANGES[name]]
    if kind in (int, type(None)) and name not in _FROM_ZERO:
        return Annotated[kind, FROM_ONE]
    return kind


def _select_arguments(values: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    """Return the values whose names are among some names."""
    return {name: value for name, value in values.items() if name in names}


def offered_classes() -> dict[str, type[Teleprompter]]:
    """Return name -> class of the optimizers that DSPy exports and that leave a prompt."""
    classes = {}
    for name, exported in vars(dspy).items():
        if isinstance(exported, type) and exported.__name__ == name and _leaves_prompt(exported):
            classes[name] = exported
    return classes


def _leaves_prompt(kind: type[Teleprompter]) -> bool:
    """Return whether a class makes a prompt out of a student and cases."""
    if not issubclass(kind, Teleprompter) or any(base.__name__ in _NOT_OFFERED for base in kind.__mro__):
        return False
    return {"student", "trainset"} <= inspect.signature(kind.compile).parameters.keys()


def _parameters(kind: type[Teleprompter]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a class's constructor and of its ``compile``, by name, with the defaults."""
    constructor: dict[str, Any] = {}
    for base in kind.__mro__:
        parameters = inspect.signature(vars(base).get("__init__", object.__init__)).parameters.values()
        defaults = {}
        takes_others = False
        for parameter in parameters:
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                takes_others = True
            elif parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
                defaults[parameter.name] = parameter.default
        constructor = {**defaults, **constructor}
        if not takes_others:
            break  # else the class above takes the rest
    compile_parameters = inspect.signature(kind.compile).parameters.values()
    compile_ = {parameter.name: parameter.default for parameter in compile_parameters}
    del constructor["self"], compile_["self"]
    return constructor, compile_


class _Proposer:
    """The proposer's engine: DSPy would swallow its failures, each of which was tried several times."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __deepcopy__(self, memo: dict[int, Any]) -> _Proposer:
        return self

    def complete(self, request: Request) -> Response:
        try:
            response: Response = self._inner.complete(request)
        except LMError as error:
            if kind_of(error) in ROW_REFUSED:  # it says nothing of the next one, which may be shorter
                raise
            raise CarriedError(model_error(error)) from error
        except JuristError as error:
            raise CarriedError(error) from error
        return response


class _UselessProposer(BaseException):
    """Ends a search past code that catches every ``Exception``."""


class _Lenient(ChatAdapter):
    """An adapter for proposals in words: one that cannot be read is empty, and DSPy does not lose the others."""

    def __init__(self, job: Job, name: str) -> None:
        super().__init__()
        self._job = job
        self._name = name

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Return the fields of a reply; empty ones if it has none and all of them are text."""
        fields: dict[str, Any] = dict.fromkeys(signature.output_fields, "")
        try:
            fields = super().parse(signature, completion)
        except AdapterParseError:
            if any(info.annotation is not str for info in signature.output_fields.values()):
                raise
        finally:
            is_usable = any(str(value).strip() for value in fields.values())
            count_proposals(self._job, self._name, count=1, usable=int(is_usable))
            if has_given_up(self._job, self._name):
                raise _UselessProposer
        return fields


class _BeforeEvaluation(BaseCallback):
    """Asks all cases of an evaluation at once: DSPy's own threads may pay a slow call twice."""

    def __init__(self, recorder: Recorder, finalists: Finalists) -> None:
        self._recorder = recorder
        self._finalists = finalists

    def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Ask before the evaluation does."""
        self._finalists.keep()
        program = inputs.get("program")
        if isinstance(program, Judging):
            self._recorder.prefetch(program, inputs.get("devset") or instance.devset)


@contextmanager
def _silenced(job: Job) -> Iterator[Job]:
    """Keep what DSPy prints, draws and logs off the terminal; yield the job, whose events still come through."""
    stdout = sys.stdout
    stderr = sys.stderr

    def sink(event: Event) -> None:
        with redirect_stdout(stdout), redirect_stderr(stderr):
            job.sink(event)

    loggers: dict[logging.Logger, int] = {}
    for name in ("dspy", "gepa", "optuna"):
        logger = logging.getLogger(name)
        loggers[logger] = logger.level
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        # Never closed: a handler that is made meanwhile may write to it ever after.
        nowhere = io.StringIO()
        with redirect_stdout(nowhere), redirect_stderr(nowhere):
            yield dataclasses.replace(job, sink=sink)
    finally:
        for logger, level in loggers.items():
            logger.setLevel(level)
