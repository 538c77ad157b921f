"""Conversations for CogniBench: the dialogues to make of each document, their writing, and CogniBench-L of them.

Which dialogues are made is a pure function of documents, spec and seed: adding a document changes no other dialogue.
CogniBench-L are such dialogues with every assistant turn labelled.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ...engines.channel import CallContext
from ...engines.meter import Budget
from ...engines.models import Model
from ...errors import JuristError, UsageError, why
from ...evaluation.checked_items import items_of
from ...evaluation.votes import Sampling
from ...gold.documents import Document
from ...jobs.estimate import Estimate, judging
from ...jobs.generation import (
    Generated,
    Generation,
    already_made,
    check_writable,
    foresee_items,
    job_id,
    write_items,
)
from ...keeping.loading import LoadedJudge
from ...keeping.paying import Start, paying
from ...programs.answers.infer import closed
from ...programs.dialogue import Range, dialogue_generator
from ...programs.state import PromptState
from ...text.wording import chinese_share
from .dataset import write_dataset
from .statistics import Dynamics
from .turns import AssistantTurn, answers_of, check_judge, label

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
    per_topic: int | None = (
        None  # so many documents of each topic at random, for uniform topics; ``None``: all
    )

    def __post_init__(self) -> None:
        """Refuse what makes no dialogue."""
        if self.copies < 1:
            raise UsageError(f"{self.copies} dialogues a document are none", hint="give 1 or more")
        if any(not topic.strip() for topic in self.topics):
            raise UsageError("a topic is empty", hint="separate the topics by single commas")


def plans(documents: Sequence[Document], spec: DialogueSpec, seed: int) -> list[dict[str, Any]]:
    """Return the dialogues to make as rows of their generator, document by document.

    Refused are ids that meet, and a dialogue in another language than its document: whether it uses the document is
    told by its words. ``draw`` is the sample number of all calls of a dialogue: other dialogues are other draws.
    """
    rows = list[dict[str, Any]]()
    for document in documents if spec.per_topic is None else _uniform(documents, spec.per_topic, seed):
        share = chinese_share(document.text)
        if (spec.language == "zh" and share < _MIXED) or (spec.language == "en" and share > 1 - _MIXED):
            raise UsageError(
                f"{document.source or document.id} is not written in {_NAMES[spec.language]}",
                hint="leave --language out: a dialogue is in the language of its document, or it could not be checked",
            )
        topics = spec.topics or (document.title or document.topic,)
        several = len(topics) * spec.copies > 1
        for number in range(len(topics) * spec.copies):
            topic = topics[number // spec.copies]
            parts = map(str, (seed, document.id, topic, number % spec.copies))
            digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()
            chance = int.from_bytes(digest[:8], "big") >> 1  # 63 bits: the upper 31 are the draw
            rows.append(
                {
                    "id": f"{document.id}-{number + 1}" if several else document.id,
                    "group": document.id,
                    "title": document.title,
                    "topic": topic,
                    "language": document.language if spec.language == "auto" else spec.language,
                    "reference": document.text,
                    "turns": spec.turns.low + chance % (spec.turns.high - spec.turns.low + 1),
                    "words": str(spec.words),
                    "source": document.source,
                    "draw": chance >> 32,
                }
            )
    names = [row["id"] for row in rows]
    if len(set(names)) < len(names):  # a document called ``a-1`` beside two dialogues about ``a``
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two dialogues would be called {twice!r}", hint="give the documents other ids")
    return rows


def _uniform(documents: Sequence[Document], per_topic: int, seed: int) -> list[Document]:
    """Return so many documents of each topic (appendix A.6); which ones follows from the seed and their ids."""

    def lot(document: Document) -> str:
        return hashlib.sha256(f"{seed}/{document.id}".encode("utf-8", "surrogatepass")).hexdigest()

    topics = Counter[str]()
    drawn = set[str]()
    for document in sorted(documents, key=lot):
        topics[document.topic] += 1
        drawn |= {document.id} if topics[document.topic] <= per_topic else set()
    if short := [topic or "no topic" for topic, count in topics.items() if count < per_topic]:
        raise UsageError(
            f"there are fewer than {per_topic} documents of {', '.join(sorted(short))}",
            hint=f"give a --per-topic of {min(topics.values())} or less, or more documents",
        )
    return [document for document in documents if document.id in drawn]


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
        wanted=Sampling(),
        adapter="chat",
        concurrency=concurrency,
        context=CallContext.fresh(),
    )
    return Generation(
        loaded=loaded,
        cases=tuple(generator.case(row) for row in plans(documents, spec, seed)),
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
        for row in _rows(path):
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


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the row of each line, if there is such a file."""
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """How the making of a dataset ended."""

    made: Generated  # how the writing of the dialogues ended
    failed: int = 0  # answers that the machinery did not label. statistics, dynamics: as written
    statistics: Mapping[str, Any] = field(default_factory=dict)
    dynamics: Dynamics | None = None


