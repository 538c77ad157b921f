"""Optimizers that others bring: objects of DSPy, of a Python file, and of an installed package."""

import importlib
import re
from pathlib import Path
from typing import Any

import dspy
import pytest
from judges import CHECK, ROWS
from optimizer_runs import SMALL, Run, split

import jurist
from jurist.arguments.compile import CompileOptions
from jurist.engines.meter import Budget
from jurist.errors import OptimizerError
from jurist.optimizers.registry import OPTIMIZERS, code_hashes, list_nearest_row_optimizers, make


def wrong_metric(*judged: Any) -> float:
    """A metric that would end any search that asked it."""
    raise AssertionError("the judge's own metric decides")


LM = dspy.LM("openai/none")
OBJECTS: list[tuple[Any, dict[str, Any]]] = [
    (dspy.BootstrapFewShot(metric=wrong_metric, max_bootstrapped_demos=2), {"max_bootstrapped_demos": 2}),
    (
        dspy.BootstrapFewShotWithRandomSearch(
            metric=wrong_metric, num_candidate_programs=2, max_bootstrapped_demos=3, max_labeled_demos=4
        ),
        {"num_candidate_programs": 2, "max_bootstrapped_demos": 3, "max_labeled_demos": 4},
    ),
    (dspy.LabeledFewShot(k=3), {"k": 3}),
    (dspy.COPRO(metric=wrong_metric, breadth=3, depth=2), {"breadth": 3, "depth": 2}),
    (
        dspy.MIPROv2(
            metric=wrong_metric, prompt_model=LM, task_model=LM, auto=None, num_candidates=3, seed=4
        ),
        {"num_candidates": 3},
    ),
    (
        dspy.GEPA(metric=lambda g, p, t=None, n=None, pt=None: 1 / 0, reflection_lm=LM, max_metric_calls=60),
        {"max_metric_calls": 60},
    ),
    (
        dspy.SIMBA(metric=wrong_metric, bsize=6, max_steps=2, num_candidates=2),
        {"bsize": 6, "max_steps": 2, "num_candidates": 2},
    ),
    (dspy.InferRules(metric=wrong_metric, num_candidates=2), {"num_candidates": 2}),
]
of_each_class = pytest.mark.parametrize(
    ("optimizer", "settings"), OBJECTS, ids=[type(optimizer).__name__ for optimizer, _ in OBJECTS]
)


@of_each_class
def test_an_object_of_dspy_is_the_named_optimizer_with_its_settings(
    optimizer: Any, settings: dict[str, Any]
) -> None:
    assert make(optimizer) == make(f"dspy:{type(optimizer).__name__}", settings)


@of_each_class
def test_an_object_of_dspy_is_held_to_the_budget(optimizer: Any, settings: dict[str, Any]) -> None:
    limit = make(optimizer).minimum(Run("threshold").job) + 30
    of_compile = {"num_trials": 4} if isinstance(optimizer, dspy.MIPROv2) else {}
    run = Run(optimizer, options=of_compile, budget=Budget(calls=limit))
    assert run.context.ledger.spend().calls == run.sent == run.context.meter.calls <= limit
    assert run.board.met(run.result.best, split().dev)
    assert {row["source"] for row in run.history} == {"basic", f"dspy:{type(optimizer).__name__}"}


@pytest.mark.parametrize(
    ("optimizer", "problem"),
    [
        (dspy.BootstrapFinetune(), "dspy:BootstrapFinetune is no optimizer of DSPy that leaves a prompt"),
        (dspy.Ensemble(), "dspy:Ensemble is no optimizer of DSPy that leaves a prompt"),
        (
            dspy.BootstrapFewShot(teacher_settings={"lm": LM}),
            "dspy:BootstrapFewShot was given teacher_settings, which jurist does not pass on; leave it out",
        ),
        (
            dspy.GEPA(metric=lambda g, p, t, n, pt: 1.0, auto="light", reflection_lm=LM, wandb_api_key="k"),
            "dspy:GEPA was given wandb_api_key, which",
        ),
        (
            dspy.GEPA(
                metric=lambda g, p, t, n, pt: 1.0, auto="light", reflection_lm=LM, gepa_kwargs={"seed": 1}
            ),
            "dspy:GEPA was given gepa_kwargs, which",
        ),
    ],
)
def test_an_object_that_cannot_be_taken_as_it_is_is_refused(optimizer: Any, problem: str) -> None:
    with pytest.raises(OptimizerError, match=re.escape(problem)):
        make(optimizer)


