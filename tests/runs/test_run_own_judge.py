"""A user's own judge from a file works in every command, by its file and then by its name."""

import json
from pathlib import Path

import pytest
from small import FAST, OWN, cli, ok, read_jsonl, replies, write_jsonl


@pytest.fixture(autouse=True)
def _folder() -> None:
    Path("own.py").write_text(OWN)
    write_jsonl(Path("gold.jsonl"), replies())
    new = [{key: row[key] for key in ("policy", "reply")} for row in replies(20)[-6:]]
    write_jsonl(Path("new.jsonl"), new)


def _compiled(judge: str, *more: str) -> dict[str, object]:
    done = ok("compile", judge, "--gold", "gold.jsonl", *FAST, "--json", *more)
    found: dict[str, object] = done.json
    return found


def test_by_file_and_then_by_name() -> None:
    card = _compiled("own.py:judge", "--force")
    assert card["judge"] == "may-go"
    assert card["labels"] == ["send", "hold"]
    scores = card["scores"]
    assert isinstance(scores, dict)
    assert "share_right" in scores["basic"]  # its own metric, by the name of the function
    assert scores["basic"]["share_right"]["value"] == scores["basic"]["accuracy"]["value"]
    for number, reference in enumerate(["own.py", "own.py@1", "may-go@latest", "may-go:basic"]):
        ok("run", reference, "--input", "new.jsonl", "--output", f"o{number}.jsonl")
        lines = read_jsonl(Path(f"o{number}.jsonl"))
        assert len(lines) == 6
        assert {line["label"] for line in lines} <= {"send", "hold"}
        assert {line["judge"] for line in lines} == {"may-go:basic" if "basic" in reference else "may-go@1"}
    compared = ok("compare", "may-go@1", "own.py:judge:basic", "--gold", "gold.jsonl", "--json")
    assert compared.json["metric"] == "share_right"
    for reference in ("own.py", "may-go:basic"):
        assert "Say whether a reply" in cli("export", reference, "--to", "messages").out
    shown = cli("artifacts", "show", "may-go")
    assert (shown.code, "may-go@1" in shown.out) == (0, True)
    ok("artifacts", "verify", "may-go")
    assert cli("gold", "check", "may-go", "gold.jsonl", "--json").json["judge"] == "may-go"


def test_its_own_metric_that_breaks_says_so_in_one_line() -> None:
    Path("own.py").write_text(OWN.replace("return sum(", "return 7 + sum("))
    done = cli("compile", "own.py", "--gold", "gold.jsonl", *FAST)
    assert done.code in (1, 2), json.dumps(done.err)
    assert done.lines[-1].startswith("error: ")
    assert "Traceback" not in done.err
