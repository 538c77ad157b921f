"""The function of CogniBench's Table 3: detectors by name, asked about gold and scored side by side."""

from collections.abc import Sequence
from typing import Unpack

from ...errors import Seed, checked
from ...jobs.judges import JudgeLike, as_items, load_contenders, load_reference, share_model
from ...jobs.surface import Asking, GoldLike, ModelLike, Surface, make_model, resolve_asking
from ...keeping.contenders import Contender
from ...keeping.loading import LoadedJudge
from ...keeping.logs import is_log
from ...keeping.paying import PaidJob
from ...programs.cognibench import COGNIBENCH, STRICTNESS
from .detection import Detection, Detectors, recorded_detector

DETECTORS = ("cognibench:basic", "detector:basic")
"""The detectors that are measured where nobody names others."""


@checked
def table(
    gold: GoldLike,
    detectors: Sequence[JudgeLike] = DETECTORS,
    *,
    models: ModelLike | Sequence[ModelLike] | None = None,
    seed: Seed = 0,
    **asking: Unpack[Asking],
) -> Detection:
    """Score detectors of hallucinated sentences side by side, as CogniBench's Table 3: ``jurist table cognibench-3``.

    Args:
        gold: labelled responses; see :data:`GoldLike`.
        detectors: judges of responses, or ``recorded:FILE``; the first is tested against each other one.
        models: each detector that is given by name is asked with each; default: as for :func:`jurist.compare`.
        seed: of the permutation test.
        asking: as for :func:`jurist.compare`; ``strictness``: a cognitive sentence below it is hallucinated
            (the paper's: ``grounded``).

    Raises:
        UsageError: a judge does not find hallucinated sentences. GoldError: the gold cannot be used.
    """
    surface, limits, options = resolve_asking(asking)
    strictness = options.pop("strictness", None) or STRICTNESS
    labelled = surface.gold(gold, COGNIBENCH)
    contenders: list[Contender] = []
    for detector in detectors:
        if is_log(detector):
            contenders.append(recorded_detector(str(detector), labelled))
            continue
        settings = dict(options)
        if isinstance(detector, str):
            judge = load_reference(detector, surface.store).judge
            settings["strictness"] = strictness if "strictness" in judge.options else None
        for loaded in load_contenders(detector, models, surface.store, settings):
            assert isinstance(loaded, LoadedJudge)
            contenders.append(loaded)
    first_model = make_model((as_items(models) or [None])[0])
    work = Detectors(
        contenders=tuple(share_model(contenders, first_model, detectors)),
        gold=labelled,
        strictness=strictness,
        budget=limits,
        seed=seed,
    )
    return measure_detectors(work, surface)[0]


def measure_detectors(work: Detectors, surface: Surface) -> tuple[Detection, PaidJob]:
    """Ask detectors about gold as one paid job, and return their table with the job."""
    with surface.asking(work, "asking") as (job, step):
        return work.detection(job, step), job
