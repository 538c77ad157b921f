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
from typing import Any

from ..cases import Case
from ..errors import JuristError, plural
from ..evaluation.measured import class_scores, confused
from ..evaluation.plain import plain
from ..evaluation.rows import Row
from ..evaluation.votes import Sampling
from ..gold.goldset import Gold
from ..gold.raters import ceiling_of, rated_in_test
from ..keeping.artifact_card import Artifact, rows_of
from ..keeping.artifacts import Store
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
_MEASURES = ("ece", "brier", "auc", "average_precision")
_FEW_GROUPS = 10  # below it, only a large difference can be shown


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
        if artifact.about.decision.keeps_basic:
            return self._document_of_basic()
        if not (card.get("scores") and card.get("decision")):
            raise JuristError(f"{artifact.ref} has no proof to report", hint="compile it with jurist compile")
        standing, metric = _standing(card), card["decision"]["metric"]
        said = _HEADLINES[standing].format(" and ".join(better_references(card)))
        headline = f"{said} ({engine_words(artifact.model)})"
        if by_criterion := criteria_words(card["decision"]):
            headline += f"; {by_criterion}"
        before = basic_state(artifact, self.store)
        return Document(
            subject=artifact.ref,
            about=f"compiled {card['created'][:10]} on {card['gold']['name']}",
            headline=headline,
            tone=_TONES.get(standing, "open"),
            lead=list(self._lead(card["decision"])),
            front=self._front(metric, before),
            sections=(*self._open(before), *self._folded(metric)),
        )

    def _document_of_basic(self) -> Document:
        """Return the report of a compilation that kept the basic prompt: what was tried, and what to do next."""
        card, judge = self._card, self.artifact.about.reference
        gold = card["gold"]
        tried = f"{plural(card['optimizer']['candidates'], 'prompt')} tried on {gold['train']} train and {gold['dev']}"
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
            about=f"compiled {card['created'][:10]} on {gold['name']}",
            headline="Nothing better than the prompt you started with was found",
            tone="open",
            lead=[
                f"{tried} dev cases. None was better than the basic prompt by more than luck, so nothing was asked of "
                f"the {gold['test']} sealed cases, and they are not opened. More labelled rows may find more."
            ],
            front=(Section("next", "Next", [table("", ["what", "command"], commands, layout="commands")]),),
            sections=(
                Section("people", "Gold and people", list(self._people())),
                Section("cost", "What compiling cost", [spend_line(card["spend"])]),
            ),
        )

    def _open(self, before: PromptState) -> tuple[Section, ...]:
        """Return what is read after the first screen: errors, cases, prompt."""
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
        """Yield what only its heading is seen of at first."""
        card, artifact = self._card, self.artifact
        scores: list[Part] = [scores_table("", card["scores"], metric)]
        scores += [counts_line(system, card["counts"][system]) for system in SYSTEMS]
        likely = (
            "On the sealed test, each with the interval in which it is likely to be over all cases of the same "
            "kind. The star marks the metric that was compiled for."
        )
        classes = [
            part
            for name, rows in self._systems.items()
            for part in class_table(
                f"each class against the rest, {name}",
                plain(class_scores(rows, self.judge.comparison)),
            )
        ]
        samples, optimizer = f"Samples a case: {self._sampling.samples}.", card.get("optimizer") or {}
        tried = (
            f"{optimizer['name']} tried {optimizer['candidates']} prompts on train and dev. The choice was made by "
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
        attacks = [robustness_table(measured, robustness_about(measured)) for measured in artifact.robustness]
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
            Section("cost", "What compiling cost", [spend_line(card["spend"])]),
            Section("unmeasured", "Not measured", list(self._unmeasured())),
        ):
            yield replace(section, folded=True)

    def _front(self, metric: str, before: PromptState) -> tuple[Section, ...]:
        card, about = self._card, self.artifact.about
        gold, model, cut = card["gold"], about.model, self._sampling
        learned = [
            change_words(before, self.artifact.state, about.forms),
            *([f"its answer: {cut.rule}"] if cut.by_probability else []),
        ]
        proven = [
            ("model", f"{model.name or 'not known'}, temperature {model.temperature}, samples {cut.samples}"),
            ("compiling took", taken_words(card["spend"])),
            ("when", card["created"].replace("T", " ").rstrip("Z") + " UTC"),
            (
                "sealed test",
                f"{gold['test']} cases of {gold['name']}, opened {plural(about.test_openings, 'time')}",
            ),
            ("artifact sha256", self.artifact.sha256),
        ]
        commands = [(what, command + self.store_option) for what, command in self._commands(metric)]
        return (
            Section(
                "standing",
                "How good it is",
                [proof_table(card, metric, _REFERENCES), *criteria_table(card["decision"])],
            ),
            Section("remaining", "Errors that remain", list(self._remaining())),
            Section("learned", "What the prompt learned", learned),
            Section("proven", "Proven with", [table("", ["name", "value"], proven, layout="facts")]),
            Section("next", "Next", [table("", ["what", "command"], commands, layout="commands")]),
            Section("remarks", "What to know", list(self._remarks(card["decision"]))),
        )

    def _commands(self, metric: str) -> Iterator[tuple[str, str]]:
        """Yield what can be done next, as (what, command): use it where it is better, else find out more."""
        ref, decision = self.artifact.ref, self._card["decision"]
        judge = shlex.quote(self.artifact.about.reference)
        if decision["verdict"] == "better":
            yield "judge new rows", f"jurist run {ref} --input rows.jsonl --output verdicts.jsonl"
            yield "serve it", f"jurist serve {ref}"
            if limit := self._gate_limit(metric):
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
        score = self._card["scores"]["compiled"][metric]
        constant = ((self._card.get("references") or {}).get("constant") or {}).get("score")
        if sign_of(self.artifact) > 0:
            least = math.floor(100 * score["low"])
            if constant is not None:
                least = max(least, math.floor(100 * constant) + 1)
            return f"--min {metric}={least / 100:g}" if least / 100 <= score["value"] else ""
        most = math.ceil(100 * score["high"])
        if constant is not None:
            most = min(most, math.ceil(100 * constant) - 1)
        return f"--max {metric}={most / 100:g}" if most / 100 >= score["value"] else ""

    def _remaining(self) -> Iterator[Part]:
        """Yield what compiling did, and which wrong answers are left, the most frequent first."""
        if not self._proof:
            return
        kinds = [name for name, tone, _ in self._cases.kinds if tone != "good" and name != "unlabelled"]
        units = [unit for case in self._cases.cases for unit in case["units"]]
        wrong = Counter((unit["names"][0], unit["names"][-1]) for unit in units if unit["became"] in kinds)
        right = sum(unit["became"] in ("right", "corrected") for unit in units)
        labelled = sum(bool(unit["names"][0]) for unit in units)
        if self._generates:
            yield f"of {plural(len(units), 'document')}, all items of {right:,} pass all checks."
        elif self._card["decision"].get("c") is not None:
            yield f"{right:,} of {plural(labelled, 'unit')} are right."
        if not self._generates and confused(self.judge.answer.scale, self._rows("compiled")):
            for (gold, judged), count in wrong.most_common(_ERRORS):
                if gold != judged:
                    filters = {"gold": gold, "by": "compiled", "said": judged}
                    yield Link(f"{count:,} judged {judged}, labelled {gold}", filters)
        for name, _, words in self._cases.kinds:
            if name not in ("right", "unlabelled") and (units_of := self._cases.units.get(name)):
                yield Link(f"{units_of:,} {name}: {words}", {"kind": name})

    def _lead(self, decision: dict[str, Any]) -> Iterator[str]:
        level = f"{decision.get('level', 0.95) * 100:.4g} % interval"
        cases = "sealed documents" if self._generates else "sealed cases"
        missing = ""
        if any(counts["coverage"] < 1 for counts in (self._card.get("counts") or {}).values()):
            missing = "; what was not answered counts as wrong"
        yield (
            f"{decision['metric']} went from {decision['basic']:.3f} to {decision['compiled']:.3f} "
            f"({decision['difference']:+.3f}, {level} {decision['low']:+.3f} to {decision['high']:+.3f}) on "
            f"{decision['cases']} {cases} that no optimizer had seen{missing}."
        )
        if tokens := self.artifact.about.tokens_words:
            yield f"Tokens a row, basic and compiled: {tokens}."
        # the verdict and its counts stand elsewhere; luck and the constant answer only here
        sentences = (decision.get("words") or "").split("; ")[1:3]
        if self._generates:
            sentences = sentences[:1]  # units corrected and broken are none of a generator
        yield " ".join(f"{words[0].upper()}{words[1:]}." for words in sentences)

    def _remarks(self, decision: dict[str, Any]) -> Iterator[str]:
        """Yield what has to be known of the decision, and of prices."""
        if _standing(self._card) == "not shown to be better":
            yield (
                "This does not say that the two are equally good: the sealed test is too small, or the difference is, "
                "to tell."
            )
            if labels_can_show(decision):
                yield "Few labels can tell, on new rows where the two differ (jurist prove)."
        for shown in self.artifact.disagreements:
            yield from (f"{line[0].upper()}{line[1:]}." for line in disagreement_words(shown))
        warnings = (*(decision.get("warnings") or ()), *(self._card.get("warnings") or ()))
        yield from (f"Warning: {text}." for text in warnings)
        if self._offline:
            yield OFFLINE[0].upper() + OFFLINE[1:] + "."

    @property
    def _card(self) -> dict[str, Any]:
        return self.artifact.card

    @property
    def _offline(self) -> bool:
        return self.artifact.model == "offline"

    @cached_property
    def _proof(self) -> tuple[dict[str, Any], ...]:
        return self.artifact.proof()

    def _rows(self, system: str) -> list[Row]:
        return rows_of(self.judge.answer, self._proof, system)

    @property
    def _sampling(self) -> Sampling:
        return self.artifact.about.thresholds.sampling

    @cached_property
    def _cases(self) -> Cases:
        known: dict[str, Case] = {case.id: case for case in self.gold.cases} if self.gold else {}
        missing = sum(row["case"] not in known for row in self._proof)
        note = ""
        if missing:
            why = self.no_gold or f"{self.gold.source if self.gold else ''} no longer holds them"
            note = f"The inputs of {missing} of {len(self._proof)} cases are not shown: {why}."
        return paired_cases(self.judge.answer, self._proof, known, note)

    def _cuts(self) -> list[tuple[float, int, float, float]]:
        """Return (least probability, units, precision, recall), the highest first; none if it is always one."""
        from sklearn.metrics import precision_recall_curve

        # units without an answer are never found, and missed if they are positive
        scale, truth, shares = self.judge.answer.scale, list[bool](), list[float]()
        for row, line in zip(self._rows("compiled"), self._proof, strict=True):
            compiled = line["compiled"]
            probabilities = compiled.get("probability") or map(scale.probability, compiled["votes"])
            for gold, probability in zip(row.gold, probabilities, strict=True):
                if gold is not None:
                    truth.append(scale.probability({gold: 1.0}) == 1)
                    shares.append(-1.0 if probability is None else round(probability, 2))
        if len({share for share in shares if share >= 0}) < 2 or not any(truth):
            return []
        curve = zip(*precision_recall_curve(truth, shares), strict=False)  # its last point has no threshold
        return [
            (float(least), sum(share >= least for share in shares), float(precision), float(recall))
            for precision, recall, least in curve
            if least >= 0
        ][::-1]

    def _sure(self) -> Iterator[Table]:
        """Yield the thresholds to choose from, and what the card says of how right the probabilities are."""
        known = self._cuts() if self.judge.answer.scale.has_probabilities else []
        rows = [
            [f"{least:.2f}", units, f"{precision:.3f}", f"{recall:.3f}"]
            for least, units, precision, recall in known[:: max(1, len(known) // _CUTS)]
        ]
        columns = ["probable at least", "units found", "precision", "recall"]
        if rows:
            yield table("compiled, by the probability that --threshold asks for", columns, rows)
        rows = [
            [system, about["units"], *(number_cell(about[name]) for name in _MEASURES)]
            for system, about in (self._card.get("calibration") or {}).items()
        ]
        columns = ["program", "units", "ECE", "Brier", "AUC", "average precision"]
        if rows:
            yield table("how right its probabilities are", columns, rows)

    @cached_property
    def _systems(self) -> dict[str, list[Row]]:
        """The rows of the proof by who answered; empty without a proof."""
        return {system: self._rows(system) for system in SYSTEMS} if self._proof else {}

    @cached_property
    def _ceiling(self) -> Any:
        test = {row["case"] for row in self._proof}
        if not self.gold or not test:
            return None
        return ceiling_of(self.gold, only=rated_in_test(self.gold, test))

    def _people(self) -> Iterator[Part]:
        gold = self._card["gold"]
        rows = [
            ("gold", gold["name"]),
            ("cases", f"{gold['train']} train, {gold['dev']} dev, {gold['test']} test"),
        ]
        described = self.gold.card if self.gold else {}
        rows += [(name, value) for name, value in described.items() if isinstance(value, str | int | float)]
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
        groups = self._card["decision"].get("groups")
        if groups is not None and groups < _FEW_GROUPS:
            yield f"Enough groups: with {groups}, only a large difference can be shown."
        if (opened := self.artifact.about.test_openings) > 1:
            yield f"A fresh test: this one has been opened {opened} times; the level is stricter for it."
        yield "Other data than this gold: cases of other sources, languages or times may be judged otherwise."
        if not self.artifact.robustness:
            yield "What a text that argues with the judge achieves: jurist evaluate harden measures it."


def _standing(card: Mapping[str, Any]) -> str:
    """Return which of the headlines the paired tests of a card have shown."""
    decision = card["decision"]
    constant = decision.get("constant") or {}
    verdict = str(decision["verdict"])
    if verdict == "worse":
        return verdict
    if constant.get("worse"):
        return "below constant"
    if verdict == "better":
        if better_references(card):
            return "below reference"
        return "better than both" if constant.get("better") else "better"
    return "hollow" if decision.get("p", 1) < decision.get("tested", 0) else verdict
