"""Classifiers that run here, behind the channel as endpoints are: counted, limited and kept in journals alike.

One call is one response, without tokens and without cost. Question and answer are JSON texts.
"""

import asyncio
import json
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import dspy
from dspy.lm15 import Message, Request, Response, Usage

from ..errors import ModelError

Loaded = TypeVar("Loaded")
_LONGEST = 512  # tokens, for models that do not say how many they take


class LocalEngine(ABC, Generic[Loaded]):
    """What answers behind the channel. The model is loaded at once: nobody pays for what it is to compare before."""

    kind: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    extra: ClassVar[str]

    def __init__(self, model: str, loaded: Loaded | None = None) -> None:
        missing = [name for name in self.needs if find_spec(name) is None]
        if loaded is None and missing:
            raise ModelError(
                f"{self.kind}:{model} needs {' and '.join(missing)}",
                hint=f"install it with: pip install 'jurist[{self.extra}]'",
            )
        self.model, self._lock = model, threading.Lock()
        self._loaded = self.load() if loaded is None else loaded

    @abstractmethod
    def load(self) -> Loaded:
        """Load the model. Raises :class:`ModelError` if it cannot be used."""

    @abstractmethod
    def answer(self, loaded: Loaded, asked: Mapping[str, Any]) -> Any:
        """Return the answer to one question, as JSON values."""

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Answer one request."""
        asked = json.loads(request.messages[-1].text or "")
        with self._lock:  # tokenizers cannot be shared, and more threads than cores gain nothing
            said = self.answer(self._loaded, asked)
        response = Response(
            id=None,
            model=request.model,
            message=Message.assistant(json.dumps(said)),
            finish_reason="stop",
            usage=Usage(input_tokens=0, output_tokens=0),
        )
        return response, 0.0

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Do the same in a thread."""
        return await asyncio.to_thread(self.complete, request)


async def said_of(**asked: Any) -> Any:
    """Ask the classifier that is the language model in hand, and return what it says; ``None`` if that is no JSON."""
    lm = dspy.settings.lm
    question = Message.user(json.dumps(asked, ensure_ascii=False))
    response = await lm.acall(Request(model=lm.model, messages=(question,)))
    try:
        return json.loads(response.message.text or "")
    except ValueError:
        return None


@contextmanager
def loading(kind: str, model: str, hint: str) -> Iterator[None]:
    """Load ``model`` with transformers in this block: quietly, and a model that cannot be loaded is one line."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it announces every try
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        said = str(error).strip().splitlines()[0][:200].rstrip(".")
        where = "" if Path(model).is_dir() else "is no folder here and "
        raise ModelError(f"{kind}:{model} {where}cannot be loaded: {said}", hint=hint) from error


def window(config: Any, tokenizer: Any) -> int:
    """Return how many tokens a model takes."""
    positions = getattr(config, "max_position_embeddings", None) or _LONGEST
    if getattr(config, "model_type", "") in ("roberta", "xlm-roberta", "camembert"):
        positions -= 2  # positions begin after the padding index
    return int(
        min(positions, tokenizer.model_max_length if tokenizer.model_max_length < 10**6 else positions)
    )
