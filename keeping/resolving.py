"""What a judge is really asked with: the temperature that suits its samples, and who answers its frozen steps."""

from dataclasses import dataclass, replace

from ..engines.models import Model
from ..errors import UsageError
from ..evaluation.votes import Sampling
from ..programs.judge import Judge

_WARM = 0.7


def default_temperature(model: Model, samples: int, own: float | None = None) -> Model:
    """Return the model with the temperature that suits the judge's own, or else the number of samples, if it has none.

    One sample is drawn at 0, several at a temperature at which they differ; a model that refuses any
    temperature but its own keeps it.
    """
    if model.temperature is not None or model.fixed_temperature:
        return model
    return replace(model, temperature=own if own is not None else _WARM if samples > 1 else 0.0)


@dataclass(frozen=True, kw_only=True)
class ResolvedSampling:
    """A model and a sampling that go together."""

    model: Model  # with its temperature
    sampling: Sampling  # with as many samples as can differ
    note: str = ""  # one line if that is fewer than were asked for


def resolve_sampling(model: Model, sampling: Sampling, own: float | None = None) -> ResolvedSampling:
    """Return what is really asked: the temperature that suits the samples, and one sample where all are the same.

    At temperature 0 a provider gives the same text each time: k copies are one draw, so one is asked and one vote
    counted. Under any threshold from 1 to k that verdict is the one that k equal votes would give.
    """
    model = default_temperature(model, sampling.samples, own)
    if sampling.samples == 1 or model.temperature != 0:
        return ResolvedSampling(model=model, sampling=sampling)
    note = (
        f"at temperature 0 all {sampling.samples} samples would be the same: 1 is asked and 1 vote counted, "
        "with which any threshold gives the same verdict; a --temperature above 0 makes them differ"
    )
    once = replace(sampling, samples=1) if sampling.by_probability else Sampling()
    return ResolvedSampling(model=model, sampling=once, note=note)


def verifier_of(judge: Judge, model: Model, given: Model | None) -> Model | None:
    """Return who answers the frozen steps of a judge: the given model, else its own at temperature 0."""
    if not judge.frozen:
        if given is not None:
            raise UsageError(
                f"{judge.name} has no frozen steps for {given.name} to answer", hint="leave out --judge-model"
            )
        return None
    if given is None:
        given = model if model.fixed_temperature else replace(model, temperature=0.0)
    return default_temperature(given, 1)
