"""The report of one artifact: whether compiling helped, on what evidence, and every case to read.

All figures are those of the artifact's card, or are counted from the rows of its proof; inputs and ratings are read
from the gold again, whose cases are known by the hash of their inputs.
"""

import math
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
from .document import Cases, Document, Link, Part, Section
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
from .verdict import needless, proof_table, tone_of

_HEADLINES = {
    "better": "It can ship: it is better than the prompt you started with",
    "worse": "Do not ship it: it is worse than the prompt you started with",
    "not shown to be better": "No reason to ship it yet: it is not shown to be better than the prompt you started with",
    "hollow": "No reason to ship it yet: it is better than the prompt you started with, but not shown to be better "
    "than a constant answer",
    "needless": "Better than the prompt you started with, but no language model is needed to do as well",
}
_TAKEN = (
    "Rows are what people said, columns what the judge said; the stronger the colour, the more of the row."
)
_REFERENCES = ("constant", "words", "neighbours", "people")
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

    def document(self) -> Document:
        """Return the report. Raises ``JuristError`` if the artifact was never proven."""
        card, artifact = self._card, self.artifact
        if not (card.get("scores") and card.get("decision")):
            raise JuristError(f"{artifact.ref} has no proof to report", hint="compile it with jurist compile")
        standing, metric = _standing(card), card["decision"]["metric"]
        over_constant = bool((card["decision"].get("constant") or {}).get("better"))
        and_constant = " and than a constant answer" * (standing == "better" and over_constant)
        before = basic_state(artifact, self.store)
        return Document(
            subject=artifact.ref,
            about=f"compiled {card['created'][:10]} on {card['gold']['name']}",
            headline=_HEADLINES[standing] + and_constant,
            tone=tone_of(standing),
            lead=list(self._lead(card["decision"])),
            front=self._front(metric, before),
            sections=(*self._open(before), *self._folded(metric)),
        )

    def _open(self, before: PromptState) -> tuple[Section, ...]:
        """Return what is read after the first screen: errors, cases, prompt."""
        errors = [
            part
            for name, rows in self._systems.items()
            for part in confusion_table(name, confused(self.judge.answer.scale, rows), opens=name)
        ]
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
        ceiling = (
            "The human ceiling is how well each rater does against the others: a judge that reaches it agrees "
            "with people as well as they agree with each other."
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
        card, about, ref = self._card, self.artifact.about, self.artifact.ref
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
        commands = [
            ("judge new rows", f"jurist run {ref} --input rows.jsonl --output verdicts.jsonl"),
            ("serve it", f"jurist serve {ref}"),
            ("check it in CI", f"jurist gate {ref} --gold labels.csv {self._least(metric)}"),
            ("prove it on new rows", f"jurist prove {ref} --rows new.jsonl"),
        ]
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

    def _least(self, metric: str) -> str:
        """Return the option of a gate that asks for the end of the judge's interval, and more than a constant has."""
        score = self._card["scores"]["compiled"][metric]
        constant = ((self._card.get("references") or {}).get("constant") or {}).get("score")
        if sign_of(self.artifact) > 0:
            ends = [
                math.floor(100 * score["low"]),
                *([] if constant is None else [math.floor(100 * constant) + 1]),
            ]
            return f"--min {metric}={max(ends) / 100:g}"
        ends = [
            math.ceil(100 * score["high"]),
            *([] if constant is None else [math.ceil(100 * constant) - 1]),
        ]
        return f"--max {metric}={min(ends) / 100:g}"

    def _remaining(self) -> Iterator[Part]:
        """Yield what compiling did, and which wrong answers are left, the most frequent first."""
        if not self._proof:
            return
        kinds = [name for name, tone, _ in self._cases.kinds if tone != "good" and name != "unlabelled"]
        units = [unit for case in self._cases.cases for unit in case["units"]]
        wrong = Counter((unit["names"][0], unit["names"][-1]) for unit in units if unit["became"] in kinds)
        right = sum(unit["became"] in ("right", "corrected") for unit in units)
        labelled = sum(bool(unit["names"][0]) for unit in units)
        if self._card["decision"].get("c") is not None:
            yield f"{right:,} of {plural(labelled, 'unit')} are right."
        if confused(self.judge.answer.scale, self._rows("compiled")):
            for (gold, judged), count in wrong.most_common(_ERRORS):
                if gold != judged:
                    filters = {"gold": gold, "by": "compiled", "said": judged}
                    yield Link(f"{count:,} judged {judged}, people said {gold}", filters)
        for name, _, words in self._cases.kinds:
            if name not in ("right", "unlabelled") and (units_of := self._cases.units.get(name)):
                yield Link(f"{units_of:,} {name}: {words}", {"kind": name})

    def _lead(self, decision: dict[str, Any]) -> Iterator[str]:
        level = f"{decision.get('level', 0.95) * 100:.4g} % interval"
        yield (
            f"{decision['metric']} went from {decision['basic']:.3f} to {decision['compiled']:.3f} "
            f"({decision['difference']:+.3f}, {level} {decision['low']:+.3f} to {decision['high']:+.3f}) on "
            f"{decision['cases']} sealed cases that no optimizer had seen."
        )
        # the verdict and its counts stand elsewhere; luck and the constant answer only here
        sentences = (decision.get("words") or "").split("; ")[1:3]
        yield " ".join(f"{words[0].upper()}{words[1:]}." for words in sentences)

    def _remarks(self, decision: dict[str, Any]) -> Iterator[str]:
        """Yield what has to be known of the decision, and of prices."""
        if _standing(self._card) == "not shown to be better":
            yield (
                "This does not say that the two are equally good: the sealed test is too small, or the difference is, "
                "to tell. Few labels can, on new rows where the two differ (jurist prove)."
            )
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
        if self._ceiling is None:
            yield "How well people agree on this gold: it holds one label a unit, so the human ceiling is not known."
        groups = self._card["decision"].get("groups")
        if groups is not None and groups < _FEW_GROUPS:
            yield f"Enough groups: with {groups}, only a large difference can be shown."
        if (opened := self.artifact.about.test_openings) > 1:
            yield f"A fresh test: this one has been opened {opened} times; the level is stricter for it."
        yield "Other data than this gold: cases of other sources, languages or times may be judged otherwise."
        if not self.artifact.robustness:
            yield "What a text that argues with the judge achieves: jurist evaluate harden measures it."


def _standing(card: Mapping[str, Any]) -> str:
    """Return the verdict, or what a headline says in its place: ``needless``, ``hollow``."""
    decision = card["decision"]
    if decision["verdict"] == "better":
        return "needless" if needless(card) else "better"
    over_basic = decision.get("p", 1) < decision.get("tested", 0)
    return "hollow" if over_basic and decision["verdict"] != "worse" else decision["verdict"]
