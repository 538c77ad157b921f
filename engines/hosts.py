"""The hosts that a model may be asked at: a card can name any, and only its reader knows which ones to believe."""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final, Protocol
from urllib.parse import urlsplit

from ..errors import UsageError
from ..text.files import data_file

HOSTS_VARIABLE: Final = "JURIST_API_HOSTS"
"""The environment variable of addresses, separated by commas, that the cards of versions may name."""
KEY_VARIABLES: Final = {
    "openai": "OPENAI_API_KEY",
    "decisions": "OPENAI_API_KEY",
    "systemone": "TYPESAFE_API_KEY",
    "typesafe": "TYPESAFE_API_KEY",
}
"""Provider whose protocol servers of one's own speak -> the environment variable of its key."""
_KEYLESS: Final = frozenset({"ollama", "ollama_chat"})
"""Providers that no key is sent to, unless a variable is named."""
_PROVIDER_HOSTS: Final = {
    "openai": r"([a-z]+\.)?api\.openai\.com",
    "decisions": r"([a-z]+\.)?api\.openai\.com",
    "azure": r"[a-z0-9-]+\.(openai|cognitiveservices|services\.ai)\.azure\.com",
    "anthropic": r"api\.anthropic\.com",
    "gemini": r"generativelanguage\.googleapis\.com",
    "systemone": r"api\.typesafe\.ai",
    "typesafe": r"api\.typesafe\.ai",
}
"""Provider -> the pattern of its hosts; in other parts of azure.com customers name machines of their own."""
_PRIVATE_NAME: Final = re.compile(r"[a-z][a-z0-9-]*|([a-z0-9-]+\.)+(local|internal|home\.arpa)")
"""Names that no public registry gives away: of one part, such as a container's, or below a private domain."""
_APPROVED: Final = "key-hosts"
"""The file of approved addresses in the data home, one a line: the variable of the key, or ``-``, and the address."""
_NO_KEY: Final = "-"


class CardAddress(str):
    """An address that comes from a card, wherever it is copied to; an address of another type, the user has named."""

    __slots__ = ()


class Asked(Protocol):
    """The parts of a model that say where it is asked, and with which key."""

    @property
    def name(self) -> str:
        """Provider and model."""

    @property
    def api_base(self) -> str | None:
        """The address; ``None`` for that of the provider."""

    @property
    def key_env(self) -> str | None:
        """The variable of the key; ``None`` for that of the provider."""


@dataclass(frozen=True)
class KeyTransfer:
    """A provider's key that goes to a host which is not the provider's."""

    variable: str
    origin: str  # such as https://llm.example.com:8000

    @property
    def words(self) -> str:
        """The use of the key, in one clause."""
        scheme, _, host = self.origin.partition("://")
        words = f"{self.variable} goes to {host}"
        if scheme == "http":
            words += ", unencrypted (http)"
        return words

    @property
    def approved(self) -> bool:
        """Whether the user has approved it before, or names the address in the environment."""
        return self.origin in _hosts_of_environment() or self._line in _approved_lines()

    def approve(self) -> None:
        """Remember that the user has approved it; where nothing can be written, the user is asked again."""
        _remember(self._line)

    @property
    def _line(self) -> str:
        return f"{self.variable} {self.origin}"


_named_lines: dict[str, set[str]] = {}
"""Address that the user has named in this process -> the lines by which it is remembered."""


def key_transfer(model: Asked) -> KeyTransfer | None:
    """Return the transfer of a provider's key to a host that is not the provider's; ``None`` where there is none."""
    if model.api_base is None or model.key_env is not None or _is_own_host(model.name, model.api_base):
        return None
    variable = _sent_variable(model)
    if variable == _NO_KEY:
        return None
    return KeyTransfer(variable, _origin(model.api_base))


