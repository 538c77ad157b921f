"""Every command, and the sections in which help lists them. A new one is a class of its options."""

from collections.abc import Sequence
from importlib import import_module

from .options import Options

SECTIONS = {
    "commands, in the order of use": "new evaluate review compile prove move compare cascade report run gate "
    "export serve",
    "groups of commands": "gold artifacts batch",
    "of the four papers": "judges generate assess table",
}
"""What help lists, and in which order."""
_ORDER = " ".join(SECTIONS.values()).split()
_SUBJECTS = {
    "artifacts": "artifacts report",
    "catalogue": "new export judges",
    "compile": "compile prove move",
    "generate": "generate assess",
    "gold": "gold review",
    "run": "run serve batch",
    "scoring": "evaluate compare cascade gate table",
}
"""Module of options -> the commands and groups that it declares."""
GROUPS = {
    "artifacts": "compiled judges: list, show, add, diff, tag, copy, refit, forget",
    "batch": "run a judge through a Batch API: submit, status, collect",
    "generate": "write dialogues, benchmark queries and items from documents",
    "gold": "check, import and split labelled rows; how many to label; agreement of raters",
    "table": "a paper's table or figure on any gold",
}
"""What groups of commands are about. A group without a text is a command with further ones beside it, as ``run``."""


def all_commands() -> tuple[type[Options], ...]:
    """Return the commands of all subjects, in the order in which help lists them."""
    commands: list[type[Options]] = []
    for subject in _SUBJECTS:
        commands.extend(_commands_of_subject(subject))
    commands.sort(key=_place_in_help)
    return tuple(commands)


def commands_beside(name: str) -> Sequence[type[Options]]:
    """Return the commands that are declared beside a command or group; none for a word that is neither.

    The options of all commands take longer to declare than most commands take.
    """
    for subject, names in _SUBJECTS.items():
        if name in names.split():
            return _commands_of_subject(subject)
    return ()


def _commands_of_subject(subject: str) -> list[type[Options]]:
    """Return the commands that a module of options declares, in its order."""
    commands: list[type[Options]] = []
    for options in vars(import_module(f".{subject}", __package__)).values():
        if isinstance(options, type) and issubclass(options, Options) and options.command:
            commands.append(options)
    return commands


def _place_in_help(options: type[Options]) -> int:
    """Return the place of a command in the help. Raises ``ValueError`` for one that no section lists."""
    name = options.command.partition(" ")[0]
    if name not in _ORDER:
        raise ValueError(f"no section of the help lists the command {name}: add it to SECTIONS in {__file__}")
    return _ORDER.index(name)
