"""``jurist run``: rows of any source, each exactly once in the output, whatever became of them in between."""

import asyncio
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from attempts import states
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import answer, truth_of
from small import TALK, cli, new_rows, ok, read_jsonl, start, write_jsonl

from jurist.console.printing import print_notes
from jurist.engines.models import Model
from jurist.errors import UsageError
from jurist.gold.new_rows import Source, StreamedRow
from jurist.gold.rejects import Rejects
from jurist.gold.sources import read
from jurist.keeping.artifacts import Store
from jurist.keeping.loaders import load_judge
from jurist.runs.feeding import Feed
from jurist.runs.runner import RunSettings, run_judge
from jurist.runs.summary import Summary

pytestmark = pytest.mark.usefixtures("no_waiting")

FECT = ("run", "fect:basic")
JUDGED = ("status", "label", "units", "case", "row")


def test_a_judge_that_cannot_be_connected_leaves_nobody_reading() -> None:
    before = set(threading.enumerate())
    write_jsonl(Path("rows.jsonl"), new_rows(600))
    loaded = load_judge("fect:basic", store=Store("compiled"))
    judge = loaded.with_model(Model(name="openai/m", key_env="NOBODYS_KEY"))
    with pytest.raises(UsageError, match="holds no key"):
        run_judge(judge, Source(name="rows.jsonl", judge=judge.judge), Path("o.jsonl"))
    reading = [one for one in threading.enumerate() if one.name == "jurist-rows" and one not in before]
    for one in reading:
        one.join(1)
    assert not any(one.is_alive() for one in reading)


@pytest.mark.parametrize(
    ("limit", "readings"),
    [({}, 1), ({"_KEPT_CASES": 11}, 2), ({"_KEPT_CHARACTERS": 100}, 2)],
    ids=["small", "many rows", "long rows"],
)
def test_a_small_input_is_read_once_and_a_large_one_twice(
    limit: dict[str, int], readings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_jsonl(Path("rows.jsonl"), new_rows(12))
    for name, most in limit.items():
        monkeypatch.setattr(f"jurist.runs.survey.{name}", most)
    sources: list[Source] = []
    rows_of_source = Source.rows

    def counted_rows(source: Source) -> Iterator[StreamedRow]:
        sources.append(source)
        return rows_of_source(source)

    monkeypatch.setattr(Source, "rows", counted_rows)
    ok(*FECT, "--input", "rows.jsonl", "--output", "o.jsonl")
    assert len(sources) == readings
    lines = read_jsonl(Path("o.jsonl"))
    assert [(line["id"], line["note"]) for line in lines] == [(f"r{n}", n) for n in range(12)]


def on(server: Any, *more: object, rows: str = "rows.jsonl", out: str = "o.jsonl") -> tuple[object, ...]:
    where = ("--input", rows, "--output", out, "--model", "openai/x", "--api-base", server.url, "--yes")
    return (*FECT, *where, *more)


def right(rows: list[dict[str, Any]], lines: list[dict[str, Any]]) -> bool:
    """Whether each line has the id, the note and the verdict of its own row."""
    told = [(row["id"], row["note"], truth_of(row["claim"])) for row in rows]
    return told == [(line["id"], line["note"], line["label"] == "factual") for line in lines]


def _csv(rows: list[dict[str, Any]]) -> bytes:
    return (
        "id,conversation,claim,note\n"
        + "".join(f'{row["id"]},"{row["conversation"]}",{row["claim"]},{row["note"]}\n' for row in rows)
    ).encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), sink)
    return bytes(sink.getvalue().to_pybytes())


