"""What the documented commands print with ``--json``, and how they exit, as kept in ``golden/commands.json``.

The commands run one after the other in one folder, offline. Times, versions, paths and hashes are left out, numbers
keep three digits. ``PYTHONPATH=tests/helpers python tests/test_golden_commands.py`` writes the expectation anew;
read its difference before it is committed.
"""

import json
import os
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small import Done, claims, cli, write_jsonl

GOLDEN = Path(__file__).parent / "golden" / "commands.json"
DATASETS = Path(__file__).parents[1] / "datasets"
FAST = "--optimizer fewshot --set sizes=2 --set sets=2 --set block=4 --set sample=6 --set steps=2"
COMMANDS = f"""
judges
compile fect --gold gold.jsonl {FAST} --anyway
artifacts tag fect@1 latest
compile cognibench --gold cognibench-mini {FAST} --anyway
compile statement-type --gold cognibench-mini --optimizer opro --max-calls 600 --anyway
compile satisfaction --gold faithqa-mini --optimizer threshold --anyway
compile fect --optimizer nonsense
compare fect fect:basic --gold gold.jsonl
evaluate fect:basic --gold gold.jsonl
evaluate constraint-score --gold faithqa-mini
evaluate cognibench:basic --gold cognibench-mini --samples 3
evaluate nobody --gold gold.jsonl
evaluate fect --gold nowhere.jsonl
gate fect --gold gold.jsonl --min f1=0.4
gate fect:basic --gold gold.jsonl --min f1=0.99
run fect --input rows.jsonl --output out.jsonl
run fect --input rows.jsonl --output out.jsonl --resume
evaluate harden fect --gold gold.jsonl --cases 2
prove fect@1 --rows new.jsonl --sheet asked.csv
export fect --to messages
export fect --to markdown --output fect.md
export cognibench:basic --to python --output judge.py
export training --input gold.jsonl --judge fect --part all --output t.jsonl
artifacts list
artifacts show fect@1
artifacts show fect@1 --history
artifacts diff fect:basic fect
artifacts tag fect@1 good
artifacts verify
report fect --output fect.html
gold check fect gold.jsonl
gold split fect --gold gold.jsonl --output parts
gold import fect gold.jsonl --output copy.jsonl
gold agreement fect gold.jsonl
review fect --gold gold.jsonl --all --output sheet.csv
review fect --verdicts out.jsonl --gold gold.jsonl --output review.csv
generate haluagent --input docs.jsonl --output items
generate faithqa --input docs.jsonl --output bench.jsonl --size 4 --tasks fact --max-rejected 1
assess offline --benchmark items/benchmark.jsonl --limit 3
table cognibench-3 --gold cognibench-mini --detector cognibench:basic
artifacts remember fect@1 more.jsonl --force
artifacts list fect
new mine --from prompt.md --labels yes,no
"""
LEFT_OUT = shlex.split(
    "seconds created sha256 versions path output folder store file code command digest bytes"
)


def _world() -> None:
    rows = claims(groups=12)
    write_jsonl(Path("gold.jsonl"), [{**row, "ratings": {"a": row["factual"], "b": True}} for row in rows])
    write_jsonl(
        Path("rows.jsonl"), [{name: row[name] for name in ("group", "conversation", "claim")} for row in rows]
    )
    new = claims(groups=52)[36:]
    write_jsonl(
        Path("new.jsonl"), [{name: row[name] for name in ("group", "conversation", "claim")} for row in new]
    )
    write_jsonl(Path("more.jsonl"), claims(groups=20)[36:])
    write_jsonl(
        Path("docs.jsonl"), [json.loads(line) for line in (DATASETS / "haluagent-docs/gold.jsonl").open()][:3]
    )
    Path("prompt.md").write_text("Is this fine by {{policy}}?\n\n{{reply}}\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """Leave out what differs from one run to the next."""
    if isinstance(value, dict):
        return {
            name: _plain(part) for name, part in value.items() if not any(word in name for word in LEFT_OUT)
        }
    if isinstance(value, list):
        return [_plain(one) for one in value[:5]]
    if isinstance(value, float):
        return float(f"{value:.3g}")
    if isinstance(value, str):
        return value.replace(str(Path.cwd()), ".")[:400]
    return value


def _one_object(done: Done) -> None:
    """Standard output has one JSON object, and notes hold nothing of what people read."""
    if done.out.startswith("{"):
        json.loads(done.out, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert not set(done.people.removeprefix(done.err).splitlines()) & set(done.err.splitlines())


def _outcomes() -> Iterator[tuple[str, dict[str, Any]]]:
    for line in COMMANDS.strip().splitlines():
        done = cli(*shlex.split(line), "--json")
        _one_object(done)
        yield (
            line,
            {
                "code": done.code,
                "json": _plain(done.json) if done.out.strip().startswith("{") else done.err.strip()[-300:],
            },
        )


def test_every_command_does_what_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "world").mkdir()
    monkeypatch.chdir(tmp_path / "world")
    _world()
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    done = dict(_outcomes())
    assert {line: outcome for line, outcome in done.items() if outcome != golden.get(line)} == {}
    assert done.keys() == golden.keys()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder + "/data"
        Path(folder, "world").mkdir()
        os.chdir(Path(folder, "world"))
        _world()
        text = json.dumps(dict(_outcomes()), indent=1, sort_keys=True, ensure_ascii=False)
        GOLDEN.write_text(text + "\n", encoding="utf-8")
