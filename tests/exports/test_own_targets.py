"""Export targets of a Python file and of an installed package."""

import importlib
import re
from dataclasses import fields
from pathlib import Path

import pytest
from small import cli

from jurist.arguments.catalogue import ExportOptions
from jurist.exports import EXPORTERS, Exporter, export_targets, exporter

TARGET = r"""
class Shout:
    name = "shout"
    suffix = ".txt"
    limits = ("it is loud",)

    def render(self, subject):
        return subject.ref.upper() + "\n"

shout = Shout()
lame = object()
"""


def test_every_target_declares_all_members() -> None:
    for target in EXPORTERS.values():
        assert isinstance(target, Exporter)
        assert all(isinstance(limit, str) for limit in target.limits)


def test_help_lists_every_target() -> None:
    (words,) = [item.metadata["help"] for item in fields(ExportOptions) if item.name == "target"]
    listed = re.findall(r"[\w-]+", words.partition("docs/exports.md: ")[2].partition(";")[0])
    assert listed == sorted(EXPORTERS)


def test_a_target_of_a_file_is_used_and_its_limits_are_said() -> None:
    Path("targets.py").write_text(TARGET)
    done = cli("export", "fect", "--to", "targets.py:shout")
    assert (done.code, done.out) == (0, "FECT (NOT AN ARTIFACT)\n")
    assert "it is loud" in done.err


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("targets.py:lame", "'lame' is of type object"),
        ("targets.py:none", "'none' is not in it"),
        ("missing.py:shout", "missing.py: no such file"),
        ("shoutt", "no export target is called 'shoutt'"),
    ],
)
def test_what_is_no_target_is_refused_in_one_line(target: str, said: str) -> None:
    Path("targets.py").write_text(TARGET)
    done = cli("export", "fect", "--to", target)
    assert done.code
    assert said in done.lines[-1] + done.err


def test_a_package_brings_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    info = site / "loud-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "loud_targets.py").write_text(TARGET)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[jurist.exports]\nshout = loud_targets:shout\n")
    monkeypatch.syspath_prepend(site)
    importlib.invalidate_caches()
    assert "shout" in export_targets()
    assert exporter("shout").suffix == ".txt"
