"""A cascade from its choice to what it judges: a quick judge, a careful one, and people."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_server import BatchServer
from loopback import field_of
from small import cli, ok, read_jsonl, write_jsonl
from tickets import JUDGE

import jurist
from jurist.keeping.loaders import CascadeAsker

ROWS = 150


def ticket(number: int, kind: str) -> dict[str, Any]:
    # who is quick knows the easy red ones; who is careful knows all but the odd ones
    kind = ("easy", "hard", "hard", "plain", "odd")[number % 5] if kind == "any" else kind
    desk = "blue" if kind == "plain" or (kind == "odd" and number % 2) else "red"
    return {"ticket": f"{kind} thing number {number}", "desk": desk, "group": f"g{number}"}


def said(messages: list[dict[str, Any]]) -> str:
    text = field_of(str(messages[-1]["content"]), "ticket")
    quick = "Quickly" in str(messages[0]["content"])
    desk = ("red" if "easy" in text else "blue") if quick else "blue" if "plain" in text else "red"
    if not quick and "odd" in text:
        desk = "blue"
    return f"[[ ## desk ## ]]\n{desk}\n\n[[ ## completed ## ]]"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_key: str) -> Iterator[BatchServer]:
    monkeypatch.chdir(tmp_path)
    for name, word in (("quick", "Quickly"), ("careful", "Carefully")):
        source = JUDGE.replace('name="route"', f'name="{name}"').replace('"""Say', f'"""{word} say')
        Path(f"{name}.py").write_text(source)
    write_jsonl(Path("gold.jsonl"), [ticket(number, "any") for number in range(ROWS)])
    write_jsonl(Path("new.jsonl"), [ticket(number, "any") for number in range(ROWS, ROWS + 20)])
    with BatchServer(said) as server:
        yield server


def chosen(server: BatchServer, *options: str, code: int = 0) -> Any:
    asked = "cascade quick.py:judge:basic careful.py:judge:basic --gold gold.jsonl --model openai/m --json"
    done = cli(*asked.split(), "--api-base", server.url, *options)
    assert done.code == code, done.err
    return done.json


def test_each_row_goes_to_the_first_that_is_sure_enough(server: BatchServer) -> None:
    found = chosen(server)
    assert (found["artifact"], found["shown"], found["cases"]) == ("careful@1", True, ROWS)
    quick, careful = found["judges"]
    assert (quick["answered"], quick["right"], careful["answered"]) == (ROWS // 5, ROWS // 5, 2 * ROWS // 5)
    assert found["chosen"]["bound"] >= 0.9
    asked = len(server.hits)
    ok("run", "careful@1", "--input", "new.jsonl", "--output", "o.jsonl", "--model", "openai/m")
    lines = read_jsonl(Path("o.jsonl"))
    people = {"plain": "people", "odd": "people"}
    answering = {"easy": "quick:basic", "hard": "careful:basic", **people}
    for line in lines:
        assert line["by"] == answering[line["units"][0]["text"].split()[0]]
        assert line["status"] == ("abstained" if line["by"] == "people" else "verdict")
    # the careful one is asked only where the quick one is not sure
    assert len(server.hits) - asked == len(lines) + sum(line["by"] != "quick:basic" for line in lines)


def test_python_loads_and_evaluates_it(server: BatchServer) -> None:
    chosen(server)
    judge = jurist.load("careful@1")
    rows = [{"ticket": ticket(number, "any")["ticket"]} for number in range(ROWS, ROWS + 10)]
    verdicts = judge.batch(rows)
    assert {one.by for one in verdicts} == {"quick:basic", "careful:basic", "people"}
    found = jurist.evaluate(judge, [ticket(number, "any") for number in range(ROWS, ROWS + 40)])
    assert dict(found.by) == {"quick:basic": 8, "careful:basic": 16, "people": 16}
    assert found["accuracy"].value == 1.0


def test_repeats_of_a_cascade_are_other_draws_of_each_judge(server: BatchServer) -> None:
    chosen(server)
    asker = jurist.load("careful@1").asker(repeat=2)
    assert isinstance(asker, CascadeAsker)
    assert [member.asker.first_draw for member in asker.members] == [2, 2]


@pytest.mark.batch
def test_batches_ask_one_judge_after_the_other(server: BatchServer) -> None:
    chosen(server)
    where = ("--input", "new.jsonl", "--output", "b.jsonl", "--model", "openai/m", "--api-base", server.url)
    assert cli("batch", "submit", "careful@1", *where).code == 0
    done = cli("batch", "collect", "b.jsonl")
    while done.code == 1:
        done = cli("batch", "collect", "b.jsonl")
    ok("run", "careful@1", "--input", "new.jsonl", "--output", "o.jsonl", "--model", "openai/m")
    by = [[(line["id"], line["by"]) for line in read_jsonl(Path(name))] for name in ("b.jsonl", "o.jsonl")]
    assert by[0] == by[1]


def test_a_log_shows_what_it_would_save_and_keeps_no_version(server: BatchServer) -> None:
    rows = [ticket(number, "any") for number in range(ROWS)]
    write_jsonl(Path("log.jsonl"), [{"ticket": row["ticket"], "verdict": row["desk"]} for row in rows])
    asked = ("--gold", "gold.jsonl", "--model", "openai/m", "--api-base", server.url, "--json")
    found = ok("cascade", "quick.py:judge:basic", "recorded:log.jsonl", *asked).json
    assert found["artifact"] is None
    assert found["judges"][0]["answered"] == ROWS // 5
    assert sum(one["answered"] for one in found["judges"]) == ROWS
    assert len(server.hits) == ROWS


def test_a_cascade_that_is_not_shown_keeps_nothing(server: BatchServer) -> None:
    found = chosen(server, "--agree", "0.99", code=3)
    assert (found["shown"], found["artifact"], list(Path().glob("compiled/*/card.json"))) == (False, None, [])


REFUSED = {
    "export careful@1 --to python": "has no prompt of its own",
    "artifacts remember careful@1 gold.jsonl": "has no prompt of its own",
    "artifacts forget careful@1 x": "has no prompt of its own",
    "run careful@1 --input new.jsonl --output o.jsonl --model openai/other": "whose judges are asked with",
    "run careful@1 --input new.jsonl --output o.jsonl --samples 3": "whose judges keep their own samples",
    "evaluate careful@1 --gold gold.jsonl": "were used to compile",
    "cascade quick.py:judge:basic --gold gold.jsonl --risk 0": "is no share",
    "cascade cognibench:basic --gold cognibench-mini": "gives several answers a row",
    "cascade quick.py:judge:basic --gold gold.jsonl --model a/b --model c/d": "2 models for 1 judge",
}


def test_what_cannot_be_is_said_on_one_line(server: BatchServer) -> None:
    chosen(server)
    for command, words in REFUSED.items():
        done = cli(*command.split())
        assert done.code in (1, 2), (command, done.err)
        assert words in done.err.splitlines()[-1], (command, done.err)


@pytest.mark.parametrize(
    ("constant", "warned", "blue"),
    [
        (
            True,
            [
                "the cascade gives one answer, red, to 150 of 150 units (100%), which is the label of 129",
                "the cascade is not told apart from constant: balanced_accuracy 0.500 and 0.500",
            ],
            {"label": "blue", "rows": 21, "answered": 21, "right": 0},
        ),
        (False, [], {"label": "blue", "rows": 21, "answered": 21, "right": 21}),
    ],
)
def test_a_cascade_that_finds_no_rare_label_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constant: bool, warned: list[str], blue: dict[str, Any]
) -> None:
    """A constant agrees with people on 86 % of these rows, which the cascade certifies: it must not stand alone."""
    monkeypatch.chdir(tmp_path)
    desks = ["blue" if number % 7 == 3 else "red" for number in range(ROWS)]
    gold = [{"ticket": f"thing {number}", "desk": desk} for number, desk in enumerate(desks)]
    log = [{**row, "verdict": "red" if constant else row["desk"]} for row in gold]
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("log.jsonl"), [{"ticket": row["ticket"], "verdict": row["verdict"]} for row in log])
    done = ok("cascade", "recorded:log.jsonl", "--gold", "gold.jsonl", "--agree", "0.7", "--json")
    found = done.json
    assert found["shown"]
    assert blue in found["labels"]
    assert len(found["warnings"]) == len(warned)
    for words, warning in zip(warned, found["warnings"], strict=True):
        assert words in warning
