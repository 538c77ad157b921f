"""How often models hallucinate on a benchmark (C-FAITH section 4): they answer zero-shot, in each of the formats.

Whether a free reply conflicts with the correct answer is for ``qa-conflict`` to judge; letters and truth values are
read from the reply by rules, and a reply that holds none is counted as unanswered. The judge's own errors,
measured on gold that it was not compiled on, are taken out of the rate of generative items.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ...cases import Case
from ...engines.channel import CallContext
from ...engines.meter import Budget
from ...engines.models import Model, connect
from ...errors import UsageError
from ...evaluation.prevalence import Tallies, tallies
from ...gold.goldset import Gold
from ...jobs.estimate import Estimate, Part, Rate, Span
from ...jobs.foresee import judging
from ...jobs.measuring import some
from ...keeping.loading import LoadedJudge
from ...keeping.paying import PaidJob, Start, paying
from ...programs.answers.checks import items_of
from ...programs.asking import Asker
from ...programs.haluagent.answering import ANSWERING
from ...programs.haluagent.judges import QA_CONFLICT
from ...programs.state import PromptState
from ...programs.verdicts import Verdict
from .authors import choice_prompt
from .items import Choice, Generative, Item, TrueFalse
from .rates import Found, Rates, rates
from .replies import read_choice, read_truth

__all__ = ["Assessed", "ItemAssessment", "assess_items", "foresee_items_assessment", "prompt_of"]

_CONFLICT: Final = "conflict"
_TRUTH: Final = {
    True: "问题：{question}\n答案：{answer}\n这个答案正确吗？只回答“正确”或“错误”。",
    False: "Question: {question}\nAnswer: {answer}\nIs this answer correct? Reply with true or false only.",
}


@dataclass(frozen=True, kw_only=True)
class ItemAssessment:
    """Who is assessed on what, by whom.

    Attributes:
        items: the benchmark.
        targets: the models.
        judge: ``qa-conflict`` or a version of it.
        calibration: its gold; rows that its artifact has seen are left out.
        benchmark: the benchmark's name.
        concurrency: replies in flight at once.
        budget: hard limits over all models.
        seed: of draws and of the bootstrap.
    """

    items: tuple[Item, ...]
    targets: tuple[Model, ...]
    judge: LoadedJudge
    calibration: Gold
    benchmark: str
    concurrency: int = 8
    budget: Budget = field(default_factory=Budget)
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what assesses nothing."""
        names = [model.name for model in self.targets]
        if not names or len(set(names)) < len(names):
            raise UsageError("name every model once", hint="for example jurist assess offline --benchmark F")
        if set(self.judge.judge.input_fields) != set(QA_CONFLICT.input_fields):
            raise UsageError(
                f"judge {self.judge.judge.name} does not compare a reply with the correct answer",
                hint="use qa-conflict or one of its versions",
            )

    @property
    def held_out(self) -> tuple[Case, ...]:
        """The rows of the calibration that the judge was not compiled on; none where nothing is to be judged."""
        if not any(isinstance(item, Generative) for item in self.items):
            return ()
        card = self.judge.artifact.card if self.judge.artifact else {}
        seen = set((card.get("gold") or {}).get("seen", ()))
        return tuple(case for case in self.calibration.cases if case.id not in seen)

    @property
    def roles(self) -> tuple[str, ...]:
        """The judge, then the models: who has a journal."""
        return ("judge", *(f"{number}-{model.name}" for number, model in enumerate(self.targets)))

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same job when it is started again, as JSON values."""
        asked = [[item.id, prompt_of(item)] for item in self.items]
        return {
            "assess": hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).hexdigest(),
            "targets": [[one.name, one.public_base, one.temperature, one.max_tokens] for one in self.targets],
            "prompt": PromptState.of(ANSWERING.basic()).id,
            "judge": self.judge.fingerprint(),
            "calibration": self.calibration.sha256,
            "seed": self.seed,
            "job": "assess haluagent",
        }


@dataclass(frozen=True, kw_only=True)
class Assessed:
    """One model's result: its name, what it replied to each item, what was found in it, and the rates."""

    model: str
    replies: tuple[str, ...]
    found: tuple[Found, ...]
    rates: Rates

    @property
    def unusable(self) -> float:
        """The share of items without an answer, 0 to 1."""
        return sum(one.hallucinated is None for one in self.found) / len(self.found)

    def to_json(self) -> dict[str, Any]:
        """Return the rates as plain JSON types."""
        return {"model": self.model, "items": len(self.found), **self.rates.to_json()}


def prompt_of(item: Item) -> str:
    """Return what a model is asked about an item."""
    if isinstance(item, Choice):
        return choice_prompt(item)
    if isinstance(item, TrueFalse):
        return _TRUTH[item.language == "zh"].format(question=item.question, answer=item.answer)
    return item.question


