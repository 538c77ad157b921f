"""Conversations for CogniBench: what is wished for, the dialogues to make of each document, and their writing.

Which dialogues are made is a pure function of documents, spec and seed: adding a document changes no other dialogue.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ...engines.channel import CallContext
from ...engines.meter import Budget
from ...engines.models import Model
from ...errors import UsageError
from ...gold.documents import Document
from ...jobs.estimate import Estimate
from ...jobs.foresee import foresee_items
from ...jobs.generation import Generated, Generation
from ...keeping.loading import LoadedJudge
from ...programs.answers.checks import items_of
from ...programs.dialogue import dialogue_generator
from ...programs.dialogue_checks import Range
from ...programs.state import PromptState
from ...programs.votes import Sampling
from ...text.wording import chinese_share
from .turns import AssistantTurn, answers_of

Language: TypeAlias = Literal["auto", "en", "zh"]
_TURNS, _WORDS = Range(3, 3), Range(40, 200)
_NAMES = {"en": "English", "zh": "Chinese"}
_MIXED = 0.1  # a document with less of a language than this has none of it


@dataclass(frozen=True, kw_only=True)
class DialogueSpec:
    """How the dialogues should be."""

    turns: Range = _TURNS  # exchanges of user and assistant; drawn from the range for each dialogue
    words: Range = _WORDS  # length of every assistant message; each Chinese character is a word
    topics: tuple[str, ...] = ()  # one dialogue for each document and topic; empty: its own title or topic
    language: Language = "auto"  # ``auto`` is the document's
    copies: int = 1  # dialogues for each document and topic

    def __post_init__(self) -> None:
        """Refuse what makes no dialogue."""
        if self.copies < 1:
            raise UsageError(f"{self.copies} dialogues a document are none", hint="give 1 or more")
        if any(not topic.strip() for topic in self.topics):
            raise UsageError("a topic is empty", hint="separate the topics by single commas")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One dialogue to be made."""

    id: str  # the document's id, with a number where a document has several
    document: Document  # what it is grounded in
    topic: str  # what it is about; may be empty
    turns: int  # how many exchanges
    words: Range  # how long every assistant message
    language: str  # ``en`` or ``zh``
    draw: int  # the sample number of all its calls: other dialogues are other draws

    def row(self) -> dict[str, Any]:
        """Return it as a row of the dialogue generator."""
        document = self.document
        return {
            "id": self.id,
            "group": document.id,
            "title": document.title,
            "topic": self.topic,
            "language": self.language,
            "reference": document.text,
            "turns": self.turns,
            "words": str(self.words),
            "source": document.source,
            "draw": self.draw,
        }


def plans(documents: Sequence[Document], spec: DialogueSpec, seed: int) -> tuple[Plan, ...]:
    """Return the dialogues to make, document by document; refuse ids that meet, and another language."""
    found = []
    for document in documents:
        _check_language(document, spec.language)
        topics = spec.topics or (document.title or document.topic,)
        several = len(topics) * spec.copies > 1
        for number in range(len(topics) * spec.copies):
            topic = topics[number // spec.copies]
            name = f"{document.id}-{number + 1}" if several else document.id
            parts = map(str, (seed, document.id, topic, number % spec.copies))
            digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()
            chance = int.from_bytes(digest[:8], "big") >> 1  # 63 bits: the upper 31 are the draw
            found.append(
                Plan(
                    id=name,
                    document=document,
                    topic=topic,
                    turns=spec.turns.low + chance % (spec.turns.high - spec.turns.low + 1),
                    words=spec.words,
                    language=document.language if spec.language == "auto" else spec.language,
                    draw=chance >> 32,
                )
            )
    names = Counter(plan.id for plan in found)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:  # a document called ``a-1`` beside two dialogues about ``a``
        raise UsageError(f"two dialogues would be called {twice!r}", hint="give the documents other ids")
    return tuple(found)


def _check_language(document: Document, language: Language) -> None:
    """Refuse a dialogue in another language than its document: whether it uses the document is told by its words."""
    share = chinese_share(document.text)
    if (language == "zh" and share < _MIXED) or (language == "en" and share > 1 - _MIXED):
        raise UsageError(
            f"{document.source or document.id} is not written in {_NAMES[language]}",
            hint="leave --language out: a dialogue is in the language of its document, or it could not be checked",
        )


def dialogue_job(
    documents: Sequence[Document],
    spec: DialogueSpec,
    model: Model,
    *,
    seed: int = 0,
    attempts: int = 3,
    concurrency: int = 8,
    budget: Budget | None = None,
) -> Generation:
    """Return the writing of the planned dialogues, in the order of their documents."""
    if attempts < 1:
        raise UsageError(f"{attempts} attempts ask nothing", hint="give 1 or more")
    generator = dialogue_generator(attempts, spec.turns.high)
    loaded = LoadedJudge(
        judge=generator,
        state=PromptState.of(generator.basic()),
        artifact=None,
        model=model,
        sampling=Sampling(),
        adapter="chat",
        concurrency=concurrency,
        context=CallContext.fresh(),
    )
    return Generation(
        loaded=loaded,
        cases=tuple(generator.case(plan.row()) for plan in plans(documents, spec, seed)),
        budget=budget or Budget(),
        settings={"attempts": attempts, "seed": seed},
        stamp={
            "model": model.name,
            "temperature": model.temperature,
            "seed": seed,
            "turns": str(spec.turns),
            "words": str(spec.words),
        },
    )


def dialogue_counts(made: Generated, output: Path, rejects: Path) -> dict[str, Any]:
    """Return how the writing of dialogues ended, as JSON values.

    Beside the counts of :class:`~jurist.jobs.generation.Generated`: ``turns``, the exchanges of the dialogues that were
    kept, and ``asked_again``, the exchanges of all that were asked for once more, each time counted.
    """
    found, counts = made.to_json(), Counter(turns=0, asked_again=0)
    for path in () if made.before else (output, rejects):
        for _, row in _rows(path):
            counts["asked_again"] += row["provenance"].get("asked_again", 0)
            counts["turns"] += len(row["turns"]) // 2 if path == output else 0
    return {
        "dialogues": found["documents"],
        **{name: found[name] for name in ("kept", "rejected", "failed")},
        **counts,
        **{name: found[name] for name in ("done_before", "spend")},
    }


def sampled_dialogues(job: Generation) -> tuple[Estimate, list[AssistantTurn]]:
    """Return the estimate, and the assistant turns of the few dialogues that it was measured on. Sends nothing."""
    seen, found = foresee_items(job)
    turns = sum(case.inputs["turns"] for case in job.cases)
    rows = [
        job.generator.row(case, item, 0)
        for case, verdict in found
        for item in items_of(verdict.value)
        if item.data["turns"]
    ]
    answers = [answer for row in rows for answer in answers_of(row)]
    return replace(seen, what=f"{len(job.cases)} dialogues with {turns} turns"), answers


def turns_in(path: Path) -> Iterator[AssistantTurn]:
    """Yield the assistant turns of a file of dialogues, as they were written."""
    for number, row in _rows(path):
        yield from answers_of(row, path=str(path), line=number)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and row of each line, if there is such a file."""
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            yield from enumerate(map(json.loads, lines), 1)
