"""The types of hallucinations, and the words of verifiers (C-FAITH, Table 1). Rows hold them; no DSPy is needed."""

from typing import Final, Literal, get_args

HallucinationType = Literal["fabrication", "attribute", "entity", "relation", "spatiotemporal", "reference"]
"""The six types of Table 1."""

TYPES: Final[tuple[HallucinationType, ...]] = get_args(HallucinationType)

Verdict = Literal["yes", "no", "uncertain"]
"""What a verifier says; only yes passes."""
