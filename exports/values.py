"""What goes into an export's variables: each input as it stands in the judge's prompt."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..programs.judge import Judge
from ..text.escaping import defuse


def variables(judge: Judge, inputs: Mapping[str, Any], *, tags: Iterable[str] = ()) -> dict[str, str]:
    """Return what goes into an export's variables for one row."""
    return defused(judge, judge.case(inputs).inputs, tags)


def defused(judge: Judge, inputs: Mapping[str, Any], tags: Iterable[str]) -> dict[str, str]:
    """Return the texts of inputs that a judge has checked."""
    from dspy.adapters.utils import format_field_value

    fields = {**judge.signature.input_fields, **judge.basic().predictors()[0].signature.input_fields}
    values = defuse(judge.prompt_values(inputs), tags)
    return {name: str(format_field_value(fields[name], value)) for name, value in values.items()}
