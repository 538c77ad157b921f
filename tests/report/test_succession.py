"""A new version against the one before it: on what was sealed for both, with today's labels, and at no call more."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from judges import save
from small import FAST, Done, claims, ok, read_jsonl, write_jsonl

from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT
from jurist.report.differing import Succession, against_before


def compiled(folder: Path, gold: str, *more: str) -> Done:
    argv = ("--gold", folder / gold, "--store", folder / "compiled", "--split", "30/20/50", *FAST, *more)
    done = ok("compile", "fect", *argv, "--json")
    return done


def test_the_cases_that_neither_has_seen(tmp_path: Path) -> None:
    rows = claims(groups=16)
    write_jsonl(tmp_path / "one.jsonl", rows[:-6])
    first = compiled(tmp_path, "one.jsonl", "--force")
    assert "against_before" not in first.json
    store = Store(tmp_path / "compiled")
    sealed = {row["case"] for row in store.load("fect@1").proof()}
    changed = [row | {"factual": not row["factual"]} if n % 5 == 0 else row for n, row in enumerate(rows)]
    write_jsonl(tmp_path / "two.jsonl", changed)
    second = compiled(tmp_path, "two.jsonl")
    found, new = second.json["against_before"], store.load("fect@2")
    shared = sealed & {row["case"] for row in new.proof()}
    assert (found["before"], found["cases"]) == ("fect@1", len(shared))
    assert 0 < len(shared) < len(new.proof())
    for artifact in (store.load("fect@1"), new):
        assert not shared & set(artifact.card["gold"]["seen"])
    # its value is that of the newer proof's own labels, and its level that of the second opening
    lines = {row["case"]: row["compiled"]["values"] for row in store.load("fect@1").proof()}
    gold = [(row["gold"][0], lines[row["case"]][0]) for row in new.proof() if row["case"] in shared]
    wrong = [one for one in gold if "non_factual" in one]
    assert found["test"]["values"][1] == 2 * sum(a == b for a, b in wrong) / sum(map(len, map(_found, wrong)))
    assert found["test"]["alpha"] == 2 * new.card["decision"]["tested"]
    assert "fect@2 against fect@1" in second.people
    assert f"on {len(shared)} cases that neither has seen" in second.people
    ok("report", "fect@2", "--store", store.root, "-o", tmp_path / "page.html")
    assert "fect@2 against fect@1" in (tmp_path / "page.html").read_text(encoding="utf-8")


def _found(pair: tuple[str, str]) -> list[str]:
    return [label for label in pair if label == "non_factual"]


@pytest.mark.parametrize("verdict", ["better", "not shown to differ", "worse"])
def test_a_worse_version_says_how_the_older_one_comes_back(verdict: str, tmp_path: Path) -> None:
    """The command that it says, on two versions of which the newer is the latest."""
    test: Any = SimpleNamespace(verdict=verdict, words="")
    found = Succession(before="polite@1", cases=9, test=test).warning
    assert bool(found) == (verdict == "worse")
    if found:
        store = Store(tmp_path / "compiled")
        for _ in range(2):
            save(store)
        argv = found.split("jurist ")[1].split(" makes")[0].split()
        ok(*argv, "--store", store.root)
        assert store.load("polite").version == 1


def test_nothing_in_common(tmp_path: Path) -> None:
    rows = claims(groups=28)
    write_jsonl(tmp_path / "one.jsonl", rows[:42])
    write_jsonl(tmp_path / "two.jsonl", rows[42:])
    compiled(tmp_path, "one.jsonl")
    second = compiled(tmp_path, "two.jsonl")
    assert "there is no case that was sealed for both versions" in second.people
    store = Store(tmp_path / "compiled")
    assert against_before(store.load("fect@1"), FECT, store) is None
    assert read_jsonl(tmp_path / "compiled/fect/2/proof.jsonl")
