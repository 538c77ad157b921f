"""Headers and fields that a user adds to every request of a model. Keys in them stand in the environment alone."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from ..errors import UsageError
from ..text.redaction import redact

Pairs = Sequence[tuple[str, str]]

_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SECRET_HEADER: Final = re.compile(r"(?i)auth|key|token|secret|password|cookie|credential")
_SECRET_VARIABLES: Final = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
"""The ends of the names of variables whose values are taken out of all that is written."""
_WRITTEN_BY_US: Final = frozenset({"messages", "contents", "model", "stream", "n"})


class Extended(Protocol):
    """A holder of further headers and body fields, such as a model."""

    @property
    def headers(self) -> Pairs:
        """Name and value of each header."""

    @property
    def body(self) -> Pairs:
        """Name and JSON of each field."""


def check_headers(headers: Pairs) -> None:
    """Refuse headers that cannot be sent, and keys that are written out."""
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name) or not value.isprintable():
            raise UsageError(f"{name!r} is no HTTP header", hint="write --header NAME=VALUE, on one line")
        if not _SECRET_HEADER.search(name):
            if redact(value) != " ".join(value.split()):
                raise UsageError(f"the header {name} holds a key", hint=_in_variable(name))
            continue
        if not _has_secret_variables_alone(value):
            raise UsageError(
                f"the header {name} takes its key from no environment variable", hint=_in_variable(name)
            )


def _has_secret_variables_alone(value: str) -> bool:
    """Say whether a header's value has variables, and only those whose values are taken out of all that is written."""
    variables = _variables_in(value)
    return bool(variables) and all(name.upper().endswith(_SECRET_VARIABLES) for name in variables)


def _in_variable(name: str) -> str:
    """Return the next step for a header with a key that is written out."""
    return (
        f'write {name} = "$NAME" and set the variable NAME, which ends in _KEY, _TOKEN, _SECRET or _PASSWORD'
    )


def check_fields(body: Pairs) -> None:
    """Refuse fields that jurist itself writes: they would change what is asked and counted."""
    for name, _ in body:
        if name in _WRITTEN_BY_US:
            raise UsageError(
                f"the field {name!r} of a request is written by jurist", hint="leave it out of the body"
            )


def headers_of(model: Extended) -> list[tuple[str, str]]:
    """Return the headers to send, with the values of their variables; of two with one name the last."""
    values = dict[str, str]()
    for name, value in model.headers:
        for variable in _variables_in(value):
            if not os.environ.get(variable, "").strip():
                raise UsageError(
                    f"the environment variable {variable} of the header {name} is empty", hint="set it"
                )
        values[name] = _VARIABLE.sub(_value_of_variable, value)
    return list(values.items())


def _value_of_variable(reference: re.Match[str]) -> str:
    """Return the value of the environment variable that a header refers to."""
    return os.environ[_variable_name(reference)].strip()


def _variable_name(reference: re.Match[str]) -> str:
    """Return the name in ``${NAME}`` or ``$NAME``."""
    return reference[1] or reference[2]


def body_fields(model: Extended) -> dict[str, object]:
    """Return the fields to send, as JSON values; what is no JSON is a text."""
    fields = dict[str, object]()
    for name, text in model.body:
        try:
            fields[name] = json.loads(text)
        except ValueError:
            fields[name] = text
    return fields


def secrets_in(model: Extended, sent: Pairs) -> list[str]:
    """Return the header values that come from the environment, which a reply may not show."""
    templates = dict(model.headers)
    secrets = list[str]()
    for name, value in sent:
        if _variables_in(templates[name]):
            secrets.append(value)
    return secrets


def pairs_of(settings: Mapping[str, object] | Pairs, *, as_json: bool = False) -> tuple[tuple[str, str], ...]:
    """Return headers or body fields as pairs, whether they came as pairs or as a mapping.

    With ``as_json`` the values of a mapping are written as JSON. Other values stay, and wrong ones are refused later.
    """
    if not isinstance(settings, Mapping):
        return tuple((name, value) for name, value in settings)
    pairs = list[tuple[str, Any]]()
    for name, value in settings.items():
        pairs.append((name, json.dumps(value) if as_json else value))
    return tuple(pairs)


def _variables_in(value: str) -> list[str]:
    """Return the names of the environment variables that a header's value refers to."""
    return [_variable_name(reference) for reference in _VARIABLE.finditer(value)]
