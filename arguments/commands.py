"""Every command, in the order in which help lists them. A new one is a line here, its options, and what it does."""

from .artifacts import ARTIFACTS, REPORT
from .catalogue import COMPLETION, EXPORT, JUDGES, NEW
from .command import Command
from .compile import COMPILE, PROVE
from .generate import ASSESS, BENCHMARK, DATASET, DIALOGUE, HALUAGENT, ITEMS
from .gold import GOLD, REVIEW
from .run import BATCH, JOIN, RUN, SERVE, SHARE
from .scoring import COMPARE, EVALUATE, GATE, HARDEN
from .table import THREE, TRAINING

COMMANDS: tuple[Command, ...] = (
    JUDGES,
    NEW,
    COMPILE,
    EVALUATE,
    RUN,
    JOIN,
    SHARE,
    *BATCH,
    SERVE,
    COMPARE,
    PROVE,
    GATE,
    HARDEN,
    THREE,
    REPORT,
    REVIEW,
    EXPORT,
    TRAINING,
    *ARTIFACTS,
    *GOLD,
    DIALOGUE,
    DATASET,
    ITEMS,
    BENCHMARK,
    HALUAGENT,
    ASSESS,
    COMPLETION,
)

GROUPS = {
    "artifacts": "compiled judges: list, show, compare, tag, verify, hand on, choose another candidate",
    "batch": "run a judge through a Batch API: submit, status, collect, cancel",
    "generate": "write from documents: dialogues, labelled datasets, the items of any generator",
    "gold": "check, import and split gold sets, have them labelled; agreement of raters",
    "table": "a paper's table on any gold: detectors side by side",
}
"""What the commands of two words are about, by the first."""
