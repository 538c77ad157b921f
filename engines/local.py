"""Classifiers that run here, behind the channel as endpoints are: one call, no tokens, no cost."""

import asyncio
import json
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeAlias

import dspy
from dspy.lm15 import Message, Request, Response, Usage

from ..errors import ModelError
from ..text.wording import is_chinese, passages

_LONGEST = 512  # tokens, for models that do not say how many they take


class LocalEngine(ABC):
    """What answers behind the channel. The model is loaded at once: nobody pays for what it is to compare before."""

    kind: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    extra: ClassVar[str]

    def __init__(self, model: str) -> None:
        missing = [name for name in self.needs if find_spec(name) is None]
        if missing:
            raise ModelError(
                f"{self.kind}:{model} needs {' and '.join(missing)}",
                hint=f"install it with: pip install 'jurist[{self.extra}]'",
            )
        self._lock = threading.Lock()

    @abstractmethod
    def answer(self, asked: Mapping[str, Any]) -> Any:
        """Return the answer to one question, as JSON values."""

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Answer one request."""
        asked = json.loads(request.messages[-1].text or "")
        with self._lock:  # tokenizers cannot be shared, and more threads than cores gain nothing
            said = self.answer(asked)
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


_LETTUCE_READS = 4096  # tokens; what LettuceDetect's models were trained with
_ROOM = 2  # of so many parts of the window, a response may fill one


class LettuceEngine(LocalEngine):
    """Marks the spans of a response that its context does not bear out (LettuceDetect), or says ``null``."""

    # A context is read in passages, as many at once as the model takes: a token counts as borne out only if
    # every group of passages says so.

    kind, extra, needs = "lettuce", "detectors", ("lettucedetect", "torch", "transformers")

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._detector = load_detector(model)

    def answer(self, asked: Mapping[str, Any]) -> Any:
        """Return (start, end) of each span in the response, or ``None`` if it is too long to be read."""
        detector, text = self._detector, asked["response"]
        size = len(detector.tokenizer(text, add_special_tokens=False)["input_ids"])
        if size > detector.max_length // _ROOM:
            return None
        detector.lang = "cn" if is_chinese(text) else "en"
        context = list(passages(asked["reference"])) or [""]
        found = detector.predict(context, text, asked["dialogue"] or None, output_format="spans")
        return [(int(span["start"]), int(span["end"])) for span in found]


def load_detector(model: str) -> Any:
    """Load what marks the spans of a response: a model of the hub or of a folder."""
    hint = "name a LettuceDetect model of the Hugging Face hub, or a folder that holds one"
    with loading("lettuce", model, hint):
        from lettucedetect.detectors.transformer import TransformerDetector

        detector = TransformerDetector(model)
    if detector.model.config.num_labels != 2:
        raise ModelError(f"lettuce:{model} does not tell supported tokens from others", hint=hint)
    detector.max_length = min(_LETTUCE_READS, window(detector.model.config, detector.tokenizer))
    return detector


Relation = Literal["entailment", "neutral", "contradiction"]
Chunk: TypeAlias = Mapping[str, float]
"""Class -> probability of one piece of the premise; classes other than the three relations count as neutral."""

RULES: Final[Mapping[str, Relation]] = {"nli": "entailment", "nli-contradiction": "contradiction"}
"""The start of a reference -> the relation that decides: what is not entailed, or what is contradicted."""

_BATCH = 16


def relate(chunks: Sequence[Chunk]) -> tuple[Relation, float]:
    """Return what overlapping pieces of a premise say together, and the highest probability of entailment."""
    # One that entails is enough, then one that contradicts (CogniBench, Table 3).
    tops = {max(sorted(chunk), key=lambda name: chunk[name]) for chunk in chunks}
    best = max((chunk.get("entailment", 0.0) for chunk in chunks), default=0.0)
    if "entailment" in tops:
        return "entailment", best
    return ("contradiction" if "contradiction" in tops else "neutral"), best


class NliEngine(LocalEngine):
    """Classifies the sentences of a response; ``decides`` is the relation by which they will be told."""

    kind, extra, needs = "nli", "nli", ("torch", "transformers")

    def __init__(self, model: str, *, decides: Relation = "entailment") -> None:
        super().__init__(model)
        self._classifier = load_classifier(model, decides)

    def answer(self, asked: Mapping[str, Any]) -> Any:
        """Classify."""
        found = self._classifier.classify(asked["premise"], asked["hypotheses"])
        return [{"relation": name, "entailment": round(p, 6)} for name, p in map(relate, found)]


def load_classifier(model: str, decides: Relation = "entailment") -> Any:
    """Load what decides on pairs of texts: a model of the hub or of a folder."""
    hint = "name a sequence-classification model of the Hugging Face hub, or a folder that holds one"
    with loading("nli", model, hint):
        import transformers

        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        network, about = transformers.AutoModelForSequenceClassification.from_pretrained(
            model, output_loading_info=True
        )
    if about["missing_keys"]:
        raise ModelError(
            f"nli:{model} has no weights for {min(about['missing_keys'])}: it is no trained classifier",
            hint="name a model that was trained for natural language inference",
        )
    if not tokenizer.is_fast:
        raise ModelError(f"nli:{model} has no fast tokenizer", hint="name a model that has a tokenizer.json")
    return _Transformer(network, tokenizer, relations(model, network.config.id2label, decides))


def relations(model: str, names: Mapping[int, str], decides: Relation = "entailment") -> tuple[str, ...]:
    """Return what each class of a model stands for, by its name; unknown names stand for themselves."""
    starts = {"entail": "entailment", "contradict": "contradiction", "neutral": "neutral"}
    texts = [str(names[place]) for place in sorted(names)]
    found = tuple(
        next((known for start, known in starts.items() if text.strip().lower().startswith(start)), text)
        for text in texts
    )
    if found.count("entailment") != 1:
        raise ModelError(
            f"nli:{model} has the classes {', '.join(map(str, names.values()))}: which one is entailment?",
            hint="name a model whose config.json has id2label with the name entailment",
        )
    if decides not in found:  # every sentence would pass for faithful
        raise ModelError(
            f"nli:{model} has no class contradiction",
            hint=f"use nli:{model}, or a model with the three classes of natural language inference",
        )
    return found


class _Transformer:
    """A classifier of the transformers library; one thread at a time."""

    def __init__(self, network: Any, tokenizer: Any, names: Sequence[str]) -> None:
        import torch

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._network = network.eval().to(self._device)
        self._tokenizer, self._names = tokenizer, tuple(names)
        self._limit, self._special = (
            window(network.config, tokenizer),
            tokenizer.num_special_tokens_to_add(pair=True),
        )

    def classify(self, premise: str, hypotheses: Sequence[str]) -> list[list[Chunk]]:
        """Return for each hypothesis the class probabilities of each piece of the premise, at least one piece."""
        pairs = [
            (place, piece, short)
            for place, text in enumerate(hypotheses)
            for short in [self._cut(text, self._limit // 2)[0]]  # a longer sentence is read up to there
            for piece in self._cut(premise, self._limit - self._special - self._size(short))
        ]
        found: list[list[Chunk]] = [[] for _ in hypotheses]
        for start in range(0, len(pairs), _BATCH):
            batch = pairs[start : start + _BATCH]
            rows = self._probabilities([(piece, text) for _, piece, text in batch])
            for (place, _, _), row in zip(batch, rows, strict=True):
                found[place].append(dict(zip(self._names, row, strict=True)))
        return found

    def _size(self, text: str) -> int:
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _cut(self, text: str, room: int) -> list[str]:
        """Return pieces of at most ``room`` tokens that overlap by a quarter of it; at least one."""
        spans = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        if len(spans) <= room:
            return [text]
        step = max(1, room - room // 4)
        starts = range(0, len(spans) - room + step, step)
        return [text[spans[at][0] : spans[min(at + room, len(spans)) - 1][1]] for at in starts]

    def _probabilities(self, pairs: list[tuple[str, str]]) -> list[list[float]]:
        import torch

        # A piece may come out a token longer than it was inside the whole text.
        encoded = self._tokenizer(
            [piece for piece, _ in pairs],
            [text for _, text in pairs],
            truncation="only_first",
            max_length=self._limit,
            padding=True,
            return_tensors="pt",
        ).to(self._device)
        with torch.inference_mode():
            logits = self._network(**encoded).logits
        rows: list[list[float]] = torch.softmax(logits.float(), dim=-1).tolist()
        return rows
