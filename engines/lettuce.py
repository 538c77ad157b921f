"""LettuceDetect's models: token classifiers that mark the spans of a response that its context does not bear out.

Needs the extra ``detectors`` (the package ``lettucedetect``). It reads a context in passages, as many at once as the
model takes, and a token counts as borne out only if every group of passages says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..errors import ModelError
from ..text.wording import is_chinese, passages
from .local import LocalEngine, loading, window

_LONGEST = 4096  # tokens; what LettuceDetect's models were trained with
_ROOM = 2  # of so many parts of the window, a response may fill one


class SpanFinder(Protocol):
    """What marks one response."""

    def find(self, context: Sequence[str], question: str, answer: str) -> list[tuple[int, int]] | None:
        """Return (start, end) of each span in the answer, or ``None`` if it is too long to be read."""


class LettuceEngine(LocalEngine[SpanFinder]):
    """Answers with the spans, or ``null``."""

    kind, extra, needs = "lettuce", "detectors", ("lettucedetect", "torch", "transformers")

    def load(self) -> SpanFinder:
        """Load the model. Raises what :func:`load_finder` raises."""
        return load_finder(self.model)

    def answer(self, loaded: SpanFinder, asked: Mapping[str, Any]) -> Any:
        """Mark one response."""
        context = list(passages(asked["reference"])) or [""]
        return loaded.find(context, asked["dialogue"], asked["response"])


def load_finder(model: str) -> SpanFinder:
    """Load a model of the hub or of a folder."""
    hint = "name a LettuceDetect model of the Hugging Face hub, or a folder that holds one"
    with loading("lettuce", model, hint):
        from lettucedetect.detectors.transformer import TransformerDetector

        detector = TransformerDetector(model)
    if detector.model.config.num_labels != 2:
        raise ModelError(f"lettuce:{model} does not tell supported tokens from others", hint=hint)
    detector.max_length = min(_LONGEST, window(detector.model.config, detector.tokenizer))
    return _Lettuce(detector)


class _Lettuce:
    """A detector of the package; one thread at a time."""

    def __init__(self, detector: Any) -> None:
        self._detector = detector

    def find(self, context: Sequence[str], question: str, answer: str) -> list[tuple[int, int]] | None:
        size = len(self._detector.tokenizer(answer, add_special_tokens=False)["input_ids"])
        if size > self._detector.max_length // _ROOM:
            return None
        self._detector.lang = "cn" if is_chinese(answer) else "en"
        found = self._detector.predict(list(context), answer, question or None, output_format="spans")
        return [(int(span["start"]), int(span["end"])) for span in found]
