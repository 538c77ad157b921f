"""The history of a search, as an artifact keeps it: a table, and the prompt's changes."""

from collections.abc import Mapping

from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..optimizers.candidate import candidate_names
from ..report.differing import Side, prompt_difference
from ..report.history import basic_state, chosen_candidate, sign_of
from ..report.scores import number_cell
from ..report.table import Table, table


def history_table(artifact: Artifact) -> Table:
    """Return one row a candidate; the chosen one is marked."""
    chosen, names = chosen_candidate(artifact), candidate_names_of(artifact)
    sign = sign_of(artifact)
    rows = [
        [
            row["step"],
            names[row["candidate"]],
            f"{row['candidate']}{' *' if row['candidate'] == chosen else ''}",
            names.get(row["parent"] or "", "-"),
            row["source"],
            row["calls"],
            _value(row["train"], sign),
            _value(row["dev"], sign),
            number_cell(row.get("gain"), "+.3f"),
            f"{sign * row['estimate']['value']:.3f} ± {row['estimate']['error']:.3f}"
            if row.get("estimate")
            else "-",
        ]
        for row in artifact.history
    ]
    columns = "step|name|candidate|parent|source|calls before|train|dev|gain on dev|estimate"
    return table(f"{artifact.ref} (* became the artifact)", columns.split("|"), rows)


def candidate_names_of(artifact: Artifact) -> dict[str, str]:
    """Return what the candidates of an artifact's history are called, by their ids."""
    return candidate_names((row["candidate"], str(row["source"])) for row in artifact.history)


def _value(part: Mapping[str, float | None], sign: float) -> str:
    return "-" if part["value"] is None else f"{sign * part['value']:.3f} on {part['cases']}"


def prompt_diff(artifact: Artifact, store: Store) -> str:
    """Return what compiling changed in the prompt, by word; empty if nothing.

    The basic prompt is the one that was compiled, from the history; an artifact without a history is compared
    with its judge's basic prompt of today.
    """
    basic = Side(name=f"{artifact.judge}:basic", state=basic_state(artifact, store))
    return prompt_difference(basic, Side(name=artifact.ref, state=artifact.state))
