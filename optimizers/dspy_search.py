"""Any optimizer of DSPy behind our interface: ``dspy:NAME``, and short names for six of them."""

from __future__ import annotations

import dataclasses
import inspect
import io
import logging
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy import AdapterParseError, LMError
from dspy.lm15 import Request, Response

from ..engines.adapters import ChatAdapter
from ..engines.draws import current_draw, drawing
from ..engines.dspy_internals import BaseCallback, InstructionProposer, Teleprompter
from ..engines.failures import ROW_REFUSED, brief, kind_of, model_error
from ..errors import JuristError, OptimizerError, choices
from .base import Event, Job
from .board import Board, Candidate
from .drawing import stratified
from .proposing import given_up
from .raced import Finalists
from .recorder import CarriedError, Judging, Recorder, Unanswered

PREFIX = "dspy:"
SHORT: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "bootstrap": ("BootstrapFewShotWithRandomSearch", {"finalists": 1}),
    "copro": ("COPRO", {"sample": 40, "finalists": 3}),
    "mipro": ("MIPROv2", {"sample": 100}),
    "gepa": ("GEPA", {"validation": 60}),
    "simba": ("SIMBA", {"sample": 60, "finalists": 3}),
    "infer-rules": ("InferRules", {"sample": 40, "finalists": 1, "max_labeled_demos": 8}),
}
"""Short name -> DSPy's class, and settings that are not the usual ones."""
_SIZES = ("sample", "validation", "finalists")  # settings of ours
_NEVER = 10**9
_MINIBATCH, _SMALL = 35, 50  # dev cases from which MIPROv2 scores on mini-batches, and of how many
_REMEMBERED = 4  # GEPA's metric calls to a paid one, at most: what was asked before costs nothing here
# settings that stand in for DSPy's ``auto``
_LENGTHS = {"max_metric_calls", "max_full_evals", "num_trials", "num_candidates"}
_NOT_OFFERED = {
    *("BootstrapFinetune", "BetterTogether", "KNNFewShot", "Ensemble", "GRPO", "AvatarOptimizer"),
    *("BootstrapFewShotWithOptuna", "Teleprompter"),  # has no seed; is what the others are made of
}
_DEFECTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError),
    *(AdapterParseError, LMError, Unanswered),
)
"""With what DSPy's optimizers end without returning what they found; exceptions of ours are carried past them."""
# DSPy takes any score that is not 0 for a right answer; 1.4 is hotter than some providers allow.
_USUAL = {"metric_threshold": 0.5, "init_temperature": 1.0, "auto": "light", "max_demos": 4}
"""What DSPy's classes are given where they have no good value of their own."""
_PLAIN = (bool, int, float, str, type(None))
_OURS = {
    *("metric", "prompt_model", "reflection_lm", "task_model", "instruction_proposer", "teacher_settings"),
    *("student", "teacher", "trainset", "valset", "seed", "num_threads", "eval_kwargs", "max_errors"),
    *("log_dir", "program_aware_proposer", "demo_input_field_maxlen"),
}
"""Parameters of DSPy's classes that are given by the job."""


