"""Counts and seeds of public functions: one line refuses those that cannot be, before anything is read or asked."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy
import pytest
from small import cli

import jurist
from jurist.errors import Seed, UsageError
from jurist.jobs.generation import RecipeSettings

OF_FUNCTIONS: dict[Callable[..., Any], tuple[Any, ...]] = {
    jurist.assess: ("offline", "dialogues"),
    jurist.compare: (["fect:basic", "fect-3d:basic"], "fect-mini"),
    jurist.compile: ("fect", "fect-mini"),
    jurist.gate: ("fect:basic", "fect-mini"),
    jurist.generate: ("haluagent", "haluagent-docs", "bench"),
    jurist.harden: ("fect:basic", "fect-mini"),
    jurist.move: ("fect@1",),
    jurist.prove: ("fect@1", "fect-mini"),
    jurist.refit: ("fect@1",),
}
COUNTS = {
    "assess": {"concurrency", "limit", "per_cell", "samples", "threshold"},
    "compare": {"repeats"},
    "compile": {"concurrency", "tokens_per_row"},
    "gate": {"at_least"},
    "generate": {"attempts", "characters", "concurrency", "limit", "per_document", "per_topic", "size"},
    "harden": {"cases"},
    "move": {"concurrency"},
    "prove": {"labels"},
    "refit": {"concurrency"},
}
ROWS = [
    (function, name, value)
    for function in OF_FUNCTIONS
    for name in sorted(COUNTS[function.__name__])
    for value in (0, -2)
]


@pytest.mark.parametrize(("function", "name", "value"), ROWS)
def test_a_count_below_one_is_refused(function: Callable[..., Any], name: str, value: int) -> None:
    with pytest.raises(UsageError) as caught:
        function(*OF_FUNCTIONS[function], **{name: value})
    assert str(caught.value).startswith(f"{name}={value} is not possible; give a whole number, 1 or more")


def flags_of(function: Callable[..., Any]) -> list[str]:
    """Return the arguments of a function that are true or false."""
    kinds = get_type_hints(inspect.unwrap(function))
    return [name for name, kind in kinds.items() if kind is bool and name != "return"]


FLAGS = [(function, name) for function in OF_FUNCTIONS for name in flags_of(function)]


@pytest.mark.parametrize("value", ["false", "", 0, 1, None, "True"])
@pytest.mark.parametrize(("function", "name"), FLAGS)
def test_a_flag_is_true_or_false(function: Callable[..., Any], name: str, value: object) -> None:
    with pytest.raises(UsageError) as caught:
        function(*OF_FUNCTIONS[function], **{name: value})
    assert str(caught.value) == f"{name}={value!r} is not possible; give True or False"


def test_flags_take_truth_values_of_numpy() -> None:
    assert jurist.RowMapping(keep_groups=numpy.bool_(1)).keep_groups  # type: ignore[arg-type]
    assert jurist.load("fect:basic", trust=numpy.False_).name == "fect:basic"  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^keep_groups='false' is not possible; give True or False$"):
        jurist.RowMapping(keep_groups="false")  # type: ignore[arg-type]


SEEDED: dict[Callable[..., Any], tuple[Any, ...]] = {
    jurist.cascade: (["fect:basic", "fect-3d:basic"], "fect-mini"),
    jurist.check_gold: ("fect-mini", "fect"),
    jurist.table: ("cognibench-3",),
    jurist.Gold.split: (jurist.Gold.load("fect-mini", "fect"),),
    jurist.Model: ("openai/a",),
    jurist.Store.earlier_parts: (jurist.Store("compiled"), "fect"),
}
NEEDED: dict[Callable[..., Any], dict[str, Any]] = {jurist.Store.earlier_parts: {"shares": None}}
for FUNCTION in OF_FUNCTIONS:
    if "seed" in inspect.signature(FUNCTION).parameters:
        SEEDED[FUNCTION] = OF_FUNCTIONS[FUNCTION]


@pytest.mark.parametrize("seed", [-1, 2**32])
@pytest.mark.parametrize("function", SEEDED)
def test_a_seed_is_one_that_numpy_takes(function: Callable[..., Any], seed: int) -> None:
    with pytest.raises(UsageError) as caught:
        function(*SEEDED[function], **NEEDED.get(function, {}), seed=seed)
    assert str(caught.value) == f"seed={seed} is not possible; give a whole number from 0 to {2**32 - 1}"


def functions_with_seed() -> set[Callable[..., Any]]:
    """Return the public functions, classes and methods that take a seed."""
    seeded: set[Callable[..., Any]] = set()
    for name in jurist.__all__:
        value = getattr(jurist, name)
        members = {name: value}
        if inspect.isclass(value):
            members |= {key: member for key, member in vars(value).items() if key[0] != "_"}
        for function in members.values():
            is_python = inspect.isfunction(function) or dataclasses.is_dataclass(function)
            if is_python and "seed" in inspect.signature(function).parameters:
                seeded.add(function)
    return seeded


def test_every_public_seed_is_in_the_table() -> None:
    assert functions_with_seed() == set(SEEDED)


@pytest.mark.parametrize("function", OF_FUNCTIONS)
def test_every_number_that_is_no_seed_is_a_count(function: Callable[..., Any]) -> None:
    kinds = get_type_hints(inspect.unwrap(function), include_extras=True)
    if function is jurist.generate:
        kinds |= get_type_hints(RecipeSettings, include_extras=True)
    kinds.pop("return")
    assert kinds.pop("seed", Seed) == Seed
    counts, numbers = set(), set()
    for name, kind in kinds.items():
        for part in (kind, *get_args(kind)):
            if get_origin(part) is Annotated:
                counts.add(name)
            if part is int and get_origin(kind) is not Annotated:
                numbers.add(name)
    assert counts == COUNTS[function.__name__]
    assert not numbers


@pytest.mark.parametrize("name", ["rpm", "max_tokens"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_model_has_limits_of_one_or_more(name: str, value: int) -> None:
    with pytest.raises(UsageError, match=f"^{name}={value} is not possible; give a whole number, 1 or more$"):
        jurist.Model("openai/a", **{name: value})


@pytest.mark.parametrize(
    "line",
    [
        "assess offline --benchmark dialogues --limit",
        "assess offline --benchmark dialogues --per-cell",
        "assess offline --benchmark dialogues --samples",
        "assess offline --benchmark dialogues --threshold",
        "compare fect:basic fect-3d:basic --gold fect-mini --repeats",
        "generate dialogue --input d --output d.jsonl --per-topic",
        "generate faithqa --input d --output d.jsonl --size",
        "generate haluagent --input d --output d --attempts",
        "generate haluagent --input d --output d --characters",
        "generate haluagent --input d --output d --limit",
        "generate haluagent --input d --output d --per-document",
    ],
)
@pytest.mark.parametrize("value", ["0", "-2"])
def test_a_command_names_its_option(line: str, value: str) -> None:
    done = cli(*line.split(), value)
    flag = line.split()[-1]
    assert done.code == 2
    assert f"{flag}: {value!r} is not possible: give a whole number, 1 or more" in done.err
