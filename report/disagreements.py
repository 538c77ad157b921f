"""What labels have shown where two prompts differ, in words: of what :func:`~jurist.jobs.deciding.decide` returns."""

from collections.abc import Mapping
from typing import Any

from ..errors import plural


def disagreement_words(shown: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the decision, the gain, the estimate in the judge's metric, and the constant answer, a line each."""
    found, gain = shown["surveyed"], shown["gain"]
    untold = f" ({shown['untold']} could not be told)" if shown["untold"] else ""
    labels = plural(shown["labels_against"]["basic"], "labelled unit")
    lines = [
        f"compiled is {shown['verdict']} where the two differ: of {labels} {shown['wins']} won, "
        f"{shown['losses']} lost, {shown['ties']} tied{untold}, p = {shown['p']:.3g} (one-sided sign test, "
        f"level {shown['level']:.3g})",
        f"gain {gain['value']:+.3f} of {shown['gain_in']}, {100 * (1 - 2 * shown['level']):.4g} % interval "
        f"{gain['low']:+.3f} to {gain['high']:+.3f}: they differ on {100 * found['rate']:.1f} % of {found['units']} "
        f"units in {found['groups']} groups of {shown['rows']['name']}, model {shown['model']}",
    ]
    if constant := shown["constant"]:
        lines.append(
            f"against always {constant['answer']!r}: {constant['verdict']}; {constant['wins']} won, "
            f"{constant['losses']} lost, p = {constant['p']:.3g}"
        )
    if metric := shown["metric"]:
        lines.append(
            f"{metric['name']} {metric['basic']:.3f} -> {metric['compiled']:.3f}, always {metric['constant_answer']!r} "
            f"{metric['constant']:.3f}: estimates, in which labelled units stand for those that differ and the sealed "
            "test for the others"
        )
    return tuple(lines)


def disagreement_cell(proofs: object) -> str:
    """Return the last decision in a few words, for a list of versions; empty without any."""
    shown = list(proofs) if isinstance(proofs, list | tuple) else []
    if not shown:
        return ""
    last = max(shown, key=lambda one: str(one["decided"]))
    return f"{last['verdict']} by {last['labels_against']['basic']} labels where it differs"
