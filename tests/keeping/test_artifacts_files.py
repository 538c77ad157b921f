"""What an artifact holds: DSPy's own state, byte for byte the prompt that was proved, and a full card."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judges import JUDGES, POLITE, Polite, basic, changed, save

from jurist.errors import ArtifactError
from jurist.keeping.artifacts import Store
from jurist.keeping.dspy_state import dump_state, read_state
from jurist.programs.judge import Judge
from jurist.programs.state import PredictorPrompt, PromptState

by_name = pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.name)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "mine")


@by_name
def test_it_is_what_dspy_saves_and_loads_into_the_same_prompt(
    judge: Judge, store: Store, tmp_path: Path
) -> None:
    """Not only equal as values: the order of keys in a demonstration is part of the prompt."""
    artifact, theirs = save(store, judge), tmp_path / "dspy.json"
    proved = changed(judge).apply(judge.basic())
    proved.save(theirs)
    kept = (artifact.path / "program.json").read_text("utf-8")
    assert json.loads(kept) == json.loads(theirs.read_text("utf-8"))
    program = judge.basic()
    program.load(artifact.path / "program.json")
    assert PromptState.of(program) == changed(judge) == artifact.state
    loaded = artifact.program(judge)
    for (name, one), (_, two) in zip(proved.named_predictors(), loaded.named_predictors(), strict=True):
        inputs = dict.fromkeys(one.signature.input_fields, "x")
        texts = [dspy.ChatAdapter().format(p.signature, p.demos, inputs) for p in (one, two)]
        assert texts[0] == texts[1], name


@by_name
def test_equal_inputs_give_equal_bytes(judge: Judge, store: Store) -> None:
    one, two = save(store, judge, created="t"), save(store, judge, created="t")
    for name in ("program.json", "history.jsonl"):
        assert (one.path / name).read_bytes() == (two.path / name).read_bytes()
    assert (one.version, two.version) == (1, 2)
    assert one.sha256 != two.sha256  # the version is part of the content


def test_files_are_for_review(store: Store) -> None:
    artifact = save(store)
    for name in ("program.json", "card.json"):
        text = (artifact.path / name).read_text("utf-8")
        assert text == json.dumps(json.loads(text), sort_keys=True, indent=2, ensure_ascii=False) + "\n"
        assert "\r" not in text
    assert "中文" in (artifact.path / "program.json").read_text("utf-8")
    assert (artifact.path / "history.jsonl").read_text("utf-8") == '{"id": "a", "score": 0.5}\n'
    assert sorted(entry.name for entry in artifact.path.iterdir()) == [
        "card.json",
        "history.jsonl",
        "program.json",
    ]


def test_a_model_in_the_program_is_not_written(store: Store) -> None:
    def with_model() -> dspy.Module:
        program = dspy.Predict(Polite)
        program.lm = dspy.LM("openai/gpt-x", api_key="sk-abcdefghijklmnop", api_base="http://u:p@host/v1")
        program.traces = [object()]
        return program

    artifact = save(store, replace(POLITE, program=with_model))
    text = (artifact.path / "program.json").read_text("utf-8")
    assert json.loads(text)["lm"] is None
    assert "sk-" not in text
    assert "host" not in text


def test_a_card_cannot_say_another_judge(store: Store) -> None:
    lies = {"judge": "other", "version": 99, "labels": ["x"], "sha256": "0", "files": {}}
    card = store.save(POLITE, basic(POLITE), lies, [], make_latest=True).card
    assert (card["judge"], card["version"], card["labels"]) == ("polite", 1, ["yes", "no"])
    assert store.verify() == []


def test_card_takes_numpy_sets_and_not_numbers(store: Store) -> None:
    import numpy as np

    card = save(
        store, spend={"calls": np.int64(3), "cost": np.float64(0.5), "nan": float("nan")}, gold={"s": {2, 1}}
    )
    assert card.card["spend"] == {"calls": 3, "cost": 0.5, "nan": None}
    assert card.card["gold"] == {"s": [1, 2]}


@pytest.mark.parametrize("bad", [{"x": object()}, {"x": {1: 2}}, {"x": b"bytes"}])
def test_what_json_cannot_hold_is_refused_and_leaves_nothing(store: Store, bad: dict[str, Any]) -> None:
    with pytest.raises(ArtifactError, match="polite"):
        save(store, **bad)
    with pytest.raises(ArtifactError, match="polite"):
        store.save(POLITE, basic(POLITE), {}, [bad], make_latest=True)
    assert store.list() == []


def _shown(value: Any) -> PromptState:
    return basic(POLITE).with_demos("self", ({"message": value, "reply": "r", "polite": "yes"},))


def _named(*names: str) -> PromptState:
    return PromptState({name: PredictorPrompt(instructions="x") for name in names})


REFUSED: dict[str, tuple[PromptState, str]] = {
    "no number": (_shown(float("nan")), ""),
    "a huge number": (_shown(2**70), ""),
    "an object": (_shown(object()), ""),
    "a key that is no text": (_shown({1: 2}), ""),
    "half a character": (_shown("x\ud800"), "polite"),
    "an empty instruction": (basic(POLITE).with_instruction("self", ""), "empty"),
    "a blank instruction": (basic(POLITE).with_instruction("self", " \n\t"), "empty"),
    "no predictor": (_named(), "predictors"),
    "another predictor": (_named("other"), "predictors"),
    "a predictor more": (_named("self", "other"), "predictors"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_prompt_that_would_not_come_back_is_refused_and_leaves_nothing(store: Store, what: str) -> None:
    state, said = REFUSED[what]
    with pytest.raises(ArtifactError, match=said):
        store.save(POLITE, state, {}, [], make_latest=True)
    assert store.list() == []


def test_half_a_character_in_an_instruction_is_settled_before_it_is_kept(store: Store) -> None:
    state = basic(POLITE).with_instruction("self", "  x\ud800")
    assert state.predictors["self"].instructions == "x\ufffd"
    assert store.save(POLITE, state, {}, [], make_latest=True).state.id == state.id


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
DEMO = st.fixed_dictionaries({"message": TEXT, "reply": VALUE, "polite": st.sampled_from(["yes", "no"])})


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(instruction=TEXT.filter(str.strip), demos=st.lists(DEMO, max_size=3))
def test_prompts_survive_the_file(instruction: str, demos: list[dict[str, Any]], tmp_path: Path) -> None:
    state = basic(POLITE).with_instruction("self", instruction).with_demos("self", tuple(demos))
    # DSPy dedents an instruction when it is read; what the model saw is what must come back.
    seen = PromptState.of(state.apply(POLITE.basic()))
    data = json.loads(json.dumps(dump_state(POLITE, seen)))
    path = tmp_path / "program.json"
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    program = POLITE.basic()
    program.load(path)
    assert PromptState.of(program).to_json() == read_state(data).to_json()
    assert read_state(data).predictors["self"].demos == seen.predictors["self"].demos
    assert read_state(data).predictors["self"].instructions.split() == instruction.split()
