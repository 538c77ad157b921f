"""An endpoint that is asked in batches: a store of replies stands in the place of the connection."""

import hashlib
from functools import cache

from dspy.clients.model_metadata import model_info, rate
from dspy.lm15 import Request, Response
from dspy.utils.exceptions import LMError

from ..engines.channel import says_something
from ..engines.conversion import content_of
from ..engines.draws import current_draw
from ..engines.journal import request_key
from ..engines.models import Endpoint, Model, shipped_prices
from ..engines.structure import Terms
from ..errors import AnswerPending, UsageError
from .batch_store import BatchStore, Written


class BatchEndpoint(Endpoint):
    """An endpoint behind the channel that answers what batches have brought."""

    def __init__(self, model: Model, store: BatchStore) -> None:
        super().__init__(model)
        if not self._direct.fits or not self._direct.provider.startswith("openai"):
            raise UsageError(
                f"{model.name} cannot be asked in batches",
                hint="name an OpenAI-compatible endpoint: --model openai/NAME, elsewhere with --api-base and not with "
                "OPENAI_BASE_URL",
            )
        self._store = store
        if known := store.terms(self._direct.name):
            self._terms = self._terms.as_of(known)
        self._written_with = dict[str, Terms]()

    def check(self, request: Request) -> None:
        """Refuse a request whose reply is not there yet."""
        if self._store.wants(self.written(request)):
            raise AnswerPending

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Return the response that a batch has brought, and its cost."""
        written = self.written(request)
        reply = self._store.reply(written)
        if reply.terms not in self._written_with:
            self._written_with[reply.terms] = self._terms.as_of(reply.terms)
        sent = self._written_with[reply.terms].apply(request)
        try:
            with self._in_time(sent):
                response = self._direct.read(sent, reply)
            priced = self._priced(sent, response)
        except LMError:
            self._store.forget(written)
            raise
        finally:
            if self._terms.known != written.terms:
                self._store.learned(self._direct.name, self._terms.known)
        if not says_something(response):  # the channel asks for another
            self._store.forget(written)
        return priced

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Do the same: nothing is waited for."""
        return self.complete(request)

    def written(self, request: Request) -> Written:
        """Return a request as it is sent."""
        sent, base = self._direct.written(self._terms.apply(request)), self._direct.base
        return Written(
            base=base,
            path=sent.url.removeprefix(base),
            model=self._direct.name,
            body=sent.body,
            terms=self._terms.known,
            key=hashlib.sha256(f"{base} {request_key(content_of(request))}".encode()).hexdigest(),
            case=current_draw.get().case,
        )

    def _cost(self, request: Request, response: Response) -> float | None:
        cost = super()._cost(request, response)
        return None if cost is None else cost * batch_discount(request.model)


@cache
def batch_discount(name: str) -> float:
    """Return the price of a model's call in a batch, as a share of what it costs at once: 1 where none is known."""
    shipped_prices()
    provider, _, model = name.partition("/")
    info = model_info(provider, model) or {}
    whole, batch = (rate(info, f"input_cost_per_token{suffix}") for suffix in ("", "_batches"))
    return batch / whole if whole and batch is not None else 1.0
