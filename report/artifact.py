"""The report of one artifact: whether compiling helped, on what evidence, and every case to read.

All figures are those of the artifact's card, or are counted from the rows of its proof; inputs and ratings are read
from the gold again, whose cases are known by the hash of their inputs.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..cases import Case
from ..errors import JuristError, plural
from ..evaluation.classes import class_scores, confused
from ..evaluation.rows import Row
from ..evaluation.votes import Sampling
from ..gold.goldset import Gold
from ..gold.raters import ceiling_of, rated_in_test
from ..keeping.artifact_card import Artifact, rows_of
from ..keeping.artifacts import Store
from ..programs.judge import Judge
from .differing import against_before, prompt_changes
from .document import Document, Part, Section, Tone
from .history import basic_state, search_parts
from .judged import SYSTEMS, paired_cases
from .raters import ceiling_table
from .scores import (
    OFFLINE,
    class_table,
    confusion_table,
    counts_line,
    criteria_table,
    disagreement_words,
    reference_tables,
    robustness_about,
    robustness_table,
    score_parts,
    spend_line,
)
from .table import Table, table
from .views import TAKEN
from .votes import credit_of, reliability_parts, sure_parts

_HEADLINES: dict[str, tuple[str, Tone]] = {
    "better": ("Compiling made it better", "good"),
    "worse": ("Compiling made it worse", "bad"),
    "not shown to be better": ("Not shown to be better", "open"),
}
_FEW_GROUPS = 10  # below it, only a large difference can be shown
_GROUPS = 20
"""Groups that the table of groups shows: those that the compiled judge has most trouble with."""


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
        card, artifact, optimizer = self._card, self.artifact, self._card.get("optimizer") or {}
        decision, spend = card.get("decision"), card.get("spend") or {}
        if not (card.get("scores") and decision):
            raise JuristError(f"{artifact.ref} has no proof to report", hint="compile it with jurist compile")
        headline, tone = _HEADLINES[decision["verdict"]]
        metric = decision["metric"]
        succession = against_before(artifact, self.judge, self.store)
        older = [f"Against the version before it: {succession.words}."] if succession else []
        sure = sure_parts(self.judge, self._proof, self._sampling.samples) if self._proof else []
        sections = (
            Section(
                "scores",
                "Scores",
                [
                    *score_parts(card["scores"], metric, "the sealed test"),
                    *criteria_table(decision),
                    *reference_tables(card.get("references"), metric),
                    *(counts_line(system, card["counts"][system]) for system in SYSTEMS),
                    *older,
                ],
                intro="On the sealed test, each with the interval in which it is likely to be over all cases "
                "of the same kind. The star marks the metric that was compiled for.",
            ),
            Section("classes", "What was taken for what", self._classes(), intro=TAKEN),
            Section(
                "votes",
                "How sure it is",
                [*sure, *reliability_parts(card.get("calibration") or {})],
                intro=f"Samples a case: {self._sampling.samples}.",
            ),
            Section(
                "search",
                "The search",
                search_parts(artifact),
                intro=f"{optimizer['name']} tried {optimizer['candidates']} prompts on train and dev. "
                "The choice was made by a lower bound and not by the highest dot: the best of many noisy means is "
                "mostly luck.",
            ),
            Section(
                "prompt",
                "What changed in the prompt",
                prompt_changes(basic_state(artifact, self.store), artifact.state),
                intro="Green words were added by compiling, red ones were removed.",
            ),
            self._cases(),
            Section(
                "people",
                "Gold, people and groups",
                list(self._people()),
                intro="What the judge was held against. The human ceiling is how well each rater does against the "
                "others: a judge that reaches it agrees with people as well as they agree with each other.",
            ),
            Section(
                "robustness",
                "Attacks and biases",
                [robustness_table(one, robustness_about(one)) for one in artifact.robustness],
                intro="How often the answer changed when the judged text was changed in a way that must not change "
                "it. The control is the same text asked again: what changes there changes by itself.",
            ),
            Section("cost", "What it cost", [*self._spending(), spend_line(spend)]),
            Section("unmeasured", "Not measured", list(self._unmeasured())),
            Section("provenance", "Where it comes from", [self._provenance()]),
        )
        return Document(
            subject=artifact.ref,
            about=f"compiled {card['created'][:10]} on {card['gold']['name']}",
            headline=headline,
            tone=tone,
            lead=list(self._lead(decision)),
            sections=sections,
        )

    def _lead(self, decision: dict[str, Any]) -> Iterator[str]:
        level = f"{decision.get('level', 0.95) * 100:.4g} % interval"
        yield (
            f"{decision['metric']} went from {decision['basic']:.3f} to {decision['compiled']:.3f} "
            f"({decision['difference']:+.3f}, {level} {decision['low']:+.3f} to {decision['high']:+.3f}) on "
            f"{decision['cases']} sealed cases that no optimizer had seen."
        )
        counted = decision.get("c") is not None
        changed = f"{plural(decision['c'], 'unit')} corrected, {decision['b']} broken. " if counted else ""
        below = f"must be below {decision.get('tested', decision['alpha']):.3g}"
        if self._openings > 1:
            below += f", as this test has been opened {self._openings} times"
        yield f"{changed}p = {decision['p']:.3g} and {below} ({decision['test']})."
        if price := self.artifact.about.price_words:
            yield f"{price[0].upper()}{price[1:]}."
        yield from (f"{line[0].upper()}{line[1:]}." for line in self.artifact.about.cheaper_words)
        if decision["verdict"] == "not shown to be better":
            yield (
                "This does not say that the two are equally good: the sealed test is too small, or the difference is, "
                "to tell. More labelled groups, or a judge that fails more often, can show one; so can few labels on "
                f"new rows where the two differ: jurist prove {self.artifact.ref} --rows new.jsonl."
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
    def _openings(self) -> int:
        return self.artifact.about.test_openings

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

    def _classes(self) -> list[Part]:
        rows = {system: self._rows(system) for system in SYSTEMS} if self._proof else {}
        parts: list[Part] = []
        for system, own in rows.items():
            parts += confusion_table(system, confused(self.judge.answer.scale, own))
        for system, own in rows.items():
            scored = [one.to_json() for one in class_scores(own, self.judge.comparison)]
            parts += class_table(f"each class against the rest, {system}", scored)
        return parts

    def _cases(self) -> Section:
        if not self._proof:
            return Section("cases", "The cases")
        known: dict[str, Case] = {case.id: case for case in self.gold.cases} if self.gold else {}
        missing = sum(row["case"] not in known for row in self._proof)
        note = ""
        if missing:
            why = self.no_gold or f"{self.gold.source if self.gold else ''} no longer holds them"
            note = f"The inputs of {missing} of {len(self._proof)} cases are not shown: {why}."
        shown = paired_cases(self.judge.answer, self._proof, known, note)
        told = [f"{shown.units[name]} {name}" for name, _, _ in shown.kinds if shown.units.get(name)]
        means = self.judge.comparison.right_means
        return Section(
            "cases",
            "The cases",
            [shown],
            intro=f"The sealed test, {len(shown.cases)} cases; of their units, {', '.join(told)}"
            f"{f' (right means: {means})' if means else ''}. "
            "Whoever changes the judge by what is read here needs new cases to prove it on.",
        )

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
        if self._proof:
            yield self._groups()

    def _groups(self) -> Table:
        credits: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for before, after in zip(self._rows("basic"), self._rows("compiled"), strict=True):
            for gold, one, two in zip(before.gold, before.predicted, after.predicted, strict=True):
                if gold is not None:
                    credits[before.group].append(
                        (credit_of(self.judge, gold, one), credit_of(self.judge, gold, two))
                    )
        worst = sorted(credits.items(), key=lambda item: sum(two for _, two in item[1]) / len(item[1]))
        rows = [
            [group, len(found), *(f"{sum(side) / len(found):.3f}" for side in zip(*found, strict=True))]
            for group, found in worst[:_GROUPS]
        ]
        shown = f", the {_GROUPS} with most trouble" if len(worst) > _GROUPS else ""
        return table(
            f"groups of the sealed test{shown}", ["group", "units", "right, basic", "right, compiled"], rows
        )

    def _spending(self) -> list[Table]:
        names = {"judge": "asking the judge", "proposer": "writing prompts", "total": "all"}
        rows = [
            [
                names.get(purpose, purpose),
                *(one[name] for name in ("calls", "input_tokens", "output_tokens")),
                f"{one['cost']:.4f}",
            ]
            for purpose, one in (self._card["spend"].get("by_purpose") or {}).items()
        ]
        return [table("", ["for", "calls", "input tokens", "output tokens", "USD"], rows)] if rows else []

    def _provenance(self) -> Table:
        card, about = self._card, self.artifact.about
        optimizer = card["optimizer"]
        rows = [
            ("judge", f"{card['judge']}, variant {card['variant']}"),
            (
                "optimizer",
                f"{optimizer['name']}, seed {about.optimizer.seed or 0}, {optimizer.get('ending', '')}",
            ),
            ("model", f"{about.model.name or None}, temperature {about.model.temperature}"),
            ("prompts written by", str(about.prompt_model.name or None)),
            ("samples", f"{self._sampling.samples}, {self._sampling.rule}"),
            ("openings of the test", str(self._openings)),
            ("gold sha256", card["gold"]["sha256"]),
            ("artifact sha256", self.artifact.sha256),
            *((f"version of {name}", version) for name, version in about.versions.items()),
        ]
        return table("", ["name", "value"], rows, layout="facts")

    def _unmeasured(self) -> Iterator[str]:
        card, samples = self._card, self._sampling.samples
        if self._offline:
            yield "Any language model: the offline engine scores how texts overlap, and says nothing about one."
        if not self._proof:
            yield "Single cases: this artifact is of a version that did not keep what was said on the sealed test."
        if samples == 1 and not card.get("calibration"):
            yield "How sure the judge is: one sample a case gives no votes, and so no threshold and no calibration."
        elif samples > 1 and self._proof:
            yield "What other thresholds would give, where drawing stopped because nothing could change any more."
        yield "How far answers vary when the same cases are asked again: jurist compare with --repeats measures it."
        if self._ceiling is None:
            yield "How well people agree on this gold: it holds one label a unit, so the human ceiling is not known."
        groups = self._card["decision"].get("groups")
        if groups is not None and groups < _FEW_GROUPS:
            yield f"Enough groups: with {groups}, only a large difference can be shown."
        if self._openings > 1:
            yield f"A fresh test: this one has been opened {self._openings} times; the level is stricter for it."
        yield "Other data than this gold: cases of other sources, languages or times may be judged otherwise."
        if not self.artifact.robustness:
            yield "What a text that argues with the judge achieves: jurist evaluate harden measures it."
