"""The settings of asking a judge, as one value that jobs, loaded judges and askers hold and hand on whole."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..engines.models import Model
from ..errors import UsageError
from ..evaluation.votes import Probabilities, Sampling, Stopping
from .judge import Judge
from .own_answer import OwnAnswer

if TYPE_CHECKING:
    from .word_rule import WordRule

DEFAULT_REDRAWS = 1
"""The most further draws of a case where a reply cannot be read: in a run, a search and a proof alike."""


@dataclass(frozen=True, kw_only=True)
class AskSettings:
    """The settings of asking a judge, beside the words of its prompt and the model that answers.

    Attributes:
        sampling: samples and threshold.
        adapter: the format of the prompt, ``chat``, ``json`` or ``plain``. ``None`` where neither a user nor a version
            names one: the judge's own format is used, and a job may try another if replies cannot be read.
        concurrency: cases in flight at once, at least 1.
        redraws: how often a judge's samples of a case are drawn once more, at most, where a reply cannot be read.
        stopping: when drawing ends. ``settled`` ends it as soon as no outcome can change, with the same labels and
            status, unless the machinery would have failed on a sample that was not drawn. A threshold that is fitted
            on the votes afterwards needs ``all``.
        probabilities: whether the probabilities of labels are asked for with each reply.
        verifier: the model that answers the program's frozen steps; ``None`` for the judge's model at temperature 0.
        embedder: the model by whose vectors a search chooses the rows that a prompt shows; ``None`` for words alone.
        words: the rule by which words decide, alone or with the model's replies; ``None`` where replies alone decide.
        asks_model: whether the model is asked; not where words decide alone.
        own_answer: how the model is asked for its own answer to the task before it judges; ``None`` where it is not.
    """

    sampling: Sampling = field(default_factory=Sampling)
    adapter: str | None = None
    concurrency: int = 8
    redraws: int = 0
    stopping: Stopping = "all"
    probabilities: Probabilities = "votes"
    verifier: Model | None = None
    embedder: str | None = None
    words: "WordRule | None" = None
    asks_model: bool = True
    own_answer: OwnAnswer | None = None

    def __post_init__(self) -> None:
        """Refuse a concurrency that would wait for ever."""
        if self.concurrency < 1:
            raise UsageError(f"a concurrency of {self.concurrency} asks nothing", hint="give 1 or more")

    @property
    def rule(self) -> str:
        """The rule that makes a verdict of replies, in words that no other rule has."""
        if self.words is None:
            return self.sampling.rule
        return f"{self.words.description} ({self.words.digest})"

    def adapter_of(self, judge: Judge) -> str:
        """Return the name of the adapter in which a judge is asked."""
        return self.adapter or judge.default_adapter


FOR_NEW_ROWS = AskSettings(redraws=DEFAULT_REDRAWS, stopping="settled")
"""The settings by which new rows are judged, unless a user names others."""

FOR_SEARCHES = AskSettings(redraws=DEFAULT_REDRAWS, probabilities="tokens")
"""The settings by which candidates are judged: as new rows, but with all samples, on which thresholds are fitted."""
