"""Names and settings of optimizers: what arrives, what the card keeps, and what is refused before any call."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from optimizer_runs import Run

from jurist.errors import OptimizerError
from jurist.optimizers.registry import make
from jurist.programs.state import candidate_names

WRONG: list[tuple[str, Any, str]] = [
    ("nosuch", {}, "no optimizer is called 'nosuch'"),
    ("", {}, "no optimizer is called ''"),
    ("opro+fewshot", {}, "no optimizer is called 'opro+fewshot'"),
    ("opro", {"stepz": 3}, "no setting stepz"),
    ("opro", {"sizes": "4"}, "no setting sizes"),
    ("opro", {"name": "x"}, "no setting name"),
    ("race", {"steps": 1, "x": 1, "y": 2}, "no setting x, y"),
    ("opro", {"steps": "many"}, "opro.steps cannot be 'many'"),
    ("opro", {"steps": None}, "opro.steps cannot be None"),
    ("opro", {"steps": "-1"}, "opro.steps cannot be '-1'"),
    ("opro", {"steps": float("inf")}, "opro.steps cannot be inf"),
    ("opro", {"shrink": "1e999"}, "opro.shrink cannot be '1e999'"),
    ("opro", {"temperature": "nan"}, "opro.temperature cannot be 'nan'"),
    ("fewshot", {"sizes": "4,x"}, "fewshot.sizes cannot be '4,x'"),
    ("fewshot", {"sizes": "4,-2"}, "fewshot.sizes cannot be '4,-2'"),
    ("fewshot", {"sizes": 4}, "fewshot.sizes cannot be 4"),
    ("race", {"arm": "history,magic"}, "race.arm cannot be 'history,magic'"),
    ("dspy:Simba", {}, "'dspy:Simba' names no optimizer of DSPy that leaves a prompt"),
    ("dspy:BootstrapFinetune", {}, "leaves a prompt"),
    ("dspy:", {}, "leaves a prompt"),
    ("dspy:SIMBA", {"steps": 3}, "dspy:SIMBA has no setting steps"),
    ("simba", {"metric": "x"}, "simba has no setting metric"),
    ("simba", {"max_steps": "many"}, "simba.max_steps cannot be 'many'; give a value like 8"),
    ("copro", {"breadth": -1}, "copro.breadth cannot be -1"),
]


@pytest.mark.parametrize(("name", "options", "words"), WRONG)
def test_what_is_wrong_is_refused(name: str, options: Any, words: str) -> None:
    with pytest.raises(OptimizerError, match=re.escape(words)):
        make(name, options)


def test_settings_that_dspy_refuses_end_with_what_it_says() -> None:
    with pytest.raises(
        OptimizerError, match=r"mipro failed before it tried anything: ValueError: .*num_trials"
    ):
        Run("mipro", options={"num_candidates": 4})


def test_settings_arrive_where_they_belong_and_the_card_has_the_defaults_too() -> None:
    given_ = {"steps": "2", "sizes": "1,2", "temperature": "0.5"}
    found = make("race", given_).settings()
    assert found | {"steps": 2, "temperature": 0.5, "sizes": [1, 2]} == found
    assert found.keys() == make("race").settings().keys() > {"patience", "block"}
    assert json.loads(json.dumps(found)) == found


def test_a_short_name_is_dspys_class_with_its_usual_settings() -> None:
    short, long = (make(name).settings() for name in ("copro", "dspy:COPRO"))
    assert short == {**long, "sample": 40, "finalists": 3}
    assert short["init_temperature"] == 1.0
    tuned = make("dspy:SIMBA", {"max_steps": "3", "temperature_for_sampling": "0.5", "finalists": "1"})
    assert tuned.settings() == {
        "sample": 0,
        "validation": 0,
        "finalists": 1,
        "max_demos": 4,
        "max_steps": 3,
        "temperature_for_sampling": 0.5,
    }
    assert make("gepa", {"max_metric_calls": "50"}).settings()["auto"] is None


TRIED = st.lists(
    st.tuples(st.text("ab", min_size=1), st.sampled_from(["basic", "opro", "opro, error", "3 demos", "?"]))
)


@given(TRIED, TRIED)
def test_a_name_is_one_candidates_own_and_stays(
    first: list[tuple[str, str]], more: list[tuple[str, str]]
) -> None:
    before, after = candidate_names(first), candidate_names([*first, *more])
    assert len(set(after.values())) == len(after)
    assert {id_: after[id_] for id_ in before} == before
    tried = [("a", "basic"), ("b", "opro"), ("c", "opro, error"), ("d", "42"), ("b", "opro")]
    assert list(candidate_names(tried).values()) == ["basic", "opro-1", "opro-2", "candidate-1"]
