"""What may be said or written to a file: no keys, and no addresses that hold credentials."""

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
# What may be a word in prose, and is hidden in a message all the same; a provider shows keys with stars in them.
# User and password are looked for once, from the beginning of what may be them: a body may be one word of megabytes.
_DOUBTFUL = re.compile(
    r"(?<=Bearer )\S+|(?<![^/\s@])[^/\s:@]*+:[^/\s@]++(?=@)|\b(?:sk|pk|rk|gsk|xai|key)-[\w*.-]{4,}"
)
_VARIABLES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
# Shorter values of variables ("none", "local-key") are placeholders and also ordinary words, as a prompt has them.
_SHORTEST, _SHORTEST_SAID = 12, 6


def redact(text: str) -> str:
    """Return a message on one line without keys, and without what may be one."""
    text = _DOUBTFUL.sub(HIDDEN, _without_values(text, _values(_SHORTEST_SAID)))
    return " ".join(_without_keys(_USERINFO.sub(f"{HIDDEN}@", text)).split())


def public_address(text: str) -> str:
    """Return a model string or address without userinfo, query and fragment."""
    text = _LEADING_USERINFO.sub("", _USERINFO.sub("", text))
    return re.split(r"[?#]", text, maxsplit=1)[0] if "://" in text else text


def publishable(value: Any) -> Any:
    """Return ``value`` as a JSON value that can be written anywhere: without keys, tokens and credentials."""
    # NaN and infinities, which JSON has not, become ``None``; lone surrogates become U+FFFD
    return _walk(value, "", _values(_SHORTEST))


def _values(shortest: int) -> list[str]:
    """Return the secrets in the environment, the longest first: one may begin like another."""
    values = {value for name, value in os.environ.items() if name.upper().endswith(_VARIABLES)}
    return sorted((value for value in values if len(value) >= shortest), key=len, reverse=True)


def _without_values(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _without_keys(text: str) -> str:
    text = _KEYS.sub(HIDDEN, _QUERY_KEY.sub(rf"\1{HIDDEN}", text))
    return _BEARER.sub(lambda key: (key[1] or key[2]) + HIDDEN, text)


def _walk(value: Any, name: str, secrets: Sequence[str]) -> Any:
    if isinstance(value, str | PurePath):
        return _text(str(value), name, secrets)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        # The name of a described model, as in {"model": {"name": ...}}, is a model string like any other.
        own = name if _ADDRESS_NAMES.match(name) else "name"
        return {_key(key): _walk(item, own if key == "name" else key, secrets) for key, item in value.items()}
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
    return well_formed(key)


def _text(text: str, name: str, secrets: Sequence[str]) -> str:
    if _SECRET_NAMES.match(name) and text:
        return HIDDEN
    text = _without_keys(_USERINFO.sub("", _without_values(well_formed(text), secrets)))
    return public_address(text) if _ADDRESS_NAMES.match(name) else text
