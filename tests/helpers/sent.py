"""What DSPy's own path sends: the requests of every predictor of every judge."""

from contextlib import suppress
from typing import Any

import dspy
from dspy.lm15 import Request

from jurist.engines.adapters import _Keeper, adapter
from jurist.programs.catalogue import JUDGES
from jurist.programs.frozen import all_predictors

PREDICTORS = [predictor for judge in JUDGES for predictor in all_predictors(judge.basic())]


def dspy_sends(
    name: str, model: dspy.LM, signature: Any, demos: list[Any], inputs: dict[str, Any]
) -> Request | None:
    """Return the request that DSPy renders; ``None`` if it renders none."""
    keeper = _Keeper()
    with suppress(Exception):  # the keeper's answer is of no use, and some inputs cannot be sent at all
        adapter(name)(model.copy(engine=keeper), {}, signature, demos, inputs)
    return keeper.request