def foresee_items_assessment(work: ItemAssessment) -> Estimate:
    """Estimate what an assessment takes. Sends nothing: a few items are answered offline."""
    context, number = CallContext.fresh(), len(work.items)
    _replies(work, Model(temperature=0.0), context, some(work.items))
    said = Rate.of(context.ledger.spend())
    models = [
        Part(
            role=role,
            models=(model,),
            calls=Span(least=number, most=number),
            rate=said,
            who=f"of {model.name}",
        )
        for role, model in zip(work.roles[1:], work.targets, strict=True)
    ]
    judged = sum(isinstance(item, Generative) for item in work.items)
    questions = len(work.held_out) + judged * len(models)
    return Estimate(
        what=f"{len(work.held_out)} rows of calibration, {number} items",
        parts=(judging(work.judge, questions, some(work.held_out)), *models),
        budget=work.budget,
    )


def assess_items(
    work: ItemAssessment, start: Start, *, on_step: Callable[[], None] = lambda: None
) -> tuple[list[Assessed], dict[str, Any]]:
    """Assess every model; return the results in the order of the models, and what was spent, by purpose.

    Args:
        work: what to do.
        start: how the job is started.
        on_step: called after every calibration row, reply, and judged reply.

    Raises:
        CheckpointError, StoppedError, ModelError: as for every job that pays.
    """
    with paying(work, start) as job:
        asker = replace(work.judge, context=job.contexts["judge"]).asker()
        verdicts = asker.ask_all(work.held_out, lambda index, verdict: on_step())
        known = _known(work.held_out, verdicts)
        found = [
            _one(work, asker, model, job, role, known, on_step)
            for role, model in zip(work.roles[1:], work.targets, strict=True)
        ]
        job.unfinished = any(one.rates.failed for one in found)
        return found, job.ledger.to_json()


def _known(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> tuple[Tallies, Tallies]:
    """Return how often the judge was right on gold, by group: of conflicts, and of replies that agree."""
    told = [
        (case.group, (case.gold or (None,))[0], verdict.value)
        for case, verdict in zip(cases, verdicts, strict=True)
        if verdict.value is not None
    ]
    conflicts, others = (
        tallies((group, said == truth) for group, truth, said in told if (truth == _CONFLICT) is positive)
        for positive in (True, False)
    )
    return conflicts, others


def _one(
    work: ItemAssessment,
    judge: Asker,
    model: Model,
    job: PaidJob,
    role: str,
    known: tuple[Tallies, Tallies],
    on_step: Callable[[], None],
) -> Assessed:
    replies = _replies(work, model, job.contexts[role], work.items, on_step)
    free = [
        (place, item, text)
        for place, (item, (text, failed)) in enumerate(zip(work.items, replies, strict=True))
        if isinstance(item, Generative) and text and not failed
    ]
    cases = [_case(item, text, place) for place, item, text in free]
    verdicts = judge.ask_all(cases, lambda index, verdict: on_step())
    judged = {place: verdict for (place, _, _), verdict in zip(free, verdicts, strict=True)}
    found = tuple(
        _found(item, text, failed, judged.get(place))
        for place, (item, (text, failed)) in enumerate(zip(work.items, replies, strict=True))
    )
    return Assessed(
        model=model.name,
        replies=tuple(text for text, _ in replies),
        found=found,
        rates=rates(found, calibration=known, seed=work.seed),
    )


def _case(item: Generative, reply: str, place: int) -> Case:
    asked = {"question": item.question, "correct_answer": item.correct_answer, "response": reply}
    return Case(inputs=asked, group=item.group or item.id, draw=place)


def _found(item: Item, reply: str, failed: bool, verdict: Verdict | None) -> Found:
    if failed or (verdict is not None and verdict.status == "failed"):
        return Found(item, None, failed=True)
    if isinstance(item, Choice):
        letter = read_choice(reply, item.options)
        return Found(item, None if letter is None else letter != item.correct)
    if isinstance(item, TrueFalse):
        truth = read_truth(reply)
        return Found(item, None if truth is None else truth != item.correct)
    said = verdict.value if verdict else None
    return Found(item, None if said is None else said == _CONFLICT)


def _replies(
    work: ItemAssessment,
    model: Model,
    context: CallContext,
    items: Sequence[Item],
    on_step: Callable[[], None] = lambda: None,
) -> list[tuple[str, bool]]:
    """Return for each item the reply, and whether the machinery failed."""
    lm = connect(model, context, "generator")
    asker = Asker(judge=ANSWERING, program=ANSWERING.basic(), lm=lm, concurrency=work.concurrency)
    cases = [
        Case(inputs={"prompt": prompt_of(item)}, group=item.group or item.id, draw=place)
        for place, item in enumerate(items)
    ]
    verdicts = asker.ask_all(cases, lambda index, verdict: on_step())
    return [
        ("".join(str(item.data) for item in items_of(verdict.value)), verdict.status == "failed")
        for verdict in verdicts
    ]
