"""Options that a judge declares: named choices among settings of its answer, which leave its prompts as they are.

An option is data: the name of each of its values, with the settings of the answer under that value. Its own name is
one of :data:`JUDGE_OPTIONS`, because command lines, cards and output lines hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ..arguments.groups import JudgeOptions
from ..errors import JudgeError, UsageError, suggest_name

if TYPE_CHECKING:
    from .answers.base import Answer

JUDGE_OPTIONS: tuple[str, ...] = tuple(option.name for option in fields(JudgeOptions))
"""The names of all options that judges may declare: cards and output lines hold them."""
JudgeOption: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Value of an option -> setting of the answer -> what it is under that value."""


def check_options(judge: str, answer: Answer, options: Mapping[str, JudgeOption]) -> None:
    """Refuse an option that no command line knows, and one that sets what the answer does not have."""
    settings = {item.name for item in fields(answer)}
    for option, values in options.items():
        if option not in JUDGE_OPTIONS:
            hint = suggest_name(option, JUDGE_OPTIONS)
            raise JudgeError(f"judge {judge}: judges have no option called {option!r}", hint=hint)
        for value, changes in values.items():
            unknown = changes.keys() - settings
            if unknown:
                raise JudgeError(
                    f"judge {judge}: {option}={value} sets {', '.join(sorted(unknown))}, which its answer lacks",
                    hint=f"name settings of the answer: {', '.join(sorted(settings))}",
                )


def option_values(answer: Answer, options: Mapping[str, JudgeOption]) -> dict[str, str]:
    """Return the value of each option, by what the answer is set to; without those that it has no value of."""
    values: dict[str, str] = {}
    for option, settings_of_value in options.items():
        for value, settings in settings_of_value.items():
            if all(getattr(answer, name) == setting for name, setting in settings.items()):
                values[option] = value
                break
    return values


def with_option_values(
    judge: str, answer: Answer, options: Mapping[str, JudgeOption], values: Mapping[str, str]
) -> Answer:
    """Return the answer under these values of the judge's options. Raises ``UsageError`` for what it does not have."""
    for option, value in values.items():
        if option not in options:
            hint = f"leave out --{option}, or name a judge that has it"
            raise UsageError(f"judge {judge} has no {option} to choose", hint=hint)
        if value not in options[option]:
            hint = suggest_name(str(value), options[option])
            raise UsageError(f"{value!r} is no {option} of judge {judge}", hint=hint)
        answer = replace(answer, **options[option][value])
    return answer
