"""An artifact whose prompt and demonstrations hold what templates trip over."""

from dataclasses import replace
from pathlib import Path

from parity import nasty_cases

from jurist.exports import Subject
from jurist.jobs.exporting import subject_of
from jurist.keeping.artifacts import Store
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState


def subject(judge: Judge, store: Path, adapter: str = "chat") -> Subject:
    """Return an artifact whose prompt and demonstrations hold traps too."""
    state = PromptState.of(judge.basic())
    (name,) = state.predictors
    traps = "Mind {{ y, {% z %} and {#."
    state = state.with_instruction(name, f"{state.predictors[name].instructions}\n\n{traps}")
    case = nasty_cases(judge)[1]
    said = {"fect": ("factual",), "cognibench": ("faithful", "invented")}.get(judge.name, (2,))
    state = state.with_demos(name, (judge.demo(replace(case, gold=said)),))
    card = {"adapter": adapter, "thresholds": {"samples": 3, "threshold": 2}}
    kept = Store(store).save(judge, state, card, [], make_latest=True)
    return subject_of(kept, judge)
