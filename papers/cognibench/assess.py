"""How faithful a model answers: it answers, a judge labels, and the judge's own errors are taken out.

CogniBench section 4.7 (Figure 8): every model gets the same references, histories and questions; its answers are
split, labelled sentence by sentence, and summed up as shares of statement types and rates of hallucination by
type. A judge errs, so every share comes raw and corrected by the judge's sensitivity and specificity on gold that it
was not compiled on (:mod:`jurist.evaluation.prevalence`). A share of a type is corrected by how well the judge
tells that type from the others; the rate of hallucination *of a type* is over the statements that the judge takes
for that type, and corrected by how well it tells hallucinations among such statements.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...cases import Case
from ...errors import GoldError
from ...evaluation.intervals import Share
from ...evaluation.prevalence import Prevalence, prevalence, tallies
from ...gold.goldset import Gold
from ...gold.sources import read
from ...jobs.assessing import Assessment, Calibrated, Replies, View
from ...jobs.generation import job_id
from ...keeping.loading import LoadedJudge
from ...programs.answers.infer import closed
from ...programs.cognibench import COGNIBENCH
from ...programs.dialogue import RESPOND, rendered
from ...report.scores import number_cell
from ...report.table import Table, table
from ...text.json_lines import plain
from ...text.wording import count_words
from .statistics import label_sets, label_shares
from .turns import AssistantTurn, Labelled, check_judge, label, labelled_gold

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


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One share: as the judge found it, and corrected."""

    raw: Share  # with its clustered interval
    corrected: Prevalence  # by the judge's sensitivity and specificity


@dataclass(frozen=True, kw_only=True)
class Assessed:
    """One model's result."""

    model: str  # its name
    answers: tuple[
        Labelled, ...
    ]  # its answers, labelled, in the order of the prompts; without those it did not give
    empty: int  # prompts to which it gave no usable answer
    failed: int  # prompts whose answer or labels the machinery failed to get
    measures: Mapping[str, Measure]  # name -> share

    @property
    def unusable(self) -> float:
        """The share of prompts without an answer, or with an answer of which no sentence was labelled, 0 to 1."""
        total = len(self.answers) + self.empty + self.failed
        bare = sum(all(one is None for one in labelled.labels) for labelled in self.answers)
        return (self.empty + self.failed + bare) / total if total else 0.0

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
        labels = [one for labelled in self.answers for one in labelled.labels]
        words = [count_words(one.answer.text) for one in self.answers]
        return {
            "model": self.model,
            "prompts": len(self.answers) + self.empty + self.failed,
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
    prompts: tuple[AssistantTurn, ...]  # assistant turns without a text: what is to be answered
    length: str = "between 40 and 200 words"  # how long an answer should be, as prompts say it

    def __post_init__(self) -> None:
        """Refuse what assesses nothing."""
        super().__post_init__()
        check_judge(self.judge.judge)

    @property
    def asked(self) -> list[Case]:
        """What every model is asked, prompt by prompt."""
        return [
            Case(
                inputs={
                    "reference": prompt.reference,
                    "dialogue": rendered(prompt.history),
                    "user_message": prompt.question,
                    "length": self.length,
                },
                group=prompt.group,
                draw=int(job_id({"prompt": prompt.id, "seed": self.seed})[:7], 16),
            )
            for prompt in self.prompts
        ]

    def judged(
        self, model: str, replies: Replies, judge: LoadedJudge, known: Calibrated, on_step: Callable[[], None]
    ) -> Assessed:
        """Return one model's shares, as the judge found them and corrected by its errors on gold."""
        given = [replace(prompt, text=text) for prompt, (text, _) in zip(self.prompts, replies, strict=True)]
        labelled = label(judge, [one for one in given if one.sentences], on_step)
        lost = sum(one.verdict is not None and one.verdict.status == "failed" for one in labelled)
        failed = sum(bad for _, bad in replies)
        kept = tuple(one for one in labelled if one.verdict is None or one.verdict.status != "failed")
        return Assessed(
            model=model,
            answers=kept,
            empty=len(given) - len(labelled) - failed,
            failed=failed + lost,
            measures=_measures(judge, kept, known),
        )

    def view(self, results: list[Assessed]) -> View:
        """Return the shares of all models."""
        assert self.calibration is not None
        left_out = len(self.calibration.cases) - len(self.held_out)
        about = {"gold": self.calibration.name, "rows": len(self.held_out), "left_out": left_out}
        data = {"benchmark": self.benchmark, "prompts": len(self.prompts), "calibration": about}
        answers = (
            {
                "model": one.model,
                **labelled.answer.row(),
                "labels": list(labelled.labels),
                "response": labelled.answer.text,
            }
            for one in results
            for labelled in one.answers
        )
        strictness = self.judge.judge.answer.strictness
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
            *(line for one in results for line in one.remarks()),
        ]
        return {**data, "models": [one.to_json() for one in results]}, answers, body


def _shares(title: str, names: Sequence[str], results: Sequence[Assessed]) -> Table:
    rows = []
    for one in results:
        counts = one.to_json()
        labelled = counts["sentences"] - counts["unlabelled"]
        measures = [one.measures[name] for name in names]
        cells = [f"{number_cell(measure.raw.value)}; {measure.corrected}" for measure in measures]
        rows.append([one.model, counts["answers"], labelled, *cells])
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


def read_prompts(source: str) -> tuple[AssistantTurn, ...]:
    """Return the prompts of a benchmark: dialogues, or rows of the judge ``cognibench``."""
    reading = read(COGNIBENCH.bundled if source == DIALOGUES else source)
    bare = [
        {
            **({} if "turns" in row else {"sentences": ["-"]}),
            **{key: value for key, value in row.items() if key not in ("labels", "ratings")},
        }
        for _, row in reading.rows
    ]
    if not any(row.get("question") or row.get("turns") for row in bare):
        hint = "give rows with 'turns', or with 'reference', 'history' and 'question'"
        raise GoldError("there is no question to answer", path=reading.path, hint=hint)
    answers = [one.answer for one in labelled_gold(Gold.of(bare, COGNIBENCH, source, labelled=False))]
    prompts = tuple(replace(answer, text="") for answer in answers if answer.question)
    if len({one.id for one in prompts}) < len(prompts):
        prompts = tuple(replace(one, id=f"{one.id}-{number}") for number, one in enumerate(prompts))
    return prompts


def _measures(judge: LoadedJudge, answers: Sequence[Labelled], known: Calibrated) -> dict[str, Measure]:
    positive = closed(judge.judge.answer).positive
    sets, raw = label_sets(positive), label_shares(answers, positive)
    said = [(one.answer.group, label) for one in answers for label in one.labels if label is not None]
    units = [
        (case.group, truth, answer)
        for case, verdict in known
        for truth, answer in zip(case.gold or (), verdict.values, strict=True)
        if truth is not None
    ]
    measures = {}
    for name in MEASURES:
        hit, among = sets[name]
        apparent = tallies((group, label in hit) for group, label in said if label in among)
        # of the units that are truly so, and truly not, among the judge's answers: whether it says it
        right, spared = (
            tallies(
                (group, (answer in hit) == truly)
                for group, truth, answer in units
                if answer in among and (truth in hit) == truly
            )
            for truly in (True, False)
        )
        measures[name] = Measure(raw=raw[name], corrected=prevalence(apparent, right, spared))
    return measures
