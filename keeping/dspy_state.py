"""A prompt as a DSPy state file: what ``dspy.Module.save`` writes, without models and traces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import dspy
import orjson

from ..engines.dspy_internals import get_dependency_versions
from ..errors import ArtifactError
from ..programs.judge import Judge
from ..programs.questions import Question
from ..programs.remembering import Remembered
from ..programs.state import PredictorPrompt, PromptState

_BARE = "self"  # DSPy's name for the predictor of a program that is one bare Predict
_NEAREST = "nearest"  # what DSPy does not know: the rows that are remembered
_QUESTIONS = "questions"  # what DSPy does not know either: the questions that its field of answers is made of
_METADATA = "metadata"
_ENTRY_KEYS = {"traces", "train", "demos", "signature", "lm", "fields", _NEAREST, _QUESTIONS}
_OTHER_JUDGE_HINT = "compile it again with this judge, or use the judge it was made for"
StateEntry: TypeAlias = Mapping[str, Any]
"""One predictor in a state file, as JSON values whose types nobody has checked yet."""


def settle_prompt(judge: Judge, state: PromptState) -> PromptState:
    """Return a prompt as the judge's program gives it back: DSPy dedents instructions."""
    program = judge.basic()
    names = {name for name, _ in program.named_predictors()}
    if names != set(state.predictors):
        raise ArtifactError(
            f"the prompt is for predictors {sorted(state.predictors)}, the judge has {sorted(names)}",
            hint="use a prompt that was made for this judge",
        )
    for prompt in state.predictors.values():
        if not prompt.instructions.strip():
            # DSPy would put "Given the fields ..." in its place, which nobody proved.
            raise ArtifactError(
                f"an instruction of judge {judge.name} is empty", hint="write what the judge decides"
            )
    # DSPy may dedent a dedented text further, so this goes on until nothing changes. The text only gets shorter.
    dedented = PromptState.of(state.apply(program))
    while dedented != state:
        state = dedented
        dedented = PromptState.of(state.apply(program))
    return state


def dump_state(judge: Judge, state: PromptState) -> dict[str, object]:
    """Return the state that DSPy's ``save`` writes, keys sorted; values of a demonstration keep the prompt's order."""
    state = settle_prompt(judge, state)
    program = state.apply(judge.basic())
    for _, predictor in program.named_predictors():
        predictor.lm = None
        predictor.traces = []
        predictor.train = []
    not_json_error = ArtifactError(
        f"the prompt of judge {judge.name} holds a value that JSON cannot keep",
        hint="give demonstrations made of text, numbers, lists and objects",
    )
    try:
        prompts = json.loads(json.dumps(state.to_json()))
        content = orjson.loads(orjson.dumps(program.dump_state()))
    except (TypeError, ValueError) as error:
        raise not_json_error from error
    for name in _entries_by_predictor(content):
        for key in (_NEAREST, _QUESTIONS):
            if prompts[name].get(key):
                content.get(name, content)[key] = prompts[name][key]
    if json.dumps(_sort_keys(read_state(content).to_json())) != json.dumps(_sort_keys(prompts)):
        raise not_json_error
    content[_METADATA] = {"dependency_versions": get_dependency_versions()}
    return {key: _sort_keys(content[key], is_demos=key == "demos") for key in sorted(content)}


def read_state(content: StateEntry) -> PromptState:
    """Return the prompts in the content of a DSPy state file."""
    prompts: dict[str, PredictorPrompt] = {}
    try:
        for name, entry in _entries_by_predictor(content).items():
            prompts[name] = _read_predictor_prompt(entry)
        return PromptState(prompts)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _not_a_state(f"{type(error).__name__} {error}") from error


