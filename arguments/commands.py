"""Every command, and the sections in which help lists them. A new one is a class of its options."""

from . import artifacts, catalogue, compile, generate, gold, run, scoring
from .options import Options

SECTIONS = {
    "commands, in the order of use": "new evaluate review compile prove compare cascade report run gate export serve",
    "groups of commands": "gold artifacts batch",
    "of the four papers": "judges generate assess table",
}
"""What help lists, and in which order."""
_ORDER = " ".join(SECTIONS.values()).split()
_SUBJECTS = (catalogue, compile, scoring, run, artifacts, gold, generate)


def _find_commands() -> list[type[Options]]:
    """Return the commands of all subjects, in the order in which help lists them."""
    commands = []
    for subject in _SUBJECTS:
        for options in vars(subject).values():
            if isinstance(options, type) and issubclass(options, Options) and options.command:
                commands.append(options)
    commands.sort(key=_place_in_help)
    return commands


def _place_in_help(options: type[Options]) -> int:
    """Return the place of a command in the help. Raises ``ValueError`` for one that no section lists."""
    name = options.command.partition(" ")[0]
    if name not in _ORDER:
        raise ValueError(f"no section of the help lists the command {name}: add it to SECTIONS in {__file__}")
    return _ORDER.index(name)


COMMANDS: tuple[type[Options], ...] = tuple(_find_commands())
GROUPS = {
    "artifacts": "compiled judges: list, show, diff, tag, verify, remember, forget",
    "batch": "run a judge through a Batch API: submit, status, collect",
    "generate": "write dialogues, benchmark queries and items from documents",
    "gold": "check, import and split labelled rows; agreement of raters",
    "table": "a paper's table on any gold: detectors side by side",
}
"""What groups of commands are about. A group without a text is a command with further ones beside it, as ``run``."""
