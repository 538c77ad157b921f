"""Plug-ins, from the page that describes them: the package on it is built, installed with pip, and used."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import setuptools
from small import write_jsonl

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "plugins.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w/.]+)`\n\n```\w+\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package of the page, and three plug-ins more that cannot be used."""
    if int(setuptools.__version__.split(".")[0]) < 71:
        pytest.skip(
            "this setuptools needs the package wheel to build one; pip install -e '.[dev]' brings a newer one"
        )
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    for name, text in FILES.items():
        if name.startswith(("jurist_acme/", "pyproject")):
            path = source / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    project = source / "pyproject.toml"
    more = {
        "jurist.judges": 'acme-gone = "jurist_acme.nowhere:judge"\nfect = "jurist_acme.tone:judge"',
        "jurist.generators": 'acme-lost = "jurist_acme.tone:judge"',
        "jurist.exports": 'acme-gone = "jurist_acme.tone:judge"',
    }
    text = project.read_text(encoding="utf-8")
    for group, lines in more.items():
        head = f'[project.entry-points."{group}"]\n'
        text = text.replace(head, f"{head}{lines}\n")
    project.write_text(text, encoding="utf-8")
    (source / "jurist_acme" / "__init__.py").touch()
    asked = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", target, source)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *asked], check=True, capture_output=True, text=True
    )
    return target


def python(installed: Path, folder: Path, *argv: object) -> subprocess.CompletedProcess[str]:
    paths = [str(installed), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, *map(str, argv)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


COMMANDS = """
import contextlib, io, json, sys
from jurist.cli import main

done = []
for argv in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(argv)
    done.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""


def jurist(installed: Path, folder: Path, *commands: str) -> list[tuple[int, str, str]]:
    """Return exit code, output and errors of commands, all in one process."""
    asked = json.dumps([shlex.split(one) for one in commands])
    done = python(installed, folder, "-c", COMMANDS, asked)
    assert done.returncode == 0, done.stderr
    return [(code, out, err) for code, out, err in json.loads(done.stdout.splitlines()[-1])]


def test_a_judge_and_an_optimizer_are_compiled_and_exported(installed: Path, tmp_path: Path) -> None:
    rows = [
        {"message": f"Where is order {n}?", "reply": reply, "tone": tone, "group": f"g{n % 12}"}
        for n in range(36)
        for reply, tone in [
            (f"It is on its way, number {n}.", "polite"),
            (f"Look it up yourself, {n}.", "rude"),
        ]
    ]
    write_jsonl(tmp_path / "gold.jsonl", rows)
    asked = "--optimizer acme-remind --set 'sentence=Mind the tone.' --force --json"
    made, shown = jurist(
        installed,
        tmp_path,
        f"compile acme-tone --gold gold.jsonl {asked}",
        "export acme-tone@1 --to acme-prompt",
    )
    assert (made[0], shown[0]) == (0, 0), made[2] + shown[2]
    card, exported = json.loads(made[1]), tomllib.loads(shown[1])
    assert card["optimizer"]["params"] == {"sentence": "Mind the tone."}
    history = (tmp_path / "compiled" / "acme-tone" / "1" / "history.jsonl").read_text(encoding="utf-8")
    assert "Mind the tone." in history
    assert exported["sha256"] == card["sha256"]
    assert [message["role"] for message in exported["message"]] == ["system", "user"]
    assert "${reply}" in exported["message"][1]["text"]
    assert set(exported["input"]) == {"message", "reply"}


def test_what_cannot_be_loaded_is_one_line_and_ends_nothing_else(installed: Path, tmp_path: Path) -> None:
    (code, out, err), *refused = jurist(
        installed,
        tmp_path,
        "judges --json",
        "export acme-gone --to markdown",
        "export fect:basic --to acme-gone",
    )
    names = [one["name"] for one in json.loads(out)["judges"]]
    assert (code, names.count("fect"), "acme-tone" in names, "acme-gone" in names) == (0, 1, True, False)
    gone, lost = err.splitlines()
    assert gone.startswith(
        "warning: the judge 'acme-gone' of jurist-acme cannot be loaded: ModuleNotFoundError: "
    )
    assert lost.startswith("warning: the generator 'acme-lost' of jurist-acme cannot be loaded: it is ")
    for code, out, err in refused:
        assert (code, out, len(err.splitlines())) == (1, "", 1)
        assert err.startswith("error: the ")
        assert "'acme-gone' of jurist-acme" in err
