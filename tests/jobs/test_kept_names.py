"""What ``gold import`` was told of columns and labels is kept in the judge's file, where it has a place for it."""

import csv
from pathlib import Path

import pytest
from small import cli, ok

from jurist.jobs.incoming import add_names

CALL = 'judge = jurist.Judge(name="j", signature=S{})\n'
LINES = 'judge = jurist.Judge(\n    name="j",\n    signature=S{},\n)\n'
NAMES = {"Ann's view": "rater:ann", "Antwort": "reply"}
SAYS = '{"Ann\'s view": "rater:ann", "Antwort": "reply"}'

WRITTEN: dict[str, tuple[str, str]] = {
    "on one line": (CALL.format(""), CALL.format(f", columns={SAYS}")),
    "on lines": (LINES.format(""), LINES.format(f",\n    columns={SAYS}")),
    "beside letters of several bytes": (
        'judge = jurist.Judge(name="j", description="回复 é", signature=S)\n',
        f'judge = jurist.Judge(name="j", description="回复 é", signature=S, columns={SAYS})\n',
    ),
    "with Windows' line ends": (
        LINES.format("").replace("\n", "\r\n"),
        LINES.format(f",\n    columns={SAYS}").replace(",\n    columns", ",@    columns").replace("\n", "\r\n").replace(
            "@", "\n"
        ),
    ),
    "added to others": (
        CALL.format(', columns={"a": "b", "Antwort": "x"}'),
        CALL.format(', columns={"a": "b", "Antwort": "reply", "Ann\'s view": "rater:ann"}'),
    ),
    "added to values that are no texts": (
        CALL.format(", columns={'a': None, 1: True}"),
        CALL.format(f', columns={{"a": None, 1: True, {SAYS[1:]}'),
    ),
    "there already": (CALL.format(f", columns={SAYS}"), CALL.format(f", columns={SAYS}")),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITTEN)
def test_names_are_written_into_the_call(case: str) -> None:
    before, after = WRITTEN[case]
    assert add_names(before, "judge", NAMES, {}) == after


NO_PLACE = {
    "another name": CALL.format("").replace("judge =", "other ="),
    "made by a function": "judge = make()\n",
    "columns that code works out": CALL.format(", columns=dict(a='b')"),
    "keywords that code works out": CALL.format(", **more"),
    "brackets of its own": 'judge = jurist.Judge(name="j", signature=(S))\n',
    "no Python": "judge = (\n",
}


@pytest.mark.parametrize("case", NO_PLACE)
def test_a_file_without_a_place_for_them_stays_as_it_is(case: str) -> None:
    assert add_names(NO_PLACE[case], "judge", NAMES, {}) is None


def test_after_an_import_the_raw_file_is_read_without_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.md").write_text("Is the reply polite? {{question}} {{reply}}", "utf-8")
    ok("new", "polite", "--from", "p.md", "--labels", "yes,no")
    with Path("raw.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Question", "Antwort", "Ann", "Bob"])
        for n in range(12):
            writer.writerow([f"Which is number {n}?", f"It is {n}.", "fine", ("fine", "rude")[n % 3 == 0]])
    names = ["--column", "Antwort=reply", "--column", "Ann=rater:ann", "--column", "Bob=rater:bob"]
    words = ["--map", "fine=yes", "--map", "rude=no"]
    done = ok(
        "gold", "import", "polite.py:judge", "raw.csv", *names, *words, "--merge", "reviewed", "-o", "g.jsonl"
    )
    assert "polite.py now reads Antwort, Ann, Bob, fine, rude in such files" in done.out
    found = ok("gold", "agreement", "polite.py:judge", "raw.csv", "--json").json
    assert (found["raters"], found["units"]) == (["ann", "bob"], 12)
    again = cli("gold", "import", "polite.py:judge", "raw.csv", "--merge", "unanimous", "-o", "h.jsonl")
    assert (again.code, "now reads" in again.out) == (0, False)
    assert cli("gold", "check", "polite.py:judge", "--gold", "h.jsonl").code == 1  # all of them are yes
