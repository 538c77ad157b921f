"""``jurist run --shard`` and ``jurist run join``: each row in one shard, and together the very output of one run."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import cli, killed, new_rows, ok, read_jsonl, write_jsonl

import jurist
from jurist.cases import case_id
from jurist.runs.shards import Shard
from jurist.runs.summary import Summary

FECT = ("run", "fect:basic", "--input", "rows.jsonl", "--output")


class Mood(dspy.Signature):
    """Score the mood of a message."""

    message: str = dspy.InputField()
    mood: int = dspy.OutputField(ge=-9, le=9)


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=5)), st.integers(1, 9))
def test_every_case_is_judged_by_exactly_one_shard(inputs: dict[str, str], of: int) -> None:
    assert sum(Shard(number, of).has(case_id(inputs)) for number in range(1, of + 1)) == 1


@pytest.mark.parametrize(("of", "output"), [(5, "o.jsonl"), (2, "o.csv")])
def test_joined_shards_are_the_output_of_one_run(of: int, output: str) -> None:
    rows = new_rows(12)
    rows += [{**rows[n]} for n in (3, 5)]
    rows[7]["late"] = "a column that other shards do not have"
    text = "".join(json.dumps(row) + "\n" for row in rows)
    Path("rows.jsonl").write_text('{"no": "claim"}\n' + text + "not JSON\n", encoding="utf-8")
    ok(*FECT, f"whole-{output}", "--max-unusable", 1)
    for number in range(1, of + 1):
        ok(*FECT, "o.jsonl", "--shard", f"{number}/{of}", "--max-unusable", 1)
    shards = [f"o-{number}-of-{of}.jsonl" for number in range(of, 0, -1)]
    done = cli("run", "join", *shards, "--output", output, "--json")
    assert (done.code, done.json["rows"], done.json["unfinished"]) == (0, 14, [])
    assert Path(output).read_bytes() == Path(f"whole-{output}").read_bytes()
    whole = Path(f"whole-{Path(output).stem}.rejected.jsonl")
    assert Path(f"o-1-of-{of}.rejected.jsonl").read_bytes() == whole.read_bytes()
    assert len(list(Path().glob("o-*.rejected.jsonl"))) == 1


@given(st.lists(st.integers(-9, 9), min_size=1), st.integers(0, 9))
def test_the_sums_of_shards_are_those_of_one_run(scores: list[int], cut: int) -> None:
    judge = jurist.Judge(name="mood", signature=Mood)
    parts = [Summary(), Summary()]
    for part, some in zip(parts, (scores[:cut], scores[cut:]), strict=True):
        part.answers.update({"scored": len(some), "score_sum": sum(some)})
    assert Summary.of_shards(judge, parts).totals["mean_score"] == sum(scores) / len(scores)


def test_a_killed_shard_goes_on_without_paying_again(serve: Callable[..., Any], tmp_path: Path) -> None:
    server, concurrency = serve(delay=0.02), 4
    write_jsonl(Path("rows.jsonl"), new_rows(80))
    on = ("--model", "openai/x", "--api-base", server.url, "--yes", "--concurrency", concurrency)
    argv = (*FECT, "o.jsonl", *on, "--shard")
    killed(server, 12, *argv, "1/2", cwd=tmp_path)
    early = cli("run", "join", "o-1-of-2.jsonl", "o-2-of-2.jsonl", "--output", "early.jsonl")
    assert (early.code, "o-2-of-2.jsonl does not exist; run that shard first" in early.err) == (2, True)
    ok(*argv, "2/2")
    early = cli("run", "join", "o-1-of-2.jsonl", "o-2-of-2.jsonl", "--output", "early.jsonl")
    assert (early.code, "o-1-of-2.jsonl is not finished; run it with --resume" in early.err) == (3, True)
    ok(*argv, "1/2", "--resume")
    ok("run", "join", "o-1-of-2.jsonl", "o-2-of-2.jsonl", "--output", "o.jsonl")
    assert [line["id"] for line in read_jsonl(Path("o.jsonl"))] == [row["id"] for row in new_rows(80)]
    assert 80 <= server.count <= 80 + concurrency


def test_what_is_no_set_of_shards_is_refused() -> None:
    write_jsonl(Path("rows.jsonl"), new_rows(9))
    for number in (1, 2):
        ok(*FECT, "o.jsonl", "--shard", f"{number}/2")
    ok(*FECT, "x.jsonl", "--shard", "2/2", "--samples", 3)
    ok(*FECT, "a.jsonl", "--shard", "2/2", "--adapter", "json")
    write_jsonl(Path("y-2-of-2.jsonl"), read_jsonl(Path("o-1-of-2.jsonl")))
    write_jsonl(Path("z-2-of-2.jsonl"), reversed(read_jsonl(Path("o-2-of-2.jsonl"))))
    first = "o-1-of-2.jsonl"
    for given_, said in (
        ((first,), "shard 2 of 2 is missing"),
        ((first, first), "shard 2 of 2 is missing"),
        ((first, "o-2-of-2.jsonl", "x-2-of-2.jsonl"), "a shard is given twice"),
        ((first, "x-2-of-2.jsonl"), "was not judged as the rows before"),
        ((first, "a-2-of-2.jsonl"), "was not judged as the rows before"),
        ((first, "y-2-of-2.jsonl"), "is in two shards"),
        ((first, "z-2-of-2.jsonl"), "z-2-of-2.jsonl:2: not in the order of the input; run that shard again"),
        (("rows.jsonl",), "rows.jsonl is not named as a shard"),
        ((first, "o-2-of-2.jsonl", "--output", first), "is part of the input"),
    ):
        done = cli("run", "join", "--output", "all.jsonl", *given_)
        assert (done.code, said in done.err) == (2, True), done.err
        assert not Path("all.jsonl").exists()
    for shard in ("0/2", "3/2", "1", "a/b"):
        assert cli(*FECT, "n.jsonl", "--shard", shard).code == 2
    flat = cli(*FECT, "n.csv", "--shard", "1/2")
    assert (flat.code, "let jurist run join write n.csv" in flat.err) == (2, True)


def test_a_cluster_that_does_not_answer_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    write_jsonl(Path("rows.jsonl"), new_rows(1))
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=bool))
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    done = cli(*FECT, "o.jsonl", "--engine", "ray")
    assert (done.code, "Ray cannot be used: Connection refused; check" in done.err) == (1, True), done.err
