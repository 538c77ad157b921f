"""Every command that pays: never one call more than allowed, and killed anywhere it ends as if it had not been."""

import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import answer
from quiz import QUIZ, documents
from quiz import answer as quizzing
from scripted_runs import improving, token_alone
from small import Done, claims, cli, comparable_files, killed, ok, read_jsonl, tree, write_jsonl
from talks import conversing, docs, spoken

IN_FLIGHT = 4
GOLD = ("--gold", "gold.jsonl", "--model", "openai/x")
JUDGE = ("--judge", "cognibench:basic", "--judge-model", "openai/y", "--samples", 2)
SEARCH = (
    *("--set", "steps=4", "--set", "patience=4", "--set", "candidates=2", "--set", "sample=24"),
    *("--set", "block=4", "--optimizer", "opro"),
)
COMMANDS: dict[str, tuple[Callable[..., str], tuple[object, ...]]] = {
    "compile": (
        improving,
        ("compile", "fect", "--gold", "wide.jsonl", "--model", "openai/x", "--no-words", *SEARCH),
    ),
    "compare": (answer, ("compare", "fect:basic", *GOLD, "--model", "openai/y", "--repeats", 2)),
    "evaluate": (answer, ("evaluate", "fect:basic", "--gold", "wide.jsonl", "--model", "openai/x")),
    "gate": (
        answer,
        ("gate", "fect:basic", "--gold", "wide.jsonl", "--model", "openai/x", "--min", "f1=0.1"),
    ),
    "harden": (answer, ("evaluate", "harden", "fect:basic", *GOLD, "--only", "role")),
    "generate": (
        quizzing,
        (
            *("generate", f"{QUIZ}:generator:basic", "--input", "texts.jsonl", "--output", "q.jsonl"),
            *("--model", "openai/x", "--max-rejected", 1),
        ),
    ),
    "dialogue": (
        spoken,
        (
            *("generate", "dialogue", "--input", "docs.jsonl", "--output", "d.jsonl", "--turns", 2),
            *("--words", "5-60", "--model", "openai/x"),
        ),
    ),
    "assess": (
        conversing,
        (
            *("assess", "openai/x", "--benchmark", "prompts.jsonl", "--calibration", "known.jsonl"),
            *("--answers", "out.jsonl", *JUDGE),
        ),
    ),
}
CHANGING = {"spend", "forecast", "created", "seconds", "seconds_per_row", "sha256"}


def responses(name: str, count: int) -> list[dict[str, Any]]:
    return [
        {
            "group": f"{name}{n}",
            "reference": f"The {name} mill number {n} was built in {1800 + n} and has two wheels.",
            "question": f"What of mill {n}?",
            "sentences": [f"It was built in {1800 + n}.", "It has nine wheels."],
            "labels": ["faithful", "invented"],
        }
        for n in range(count)
    ]


class Paid:
    """A command before a server, and what it has read and left."""

    def __init__(self, name: str, serve: Callable[..., Any], root: Path, patch: pytest.MonkeyPatch) -> None:
        answers, argv = COMMANDS[name]
        told = {"logprobs": token_alone} if answers is improving else {}
        self.server, self.root, self.patch = serve(answers, **told), root, patch
        ends = ["--api-base", *["--judge-api-base"] * ("--judge" in argv)]
        named = (part for end in ends for part in (end, self.server.url))
        self.argv = (*argv, *named, "--concurrency", IN_FLIGHT, "--yes", "--json")

    def at(self, name: str) -> Path:
        """Go to a folder of its own, in which all is there that the command reads."""
        place = self.root / name
        place.mkdir()
        self.patch.chdir(place)
        self.patch.setenv("XDG_DATA_HOME", str(self.root / f"data-{name}"))
        write_jsonl(Path("gold.jsonl"), claims())
        write_jsonl(Path("wide.jsonl"), claims(groups=40))
        write_jsonl(Path("docs.jsonl"), docs(3))
        write_jsonl(Path("known.jsonl"), responses("known", 8))
        write_jsonl(Path("prompts.jsonl"), responses("new", 5))
        documents(Path("texts.jsonl"))
        return place

    def run(self, *more: object) -> Done:
        return cli(*self.argv, *more)

    def whole(self) -> tuple[int, Done, dict[str, Any]]:
        """Return how many requests an uninterrupted run takes, how it ends, and what it leaves."""
        place = self.at("whole")
        done, requests = self.run(), self.server.count
        assert done.code in (0, 3), done.err
        if seen := done.json.get("forecast"):
            assert seen["calls"][0] <= requests <= seen["calls"][1]
            assert (seen["tokens"][0] > 0, seen["cost"], "openai/x" in seen["unpriced"]) == (True, None, True)
        self.server.hits.clear()
        return requests, done, comparable_files(place, plain)


def plain(data: Any) -> Any:
    """Return a result without what every start changes."""
    if isinstance(data, dict):
        return {name: plain(value) for name, value in data.items() if name not in CHANGING}
    return [plain(one) for one in data] if isinstance(data, list) else data


@pytest.mark.parametrize("name", COMMANDS)
def test_what_may_cost_much_is_asked_about_before_anything_is_sent(
    name: str, serve: Callable[..., Any], tmp_path: Path, fake_key: str, monkeypatch: Any
) -> None:
    paid = Paid(name, serve, tmp_path, monkeypatch)
    place = paid.at("here")
    before = tree(place)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    refused = cli(*COMMANDS[name][1])  # the provider's own address, and a price that nobody knows
    assert (refused.code, "add --yes to go on" in refused.lines[-1]) == (2, True), refused.err
    assert tree(place) == before


