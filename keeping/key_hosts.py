"""To which hosts a provider's key may go, although they are not the provider's: those that the user has approved."""

import os
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from ..engines.models import Model
from .trust import data_file

_OWN_DOMAINS: Final = {
    "openai": "openai.com",
    "azure": "azure.com",
    "anthropic": "anthropic.com",
    "gemini": "googleapis.com",
}
_APPROVED: Final = "key-hosts"
"""The file of approved hosts in the data home, one a line: variable and host."""


@dataclass(frozen=True)
class KeyTransfer:
    """A provider's key that goes to a host which is not the provider's."""

    variable: str
    host: str
    plain: bool
    """Whether it goes over http, where anybody on the way can read it."""

    @property
    def words(self) -> str:
        """The use of the key, in one clause."""
        words = f"{self.variable} goes to {self.host}"
        if self.plain:
            words += ", unencrypted (http)"
        return words

    @property
    def approved(self) -> bool:
        """Whether the user has approved it before."""
        with suppress(OSError):
            lines = data_file(_APPROVED).read_text(encoding="utf-8", errors="replace").splitlines()
            return self._line in lines
        return False

    def approve(self) -> None:
        """Remember that the user has approved it; where nothing can be written, the user is asked again."""
        file = data_file(_APPROVED)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as stream:
                stream.write(f"{self._line}\n")

    @property
    def _line(self) -> str:
        scheme = "http" if self.plain else "https"
        return f"{self.variable} {scheme}://{self.host}"


def key_transfer(model: Model) -> KeyTransfer | None:
    """Return the transfer of a provider's key to a host that is not the provider's; ``None`` where there is none."""
    if model.api_base is None or model.key_env is not None:
        return None
    provider = model.name.partition("/")[0]
    variable = f"{provider.upper()}_API_KEY"
    address = urlsplit(model.api_base)
    host = address.hostname or ""
    if not os.environ.get(variable) or _is_this_machine(host):
        return None
    domain = _OWN_DOMAINS.get(provider)
    plain = address.scheme == "http"
    if domain and not plain and (host == domain or host.endswith(f".{domain}")):
        return None
    return KeyTransfer(variable, address.netloc, plain)


def _is_this_machine(host: str) -> bool:
    """Whether a name or an address is of this machine, which nothing leaves."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")
