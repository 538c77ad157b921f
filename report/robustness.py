"""How a judge stood attacks, as a table and in words: of what :class:`~jurist.jobs.hardening.Robustness` writes."""

from collections.abc import Mapping
from typing import Any

from .table import Table, table


def robustness_about(measured: Mapping[str, Any]) -> str:
    """Return on what it was measured: ``input claim of 100 cases of fect-mini, model offline``."""
    return (
        f"input {measured['field']} of {measured['cases']} cases of {measured['gold']}, "
        f"model {measured['model']}"
    )


def robustness_table(measured: Mapping[str, Any], title: str) -> Table:
    """Return a row for the control, and for each attack and probe."""
    rows = [
        [
            name,
            one["kind"],
            f"{one['rate']:.3f} [{one['low']:.3f}, {one['high']:.3f}]",
            f"{one['flipped']} of {one['cases']}",
            one["silenced"],
            one["failed"],
            f"{one['shift']:.3f}",
            _most(one["answers"]),
        ]
        for name, one in measured["flips"].items()
    ]
    columns = [
        *(
            "change of the text",
            "kind",
            "flip rate [95 % interval]",
            "flipped",
            "no answer",
            "failed",
            "shift",
        ),
        "most flipped answer",
    ]
    return table(title, columns, rows)


def _most(answers: Mapping[str, Any]) -> str:
    """Return the answer whose units flipped most, as a share of them; ``-`` if none did."""
    name, (flipped, every) = max(answers.items(), key=lambda item: item[1][0] / item[1][1])
    return f"{name}: {flipped} of {every}" if flipped else "-"
