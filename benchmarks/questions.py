"""What questions give in a world of facts: held-out scores of the basic prompt, words, a stack and a head.

The world is :mod:`question_world`: a label follows from several facts, which a model judges well one by one and badly
together. With ``--law none`` labels are random, and the script counts how many compilations say that they are better.

    python benchmarks/questions.py
    python benchmarks/questions.py --law none --labels 160 --seeds 60
"""

import argparse
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dspy.lm15 import Message, Request, Response, Usage
from question_world import SOURCE, FactWorld  # type: ignore[import-not-found]  # beside this file

import jurist
from jurist.engines.channel import CallContext, Channel, InnerEngine
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Meter
from jurist.evaluation.scale import resolve
from jurist.gold.goldset import Gold
from jurist.optimizers.base import Job, optimize
from jurist.optimizers.board import Candidate
from jurist.optimizers.objective import Objective
from jurist.optimizers.registry import make
from jurist.optimizers.thresholds import with_fitted_rules
from jurist.programs.judge import Judge

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from loopback import Loopback  # type: ignore[import-not-found]  # of the tests

_HELD_OUT = 300


class _Engine(InnerEngine):
    """An engine that answers as the model of a world."""

    def __init__(self, world: FactWorld) -> None:
        self.world = world

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Return the reply of the world's model."""
        system = request.system
        if not isinstance(system, str):
            system = "".join(part.text for part in system or ())
        messages = [{"role": "system", "content": system}]
        messages += [{"role": "user", "content": message.text or ""} for message in request.messages]
        text = self.world.answer(messages)
        asked = sum(len(message["content"]) for message in messages)
        usage = Usage(input_tokens=asked // 4, output_tokens=max(1, len(text) // 4))
        response = Response(
            id=None, model=request.model, message=Message.assistant(text), finish_reason="stop", usage=usage
        )
        return response, 0.0

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Return the reply of the world's model."""
        return self.complete(request)


def _job(judge: Judge, world: FactWorld, labels: int, seed: int) -> Job:
    """Return the job of a compilation on so many labels, with 60 % of them in train and 40 % in dev."""
    context = CallContext(ledger=Ledger(), meter=Meter(None), journal=Journal())
    engine = _Engine(world)
    cases = Gold.of(world.rows(labels), judge, "gold").cases
    in_train = round(0.6 * len(cases))
    return Job(
        judge=judge,
        train=tuple(cases[:in_train]),
        dev=tuple(cases[in_train:]),
        judge_lm=Channel(engine, context, "judge").lm("test/facts"),
        proposer_lm=Channel(engine, context, "proposer").lm("test/facts"),
        context=context,
        seed=seed,
    )


def _held_out(job: Job, world: FactWorld, candidate: Candidate) -> float:
    """Return the judge's metric of a candidate on rows that nobody labelled for the search."""
    cases = Gold.of(world.rows(_HELD_OUT, "test"), job.judge, "test").cases
    asker = job.asker(candidate.state.apply(job.judge.basic()), candidate.setting)
    objective = Objective(judge=job.judge)
    outcomes = []
    for case, verdict in zip(cases, asker.ask_all(cases), strict=True):
        outcomes.append(objective.outcome(case, verdict))
    value = objective.aggregate(outcomes)
    return resolve(job.judge.metric, job.judge.comparison).oriented(value)


def _kind(candidate: Candidate) -> str:
    """Return the row of the table in which a candidate stands; nothing for candidates in none."""
    words = candidate.setting.words
    if candidate.source == "basic":
        return "basic"
    if words is None:
        return ""
    if words.name != "questions":
        return words.name
    return "questions and words" if words.reads_words else "questions"


def measure(judge: Judge, world: FactWorld, labels: int, seeds: Sequence[int], optimizer: str) -> None:
    """Print the mean held-out score of each kind of judge, what the choice gives, and the calls of the search."""
    scores: dict[str, list[float]] = defaultdict(list)
    calls: list[int] = []
    for seed in seeds:
        seeded = replace(world, seed=seed)
        job = _job(judge, seeded, labels, seed)
        result = with_fitted_rules(job, optimize(make(optimizer), job))
        calls.append(job.context.meter.calls)
        best_of_kind: dict[str, Candidate] = {}
        cases = job.train + job.dev
        for candidate in result.board.candidates.values():
            kind = _kind(candidate)
            held = best_of_kind.get(kind)
            if kind and (
                held is None or result.board.value(candidate, cases) > result.board.value(held, cases)
            ):
                best_of_kind[kind] = candidate
        for kind, candidate in best_of_kind.items():
            scores[kind].append(_held_out(job, seeded, candidate))
            if candidate is result.best:
                scores["chosen"].append(scores[kind][-1])
        if result.best not in best_of_kind.values():
            scores["chosen"].append(_held_out(job, seeded, result.best))
    means = [f"{kind} {statistics.mean(values):.3f}" for kind, values in scores.items()]
    print(
        f"{judge.name:7} {labels:4} labels, {optimizer}: {', '.join(means)}; {statistics.mean(calls):.0f} calls",
        flush=True,
    )


def count_promotions(name: str, file: Path, world: FactWorld, labels: int, seeds: Sequence[int]) -> None:
    """Print how many compilations on random labels say that the compiled judge is better than the basic prompt."""
    promoted = 0
    kept = 0
    for seed in seeds:
        seeded = replace(world, seed=seed)
        with Loopback(seeded.answer) as server, tempfile.TemporaryDirectory() as store:
            compiled = jurist.compile(
                f"{file}:{name}",
                seeded.rows(labels),
                optimizer="questions",
                model=jurist.Model("openai/facts", api_base=server.url),
                seed=seed,
                store=store,
            )
        promoted += compiled.verdict == "better"
        kept += compiled.artifact.about.words is not None
    print(
        f"{name}: {labels} random labels: better in {promoted} of {len(seeds)}; a rule was chosen in {kept}"
    )


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--law", choices=("count", "none"), default="count")
    parser.add_argument("--labels", type=int, nargs="*", default=[60, 100, 200])
    parser.add_argument("--judges", nargs="*", default=["judge", "triage", "grade"])
    parser.add_argument("--optimizer", default="questions")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "facts.py"
        file.write_text(SOURCE, encoding="utf-8")
        for name in options.judges:
            judge = jurist.judge(f"{file}:{name}")
            together = 0.65 if name == "judge" else 0.5
            world = FactWorld(judge=name, together=together, law=options.law)
            for labels in options.labels:
                if options.law == "none":
                    count_promotions(name, file, world, labels, range(options.seeds))
                    continue
                measure(judge, world, labels, range(options.seeds), options.optimizer)


if __name__ == "__main__":
    main()
