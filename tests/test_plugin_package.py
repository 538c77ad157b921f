"""A package of other people brings a judge, an optimizer, an export target and a reader, once it is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ACME = Path(__file__).with_name("acme")
COMMANDS = """
import sys
from jurist.cli import main
for arguments in [
    ["judges"],
    ["gold", "check", "polite", "acme-lines:labels.acme"],
    ["compile", "polite", "--gold", "acme-lines:labels.acme", "--optimizer", "remind",
     "--set", "sentence=Mind the tone.", "--max-calls", "400"],
    ["export", "polite:basic", "--to", "acme-text"],
    ["export", "polite:basic", "--to", "acme_judging.py:text_export"],
]:
    code = main(arguments)
    assert code == 0, (arguments, code)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the package is installed."""
    source = tmp_path_factory.mktemp("source") / "acme"
    shutil.copytree(ACME, source)  # setuptools writes beside what it builds
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True)
    return folder


def test_each_is_used_by_its_name(site: Path, tmp_path: Path) -> None:
    lines = []
    for number in range(60):
        label, words = ("polite", "thank you, please") if number % 2 else ("rude", "go away, fool")
        lines.append(f"{label}|{words}: reply number {number} about parcel {number * 7919}")
    (tmp_path / "labels.acme").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copy(ACME / "acme_judging.py", tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(site), "JURIST_STORE": str(tmp_path / "store")}
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    listed = [line for line in done.stdout.splitlines() if "acme-judging" in line]
    assert [line.split() for line in listed] == [["polite", "acme-judging"]]
    assert "60" in done.stdout
    assert "remind" in done.stderr
    assert done.stdout.count("polite: Say whether the reply is polite.") == 2
