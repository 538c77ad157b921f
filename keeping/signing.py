"""Signatures of artifacts: who vouches for one, by an Ed25519 key of theirs.

A seal says that no byte has changed since it was made, and anybody can make one. ``signature.json`` beside it says who
signed the content, and as which version: the number may change where it is taken already, the content may not. Keys are
those of ``ssh-keygen -t ed25519``. A secret key is read, and nothing of it is kept. The library ``cryptography`` (extra
``signing``) is imported when a signature is made or checked.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArtifactError, JuristError, UsageError
from .sealing import CARD, SIGNATURE, canonical, content_hash

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["PublicKey", "Signature", "public_key", "require_signer", "sign", "signature_of"]

_MAKE = "make a pair with: ssh-keygen -t ed25519 -f FILE; FILE.pub is the public one"


@dataclass(frozen=True, kw_only=True)
class PublicKey:
    """A public key.

    Attributes:
        text: as OpenSSH writes it, without a comment.
    """

    text: str

    def __str__(self) -> str:
        """The fingerprint, as ``ssh-keygen -l`` shows it."""
        whole = hashlib.sha256(base64.b64decode(self.text.split()[1])).digest()
        return "SHA256:" + base64.b64encode(whole).decode().rstrip("=")


@dataclass(frozen=True, kw_only=True)
class Signature:
    """A signature that holds.

    Attributes:
        signed: ``JUDGE@VERSION`` as it was signed.
        key: whose it is.
    """

    signed: str
    key: PublicKey


def public_key(path: str | Path) -> PublicKey:
    """Read a public key.

    Raises:
        UsageError: there is no such file, or it holds none.
    """
    with _refused(UsageError(f"{path} holds no public Ed25519 key of OpenSSH", hint=_MAKE)):
        return PublicKey(text=_text(_loaded(_read(path))))


def sign(files: Mapping[str, bytes], key: str | Path, passphrase: Callable[[], str]) -> bytes:
    """Return the content of ``signature.json`` for an artifact.

    Args:
        files: of the artifact, by name.
        key: the file of the secret key.
        passphrase: is asked for if the key has one.

    Raises:
        UsageError: there is no such file, it holds no such key, or the passphrase is another one.
    """
    data, card = _read(key), json.loads(files[CARD])
    with _refused(UsageError(f"{key} holds no secret Ed25519 key, or has another passphrase", hint=_MAKE)):
        secret = _unlocked(data, passphrase)
    signed = f"{card['judge']}@{card['version']}"
    signature = base64.b64encode(secret.sign(_message(signed, files))).decode()
    return canonical({"signed": signed, "public_key": _text(secret.public_key()), "signature": signature})


def signature_of(files: Mapping[str, bytes]) -> Signature | None:
    """Return who signed an artifact; ``None`` if nobody did.

    Raises:
        ArtifactError: the signature is not one of this content, or cannot be checked.
    """
    if SIGNATURE not in files:
        return None
    wrong = ArtifactError(f"{SIGNATURE}: is no signature of this content", hint="ask whoever signed it")
    with _refused(wrong):
        said = json.loads(files[SIGNATURE])
        signed, public = str(said["signed"]), str(said["public_key"])
        key = _loaded(public.encode())
        key.verify(base64.b64decode(said["signature"], validate=True), _message(signed, files))
        if _text(key) != public or signed.partition("@")[0] != json.loads(files[CARD])["judge"]:
            raise wrong
    return Signature(signed=signed, key=PublicKey(text=public))


def require_signer(files: Mapping[str, bytes], key: PublicKey) -> None:
    """Refuse an artifact that a key has not signed.

    Raises:
        ArtifactError: it is not signed, by another key, or the signature does not hold.
    """
    found = signature_of(files)
    if found is None or found.key != key:
        by = "nobody" if found is None else str(found.key)
        raise ArtifactError(f"it is signed by {by}, not by {key}", hint="ask whoever should have signed it")


def _message(signed: str, files: Mapping[str, bytes]) -> bytes:
    return f"jurist artifact\n{signed}\n{content_hash(files)}\n".encode()


def _unlocked(data: bytes, passphrase: Callable[[], str]) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        key = load_ssh_private_key(data, None)
    except TypeError:  # how the library says that there is a passphrase
        key = load_ssh_private_key(data, passphrase().encode())
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError("another kind of key")
    return key


def _loaded(data: bytes) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    key = load_ssh_public_key(data)
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError("another kind of key")
    return key


def _text(key: Ed25519PublicKey) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def _read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint=_MAKE) from error


@contextmanager
def _refused(error: JuristError) -> Iterator[None]:
    """Raise an error of ours where the library refuses what it is given."""
    try:
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    except ImportError as absent:
        raise ArtifactError(
            f"signatures need the library {absent.name}", hint="pip install 'jurist[signing]'"
        ) from absent
    try:
        yield
    except (
        ValueError,
        TypeError,
        KeyError,
        RecursionError,
        InvalidSignature,
        UnsupportedAlgorithm,
    ) as refused:
        raise error from refused
