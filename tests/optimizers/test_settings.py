"""Names and settings of optimizers: what arrives, what the card keeps, and what is refused before any call."""

import json
import math
import re
import signal
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from optimizer_runs import SMALL, Run

from jurist.errors import OptimizerError, Within
from jurist.optimizers.dspy_search import DspyOptimizer, offered_classes, type_of_setting
from jurist.optimizers.named.fewshot import FewShot
from jurist.optimizers.registry import OPTIMIZERS, make
from jurist.optimizers.settings import range_of
from jurist.programs.state import candidate_names

ALL_NAMES = (*OPTIMIZERS, *(f"dspy:{name}" for name in sorted(offered_classes())))
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
    ("simba", {"max_steps": "many"}, "simba.max_steps cannot be 'many'; give a whole number, 1 or more"),
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


def ranges_of(name: str) -> dict[str, Any]:
    """Return setting -> range of all settings of an optimizer that are numbers, or lists of them."""
    optimizer = make(name)
    ranges: dict[str, Any] = {}
    if isinstance(optimizer, DspyOptimizer):
        for setting, default in {**optimizer.parameters(), **optimizer.settings()}.items():
            kind = type_of_setting(setting, default)
            if isinstance(default, int | float) and not isinstance(default, bool):
                ranges[setting] = range_of(kind) or Within(0, math.inf, "0 or more")
        return ranges
    types = get_type_hints(type(optimizer), include_extras=True)
    for setting, default in optimizer.settings().items():
        values = default if isinstance(default, list) else [default]
        if not any(isinstance(value, bool | str) for value in values):
            ranges[setting] = range_of(types[setting])
    return ranges


RANGES = [
    pytest.param(name, setting, within, id=f"{name}.{setting}")
    for name in ALL_NAMES
    for setting, within in ranges_of(name).items()
]


@pytest.mark.parametrize(("name", "setting", "within"), RANGES)
def test_every_number_has_a_range_and_is_refused_below_it(name: str, setting: str, within: Any) -> None:
    assert within is not None, "declare its type as one of optimizers/settings.py"
    below = [-1, "-1"]
    if within.lowest > 0:
        below += [0, "0", within.lowest - 1]
    for value in below:
        with pytest.raises(OptimizerError) as refused:
            make(name, {setting: value})
        assert str(refused.value).startswith(f"{name}.{setting} cannot be {value!r}; give ")
        assert "\n" not in str(refused.value)
    if within.highest < math.inf:
        with pytest.raises(OptimizerError, match=f"{name}.{setting} cannot be"):
            make(name, {setting: within.highest + 0.1})
    make(name, {setting: _lowest(name, setting, within)})


def _lowest(name: str, setting: str, within: Any) -> Any:
    """Return the lowest value of a setting, of a type that it takes."""
    default = {**getattr(make(name), "parameters", dict)(), **make(name).settings()}[setting]
    if isinstance(default, list):
        return [int(within.lowest)]
    return type(default)(within.lowest)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "setting", "within"), [one for one in RANGES if one.values[0] in OPTIMIZERS]
)
def test_the_lowest_value_of_every_setting_ends(name: str, setting: str, within: Any) -> None:
    def stop(number: int, frame: Any) -> None:
        raise AssertionError("it does not end")

    handler = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    try:
        run = Run(name, options={**SMALL.get(name, {}), setting: _lowest(name, setting, within)})
        assert run.result.best.id in run.board.candidates
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [
        (FewShot(opening=0), "fewshot.opening cannot be 0; give a whole number, 1 or more"),
        (FewShot(sizes=()), "fewshot.sizes cannot be ()"),
        (FewShot(sizes=(4, 0)), "fewshot.sizes cannot be (4, 0)"),
        (FewShot(shrink=0.0), "fewshot.shrink cannot be 0.0; give a number above 0"),
    ],
)
def test_an_object_with_a_setting_out_of_range_is_refused(optimizer: Any, words: str) -> None:
    with pytest.raises(OptimizerError, match=re.escape(words)):
        make(optimizer)


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