@dataclass(frozen=True, kw_only=True)
class DspyOptimizer:
    """One of DSPy's optimizers with its settings."""

    of: str  # DSPy's class
    name: str
    sample: int = 0  # train cases it works on, at most; 0 for all
    validation: int = 0  # dev cases it scores on, at most; 0 for all
    finalists: int = 2  # prompts that are scored on all of dev at the end
    settings: Mapping[str, Any] = field(default_factory=dict)  # by DSPy's names of its parameters

    @classmethod
    def called(cls, name: str) -> DspyOptimizer:
        """Return the optimizer of a short name or of ``dspy:CLASS``, with its usual settings."""
        of, more = SHORT.get(name, (name.removeprefix(PREFIX), {}))
        known = [kind for kind in dir(dspy) if _fits(kind)]
        if of not in known:
            hint = choices(of, known)
            raise OptimizerError(f"{name!r} names no optimizer of DSPy that leaves a prompt", hint=hint)
        made = cls(of=of, name=name)
        usual = {setting: value for setting, value in _USUAL.items() if setting in made.parameters()}
        return made.changed({**usual, **more})

    def changed(self, settings: Mapping[str, Any]) -> DspyOptimizer:
        """Return it with other settings, ours and DSPy's."""
        ours = {name: settings[name] for name in _SIZES if name in settings}
        theirs = {name: value for name, value in settings.items() if name not in ours}
        if "auto" in self.settings and "auto" not in theirs and _LENGTHS & set(theirs):
            theirs["auto"] = None
        return dataclasses.replace(self, **ours, settings={**self.settings, **theirs})

    def to_json(self) -> dict[str, Any]:
        """Return all settings by name."""
        return {**{name: getattr(self, name) for name in _SIZES}, **self.settings}

    def parameters(self) -> dict[str, Any]:
        """Return what can be set of DSPy's class, by name, with the default; objects cannot."""
        constructor, compile_ = _parameters(getattr(dspy, self.of))
        return {
            name: None if default is inspect.Parameter.empty else default
            for name, default in {**constructor, **compile_}.items()
            if name not in _OURS and (default is inspect.Parameter.empty or isinstance(default, _PLAIN))
        }

    def minimum(self, job: Job) -> int:
        """Return the calls of two prompts on dev, and one for what makes another one."""
        return 2 * len(job.dev) * job.calls_per_case + 1

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Search from ``start``."""
        import optuna  # noqa: F401 - its log handler must not be made while our streams are silenced

        finalists = Finalists(job, board, self.finalists, self.name)
        with finalists.after():
            try:
                with _silenced(job) as heard:
                    self._compile(Recorder(heard, board, start, self.name), finalists)
            except CarriedError as carried:
                raise carried.error from carried
            except _UselessProposer:
                pass  # which was noted; what was found before counts
            except _DEFECTS as defect:
                why = f"{type(defect).__name__}: {brief(defect)}"
                if not any(candidate.source == self.name for candidate in board.candidates.values()):
                    hint = "look at its settings in DSPy's documentation, and give them with --set"
                    message = f"{self.name} failed before it tried anything: {why}"
                    raise OptimizerError(message, hint=hint) from defect
                job.note(f"{self.name} ended early: {why}")
        best = board.best(job.dev) or start
        job.note(f"{self.name}: best on dev {board.name(best)}", board.value(best, job.dev), kind="step")

    def _compile(self, recorder: Recorder, finalists: Finalists) -> None:
        """Run DSPy's optimizer on a fresh student, and enter what it returns."""
        job, kind = recorder.job, getattr(dspy, self.of)
        adapter = _Lenient(job, self.name)
        # Its demonstration optimizers have no seed of their own: the order of their training set is their seed.
        train, dev = (
            stratified(cases, job.judge.answer, random.Random(f"{self.name}/{job.seed}"))[: size or None]
            for cases, size in (
                (job.labelled_train(), self.sample),
                ([case for case in job.dev if case.known] or job.dev, self.validation),
            )
        )
        proposer = job.proposer_lm.copy(engine=_Proposer(job.proposer_lm.engine))
        constructor, compile_ = _parameters(kind)
        options = {
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
            **self.settings,
        }
        if "num_rules" in constructor:  # of the rules; the judge teaches demonstrations whatever is said here
            options["teacher_settings"] = {"lm": proposer}
        if "reflection_lm" in constructor:
            del options["teacher"]  # GEPA takes none
        left = job.context.meter.left()
        if "max_metric_calls" in constructor and options["auto"] == "light" and left is not None:
            options |= {"auto": None, "max_metric_calls": _REMEMBERED * max(1, left // job.calls_per_case)}
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
        drawn = drawing(sample=job.seed)  # of proposals: not all of DSPy's optimizers have a seed
        try:
            with dspy.context(**context):
                optimizer = kind(**{name: value for name, value in options.items() if name in constructor})
                of_run = {name: value for name, value in options.items() if name in compile_}
                recorder.candidate(optimizer.compile(recorder.program(), **of_run))
        finally:
            current_draw.reset(drawn)


def _fits(name: str) -> bool:
    """Say whether DSPy has an optimizer of that name that makes a prompt out of a student and cases."""
    kind = getattr(dspy, name, None)
    if name in _NOT_OFFERED or not isinstance(kind, type) or not issubclass(kind, Teleprompter):
        return False
    takes = inspect.signature(getattr(dspy, name).compile).parameters
    return {"student", "trainset"} <= takes.keys()


def _parameters(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a class's constructor and its ``compile`` take, by name, with the defaults."""
    constructor: dict[str, Any] = {}
    for base in kind.__mro__:
        own = inspect.signature(base.__init__).parameters.values()
        constructor = {taken.name: taken.default for taken in own if taken.kind not in _MORE} | constructor
        if not any(taken.kind is inspect.Parameter.VAR_KEYWORD for taken in own):
            break  # else the class above takes the rest
    compile_ = {taken.name: taken.default for taken in inspect.signature(kind.compile).parameters.values()}
    del constructor["self"], compile_["self"]
    return constructor, compile_


_MORE = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


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
        self._job, self._name = job, name

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Return the fields of a reply; empty ones if it has none and all of them are text."""
        fields: dict[str, Any] = dict.fromkeys(signature.output_fields, "")
        try:
            fields = super().parse(signature, completion)
        except AdapterParseError:
            if any(info.annotation is not str for info in signature.output_fields.values()):
                raise
        finally:
            if given_up(self._job, self._name, 1, any(str(value).strip() for value in fields.values())):
                raise _UselessProposer
        return fields


class _BeforeEvaluation(BaseCallback):
    """Asks all cases of an evaluation at once: DSPy's own threads may pay a slow call twice."""

    def __init__(self, recorder: Recorder, finalists: Finalists) -> None:
        self._recorder, self._finalists = recorder, finalists

    def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Ask before the evaluation does."""
        self._finalists.keep()
        program, examples = inputs.get("program"), inputs.get("devset") or instance.devset
        if isinstance(program, Judging):
            self._recorder.prefetch(program, examples)


@contextmanager
def _silenced(job: Job) -> Iterator[Job]:
    """Keep what DSPy prints, draws and logs off the terminal; yield the job, whose events still come through."""
    out, err = sys.stdout, sys.stderr

    def sink(event: Event) -> None:
        with redirect_stdout(out), redirect_stderr(err):
            job.sink(event)

    loggers = {logging.getLogger(name): logging.getLogger(name).level for name in ("dspy", "gepa", "optuna")}
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
