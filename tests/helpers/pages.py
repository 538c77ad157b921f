"""Pages of the documentation that are run: their code blocks, in order, in a folder with the files they name.

A block runs as it stands. What it needs and a test cannot have is stood in for: a model behind an endpoint by a
loopback server, people who label by people who label at random. A comment before a block
says what else there is: ``<!-- slow -->`` puts its whole page among the slow tests, ``<!-- not run: WHY -->`` leaves
the block out.
"""

import ast
import asyncio
import base64
import csv
import gzip
import importlib.util
import inspect
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes import reply
from forked import Forked
from loopback import answer, truth_of
from small import cli, start

ROOT = Path(__file__).resolve().parents[2]


def script(name: str) -> Any:
    """Return a script of ``benchmarks`` as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_BLOCK = re.compile(
    r'^(?:<!-- (?P<mark>[^\n]*?) -->\n+)?```(?P<language>\w*)(?: title="(?P<title>[\w.]+)")?\n(?P<code>.*?)^```',
    re.DOTALL | re.MULTILINE,
)
_LABELLED = 3
"""Labels that a person gives on the review page before it is closed."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A code block: its language, the file it stands in for, the comment before it, its line in the page."""

    language: str
    title: str
    mark: str
    code: str
    line: int

    @property
    def runs(self) -> bool:
        """Whether it is run."""
        return not self.mark.startswith("not run: ")

    @property
    def commands(self) -> list[str]:
        """The commands of a shell block, without comments."""
        lines = self.code.replace("\\\n", " ").splitlines() if self.language == "sh" else []
        return [command for line in lines if (command := re.sub(r"(^|\s+)#\s.*", "", line).strip())]


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            language=found["language"],
            title=found["title"] or "",
            mark=found["mark"] or "",
            code=found["code"],
            line=text.count("\n", 0, found.start("language")) + 1,
        )
        for found in _BLOCK.finditer(text)
    ]


def typed_answer(messages: list[dict[str, Any]]) -> str:
    """Answer as a model that knows no better than the types of the fields it is asked for."""
    system, last = str(messages[0]["content"]), str(messages[-1]["content"])
    asked = system[system.index("Your output fields are:") : system.index("All interactions will be")]
    if "`labels`" in asked:
        return answer(messages)
    said = {}
    for name, kind in re.findall(r"^\d+\. `(\w+)` \((.*?)\)(?::|$)", asked, re.MULTILINE):
        choices = ast.literal_eval(f"[{kind[8:-1]}]") if kind.startswith("Literal") else [True, False]
        if kind == "str":
            said[name] = f"Read closely, {truth_of(last, tuple(range(99)))} times over?"
        else:
            said[name] = (
                [] if kind.startswith("list") else "yes" if "yes" in choices else truth_of(last, choices)
            )
    return reply("json" if "[[ ##" not in system else "chat", **said)


def run_page(page: Path, url: str, known: Mapping[str, Any]) -> str:
    """Run the blocks of a page in the current folder, and return what was printed.

    Args:
        page: the page.
        url: of a server that answers as a model.
        known: names that its Python blocks take for granted.
    """
    said, names = "", {**known, "__name__": "__main__"}
    for block in blocks(page):
        if not block.runs:
            continue
        try:
            if block.language == "python":
                _python(block, names)
            for command in block.commands:
                said += _command(command.replace("http://localhost:8000/v1", url))
        except Exception as error:
            # The code of a page may raise anything. The error is raised again with the page and its line.
            raise AssertionError(f"{page.name}:{block.line}: {block.code[:300]}") from error
    return said


def _python(block: Block, names: dict[str, Any]) -> None:
    if block.title:
        Path(block.title).write_text(block.code, encoding="utf-8")
        own = ROOT / "docs" / block.title
        assert not own.exists() or own.read_text(encoding="utf-8") == block.code, f"it is not {own}"
    code = compile(
        block.code, block.title or "block", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
    )
    found = eval(code, names)
    if inspect.iscoroutine(found):
        asyncio.run(found)


def _command(command: str) -> str:
    program, *rest = shlex.split(command)
    if program == "pip":
        assert all(extra in _extras() for extra in re.findall(r"\[([\w,]+)\]", command)), command
        return ""
    if program != "jurist" or set("|>") & set(command):
        return _shell(command)
    if rest[0] == "review" and "-o" in rest:  # a page; a sheet is written to an --output
        return _review(rest)
    done = cli(*rest)
    assert done.code == 0, (command, done.out[-1500:], done.err[-1500:])
    for name in re.findall(r"--output (\S+\.csv)", command) if rest[0] in ("gold", "review") else ():
        _fill_in(Path(name))
    return done.out


def _extras() -> str:
    return (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def _shell(command: str) -> str:
    where = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, shell=True, env={**os.environ, "PATH": where}, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, (command, done.stdout[-1500:], done.stderr[-1500:])
    return done.stdout


def _fill_in(sheet: Path) -> None:
    """Label a sheet as somebody would who has not read it."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    raters = [name for name in rows[0] if name.startswith("rater:")] if rows else []
    for place, row in enumerate(rows):
        choices = row["labels"].split(" | ") if raters else []
        row.update({name: choices[place % len(choices)] for name in raters})
    if raters:
        with sheet.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


def _review(argv: list[str]) -> str:
    """Label some units on the review page, as its script does, and end it with Ctrl-C."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    process = start(*argv, "--port", port, cwd=Path.cwd())
    work = json.loads(_get(f"{url}work?rater=ann", process))
    units = json.loads(gzip.decompress(base64.b64decode(work["units"])))["units"]
    choices = work["about"]["choices"]
    for place in range(_LABELLED):
        unit, said = units[place]["unit"], choices[place % len(choices)]
        label = {"unit": unit, "rater": "ann", "label": said, "category": ""}
        asked = urllib.request.Request(
            f"{url}labels", json.dumps(label).encode(), {"x-jurist": "review"}, method="POST"
        )
        assert json.load(urllib.request.urlopen(asked, timeout=30)) == {"saved": True}
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    return said


def _get(url: str, process: Forked) -> str:
    for _ in range(300):
        try:
            return str(urllib.request.urlopen(url, timeout=30).read().decode())
        except OSError:
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
    raise AssertionError(f"{url} does not answer")


def pages() -> Iterator[Path]:
    """Yield the README and every page of the site that is written by hand."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").glob("*.md"))
