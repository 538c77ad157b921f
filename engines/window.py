"""How much an endpoint reads at once: a request that is certainly longer is not sent.

The limit is that of the catalogue that DSPy ships, or what an endpoint's first refusal says. How many tokens a request
has at least follows from its bytes: six of them a token, more than texts of any language have, or what any request had.
"""

import re
from typing import Final, Protocol, runtime_checkable

from dspy.lm15 import Request, Response
from dspy.utils.exceptions import ContextWindowExceededError, LMError, LMInvalidRequestError

from .meter import size_of

_MOST: Final = 6.0  # bytes of a token
_SLACK: Final = 1.25
_LIMIT: Final = re.compile(r"(?:context length|context window|context size)(?: is| of) (\d+)")


@runtime_checkable
class Bounded(Protocol):
    """Who answers and reads so much at once only."""

    def check(self, request: Request) -> None:
        """Refuse a request that is certainly too long."""


class Window:
    """What one endpoint reads at once."""

    def __init__(self, model: str, limit: int | None = None) -> None:
        self._model, self._limit, self._bytes = model, limit, _MOST

    def check(self, request: Request) -> None:
        """Refuse a request that is certainly too long."""
        if self._limit is None:
            return
        tokens = int(size_of(request) / self._bytes)
        if tokens > self._limit:
            said = f"the prompt has {tokens} tokens or more, the model reads {self._limit} at once; it was not sent"
            raise ContextWindowExceededError(message=said, model=self._model)

    def heard(self, sent: Request, response: Response) -> None:
        """Take note of how many bytes a token of a request had."""
        if response.usage.input_tokens:
            self._bytes = max(self._bytes, _SLACK * size_of(sent) / response.usage.input_tokens)

    def learn(self, error: LMError) -> None:
        """Take note of the limit that a refusal names."""
        found = _LIMIT.search(error.message) if isinstance(error, LMInvalidRequestError) else None
        if found:
            self._limit = int(found[1])
