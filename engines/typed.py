"""What was asked, beside the prompt that says it: signature, demonstrations and inputs as they are."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import dspy


@dataclass(frozen=True, kw_only=True, eq=False)
class TypedRequest:
    """One request as it was before it became a prompt."""

    adapter: dspy.Adapter  # what writes the prompt, and the form in which a reply is expected
    signature: type[dspy.Signature]  # fields, types and instruction
    demos: Sequence[Mapping[str, Any]]  # demonstrations, field -> value; fields may be missing
    inputs: Mapping[str, Any]  # input field -> value


typed_request: ContextVar[TypedRequest | None] = ContextVar("jurist_typed_request", default=None)
"""The request whose prompt is being answered in this context."""
