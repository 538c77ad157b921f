"""Signatures: who signed is said, nothing else passes for it, and no secret key is kept."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from judges import changed, save
from small import cli, ok

from jurist.errors import ArtifactError
from jurist.keeping.artifacts import Artifact, Store
from jurist.keeping.moving import files_of, pack, receive
from jurist.keeping.sealing import CARD, HISTORY, PROGRAM, SIGNATURE, canonical, seal
from jurist.keeping.signing import public_key, require_signer, signature_of
from jurist.programs.fect import FECT

pytest.importorskip("cryptography", reason="signing needs the extra signing")
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa


def key(path: Path, passphrase: bytes = b"") -> Path:
    """Write a pair of keys as ssh-keygen does."""
    secret = ed25519.Ed25519PrivateKey.generate()
    locked = form.BestAvailableEncryption(passphrase) if passphrase else form.NoEncryption()
    path.write_bytes(secret.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, locked))
    public = secret.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public + b" me@here\n")
    return path


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A store with fect@1, signed by ``mine``, and another pair of keys."""
    for name in ("mine", "other"):
        key(tmp_path / name)
    save(Store("compiled"), FECT)
    ok("artifacts", "sign", "fect@1", "--key", "mine")
    return tmp_path


def signed() -> Artifact:
    return Store("compiled").load("fect@1")


def test_verify_says_who_signed_and_refuses_another(desk: Path) -> None:
    said = f"fect@1: signed as fect@1 by {public_key('mine.pub')}"
    assert said in cli("artifacts", "verify").out.splitlines()
    ok("artifacts", "verify", "fect", "--signed-by", "mine.pub")
    refused = cli("artifacts", "verify", "--signed-by", "other.pub")
    assert refused.code == 1
    assert (
        f"fect@1: it is signed by {public_key('mine.pub')}, not by {public_key('other.pub')}" in refused.err
    )
    save(Store("compiled"), FECT)
    assert "fect@2: it is signed by nobody" in cli("artifacts", "verify", "--signed-by", "mine.pub").err


def test_a_fingerprint_is_that_of_ssh_keygen(desk: Path) -> None:
    if not shutil.which("ssh-keygen"):
        pytest.skip("there is no ssh-keygen")
    shown = subprocess.run(
        ["ssh-keygen", "-lf", "mine.pub"], capture_output=True, text=True, check=True
    ).stdout
    assert str(public_key("mine.pub")) in shown


def test_it_travels_and_holds_under_another_number(desk: Path) -> None:
    (desk / "bundle.zip").write_bytes(pack(signed()))
    Store("theirs").save(FECT, changed(FECT, "Theirs."), {}, [], make_latest=True)  # number 1 is taken
    for place in ("theirs", "empty"):
        ok("artifacts", "unpack", "bundle.zip", "--store", place, "--signed-by", "mine.pub")
    assert "fect@2: signed as fect@1 by" in cli("artifacts", "verify", "fect@2", "--store", "theirs").out
    assert files_of(Store("empty").load("fect@1")) == files_of(signed())
    refused = cli("artifacts", "unpack", "bundle.zip", "--store", "no", "--signed-by", "other.pub")
    assert (refused.code, Path("no").exists()) == (1, False)
    ok("artifacts", "push", "fect@1", "shared")
    ok("artifacts", "pull", "fect", "shared", "--store", "got", "--signed-by", "mine.pub")
    assert cli("artifacts", "pull", "fect", "shared", "--store", "no", "--signed-by", "other.pub").code == 1


def test_a_signature_that_comes_later_is_added(desk: Path) -> None:
    files = files_of(signed())
    sealed = {name: data for name, data in files.items() if name != SIGNATURE}
    assert receive(sealed, Store("late")).new
    assert receive(files, Store("late")).new
    assert not receive(files, Store("late")).new
    assert Store("late").verify(by=public_key("mine.pub")) == []


def test_changed_content_is_not_signed_whoever_seals_it_again(desk: Path) -> None:
    folder = signed().path
    card = {**json.loads((folder / CARD).read_text()), "thresholds": {"samples": 5, "threshold": 1}}
    resealed = seal((folder / PROGRAM).read_bytes(), (folder / HISTORY).read_bytes(), card)
    (folder / CARD).write_bytes(canonical(resealed))
    done = cli("artifacts", "verify")
    assert (done.code, done.lines) == (
        1,
        ["error: fect@1: signature.json: is no signature of this content"],
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda said: {**said, "signed": "fect@2"},
        lambda said: {**said, "signature": "AAAA"},
        lambda said: {**said, "signature": 3},
        lambda said: {**said, "public_key": Path("other.pub").read_text().rpartition(" ")[0]},
        lambda said: {**said, "public_key": said["public_key"] + " me"},
        lambda said: {"signed": "fect@1"},
        lambda said: [said],
    ],
)
def test_no_other_signature_passes(desk: Path, change: object) -> None:
    files = files_of(signed())
    files[SIGNATURE] = json.dumps(change(json.loads(files[SIGNATURE]))).encode()  # type: ignore[operator]
    with pytest.raises(ArtifactError, match="is no signature of this content"):
        signature_of(files)
    with pytest.raises(ArtifactError, match="is no signature of this content"):
        require_signer(files, public_key("mine.pub"))


def test_another_judges_signature_does_not_pass(desk: Path) -> None:
    files = files_of(Store("compiled").save(FECT, changed(FECT, "Else."), {}, [], make_latest=False))
    with pytest.raises(ArtifactError):
        require_signer({**files, SIGNATURE: files_of(signed())[SIGNATURE]}, public_key("mine.pub"))


def test_a_passphrase_is_asked_for_and_nothing_secret_is_kept(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = key(desk / "locked", b"open sesame").read_bytes()
    for said, code in (("open sesame", 0), ("wrong", 2)):
        monkeypatch.setattr("jurist.console.moving.getpass", lambda prompt, said=said: said)
        done = cli("artifacts", "sign", "fect@1", "--key", "locked")
        assert done.code == code, done.err
    kept = [path.read_bytes() for path in (desk / "compiled").rglob("*") if path.is_file()]
    assert not any(b"sesame" in data or secret[40:80] in data for data in kept)


@pytest.mark.parametrize("name", ["absent", "mine.pub", "rsa", "text"])
def test_what_is_no_key_is_refused_in_one_line(desk: Path, name: str) -> None:
    text = b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
    Path("text").write_bytes(text)
    other = rsa.generate_private_key(65537, 2048)
    parts = (form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
    Path("rsa").write_bytes(other.private_bytes(*parts))
    done = cli("artifacts", "sign", "fect@1", "--key", name)
    assert (done.code, len(done.lines)) == (2, 1)
    assert "ssh-keygen -t ed25519" in done.err
    if name != "mine.pub":
        assert cli("artifacts", "verify", "--signed-by", name).code == 2


def test_without_the_library_it_says_what_to_install(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography.exceptions", None)
    for command in (("sign", "fect@1", "--key", "mine"), ("verify", "fect@1")):
        done = cli("artifacts", *command)
        assert done.code == 1
        assert "signatures need the library cryptography" in done.err
