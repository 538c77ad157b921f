"""The card of an artifact, ``card.json``: one model reads it, with what older versions lack, checks and writes it."""

from __future__ import annotations

import inspect
import keyword
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from ..arguments.groups import JUDGE_OPTIONS, Effort
from ..evaluation.plain import plain_parts
from ..evaluation.trust import Trust
from ..evaluation.votes import Sampling
from ..text.redaction import publishable
from ..text.templates import CHAT

if TYPE_CHECKING:
    from ..engines.models import Model
    from ..programs.judge import Judge

_WRITTEN = (
    *("parent", "optimizer", "model", "prompt_model", "gold", "scores", "decision"),
    *("spend", "thresholds", "judge_ref"),
)
"""What every card names, if only as ``null``."""
Votes = Annotated[int, Field(ge=1, le=1000)]


def _check_identifier(name: str) -> str:
    """Return a name that can be a field in Python; exported files and schemas hold such names."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError("the name of a field must be a Python identifier")
    return name


Identifier = Annotated[str, AfterValidator(_check_identifier)]


def _check_definition(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a judge whose fields all have usable names."""
    _DEFINED_FIELDS.validate_python(definition.get("fields", []))
    return definition


class _DefinedField(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: Identifier


_DEFINED_FIELDS = TypeAdapter(list[_DefinedField])
Definition = Annotated[dict[str, Any], AfterValidator(_check_definition)]
"""A judge as data, see :mod:`jurist.programs.definition`."""
Weights = dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        """Leave out what a card names as ``null`` only: it is as if it were not there."""
        if not isinstance(data, Mapping):
            return data
        return {name: value for name, value in data.items() if value is not None}


class _OfJudge(_Part):
    """What tells of a judge: it holds the values of the judge's options under their names."""

    @property
    def option_values(self) -> dict[str, str]:
        """The value of each option that the judge had."""
        further = self.model_extra or {}
        return {name: str(further[name]) for name in JUDGE_OPTIONS if name in further}


class _Thresholds(_Part):
    samples: Votes = 1
    threshold: Votes | Annotated[float, Field(gt=0, lt=1)] | None = None
    weights: Weights | None = None

    @property
    def sampling(self) -> Sampling:
        """What they are of."""
        return Sampling(**vars(self))

    @model_validator(mode="after")
    def _fits(self) -> _Thresholds:
        if self.threshold is not None and self.threshold > self.samples:
            raise ValueError(f"a threshold of {self.threshold} is above {self.samples} samples")
        return self


class ModelCard(_Part):
    """A model, without credentials."""

    name: str = ""
    api_base: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    reasoning_effort: Effort | None = None
    body: dict[str, Any] | None = None

    def model(self, api_base: str | None = None, timeout: float = 120.0) -> Model:
        """Return the model, at another address if one is given."""
        from ..engines.models import Model

        known = {name: value for name, value in vars(self).items() if value is not None}
        known["body"] = self.body or {}
        return Model(**{**known, "api_base": api_base or self.api_base, "timeout": timeout})


class _Setting(_Part):
    threshold: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    weights: Weights | None = None
    form: str | None = None


class _Gold(_Part):
    source: str | None = None
    mapping: dict[Literal["columns", "labels"], dict[str, str]] = {}
    seen: list[str] = []
    shares: list[float] = []
    common: list[str] = []
    parts: dict[str, list[str]] = {}
    holdout: dict[str, Any] | None = None


NOTHING_BETTER = "nothing better found"
"""The verdict of a compilation that keeps the basic prompt: nothing was asked of the sealed test."""


class _Decision(_Part):
    metric: str | None = None
    higher_is_better: bool | None = None
    verdict: str | None = None
    words: str = ""

    @property
    def keeps_basic(self) -> bool:
        """Whether the compilation found nothing better than the basic prompt, so that nothing was proven."""
        return self.verdict == NOTHING_BETTER


class _Optimizer(_Part):
    name: str | None = None
    seed: int | None = None
    candidate: str | None = None


class _JobCard(_Part):
    """How the compilation asked, where its search chose otherwise."""

    model: ModelCard = ModelCard()
    adapter: str | None = None
    samples: int | None = None
    threshold: int | float | None = None


class MemberCard(_OfJudge):
    """A judge of a cascade, whole, as it was when the level was chosen."""

    judge: str
    reference: str
    definition: Definition | None = None
    prompt: dict[str, Any]
    model: ModelCard
    verifier: ModelCard | None = None
    adapter: str
    thresholds: _Thresholds
    # how probable it is that it agrees with people
    trust: Annotated[Trust, BeforeValidator(TypeAdapter(Trust).validate_python)]


class _Cascade(_Part):
    level: float
    members: list[MemberCard]


class Card(_OfJudge):
    """What a card says."""

    judge: str
    version: Annotated[int, Field(ge=1)]
    parent: int | None = None
    labels: list[str] | None = None
    positive: list[str] | None = None
    inputs: list[Identifier] = []
    types: dict[Identifier, Any] = {}
    thresholds: _Thresholds = _Thresholds()
    setting: _Setting = _Setting()
    adapter: str | None = None
    judge_ref: str = ""
    judge_sha256: str | None = None
    judge_code: str | None = None
    definition: Definition | None = None
    model: ModelCard = ModelCard()
    prompt_model: ModelCard = ModelCard()
    verifier: ModelCard | None = None
    job: _JobCard = _JobCard()
    gold: _Gold = _Gold()
    scores: dict[str, dict[str, Any] | None] | None = None
    decision: _Decision = _Decision()
    references: dict[str, dict[str, Any] | None] | None = None
    warnings: list[str] | None = None
    optimizer: _Optimizer = _Optimizer()
    tokens_per_row: dict[str, dict[str, float]] = {}
    dollars_per_1000_rows: dict[str, float] | None = None
    seconds_per_row: dict[str, float] = {}
    test_openings: int = 1
    spend: dict[str, Any] | None = None
    cascade: _Cascade | None = None
    guidelines: list[dict[str, Any]] = []
    versions: dict[str, str] = {}
    sha256: str | None = None

    @classmethod
    def fault(cls, data: Mapping[str, Any]) -> str:
        """Return on one line what a card says that none can say; empty if nothing."""
        try:
            cls.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            place = ".".join(map(str, first["loc"]))
            message = first["msg"].removeprefix("Value error, ")
            return f"{place}: {message}, not {str(first['input'])[:60]!r}"
        return ""

    @property
    def reference(self) -> str:
        """How the judge was named when it was compiled."""
        return self.judge_ref or self.judge

    @property
    def hashes(self) -> frozenset[str]:
        """What it keeps of the file that its judge stood in; empty if nothing."""
        return frozenset(filter(None, (self.judge_sha256, self.judge_code)))

    @property
    def parts(self) -> dict[str, str]:
        """The part of each group in its split, by the hash of the group's name."""
        return {name: part for part, names in self.gold.parts.items() for name in names}

    @property
    def forms(self) -> tuple[str, str]:
        """The form of the basic prompt, and that of the compiled one."""
        compiled = self.adapter or CHAT
        return self.job.adapter or compiled, compiled

    @property
    def tokens_words(self) -> str:
        """``396 -> 3,481 (8.8 times)``, basic and compiled; empty where it does not tell."""
        before, after = (
            sum((self.tokens_per_row.get(name) or {}).values()) for name in ("basic", "compiled")
        )
        return _changed(before, after, ",.0f") if before or after else ""

    @property
    def price_words(self) -> str:
        """What a row takes, before and after compiling, in one line; empty where it does not tell."""
        if not (tokens := self.tokens_words):
            return ""
        output = (f"{self.tokens_per_row[name]['output']:,.0f}" for name in ("basic", "compiled"))
        words = f"tokens a row: {tokens}, of these output {' -> '.join(output)}"
        dollars = self.dollars_per_1000_rows
        return f"{words}; dollars per 1,000 rows: {_changed(**dollars, form='.3g')}" if dollars else words


def _changed(basic: float, compiled: float, form: str) -> str:
    times = f" ({compiled / basic:.1f} times)" if basic else ""
    return f"{basic:{form}} -> {compiled:{form}}{times}"


def described(model: Model) -> dict[str, Any]:
    """Return a model as a card shows it, without credentials; :meth:`ModelCard.model` makes it again."""
    parts = plain_parts(model, "name", "api_base", "temperature", "max_tokens", "seed")
    return {**parts, **model.further_settings}


def task_of(judge: Judge) -> dict[str, Any]:
    """Return what a card says of a judge's fields, and of the frozen steps that make another score of it."""
    wanted = (*judge.input_fields, *judge.answer.fields)  # the items of a generator are no field
    types = {name: _type(info.annotation) for name, info in judge.signature.fields.items() if name in wanted}
    return {
        "inputs": list(judge.input_fields),
        "output_field": ", ".join(judge.answer.fields),
        "types": types,
        **({"frozen": judge.frozen} if judge.frozen else {}),
    }


def _type(annotation: Any) -> dict[str, Any]:
    """Return a type as its JSON schema; one that has none by its Python name."""
    try:
        return TypeAdapter(annotation).json_schema()
    except PydanticUserError:
        return {"python": inspect.formatannotation(annotation)}


def written_card(judge: Judge, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the card to write, without version and seal: what is known, made publishable, and the judge's."""
    from ..programs.definition import definition_of

    known = publishable(dict(known))
    definition = definition_of(judge)
    made = {name: metadata.version(name) for name in ("jurist", "dspy")} | {
        "python": platform.python_version()
    }
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        **dict.fromkeys(_WRITTEN),
        **known,
        "judge": judge.name,
        "variant": judge.variant,
        **judge.answer.scale.identity(),
        **task_of(judge),
        **judge.option_values,
        **({"definition": definition} if definition else {}),
        "versions": {**made, **(known.get("versions") or {})},
    }
