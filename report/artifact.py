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
from itertools import zip_longest

from ..cases import Case
from ..errors import JuristError, UsageError, plural
from ..evaluation.agreement import Ceiling
from ..evaluation.by_column import score_by_value
from ..evaluation.measured import class_scores, count_confusions
from ..evaluation.plain import plain
from ..evaluation.rows import JudgedRow
from ..evaluation.votes import Sampling
from ..gold.column_values import values_of_column
from ..gold.goldset import Gold
from ..gold.raters import ceiling_of, rated_in_test
from ..keeping.artifact_card import Artifact, read_proof_rows
from ..keeping.artifacts import Store
from ..keeping.card import Card
from ..keeping.card_parts import ConstantCard, ProofFigures
from ..keeping.records import ProofRecord
from ..programs.judge import Judge
from ..programs.state import PromptState
from .by_column import column_section
from .differing import KEPT_PROMPT, basic_state, change_words, prompt_changes, sign_of
from .document import Cases, Document, Link, Part, Section, Tone
from .judged import SYSTEMS, paired_cases
from .next_step import choose_next_step, outcome_of
from .plots import ThresholdPoint, threshold_plot
from .proof_plots import (
    artifact_search_plot,
    card_forest_plot,
    card_price_plot,
    card_reliability_plot,
    proof_group_plot,
)
from .scores import (
    OFFLINE_LINE,
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
from .verdict import (
    better_references,
    criteria_words,
    engine_words,
    foresee_labels_of,
    labels_that_show,
    panel_words,
    proof_table,
    prove_words,
)

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
_TAKEN = "Rows are gold labels, columns are verdicts. A stronger colour is a larger share of the row."
_REFERENCES = ("constant", "words", "neighbours", "people", "second labelling")
_SHOWN_SYSTEMS = ("compiled", "basic")
_ERRORS = 5
"""Kinds of wrong answers that the first screen counts."""
_CUTS = 12  # rows of the table of probabilities, about
_HASH_LETTERS = 16  # that the first screen shows
_FEW_GROUPS = 10  # below it, only a large difference can be shown
_MORE_CALLS = 8000  # of a longer search: twice the default


@dataclass(frozen=True, kw_only=True)
class ArtifactReport:
    """The report of an artifact."""

    artifact: Artifact  # what it is about
    judge: Judge  # its judge
    store: Store  # for the basic prompt of artifacts without a history
    gold: Gold | None  # the set that it was proven on, if that could be read
    no_gold: str = ""  # why not, if not
    column: str = ""  # the column of the gold by whose values the sealed rows are scored, too; empty for none
    store_option: str = ""  # what commands must be given to find the artifact, with a space before it

    def document(self) -> Document:
        """Return the report. Raises ``JuristError`` if the artifact was never proven."""
        card, artifact = self._card, self.artifact
        if card.decision.keeps_basic:
            return self._document_of_basic()
        if card.refit is not None:
            return self._document_of_refit()
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
            front=self._front_sections(figures.metric, basic),
            sections=[self._plots_section(figures.metric)]
            + self._column_sections()
            + self._open_sections(basic)
            + self._folded_sections(figures.metric),
        )

    def _document_of_basic(self) -> Document:
        """Return the report of a compilation that kept the basic prompt: what was tried, and what to do next."""
        card, judge = self._card, shlex.quote(self.artifact.about.reference)
        gold = card.gold
        noun = "documents" if self._generates else "cases"
        other_count = (card.optimizer.candidates or 1) - 1
        search_words = f"No other prompt was tried on {gold.train} train and {gold.dev} dev {noun}."
        if other_count:
            search_words = (
                f"{plural(other_count, 'other prompt')} tried on {gold.train} train and {gold.dev} dev {noun}; none "
                "was better than the basic prompt by more than luck."
            )
        compile_again = f"jurist compile {judge} {self._gold_options}{gold.split_option}"
        other = "cfaith" if self._generates else "teach"
        if card.optimizer.name == other:
            other = "race"
        commands = [
            ("search longer", f"{compile_again} --max-calls {_MORE_CALLS}{self.store_option}"),
            ("search in another way", f"{compile_again} --optimizer {other}{self.store_option}"),
        ]
        if not self._generates:
            commands.append(
                (
                    "see what the basic prompt gets wrong",
                    f"jurist evaluate {judge}:basic {self._gold_options} --verbose{self.store_option}",
                )
            )
        return Document(
            subject=self.artifact.ref,
            about=f"compiled {card.created[:10]} on {gold.name}",
            headline=f"Nothing better than the prompt you started with was found ({engine_words(self.artifact.model)})",
            tone="open",
            lead=[
                f"{search_words} Nothing was asked of the {gold.test} sealed {noun}, and they are not opened.",
                f"More {'documents' if self._generates else 'labelled rows'} may find more.",
            ],
            front=(Section("next", "Next", [table("", ["what", "command"], commands, layout="commands")]),),
            sections=(
                Section("plots", "Plots", artifact_search_plot(self.artifact)),
                Section("people", "Gold and people", list(self._people())),
                Section("cost", "What compiling cost", self._cost_lines()),
            ),
        )

    def _document_of_refit(self) -> Document:
        """Return the report of a version that was fitted again after another: what was tested, and what decides now."""
        card, artifact = self._card, self.artifact
        parent = f"{artifact.judge}@{card.parent}"
        headline = f"{parent} fitted again on all labelled rows, and not tested itself"
        if card.refit is not None and card.refit.choice is not None:
            headline = f"chosen and fitted again on all labelled rows after {parent}, and not tested itself"
        step = choose_next_step(outcome_of(artifact, self.judge), self._gold_options, self.store_option)
        commands = [
            (step.reason, step.command),
            (
                "judge new rows",
                f"jurist run {artifact.ref} --input new.csv --output judged.jsonl{self.store_option}",
            ),
            (f"see the sealed test of {parent}", f"jurist report {parent}{self.store_option}"),
        ]
        learned: list[Part] = []
        if card.words is None or not card.words.without_model:
            learned.append(change_words(basic_state(artifact, self.store), artifact.state, card.forms))
        if card.words is not None:
            learned.append(card.words.words)
            learned.extend(f"warning: {warning}" for warning in card.words.warnings)
        return Document(
            subject=artifact.ref,
            about=f"fitted again {card.created[:10]} on {card.gold.name}",
            headline=headline,
            tone="open",
            lead=[card.refit_words],
            front=(
                Section("learned", "What compiling changed", learned),
                Section("next", "Next", [table("", ["what", "command"], commands, layout="commands")]),
            ),
            sections=(
                Section("people", "Gold and people", list(self._people())),
                Section("cost", "What fitting cost", self._cost_lines()),
            ),
        )

    def _cost_lines(self) -> list[str]:
        """Return the spend of compiling; nothing if the card has none."""
        if not self._card.spend:
            return []
        return [spend_line(self._card.spend)]

    def _plots_section(self, metric: str) -> Section:
        """Return the section of what the proof and the search look like."""
        card = self._card
        plots = card_price_plot(card, metric, self._shown_references)
        plots += artifact_search_plot(self.artifact)
        if self._systems:
            meaning = "mean closeness to the gold label"
            if self._generates:
                meaning = "share of items that pass"
            elif self.judge.comparison.right_means:
                meaning = "share of units that are right"
            scale = self.judge.answer.scale
            plots += proof_group_plot(scale, self._systems["basic"], self._systems["compiled"], meaning)
        plots += card_reliability_plot(card)
        if not self.judge.answer.criteria:  # each of several criteria has its own probability
            threshold = self._sampling.threshold if self._sampling.by_probability else None
            plots += threshold_plot(self._cuts[::-1], threshold)
        return Section("plots", "Plots", plots)

    def _column_sections(self) -> list[Section]:
        """Return the section of both prompts' scores by the values of the column; none where no column was named.

        Raises:
            UsageError: the gold cannot be read, or its rows cannot be scored by the column.
        """
        if not self.column:
            return []
        cases_by_id: dict[str, Case] = {}
        if self.gold is not None:
            cases_by_id = {case.id: case for case in self.gold.cases}
        places: list[int] = []
        for place, record in enumerate(self._proof):
            if record.case in cases_by_id:
                places.append(place)
        if self.gold is None or not places:
            problem = self.no_gold
            if not problem:
                problem = (
                    f"its gold no longer holds the cases of {self.artifact.ref}; name the gold with --gold"
                )
            raise UsageError(f"--by {self.column}: {problem}")
        cases = [cases_by_id[self._proof[place].case] for place in places]
        values = values_of_column(cases, self.column, self.gold.name)
        scores: dict[str, object] = {}
        for system in _SHOWN_SYSTEMS:
            rows = [self._systems[system][place] for place in places]
            scores[system] = score_by_value(
                self.column, values, [rows], self.judge.metric, self.judge.comparison
            )
        return column_section(plain(scores), _SHOWN_SYSTEMS[0])

    def _open_sections(self, basic: PromptState) -> list[Section]:
        """Return the sections below the first screen that are seen at once: errors, cases, prompt."""
        errors: list[Part] = []
        if not self._generates:
            errors += self._error_tables()
        changed = (
            "Compiling added the green words and removed the red ones. An entirely new instruction stands beside the "
            "basic one."
        )
        if self._card.words is not None and self._card.words.without_model:
            changed = "No prompt is sent: a rule decides without a language model."
        elif change_words(basic, self.artifact.state, self._card.forms) == KEPT_PROMPT:
            changed = (
                f"{_capitalised(KEPT_PROMPT)}: compiling changed no word of it and added no demonstration."
            )
        sealed_test = f"The {len(self._proof)} cases of the sealed test"
        if self.judge.comparison.right_means:
            sealed_test += f"; right means: {self.judge.comparison.right_means}"
        advice = "If you change the judge after reading them, prove it on new cases."
        cases = [self._cases] if self._proof else ()
        prompt: list[Part] = list(prompt_changes(basic, self.artifact.state))
        if self._card.words is not None and self._card.words.heaviest:
            heaviest = [(label, ", ".join(grams)) for label, grams in self._card.words.heaviest.items()]
            prompt.append(table("What weighs most in the rule of words", ["label", "words"], heaviest))
        return [
            Section("errors", "Errors", errors, intro=f"{_TAKEN} A number opens its cases."),
            Section("cases", "Cases", cases, intro=f"{sealed_test}. {advice}"),
            Section("prompt", "Prompt", prompt, intro=changed),
        ]

    def _error_tables(self) -> list[Table]:
        """Return gold against answers, compiled beside basic; of several criteria, each has a table of its own."""
        answer = self.judge.answer
        tables_by_system: list[list[Table]] = []
        for name, rows in self._systems.items():
            counts = count_confusions(answer.scale, rows)
            tables_by_system.append(confusion_table(name, counts, opens=name, criteria=answer.criteria))
        tables: list[Table] = []
        for beside in zip_longest(*tables_by_system):
            tables.extend([table for table in beside if table is not None])
        return tables

    def _folded_sections(self, metric: str) -> list[Section]:
        """Return the sections of which only the heading is seen at first."""
        sections = [
            self._scores_section(metric),
            Section("classes", "Classes", self._class_tables()),
            self._votes_section(),
            self._search_section(),
            self._people_section(),
            self._robustness_section(),
            Section("cost", "What compiling cost", self._cost_lines()),
            Section("unmeasured", "Not measured", list(self._unmeasured())),
        ]
        return [replace(section, folded=True) for section in sections]

    def _scores_section(self, metric: str) -> Section:
        """Return the section of all metrics and of the counts of units."""
        card = self._card
        scores_by_system = {system: card.proven_scores[system] for system in _SHOWN_SYSTEMS}
        scores: list[Part] = [scores_table("", scores_by_system, metric)]
        for system in _SHOWN_SYSTEMS:
            if system in card.counts:
                scores.append(counts_line(system, card.counts[system]))
        intro = (
            "On the sealed test, each with the interval in which it is likely to be over all cases of the same "
            "kind. The star marks the metric that was compiled for."
        )
        return Section("scores", "All scores", scores, intro=intro)

    def _class_tables(self) -> list[Table]:
        """Return the scores of each class, a table for each prompt."""
        tables: list[Table] = []
        for name, rows in self._systems.items():
            scores_by_class = plain(class_scores(rows, self.judge.comparison))
            tables += class_table(f"each class against the rest, {name}", scores_by_class)
        return tables

    def _votes_section(self) -> Section:
        """Return the section of probabilities; it has no part without a proof."""
        tables = list(self._sure()) if self._proof else []
        intro = f"Samples a case: {self._sampling.samples}."
        return Section("votes", "How sure it is", tables, intro=intro)

    def _search_section(self) -> Section:
        """Return the section of how the prompt was searched for."""
        optimizer = self._card.optimizer
        text = (
            f"{optimizer.name} tried {plural(optimizer.candidates or 0, 'candidate')} on train and dev. The choice was "
            "made by a lower bound and not by the highest mean: the best of many noisy means is mostly luck. "
            f"jurist artifacts show {self.artifact.ref} --history has them all."
        )
        return Section("search", "Search", [text])

    def _people_section(self) -> Section:
        """Return the section of the gold and of how well its raters agree."""
        intro = ""
        if self._ceiling is not None:
            intro = (
                "The human ceiling is how well each rater does against the others. The judge is scored against the "
                "labels of all raters together, which is easier: one more rater would mostly score higher than that."
            )
        if self.gold and self.gold.labelled_by_model:
            intro = (
                "A model gave these labels, and the second labelling too. How far the two agree says how clear the "
                "guidelines are; it does not say how far people would agree."
            )
        return Section("people", "Gold and people", list(self._people()), intro=intro)

    def _robustness_section(self) -> Section:
        """Return the section of attacks and probes."""
        tables = []
        for record in self.artifact.robustness_records:
            tables.append(robustness_table(record, robustness_about(record)))
        intro = (
            "How often the answer changed when the judged text was changed in a way that must not change it. The "
            "control is the same text asked again: what changes there changes by itself."
        )
        return Section("robustness", "Attacks and biases", tables, intro=intro)

    def _front_sections(self, metric: str, basic: PromptState) -> tuple[Section, ...]:
        """Return the sections of the first screen."""
        card, sampling = self._card, self._sampling
        learned: list[str] = []
        if card.words is None or not card.words.without_model:
            learned.append(change_words(basic, self.artifact.state, card.forms))
        if sampling.by_probability:
            learned.append(f"its answer: {sampling.rule}")
        if card.words is not None:
            learned.append(card.words.who_decides)
            learned.extend(card.words.question_lines())
        if card.setting.own_answer_request is not None:
            learned.append(card.setting.own_answer_request.words)
        commands = []
        for purpose, command in self._commands(metric):
            commands.append((purpose, command + self.store_option))
        standing: list[Part] = list(card_forest_plot(card, metric, self._shown_references))
        standing.append(proof_table(card, metric, self._shown_references))
        standing.extend(criteria_table(card.decision))
        return (
            Section("standing", "How good it is", standing),
            Section("remaining", "Errors that remain", list(self._remaining())),
            Section("learned", "What compiling changed", learned),
            Section("proven", "Proven with", [self._proven_table()]),
            Section("next", "Next", [table("", ["what", "command"], commands, layout="commands")]),
            Section("remarks", "What to know", list(self._notes())),
        )

    def _proven_table(self) -> Table:
        """Return the facts of the proof: model, spend, time, test and hash."""
        card = self._card
        model = card.model.name or "not known"
        spend = "not known"
        if card.spend:
            spend = taken_words(card.spend)
        openings = plural(card.test_openings, "time")
        samples = f"samples {self._sampling.samples}"
        if self._sampling.takes_mean:
            samples += " (the mean of their scores)"
        facts = [
            ("model", f"{model}, temperature {card.model.temperature}, {samples}"),
            *self._panel_facts(),
            ("compiling took", spend),
            ("when", card.created.replace("T", " ").rstrip("Z") + " UTC"),
            ("sealed test", f"{card.gold.test} cases of {card.gold.name}, opened {openings}"),
            ("artifact sha256", f"{self.artifact.sha256[:_HASH_LETTERS]}…"),
        ]
        return table("", ["name", "value"], facts, layout="facts")

    def _panel_facts(self) -> list[tuple[str, str]]:
        """Return how often the models of a panel answered in the proof; nothing of a single model."""
        words = panel_words(self._card)
        if not words:
            return []
        return [("panel", words)]

    def _commands(self, metric: str) -> Iterator[tuple[str, str]]:
        """Yield what can be done next, as (what, command), the most helpful first: use a better one, else find out."""
        ref, decision = self.artifact.ref, self._card.decision
        judge = shlex.quote(self.artifact.about.reference)
        outcome = outcome_of(self.artifact, self.judge)
        step = choose_next_step(outcome, self._gold_options)
        yield step.reason, step.command
        if decision.verdict == "better":
            if not step.command.startswith("jurist run"):
                yield "judge new rows", f"jurist run {ref} --input new.csv --output judged.jsonl"
            yield "serve it", f"jurist serve {ref}"
            limit = self._gate_limit(metric)
            if limit:
                yield "check it in CI", f"jurist gate {ref} {self._gold_options} {limit}"
            labels = foresee_labels_of(self.artifact, self.judge)
            if labels and not self.artifact.label_proofs:
                yield f"prove it on new rows, by {labels} labels", prove_words(ref, labels)
            return
        yield "see what was tried", f"jurist artifacts show {ref} --history"
        if not self._generates:
            yield "label more rows", f"jurist review {judge} new.csv --output more.jsonl"
            options = self._gold_options + self._card.gold.split_option
            yield "compile with more labels", f"jurist compile {judge} {options}"

    @cached_property
    def _labels_that_show(self) -> int | None:
        """The number of labels where the two prompts differ that mostly show the gain; ``None`` where none can."""
        return labels_that_show(self.artifact, self.judge)

    @property
    def _gold_options(self) -> str:
        """The options by which a command reads labels as the compilation did."""
        return self._card.gold.gold_option

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
            if percent / 100 > score.value:
                return ""
            return f"--min {metric}={percent / 100:g}"
        percent = math.ceil(100 * score.high)
        if constant is not None:
            percent = min(percent, math.ceil(100 * constant.score) - 1)
        if percent / 100 < score.value:
            return ""
        return f"--max {metric}={percent / 100:g}"

    def _remaining(self) -> Iterator[Part]:
        """Yield what compiling did, and which wrong answers are left, the most frequent first."""
        if not self._proof:
            return
        unit_count = right = labelled = 0
        for case in self._cases.cases:
            for unit in case["units"]:
                unit_count += 1
                right += unit["became"] in ("right", "corrected")
                labelled += bool(unit["names"][0])
        if self._generates:
            yield f"of {plural(unit_count, 'document')}, all items of {right:,} pass all checks."
        elif self._card.decision.c is not None:
            yield f"{right:,} of {plural(labelled, 'unit')} are right."
        if not self._generates and count_confusions(self.judge.answer.scale, self._rows("compiled")):
            for (gold, judged), count in self._wrong_answers().most_common(_ERRORS):
                if gold != judged:
                    filters = {"gold": gold, "by": "compiled", "said": judged}
                    yield Link(f"{count:,} judged {judged}, labelled {gold}", filters)
        for name, _, words in self._cases.kinds:
            kind_count = self._cases.units.get(name)
            if kind_count and name not in ("right", "unlabelled"):
                yield Link(f"{kind_count:,} {name}: {words}", {"kind": name})

    def _wrong_answers(self) -> Counter[tuple[str, str]]:
        """Return how many units have each pair of a gold label and a wrong answer of the compiled prompt."""
        wrong_kinds = []
        for name, tone, _ in self._cases.kinds:
            if tone != "good" and name != "unlabelled":
                wrong_kinds.append(name)
        counts: Counter[tuple[str, str]] = Counter()
        for case in self._cases.cases:
            for unit in case["units"]:
                if unit["became"] in wrong_kinds:
                    counts[unit["names"][0], unit["names"][-1]] += 1
        return counts

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
        lead.append(" ".join([f"{_capitalised(sentence)}." for sentence in sentences]))
        return lead

    def _notes(self) -> Iterator[str]:
        """Yield what has to be known of the decision, and of prices."""
        card = self._card
        if _standing(card) == "not shown to be better":
            yield (
                "This does not say that the two are equally good: the sealed test is too small, or the difference is, "
                "to tell."
            )
            if self._labels_that_show:
                yield (
                    f"{self._labels_that_show} labels on new rows, only where the two differ, will mostly tell, if the "
                    "gain is what it was on the sealed test (jurist prove)."
                )
        for proof in self.artifact.label_proofs:
            for line in disagreement_words(proof):
                yield f"{_capitalised(line)}."
        for warning in card.all_warnings:
            yield f"Warning: {warning}."
        if self._offline:
            yield f"{_capitalised(OFFLINE_LINE)}."

    @property
    def _shown_references(self) -> tuple[str, ...]:
        """The names of all references that the report shows."""
        return _REFERENCES + tuple(self._card.member_references)

    @property
    def _card(self) -> Card:
        return self.artifact.about

    @property
    def _offline(self) -> bool:
        return self.artifact.model == "offline"

    @cached_property
    def _proof(self) -> list[ProofRecord]:
        return self.artifact.proof_records()

    def _rows(self, system: str) -> list[JudgedRow]:
        return read_proof_rows(self.judge.answer, self._proof, system)

    @property
    def _sampling(self) -> Sampling:
        return self._card.thresholds.sampling

    @cached_property
    def _cases(self) -> Cases:
        cases_by_id: dict[str, Case] = {}
        why = self.no_gold
        if self.gold:
            cases_by_id = {case.id: case for case in self.gold.cases}
            why = why or f"{self.gold.source} no longer holds them"
        missing = sum(record.case not in cases_by_id for record in self._proof)
        note = ""
        if missing:
            note = f"The inputs of {missing} of {len(self._proof)} cases are not shown: {why}."
        return paired_cases(self.judge.answer, self._proof, cases_by_id, note)

    @cached_property
    def _cuts(self) -> list[ThresholdPoint]:
        """The result of each threshold, the highest first; nothing if all probabilities are one."""
        from sklearn.metrics import precision_recall_curve

        if not (self._proof and self.judge.answer.scale.has_probabilities):
            return []
        is_positive, probabilities = self._labelled_probabilities()
        different = {probability for probability in probabilities if probability >= 0}
        if len(different) < 2 or not any(is_positive):
            return []
        precisions, recalls, thresholds = precision_recall_curve(is_positive, probabilities)
        cuts = []
        for precision, recall, threshold in zip(precisions[:-1], recalls[:-1], thresholds, strict=True):
            if threshold >= 0:
                units = sum(probability >= threshold for probability in probabilities)
                cuts.append(
                    ThresholdPoint(
                        threshold=float(threshold),
                        units=units,
                        precision=float(precision),
                        recall=float(recall),
                    )
                )
        return cuts[::-1]

    def _labelled_probabilities(self) -> tuple[list[bool], list[float]]:
        """Return of each labelled unit whether its label is positive, and the probability that compiled gave it.

        A unit without an answer has -1: no threshold finds it, and it is missed if it is positive.
        """
        scale = self.judge.answer.scale
        is_positive: list[bool] = []
        probabilities: list[float] = []
        for row, record in zip(self._rows("compiled"), self._proof, strict=True):
            answer = record.compiled
            unit_probabilities = answer.probability or map(scale.probability, answer.votes)
            for gold, probability in zip(row.gold, unit_probabilities, strict=True):
                if gold is not None:
                    is_positive.append(scale.probability({gold: 1.0}) == 1)
                    probabilities.append(-1.0 if probability is None else round(probability, 2))
        return is_positive, probabilities

    def _sure(self) -> Iterator[Table]:
        """Yield the thresholds to choose from, and what the card says of how right the probabilities are."""
        cuts = self._cuts
        cut_rows = []
        for cut in cuts[:: max(1, len(cuts) // _CUTS)]:
            cut_rows.append([f"{cut.threshold:.2f}", cut.units, f"{cut.precision:.3f}", f"{cut.recall:.3f}"])
        if cut_rows:
            columns = ["probable at least", "units found", "precision", "recall"]
            yield table("compiled, by the probability that --threshold asks for", columns, cut_rows)
        calibration_rows = []
        for system, calibration in self._card.calibration.items():
            calibration_rows.append(
                [
                    system,
                    calibration.units,
                    number_cell(calibration.ece),
                    number_cell(calibration.brier),
                    number_cell(calibration.auc),
                    number_cell(calibration.average_precision),
                ]
            )
        if calibration_rows:
            columns = ["program", "units", "ECE", "Brier", "AUC", "average precision"]
            yield table("how right its probabilities are", columns, calibration_rows)

    @cached_property
    def _systems(self) -> dict[str, list[JudgedRow]]:
        """The rows of the proof by who answered, compiled first; empty without a proof."""
        if not self._proof:
            return {}
        return {system: self._rows(system) for system in _SHOWN_SYSTEMS}

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
        if self.gold:
            for name, value in self.gold.card.items():
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
