"""The card of an artifact, ``card.json``: one type reads it, with what older versions lack, checks and writes it."""

from __future__ import annotations

import inspect
import platform
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, PydanticUserError, TypeAdapter

from ..text.redaction import publishable
from ..text.templates import CHAT
from .card_parts import (
    AgainstCard,
    CalibrationCard,
    CascadeCard,
    CodePart,
    CountsCard,
    DecisionCard,
    Definition,
    GoldCard,
    Guideline,
    Identifier,
    JobCard,
    JudgePart,
    ModelCard,
    MoveCard,
    OptimizerCard,
    PanelCard,
    ReferenceCard,
    References,
    RefitCard,
    Scores,
    SealedRowsCard,
    SettingCard,
    ThresholdCard,
    TokensCard,
    WordsCard,
)
from .part import Count, Figure
from .spend_card import SpendCard

if TYPE_CHECKING:
    from ..programs.judge import Judge

_ALWAYS_WRITTEN = (
    "parent",
    "optimizer",
    "model",
    "prompt_model",
    "gold",
    "scores",
    "decision",
    "spend",
    "thresholds",
    "judge_ref",
)
"""What every card names, if only as ``null``."""


class CardContent(CodePart):
    """The content of a card that the job provides; the store adds the judge, the number and the seal."""

    # Where it comes from.
    parent: Count | None = None
    refit: RefitCard | None = None
    judge_ref: str = ""
    call_sha256: str | None = None  # of the call that compiled it; the same call returns this version
    optimizer: OptimizerCard = OptimizerCard()
    guidelines: list[Guideline] = []
    gold: GoldCard = GoldCard()
    versions: dict[str, str] = {}
    # How it is asked.
    model: ModelCard = ModelCard()
    prompt_model: ModelCard = ModelCard()
    verifier: ModelCard | None = None
    adapter: str | None = None
    structure: str | None = None
    setting: SettingCard = SettingCard()
    words: WordsCard | None = None
    thresholds: ThresholdCard = ThresholdCard()
    job: JobCard = JobCard()
    cascade: CascadeCard | None = None
    panel: PanelCard | None = None
    # What the sealed test has shown.
    scores: dict[str, Scores | None] | None = None
    counts: dict[str, CountsCard] = {}
    decision: DecisionCard = DecisionCard()
    references: References = {}
    warnings: list[str] = []
    calibration: dict[str, CalibrationCard] = {}
    inconsistent: dict[str, Count] = {}
    against: AgainstCard | None = None
    moved: MoveCard | None = None
    test_openings: Count = 1
    test_rows: SealedRowsCard = SealedRowsCard()
    # What it takes.
    spend: SpendCard | None = None
    tokens_per_row: dict[str, TokensCard | None] = {}
    dollars_per_1000_rows: dict[str, Figure] = {}
    seconds_per_row: dict[str, Figure] = {}

    def joined(self, *parts: CardContent) -> Self:
        """Return the content with all that the parts say; of a name that several set, the last one counts."""
        content = self.to_json()
        for part in parts:
            content |= part.to_json()
        return self.model_validate(content)

    def only(self, *names: str) -> CardContent:
        """Return the content without all other names."""
        content = {name: value for name, value in self.to_json().items() if name in names}
        return CardContent.model_validate(content)

    @property
    def addresses(self) -> list[str]:
        """The addresses of all models that are asked for the version, its cascade's judges among them."""
        cards = [self.model, self.prompt_model, self.job.model, self.verifier]
        if self.cascade is not None:
            for member in self.cascade.members:
                cards += [member.model, member.verifier]
        addresses: list[str] = []
        for card in cards:
            if card is None:
                continue
            for model in card.each:
                if model.api_base is not None:
                    addresses.append(model.api_base)
        return addresses

    @property
    def member_references(self) -> dict[str, ReferenceCard]:
        """The models of a panel, each with its score alone, the best one first; empty of a single model."""
        references: dict[str, ReferenceCard] = {}
        for name in self.panel.answered if self.panel else ():
            reference = self.references.get(name)
            if reference is not None:
                references[name] = reference
        is_higher_better = self.decision.higher_is_better is not False
        best_first = sorted(references, key=lambda name: references[name].score, reverse=is_higher_better)
        return {name: references[name] for name in best_first}

    @property
    def proven_scores(self) -> dict[str, Scores]:
        """The scores of each prompt, without the prompts that have none."""
        return {name: scores for name, scores in (self.scores or {}).items() if scores is not None}

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """The warnings of the decision, and those beside it."""
        return tuple(self.decision.warnings + self.warnings)

    @property
    def parts(self) -> dict[str, str]:
        """The part of each group in its split, by the hash of the group's name."""
        part_of_group: dict[str, str] = {}
        for part, groups in self.gold.parts.items():
            part_of_group.update(dict.fromkeys(groups, part))
        return part_of_group

    @property
    def forms(self) -> tuple[str, str]:
        """The adapter of the basic prompt, and that of the compiled one."""
        compiled = self.adapter or CHAT
        return self.job.adapter or compiled, compiled

    def tokens_of(self, system: str) -> TokensCard:
        """Return the tokens a row of ``basic`` or ``compiled``; none where the card does not tell."""
        return self.tokens_per_row.get(system) or TokensCard()

    @property
    def tokens_words(self) -> str:
        """``396 -> 3,481 (8.8 times)``, basic and compiled; empty where the card does not tell."""
        basic, compiled = self.tokens_of("basic").total, self.tokens_of("compiled").total
        if not basic and not compiled:
            return ""
        return _changed_words(basic, compiled, ",.0f")

    @property
    def price_words(self) -> str:
        """The price of a row before and after compiling, in one line; empty if the card has none."""
        tokens = self.tokens_words
        if not tokens:
            return ""
        outputs = f"{self.tokens_of('basic').output:,.0f} -> {self.tokens_of('compiled').output:,.0f}"
        words = f"tokens a row: {tokens}, of these output {outputs}"
        dollars = self.dollars_per_1000_rows
        if "basic" not in dollars or "compiled" not in dollars:
            return words
        changed = _changed_words(dollars["basic"], dollars["compiled"], ".3g")
        return f"{words}; dollars per 1,000 rows: {changed}"


