"""The report of one artifact: whether compiling helped, on what evidence, and every case to read.

All figures are those of the artifact's card, or are counted from the rows of its proof; inputs and ratings are read
from the gold again, whose cases are known by the hash of their inputs.
"""

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ..cases import Case
from ..errors import JuristError, plural
from ..evaluation.agreement import Ceiling
from ..evaluation.measured import class_scores, confused
from ..evaluation.plain import plain
from ..evaluation.rows import Row
from ..evaluation.votes import Sampling
from ..gold.goldset import Gold
from ..gold.raters import ceiling_of, rated_in_test
from ..keeping.artifact_card import Artifact, proof_rows
from ..keeping.artifacts import Store
from ..keeping.card import Card
from ..keeping.card_parts import ConstantCard, ProofFigures
from ..keeping.records import ProofRecord
from ..programs.judge import Judge
from ..programs.state import PromptState
from .differing import basic_state, change_words, prompt_changes, sign_of
from .document import Cases, Document, Link, Part, Section, Tone
from .judged import SYSTEMS, paired_cases
from .scores import (
    OFFLINE,
    ceiling_table,
    class_table,
    confusion_table,
    counts_line,
    criteria_table,
    disagreement_words,
    number_cell,
    robustness_about,
    robustness_table,
    scores_table,
    spend_line,
    taken_words,
)
from .table import Table, table
from .verdict import better_references, criteria_words, engine_words, labels_can_show, proof_table

_HEADLINES = {
    "better": "Better than the prompt you started with",
    "better than both": "Better than the prompt you started with and than a constant answer",
    "worse": "Worse than the prompt you started with",
    "below constant": "Worse than a constant answer",
    "not shown to be better": "Not shown to be better than the prompt you started with",
    "hollow": "Better than the prompt you started with, but not shown to be better than a constant answer",
    "below reference": "Better than the prompt you started with, but worse than {}, which asks no language model",
}
"""What the paired tests have shown. Nothing says that a version can ship: nobody named a bar that it must reach."""
_TONES: Mapping[str, Tone] = {
    "better": "good",
    "better than both": "good",
    "worse": "bad",
    "below constant": "bad",
}
_TAKEN = "Rows are gold labels, columns what the judge said; the stronger the colour, the more of the row."
_REFERENCES = ("constant", "words", "neighbours", "people", "second labelling")
_ERRORS = 5
"""Kinds of wrong answers that the first screen counts."""
_CUTS = 12  # rows of the table of probabilities, about
_FEW_GROUPS = 10  # below it, only a large difference can be shown


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """A threshold of probability, and what it would find."""

    threshold: float
    units: int
    precision: float
    recall: float