@pytest.mark.parametrize("out", ["o.jsonl", "o.csv"])
def test_every_source_and_every_output_say_the_same(out: str) -> None:
    rows = new_rows(30)
    write_jsonl(Path("rows.jsonl"), rows)
    Path("rows.csv").write_bytes(_csv(rows))
    Path("rows.parquet").write_bytes(_parquet(rows))
    Path("folder/deep").mkdir(parents=True)
    write_jsonl(Path("folder/a.jsonl"), rows[:11])
    Path("folder/b.csv").write_bytes(_csv(rows[11:12]))
    Path("folder/deep/c.parquet").write_bytes(_parquet(rows[12:]))
    found = {}
    for source in ("rows.jsonl", "rows.csv", "rows.parquet", "folder"):
        place = Path(f"of-{source}") / out
        ok(*FECT, "--input", source, "--output", place)
        table = read(place)
        found[source] = [row for _, row in table.rows]
        assert [str(row["id"]) for row in found[source]] == [row["id"] for row in rows]
        assert [int(row["note"]) for row in found[source]] == list(range(30))
        assert not {".o.jsonl.part", f".{out}.jurist"} & {entry.name for entry in place.parent.iterdir()}
    inside = cli(*FECT, "--input", "folder", "--output", "folder/deep/out.jsonl")
    assert (inside.code, "is part of the input folder" in inside.err) == (2, True)
    told = [[{name: row[name] for name in JUDGED} for row in one] for one in found.values()]
    assert all(one == told[0] for one in told)


