"""The judge ``cognibench`` in the paper's own form: the response is echoed with every sentence in tags.

Same rows, labels and rules, so that both forms can be compared on the same gold (``benchmarks/shapes.py``).
"""

from __future__ import annotations

from dataclasses import replace

from ..signatures.cognibench_tags import EchoResponse
from .answers.tags import Echoed
from .cognibench import COGNIBENCH, sentence_labels

__all__ = ["COGNIBENCH_TAGS"]

COGNIBENCH_TAGS = replace(
    COGNIBENCH,
    name="cognibench-tags",
    variant="tags",
    description="CogniBench: the same, every sentence echoed in tags and not numbered (its formative prompting)",
    signature=EchoResponse,
    answer=sentence_labels(Echoed),
)
