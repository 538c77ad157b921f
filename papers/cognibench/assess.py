"""The faithfulness of a model's answers: it answers, a judge labels, and the judge's own errors are taken out.

CogniBench section 4.7 (Figure 8): every model gets the same references, histories and questions; its answers are
split, labelled sentence by sentence, and summed up as shares of statement types and rates of hallucination by
type. A judge errs, so every share comes raw and corrected by the judge's sensitivity and specificity on gold that it
was not compiled on (:mod:`jurist.evaluation.prevalence`). A share of a type is corrected by how well the judge
tells that type from the others; the rate of hallucination *of a type* is over the statements that the judge takes
for that type, and corrected by how well it tells hallucinations among such statements.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pydantic

from ...cases import Case, Labels, text_hash
from ...errors import GoldError, UsageError
from ...evaluation.intervals import Share
from ...evaluation.plain import plain
from ...evaluation.prevalence import Prevalence, prevalence, tallies
from ...gold.files import validate_row
from ...gold.sources import read
from ...jobs.assessing import (
    Assessment,
    AssessmentRequest,
    BenchmarkKind,
    Calibrated,
    Replies,
    View,
    figure_record,
    judge_cases,
)
from ...jobs.generation import job_id
from ...keeping.loading import LoadedJudge
from ...programs.answers.infer import as_closed_labels
from ...programs.cognibench import COGNIBENCH, Turn, statement_type
from ...programs.dialogue import RESPOND
from ...programs.judge import Judge
from ...report.scores import number_cell
from ...report.table import Table, table
from ...signatures.cognibench_labels import LABELS
from ...text.sentences import split
from ...text.turns import dialogue_text
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
    if source == DIALOGUES:
        source = COGNIBENCH.bundled
    reading = read(source)
    hint = "give rows with 'turns', or with 'reference', 'history' and 'question'"
    prompts = list[Prompt]()
    for place, row in reading.rows:
        for prompt_row in COGNIBENCH.expanded(row, path=place.path, line=place.line):
            prompt = validate_row(_PROMPT, dict(prompt_row), place, hint=hint)
            group = prompt.group or text_hash(prompt.reference)[:12]
            name = prompt.id or f"{group}_{len(prompts)}"
            if prompt.question:
                prompts.append(prompt.model_copy(update={"id": name, "group": group}))
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
        """The number of prompts."""
        return len(self.answers) + self.empty + self.failed

    @property
    def unusable(self) -> float:
        """The share of prompts without an answer, or with an answer of which no sentence was labelled, 0 to 1."""
        unlabelled = [row for row, labels in self.answers if not any(labels)]
        if not self.prompts:
            return 0.0
        return (self.empty + self.failed + len(unlabelled)) / self.prompts

    def notes(self) -> Iterator[str]:
        """Yield a line for each share that is not corrected or was clipped, and one on prompts without an answer."""
        for name, measure in self.measures.items():
            if measure.corrected.problem:
                yield f"{self.model}: {_title_of(name)} is not corrected: {measure.corrected.problem}"
            elif measure.corrected.clipped:
                yield f"{self.model}: {_title_of(name)} was put back into 0 to 1 after correction"
        if self.empty or self.failed:
            yield f"{self.model}: {self.empty} prompts without an answer, {self.failed} failed"

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        sentences, unlabelled, words = 0, 0, 0
        for row, labels in self.answers:
            sentences += len(labels)
            unlabelled += labels.count(None)
            words += count_words(row["response"])
        words_per_answer = None
        if self.answers:
            words_per_answer = round(words / len(self.answers), 2)
        return {
            "model": self.model,
            "prompts": self.prompts,
            "answers": len(self.answers),
            "empty": self.empty,
            "failed": self.failed,
            "sentences": sentences,
            "unlabelled": unlabelled,
            "words_per_answer": words_per_answer,
            "measures": plain(self.measures),
        }


@dataclass(frozen=True, kw_only=True)
class DialogueAssessment(Assessment):
    """An assessment of models on prompts; the judge's samples hold for answers and calibration alike."""

    answering = RESPOND
    unit = "prompts"
    prompts: tuple[Prompt, ...]
    length: str = "between 40 and 200 words"  # how long an answer should be, as prompts say it

    def __post_init__(self) -> None:
        super().__post_init__()
        check_judge(self.judge.judge)

    @property
    def question_cases(self) -> list[Case]:
        cases = []
        for place, prompt in enumerate(self.prompts):
            inputs = {
                "reference": prompt.reference,
                "dialogue": dialogue_text(turn.model_dump() for turn in prompt.history),
                "user_message": prompt.question,
                "length": self.length,
            }
            draw = int(job_id({"prompt": place, "seed": self.seed})[:7], 16)
            cases.append(Case(inputs=inputs, group=prompt.group, draw=draw))
        return cases

    def model_result(
        self,
        model: str,
        replies: Replies,
        judge: LoadedJudge,
        calibrated: Calibrated,
        on_step: Callable[[], None],
    ) -> Assessed:
        """Return one model's shares, as the judge found them and corrected by its errors on gold."""
        rows, cases, unanswered = [], [], 0
        for prompt, (text, failed) in zip(self.prompts, replies, strict=True):
            sentences = [sentence.text for sentence in split(text)]
            row = {**prompt.model_dump(), "sentences": sentences, "response": text}
            rows.append(row)
            cases.append(judge.judge.case(row, path=row["id"]) if sentences else None)
            if failed:
                unanswered += 1
        answers, unlabelled = [], 0
        for row, verdict in zip(rows, judge_cases(judge, cases, on_step), strict=True):
            if verdict is None:
                continue
            if verdict.status == "failed":
                unlabelled += 1
            else:
                answers.append((row, verdict.values))
        return Assessed(
            model=model,
            answers=tuple(answers),
            empty=len(rows) - len(answers) - unlabelled - unanswered,
            failed=unanswered + unlabelled,
            measures=_measures(judge, answers, calibrated),
        )

    def view(self, results: list[Assessed]) -> View:
        assert self.calibration is not None
        left_out = len(self.calibration.cases) - len(self.held_out)
        data = {
            "benchmark": self.benchmark,
            "prompts": len(self.prompts),
            "calibration": {
                "gold": self.calibration.name,
                "rows": len(self.held_out),
                "left_out": left_out,
            },
            "models": [result.to_json() for result in results],
        }
        reason = "it was compiled on them or on near copies of them"
        judge_line = f"{self.judge_words} ({left_out} left out because {reason})"
        strictness = self.judge.judge.option_values.get("strictness")
        if strictness:
            judge_line += f"; hallucinated is what falls below {strictness}"
        body: list[Table | str] = [
            _measure_table(
                "shares of statement types: raw; corrected [95 % interval]", MEASURES[:3], results
            ),
            _measure_table(
                "rates of hallucination, of all and by type: raw; corrected [95 % interval]",
                MEASURES[3:],
                results,
            ),
            _calibration(results[0].measures),
            judge_line,
        ]
        for result in results:
            body += result.notes()
        return data, _labelled_rows(results), body

    def figures(self, results: list[Assessed]) -> list[dict[str, object]]:
        records = []
        for result in results:
            for name, measure in result.measures.items():
                table_name = "rates" if name.startswith("hallucinated") else "types"
                records.append(figure_record(result.model, table_name, name, measure.raw, measure.corrected))
        return records


