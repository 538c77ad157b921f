"""Assistant turns of the ``cognibench`` judge's rows, as they are asked about, and as they were labelled."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...cases import Labels
from ...errors import UsageError
from ...gold.goldset import Gold
from ...jobs.assessing import verdicts
from ...keeping.loading import LoadedJudge
from ...programs.cognibench import COGNIBENCH
from ...programs.judge import Judge
from ...programs.verdicts import Verdict
from ...text.sentences import split


@dataclass(frozen=True, kw_only=True)
class AssistantTurn:
    """One assistant turn."""

    id: str
    group: str  # the document; answers about one document are not independent
    dialogue: str  # which conversation it is of
    reference: str  # the text it is to be faithful to
    history: tuple[Mapping[str, str], ...]  # the turns before
    question: str  # the user's message
    text: str = ""  # the answer

    @property
    def turn(self) -> int:
        """Its number in its conversation, from 0: the user's messages before it."""
        return sum(turn.get("role") == "user" for turn in self.history)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the answer."""
        return tuple(sentence.text for sentence in split(self.text))

    def row(self) -> dict[str, Any]:
        """Return the answer as a row of the ``cognibench`` judge, without labels."""
        return {
            "id": self.id,
            "reference": self.reference,
            "history": [dict(turn) for turn in self.history],
            "question": self.question,
            "sentences": list(self.sentences),
            "group": self.group,
        }


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """An answer with one label per sentence, ``None`` where there is no usable one."""

    answer: AssistantTurn  # the assistant turn
    labels: Labels  # one per sentence
    verdict: Verdict | None = None  # what the judge said; ``None`` for labels that came from elsewhere


def check_judge(judge: Judge) -> None:
    """Refuse a judge that does not label the sentences of a response as CogniBench does."""
    if (
        set(judge.answer.scale.choices) != set(COGNIBENCH.answer.scale.choices)
        or "sentences" not in judge.row_model.model_fields
    ):
        raise UsageError(
            f"judge {judge.name} does not label the sentences of a response with CogniBench's labels",
            hint="use cognibench, one of its versions, or a judge with the same rows and labels",
        )


def label(
    loaded: LoadedJudge, answers: Sequence[AssistantTurn], on_done: Callable[[], None] = lambda: None
) -> list[Labelled]:
    """Label the sentences of answers that have some; the result is in their order."""
    cases = [loaded.judge.case(answer.row(), path=answer.id) for answer in answers]
    return [
        Labelled(answer=answer, labels=verdict.values, verdict=verdict)
        for answer, verdict in zip(answers, verdicts(loaded, cases, on_done), strict=True)
        if verdict
    ]


def labelled_gold(gold: Gold, labels: Mapping[str, Labels] | None = None) -> list[Labelled]:
    """Return the cases of a gold set of the ``cognibench`` judge as labelled answers, ``labels`` by their ids.

    A conversation is told by its document and its first question; where one of its turns occurs again, that is one of
    another conversation, in the order of the rows.
    """
    seen: Counter[tuple[str, int]] = Counter()
    labelled = []
    for number, case in enumerate(gold.cases):
        row = gold.rows.get(case.id, {})
        history = tuple(dict(turn) for turn in row.get("history") or ())
        question, sentences = str(row.get("question") or ""), tuple(case.inputs["sentences"])
        name = f"{case.group} {history[0]['content'] if history else question}"
        seen[name, len(history)] += 1
        answer = AssistantTurn(
            id=str(row.get("id") or f"{case.group}_{number}"),
            group=case.group,
            dialogue=f"{name} {seen[name, len(history)]}",
            reference=str(case.inputs["reference"]),
            history=history,
            question=question,
            text="\n".join(sentences),
        )
        vars(answer)["sentences"] = sentences  # as gold has them, however they would be split here
        own = case.gold if labels is None else labels.get(case.id)
        labelled.append(Labelled(answer=answer, labels=own or (None,) * len(sentences)))
    return labelled
