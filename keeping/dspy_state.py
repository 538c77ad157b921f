"""A prompt as a DSPy state file: what ``dspy.Module.save`` writes, without models and traces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dspy
import orjson

from ..engines.dspy_internals import get_dependency_versions
from ..errors import ArtifactError
from ..programs.judge import Judge
from ..programs.remembering import Remembered
from ..programs.state import PredictorPrompt, PromptState

_BARE = "self"  # DSPy's name for the predictor of a program that is one bare Predict
_NEAREST = "nearest"  # what DSPy does not know: the rows that are remembered
_ENTRY_KEYS = {"traces", "train", "demos", "signature", "lm", "fields", _NEAREST}
_UNLIKE = "compile it again with this judge, or use the judge it was made for"


def settle(judge: Judge, state: PromptState) -> PromptState:
    """Return ``state`` as the judge's program will give it back: DSPy dedents instructions."""
    program = judge.basic()
    names = {name for name, _ in program.named_predictors()}
    if names != set(state.predictors):
        raise ArtifactError(
            f"the prompt is for predictors {sorted(state.predictors)}, the judge has {sorted(names)}",
            hint="use a prompt that was made for this judge",
        )
    if not all(prompt.instructions.strip() for prompt in state.predictors.values()):
        # DSPy would put "Given the fields ..." in its place, which nobody proved.
        raise ArtifactError(
            f"an instruction of judge {judge.name} is empty", hint="write what the judge decides"
        )
    before = None
    while state != before:  # dedenting twice may dedent more than once; it ends, as text only gets shorter
        before, state = state, PromptState.of(state.apply(program))
    return state


def dump(judge: Judge, state: PromptState) -> dict[str, Any]:
    """Return the state that DSPy's ``save`` writes, keys sorted; values of a demonstration keep the prompt's order."""
    state = settle(judge, state)
    program = state.apply(judge.basic())
    for _, predictor in program.named_predictors():
        predictor.lm, predictor.traces, predictor.train = None, [], []
    unkept = ArtifactError(
        f"the prompt of judge {judge.name} holds a value that JSON cannot keep",
        hint="give demonstrations made of text, numbers, lists and objects",
    )
    try:
        wanted = json.loads(json.dumps(state.to_json()))
        data: dict[str, Any] = orjson.loads(orjson.dumps(program.dump_state()))
    except (TypeError, ValueError) as error:
        raise unkept from error
    for name in _entries(data):
        if rows := wanted[name].get(_NEAREST):
            data.get(name, data)[_NEAREST] = rows
    if json.dumps(_ordered(state_of(data).to_json())) != json.dumps(_ordered(wanted)):
        raise unkept
    whole = {**data, "metadata": {"dependency_versions": get_dependency_versions()}}
    return dict(_ordered(whole))


def state_of(data: Mapping[str, Any]) -> PromptState:
    """Read the prompts from the content of a DSPy state file."""
    try:
        return PromptState({name: _prompt(entry) for name, entry in _entries(data).items()})
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _not_a_state(f"{type(error).__name__} {error}") from error


def compiled(judge: Judge, data: Mapping[str, Any]) -> dspy.Module:
    """Return the judge's program with the stored prompts and the stored field descriptions."""
    state, entries, program = state_of(data), _entries(data), judge.basic()
    now = {name: predictor.signature.dump_state()["fields"] for name, predictor in program.named_predictors()}
    if set(now) != set(entries):
        raise ArtifactError(
            f"it was made for the predictors {sorted(entries)}, judge {judge.name} has {sorted(now)}",
            hint=_UNLIKE,
        )
    for name, fields in now.items():
        stored = entries[name]["signature"]["fields"]
        if [field["prefix"] for field in stored] != [field["prefix"] for field in fields]:
            raise ArtifactError(f"it was made for other fields than judge {judge.name} has", hint=_UNLIKE)
    known = json.loads(json.dumps(entries))
    for entry in known.values():
        entry.pop(_NEAREST, None)
    program.load_state(known[_BARE] if isinstance(data.get("demos"), list) else known)
    return state.apply(program)


def _ordered(value: Any, *, values_of_demo: bool = False) -> Any:
    """Return a value with the keys of its objects sorted, but for those within a demonstration's values."""
    if isinstance(value, list):
        return [_ordered(item, values_of_demo=values_of_demo) for item in value]
    if not isinstance(value, dict):
        return value
    if values_of_demo:
        return {key: value[key] for key in sorted(value)}
    return {key: _ordered(value[key], values_of_demo=key == "demos") for key in sorted(value)}


def _entries(data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return predictor name -> entry of a state file."""
    if isinstance(data.get("demos"), list):
        return {_BARE: {key: value for key, value in data.items() if key != "metadata"}}
    return {name: entry for name, entry in data.items() if name != "metadata"}


def _prompt(entry: Mapping[str, Any]) -> PredictorPrompt:
    """Return the prompt of one predictor; a file may come from anywhere, and holds nothing else."""
    unknown = sorted(set(entry) - _ENTRY_KEYS)
    if unknown or entry["lm"] is not None or entry["traces"] or entry["train"]:
        raise _not_a_state(f"it holds more than a prompt: {unknown or 'a model or traces'}")
    demos, instructions = entry["demos"], entry["signature"]["instructions"]
    fields = entry["signature"]["fields"]
    if not isinstance(instructions, str) or not all(isinstance(demo, dict) for demo in demos):
        raise _not_a_state("an instruction is not text, or a demonstration is not an object")
    if not all(
        isinstance(field["prefix"], str) and isinstance(field["description"], str) for field in fields
    ):
        raise _not_a_state("a field's prefix or description is not text")
    kept = entry.get(_NEAREST)
    remembered = Remembered.from_json(kept) if kept else None
    return PredictorPrompt(instructions=instructions, demos=tuple(map(dict, demos)), remembered=remembered)


def _not_a_state(why: str) -> ArtifactError:
    return ArtifactError(
        f"program.json is not the state of a DSPy program: {why}", hint="restore it from a copy"
    )
