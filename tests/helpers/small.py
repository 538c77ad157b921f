"""What the end-to-end tests share: the command line in this process, and small files to give it."""

import contextlib
import hashlib
import io
import json
import shlex
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from forked import Forked

from jurist.arguments.groups import Form
from jurist.cli import main
from jurist.console import printing

FAST = tuple(
    shlex.split("--optimizer fewshot --set sizes=2 --set sets=2 --set block=4 --set sample=6 --set steps=2")
)
"""A compilation of the small gold that takes a fraction of a second."""
THINGS = ("kettle", "bicycle", "lantern", "keyboard", "umbrella", "suitcase", "blanket", "camera")


@dataclass(frozen=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str
    people: str
    """What a person reads without ``--json``: notes and the result as text."""

    @property
    def json(self) -> Any:
        """The one JSON object on standard output."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines on standard error."""
        return self.err.splitlines()

    @property
    def results(self) -> list[str]:
        """The lines on standard output."""
        return self.out.splitlines()


def cli(*argv: object) -> Done:
    """Run the command in this process."""
    out, err, kept = io.StringIO(), io.StringIO(), []

    def show(result: printing.Result, form: Form) -> None:
        kept.append(printing.result_text(result, Form()))
        shown(result, form)

    shown = printing.print_result
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.object(printing, "print_result", show),
    ):
        try:
            code = main([str(part) for part in argv])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Done(code=code, out=out.getvalue(), err=err.getvalue(), people="".join([err.getvalue(), *kept]))


def ok(*argv: object) -> Done:
    """Run a command that has to succeed."""
    done = cli(*argv)
    assert done.code == 0, done.err
    return done


def start(*argv: object, cwd: Path, ignoring: signal.Signals | None = None) -> Forked:
    """Start the command in a process of its own, which may be told to ignore a signal, as ``nohup`` does."""
    return Forked(*argv, cwd=cwd, ignored=[ignoring] if ignoring else [])


def reached(server: Any, process: Forked, goal: int) -> None:
    """Wait until a server has got so many requests, or nobody is left to send them."""
    deadline = time.monotonic() + 120
    while server.count < goal and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)


def ended(
    server: Any, after: int, *argv: object, cwd: Path, by: signal.Signals = signal.SIGKILL
) -> tuple[int, str]:
    """Start the command, send a signal when ``after`` more requests have arrived; return its code and last words."""
    goal = server.count + after
    process = start(*argv, cwd=cwd)
    reached(server, process, goal)
    process.send_signal(by)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def killed(server: Any, after: int, *argv: object, cwd: Path) -> None:
    """Start the command, and kill it when ``after`` more requests have arrived."""
    code, err = ended(server, after, *argv, cwd=cwd)
    assert code == -signal.SIGKILL, err


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def aside(number: int, words: int = 16) -> str:
    """Return words that no two numbers share, so that texts which differ in them are no near copies."""
    letters = hashlib.sha256(str(number).encode()).hexdigest() * 2
    return " ".join(letters[place * 6 : place * 6 + 6] for place in range(words)) + "."


def claims(groups: int = 14, per_group: int = 3) -> list[dict[str, Any]]:
    """Return labelled FECT rows of our own; every conversation has claims of both kinds."""
    rows = []
    for group in range(groups):
        thing, number = THINGS[group % len(THINGS)], 10 + group
        talk = (
            f"Agent: Hello, this is desk {number}. Customer: My {thing} with the number {number} arrived broken. "
            f"Agent: I will send a new {thing} on Monday. {aside(group)}"
        )
        said = (
            (f"The customer reports that {thing} {number} arrived broken.", True),
            (f"The customer asked desk {number} to cancel the whole contract.", False),
            (f"The agent of desk {number} promises a new {thing}.", True),
            (f"The agent of desk {number} refuses to replace the {thing}.", False),
        )
        for claim, factual in said[:per_group]:
            rows.append({"group": f"talk-{group}", "conversation": talk, "claim": claim, "factual": factual})
    return rows


TALK = "Agent: Hello. Customer: I want my money back for the lamp. Agent: It is on its way."


def new_rows(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Return rows without labels, with an id and a column of their own."""
    return [
        {"id": f"r{n}", "conversation": TALK, "claim": f"The customer said the number {n} aloud.", "note": n}
        for n in range(first, first + count)
    ]


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below ``folder`` with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def comparable_files(folder: Path, without_changing: Callable[[Any], Any]) -> dict[str, Any]:
    """Return every file without what every start changes; of the answers that are kept, which calls they are of."""
    files: dict[str, Any] = {}
    for name, content in tree(folder).items():
        if name.endswith(".json"):
            files[name] = without_changing(json.loads(content))
        elif name.endswith("answers.sqlite"):
            with contextlib.closing(sqlite3.connect(folder / name)) as answers:
                files[name] = sorted(answers.execute("SELECT call, text FROM answers"))
        else:
            files[name] = content
    return files


OWN = '''
from typing import Literal

import dspy
import jurist


class MaySend(dspy.Signature):
    """Say whether a reply may be sent: send it if the policy supports it."""

    policy: str = dspy.InputField(desc="the policy")
    reply: str = dspy.InputField(desc="one sentence")
    verdict: Literal["send", "hold"] = dspy.OutputField(desc="send or hold")


def share_right(gold, predicted):
    print("this is no result")
    return sum(one == two for one, two in zip(gold, predicted, strict=True)) / len(gold)


judge = jurist.Judge(name="may-go", signature=MaySend, positive={"hold"}, metric=share_right)
other = jurist.Judge(name="other-go", signature=MaySend, positive={"send"}, metric="accuracy")
'''
"""A user's own judge, with a metric function of its own."""


def replies(groups: int = 14) -> list[dict[str, Any]]:
    """Return labelled rows for :data:`OWN`."""
    rows = []
    for group in range(groups):
        thing, days = THINGS[group % len(THINGS)], 20 + group
        rule = f"Anyone may return an unused {thing} within {days} days, the postage is paid by the buyer."
        policy = f"{rule} {aside(group)}"
        may = f"You may return the {thing} within {days} days."
        said = ((may, "send"), (f"We pay for the {thing}.", "hold"))
        rows += [
            {"group": f"replies-{group}", "policy": policy, "reply": reply, "verdict": verdict}
            for reply, verdict in said
        ]
    return rows