@dataclass(frozen=True, kw_only=True)
class _DatasetWork:
    """The making of a dataset, as something to be paid for."""

    generation: Generation
    judge: LoadedJudge
    roles: tuple[str, ...] = ("generator", "judge")

    @property
    def budget(self) -> Budget:
        return self.generation.budget

    def fingerprint(self) -> dict[str, Any]:
        judge = self.judge.fingerprint()
        return {**self.generation.fingerprint(), "dataset": "cognibench-l", "judge": judge}


def make_dataset(
    job: Generation,
    judge: LoadedJudge,
    folder: Path,
    start: Start,
    *,
    on_dialogue: Callable[[], None] = lambda: None,
    on_answer: Callable[[], None] = lambda: None,
    on_labelling: Callable[[int], None] = lambda answers: None,
) -> Dataset:
    """Generate dialogues, label every assistant turn, and write the folder that :mod:`.dataset` describes."""
    check_judge(judge.judge)
    dataset = _DatasetWork(generation=job, judge=judge)
    fingerprint = dataset.fingerprint()
    place = folder / "statistics.json"
    if (folder / "dialogues.json").exists() and not place.exists():
        raise UsageError(f"{folder} holds dialogues that are not ours", hint="name another folder")
    if already_made(place, fingerprint, start):
        return _made_before(folder)
    with paying(dataset, start) as work:
        check_writable(folder)
        paths = folder / "dialogues.jsonl", folder / "rejects.jsonl"
        made = write_items(job, work, *paths, lambda case, verdict: on_dialogue())
        if not made.kept:
            first = paths[1].read_text(encoding="utf-8").partition("\n")[0]
            reason = next(reversed(json.loads(first or "{}").get("reasons") or ["there is no document"]))
            raise JuristError(f"none of the dialogues can be used: {reason}", hint="see rejects.jsonl")
        answers = [answer for row in _rows(paths[0]) for answer in answers_of(row)]
        on_labelling(len(answers))
        labelled = label(replace(judge, context=work.contexts["judge"]), answers, on_answer)
        failed = sum(one.verdict is not None and one.verdict.status == "failed" for one in labelled)
        about = {
            "generator": job.loaded.model.name,
            "judge": judge.name,
            "judge_model": judge.model.name,
            "strictness": judge.judge.answer.strictness,
            "samples": judge.sampling.samples,
            "threshold": judge.sampling.needed,
            "seed": job.settings["seed"],
            "dialogues_rejected": made.rejected,
            "dialogues_failed": made.failed,
            "answers_failed": failed,
            "job": job_id(fingerprint),
        }
        described, moving = write_dataset(
            folder, labelled, about=about, positive=closed(judge.judge.answer).positive
        )
        work.unfinished = bool(made.failed or failed)
        made = replace(made, spend=work.ledger.to_json())
    return Dataset(made=made, failed=failed, statistics=described, dynamics=moving)


def foresee_dataset(job: Generation, judge: LoadedJudge) -> Estimate:
    """Estimate the writing of dialogues and the labelling of their answers. Sends nothing.

    If dialogues are rejected, there is less to label than the least that is given here.
    """
    made, answers = sampled_dialogues(job)
    cases = [judge.judge.case(answer.row()) for answer in answers if answer.sentences]
    turns = sum(case.inputs["turns"] for case in job.cases)
    return replace(made, asks=(*made.asks, judging(judge, turns, cases)))


def _made_before(folder: Path) -> Dataset:
    """Return a finished dataset from its files."""
    try:
        statistics, moving = (
            json.loads((folder / name).read_text(encoding="utf-8"))
            for name in ("statistics.json", "dynamics.json")
        )
        return Dataset(
            made=Generated(before=True),
            statistics=statistics,
            dynamics=Dynamics.of_json(moving),
        )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(
            f"{folder}/dynamics.json cannot be read: {why(error)}", hint="--fresh makes the folder again"
        ) from error
