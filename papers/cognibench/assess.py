"""How faithful a model answers: it answers, a judge labels, and the judge's own errors are taken out.

CogniBench section 4.7 (Figure 8): every model gets the same references, histories and questions; its answers are
split, labelled sentence by sentence, and summed up as shares of statement types and rates of hallucination by
type. A judge errs, so every share comes raw and corrected by the judge's sensitivity and specificity on gold that it
was not compiled on (:mod:`jurist.evaluation.prevalence`). A share of a type is corrected by how well the judge
tells that type from the others; the rate of hallucination *of a type* is over the statements that the judge takes
for that type, and corrected by how well it tells hallucinations among such statements.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...cases import Case
from ...errors import GoldError
from ...evaluation.intervals import Share
from ...evaluation.prevalence import Prevalence, prevalence, tallies
from ...gold.goldset import Gold
from ...gold.sources import read
from ...jobs.assessing import Calibrated, CalibratedModels, Replies
from ...jobs.generation import job_id
from ...keeping.loading import LoadedJudge
from ...programs.answers.infer import closed
from ...programs.cognibench import COGNIBENCH
from ...programs.dialogue import RESPOND, rendered
from ...text.json_lines import plain
from ...text.wording import count_words
from .statistics import label_sets, label_shares
from .turns import AssistantTurn, Labelled, answers_of, check_judge, label, labelled_gold

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
class Assessment(CalibratedModels[Assessed]):
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
        self, model: str, said: Replies, judge: LoadedJudge, known: Calibrated, on_step: Callable[[], None]
    ) -> Assessed:
        """Return one model's shares, as the judge found them and corrected by its errors on gold."""
        given = [replace(prompt, text=text) for prompt, (text, _) in zip(self.prompts, said, strict=True)]
        labelled = label(judge, [one for one in given if one.sentences], on_step)
        lost = sum(one.verdict is not None and one.verdict.status == "failed" for one in labelled)
        failed = sum(bad for _, bad in said)
        kept = tuple(one for one in labelled if one.verdict is None or one.verdict.status != "failed")
        return Assessed(
            model=model,
            answers=kept,
            empty=len(given) - len(labelled) - failed,
            failed=failed + lost,
            measures=_measures(judge, kept, known),
        )


def read_prompts(source: str) -> tuple[tuple[AssistantTurn, ...], str]:
    """Return the prompts of a benchmark and its name."""
    name = COGNIBENCH.bundled if source == DIALOGUES else source
    reading = read(name)
    if any("turns" in row for _, row in reading.rows):
        found = [
            answer
            for place, row in reading.rows
            for answer in answers_of(row, path=place.path, line=place.line)
        ]
    else:
        rows = [{"sentences": ["-"], **row} for _, row in reading.rows]
        bare = [
            {key: value for key, value in row.items() if key not in ("labels", "ratings")} for row in rows
        ]
        if not any(row.get("question") for row in bare):
            hint = "give rows with 'turns', or with 'reference', 'history' and 'question'"
            raise GoldError("there is no question to answer", path=reading.path, hint=hint)
        found = [one.answer for one in labelled_gold(Gold.of(bare, COGNIBENCH, source, labelled=False))]
    prompts = tuple(replace(answer, text="") for answer in found if answer.question)
    if len({one.id for one in prompts}) < len(prompts):
        prompts = tuple(replace(one, id=f"{one.id}-{number}") for number, one in enumerate(prompts))
    return prompts, source


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
