"""A judge, an optimizer, an export target and a reader of gold, for jurist."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import dspy

import jurist
from jurist.exports import Subject
from jurist.optimizers.base import Job
from jurist.optimizers.board import Board, Candidate


class Polite(dspy.Signature):
    """Say whether the reply is polite."""

    reply: str = dspy.InputField(desc="the reply of an agent")
    label: Literal["polite", "rude"] = dspy.OutputField(desc="polite or rude")


polite = jurist.Judge(name="polite", signature=Polite, positive="rude", description="politeness of replies")


@dataclass(frozen=True, kw_only=True)
class Remind:
    """Adds one sentence to the instruction."""

    sentence: str = "Read everything twice before you answer."
    name: str = "remind"

    def minimum(self, job: Job) -> int:
        """Return the calls for the basic prompt and one other on dev."""
        return 2 * len(job.dev) * job.calls_per_case

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Score the longer instruction on dev."""
        state = start.state
        for predictor, prompt in start.state.predictors.items():
            state = state.with_instruction(predictor, f"{prompt.instructions}\n{self.sentence}")
        board.score(board.add(state, parent=start, source=self.name), job.dev)


@dataclass(frozen=True)
class TextExport:
    """Writes the instruction of the first predictor as text."""

    name: str = "acme-text"
    suffix: str = ".txt"
    limits: Sequence[str] = ("the instruction alone",)

    def render(self, subject: Subject) -> str:
        """Return the text of the file."""
        first = next(iter(subject.state.predictors.values()))
        return f"{subject.judge.name}: {first.instructions}\n"


@dataclass(frozen=True)
class LinesReader:
    """Reads lines of ``LABEL|REPLY``."""

    name: str = "acme-lines"
    file_name: str = "labels.acme"
    companion: str = ""

    def records(self, file: Path) -> Iterator[Mapping[str, Any]]:
        """Yield a record for each line."""
        for line in file.read_text(encoding="utf-8").splitlines():
            label, _, reply = line.partition("|")
            yield {"verdict": label, "text": reply}

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Return whether a file has the format: no file says so by itself."""
        return False

    def row(self, record: Mapping[str, Any], companion: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the row of a record."""
        return {"reply": record["text"], "label": record["verdict"]}


text_export = TextExport()
lines_reader = LinesReader()
