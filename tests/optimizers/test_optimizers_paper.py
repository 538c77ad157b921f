"""The paper's OPRO: everything on the whole sample, random labelled cases, the best twenty shown."""

import re

from loopback import field_of
from worlds import job_of, simulator

from jurist.optimizers.base import Job, Result, optimize
from jurist.optimizers.registry import make

WORLD = simulator.World(seed=6)


def run(job: Job, **settings: int) -> tuple[Result, list[str]]:
    asked: list[str] = []
    inner = job.proposer_lm._engine_spec.inner
    original = inner._propose

    def propose(request: object, system: str) -> str:
        asked.append(request.messages[-1].text)  # type: ignore[attr-defined]
        return str(original(request, system))

    inner._propose = propose
    return optimize(make("opro-paper", {"steps": 3, "candidates": 4, "sample": 40, **settings}), job), asked


def test_every_instruction_is_scored_on_the_whole_sample() -> None:
    job = job_of(WORLD)
    result, asked = run(job)
    rows = result.board.history(job.train, job.dev)
    assert [row["train"]["cases"] for row in rows] == [40] * len(rows)
    assert len(asked) == 12
    assert 9 < len(rows) <= 13
    best = max(rows, key=lambda row: row["train"]["value"])
    assert best["dev"]["cases"] == len(job.dev)
    assert sum(row["dev"]["cases"] > 0 for row in rows) < len(rows)
    assert all(row["source"] == "opro-paper" for row in rows[1:])


def test_the_meta_prompt_has_the_history_and_labelled_cases_without_the_judges_answers() -> None:
    job = job_of(WORLD)
    result, asked = run(job)
    values = {
        row["prompt"]["self"]["instructions"]: round(100 * row["train"]["value"])
        for row in result.board.history(job.train, job.dev)
    }
    train = {case.inputs["item"]: case.gold for case in job.train}
    seen = set()
    for text in asked:
        shown = re.findall(r"text:\n(.*?)\nscore: (\d+)", field_of(text, "scored_instructions"), re.S)
        scores = [int(score) for _, score in shown]
        assert scores == sorted(scores)
        assert all(values[instruction] == int(score) for instruction, score in shown)
        examples = re.findall(r'^"(.*)" is (\w+) according to people$', field_of(text, "examples"), re.M)
        assert len(examples) == 3
        assert all(train[item] == (label,) for item, label in examples)
        assert "judged" not in field_of(text, "examples")
        seen.add(field_of(text, "examples"))
    assert len(seen) == 3  # others each step


def test_it_gets_better() -> None:
    job = job_of(WORLD)
    result, _ = run(job, steps=5)
    world, best = WORLD, result.best.state.predictors["self"].instructions
    basic = result.board.basic.state.predictors["self"].instructions
    assert world.accuracy(best) > world.accuracy(basic) + 0.1


def test_the_best_instructions_are_shown() -> None:
    _, asked = run(job_of(WORLD), shown=3, steps=4)
    assert asked[-1].count("score:") == 3
