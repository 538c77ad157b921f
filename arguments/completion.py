"""Scripts by which a shell completes commands, their actions and their options when TAB is pressed."""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from .options import Options, option_flags

Shell = Literal["bash", "zsh", "fish"]
SHELLS: tuple[Shell, ...] = get_args(Shell)

_BASH = """\
_jurist() {{
    local line="${{COMP_WORDS[*]:1:COMP_CWORD-1}}" word="${{COMP_WORDS[COMP_CWORD]}}" words=""
    case "$line" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _jurist jurist
"""
_ZSH_START = "autoload -U +X bashcompinit && bashcompinit\n"


def completion_script(shell: Shell, commands: Iterable[type[Options]]) -> str:
    """Return a script for a shell that completes the words of the command line; files are completed otherwise."""
    words = words_by_command(commands)
    if shell == "fish":
        return _fish_script(words)
    cases = []
    for command in sorted(words, key=len, reverse=True):  # "run join" before "run"
        pattern = f'"{command}"*' if command else '""'
        cases.append(f'        {pattern}) words="{" ".join(words[command])}" ;;')
    script = _BASH.format(cases="\n".join(cases))
    if shell == "zsh":
        return _ZSH_START + script
    return script


def words_by_command(commands: Iterable[type[Options]]) -> dict[str, list[str]]:
    """Return the words that may follow each command, ``gold check``: its actions and options; ``""`` is jurist."""
    words: dict[str, list[str]] = {"": []}
    for options in commands:
        parts = [part for part in options.command.split() if not part.isupper()]
        for depth, part in enumerate(parts):
            followers = words.setdefault(" ".join(parts[:depth]), [])
            if part not in followers:
                followers.append(part)
        followers = words.setdefault(" ".join(parts), [])
        followers.append("--help")
        followers.extend(option_flags(options))
    return words


def _fish_script(words: Mapping[str, list[str]]) -> str:
    """Return the script for fish, which takes a condition and the words for each command."""
    lines = []
    for command, followers in words.items():
        if command:
            conditions = [f"__fish_seen_subcommand_from {part}" for part in command.split()]
            condition = "; and ".join(conditions)
        else:
            condition = "__fish_use_subcommand"
        lines.append(f'complete -c jurist -n "{condition}" -a "{" ".join(followers)}"')
    return "\n".join(lines) + "\n"
