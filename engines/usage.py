"""Token counts of a reply on one scale: providers count cached input and hidden reasoning in different ways."""

from dataclasses import replace
from typing import Final

from dspy.lm15 import Usage

_HIDDEN_APART: Final = frozenset({"gemini", "vertex", "vertex-express", "xai"})
"""Providers that count hidden reasoning beside the output."""


def with_all_tokens(usage: Usage, provider: str) -> Usage:
    """Return usage whose input includes all cached tokens and whose output includes hidden reasoning."""
    input_tokens, output_tokens = usage.input_tokens, usage.output_tokens
    # Anthropic counts what its cache reads and writes beside the input.
    if input_tokens is not None and "anthropic" in provider:
        input_tokens += (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    if output_tokens is not None and _counts_reasoning_apart(usage, provider):
        output_tokens += usage.reasoning_tokens or 0
    has_both = input_tokens is not None and output_tokens is not None
    is_unchanged = input_tokens == usage.input_tokens and output_tokens == usage.output_tokens
    if has_both and is_unchanged and usage.total_tokens == input_tokens + output_tokens:
        return usage
    return replace(usage, input_tokens=input_tokens, output_tokens=output_tokens, total_tokens=None)


def _counts_reasoning_apart(usage: Usage, provider: str) -> bool:
    """Say whether hidden reasoning is counted beside the output, as the provider does or the total of a reply shows."""
    if provider in _HIDDEN_APART:
        return True
    # A gateway that speaks OpenAI's protocol may pass on the counts of such a provider.
    if not usage.reasoning_tokens or usage.input_tokens is None or usage.output_tokens is None:
        return False
    total: int = usage.input_tokens + usage.output_tokens + usage.reasoning_tokens
    return bool(usage.total_tokens == total)