def _plan(request: AssessmentRequest) -> DialogueAssessment:
    """Return the assessment on the prompts of a request."""
    judge = request.load_judge(COGNIBENCH.name)
    check_judge(judge.judge)  # before its gold is read as the calibration
    return DialogueAssessment(
        prompts=read_prompts(request.benchmark)[: request.limit],
        **request.assessment_arguments(judge, judge.judge.bundled),
    )


KIND: Final = BenchmarkKind(
    recognises=lambda columns: True,  # what is no row of the judge is refused when it is read
    plan=_plan,
    options=frozenset({"calibration"}),
    bundled=DIALOGUES,
)
"""Prompts about references."""


def _labelled_rows(results: Iterable[Assessed]) -> Iterator[dict[str, object]]:
    """Yield a row for each answer of each model, with the labels of its sentences."""
    for result in results:
        for row, labels in result.answers:
            yield {"model": result.model, **row, "labels": list(labels)}


def _measure_table(title: str, names: Sequence[str], results: Sequence[Assessed]) -> Table:
    """Return the table of some shares of each model."""
    rows = []
    for result in results:
        counts = result.to_json()
        row = [result.model, counts["answers"], counts["sentences"] - counts["unlabelled"]]
        for name in names:
            measure = result.measures[name]
            row.append(f"{number_cell(measure.raw.value)}; {measure.corrected}")
        rows.append(row)
    columns = ["model", "answers", "sentences"]
    columns += map(_title_of, names)
    return table(title, columns, rows)


