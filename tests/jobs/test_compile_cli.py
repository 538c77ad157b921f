"""``jurist compile`` from gold to artifact, offline, and what ``jurist artifacts`` says of the result."""

import json
from pathlib import Path

import pytest
from small import FAST, Done, claims, cli, ok, read_jsonl, write_jsonl

from jurist.gold.goldset import Gold
from jurist.gold.splits import Split
from jurist.jobs.openings import Openings
from jurist.programs.fect import FECT

OPRO = ("--set", "steps=2", "--set", "candidates=2")


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def compile_(*more: object, code: int = 0) -> Done:
    done = cli("compile", "fect", "--gold", "gold.jsonl", *FAST, *more)
    assert done.code == code, done.err
    return done


def _parts(seed: int) -> Split:
    return Gold.load("gold.jsonl", FECT).split(seed)


def test_the_same_seed_gives_the_same_files() -> None:
    for store, concurrency in (("one", 1), ("two", 8)):
        compile_("--store", store, "--concurrency", concurrency, "--anyway")
    for name in ("program.json", "history.jsonl"):
        one, two = (Path(store, "fect/1", name).read_bytes() for store in ("one", "two"))
        assert one == two
    assert len(read_jsonl(Path("one/fect/1/history.jsonl"))) > 2


def test_what_the_card_says_fits_together_and_is_what_is_kept() -> None:
    compile_()
    write_jsonl(Path("more.jsonl"), claims(groups=20)[42:])
    card = ok("artifacts", "remember", "fect@1", "more.jsonl", "--force", "--json").json
    split = _parts(0)
    sizes = [len(split.train), len(split.dev), len(split.test)]
    assert [card["gold"][part] for part in ("train", "dev", "test")] == sizes
    for side in ("basic", "compiled"):
        assert all(score["low"] <= score["value"] <= score["high"] for score in card["scores"][side].values())
        assert card["counts"][side]["units"]["total"] == len(split.test)
    assert card["spend"]["calls"] == card["spend"]["by_purpose"]["total"]["calls"] > 0
    assert (card["judge"], card["variant"], card["version"], card["parent"]) == ("fect", "basic", 2, 1)
    assert card["optimizer"]["params"]["sizes"] == "2"
    kept = json.loads(Path("compiled/fect/2/card.json").read_text())
    assert {key: card[key] for key in kept} == kept


def test_where_nothing_better_is_found_the_sealed_test_is_not_asked_and_not_opened() -> None:
    first = compile_("--json")
    card = first.json
    split = _parts(0)
    assert (card["decision"]["verdict"], card["scores"]) == ("nothing better found", None)
    assert (card["test_openings"], card["test_rows"]["used"], card["latest"]) == (0, 0, False)
    assert not Path("compiled/fect/1/proof.jsonl").exists()
    assert {row.openings for row in Openings().of(split.test)} == {0}
    assert "decision: nothing better than the basic prompt was found" in first.people
    assert "--max-calls" in first.people
    assert "nothing better found" in ok("artifacts", "list").out
    ok("report", "fect@1", "--gold", "gold.jsonl", "-o", "report.html")
    assert "Nothing better than the prompt you started with was found" in Path("report.html").read_text()
    assert "Not proven: nothing better" in ok("export", "fect@1", "--to", "markdown").out
    ok("artifacts", "verify", "fect@1")
    ok("artifacts", "show", "fect@1")
    # the next one is the first that opens the test
    write_jsonl(Path("more.jsonl"), claims(groups=20)[42:])
    later = ok("artifacts", "remember", "fect@1", "more.jsonl", "--force", "--json").json
    assert (later["test_openings"], later["decision"]["tested"]) == (1, 0.025)


def test_the_sealed_test_is_nowhere_in_the_artifact() -> None:
    compile_("--force", "--set", "sizes=2,4")
    split = _parts(0)
    files = {path.name: path.read_text() for path in Path("compiled/fect/1").iterdir()}
    text = "".join(files.values())
    for case in split.test:
        # What both programs said of it is kept, for people to read, under its id; what it says is nowhere.
        assert all(case.id not in files[name] for name in files.keys() - {"proof.jsonl"})
        assert case.inputs["claim"] not in text
        assert case.inputs["conversation"] not in text
    history = read_jsonl(Path("compiled/fect/1/history.jsonl"))
    shown = {id_ for row in history for id_ in row["demo_ids"]}
    assert shown
    assert shown <= {case.id for case in split.train}
    seen = json.loads(Path("compiled/fect/1/card.json").read_text())["gold"]["seen"]
    assert seen == sorted(case.id for case in (*split.train, *split.dev))


def test_what_is_not_better_is_kept_and_not_made_latest_unless_forced() -> None:
    first = compile_("--json")
    assert first.json["decision"]["verdict"] != "better"  # the small gold has too few test rows for any proof
    assert first.json["latest"] is False
    assert "not promoted" in first.people
    basic = ok("run", "fect", "--input", "gold.jsonl", "--output", "o.jsonl")
    assert "no version of fect has passed a sealed test: its basic prompt is used" in basic.err
    assert basic.out.startswith("fect:basic: ")
    forced = compile_("--json", "--force", "--anyway")
    assert (forced.json["latest"], forced.json["version"], forced.json["parent"]) == (True, 2, None)
    assert f"artifact: compiled/fect/2 (latest: {forced.json['decision']['verdict']})" in forced.people
    assert compile_("--json", "--anyway").json["parent"] == 2
    listed = cli("artifacts", "list", "--json").json["artifacts"]
    assert [(one["artifact"], one["latest"]) for one in listed] == [
        ("fect@1", False),
        ("fect@2", True),
        ("fect@3", False),
    ]