def test_a_class_of_ones_own_from_dspys_runs(tmp_path: Path) -> None:
    class Twice(dspy.BootstrapFewShot):  # type: ignore[misc]
        pass

    compiled = jurist.compile(CHECK, ROWS, optimizer=Twice(max_labeled_demos=2), store=tmp_path, seed=1)
    kept = compiled.artifact.card["optimizer"]
    assert (kept["name"], kept["params"]["max_labeled_demos"]) == ("dspy:Twice", "2")


# -- a Python file, an installed package -----------------------------------------------------------------

SOURCE = '''
from dataclasses import dataclass

import dspy
from jurist.optimizers.base import Optimizer
{imports}

@dataclass(frozen=True, kw_only=True)
class Remind(Optimizer):
    """Adds one sentence."""

    sentence: str = "Read everything twice."
    name: str = "remind"

    def minimum(self, job):
        return 2 * len(job.dev) * job.calls_per_case

    def run(self, job, board, start):
        state = start.state
        for predictor, prompt in start.state.predictors.items():
            state = state.with_instruction(predictor, f"{{prompt.instructions}} {{self.sentence}}")
        board.score(board.add(state, parent=start, source=self.name), job.dev)


twice = Remind(sentence="Mind the tone.")
few = dspy.LabeledFewShot(k=2)
broken = 7
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "remind.py"
    path.write_text(SOURCE.format(imports=""))
    return path


def test_an_optimizer_of_a_file_runs_by_its_name(file: Path, tmp_path: Path) -> None:
    compiled = jurist.compile(
        CHECK, ROWS, optimizer=f"{file}:Remind", options={"sentence": "Mind all."}, store=tmp_path, seed=1
    )
    kept = compiled.artifact.card["optimizer"]
    assert (kept["name"], kept["settings"]) == ("remind", {"remind": {"sentence": "Mind all."}})
    assert any("Mind all." in str(candidate) for candidate in compiled.artifact.history)
    assert not make(f"{file}:twice").shows_nearest_rows
    assert make(f"{file}:twice").settings() == {"sentence": "Mind the tone."}
    assert make(f"{file}:few") == make("dspy:LabeledFewShot", {"k": 2})


@pytest.mark.parametrize(
    ("attribute", "options", "problem"),
    [
        ("broken", {}, "'broken' is of type int, not an optimizer"),
        ("twicce", {}, "'twicce' is not in it; did you mean twice"),
        ("Remind", {"sentense": "x"}, "remind has no setting sentense; did you mean sentence"),
        ("few", {"k": "many"}, "dspy:LabeledFewShot.k cannot be 'many'; give a value like 2"),
    ],
)
def test_what_a_file_does_not_have_is_refused(
    file: Path, attribute: str, options: dict[str, str], problem: str
) -> None:
    with pytest.raises(OptimizerError, match=re.escape(problem)):
        make(f"{file}:{attribute}", options)


def test_another_code_is_another_job(file: Path) -> None:
    name = f"{file}:Remind"
    make(name)
    before = code_hashes(name)
    file.write_text(SOURCE.format(imports="import json"))
    make(name)
    assert before
    assert code_hashes(name) != before
    assert code_hashes("race") == {}


def test_an_installed_package_brings_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_reminder.py").write_text(SOURCE.format(imports=""))
    info = tmp_path / "acme_reminder-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-reminder\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[jurist.optimizers]\nremind = acme_reminder:Remind\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    assert make("remind", {"sentence": "x"}).settings() == {"sentence": "x"}
    with pytest.raises(OptimizerError, match=r"no optimizer is called 'remin'; did you mean remind"):
        make("remin")


# -- lists of names -----------------------------------------------------------------------------------------


def test_help_lists_every_optimizer() -> None:
    (words,) = [
        field.metadata["help"]
        for field in CompileOptions.__dataclass_fields__.values()
        if field.name == "optimizer"
    ]
    listed = re.findall(r"[\w-]+", words.partition(", dspy:CLASS")[0])
    assert sorted(listed) == sorted(OPTIMIZERS)


def test_the_optimizers_that_show_nearest_rows_say_so() -> None:
    assert list_nearest_row_optimizers() == ["nearest", "race", "teach"]
    assert not make("race", {"arm": "history"}).shows_nearest_rows


def test_every_setting_of_small_runs_is_one() -> None:
    for name, options in SMALL.items():
        assert make(name, options).settings().keys() >= options.keys()
