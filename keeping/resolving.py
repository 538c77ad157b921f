"""What a judge is really asked with: the temperature that suits its samples, and who answers its frozen steps."""

from dataclasses import replace
from typing import NamedTuple

from ..engines.models import Model
from ..errors import UsageError
from ..evaluation.votes import Sampling
from ..programs.judge import Judge

_WARM = 0.7
"""The temperature at which several samples differ."""


class ResolvedSampling(NamedTuple):
    """A model and a sampling that go together."""

    model: Model  # with its temperature
    sampling: Sampling  # with as many samples as can differ
    note: str = ""  # one line if that is fewer than were asked for


def default_temperature(model: Model, samples: int, own: float | None = None) -> Model:
    """Return the model with a temperature: its own, else ``own``, else what suits samples."""
    if model.temperature is not None or model.fixed_temperature:
        return model
    usual = _WARM if samples > 1 else 0.0
    return replace(model, temperature=usual if own is None else own)


def resolve_sampling(model: Model, sampling: Sampling, own: float | None = None) -> ResolvedSampling:
    """Return what is really asked: the temperature that suits the samples, and one sample where all are the same.

    Under any threshold from 1 to k the one verdict at temperature 0 is the one that k equal votes would give.
    """
    model = default_temperature(model, sampling.samples, own)
    if sampling.samples == 1 or model.temperature != 0:
        return ResolvedSampling(model, sampling)
    note = (
        f"at temperature 0 all {sampling.samples} samples would be the same: 1 is asked and 1 vote counted, "
        "with which any threshold gives the same verdict; a --temperature above 0 makes them differ"
    )
    once = replace(sampling, samples=1) if sampling.by_probability else Sampling()
    return ResolvedSampling(model, once, note)


def verifier_of(judge: Judge, model: Model, named: Model | None) -> Model | None:
    """Return who answers the frozen steps of a judge: who is named for them, else its own model at temperature 0."""
    if not judge.frozen:
        if named is not None:
            raise UsageError(
                f"{judge.name} has no frozen steps for {named.name} to answer", hint="leave out --judge-model"
            )
        return None
    if named is None:
        named = model if model.fixed_temperature else replace(model, temperature=0.0)
    return default_temperature(named, 1)