SWIFT = ("compile", "assess")  # the others differ in what they ask, and have a limit instead of a kill below


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SWIFT else [pytest.mark.slow]) for name in COMMANDS]
)
def test_two_kills_and_a_resumption_are_one_run(
    name: str, serve: Callable[..., Any], tmp_path: Path, no_waiting: None, fake_key: str, monkeypatch: Any
) -> None:
    paid = Paid(name, serve, tmp_path, monkeypatch)
    requests, whole, files = paid.whole()
    place, server = paid.at("cut"), paid.server
    server.delay = 0.01
    for number, after in enumerate((requests // 3, requests // 4)):
        killed(server, after, *paid.argv, *(["--resume"] if number else []), cwd=place)
    refused = paid.run()
    assert (refused.code, "add --resume" in refused.err, "--fresh" in refused.err) == (1, True, True)
    server.delay, before = 0.0, server.count
    done = paid.run("--resume")
    assert done.code == whole.code, done.err
    assert requests <= server.count <= requests + 2 * IN_FLIGHT
    # what had arrived at a kill was answered and kept, but for the requests in flight
    assert server.count - before <= requests - requests // 3 - requests // 4 + 2 * IN_FLIGHT
    assert plain(done.json) == plain(whole.json)
    assert comparable_files(place, plain) == files
    if name == "compile":  # a changed prompt wins, and nothing that was sent is missing on the card
        assert "quality=" in str(files["compiled/fect/1/program.json"])
        spent = done.json["spend"]["calls"] + done.json["spend"]["lost"]
        assert server.count <= spent <= server.count + 2 * IN_FLIGHT


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_five_kills_at_random_and_a_resumption_are_one_run(
    name: str, serve: Callable[..., Any], tmp_path: Path, no_waiting: None, fake_key: str, monkeypatch: Any
) -> None:
    paid = Paid(name, serve, tmp_path, monkeypatch)
    requests, whole, files = paid.whole()
    place, server = paid.at("cut"), paid.server
    server.delay, places = 0.02, random.Random(name)
    for number in range(5):
        after = places.randint(1, max(1, requests // 8))
        killed(server, after, *paid.argv, *(["--resume"] if number else []), cwd=place)
    server.delay = 0.0
    done = paid.run("--resume")
    assert done.code == whole.code, done.err
    assert requests <= server.count <= requests + 5 * IN_FLIGHT
    assert plain(done.json) == plain(whole.json)
    assert comparable_files(place, plain) == files


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "compile"])  # a search fits its limit
def test_never_one_call_more_than_allowed_and_none_is_paid_twice(
    name: str, serve: Callable[..., Any], tmp_path: Path, no_waiting: None, fake_key: str, monkeypatch: Any
) -> None:
    paid = Paid(name, serve, tmp_path, monkeypatch)
    requests, whole, files = paid.whole()
    place, server = paid.at("cut"), paid.server
    for number, limit in enumerate((1, requests // 2, requests - 1)):
        for again in (number > 0, True):  # what is replayed counts as it was paid
            stopped = paid.run("--max-calls", limit, *(["--resume"] if again else []))
            assert (stopped.code, server.count) == (1, limit), stopped.err
            said = f"error: the budget of {limit} calls is spent; {limit} paid answers are kept in "
            assert stopped.lines[-1].startswith(said)
    done = paid.run("--max-calls", requests, "--resume")
    assert (done.code, server.count) == (whole.code, requests), done.err
    assert plain(done.json) == plain(whole.json)
    assert comparable_files(place, plain) == files


@pytest.mark.parametrize("name", COMMANDS)
def test_a_failure_that_ends_it_says_what_is_kept_and_nothing_is_paid_twice(
    name: str, serve: Callable[..., Any], tmp_path: Path, no_waiting: None, fake_key: str, monkeypatch: Any
) -> None:
    paid = Paid(name, serve, tmp_path, monkeypatch)
    requests, whole, files = paid.whole()
    place, server = paid.at("cut"), paid.server
    answered = requests // 2
    server.faults = lambda number, body: "quota" if number >= answered else None
    ended = paid.run()
    assert ended.code == 1
    assert ended.lines[-1].startswith("error: [openai/")
    assert f"; {answered} paid answers are kept in " in ended.lines[-1]
    assert ended.lines[-1].endswith(
        "; check the account's credit and quota, then add --resume to go on without paying again"
    )
    refused = server.count - answered
    server.faults = {}
    done = paid.run("--resume")
    assert (done.code, server.count - refused) == (whole.code, requests), done.err
    assert plain(done.json) == plain(whole.json)
    assert comparable_files(place, plain) == files


def test_what_an_assessment_failed_on_is_counted_and_asked_again(
    serve: Callable[..., Any], no_waiting: None, fake_key: str
) -> None:
    write_jsonl(Path("known.jsonl"), responses("known", 8))
    write_jsonl(Path("prompts.jsonl"), responses("new", 5))
    lost = "new mill number 4"
    server = serve(conversing, faults=lambda index, body: "500" if lost in str(body) else None)
    _, asked = COMMANDS["assess"]
    ends = ("--api-base", server.url, "--judge-api-base", server.url)
    argv = ("assess", "openai/x", *asked[2:6], *JUDGE[:4], *ends, "--samples", 1, "--yes", "--json")
    broken = cli(*argv, "--answers", "a.jsonl")
    (model,) = broken.json["models"]
    assert (broken.code, model["answers"], model["failed"]) == (3, 4, 1)
    assert "--resume asks again for what failed" in broken.err
    server.faults, before = {}, server.count
    done = ok(*argv, "--resume")
    assert (done.json["models"][0]["answers"], done.json["models"][0]["failed"]) == (5, 0)
    assert server.count == before + 2  # the reply, and what the judge says of it
    assert len(read_jsonl(Path("a.jsonl"))) == 4
    assert json.dumps(done.json).count(fake_key) == 0
