"""A classifier in place of a language model: does a text entail a sentence? (CogniBench, Table 3, NLI.)

Any sequence-classification model of the Hugging Face hub, or a folder, that names a class *entailment*. Needs the
extra ``nli`` (transformers and PyTorch).

A premise that is longer than the model takes is read in overlapping pieces, and a sentence is entailed if one of
them entails it: the piece whose entailment is most probable decides. If there is none, it is contradicted if one
piece contradicts it, and neutral otherwise.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias

from ..errors import ModelError
from .local import LocalEngine, loading, window

Relation = Literal["entailment", "neutral", "contradiction"]
Chunk: TypeAlias = Mapping[str, float]
"""Class -> probability of one piece of the premise; classes other than the three relations count as neutral."""

RULES: Final[Mapping[str, Relation]] = {"nli": "entailment", "nli-contradiction": "contradiction"}
"""The start of a reference -> the relation that decides: what is not entailed, or what is contradicted."""

_BATCH = 16


class Classifier(Protocol):
    """What decides on one pair of texts."""

    def classify(self, premise: str, hypotheses: Sequence[str]) -> list[list[Chunk]]:
        """Return for each hypothesis the class probabilities of each piece of the premise, at least one piece."""


def relate(chunks: Sequence[Chunk]) -> tuple[Relation, float]:
    """Return what the pieces of a premise say together, and the highest probability of entailment."""
    tops = {max(sorted(chunk), key=lambda name: chunk[name]) for chunk in chunks}
    best = max((chunk.get("entailment", 0.0) for chunk in chunks), default=0.0)
    if "entailment" in tops:
        return "entailment", best
    return ("contradiction" if "contradiction" in tops else "neutral"), best


class NliEngine(LocalEngine[Classifier]):
    """Classifies the sentences of a response."""

    kind, extra, needs = "nli", "nli", ("torch", "transformers")

    def __init__(
        self, model: str, loaded: Classifier | None = None, *, decides: Relation = "entailment"
    ) -> None:
        self.decides = decides
        super().__init__(model, loaded)

    def load(self) -> Classifier:
        """Load the model. Raises what :func:`load_classifier` raises."""
        return load_classifier(self.model, self.decides)

    def answer(self, loaded: Classifier, asked: Mapping[str, Any]) -> Any:
        """Classify."""
        found = loaded.classify(asked["premise"], asked["hypotheses"])
        return [{"relation": name, "entailment": round(p, 6)} for name, p in map(relate, found)]


def load_classifier(model: str, decides: Relation = "entailment") -> Classifier:
    """Load a model of the hub or of a folder; ``decides`` is the relation by which sentences will be told."""
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
    found = tuple(_relation(str(names[place])) for place in sorted(names))
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


def _relation(name: str) -> str:
    starts = {"entail": "entailment", "contradict": "contradiction", "neutral": "neutral"}
    lowered = name.strip().lower()
    return next((known for start, known in starts.items() if lowered.startswith(start)), name)


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