def _calibration(measures: Mapping[str, Measure]) -> Table:
    """Return the table of the judge's sensitivity and specificity on its calibration, the same for every model."""
    rows = []
    for name, measure in measures.items():
        corrected = measure.corrected
        sensitivity = _accuracy_cell(corrected.sensitivity, corrected.positives)
        specificity = _accuracy_cell(corrected.specificity, corrected.negatives)
        rows.append([_title_of(name), sensitivity, specificity])
    return table("the judge on its calibration", ("what", "sensitivity", "specificity"), rows)


def _accuracy_cell(share: float | None, units: int) -> str:
    """Return a share and of how many units it is, for people."""
    if share is None:
        return "-"
    return f"{share:.3f} of {units}"


def _title_of(name: str) -> str:
    """Return the name of a measure as people read it."""
    return name.replace("_", " ")


def _measures(
    judge: LoadedJudge, answers: Sequence[tuple[Mapping[str, Any], Labels]], calibrated: Calibrated
) -> dict[str, Measure]:
    """Return each share in the answers of a model, raw and corrected."""
    judged: list[tuple[str, str]] = []  # the group and the label of each sentence
    for row, labels in answers:
        for label in labels:
            if label is not None:
                judged.append((row["group"], label))
    calibration = list(_calibration_units(calibrated))
    positive = as_closed_labels(judge.judge.answer).positive
    measures = {}
    for name in MEASURES:
        counted_labels, base_labels = _labels_of_measure(name, positive)
        measures[name] = _measure(counted_labels, base_labels, judged, calibration)
    return measures


def _measure(
    counted_labels: frozenset[str],
    base_labels: frozenset[str],
    judged: Sequence[tuple[str, str]],
    calibration: Sequence[tuple[str, str, str | None]],
) -> Measure:
    """Return the share of some labels among the labels of a kind, raw and corrected.

    Args:
        counted_labels: the labels that count.
        base_labels: the labels of the sentences that the share is of.
        judged: the group and the label of each sentence.
        calibration: the group, the gold label and the judge's label of each unit with a gold label.
    """
    apparent = []
    for group, label in judged:
        if label in base_labels:
            apparent.append((group, label in counted_labels))
    # The pairs say whether the judge agrees with gold: where gold counts the unit, and where it does not.
    sensitive, specific = [], []
    for group, gold, answer in calibration:
        if answer not in base_labels:
            continue
        if gold in counted_labels:
            sensitive.append((group, answer in counted_labels))
        else:
            specific.append((group, answer not in counted_labels))
    return Measure(
        raw=Share.over((group, float(counts), 1.0) for group, counts in apparent),
        corrected=prevalence(tallies(apparent), tallies(sensitive), tallies(specific)),
    )


def _calibration_units(calibrated: Calibrated) -> Iterator[tuple[str, str, str | None]]:
    """Yield the group, the gold label and the judge's label of each labelled unit of the calibration."""
    for case, verdict in calibrated:
        for gold, label in zip(case.gold or (), verdict.values, strict=True):
            if gold is not None:
                yield case.group, gold, label


def _labels_of_measure(name: str, positive: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the labels that count for a measure, and the labels of the sentences that it is a share of."""
    kind = name.removeprefix("hallucinated").removeprefix("_of_")
    of_kind = frozenset(label for label in LABELS if statement_type(label) == kind)
    if not name.startswith("hallucinated"):
        return of_kind, frozenset(LABELS)
    return positive, of_kind or frozenset(LABELS)
