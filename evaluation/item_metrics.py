"""Metrics of items that a generator wrote: the shares of the wanted ones that pass all checks, and each check."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ..cases import Value
from .metrics import Metric, Ratio, pair_sums
from .units import Floats


def metrics_of_items(
    checks: Sequence[str], sums: Callable[[Value, Value], Sequence[float]]
) -> Mapping[str, Metric]:
    """Return the validation rate and the rate of each check, by name; ``sums`` counts the items of one document."""
    names = ["validation_rate"]
    for check in checks:
        names.append(f"{check}_rate")
    size = len(names) + 1
    metrics: dict[str, Metric] = {}
    for place, name in enumerate(names):
        share = _column_share.with_arguments(place)
        metrics[name] = Metric(name=name, statistics=pair_sums(sums, share, size))
    return MappingProxyType(metrics)


@Ratio
def _column_share(sums: Floats, place: int) -> tuple[Floats, Floats]:
    """The share of the wanted items that one column of the sums counts."""
    return sums[..., place], sums[..., -1]