@dataclass(frozen=True, kw_only=True)
class ArtifactReport:
    """The report of an artifact."""

    artifact: Artifact  # what it is about
    judge: Judge  # its judge
    store: Store  # for the basic prompt of artifacts without a history
    gold: Gold | None  # the set that it was proven on, if that could be read
    no_gold: str = ""  # why not, if not
    store_option: str = ""  # what commands must be given to find the artifact, with a space before it

    def document(self) -> Document:
        """Return the report. Raises ``JuristError`` if the artifact was never proven."""
        card, artifact = self._card, self.artifact
        if card.decision.keeps_basic:
            return self._document_of_basic()
        figures = card.decision.tested_figures
        if figures is None or not _has_scores(card, figures.metric):
            raise JuristError(f"{artifact.ref} has no proof to report", hint="compile it with jurist compile")
        standing = _standing(card)
        headline = _HEADLINES[standing].format(" and ".join(better_references(card)))
        headline += f" ({engine_words(artifact.model)})"
        by_criterion = criteria_words(card.decision)
        if by_criterion:
            headline += f"; {by_criterion}"
        basic = basic_state(artifact, self.store)
        return Document(
            subject=artifact.ref,
            about=f"compiled {card.created[:10]} on {card.gold.name}",
            headline=headline,
            tone=_TONES.get(standing, "open"),
            lead=self._lead(figures),
            front=self._front(figures.metric, basic),
            sections=(*self._open(basic), *self._folded(figures.metric)),
        )

    def _document_of_basic(self) -> Document:
        """Return the report of a compilation that kept the basic prompt: what was tried, and what to do next."""
        card, judge = self._card, self.artifact.about.reference
        gold = card.gold
        prompts = plural(card.optimizer.candidates or 0, "prompt")
        commands = [
            ("search longer", f"jurist compile {judge} --max-calls N"),
            ("search in another way", f"jurist compile {judge} --optimizer NAME"),
            (
                "see what the basic prompt gets wrong",
                f"jurist evaluate {judge}:basic --gold labels.csv --verbose",
            ),
        ]
        return Document(
            subject=self.artifact.ref,
            about=f"compiled {card.created[:10]} on {gold.name}",
            headline="Nothing better than the prompt you started with was found",
            tone="open",
            lead=[
                f"{prompts} tried on {gold.train} train and {gold.dev} dev cases. None was better than the basic "
                f"prompt by more than luck, so nothing was asked of the {gold.test} sealed cases, and they are not "
                "opened. More labelled rows may find more."
            ],
            front=(Section("next", "Next", [table("", ["what", "command"], commands, layout="commands")]),),
            sections=(
                Section("people", "Gold and people", list(self._people())),
                Section("cost", "What compiling cost", self._cost_lines()),
            ),
        )

    def _cost_lines(self) -> list[str]:
        """Return the spend of compiling; nothing if the card has none."""
        return [spend_line(self._card.spend)] if self._card.spend else []

    def _open(self, before: PromptState) -> tuple[Section, ...]:
        """Return the parts after the first screen: errors, cases, prompt."""
        errors: list[Part] = []
        for name, rows in self._systems.items():
            if not self._generates:
                errors += confusion_table(name, confused(self.judge.answer.scale, rows), opens=name)
        changed = (
            "Green words were added by compiling, red ones were removed; an instruction that is another one "
            "altogether stands beside the basic one."
        )
        means = self.judge.comparison.right_means
        read = (
            f"The sealed test, {len(self._proof)} cases{f'; right means: {means}' if means else ''}. "
            "Whoever changes the judge by what is read here needs new cases to prove it on."
        )
        prompt = prompt_changes(before, self.artifact.state)
        return (
            Section("errors", "Errors", errors, intro=f"{_TAKEN} A number opens its cases."),
            Section("cases", "Cases", [self._cases] if self._proof else (), intro=read),
            Section("prompt", "Prompt", prompt, intro=changed),
        )

    def _folded(self, metric: str) -> Iterator[Section]:
        """Yield the sections of which only the heading is seen at first."""
        card, artifact = self._card, self.artifact
        scores: list[Part] = [scores_table("", card.proven_scores, metric)]
        for system in SYSTEMS:
            if system in card.counts:
                scores.append(counts_line(system, card.counts[system]))
        likely = (
            "On the sealed test, each with the interval in which it is likely to be over all cases of the same "
            "kind. The star marks the metric that was compiled for."
        )
        classes: list[Part] = []
        for name, rows in self._systems.items():
            scores_by_class = plain(class_scores(rows, self.judge.comparison))
            classes += class_table(f"each class against the rest, {name}", scores_by_class)
        samples = f"Samples a case: {self._sampling.samples}."
        tried = (
            f"{card.optimizer.name} tried {card.optimizer.candidates} prompts on train and dev. The choice was made by "
            "a lower bound and not by the highest mean: the best of many noisy means is mostly luck. "
            f"jurist artifacts show {artifact.ref} --history has them all."
        )
        ceiling = ""
        if self._ceiling is not None:
            ceiling = (
                "The human ceiling is how well each rater does against the others: a judge that reaches it agrees "
                "with people as well as they agree with each other."
            )
        if self.gold and self.gold.labelled_by_model:
            ceiling = (
                "A model gave these labels, and the second labelling too. How far the two agree says how clear the "
                "guidelines are; it does not say how far people would agree."
            )
        attacks = [
            robustness_table(measured, robustness_about(measured)) for measured in artifact.robustness_records
        ]
        flips = (
            "How often the answer changed when the judged text was changed in a way that must not change it. The "
            "control is the same text asked again: what changes there changes by itself."
        )
        for section in (
            Section("scores", "All scores", scores, intro=likely),
            Section("classes", "Classes", classes),
            Section("votes", "How sure it is", list(self._sure()) if self._proof else [], intro=samples),
            Section("search", "Search", [tried]),
            Section("people", "Gold and people", list(self._people()), intro=ceiling),
            Section("robustness", "Attacks and biases", attacks, intro=flips),
            Section("cost", "What compiling cost", self._cost_lines()),
            Section("unmeasured", "Not measured", list(self._unmeasured())),
        ):
            yield replace(section, folded=True)

    def _front(self, metric: str, basic: PromptState) -> tuple[Section, ...]:
        """Return the sections of the first screen."""
        card, sampling = self._card, self._sampling
        learned = [change_words(basic, self.artifact.state, card.forms)]
        if sampling.by_probability:
            learned.append(f"its answer: {sampling.rule}")
        openings = plural(card.test_openings, "time")
        proven = [
            (
                "model",
                f"{card.model.name or 'not known'}, temperature {card.model.temperature}, samples {sampling.samples}",
            ),
            ("compiling took", taken_words(card.spend) if card.spend else "not known"),
            ("when", card.created.replace("T", " ").rstrip("Z") + " UTC"),
            ("sealed test", f"{card.gold.test} cases of {card.gold.name}, opened {openings}"),
            ("artifact sha256", self.artifact.sha256),
        ]
        commands = [(what, command + self.store_option) for what, command in self._commands(metric)]
        return (
            Section(
                "standing",
                "How good it is",
                [proof_table(card, metric, _REFERENCES), *criteria_table(card.decision)],
            ),
            Section("remaining", "Errors that remain", list(self._remaining())),
            Section("learned", "What the prompt learned", learned),
            Section("proven", "Proven with", [table("", ["name", "value"], proven, layout="facts")]),
            Section("next", "Next", [table("", ["what", "command"], commands, layout="commands")]),
            Section("remarks", "What to know", list(self._remarks())),
        )

    def _commands(self, metric: str) -> Iterator[tuple[str, str]]:
        """Yield what can be done next, as (what, command): use it where it is better, else find out more."""
        ref, decision = self.artifact.ref, self._card.decision
        judge = shlex.quote(self.artifact.about.reference)
        if decision.verdict == "better":
            yield "judge new rows", f"jurist run {ref} --input rows.jsonl --output verdicts.jsonl"
            yield "serve it", f"jurist serve {ref}"
            limit = self._gate_limit(metric)
            if limit:
                yield "check it in CI", f"jurist gate {ref} --gold labels.csv {limit}"
            yield "prove it on new rows", f"jurist prove {ref} --rows new.jsonl"
            return
        yield "see what was tried", f"jurist artifacts show {ref} --history"
        if labels_can_show(decision):
            yield "show a gain with few labels", f"jurist prove {ref} --rows new.jsonl"
        if self._generates:
            yield "search with more documents", f"jurist compile {judge} --gold more.jsonl"
        else:
            yield "label more rows", f"jurist review {judge} --gold labels.csv"
            yield "compile with more labels", f"jurist compile {judge} --gold labels.csv"

    @property
    def _generates(self) -> bool:
        """Whether the judge writes items, so that its documents have no gold label."""
        return self.judge.answer.scale.row_type is type(None)

    def _gate_limit(self, metric: str) -> str:
        """Return the limit of a gate that the judge meets and a constant answer does not; empty if there is none."""
        score = self._card.proven_scores["compiled"][metric]
        constant = self._card.references.get("constant")
        if score is None:
            return ""
        if sign_of(self.artifact) > 0:
            percent = math.floor(100 * score.low)
            if constant is not None:
                percent = max(percent, math.floor(100 * constant.score) + 1)
            return f"--min {metric}={percent / 100:g}" if percent / 100 <= score.value else ""
        percent = math.ceil(100 * score.high)
        if constant is not None:
            percent = min(percent, math.ceil(100 * constant.score) - 1)
        return f"--max {metric}={percent / 100:g}" if percent / 100 >= score.value else ""

    def _remaining(self) -> Iterator[Part]:
        """Yield what compiling did, and which wrong answers are left, the most frequent first."""
        if not self._proof:
            return
        wrong_kinds = []
        for name, tone, _ in self._cases.kinds:
            if tone != "good" and name != "unlabelled":
                wrong_kinds.append(name)
        units = [unit for case in self._cases.cases for unit in case["units"]]
        wrong: Counter[tuple[str, str]] = Counter()
        for unit in units:
            if unit["became"] in wrong_kinds:
                wrong[unit["names"][0], unit["names"][-1]] += 1
        right = sum(unit["became"] in ("right", "corrected") for unit in units)
        labelled = sum(bool(unit["names"][0]) for unit in units)
        if self._generates:
            yield f"of {plural(len(units), 'document')}, all items of {right:,} pass all checks."
        elif self._card.decision.c is not None:
            yield f"{right:,} of {plural(labelled, 'unit')} are right."
        if not self._generates and confused(self.judge.answer.scale, self._rows("compiled")):
            for (gold, judged), count in wrong.most_common(_ERRORS):
                if gold != judged:
                    filters = {"gold": gold, "by": "compiled", "said": judged}
                    yield Link(f"{count:,} judged {judged}, labelled {gold}", filters)
        for name, _, words in self._cases.kinds:
            unit_count = self._cases.units.get(name)
            if unit_count and name not in ("right", "unlabelled"):
                yield Link(f"{unit_count:,} {name}: {words}", {"kind": name})

    def _lead(self, figures: ProofFigures) -> list[str]:
        """Return the statements that support the outcome."""
        card = self._card
        cases = "sealed documents" if self._generates else "sealed cases"
        missing = ""
        if any(counts.coverage < 1 for counts in card.counts.values()):
            missing = "; what was not answered counts as wrong"
        lead = [
            f"{figures.metric} went from {figures.basic:.3f} to {figures.compiled:.3f} "
            f"({figures.difference:+.3f}, {card.decision.level * 100:.4g} % interval {figures.low:+.3f} to "
            f"{figures.high:+.3f}) on {figures.cases} {cases} that no optimizer had seen{missing}."
        ]
        if card.tokens_words:
            lead.append(f"Tokens a row, basic and compiled: {card.tokens_words}.")
        # The verdict and its counts stand elsewhere; luck and the constant answer only here.
        sentences = card.decision.words.split("; ")[1:3]
        if self._generates:
            sentences = sentences[:1]  # units corrected and broken are none of a generator
        lead.append(" ".join(f"{_capitalised(sentence)}." for sentence in sentences))
        return lead

    def _remarks(self) -> Iterator[str]:
        """Yield what has to be known of the decision, and of prices."""
        card = self._card
        if _standing(card) == "not shown to be better":
            yield (
                "This does not say that the two are equally good: the sealed test is too small, or the difference is, "
                "to tell."
            )
            if labels_can_show(card.decision):
                yield "Few labels can tell, on new rows where the two differ (jurist prove)."
        for proof in self.artifact.label_proofs:
            yield from (f"{_capitalised(line)}." for line in disagreement_words(proof))
        yield from (f"Warning: {warning}." for warning in card.all_warnings)
        if self._offline:
            yield f"{_capitalised(OFFLINE)}."

    @property
    def _card(self) -> Card:
        return self.artifact.about

    @property
    def _offline(self) -> bool:
        return self.artifact.model == "offline"

    @cached_property
    def _proof(self) -> list[ProofRecord]:
        return self.artifact.proof_records()

    def _rows(self, system: str) -> list[Row]:
        return proof_rows(self.judge.answer, self._proof, system)

    @property
    def _sampling(self) -> Sampling:
        return self._card.thresholds.sampling

    @cached_property
    def _cases(self) -> Cases:
        cases_by_id: dict[str, Case] = {case.id: case for case in self.gold.cases} if self.gold else {}
        missing = sum(record.case not in cases_by_id for record in self._proof)
        note = ""
        if missing:
            why = self.no_gold or f"{self.gold.source if self.gold else ''} no longer holds them"
            note = f"The inputs of {missing} of {len(self._proof)} cases are not shown: {why}."
        return paired_cases(self.judge.answer, self._proof, cases_by_id, note)

    def _cuts(self) -> list[_Cut]:
        """Return the result of each threshold, the highest first; nothing if all probabilities are one."""
        from sklearn.metrics import precision_recall_curve

        # Units without an answer are never found, and missed if they are positive.
        scale, is_positive, probabilities = self.judge.answer.scale, list[bool](), list[float]()
        for row, record in zip(self._rows("compiled"), self._proof, strict=True):
            answer = record.compiled
            unit_probabilities = answer.probability or map(scale.probability, answer.votes)
            for gold, probability in zip(row.gold, unit_probabilities, strict=True):
                if gold is not None:
                    is_positive.append(scale.probability({gold: 1.0}) == 1)
                    probabilities.append(-1.0 if probability is None else round(probability, 2))
        different = {probability for probability in probabilities if probability >= 0}
        if len(different) < 2 or not any(is_positive):
            return []
        curve = zip(*precision_recall_curve(is_positive, probabilities), strict=False)
        cuts = []
        for precision, recall, threshold in curve:  # its last point has no threshold
            if threshold >= 0:
                units = sum(probability >= threshold for probability in probabilities)
                cut = _Cut(
                    threshold=float(threshold), units=units, precision=float(precision), recall=float(recall)
                )
                cuts.append(cut)
        return cuts[::-1]

    def _sure(self) -> Iterator[Table]:
        """Yield the thresholds to choose from, and what the card says of how right the probabilities are."""
        cuts = self._cuts() if self.judge.answer.scale.has_probabilities else []
        rows: list[list[object]] = []
        for cut in cuts[:: max(1, len(cuts) // _CUTS)]:
            rows.append([f"{cut.threshold:.2f}", cut.units, f"{cut.precision:.3f}", f"{cut.recall:.3f}"])
        columns = ["probable at least", "units found", "precision", "recall"]
        if rows:
            yield table("compiled, by the probability that --threshold asks for", columns, rows)
        rows = []
        for system, calibration in self._card.calibration.items():
            figures = (calibration.ece, calibration.brier, calibration.auc, calibration.average_precision)
            rows.append([system, calibration.units, *map(number_cell, figures)])
        columns = ["program", "units", "ECE", "Brier", "AUC", "average precision"]
        if rows:
            yield table("how right its probabilities are", columns, rows)

    @cached_property
    def _systems(self) -> dict[str, list[Row]]:
        """The rows of the proof by who answered; empty without a proof."""
        return {system: self._rows(system) for system in SYSTEMS} if self._proof else {}

    @cached_property
    def _ceiling(self) -> Ceiling | None:
        test_ids = {record.case for record in self._proof}
        if not self.gold or not test_ids:
            return None
        return ceiling_of(self.gold, only=rated_in_test(self.gold, test_ids))

    def _people(self) -> Iterator[Part]:
        gold = self._card.gold
        rows: list[tuple[str, object]] = [
            ("gold", gold.name),
            ("cases", f"{gold.train} train, {gold.dev} dev, {gold.test} test"),
        ]
        for name, value in (self.gold.card if self.gold else {}).items():
            if isinstance(value, str | int | float):
                rows.append((name, value))
        yield table("", ["name", "value"], rows, layout="facts")
        if self._ceiling is not None:
            yield ceiling_table(self._ceiling)

    def _unmeasured(self) -> Iterator[str]:
        if self._offline:
            yield "Any language model: the offline engine scores how texts overlap, and says nothing about one."
        yield "How far answers vary when the same cases are asked again: jurist compare with --repeats measures it."
        if self.gold and self.gold.labelled_by_model:
            yield "Agreement with people: a model labelled this gold."
        elif self._generates:
            yield "What people think of the items: the checks of the generator alone decide here."
        elif self._ceiling is None:
            yield "How well people agree on this gold: it holds one label a unit."
        groups = self._card.decision.groups
        if groups is not None and groups < _FEW_GROUPS:
            yield f"Enough groups: with {groups}, only a large difference can be shown."
        openings = self._card.test_openings
        if openings > 1:
            yield f"A fresh test: this one has been opened {openings} times; the level is stricter for it."
        yield "Other data than this gold: cases of other sources, languages or times may be judged otherwise."
        if not self.artifact.robustness_records:
            yield "What a text that argues with the judge achieves: jurist evaluate harden measures it."


def _has_scores(card: Card, metric: str) -> bool:
    """Say whether a card has the judge's own metric of both prompts."""
    scores = card.proven_scores
    return all(metric in scores.get(system, {}) for system in SYSTEMS)


def _standing(card: Card) -> str:
    """Return which of the headlines the paired tests of a card have shown."""
    decision = card.decision
    constant = decision.constant or ConstantCard()
    if decision.verdict == "worse":
        return "worse"
    if constant.worse:
        return "below constant"
    if decision.verdict == "better":
        if better_references(card):
            return "below reference"
        return "better than both" if constant.better else "better"
    return "hollow" if decision.p < decision.tested else "not shown to be better"


def _capitalised(sentence: str) -> str:
    """Return a sentence with a capital at its beginning; all others stay."""
    return sentence[:1].upper() + sentence[1:]