def check_host(model: Asked) -> None:
    """Refuse an address that a card names and nobody else: rows, and a key, would go to whoever wrote the card.

    An address passes if it is of this machine or of the provider, or private and no key is sent; if the user has named
    it, or the variable of its key; if a version was compiled with it, or its use approved, on this machine; or if
    ``JURIST_API_HOSTS`` names it.

    Raises:
        UsageError: it does not pass.
    """
    address = model.api_base
    if address is None:
        return
    origin = _origin(address)
    variable = _sent_variable(model)
    if not isinstance(address, CardAddress):
        _named_lines.setdefault(origin, set()).add(f"{variable} {origin}")
        return
    if model.key_env is not None or _is_own_host(model.name, address) or origin in _hosts_of_environment():
        return
    if variable == _NO_KEY:
        approved_origins = {line.partition(" ")[2] for line in _approved_lines()}
        is_approved = origin in approved_origins or (_may_lack_key(model) and _is_private(address))
        goods = "your rows"
    else:
        is_approved = f"{variable} {origin}" in _approved_lines()
        goods = f"{variable} and your rows"
    if not is_approved:
        raise UsageError(
            f"a card names {origin} as the address of {model.name}, and you have not named it",
            hint=f"if {goods} may go there, set {HOSTS_VARIABLE}={origin}, or add --api-base {address}",
        )


def remember_named(addresses: Iterable[str]) -> None:
    """Remember those addresses of a new version that the user has named in this process, with the keys' variables."""
    for address in addresses:
        for line in _named_lines.get(_origin(address), ()):
            _remember(line)


def key_variable(provider: str) -> str:
    """Return the environment variable of a provider's key."""
    return KEY_VARIABLES.get(provider, f"{provider.upper()}_API_KEY")


def _sent_variable(model: Asked) -> str:
    """Return the variable whose key is sent; ``-`` where it holds none."""
    provider = model.name.partition("/")[0]
    variable = model.key_env
    if variable is None and provider not in _KEYLESS:
        variable = key_variable(provider)
    if variable is None or not os.environ.get(variable, "").strip():
        return _NO_KEY
    return variable


def _may_lack_key(model: Asked) -> bool:
    """Whether servers of one's own answer for this provider without a key."""
    provider = model.name.partition("/")[0]
    return provider in KEY_VARIABLES or provider in _KEYLESS


def _is_own_host(name: str, address: str) -> bool:
    """Whether an address is of this machine, or is the provider's own and encrypted."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if _is_this_machine(host):
        return True
    pattern = _PROVIDER_HOSTS.get(name.partition("/")[0])
    if pattern is None or parts.scheme != "https":
        return False
    return re.fullmatch(pattern, host) is not None


def _is_this_machine(host: str) -> bool:
    """Whether a name or an address is of this machine, which nothing leaves."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _is_private(address: str) -> bool:
    """Whether an address is of a private network."""
    host = urlsplit(address).hostname or ""
    try:
        number = ip_address(host)
    except ValueError:
        return _PRIVATE_NAME.fullmatch(host) is not None
    if isinstance(number, IPv6Address) and number.ipv4_mapped:  # Python 3.11 takes all of these for private
        number = number.ipv4_mapped
    return number.is_private


def _origin(address: str) -> str:
    """Return scheme, host and port of an address."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _hosts_of_environment() -> set[str]:
    """Return the addresses that ``JURIST_API_HOSTS`` names; a name without a scheme is one of https."""
    origins: set[str] = set()
    for entry in os.environ.get(HOSTS_VARIABLE, "").split(","):
        entry = entry.strip()
        if not entry:
            continue
        if "://" not in entry:
            entry = f"https://{entry}"
        origins.add(_origin(entry))
    return origins


def _approved_lines() -> set[str]:
    """Return the lines of the file of approved addresses."""
    text = ""
    with suppress(OSError):
        text = data_file(_APPROVED).read_text(encoding="utf-8", errors="replace")
    return set(text.splitlines())


def _remember(line: str) -> None:
    """Add a line to the file of approved addresses, if it can be written and the line is not there."""
    if line in _approved_lines():
        return
    file = data_file(_APPROVED)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"{line}\n")
