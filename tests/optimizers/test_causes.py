"""The error-driven rounds of HaluAgent: errors with feedback in, rewrites out, stop when dev drops."""

from collections.abc import Callable

from dspy.lm15 import Request
from fakes import Scripted, lm_of, reply, user_of
from loopback import field_of
from worlds import job_of, simulator

from jurist.optimizers.base import Job, Result, optimize
from jurist.optimizers.named.cfaith import CFaith

WORLD = simulator.World(seed=8)
USEFUL = [name for name, strength in WORLD.strengths.items() if strength > 0]
HARMFUL = [name for name, strength in WORLD.strengths.items() if strength < 0]


def run(proposed: Callable[[Request], str], **settings: int) -> tuple[Job, Result, Scripted]:
    job = job_of(WORLD)
    proposer = Scripted(proposed)
    object.__setattr__(job, "proposer_lm", lm_of(proposer, job.context, "proposer"))
    return job, optimize(CFaith(**{"rewrites": 2, "sample": 40, **settings}), job), proposer


def stating(names: list[str], number: object = 0) -> str:
    return reply("chat", instruction=f"Take {number}. " + " ".join(f"Check the {name}." for name in names))


def test_each_round_starts_from_the_best_of_the_last() -> None:
    def proposed(request: Request) -> str:
        current = sorted(simulator.stated(field_of(user_of(request), "current_instruction")))
        left = [name for name in USEFUL if name not in current]
        return stating([*current, *left[: 3 - (request.config.seed or 0)]], len(current))

    job, result, proposer = run(proposed, steps=3)
    rows = result.board.history(job.train, job.dev)
    shown = [field_of(user_of(request), "current_instruction") for request in proposer.requests]
    assert len(shown) == 6
    values = {row["prompt"]["self"]["instructions"]: row["dev"]["value"] for row in rows}
    for before, after in zip(shown[1:-2:2], shown[3::2], strict=True):
        assert values[after] >= values[before]
    parents = {row["candidate"]: row["parent"] for row in rows}
    assert len({parents[row["candidate"]] for row in rows[1:]}) == 3
    assert WORLD.accuracy(result.best.state.predictors["self"].instructions) > 0.8


def test_it_stops_when_dev_drops_and_returns_the_best() -> None:
    def proposed(request: Request) -> str:
        first = not simulator.stated(field_of(user_of(request), "current_instruction"))
        return stating(USEFUL[:6] if first else HARMFUL, f"{first}/{request.config.seed}")

    _, result, proposer = run(proposed)
    assert len(proposer.requests) == 4  # two rounds, not five
    assert simulator.stated(result.best.state.predictors["self"].instructions) == set(USEFUL[:6])
    assert result.ending == "finished"
