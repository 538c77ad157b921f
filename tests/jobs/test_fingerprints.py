"""What identifies judges and jobs when they are started again: every fingerprint and stamp, to the byte.

A checkpoint of an earlier version is found by them. ``PYTHONPATH=tests/helpers python tests/jobs/test_fingerprints.py``
writes the expectation anew; read its diff.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from judges import changed
from small import claims, write_jsonl

import jurist
from jurist.engines.models import Model
from jurist.evaluation.votes import Sampling
from jurist.jobs.judges import load_reference
from jurist.jobs.surface import Surface
from jurist.keeping.artifacts import Store
from jurist.keeping.loading import LoadedJudge
from jurist.programs.fect import FECT

GOLDEN = Path(__file__).parents[1] / "golden" / "fingerprints.json"


class Typed(dspy.Signature):
    message: str = dspy.InputField()
    reply: str = dspy.InputField()
    polite: Literal["yes", "no"] = dspy.OutputField()


TYPED = jurist.Judge(
    name="typed",
    signature=Typed,
    positive={"no"},
    prompt="Is {{reply}} a polite reply to {{message}}? Say yes or no.",
)
MINI = Model(name="openai/gpt-4.1-mini", api_base="http://127.0.0.1:1/v1", max_tokens=50, seed=3)


class BegunError(Exception):
    """A job that was about to begin."""


class OnlyFingerprint(Surface):
    """Takes the fingerprint of a job in place of doing it."""

    taken: Mapping[str, Any]

    @contextmanager
    def compiling(self, plan: Any, sink: Any) -> Iterator[Any]:
        self.take(plan)
        yield sink, self.start

    def measured(self, work: Any, title: str) -> Any:
        self.take(work)

    def take(self, work: Any) -> None:
        self.taken = work.fingerprint()
        raise BegunError


def loaded_judges(store: Store) -> dict[str, LoadedJudge]:
    """Return judges that differ in all that a fingerprint holds."""
    named: dict[str, tuple[Any, dict[str, Any]]] = {
        "version": ("fect@2", {}),
        "version with other samples": ("fect@2", {"samples": 5, "concurrency": 2}),
        "version of a name": ("fect", {"model": MINI}),
        "basic": ("fect:basic", {}),
        "basic with samples": ("fect:basic", {"samples": 3, "threshold": 2, "model": MINI}),
        "basic by probability": ("fect:basic", {"threshold": 0.3, "model": replace(MINI, temperature=0.0)}),
        "basic in json": ("fect:basic", {"adapter": "json", "redraws": 0}),
        "basic of a prompt": (TYPED, {"version": "basic"}),
        "strict": ("cognibench:basic", {"strictness": "irrefutable", "model": MINI}),
        "generator": ("haluagent:basic", {"model": MINI}),
        "verified": ("haluagent:basic", {"model": MINI, "verifier": "openai/o3", "samples": 2}),
    }
    judges = {}
    for title, (reference, options) in named.items():
        judges[title] = load_reference(reference, store, **options)
    judges["asked twice"] = judges["version of a name"].with_model(Model(name="openai/o3"), draws=2)
    return judges


def jobs(store: Store) -> dict[str, Callable[[Surface], object]]:
    """Return what begins jobs, each with a surface."""
    rows = claims(60, 3)
    gold = {"model": MINI, "gold": rows, "anyway": True}
    return {
        "compile": lambda surface: jurist.compile("fect", rows, surface=surface),
        "compile with settings": lambda surface: jurist.compile(
            "fect",
            surface=surface,
            sampling=Sampling(samples=3),
            adapter="json",
            concurrency=2,
            seed=4,
            optimizer="fewshot",
            options={"sizes": 2},
            prompt_model="openai/o3",
            **gold,
        ),
        "compile with vectors": lambda surface: jurist.compile(
            "fect", surface=surface, optimizer="nearest", embedder="openai/text-embedding-3-small", **gold
        ),
        "compile strictly": lambda surface: jurist.compile(
            jurist.judge("cognibench").with_options({"strictness": "rational"}),
            "cognibench-mini",
            surface=surface,
            sampling=Sampling(samples=5, threshold=2),
        ),
        "compile a prompt": lambda surface: jurist.compile(TYPED, replies(), surface=surface),
        "compare": lambda surface: jurist.compare(
            ["fect@2", "fect:basic", "recorded:log.jsonl"],
            rows,
            models=[MINI],
            repeats=2,
            surface=surface,
        ),
        "evaluate": lambda surface: jurist.evaluate("fect@2", rows, surface=surface, samples=5),
        "harden": lambda surface: jurist.harden("fect:basic", rows, surface=surface, adapter="json"),
    }


def replies() -> list[dict[str, Any]]:
    """Return labelled rows of the judge with a prompt as it stands."""
    rows = []
    for number in range(60):
        label = ("yes", "no")[number % 2]
        rows.append({"message": f"m {number}", "reply": f"r {number}", "polite": label, "group": f"{number}"})
    return rows


def fingerprints(folder: Path) -> dict[str, Any]:
    """Return each fingerprint and stamp, in the order of its names."""
    store = Store(folder / "compiled")
    store.save(FECT, changed(FECT, "First."), {}, [], make_latest=True)
    proven = {"model": {"name": "offline"}, "thresholds": {"samples": 3, "threshold": 1}, "adapter": "json"}
    store.save(FECT, changed(FECT, "Second."), proven, [], make_latest=True)
    log = [{**row, "verdict": "factual"} for row in claims(60, 3)]
    write_jsonl(folder / "log.jsonl", log)
    found: dict[str, Any] = {}
    for title, judge in loaded_judges(store).items():
        found[title] = {"fingerprint": judge.fingerprint(), "stamp": judge.stamp(), "note": judge.note}
    for title, begin in jobs(store).items():
        surface = OnlyFingerprint(store)
        with pytest.raises(BegunError):
            begin(surface)
        found[title] = surface.taken
    return found


def written(found: Mapping[str, Any]) -> str:
    """Return fingerprints as text, their names in the order in which they stand."""
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    return re.sub(r'"artifact": "[0-9a-f]{64}"', '"artifact": "..."', text)  # which the time is a part of


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_fingerprints_are_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert written(fingerprints(tmp_path)) == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    import os
    import tempfile
    import warnings

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as _folder:
        os.environ["XDG_DATA_HOME"] = _folder
        os.chdir(_folder)
        _text = written(fingerprints(Path(_folder)))
    GOLDEN.write_text(_text, encoding="utf-8")
