"""How faithful a model answers: it answers, a judge labels, and the judge's own errors are taken out.

CogniBench section 4.7 (Figure 8): every model gets the same references, histories and questions; its answers are
split, labelled sentence by sentence, and summed up as shares of statement types and rates of hallucination by
type. A judge errs, so every share comes raw and corrected by the judge's sensitivity and specificity on gold that it
was not compiled on (:mod:`jurist.evaluation.prevalence`). A share of a type is corrected by how well the judge
tells that type from the others; the rate of hallucination *of a type* is over the statements that the judge takes
for that type, and corrected by how well it tells hallucinations among such statements.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic

from ...cases import Case, Labels, text_hash
from ...errors import GoldError, UsageError
from ...evaluation.intervals import Share
from ...evaluation.plain import plain
from ...evaluation.prevalence import Prevalence, prevalence, tallies
from ...gold.files import validate_row
from ...gold.sources import read
from ...jobs.assessing import Assessment, Calibrated, Replies, View, judge_cases
from ...jobs.generation import job_id
from ...keeping.loading import LoadedJudge
from ...programs.answers.infer import closed
from ...programs.cognibench import COGNIBENCH, Turn, statement_type
from ...programs.dialogue import RESPOND
from ...programs.judge import Judge
from ...report.scores import number_cell
from ...report.table import Table, table
from ...signatures.cognibench import LABELS
from ...text.sentences import split
from ...text.turns import dialogue
from ...text.wording import count_words

DIALOGUES = "dialogues"
"""The bundled prompts: references, histories and questions of ``cognibench-mini``."""
MEASURES = (
    "factual",
    "cognitive",
    "irrelevant",
    "hallucinated",
    "hallucinated_of_factual",
    "hallucinated_of_cognitive",
)
"""Shares of all sentences: three types, and hallucinations; then hallucinations among those of a type."""


class Prompt(pydantic.BaseModel, extra="ignore"):
    """A prompt that is to be answered: the user's message about a reference, after earlier turns."""

    id: str = ""
    group: str = ""
    reference: str = pydantic.Field(min_length=1)
    history: list[Turn] = pydantic.Field(default_factory=list)
    question: str = ""


_PROMPT: pydantic.TypeAdapter[Prompt] = pydantic.TypeAdapter(Prompt)


def read_prompts(source: str) -> tuple[Prompt, ...]:
    """Return the prompts of a benchmark: dialogues, or rows of the judge ``cognibench``."""
    reading = read(COGNIBENCH.bundled if source == DIALOGUES else source)
    hint = "give rows with 'turns', or with 'reference', 'history' and 'question'"
    prompts = list[Prompt]()
    for place, row in reading.rows:
        for own in COGNIBENCH.expanded(row, path=place.path, line=place.line):
            prompt = validate_row(_PROMPT, dict(own), place, hint=hint)
            group = prompt.group or text_hash(prompt.reference)[:12]
            name = prompt.id or f"{group}_{len(prompts)}"
            prompts += [prompt.model_copy(update={"id": name, "group": group})] if prompt.question else []
    if not prompts:
        raise GoldError("there is no question to answer", path=reading.path, hint=hint)
    return tuple(prompts)


def check_judge(judge: Judge) -> None:
    """Refuse a judge that does not label the sentences of a response as CogniBench does."""
    alike = set(judge.answer.scale.choices) == set(LABELS)
    if not alike or "sentences" not in judge.row_model.model_fields:
        raise UsageError(
            f"judge {judge.name} does not label the sentences of a response with CogniBench's labels",
            hint="use cognibench, one of its versions, or a judge with the same rows and labels",
        )


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One share: as the judge found it, and corrected."""

    raw: Share  # with its clustered interval
    corrected: Prevalence  # by the judge's sensitivity and specificity


@dataclass(frozen=True, kw_only=True)
class Assessed:
    """One model's result."""

    model: str  # its name
    answers: tuple[tuple[Mapping[str, Any], Labels], ...]  # a row of the judge for each, and its labels
    empty: int  # prompts to which it gave no usable answer
    failed: int  # prompts whose answer or labels the machinery failed to get
    measures: Mapping[str, Measure]  # name -> share

    @property
    def prompts(self) -> int:
        """How many there were."""
        return len(self.answers) + self.empty + self.failed

    @property
    def unusable(self) -> float:
        """The share of prompts without an answer, or with an answer of which no sentence was labelled, 0 to 1."""
        bare = sum(not any(labels) for _, labels in self.answers)
        return (self.empty + self.failed + bare) / self.prompts if self.prompts else 0.0

    def remarks(self) -> Iterator[str]:
        """Yield what is to be said of its shares, and of prompts without an answer."""
        for name, measure in self.measures.items():
            if measure.corrected.problem:
                yield f"{self.model}: {_words(name)} is not corrected: {measure.corrected.problem}"
            elif measure.corrected.clipped:
                yield f"{self.model}: {_words(name)} was put back into 0 to 1 after correction"
        if self.empty or self.failed:
            yield f"{self.model}: {self.empty} prompts without an answer, {self.failed} failed"

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        labels = [label for _, own in self.answers for label in own]
        words = [count_words(row["response"]) for row, _ in self.answers]
        return {
            "model": self.model,
            "prompts": self.prompts,
            "answers": len(self.answers),
            "empty": self.empty,
            "failed": self.failed,
            "sentences": len(labels),
            "unlabelled": labels.count(None),
            "words_per_answer": round(sum(words) / len(words), 2) if words else None,
            "measures": plain(self.measures),
        }


