"""What may be written to a file: plain JSON values without keys and without addresses that hold credentials."""

import math
import os
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any

HIDDEN = "***"

_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|rk|pk|gsk|xai|nvapi)-[\w-]{8,}|gsk_\w{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|hf_\w{16,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abprs]-[\w-]{10,})"
    r"|(?<![A-Za-z0-9])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
)
# In prose "bearer" is a word: in lower case only something with a digit in it is taken for a token.
_BEARER = re.compile(r"(\bBearer\s+)[\w.~+/=-]{6,}|(\b(?i:bearer)\s+)(?=\S*\d)[\w.~+/=-]{8,}")
_USERINFO = re.compile(r"(?<=://)[^\s/?#]*@")
_QUERY_KEY = re.compile(r"(?i)([?&](?:[\w-]*key|[\w-]*token|sig|signature|password|secret)=)[^&#\s]+")
_LEADING_USERINFO = re.compile(r"^[^/\s:@]+:[^/\s@]+@")
_SECRET_NAMES = re.compile(
    r"(?i)^(?:.*[_-])?(?:api[_-]?key|apikey|secret(?:[_-]key)?|password|passwd|authorization|"
    r"(?:access|auth|bearer|refresh|session)[_-]?token)$"
)
_ADDRESS_NAMES = re.compile(r"(?i)^(?:.*_)?(?:model|base|api_base|base_url|endpoint|url|host)$")
_ENV_NAMES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_SHORTEST_ENV_SECRET = 12  # shorter values ("none", "local-key") are placeholders, and also ordinary words


def public_address(text: str) -> str:
    """Return a model string or address without userinfo, query and fragment."""
    text = _LEADING_USERINFO.sub("", _USERINFO.sub("", text))
    return re.split(r"[?#]", text, maxsplit=1)[0] if "://" in text else text


def publishable(value: Any) -> Any:
    """Return ``value`` as a JSON value that can be written anywhere: without keys, tokens and credentials.

    NaN and infinities, which JSON has not, become ``None``; lone surrogates become U+FFFD.
    """
    values = {value for name, value in os.environ.items() if name.upper().endswith(_ENV_NAMES)}
    secrets = (value for value in values if len(value) >= _SHORTEST_ENV_SECRET)
    return _walk(value, "", tuple(sorted(secrets, key=len, reverse=True)))


def _walk(value: Any, name: str, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str | PurePath):
        return _text(str(value), name, secrets)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_key(key): _walk(item, _place(name, key), secrets) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return [_walk(item, name, secrets) for item in sorted(value, key=str)]
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_walk(item, name, secrets) for item in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return _walk(value.tolist(), name, secrets)
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is not a string")
    return _unicode(key)


def _place(parent: str, key: str) -> str:
    # The name of a described model, as in {"model": {"name": ...}}, is a model string like any other.
    return parent if key == "name" and _ADDRESS_NAMES.match(parent) else key


def _unicode(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _text(text: str, name: str, secrets: tuple[str, ...]) -> str:
    if _SECRET_NAMES.match(name) and text:
        return HIDDEN
    text = _unicode(text)
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    text = _QUERY_KEY.sub(rf"\1{HIDDEN}", _USERINFO.sub("", text))
    text = _BEARER.sub(lambda found: (found[1] or found[2]) + HIDDEN, _KEYS.sub(HIDDEN, text))
    return public_address(text) if _ADDRESS_NAMES.match(name) else text
