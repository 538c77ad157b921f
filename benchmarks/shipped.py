"""Make the artifacts that ship with the package: built-in judges, compiled offline on bundled gold.

Each is compiled, and only what is shown to be better than its basic prompt ships: the others are taken out of
``compiled/`` and of the list in pyproject.toml, which says what a wheel holds.

    python benchmarks/shipped.py                # makes all of compiled/ anew
    python benchmarks/shipped.py fect tier      # these only
    python benchmarks/shipped.py --check        # makes them elsewhere, and says which are not what is shipped

The default optimizer and seed 0, no key, no network. Judges are attacked too (``jurist evaluate harden``), and their
flip rates kept beside their cards. Generators ship as their basic prompts: no prompt changes what the offline engine
writes. Each judge has a ledger of openings of its own: none is counted among yours. Left out, as they are by far the
most bytes, are the prompts of candidates not chosen.
"""

import argparse
import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import jurist
from jurist.keeping.artifact_card import Artifact
from jurist.keeping.artifacts import Store
from jurist.keeping.sealing import PROOF, SEEN
from jurist.programs.catalogue import JUDGES, find
from jurist.report.history import chosen_candidate

SHIPPED = Path(__file__).resolve().parents[1] / "compiled"
PROJECT = SHIPPED.parent / "pyproject.toml"
LIST = re.compile(r'(?<=^"jurist\.compiled" = \[)([^\n]*\n    "README\.md",\n)(.*?)(?=^\]$)', re.M | re.S)
FIELDS = {"satisfaction": "response"}
"""The input that a stranger writes, where the units are another one."""
CALLS, MORE = 2000, {"cognibench": 4000}
"""The most calls that one compilation makes, and of those that take more."""
UNLIKE = ("created", "versions", "sha256", "files")
"""What two makings of the same card differ in: the day, the installed versions, and hashes of these."""


def shipped() -> set[str]:
    """Return the names of what ships."""
    found = LIST.search(PROJECT.read_text(encoding="utf-8"))
    assert found, f"{PROJECT} has no list of what ships"
    return set(re.findall(r'"([a-z0-9-]+)/names[.]json"', found[2]))


def ship(names: Collection[str]) -> None:
    """Write the names of what ships into pyproject.toml."""
    lines = "".join(f'    "{name}/1/*", "{name}/names.json",\n' for name in sorted(names))
    text = PROJECT.read_text(encoding="utf-8")
    PROJECT.write_text(LIST.sub(lambda found: found[1] + lines, text), encoding="utf-8")


def make(name: str, folder: Path) -> bool:
    """Compile one judge; if it is better, put it into a folder as version 1, and attack it."""
    judge, gold = find(name), find(name).bundled
    with tempfile.TemporaryDirectory() as work:
        model, budget = jurist.Model(temperature=0.0), jurist.Budget(calls=MORE.get(name, CALLS))
        made = jurist.compile(name, gold=gold, store=work, model=model, budget=budget)
        if not made.latest:
            return False
        artifact = made.artifact
        card = {
            key: value for key, value in artifact.card.items() if key not in ("version", "sha256", "files")
        }
        shutil.rmtree(folder / name, ignore_errors=True)
        records = {PROOF: artifact.proof(), SEEN: artifact.seen()}
        kept = Store(folder).save(
            judge, artifact.state, card, _history(artifact), make_latest=made.latest, records=records
        )
    jurist.harden(kept.ref, gold, store=folder, field=FIELDS.get(name, ""), model=model)
    return True


def _history(artifact: Artifact) -> list[dict[str, Any]]:
    chosen = chosen_candidate(artifact)
    return [
        row
        if row["source"] == "basic" or row["candidate"] == chosen
        else {key: value for key, value in row.items() if key != "prompt"}
        for row in artifact.history
    ]


def content(folder: Path) -> dict[str, Any]:
    """Return what has to be the same in every making of one artifact, by what it is."""
    artifact = Store(folder.parent).load(f"{folder.name}@1")
    card = {key: value for key, value in artifact.card.items() if key not in UNLIKE}
    return {
        "card": {**card, "spend": _counted(card["spend"])},
        "prompt": artifact.state.to_json(),
        "history": artifact.history,
        "proof": artifact.proof(),
        "seen": artifact.seen(),
        "robustness": artifact.robustness,
        "latest": (folder / "names.json").exists(),
    }


def _counted(spend: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was counted at all: of what a later version counts too, an offline compilation has none."""
    return {
        key: _counted(value) if isinstance(value, Mapping) else value for key, value in spend.items() if value
    }


def differences(name: str, one: Path, two: Path) -> list[str]:
    """Return what of two makings differs."""
    first, second = (json.loads(json.dumps(content(folder / name))) for folder in (one, two))
    return [key for key in first if first[key] != second[key]]


def main() -> int:
    """Make or check; return the exit code."""
    every = [one.name for one in JUDGES]
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    options.add_argument("--check", action="store_true")
    given = options.parse_args()
    code = 0
    for name in given.names or every:
        found: list[str] = []
        with tempfile.TemporaryDirectory() as home:
            os.environ["XDG_DATA_HOME"] = home  # a ledger of openings of its own
            folder = Path(home) / "compiled" if given.check else SHIPPED
            better, before = make(name, folder), shipped()
            if not given.check:
                if name in before and not better:
                    shutil.rmtree(SHIPPED / name)
                ship(before | {name} if better else before - {name})
            elif better != (name in before):
                code, found = 1, ["whether it is better"]
            elif better and (found := differences(name, folder, SHIPPED)):
                code = 1
        done = f"not the same: {', '.join(found)}" if found else "the same" if given.check else "made"
        print(
            f"{name}: {done if better or found else 'not shown to be better, and does not ship'}", flush=True
        )
    return code


if __name__ == "__main__":
    raise SystemExit(main())