def load_program(judge: Judge, content: StateEntry) -> dspy.Module:
    """Return the judge's program with the stored prompts and the stored field descriptions."""
    state = read_state(content)
    entries = _entries_by_predictor(content)
    program = judge.basic()
    _check_predictors(judge, program, entries)
    program = state.apply(program)
    _check_fields(judge, program, entries)
    dspy_entries = json.loads(json.dumps(entries))
    for entry in dspy_entries.values():
        entry.pop(_NEAREST, None)
        entry.pop(_QUESTIONS, None)
    program.load_state(dspy_entries[_BARE] if _is_bare(content) else dspy_entries)
    return state.apply(program)


def _check_predictors(judge: Judge, program: dspy.Module, entries: Mapping[str, StateEntry]) -> None:
    """Refuse a state of other predictors than the judge's program has."""
    predictors = dict(program.named_predictors())
    if set(predictors) != set(entries):
        raise ArtifactError(
            f"it was made for the predictors {sorted(entries)}, judge {judge.name} has {sorted(predictors)}",
            hint=_OTHER_JUDGE_HINT,
        )


def _check_fields(judge: Judge, program: dspy.Module, entries: Mapping[str, StateEntry]) -> None:
    """Refuse a state whose predictors have other fields than those of the program."""
    for name, predictor in program.named_predictors():
        prefixes = _prefixes(predictor.signature.dump_state())
        if _prefixes(entries[name]["signature"]) != prefixes:
            raise ArtifactError(
                f"it was made for other fields than judge {judge.name} has", hint=_OTHER_JUDGE_HINT
            )


def _prefixes(signature: StateEntry) -> list[object]:
    """Return the prefix of each field of a signature in a state file; a file has no names of fields."""
    return [field["prefix"] for field in signature["fields"]]


def _sort_keys(value: object, *, is_demos: bool = False) -> object:
    """Return a value with the keys of all objects sorted, except within the values of demonstrations.

    Args:
        is_demos: whether the value is a list of demonstrations, or one of them.
    """
    if isinstance(value, list):
        return [_sort_keys(item, is_demos=is_demos) for item in value]
    if not isinstance(value, dict):
        return value
    if is_demos:
        return dict(sorted(value.items()))
    return {key: _sort_keys(value[key], is_demos=key == "demos") for key in sorted(value)}


def _is_bare(content: StateEntry) -> bool:
    """Say whether a state file is of a program that is one bare predictor, whose keys stand at its top."""
    return isinstance(content.get("demos"), list)


def _entries_by_predictor(content: StateEntry) -> dict[str, StateEntry]:
    """Return predictor name -> entry of a state file."""
    entries = dict(content)
    entries.pop(_METADATA, None)
    return {_BARE: entries} if _is_bare(content) else entries


def _read_predictor_prompt(entry: StateEntry) -> PredictorPrompt:
    """Return the prompt of one predictor; a file may come from anywhere, and holds nothing else."""
    unknown = sorted(set(entry) - _ENTRY_KEYS)
    if unknown or entry["lm"] is not None or entry["traces"] or entry["train"]:
        raise _not_a_state(f"it holds more than a prompt: {unknown or 'a model or traces'}")
    demos = entry["demos"]
    instructions = entry["signature"]["instructions"]
    fields = entry["signature"]["fields"]
    if not isinstance(instructions, str) or not all(isinstance(demo, dict) for demo in demos):
        raise _not_a_state("an instruction is not text, or a demonstration is not an object")
    for field in fields:
        if not (isinstance(field["prefix"], str) and isinstance(field["description"], str)):
            raise _not_a_state("a field's prefix or description is not text")
    remembered = None
    if entry.get(_NEAREST):
        remembered = Remembered.from_json(entry[_NEAREST])
    questions = tuple(map(Question.from_json, entry.get(_QUESTIONS, ())))
    return PredictorPrompt(
        instructions=instructions,
        demos=tuple(map(dict, demos)),
        remembered=remembered,
        questions=questions,
    )


def _not_a_state(problem: str) -> ArtifactError:
    return ArtifactError(
        f"program.json is not the state of a DSPy program: {problem}", hint="restore it from a copy"
    )
