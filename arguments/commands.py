"""Every command, and the order in which help lists them. A new one is a value with its options, and what it does."""

from . import artifacts, catalogue, compile, generate, gold, run, scoring
from .options import Options

_ORDER = (  # noqa: SIM905 - a list of as many lines
    "judges new compile evaluate run join share batch serve compare prove gate harden table report review export "
    "training artifacts gold generate assess completion"
).split()
_SUBJECTS = (catalogue, compile, scoring, run, artifacts, gold, generate)
COMMANDS: tuple[type[Options], ...] = tuple(
    sorted(
        (
            options
            for subject in _SUBJECTS
            for options in vars(subject).values()
            if isinstance(options, type) and issubclass(options, Options) and options.command
        ),
        key=lambda options: _ORDER.index(options.command.partition(" ")[0]),
    )
)

GROUPS = {
    "artifacts": "compiled judges: list, show, compare, tag, verify, share, choose another candidate",
    "batch": "run a judge through a Batch API: submit, status, collect, cancel",
    "generate": "write from documents: dialogues, labelled datasets, the items of any generator",
    "gold": "check, import and split gold sets, have them labelled; agreement of raters",
    "table": "a paper's table on any gold: detectors side by side",
}
"""What the commands of two words are about, by the first."""
