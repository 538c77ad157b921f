"""A version of the bundled house-rule, compiled in a second, and rows held out from it that nobody labelled."""

import csv
import json
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from prepared import begin_with
from small import ok, read_jsonl, write_jsonl

JUDGE = Path(__file__).resolve().parents[2] / "docs" / "may_send.py"
VERSION = "may-send@1"
HELD_GROUPS = 20
FEW = ("--optimizer", "contrastive", "--max-calls", "600")


def house_rule() -> list[dict[str, Any]]:
    """Return all rows of the bundled set."""
    return read_jsonl(Path(str(resources.files("jurist") / "datasets" / "house-rule" / "gold.jsonl")))


def compiled_house_rule() -> None:
    """Bring a folder to where ``may-send@1`` is in ``./compiled``, and rows of other groups in ``new.jsonl``."""
    begin_with(_compile_house_rule)


def _compile_house_rule() -> None:
    rows = house_rule()
    groups = sorted({row["group"] for row in rows})
    kept = [row for row in rows if row["group"] in groups[:HELD_GROUPS]]
    write_jsonl(Path("gold.jsonl"), [row for row in rows if row["group"] not in groups[:HELD_GROUPS]])
    new = [{name: row[name] for name in ("group", "policy", "reply")} for row in kept]
    write_jsonl(Path("new.jsonl"), new)
    Path("may_send.py").write_text(JUDGE.read_text())
    ok("compile", "may_send.py:judge", "--gold", "gold.jsonl", *FEW)


def labeller(rows: list[dict[str, Any]]) -> Callable[[Mapping[str, Any]], str]:
    """Return what stands for a person: the gold label of a row's inputs."""
    return labeller_of({(row["policy"], row["reply"]): row["verdict"] for row in rows})


def labeller_of(known: Mapping[tuple[str, str], str]) -> Callable[[Mapping[str, Any]], str]:
    """Return the same of policy and reply -> label."""
    return lambda inputs: known[inputs["policy"], inputs["reply"]]


def filled(sheet: Path, label: Callable[[Mapping[str, Any]], str], *, most: int | None = None) -> Path:
    """Write a sheet again with the labels of the first ``most`` lines, and return its name."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines[:most]:
        inputs = {name.removeprefix("input:"): text.removeprefix("'") for name, text in line.items()}
        line["rater:annotator"] = label(inputs)
    done = sheet.with_name("filled.csv")
    with done.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    return done


def plan_of(folder: Path) -> dict[str, Any]:
    """Return the kept plan of the version."""
    path = folder / ".checkpoints" / "prove-may-send-1" / "plan.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found
