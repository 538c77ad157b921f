"""``nearest``: with each call, the labelled rows most like the one that is judged."""

from dataclasses import dataclass

from ..candidate import Candidate
from ..demonstrations import add_remembered_rows, list_demonstrable_cases
from ..raced import Raced, Track
from ..settings import CountFromOne, CountsFromOne


@dataclass(frozen=True, kw_only=True)
class Nearest(Raced):
    """Labelled rows that stay with the prompt: each call shows those most like its own row."""

    sizes: CountsFromOne = (8, 16, 4)  # rows a call, one number a step
    tokens: CountFromOne = 4_000  # the rows of a call take at most about so many
    steps: CountFromOne = 3
    name: str = "nearest"

    @property
    def shows_nearest_rows(self) -> bool:
        """Whether its prompts show labelled rows that are like the one that is judged: always."""
        return True

    @property
    def most_demonstrations(self) -> int:
        """The most rows that a call shows."""
        return max(self.sizes, default=0)

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter the leader with all labelled rows of train as remembered rows."""
        if turn > len(self.sizes):
            return []
        count = self.sizes[turn - 1]
        leader = track.text
        job = track.job
        state = add_remembered_rows(
            job.judge, list_demonstrable_cases(job), leader.state, count, self.tokens, job.settings.embedder
        )
        source = f"{self.name}, the {count} most alike of the labelled rows"
        return track.fresh(state, parent=leader, source=source, demo_ids=(), params={"nearest": count})


optimizer = Nearest
