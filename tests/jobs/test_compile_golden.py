"""One golden compilation: a scripted engine, a fixed seed, and the exact prompt and numbers that come out.

The engine answers by rules of this file alone, so nothing but the search, the split and the proof can change
the result. ``PYTHONPATH=tests/helpers python tests/jobs/test_compile_golden.py`` writes the expectation anew; read its
diff.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Request
from fakes import Scripted, lm_of, reply, system_of, user_of
from loopback import field_of
from small import claims

from jurist.engines.channel import CallContext
from jurist.engines.models import Model
from jurist.gold.goldset import Gold
from jurist.jobs.compiling import Compiled, compile_judge
from jurist.jobs.plan import Plan
from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT

GOLDEN = Path(__file__).parents[1] / "golden" / "fect.json"
OPTIONS = {"steps": 4, "candidates": 2, "sample": 8, "sizes": (2, 4), "block": 5}


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _answer(request: Request) -> str:
    if "`instruction`" in system_of(request):
        quality = 62 + _number(user_of(request) + str(request.config.seed)) % 25
        return reply("chat", instruction=f"Be strict about what is asked and refused. quality={quality}")
    claim = field_of(user_of(request), "claim")
    truth = "reports" in claim or "promises" in claim
    quality = int((re.findall(r"quality=(\d+)", system_of(request)) or ["55"])[0])
    return reply("chat", factual=truth == (_number(claim) % 100 < quality + len(request.messages)))


def compiled(folder: Path, patch: pytest.MonkeyPatch) -> tuple[Compiled, Scripted]:
    engine = Scripted(_answer)

    def connect(model: Model, context: CallContext, purpose: str = "judge") -> Any:
        return lm_of(engine, context, purpose, temperature=model.temperature)

    patch.setattr("jurist.jobs.plan.connect", connect)
    plan = Plan(judge=FECT, gold=Gold.of(claims(90, 3), FECT, "golden"), options=OPTIONS, seed=7)
    return compile_judge(plan, store=Store(folder)), engine


def outcome(found: Compiled, engine: Scripted) -> dict[str, Any]:
    """Return what must not change: the prompt without library versions, the history, scores and decision."""
    artifact = found.artifact
    program = {key: value for key, value in artifact.program_state.items() if key != "metadata"}
    numbers = {
        side: {
            name: [round(score[key], 6) for key in ("value", "low", "high")] for name, score in scores.items()
        }
        for side, scores in artifact.card["scores"].items()
    }
    decision = artifact.card["decision"]
    return {
        "program": program,
        "history": [
            {
                key: row[key]
                for key in ("candidate", "parent", "source", "step", "calls", "demo_ids", "train", "dev")
            }
            for row in artifact.history
        ],
        "gold": {key: value for key, value in artifact.card["gold"].items() if key not in ("seen", "parts")},
        "scores": numbers,
        "decision": {key: decision[key] for key in ("verdict", "metric", "b", "c", "units", "words")},
        "spend": {key: artifact.card["spend"][key] for key in ("calls", "tokens")},
        "latest": found.latest,
        "requests": len(engine.requests),
    }


def test_the_golden_compilation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome(*compiled(tmp_path, monkeypatch))
    assert json.loads(json.dumps(found)) == json.loads(GOLDEN.read_text(encoding="utf-8"))


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as _folder, pytest.MonkeyPatch.context() as _patch:
        _patch.setenv("XDG_DATA_HOME", _folder)  # where openings of sealed tests are counted
        _found = outcome(*compiled(Path(_folder), _patch))
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(
        json.dumps(_found, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
    )
