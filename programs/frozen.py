"""Steps of a program that are asked as they are: verifiers, which no optimizer tunes.

DSPy leaves a sub-module alone that is marked as compiled, but not a bare predictor, so :func:`frozen` puts it into
a module of its own. What reaches a frozen step was often written by a model, so markers in it are defused.
"""

import hashlib
import json
from contextlib import nullcontext

import dspy
from dspy import AdapterParseError

from ..engines.draws import current_draw
from ..engines.dspy_internals import keep_from_optimizers
from ..text.escaping import defuse
from .plain_json import jsonable
from .remembering import Remembering
from .stepwise import Steps, Stepwise

_UNUSABLE = dspy.Prediction(verdict=None, reason="the verifier's reply could not be read")


class Frozen(Stepwise):
    """A module whose predictors keep their prompts. Made by :func:`frozen` and :func:`verifier`."""

    def __init__(self, module: dspy.Module, unusable: dspy.Prediction | None = None) -> None:
        super().__init__()
        self.module = module
        self.unusable = unusable
        keep_from_optimizers(self)

    def steps(self, **inputs: object) -> Steps:
        """Ask the module; a reply that cannot be parsed is ``unusable``, or else the end of the sample."""
        lm = current_draw.get().frozen_lm
        asking = nullcontext()
        if lm is not None:
            asking = dspy.context(lm=lm)
        try:
            with asking:
                return (yield self.module, defuse(jsonable(inputs)))
        except AdapterParseError:
            if self.unusable is None:
                raise
            return self.unusable


def frozen(module: dspy.Module) -> Frozen:
    """Return a step that asks ``module`` and is never tuned.

    Its calls are counted like all others. A model of its own answers it where one is named (``--judge-model``).
    """
    return Frozen(module)


def verifier(module: dspy.Module) -> Frozen:
    """Return a frozen step that checks what a generator wrote.

    What it returns is given to :class:`~jurist.programs.answers.whole.Checked` as it is: ``verdict`` (yes, no or
    uncertain) and ``reason``. A reply that cannot be parsed makes the check ``unusable``: it is counted, and the
    item does not pass.
    """
    return Frozen(module, _UNUSABLE)


def all_predictors(program: dspy.Module) -> list[dspy.Predict]:
    """Return every predictor of a program, the frozen ones too, each once."""
    return [predictor for _, predictor in program.named_sub_modules(type_=dspy.Predict)]


def frozen_predictors(program: dspy.Module) -> list[dspy.Predict]:
    """Return the predictors that no optimizer tunes."""
    tuned_ids = {id(predictor) for predictor in program.predictors()}
    predictors: list[dspy.Predict] = []
    for predictor in all_predictors(program):
        if id(predictor) not in tuned_ids:
            predictors.append(predictor)
    return predictors


def frozen_id(program: dspy.Module) -> str:
    """Return 12 hex digits that equal frozen steps share, in their order; empty without any."""
    prompts: list[list[object]] = []
    for predictor in frozen_predictors(program):
        demos: list[object] = []
        for demo in predictor.demos:
            demos.append(jsonable(dict(demo)))
        signature = predictor.signature
        prompt: list[object] = [signature.instructions, list(signature.fields), demos]
        if isinstance(predictor, Remembering):
            prompt.append(predictor.remembered.to_json())
        prompts.append(prompt)
    if not prompts:
        return ""
    text = json.dumps(prompts, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