@pytest.mark.parametrize("text", ["\0", "\ud800", "=1+1", "'=1", "0012", "a\r\nb", "\u2028"])
def test_a_table_holds_any_text_and_goes_on(text: str) -> None:
    row = {**new_rows(1)[0], "id": text, "group": text, "note": text, f"more {text}": text}
    Path("rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    argv = (*FECT, "--input", "rows.jsonl", "--output", "o.csv")
    ok(*argv)
    before = Path("o.csv").read_bytes()
    assert ok(*argv, "--resume", "--json").json["resumed"] == 1
    assert Path("o.csv").read_bytes() == before


def test_a_pipe_is_judged_while_it_is_written(serve: Callable[..., Any], tmp_path: Path) -> None:
    rows, server = new_rows(6), serve()
    os.mkfifo(tmp_path / "pipe")
    process = start(*on(server, rows="pipe"), cwd=tmp_path)
    with (tmp_path / "pipe").open("w") as pipe:
        for number, row in enumerate(rows, 1):
            pipe.write(json.dumps(row) + "\n")
            pipe.flush()
            while server.count < number and process.poll() is None:
                time.sleep(0.01)
            assert process.poll() is None
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert right(rows, read_jsonl(Path("o.jsonl")))


@pytest.mark.parametrize("ratings", [{"ratings": {"ann": "no label of it"}}, {"rater:ann": 7}])
def test_ratings_of_new_rows_are_not_read(ratings: dict[str, Any]) -> None:
    write_jsonl(Path("rows.jsonl"), [{**new_rows(1)[0], **ratings}])
    done = ok(*FECT, "--input", "rows.jsonl", "--output", "o.jsonl", "--json")
    assert (done.json["rows"], done.json["rejected"]) == (1, 0)


def test_a_column_that_is_not_there_is_named_with_the_option_that_names_it(tmp_path: Path) -> None:
    rows = write_jsonl(tmp_path / "rows.jsonl", [{"conversation": "Agent: Hello.", "claims": "It is blue."}])
    refused = cli(
        "run", "fect:basic", "--input", rows, "--output", tmp_path / "o.jsonl", "--column", "clams=claim"
    )
    assert refused.code == 1
    assert (
        "the row has no column 'clams', which --column clams=claim names: did you mean claims?" in refused.err
    )


def test_columns_are_renamed_and_kept() -> None:
    row = {"talk": TALK, "said": "It is a lamp.", "input_label": 7, "group": "g"}
    rows = [{**row, "label": n} for n in range(2)]
    write_jsonl(Path("rows.jsonl"), rows)
    argv = (*FECT, "--input", "rows.jsonl", "--column", "talk=conversation", "--column", "said=claim")
    ok(*argv, "--output", "all.jsonl")
    for number, line in enumerate(read_jsonl(Path("all.jsonl"))):
        assert (line["input_label"], line["input_input_label"], line["group"]) == (number, 7, "g")
        assert line["id"] == line["case"]
    ok(*argv, "--output", "none.jsonl", "--keep", "none")
    assert "input_label" not in read_jsonl(Path("none.jsonl"))[0]
    ok(*argv, "--output", "judged.csv", "--keep", "said,group,label")
    assert Path("judged.csv").read_text().splitlines()[1].endswith(",It is a lamp.,g,0")
    typo = cli(*argv, "--output", "x.jsonl", "--keep", "grop")
    assert (typo.code, "no row has a column 'grop'; did you mean group" in typo.err) == (2, True)
    wrong = cli(*argv[:4], "--column", "tlk=conversation", "--output", "x.jsonl")
    assert wrong.code == 1
    assert (
        "the row has no column 'tlk', which --column tlk=conversation names: did you mean talk?" in wrong.err
    )
    assert cli(*argv[:4], "--column", "talk", "--output", "x.jsonl").code == 2
    assert not Path("x.jsonl").exists()


def test_a_bad_row_is_set_aside_with_its_reason_and_the_others_are_judged() -> None:
    rows = new_rows(6)
    rows[2].pop("claim")
    for row in rows[2:4]:
        row.update(note=float("nan"), large=2**70)
    lines = [json.dumps(row) + "\n" for row in rows]
    text = "".join(lines[:4]) + '{"half": \n\xff\n' + lines[5]
    Path("rows.jsonl").write_bytes(text.encode("latin-1"))
    done = cli(*FECT, "--input", "rows.jsonl", "--output", "o.jsonl", "--json")
    assert (done.code, done.json["rejected"], done.json["verdict"]) == (3, 3, 4)
    assert [line["id"] for line in read_jsonl(Path("o.jsonl"))] == ["r0", "r1", "r3", "r5"]
    set_aside = read_jsonl(Path("o.rejected.jsonl"))
    assert [one["source"] for one in set_aside] == [f"rows.jsonl:{n}" for n in (3, 5, 6)]
    assert (set_aside[0]["field"], set_aside[0]["reason"]) == ("claim", "the field is missing")
    assert set_aside[0]["row"] == {**rows[2], "note": None}
    assert read_jsonl(Path("o.jsonl"))[2]["large"] == 2**70
    assert "NaN" not in Path("o.jsonl").read_text() + Path("o.rejected.jsonl").read_text()
    assert "is not UTF-8" in set_aside[2]["reason"]
    write_jsonl(Path("rows.jsonl"), [{"x": 1}] * 3)
    hopeless = cli(*FECT, "--input", "rows.jsonl", "--output", "q.jsonl")
    assert (hopeless.code, Path("q.jsonl").exists()) == (1, False)
    assert "rows.jsonl:1, field 'conversation': the field is missing" in hopeless.err


def test_rows_with_an_empty_input_are_judged_and_counted() -> None:
    rows = new_rows(4)
    rows[1]["claim"] = " "
    rows[2].update(conversation="\n", claim=" ")
    write_jsonl(Path("rows.jsonl"), rows)
    done = cli(*FECT, "--input", "rows.jsonl", "--output", "o.jsonl")
    assert "3 verdicts" in done.out
    assert "rows in which an input is empty, judged as they stand: 1" in done.out
    assert read_jsonl(Path("o.rejected.jsonl"))[0]["reason"] == "all inputs are empty"


def test_lines_stand_in_order_and_a_hung_row_holds_up_nobody(serve: Callable[..., Any]) -> None:
    rows = new_rows(40)
    write_jsonl(Path("rows.jsonl"), rows)
    server = serve(faults=lambda index, body: "hang" if "number 3 " in str(body) and index < 30 else None)
    ok(*on(server, "--concurrency", 4, "--timeout", 8))
    assert right(rows, read_jsonl(Path("o.jsonl")))
    again = [hit.index for hit in server.hits if "number 3 " in str(hit.body)]
    assert again[-1] == 40, "all others were asked while it hung"


def test_calls_that_fail_are_told_then(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    failures_told = threading.Event()

    def print_and_tell(text: str) -> None:
        print_notes(text)
        if "3 failed" in text:
            failures_told.set()

    def answer_afterwards(messages: list[dict[str, Any]]) -> str:
        assert failures_told.wait(30), "nothing was said of the calls that failed"
        return answer(messages)

    monkeypatch.setattr("jurist.console.bars.Bar.quiet", 0.05)
    monkeypatch.setattr("jurist.console.bars.print_notes", print_and_tell)
    write_jsonl(Path("rows.jsonl"), new_rows(9))
    # Each of three calls is cut off once. Its second attempt is answered when the failures were told.
    server = serve(answer_afterwards, faults={0: "reset", 1: "reset", 2: "reset"})
    done = cli(*on(server, "--concurrency", 3))
    assert done.code == 0, done.err
    assert "3 calls in flight; 3 failed, of which 3 were sent again and 0 given up" in done.err
    assert server.count == 9 + 3


def test_equal_rows_are_judged_once_and_answered_each_time(serve: Callable[..., Any]) -> None:
    rows = [{**row, "id": n, "note": n} for n, row in enumerate(new_rows(5) * 8)]
    write_jsonl(Path("rows.jsonl"), rows)
    server = serve(delay=0.02)
    done = cli(*on(server, "--json", "--concurrency", 16))
    assert (done.code, server.count, done.json["equal"], done.json["verdict"]) == (0, 5, 35, 40)
    lines = read_jsonl(Path("o.jsonl"))
    assert right(rows, lines)
    assert sum(line["usage"]["calls"] for line in lines) == 5
    assert done.json["positive"] == sum(line["label"] == "non_factual" for line in lines)


def test_rows_may_change_and_no_verdict_goes_to_another_row(serve: Callable[..., Any]) -> None:
    rows, server = new_rows(30), serve()
    write_jsonl(Path("rows.jsonl"), rows)
    assert cli(*on(server, "--max-calls", 20)).code == 1
    changed = [*new_rows(1, 100), *rows[:4], *rows[6:10], {**rows[10], "claim": "Another claim."}, *rows[11:]]
    write_jsonl(Path("rows.jsonl"), changed)
    ok(*on(server, "--resume", "--json"))
    assert right(changed, read_jsonl(Path("o.jsonl")))
    assert max(server.by_body.values()) == 1, "what was judged was not paid again"


def test_rows_that_come_while_it_runs_are_left_to_the_next_start() -> None:
    judge, rows = load_judge("fect:basic", store=Store()), new_rows(12)
    source = Source(name="rows.jsonl", judge=judge.judge)

    def run(count: int, later: int, **how: bool) -> Summary:
        write_jsonl(Path("rows.jsonl"), rows[:count])
        settings = RunSettings(**how)
        begin = lambda plan: write_jsonl(Path("rows.jsonl"), rows[:later])  # noqa: E731
        return run_judge(judge, source, Path("o.jsonl"), settings=settings, on_begin=begin)

    assert (run(8, 10).verdicts, run(10, 12, resume=True).left) == ({"verdict": 8}, 0)
    assert [line["id"] for line in read_jsonl(Path("o.jsonl"))] == [row["id"] for row in rows[:10]]
    assert run(12, 12, resume=True).verdicts == {"verdict": 2}
    assert not Path(".o.jsonl.jurist").exists()


@pytest.mark.parametrize("name", ["o.jsonl", "o.csv"])
def test_verdicts_on_rows_that_the_input_lacks_are_kept_and_come_back(
    serve: Callable[..., Any], name: str
) -> None:
    server, rows = serve(), new_rows(10)
    kept = Path("o.left-out.jsonl")

    def run(count: int, *options: object) -> Any:
        write_jsonl(Path("rows.jsonl"), rows[:count])
        return ok(*on(server, *options, out=name))

    run(10)
    whole = Path(name).read_bytes()
    fewer = run(3, "--resume")
    assert "earlier verdicts on rows that the input lacks: 7 (see o.left-out.jsonl)" in fewer.people
    assert [line["id"] for line in read_jsonl(kept)] == [row["id"] for row in rows[3:]]
    run(5, "--resume")
    assert [line["id"] for line in read_jsonl(kept)] == [row["id"] for row in rows[5:]]
    run(10, "--resume")
    assert server.count == 10
    assert Path(name).read_bytes() == whole
    assert not kept.exists()


def test_verdicts_of_an_earlier_output_are_not_written_over() -> None:
    write_jsonl(Path("rows.jsonl"), new_rows(5))
    ok(*FECT, "--input", "rows.jsonl", "--output", "o.jsonl")
    write_jsonl(Path("rows.jsonl"), new_rows(2))
    ok(*FECT, "--input", "rows.jsonl", "--output", "o.jsonl", "--resume")
    Path("o.jsonl").unlink()
    for options in ((), ("--resume",), ("--fresh",)):
        refused = cli(*FECT, "--input", "rows.jsonl", "--output", "o.jsonl", "--samples", 3, *options)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "o.left-out.jsonl has verdicts of an earlier o.jsonl, which is not there" in refused.err
    assert len(read_jsonl(Path("o.left-out.jsonl"))) == 3


IN_CHINESE = {"question": "他出生于哪一年？", "correct_answer": "1606年", "response": "他出生于1607年。"}
IN_ENGLISH = {"question": "When was he born?", "correct_answer": "1606", "response": "In 1607."}


@pytest.mark.parametrize(("first", "language"), [(IN_CHINESE, "zh"), (IN_ENGLISH, "en")])
def test_an_output_goes_on_in_its_language_where_new_rows_choose_another(
    first: dict[str, str], language: str
) -> None:
    other = IN_ENGLISH if first is IN_CHINESE else IN_CHINESE
    command = ("run", "qa-conflict:basic", "--input", "rows.jsonl", "--output", "o.jsonl")
    write_jsonl(Path("rows.jsonl"), [first])
    ok(*command)
    write_jsonl(
        Path("rows.jsonl"), [{**other, "question": f"{n} {other['question']}"} for n in range(9)] + [first]
    )
    refused = cli(*command, "--resume")
    assert f"add --language {language} to go on, or name another output file" in refused.err
    assert ok(*command, "--resume", "--language", language, "--json").json["resumed"] == 1


def test_failed_rows_are_asked_again(serve: Callable[..., Any]) -> None:
    rows = new_rows(10)
    write_jsonl(Path("rows.jsonl"), rows)
    broken = serve(faults=lambda index, body: "400" if "number 7 " in str(body) else None)
    done = cli(*on(broken, "--concurrency", 1))
    assert done.code == 3
    assert done.lines[-1].endswith("(--max-unusable); jurist run --resume asks the failed ones again")
    assert cli(*on(broken, "--concurrency", 1, out="-")).lines[-1].endswith("(--max-unusable)")
    server = serve()
    done = cli(*on(server, "--resume", "--json"))
    assert (done.json["resumed"], done.json["verdict"], done.json["left"], server.count) == (9, 1, 0, 1)
    assert right(rows, read_jsonl(Path("o.jsonl")))


def test_lines_further_down_survive_a_run_that_stops_before_them(serve: Callable[..., Any]) -> None:
    rows = new_rows(20)
    write_jsonl(Path("rows.jsonl"), rows[10:])
    ok(*on(serve()))
    write_jsonl(Path("rows.jsonl"), rows)
    assert cli(*on(serve(), "--resume", "--max-calls", 3, "--concurrency", 1)).code == 1
    assert right(rows[:3] + rows[10:], read_jsonl(Path("o.jsonl")))


def test_an_unfinished_run_is_not_forgotten_by_accident(serve: Callable[..., Any]) -> None:
    write_jsonl(Path("rows.jsonl"), new_rows(10))
    assert cli(*on(serve(), "--max-calls", 4)).code == 1
    Path("o.jsonl").unlink()
    server = serve()
    refused = cli(*on(server))
    assert (refused.code, server.count) == (1, 0)
    assert "--resume" in refused.err
    done = cli(*on(server, "--resume", "--json"))
    assert (done.code, done.json["resumed"], server.count) == (0, 4, 6)


@given(st.lists(st.integers(), max_size=700))
@settings(max_examples=20)
def test_what_is_read_in_a_thread_comes_in_order_and_once(items: list[int]) -> None:
    async def all_of() -> list[int]:
        feed, found = Feed(items), list[int]()

        async def some() -> None:
            while (item := await feed.take()) is not None:
                found.append(item)

        await asyncio.gather(*(some() for _ in range(3)))
        return found

    assert asyncio.run(all_of()) == items


@pytest.mark.slow
@pytest.mark.parametrize("out", ["o.jsonl", "o.csv"])
def test_twenty_kills_leave_each_row_once_and_pay_for_nothing_but_what_was_in_flight(
    out: str, serve: Callable[..., Any], tmp_path: Path
) -> None:
    rows, server, chance = new_rows(1500), serve(delay=0.02), random.Random(out)
    write_jsonl(Path("rows.jsonl"), rows)
    flying = sent = answered = 0
    for number in range(20):
        more = ("--resume",) if number else ()
        process = start(*on(server, "--concurrency", 16, *more, out=out), cwd=tmp_path)
        before, wanted = server.count, chance.randint(5, 60)
        while server.count - before < wanted and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        while server.in_flight:  # what was on its way at the kill has arrived
            time.sleep(0.002)
        sent_before, answered_before = sent, answered
        sent, answered = _journaled(Path(f".{out}.jurist"))
        asked, heard = server.count - before, answered - answered_before
        assert heard <= asked <= sent - sent_before, "nothing is sent that was not written down before"
        assert asked - heard <= 16
        flying += asked - heard
    ok(*on(server, "--resume", "--json", "--concurrency", 16, out=out))
    lines = [row for _, row in read(out).rows]
    assert right(rows, [{**line, "note": int(line["note"])} for line in lines])
    assert server.count == len(rows) + flying, "nothing is paid twice but what was in flight at a kill"
    assert len(server.by_body) == len(rows)
    print(f"{out}: {server.count} requests for {len(rows)} rows, {flying} of them in flight at 20 kills")


def _journaled(checkpoint: Path) -> tuple[int, int]:
    """Return how many requests a run has written down before they left, and how many answers."""
    found = [state for path in checkpoint.rglob("journal-*.sqlite") for state in states(path)]
    return len(found), found.count("answered")


@pytest.mark.parametrize(
    ("lacking", "usable_before", "lines_read"), [(99, 0, 99), (5000, 0, 100), (5000, 1, 5001)]
)
def test_a_run_ends_after_a_hundred_rows_that_all_lack_a_field(
    lacking: int, usable_before: int, lines_read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = new_rows(usable_before) + [
        {"conversation": "talk", "statement": f"claim {n}"} for n in range(lacking)
    ]
    write_jsonl(Path("rows.jsonl"), rows)
    counted = Counter[str]()
    add = Rejects.add

    def counting(rejects: Rejects, error: Any, row: Any) -> None:
        counted["rejected"] += 1
        add(rejects, error, row)

    monkeypatch.setattr(Rejects, "add", counting)
    done = cli(*FECT, "--input", "rows.jsonl", "--output", "o.jsonl")
    assert counted["rejected"] == lines_read - usable_before
    assert done.code == (3 if usable_before else 1)
    if lines_read == 100:
        assert "the first 100 rows all lack the field 'claim'" in done.err
    if not usable_before:
        assert "--column" in done.err
        assert not Path("o.jsonl").exists()
