"""The history of a search, and the prompt that it began with."""

from collections.abc import Mapping

from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.naming import judge_of
from ..optimizers.candidate import candidate_names
from ..programs.state import PromptState
from .scores import number_cell
from .table import Table, table


def sign_of(artifact: Artifact) -> float:
    """Return -1 if the metric is an error, of which less is better, else 1: what was maximised, times this, is it."""
    return -1.0 if artifact.about.decision.higher_is_better is False else 1.0


def basic_state(artifact: Artifact, store: Store) -> PromptState:
    """Return the basic prompt that was compiled, from the history; without one, the judge's basic prompt of today."""
    first = next(
        (row for row in artifact.history if row.get("source") == "basic" and row.get("prompt")), None
    )
    return (
        PromptState.of(judge_of(artifact, store).basic())
        if first is None
        else PromptState.from_json(first["prompt"])
    )


def history_table(artifact: Artifact) -> Table:
    """Return one row a candidate; the chosen one is marked."""
    chosen, names = artifact.about.optimizer.candidate, candidate_names_of(artifact)
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