class Card(JudgePart, CardContent):
    """All that the card of a version says."""

    judge: str
    version: Annotated[int, Field(ge=1)]
    created: str = ""
    variant: str | None = None
    labels: list[str] | None = None
    positive: list[str] | None = None
    inputs: list[Identifier] = []
    output_field: str | None = None
    types: dict[Identifier, Any] = {}
    verifiers: dict[str, str] = {}
    frozen: Any = None
    definition: Definition | None = None
    files: dict[str, str] = {}
    sha256: str | None = None

    @property
    def reference(self) -> str:
        """The name that the judge had when it was compiled."""
        return self.judge_ref or self.judge

    @property
    def refit_words(self) -> str:
        """Sentences about a version whose parts were fitted again, and its parent's test; empty for other versions."""
        if self.refit is None:
            return ""
        return self.refit.words_of(self.version)


def _changed_words(basic: float, compiled: float, form: str) -> str:
    """Return two figures, and how many times the first the second is; without that if one of them is 0."""
    words = f"{basic:{form}} -> {compiled:{form}}"
    if not basic or not compiled:
        return words
    return f"{words} ({compiled / basic:.1f} times)"


def task_of(judge: Judge) -> dict[str, Any]:
    """Return the fields of a judge as a card has them, and the frozen steps that make another score of it."""
    # The items of a generator are no field of its answer.
    types: dict[str, object] = {}
    for name, info in judge.signature.fields.items():
        if name in judge.input_fields or name in judge.answer.fields:
            types[name] = _type_of(info.annotation)
    task: dict[str, Any] = {
        "inputs": list(judge.input_fields),
        "output_field": ", ".join(judge.answer.fields),
        "types": types,
    }
    if judge.verifying_versions:
        task["verifiers"] = judge.verifying_versions
    if judge.frozen_hash:
        task["frozen"] = judge.frozen_hash
    return task


def _type_of(annotation: Any) -> dict[str, object]:
    """Return a type as its JSON schema; one that has none by its Python name."""
    try:
        return TypeAdapter(annotation).json_schema()
    except PydanticUserError:
        return {"python": inspect.formatannotation(annotation)}


def build_card(judge: Judge, content: CardContent) -> dict[str, object]:
    """Return the card to write, without version and seal: the content without credentials, and the judge."""
    from ..programs.definition import write_definition

    public_content = publishable(content.to_json())
    versions = {
        "jurist": metadata.version("jurist"),
        "dspy": metadata.version("dspy"),
        "python": platform.python_version(),
    }
    card: dict[str, object] = {
        "created": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        **dict.fromkeys(_ALWAYS_WRITTEN),
        **public_content,
        "judge": judge.name,
        "variant": judge.variant,
        **judge.answer.scale.identity(),
        **task_of(judge),
        **judge.option_values,
        "versions": {**versions, **(public_content.get("versions") or {})},
    }
    definition = write_definition(judge)
    if definition:
        card["definition"] = definition
    return card
