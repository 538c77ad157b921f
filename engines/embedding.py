"""The vectors of texts: an endpoint for embeddings, called as every model is, and a memory of its vectors."""

from __future__ import annotations

import asyncio
import json
import math
import struct
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import dspy
import numpy as np
from dspy import LMProviderError
from dspy.lm15 import Config, Message, Request, Response, Usage
from numpy.typing import NDArray

from ..errors import ModelError, UsageError
from ..text.ranking import AT_ONCE, embeddable, packed, unpacked
from .channel import Channel
from .draws import change_draw, current_draw
from .models import Endpoint, Model, connect

Vectors: TypeAlias = NDArray[np.float32]
_MOST_VECTORS: Final = 10_000
"""Texts whose vectors an embedder remembers at most."""


def count_requests(texts: int) -> int:
    """Return how many requests it takes to embed a number of texts."""
    return math.ceil(texts / AT_ONCE)


class EmbeddingEndpoint(Endpoint):
    """An endpoint with OpenAI's ``/embeddings``, which answers texts with their vectors."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        if not self._direct.fits or not self._direct.provider.startswith("openai"):
            hint = "name an endpoint that has OpenAI's /embeddings: openai/NAME, elsewhere with --api-base"
            raise UsageError(f"{model.name} cannot be asked for embeddings", hint=hint)

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Return the response, whose text holds the vectors, and its cost in US dollars, ``None`` if not known."""
        texts = [message.text for message in request.messages]
        with self._in_time(request, request):
            async with asyncio.timeout(self._timeout):
                reply = await self._direct.embed(texts)
        try:
            packs = _packed_vectors(reply["data"], len(texts))
            tokens = int(reply["usage"]["prompt_tokens"]) if reply.get("usage") else 0
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, struct.error) as error:
            problem = "what came is not one vector of numbers for each text"
            raise LMProviderError(problem, model=self.model.name) from error
        message, usage = Message.assistant(json.dumps(packs)), Usage(input_tokens=tokens, output_tokens=0)
        name = self.model.name.partition("/")[2]
        response = Response(id=None, model=name, message=message, finish_reason="stop", usage=usage)
        return response, self._cost(request, response)


def _packed_vectors(data: Iterable[Mapping[str, Any]], number: int) -> list[str]:
    """Return the vectors in a reply for a number of texts, packed, in the order of the texts.

    Raises:
        ValueError: a vector is missing or unusable; broken data may also raise what Python raises for it.
    """
    packs = list[str]()
    for entry in sorted(data, key=lambda entry: entry.get("index", 0)):
        vector = entry["embedding"]
        if not vector or not all(map(math.isfinite, vector)):
            raise ValueError("a vector is empty, or holds what is no number")
        packs.append(packed(vector))
    if len(packs) != number:
        raise ValueError("a vector is missing, or there are too many")
    return packs


class Embedder:
    """An endpoint for embeddings and the vectors it has given, each of length 1."""

    def __init__(self, model: Model, beside: Channel) -> None:
        channel = connect(model, beside.context, beside.purpose, EmbeddingEndpoint).engine
        self._channel: Channel = channel
        self.model = model
        self._packs = OrderedDict[str, str]()
        """Text -> its vector, packed; the oldest first."""
        self._length = 0
        """Numbers in each vector; 0 before the first."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, shape (texts, numbers); texts without a remembered vector are sent."""
        for request in self._requests_for_new(texts):
            with _outside_sample():
                self._remember(request, await self._channel.acomplete(request))
        return self.remembered_vectors(texts)

    def remembered_vectors(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, shape (texts, numbers).

        Raises:
            KeyError: a text was not embedded, or so long ago that its vector is forgotten.
        """
        return np.array([unpacked(self._packs[embeddable(text)]) for text in texts], dtype=np.float32)

    def _requests_for_new(self, texts: Sequence[str]) -> Iterator[Request]:
        """Forget the oldest vectors beyond the limit, then yield the requests for texts that are not remembered."""
        while len(self._packs) > _MOST_VECTORS:
            self._packs.popitem(last=False)
        new_texts = list[str]()
        for text in dict.fromkeys(map(embeddable, texts)):
            if text not in self._packs:
                new_texts.append(text)
        for start in range(0, len(new_texts), AT_ONCE):
            messages = tuple(map(Message.user, new_texts[start : start + AT_ONCE]))
            yield Request(model=self.model.name, messages=messages, config=Config())

    def _remember(self, request: Request, response: Response) -> None:
        """Keep the vectors of a response; raises ``ModelError`` if they have not all the same length."""
        for message, vector in zip(request.messages, json.loads(response.text or "[]"), strict=True):
            length = len(unpacked(vector))
            if length != (self._length or length):
                hint = "name another --embedder"
                raise ModelError(f"{self.model.name} gives vectors of several lengths", hint=hint)
            self._length = length
            self._packs[message.text or ""] = vector


@contextmanager
def _outside_sample() -> Iterator[None]:
    """Make calls that count for the case being judged, but are no part of the sample that is drawn for it."""
    token = change_draw(sample=None, request_counts=None, labels=(), answers=None)
    try:
        yield
    finally:
        current_draw.reset(token)


def embedding_model(judge: Model, name: str) -> Model:
    """Return the embedding model beside a judge's model, with its address and key if the provider is the same."""
    limits: dict[str, Any] = {"timeout": judge.timeout, "patience": judge.patience, "rpm": judge.rpm}
    if judge.name.partition("/")[0] != name.partition("/")[0]:
        return Model(name=name, **limits)
    return Model(name=name, api_base=judge.api_base, key_env=judge.key_env, headers=judge.headers, **limits)


def embedder_beside(lm: dspy.LM | None, name: str) -> Embedder | None:
    """Return the embedder whose calls are counted and limited with those of a language model.

    Returns:
        ``None`` where nothing is sent: without a model, and beside an engine of this process, such as the offline
        engine that prices work beforehand.
    """
    channel = getattr(lm, "engine", None)  # a missing model is reported by DSPy
    if not isinstance(channel, Channel) or not isinstance(channel.inner, Endpoint):
        return None
    embedders = channel.context.embedders
    model = embedding_model(channel.inner.model, name)
    if model not in embedders:
        embedders[model] = Embedder(model, channel)
    embedder: Embedder = embedders[model]
    return embedder
