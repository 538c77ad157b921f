"""The report of one artifact: whether compiling helped, on what evidence, and every case to read.

All figures are those of the artifact's card, or are counted from the rows of its proof; inputs and ratings are read
from the gold again, whose cases are known by the hash of their inputs.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
from .document import Document, Facts, Lines, Part, Section, Tone
from .history import basic_state, search_parts
from .judged import SYSTEMS, paired_cases
from .raters import ceiling_table
from .scores import (
    OFFLINE,
    class_table,
    confusion_counts,
    counts_line,
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

_HEADLINES: Mapping[str, tuple[str, Tone]] = {
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
    _card: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse an artifact that was never proven."""
        object.__setattr__(self, "_card", self.artifact.card)
        if not (self._card.get("scores") and self._card.get("decision")):
            raise JuristError(
                f"{self.artifact.ref} has no proof to report", hint="compile it with jurist compile"
            )

    def document(self) -> Document:
        """Return the report."""
        decision = self._card["decision"]
        headline, tone = _HEADLINES[decision["verdict"]]
        return Document(
            subject=self.artifact.ref,
            about=f"compiled {self._card['created'][:10]} on {self._card['gold']['name']}",
            headline=headline,
            tone=tone,
            lead=tuple(self._lead(decision)),
            sections=(
                self._scores(),
                self._classes(),
                self._votes(),
                self._search(),
                self._prompt(),
                self._cases(),
                self._people(),
                self._robustness(),
                self._spend(),
                Section(
                    name="unmeasured", title="Not measured", parts=(Lines(texts=tuple(self._unmeasured())),)
                ),
                self._provenance(),
            ),
        )

    def _lead(self, decision: Mapping[str, Any]) -> Iterator[str]:
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
    def _openings(self) -> int:
        return int(self._card.get("test_openings") or 1)

    @property
    def _offline(self) -> bool:
        return (self._card.get("model") or {}).get("name") == "offline"

    @cached_property
    def _proof(self) -> tuple[dict[str, Any], ...]:
        return self.artifact.proof()

    @cached_property
    def _known(self) -> dict[str, Case]:
        return {case.id: case for case in self.gold.cases} if self.gold else {}

    def _rows(self, system: str) -> list[Row]:
        return rows_of(self.judge.answer, self._proof, system)

    @property
    def _seed(self) -> int:
        return int((self._card.get("optimizer") or {}).get("seed") or 0)

    @cached_property
    def _sampling(self) -> Sampling:
        kept = self._card.get("thresholds") or {}
        return Sampling(samples=int(kept.get("samples") or 1), threshold=kept.get("threshold"))

    def _scores(self) -> Section:
        counted = Lines(texts=tuple(counts_line(system, self._card["counts"][system]) for system in SYSTEMS))
        metric = self._card["decision"]["metric"]
        succession = against_before(self.artifact, self.judge, self.store)
        older = (Lines(texts=(f"Against the version before it: {succession.words}.",)),) if succession else ()
        return Section(
            name="scores",
            title="Scores",
            intro="On the sealed test, each with the interval in which it is likely to be over all cases "
            "of the same kind. The star marks the metric that was compiled for.",
            parts=(
                *score_parts(self._card["scores"], metric, "the sealed test"),
                *reference_tables(self._card.get("references"), metric),
                counted,
                *older,
            ),
        )

    def _classes(self) -> Section:
        rows = {system: self._rows(system) for system in SYSTEMS} if self._proof else {}
        parts: list[Part] = []
        for system, own in rows.items():
            parts += confusion_counts(system, confused(self.judge.answer.scale, own))
        for system, own in rows.items():
            found = [one.to_json() for one in class_scores(own, self.judge.comparison)]
            parts += class_table(f"each class against the rest, {system}", found)
        return Section(name="classes", title="What was taken for what", intro=TAKEN, parts=tuple(parts))

    def _votes(self) -> Section:
        samples = self._sampling.samples
        parts = sure_parts(self.judge, self._proof, samples) if self._proof else ()
        kept = reliability_parts(self._card.get("calibration") or {})
        return Section(
            name="votes", title="How sure it is", intro=f"Samples a case: {samples}.", parts=(*parts, *kept)
        )

    def _search(self) -> Section:
        optimizer = self._card["optimizer"]
        return Section(
            name="search",
            title="The search",
            intro=f"{optimizer['name']} tried {optimizer['candidates']} prompts on train and dev. "
            "The choice was made by a lower bound and not by the highest dot: the best of many noisy means is mostly "
            "luck.",
            parts=tuple(search_parts(self.artifact)),
        )

    def _prompt(self) -> Section:
        parts = prompt_changes(basic_state(self.artifact, self.store), self.artifact.state)
        return Section(
            name="prompt",
            title="What changed in the prompt",
            intro="Green words were added by compiling, red ones were removed.",
            parts=parts,
        )

    def _cases(self) -> Section:
        if not self._proof:
            return Section(name="cases", title="The cases")
        missing = sum(row["case"] not in self._known for row in self._proof)
        note = ""
        if missing:
            why = self.no_gold or f"{self.gold.source if self.gold else ''} no longer holds them"
            note = f"The inputs of {missing} of {len(self._proof)} cases are not shown: {why}."
        found = paired_cases(self.judge.answer, self._proof, self._known, note)
        told = [f"{found.units[name]} {name}" for name, _, _ in found.kinds if found.units.get(name)]
        means = self.judge.comparison.right_means
        right = f" (right means: {means})" if means else ""
        return Section(
            name="cases",
            title="The cases",
            intro=f"The sealed test, {len(found.cases)} cases; of their units, {', '.join(told)}{right}. "
            "Whoever changes the judge by what is read here needs new cases to prove it on.",
            parts=(found,),
        )

    @cached_property
    def _ceiling(self) -> Any:
        test = {row["case"] for row in self._proof}
        if not self.gold or not test:
            return None
        return ceiling_of(self.gold, only=rated_in_test(self.gold, test))

    def _people(self) -> Section:
        gold = self._card["gold"]
        rows = [
            ("gold", gold["name"]),
            ("cases", f"{gold['train']} train, {gold['dev']} dev, {gold['test']} test"),
        ]
        described = self.gold.card if self.gold else {}
        rows += [(name, value) for name, value in described.items() if isinstance(value, str | int | float)]
        parts: list[Part] = [Facts(rows=tuple((name, str(value)) for name, value in rows))]
        if self._ceiling is not None:
            parts.append(ceiling_table(self._ceiling))
        if self._proof:
            parts.append(self._groups())
        return Section(
            name="people",
            title="Gold, people and groups",
            intro="What the judge was held against. The human ceiling is how well each rater does against the others: "
            "a judge that reaches it agrees with people as well as they agree with each other.",
            parts=tuple(parts),
        )

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

    def _robustness(self) -> Section:
        measured = self.artifact.robustness
        return Section(
            name="robustness",
            title="Attacks and biases",
            intro="How often the answer changed when the judged text was changed in a way that must not change it. The "
            "control is the same text asked again: what changes there changes by itself.",
            parts=tuple(robustness_table(one, robustness_about(one)) for one in measured),
        )

    def _spend(self) -> Section:
        spend = self._card["spend"]
        names = {"judge": "asking the judge", "proposer": "writing prompts", "total": "all"}
        columns = ("calls", "input_tokens", "output_tokens", "cost")
        rows = [
            [
                names.get(purpose, purpose),
                *(f"{one[name]:.4f}" if name == "cost" else one[name] for name in columns),
            ]
            for purpose, one in (spend.get("by_purpose") or {}).items()
        ]
        parts = [table("", ["for", "calls", "input tokens", "output tokens", "USD"], rows)] if rows else []
        return Section(name="cost", title="What it cost", parts=(*parts, Lines(texts=(spend_line(spend),))))

    def _provenance(self) -> Section:
        card = self._card
        model = card.get("model") or {}
        rows = [
            ("judge", f"{card['judge']}, variant {card['variant']}"),
            (
                "optimizer",
                f"{card['optimizer']['name']}, seed {self._seed}, {card['optimizer'].get('ending', '')}",
            ),
            ("model", f"{model.get('name')}, temperature {model.get('temperature')}"),
            ("prompts written by", str((card.get("prompt_model") or {}).get("name"))),
            ("samples", self._sampling.words),
            ("openings of the test", str(self._openings)),
            ("gold sha256", card["gold"]["sha256"]),
            ("artifact sha256", self.artifact.sha256),
            *((f"version of {name}", version) for name, version in (card.get("versions") or {}).items()),
        ]
        return Section(name="provenance", title="Where it comes from", parts=(Facts(rows=tuple(rows)),))

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
            yield "What a text that argues with the judge achieves: jurist harden measures it."
