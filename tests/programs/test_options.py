"""Options that a judge declares as data: chosen, kept with its definition and on cards, refused if they do not fit."""

from typing import Any, Literal

import dspy
import pytest

from jurist import Judge
from jurist.errors import JudgeError, UsageError
from jurist.keeping.artifacts import Store
from jurist.keeping.card import Card
from jurist.keeping.loaders import load_judge
from jurist.programs.definition import read_definition, write_definition
from jurist.programs.state import PromptState


class Review(dspy.Signature):
    """How good is the reply?"""

    reply: str = dspy.InputField()
    quality: Literal["poor", "fair", "good"] = dspy.OutputField()


HIGH = {"positive": frozenset({"poor", "fair"})}
LOW = {"positive": frozenset({"poor"})}


def review(**settings: Any) -> Judge:
    options = {"strictness": {"low": LOW, "high": HIGH}}
    return Judge(
        **{"name": "review", "signature": Review, "positive": "poor", "options": options, **settings}
    )


def test_an_option_changes_settings_of_the_answer_and_no_prompt() -> None:
    judge = review()
    strict = judge.with_options({"strictness": "high"})
    assert (judge.option_values, strict.option_values) == ({"strictness": "low"}, {"strictness": "high"})
    assert strict.answer.scale.positive == frozenset({"poor", "fair"})
    assert PromptState.of(judge.basic()) == PromptState.of(strict.basic())
    assert review(positive="good").option_values == {}


def test_a_definition_keeps_the_options() -> None:
    definition = write_definition(review().with_options({"strictness": "high"}))
    assert definition is not None
    again = read_definition(definition)
    assert again.option_values == {"strictness": "high"}
    assert again.with_options({"strictness": "low"}).option_values == {"strictness": "low"}
    assert "options" not in (write_definition(review(options={})) or {})


def test_a_definition_of_an_earlier_version_is_read() -> None:
    definition = write_definition(review(options={})) or {}
    answers = {**definition["answers"], "tiers": {"map": {}}, "strictness": ""}
    assert read_definition({**definition, "answers": answers}).answer == review(options={}).answer


def test_a_version_is_loaded_with_the_value_that_it_was_proven_for(tmp_path: Any) -> None:
    store, strict = Store(tmp_path), review().with_options({"strictness": "high"})
    store.save(strict, PromptState.of(strict.basic()), {"gold": {}}, [], make_latest=True)
    assert load_judge(review(), store=store).judge.option_values == {"strictness": "high"}
    assert load_judge(review(), store=store, strictness="low").judge.option_values == {"strictness": "low"}
    with pytest.raises(ValueError, match="strictness must be a text"):
        Card.model_validate({"judge": "review", "version": 1, "strictness": [3]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"severity": {"low": LOW}}, "judges have no option called 'severity'"),
        ({"strictness": {"low": {"weight": 1}}}, "strictness=low sets weight, which its answer lacks"),
    ],
)
def test_an_option_that_cannot_be_chosen_is_refused(options: Any, message: str) -> None:
    with pytest.raises(JudgeError, match=message):
        review(options=options)


def test_a_value_that_an_option_lacks_is_refused() -> None:
    with pytest.raises(UsageError, match="'middle' is no strictness of judge review"):
        review().with_options({"strictness": "middle"})


def test_a_definition_keeps_the_reasons_of_ambiguity() -> None:
    definition = write_definition(review(ambiguities=("relation", "other"))) or {}
    assert read_definition(definition).ambiguities == ("relation", "other")
    assert "ambiguities" not in (write_definition(review()) or {})["settings"]