@dataclass(frozen=True, kw_only=True)
class DialogueAssessment(Assessment):
    """Who is assessed on what; the judge's samples hold for answers and calibration alike."""

    answering = RESPOND
    unit = "prompts"
    prompts: tuple[Prompt, ...]
    length: str = "between 40 and 200 words"  # how long an answer should be, as prompts say it

    def __post_init__(self) -> None:
        super().__post_init__()
        check_judge(self.judge.judge)

    @property
    def asked(self) -> list[Case]:
        return [
            Case(
                inputs={
                    "reference": prompt.reference,
                    "dialogue": dialogue(turn.model_dump() for turn in prompt.history),
                    "user_message": prompt.question,
                    "length": self.length,
                },
                group=prompt.group,
                draw=int(job_id({"prompt": place, "seed": self.seed})[:7], 16),
            )
            for place, prompt in enumerate(self.prompts)
        ]

    def judged(
        self,
        model: str,
        replies: Replies,
        judge: LoadedJudge,
        calibrated: Calibrated,
        on_step: Callable[[], None],
    ) -> Assessed:
        """Return one model's shares, as the judge found them and corrected by its errors on gold."""
        rows = [
            {
                **prompt.model_dump(),
                "sentences": [sentence.text for sentence in split(text)],
                "response": text,
            }
            for prompt, (text, _) in zip(self.prompts, replies, strict=True)
        ]
        cases = [judge.judge.case(row, path=row["id"]) if row["sentences"] else None for row in rows]
        labelled = list(zip(rows, judge_cases(judge, cases, on_step), strict=True))
        answers = tuple((row, said.values) for row, said in labelled if said and said.status != "failed")
        failed = sum(bad for _, bad in replies)
        lost = sum(said is not None and said.status == "failed" for _, said in labelled)
        return Assessed(
            model=model,
            answers=answers,
            empty=len(rows) - len(answers) - lost - failed,
            failed=failed + lost,
            measures=_measures(judge, answers, calibrated),
        )

    def view(self, results: list[Assessed]) -> View:
        assert self.calibration is not None
        left_out = len(self.calibration.cases) - len(self.held_out)
        about = {"gold": self.calibration.name, "rows": len(self.held_out), "left_out": left_out}
        data = {"benchmark": self.benchmark, "prompts": len(self.prompts), "calibration": about}
        answers = (
            {"model": result.model, **row, "labels": list(labels)}
            for result in results
            for row, labels in result.answers
        )
        strictness = self.judge.judge.option_values.get("strictness")
        below = f"; hallucinated is what falls below {strictness}" if strictness else ""
        body: list[Table | str] = [
            _shares("shares of statement types: raw; corrected [95 % interval]", MEASURES[:3], results),
            _shares(
                "rates of hallucination, of all and by type: raw; corrected [95 % interval]",
                MEASURES[3:],
                results,
            ),
            _calibration(results[0].measures),
            f"{self.judge_words} ({left_out} left out because it was compiled on them or on near copies of "
            f"them){below}",
            *(line for result in results for line in result.remarks()),
        ]
        return {**data, "models": [result.to_json() for result in results]}, answers, body


def _shares(title: str, names: Sequence[str], results: Sequence[Assessed]) -> Table:
    rows = []
    for result in results:
        counts = result.to_json()
        labelled = counts["sentences"] - counts["unlabelled"]
        measures = [result.measures[name] for name in names]
        cells = [f"{number_cell(measure.raw.value)}; {measure.corrected}" for measure in measures]
        rows.append([result.model, counts["answers"], labelled, *cells])
    return table(title, ("model", "answers", "sentences", *map(_words, names)), rows)


def _calibration(measures: Mapping[str, Measure]) -> Table:
    """Return how well the judge does on its calibration, which is the same for every model."""
    rows = []
    for name, measure in measures.items():
        about = measure.corrected
        ends = ((about.sensitivity, about.positives), (about.specificity, about.negatives))
        rows.append([_words(name), *("-" if value is None else f"{value:.3f} of {of}" for value, of in ends)])
    return table("the judge on its calibration", ("what", "sensitivity", "specificity"), rows)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _measures(
    judge: LoadedJudge, answers: Sequence[tuple[Mapping[str, Any], Labels]], calibrated: Calibrated
) -> dict[str, Measure]:
    tagged = [(row["group"], label) for row, labels in answers for label in labels if label is not None]
    units = [
        (case.group, truth, answer)
        for case, verdict in calibrated
        for truth, answer in zip(case.gold or (), verdict.values, strict=True)
        if truth is not None
    ]
    every, bad = frozenset(LABELS), closed(judge.judge.answer).positive
    measures = {}
    for name in MEASURES:
        # which labels count, and among which
        kind = name.removeprefix("hallucinated").removeprefix("_of_")
        typed = frozenset(label for label in every if statement_type(label) == kind)
        hit, among = (bad, typed or every) if name.startswith("hallucinated") else (typed, every)
        apparent = [(group, label in hit) for group, label in tagged if label in among]
        # of the units that are truly so, and truly not, among the judge's answers: whether it says it
        right, spared = (
            tallies(
                (group, (answer in hit) == truly)
                for group, truth, answer in units
                if answer in among and (truth in hit) == truly
            )
            for truly in (True, False)
        )
        measures[name] = Measure(
            raw=Share.over((group, float(in_hit), 1.0) for group, in_hit in apparent),
            corrected=prevalence(tallies(apparent), right, spared),
        )
    return measures
