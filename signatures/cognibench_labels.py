"""The labels of a sentence (CogniBench section 2, figures 3 and 10). Rows hold them too, and are read without DSPy."""

from typing import Literal, get_args

SentenceLabel = Literal[
    "irrelevant", "faithful", "invented", "misleading", "speculative", "reliable", "irrefutable"
]
LABELS: tuple[str, ...] = get_args(SentenceLabel)
StatementType = Literal["irrelevant", "factual", "cognitive"]
Faithfulness = Literal["faithful", "invented"]
Tier = Literal["misleading", "speculative", "reliable", "irrefutable"]
StageLabel = Literal["irrelevant", "faithful", "invented", "cognitive"]
TIERS: tuple[str, ...] = get_args(Tier)
ECHO_LABELS = ("irrelevant", "faithful", "hallucinated")
"""The three tags of the paper's first stage (section 3.1, table 6)."""
STAGE_LABELS: tuple[str, ...] = get_args(StageLabel)
