"""What a card must look like before anything believes it: types and ranges of all that commands read from it."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

_MOST_SAMPLES = 1000


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Thresholds(_Part):
    samples: Annotated[int, Field(ge=1, le=_MOST_SAMPLES)] = 1
    threshold: Annotated[int, Field(ge=1, le=_MOST_SAMPLES)] | Annotated[float, Field(gt=0, lt=1)] | None = (
        None
    )

    @model_validator(mode="after")
    def _fits(self) -> "_Thresholds":
        if self.threshold is not None and self.threshold > self.samples:
            raise ValueError(f"a threshold of {self.threshold} is above {self.samples} samples")
        return self


class _Setting(_Part):
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None


class _Model(_Part):
    name: str | None = None
    api_base: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    structure: str | None = None


class _Mapping(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    columns: dict[str, str] = {}
    labels: dict[str, str] = {}


class _Gold(_Part):
    source: str | None = None
    mapping: _Mapping | None = None
    seen: list[str] = []
    shares: list[float] = []
    common: list[str] = []
    parts: dict[str, list[str]] = {}
    holdout: dict[str, Any] | None = None


class _Decision(_Part):
    metric: str | None = None
    higher_is_better: bool | None = None
    verdict: str | None = None


class _Optimizer(_Part):
    name: str | None = None
    seed: int | None = None
    candidate: str | None = None


class _Cheaper(_Part):
    candidate: str
    name: str
    price: float
    less: float
    error: float


class _Card(_Part):
    judge: str
    version: Annotated[int, Field(ge=1)]
    labels: list[str] | None = None
    positive: list[str] | None = None
    inputs: list[str] | None = None
    thresholds: _Thresholds | None = None
    setting: _Setting | None = None
    strictness: str | None = None
    adapter: str | None = None
    judge_ref: str | None = None
    judge_sha256: str | None = None
    judge_code: str | None = None
    definition: dict[str, Any] | None = None
    model: _Model | None = None
    prompt_model: _Model | None = None
    verifier: _Model | None = None
    gold: _Gold | None = None
    scores: dict[str, dict[str, Any] | None] | None = None
    decision: _Decision | None = None
    references: dict[str, dict[str, Any] | None] | None = None
    warnings: list[str] | None = None
    optimizer: _Optimizer | None = None
    tokens_per_row: dict[str, dict[str, float]] | None = None
    dollars_per_1000_rows: dict[str, float] | None = None
    cheaper: list[_Cheaper] | None = None
    test_rows: dict[str, int] | None = None
    spend: dict[str, Any] | None = None
    pareto: list[dict[str, Any]] | None = None
    versions: dict[str, str] | None = None


def card_fault(card: Mapping[str, Any]) -> str:
    """Return on one line what a card says that none can say; empty if nothing."""
    try:
        _Card.model_validate(card)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}, not {str(first['input'])[:60]!r}"
    return ""
