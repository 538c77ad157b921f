"""Versions of a user's file whose judge has the name of a built-in one are found by their own file."""

from pathlib import Path

from small import OWN, cli, ok, replies, write_jsonl


def test_a_version_of_a_file_is_found_under_the_name_of_a_built_in_judge() -> None:
    Path("own.py").write_text(OWN.replace("may-go", "answer-check"), "utf-8")
    Path("i.md").write_text("Hold a reply that promises what the policy lacks.", "utf-8")
    gold = write_jsonl(Path("gold.jsonl"), replies(4))
    ok("artifacts", "add", "own.py:judge", "--instruction", "i.md")
    for reference in ("answer-check@1", "own.py:judge@1"):
        assert ok("evaluate", reference, "--gold", gold, "--json").json["counts"]["cases"]["total"] == 8
    assert "promises what the policy lacks" in ok("export", "answer-check@1", "--to", "messages").out
    # The name without a version still means the judge that comes with jurist.
    assert "policy" not in ok("export", "answer-check:basic", "--to", "messages").out
    assert cli("evaluate", "answer-check@2", "--gold", gold).code == 1
    row = ok("artifacts", "index").out.splitlines()[-1].split("|")
    assert ("answer-check@1" in row[1], row[2].strip()) == (True, "")
