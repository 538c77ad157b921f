"""The identity of a compilation: each argument that decides what comes out is part of it, with each of its fields."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path

import pytest
from judges import CHECK, ROWS
from small import write_jsonl

import jurist
from jurist.engines.meter import Budget
from jurist.evaluation.votes import Sampling
from jurist.gold.mapping import RowMapping
from jurist.jobs.plan import Plan


class Planned(Exception):  # noqa: N818
    """The plan of a call is made."""


def new_row(number: int, row: Mapping[str, object]) -> dict[str, object]:
    """Return a row with the labels of another, and texts and a group of its own."""
    words = " ".join(f"w{number * 100 + place}" for place in range(12))
    return {**row, "policy": words, "reply": words[::-1], "text": words, "group": f"new {number // 2}"}


@pytest.fixture
def call_hash(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str | None]:
    """Return the function that returns the identity of a call of ``compile`` on gold of three raters."""

    def stop(plan: Plan, *_: object) -> None:
        raise Planned(plan.call_hash)

    def call(**changes: object) -> str | None:
        arguments = {
            "judge": CHECK,
            "gold": "gold.jsonl",
            "model": "openai/x",
            "raters": "label_*",
            "store": "store",
        }
        with pytest.raises(Planned) as planned:
            jurist.compile(**{**arguments, **changes})
        (identity,) = planned.value.args
        assert identity is not None
        return str(identity)

    rows = []
    for number, row in enumerate(ROWS):
        label = row["verdict"]
        others = {"label_bob": label, "label_cho": "send" if number < 6 else label}
        rows.append({**row, "verdict": None, "label_ann": label, **others, "text": row["reply"] + "!"})
    write_jsonl(Path("gold.jsonl"), rows)
    write_jsonl(Path("other.jsonl"), rows[1:])
    write_jsonl(Path("less.jsonl"), [row | {"label_cho": row["label_ann"]} for row in rows])
    write_jsonl(Path("log.jsonl"), ROWS)
    write_jsonl(Path("holdout.jsonl"), [new_row(number, row) for number, row in enumerate(rows)])
    jurist.compile(CHECK, gold=ROWS, optimizer="threshold", store="store", anyway=True)
    monkeypatch.setattr("jurist.jobs.compiling.find_finished", stop)
    return call


ARGUMENTS: Mapping[str, object] = {
    "judge": replace(CHECK, signature=CHECK.signature.with_instructions("Hold what is rude.")),
    "gold": "other.jsonl",
    "holdout": "holdout.jsonl",
    "beside": ["recorded:log.jsonl"],
    "optimizer": "threshold",
    "options": {"sets": 2},
    "model": "openai/y",
    "prompt_model": "openai/y",
    "embedder": "openai/embeds",
    "budget": Budget(calls=900),
    "mapping": RowMapping(keep_groups=True),
    "raters": ("label_ann", "label_bob"),
    "merge": "unanimous",
    "sampling": Sampling(samples=3),
    "adapter": "json",
    "shares": (0.4, 0.2, 0.4),
    "words": False,
    "questions": False,
    "own_answer": False,
    "tokens_per_row": 900,
    "seed": 1,
    "start": "check@1",
}
"""Argument that decides -> another value than that of the first call."""
ELSEWHERE = {"verifier", "verifiers"}
"""Arguments that decide for judges with frozen steps, and for generators."""
INDIFFERENT = {"concurrency", "store", "resume", "fresh", "force", "anyway", "sink", "surface"}
"""Arguments on which the version does not depend."""


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_that_decides_is_part_of_the_call(
    name: str, call_hash: Callable[..., str | None]
) -> None:
    assert call_hash() == call_hash() != call_hash(**{name: ARGUMENTS[name]})


def test_every_argument_of_compile_decides_or_does_not() -> None:
    assert set(inspect.signature(jurist.compile).parameters) == {*ARGUMENTS, *ELSEWHERE, *INDIFFERENT}


MAPPINGS: Mapping[str, object] = {
    "columns": {"text": "reply"},
    "labels": {"send": "hold", "hold": "send"},
    "raters": ("label_ann", "label_bob"),
    "merge": "unanimous",
    "keep_groups": True,
}
MODELS: Mapping[str, object] = {
    "name": "openai/y",
    "api_base": "http://127.0.0.1:9/v1",
    "temperature": 0.5,
    "top_p": 0.5,
    "max_tokens": 77,
    "seed": 1,
    "reasoning_effort": "low",
    "body": {"x": 1},
    "members": (jurist.Model("openai/x"), jurist.Model("openai/y")),
}
REACHED = {
    "timeout",
    "patience",
    "rpm",
    "key_env",
    "headers",
    "terms",
    "price_in",
    "price_out",
    "price_cached",
}
"""Fields of a model by which it is reached and paid."""
SAMPLINGS: Mapping[str, Sampling] = {
    "samples": Sampling(samples=3),
    "threshold": Sampling(threshold=0.4),
    "weights": Sampling(weights={"send": 1.0, "hold": 2.0}),
}
OF_SCORES = {"combine"}
"""The field of a sampling that decides for scores."""
OF_PANELS = {"is_panel"}
"""The field of a sampling that a panel sets."""


@pytest.mark.parametrize("name", MAPPINGS)
def test_each_part_of_a_mapping_is_part_of_the_call(name: str, call_hash: Callable[..., str | None]) -> None:
    first = {"mapping": RowMapping(raters=("label_*",)), "raters": ()}
    changed = {"mapping": RowMapping(**{"raters": ("label_*",), name: MAPPINGS[name]}), "raters": ()}
    assert call_hash(**first) != call_hash(**changed)


@pytest.mark.parametrize("name", MODELS)
def test_each_setting_of_a_model_is_part_of_the_call(name: str, call_hash: Callable[..., str | None]) -> None:
    changed = replace(jurist.Model("openai/x"), **{name: MODELS[name]})
    assert call_hash() != call_hash(model=changed)


@pytest.mark.parametrize("name", SAMPLINGS)
def test_each_part_of_a_sampling_is_part_of_the_call(name: str, call_hash: Callable[..., str | None]) -> None:
    assert call_hash() != call_hash(sampling=SAMPLINGS[name])


def test_every_field_of_these_arguments_decides_or_does_not() -> None:
    known = {
        RowMapping: {*MAPPINGS},
        jurist.Model: {*MODELS, *REACHED},
        Sampling: {*SAMPLINGS, *OF_SCORES, *OF_PANELS},
    }
    for kind, names in known.items():
        assert {field.name for field in fields(kind)} == names


def test_a_rating_that_changes_no_label_changes_what_people_score(
    call_hash: Callable[..., str | None],
) -> None:
    assert call_hash() != call_hash(gold="less.jsonl")
