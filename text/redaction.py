"""Redaction: messages and files hold no keys, and no addresses with credentials."""

import math
import os
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any

from .escaping import well_formed

HIDDEN = "***"

_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|rk|pk|gsk|xai|nvapi)-[\w-]{8,}|gsk_\w{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|hf_\w{16,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abprs]-[\w-]{10,})"
    r"|(?<![A-Za-z0-9])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
)
# In prose "bearer" is a word: after a lower-case "bearer" only a text with a digit counts as a token.
_BEARER = re.compile(r"(\bBearer\s+)[\w.~+/=-]{6,}|(\b(?i:bearer)\s+)(?=\S*\d)[\w.~+/=-]{8,}")
_USERINFO = re.compile(r"(?<=://)[^\s/?#]*@")
_QUERY_KEY = re.compile(r"(?i)([?&](?:[\w-]*key|[\w-]*token|sig|signature|password|secret)=)[^&#\s]+")
_LEADING_USERINFO = re.compile(r"^[^/\s:@]+:[^/\s@]+@")
_SECRET_NAMES = re.compile(
    r"(?i)^(?:.*[_-])?(?:api[_-]?key|apikey|secret(?:[_-]key)?|password|passwd|authorization|"
    r"(?:access|auth|bearer|refresh|session)[_-]?token)$"
)
_ADDRESS_NAMES = re.compile(r"(?i)^(?:.*_)?(?:model|base|api_base|base_url|endpoint|url|host)$")
# These may be ordinary words. They are hidden in messages only: a token after "Bearer", user and password before "@",
# and short keys, also with the stars by which providers mask them. The possessive quantifiers keep the search for a
# user linear, as the body of a message may be one word of megabytes.
_DOUBTFUL = re.compile(
    r"(?<=Bearer )\S+|(?<![^/\s@])[^/\s:@]*+:[^/\s@]++(?=@)|\b(?:sk|pk|rk|gsk|xai|key)-[\w*.-]{4,}"
)
_SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
# The least characters of an environment variable's value that is hidden. Shorter values ("none", "local-key") are
# placeholders, and also ordinary words of a prompt.
_SHORTEST_IN_FILE = 12
_SHORTEST_IN_MESSAGE = 6


def redact(text: str) -> str:
    """Return a message on one line in which keys, credentials and anything that may be one of them are hidden."""
    text = _without_secrets(text, _secrets_of_environment(_SHORTEST_IN_MESSAGE))
    text = _DOUBTFUL.sub(HIDDEN, text)
    text = _without_keys(_USERINFO.sub(f"{HIDDEN}@", text))
    return " ".join(text.split())


def public_address(text: str) -> str:
    """Return a model string or address without userinfo, query and fragment."""
    text = _LEADING_USERINFO.sub("", _USERINFO.sub("", text))
    if "://" not in text:
        return text
    return re.split(r"[?#]", text, maxsplit=1)[0]


def publishable(value: object) -> Any:
    """Return ``value`` as a JSON value in which keys, tokens and credentials are hidden.

    NaN and infinities, which JSON does not have, become ``None``; lone surrogates become U+FFFD.

    Raises:
        TypeError: a value or a key is of a type that JSON does not have.
    """
    return _publishable_value(value, "", _secrets_of_environment(_SHORTEST_IN_FILE))


def _secrets_of_environment(shortest: int) -> list[str]:
    """Return the values of environment variables that are named as secrets and have at least ``shortest`` characters.

    The longest comes first, so that a secret is hidden whole if another one is its beginning.
    """
    secrets: set[str] = set()
    for name, value in os.environ.items():
        if name.upper().endswith(_SECRET_ENDINGS) and len(value) >= shortest:
            secrets.add(value)
    return sorted(secrets, key=len, reverse=True)


def _without_secrets(text: str, secrets: Sequence[str]) -> str:
    """Return a text in which the secrets are hidden."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _without_keys(text: str) -> str:
    """Return a text in which anything in the form of a key or a token is hidden."""
    text = _KEYS.sub(HIDDEN, _QUERY_KEY.sub(rf"\1{HIDDEN}", text))
    return _BEARER.sub(lambda key: (key[1] or key[2]) + HIDDEN, text)


def _publishable_value(value: object, name: str, secrets: Sequence[str]) -> object:
    """Return a value as a JSON value, by the name of its field. Raises ``TypeError`` for a type that JSON has not."""
    if isinstance(value, str | PurePath):
        return _publishable_text(str(value), name, secrets)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return _publishable_fields(value, name, secrets)
    if isinstance(value, AbstractSet):
        return _publishable_value(sorted(value, key=str), name, secrets)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_publishable_value(item, name, secrets) for item in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return _publishable_value(value.tolist(), name, secrets)
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")


def _publishable_fields(
    fields: Mapping[object, object], name: str, secrets: Sequence[str]
) -> dict[str, object]:
    """Return a mapping as a JSON object, by the name of its field. Raises ``TypeError`` for a key that is no text."""
    publishable_fields: dict[str, object] = {}
    for key, value in fields.items():
        if not isinstance(key, str):
            raise TypeError(f"the key {key!r} is not a string")
        value_name = key
        if key == "name" and _ADDRESS_NAMES.match(name):
            # The name of a described model, as in {"model": {"name": ...}}, is a model string like any other.
            value_name = name
        publishable_fields[well_formed(key)] = _publishable_value(value, value_name, secrets)
    return publishable_fields


def _publishable_text(text: str, name: str, secrets: Sequence[str]) -> str:
    """Return a text by its field's name: hidden in a field for secrets, without credentials in one for addresses."""
    if text and _SECRET_NAMES.match(name):
        return HIDDEN
    text = _without_secrets(well_formed(text), secrets)
    text = _without_keys(_USERINFO.sub("", text))
    if _ADDRESS_NAMES.match(name):
        return public_address(text)
    return text
