"""Assistant turns as cases to judge, and as they were labelled.

An :class:`AssistantTurn` is one assistant turn with what it answers; splitting it into sentences makes it a row of the
``cognibench`` judge, whether a dialogue came from a file, from a generator or from a model under assessment.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...cases import Labels
from ...errors import GoldError, UsageError
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

    id: str  # of the turn: the dialogue's id and the number of the turn
    group: str  # the document; answers about one document are not independent
    dialogue: str  # the id of the conversation
    turn: int  # from 0
    reference: str  # the text it is to be faithful to
    history: tuple[Mapping[str, str], ...]  # the turns before
    question: str  # the user's message
    text: str  # the answer
    extra: Mapping[str, Any]  # topic, language and whatever else is known of the dialogue

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the answer."""
        return tuple(sentence.text for sentence in split(self.text))

    def row(self) -> dict[str, Any]:
        """Return the answer as a row of the ``cognibench`` judge, without labels."""
        return {
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


def answers_of(row: Mapping[str, Any], *, path: str = "", line: int | None = None) -> list[AssistantTurn]:
    """Return the assistant turns of a dialogue row ``{"id", "group", "reference", "turns"}``."""
    turns, name = row.get("turns"), str(row.get("id") or f"dialogue-{line or 0}")
    reference = row.get("reference")
    if not isinstance(reference, str) or not reference.strip():
        raise GoldError(
            "the field is missing or empty", path=path, line=line, field="reference", hint="give the text"
        )
    if not isinstance(turns, Sequence) or not _alternate(turns):
        hint = 'write {"role": "user"|"assistant", "content": text}, the user first, then in turn'
        raise GoldError("these are no turns of a dialogue", path=path, line=line, field="turns", hint=hint)
    extra = {key: row[key] for key in ("topic", "title", "language") if row.get(key)}
    return [
        AssistantTurn(
            id=f"{name}_{place // 2}",
            group=str(row.get("group") or name),
            dialogue=name,
            turn=place // 2,
            reference=reference,
            history=tuple(turns[: place - 1]),
            question=turns[place - 1]["content"],
            text=turn["content"],
            extra=extra,
        )
        for place, turn in enumerate(turns)
        if place % 2
    ]


def _alternate(turns: Sequence[Any]) -> bool:
    return len(turns) > 1 and all(
        isinstance(turn, Mapping)
        and turn.get("role") == ("assistant" if place % 2 else "user")
        and isinstance(turn.get("content"), str)
        and turn["content"].strip()
        for place, turn in enumerate(turns)
    )


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
    """Label the sentences of answers; the result is in their order. An answer without a sentence gets no label."""
    cases = [
        loaded.judge.case(answer.row(), path=answer.id) if answer.sentences else None for answer in answers
    ]
    return [
        Labelled(answer=answer, labels=verdict.values if verdict else (), verdict=verdict)
        for answer, verdict in zip(answers, verdicts(loaded, cases, on_done), strict=True)
    ]


def labelled_gold(gold: Gold) -> list[Labelled]:
    """Return the cases of a labelled gold set of the ``cognibench`` judge as labelled answers.

    Which conversation a row belongs to is told by its id, where all ids are ``CONVERSATION_TURN``, as the authors' and
    ours are. Else it is told by the document and the first question; where a turn then occurs again, it is one of
    another conversation, in the order of the rows.
    """
    rows = [gold.rows.get(case.id, {}) for case in gold.cases]
    names = _conversations([(case.group, row) for case, row in zip(gold.cases, rows, strict=True)])
    found = []
    for number, (case, row, name) in enumerate(zip(gold.cases, rows, names, strict=True)):
        sentences = tuple(case.inputs["sentences"])
        answer = AssistantTurn(
            id=str(row.get("id") or f"{case.group}_{number}"),
            group=case.group,
            dialogue=name,
            turn=_turn(row),
            reference=str(case.inputs["reference"]),
            history=tuple(dict(turn) for turn in row.get("history") or ()),
            question=str(row.get("question") or ""),
            text="\n".join(sentences),
            extra={},
        )
        vars(answer)["sentences"] = sentences  # as gold has them, however they would be split here
        found.append(Labelled(answer=answer, labels=case.gold or (None,) * len(sentences)))
    return found


def _conversations(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Return the name of the conversation of each (group, row)."""
    parted = [str(row.get("id") or "").rpartition("_") for _, row in rows]
    if all(name and turn == str(_turn(row)) for (name, _, turn), (_, row) in zip(parted, rows, strict=True)):
        return [f"{group} {name}" for (group, _), (name, _, _) in zip(rows, parted, strict=True)]
    seen: Counter[tuple[str, int]] = Counter()
    found = []
    for group, row in rows:
        history = row.get("history") or ()
        name = f"{group} {history[0]['content'] if history else row.get('question') or ''}"
        seen[name, _turn(row)] += 1
        found.append(f"{name} {seen[name, _turn(row)]}")
    return found


def _turn(row: Mapping[str, Any]) -> int:
    """Return the number of an answer in its conversation, from 0: the user's messages before it."""
    return sum(turn.get("role") == "user" for turn in row.get("history") or ())
