"""What a version's proof says of its judge, row by row, and whether it says it of the judge as it is asked now."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..cases import Value
from ..engines.models import same_model
from ..evaluation.rows import Row
from ..programs.answers.base import Answer
from .loading import LoadedJudge


def rows_of(answer: Answer, proof: Sequence[Mapping[str, Any]], system: str) -> list[Row]:
    """Return what ``basic`` or ``compiled`` said on the sealed test as rows of the evaluation."""

    def values(data: Sequence[Any]) -> tuple[Value | None, ...]:
        return tuple(None if one is None else answer.of_json(one) for one in data)

    return [
        Row(
            id=row["case"],
            group=row["group"],
            gold=values(row["gold"]),
            predicted=values(row[system]["values"]),
            failed=row[system]["status"] == "failed",
        )
        for row in proof
    ]


def proven_rows(judge: LoadedJudge) -> list[Row]:
    """Return what a judge's version said on its sealed test, but for rows that the machinery failed at.

    Empty without an artifact, or of one that kept none.
    """
    proof = judge.artifact.proof() if judge.artifact else ()
    return [row for row in rows_of(judge.judge.answer, proof, "compiled") if not row.failed]


def other_conditions(judge: LoadedJudge, stamp: Mapping[str, Any]) -> dict[str, str]:
    """Return in which ways a judge is, or was, asked otherwise than in its proof, in words by name."""
    assert judge.artifact is not None
    about = judge.artifact.about
    warmth = about.setting.temperature
    proven = {
        "model": about.model.name or None,
        "samples": about.thresholds.samples,
        "threshold": about.thresholds.threshold,
        "temperature": about.model.temperature if warmth is None else warmth,
        "strictness": about.strictness or None,
    }
    now = {**stamp, **stamp["sampling"]}
    return {
        name: f"{name} {now.get(name)} and not {value}"
        for name, value in proven.items()
        if now.get(name) != value and not (name == "model" and value and same_model(str(value), now["model"]))
    }
