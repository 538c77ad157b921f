"""Every command, in the order in which help lists them. A new one is a line here, its options, and what it does."""

from .artifacts import ARTIFACTS
from .batch import BATCH
from .command import Command
from .compare import COMPARE, EVALUATE
from .compile import COMPILE
from .faithqa import BENCHMARK
from .gate import GATE
from .generate import ASSESS, DATASET, DIALOGUE, ITEMS
from .gold import GOLD
from .haluagent import HALUAGENT
from .harden import HARDEN
from .judges import COMPLETION, EXPORT, JUDGES
from .new import NEW
from .prove import PROVE
from .report import REPORT
from .review import REVIEW
from .run import JOIN, RUN
from .serve import SERVE
from .share import SHARE
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
