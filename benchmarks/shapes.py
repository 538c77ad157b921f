"""What the two shapes of whole-response labelling cost and score: numbered sentences against the paper's echoed tags.

    python benchmarks/shapes.py                                    # bundled cognibench-mini, offline engine
    python benchmarks/shapes.py --gold ../shared/data/cognibench   # the public CogniBench, not part of this project
    python benchmarks/shapes.py --model openai/gpt-4.1-mini --adapters chat

Tokens are of the texts that are really sent and answered, per labelled sentence (CogniBench section 3.1 asks for all
sentences of a response in one call because of the cost of asking for each). They are counted with o200k_base or
cl100k_base, OpenAI's vocabularies, where tiktoken finds one without a download, and else by the engine. The cost of
a sentence counts an output token as ``--ratio`` input tokens. The offline engine is no language model: it decides
alike in both shapes, so that its scores show that no label is lost on the way, and not which shape a language
model is better at; a real model's run shows that too.
"""

import argparse
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jurist
from jurist.cases import Case
from jurist.engines.adapters import ADAPTERS
from jurist.engines.channel import CallContext
from jurist.engines.models import connect
from jurist.evaluation.measured import measure
from jurist.evaluation.proof import prove
from jurist.gold.goldset import Gold
from jurist.keeping.resolving import default_temperature
from jurist.optimizers.objective import row_of
from jurist.programs.asking import Asker

JUDGES = ("cognibench", "cognibench-tags")
Counter = Callable[[str], int]


def main() -> int:
    """Print one table and, for each adapter, the paired test."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--gold", default="cognibench-mini", metavar="PATH|NAME")
    options.add_argument("--model", default="offline", metavar="M")
    options.add_argument("--api-base", metavar="URL")
    options.add_argument("--adapters", nargs="+", default=list(ADAPTERS), choices=ADAPTERS)
    options.add_argument(
        "--ratio", type=float, default=4.0, help="what an output token costs, in input tokens"
    )
    options.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    arguments = options.parse_args()
    name, count = tokenizer()
    judges = {name: jurist.judge(name) for name in JUDGES}
    gold = Gold.load(arguments.gold, judges["cognibench"])
    cases = [case for case in gold.cases if case.known]
    sentences = sum(label is not None for case in cases for label in case.gold or ())
    print(f"{gold.name}: {len(cases)} responses, {sentences} labelled sentences; {arguments.model}; {name}\n")
    print("| adapter | shape | calls | input | output | cost | usable | F1 [95 %] |")
    print("|---|---|---|---|---|---|---|---|")
    told = []
    for adapter in arguments.adapters:
        found = [
            _asked(judge, cases, _model(arguments), adapter, count or (lambda text: 0))
            for judge in judges.values()
        ]
        for judge, one in zip(JUDGES, found, strict=True):
            print(_line(adapter, judge, one, sentences, arguments, counted=count is not None), flush=True)
        told += _told(adapter, found, sentences, arguments, counted=count is not None)
    print("\ninput, output: tokens per labelled sentence; cost: input + ratio x output\n")
    print("\n".join(told))
    return 0


def tokenizer() -> tuple[str, Counter | None]:
    """Return a vocabulary that is there without a download, and its name; ``None`` stands for the engine's counts."""
    if importlib.util.find_spec("tiktoken") is None:
        return "tokens as the engine counts them", None
    spec = importlib.util.find_spec("litellm")  # it ships some
    if spec is not None and spec.submodule_search_locations:
        shipped = Path(spec.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(shipped))
    kept = Path(os.environ.get("TIKTOKEN_CACHE_DIR", ""))
    for name in ("o200k_base", "cl100k_base"):
        address = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
        if (kept / hashlib.sha1(address.encode()).hexdigest()).is_file():  # the name tiktoken keeps it under
            return f"tokens of {name}", _counter(name)
    return "tokens as the engine counts them", None


def _counter(name: str) -> Counter:
    import tiktoken

    encoding = tiktoken.get_encoding(name)
    return lambda text: len(encoding.encode(text, disallowed_special=()))


@dataclass(kw_only=True)
class Counting:
    """An engine that counts the tokens of what passes through it."""

    inner: Any
    count: Counter
    input: int = 0
    output: int = 0

    def complete(self, request: Any) -> Any:
        """Answer and count."""
        return self._note(request, self.inner.complete(request))

    async def acomplete(self, request: Any) -> Any:
        """Answer and count."""
        return self._note(request, await self.inner.acomplete(request))

    def _note(self, request: Any, answered: Any) -> Any:
        system = request.system if isinstance(request.system, str) else ""
        self.input += sum(map(self.count, [system, *(message.text or "" for message in request.messages)]))
        self.output += self.count(answered[0].message.text or "")
        return answered


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One shape on the gold."""

    rows: list[Any]
    judge: Any
    calls: int
    counted: tuple[int, int]
    engine: tuple[int, int]


def _model(arguments: argparse.Namespace) -> Any:
    return default_temperature(jurist.Model(name=arguments.model, api_base=arguments.api_base), 1)


def _asked(judge: Any, cases: list[Case], model: Any, adapter: str, count: Counter) -> Asked:
    context = CallContext.fresh()
    lm = connect(model, context)
    channel = lm._engine_spec  # the one path of every call
    passing = channel.inner = Counting(inner=channel.inner, count=count)
    verdicts = Asker(judge=judge, program=judge.basic(), lm=lm, adapter=adapter).ask_all(cases)
    spend = context.ledger.spend()
    return Asked(
        rows=[row_of(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)],
        judge=judge,
        calls=spend.calls,
        counted=(passing.input, passing.output),
        engine=(spend.input_tokens, spend.output_tokens),
    )


def _costs(one: Asked, sentences: int, ratio: float, counted: bool) -> tuple[float, float, float]:
    asked, said = one.counted if counted else one.engine
    return asked / sentences, said / sentences, (asked + ratio * said) / sentences


def _line(
    adapter: str, name: str, one: Asked, sentences: int, arguments: argparse.Namespace, *, counted: bool
) -> str:
    found = measure(one.rows, "f1", one.judge.comparison)
    between = found["f1"].interval
    asked, said, cost = _costs(one, sentences, arguments.ratio, counted)
    return (
        f"| {adapter} | {name} | {one.calls} | {asked:.1f} | {said:.1f} | {cost:.1f} | {found.coverage:.1%} "
        f"| {found['f1'].value:.3f} [{between.low:.3f}, {between.high:.3f}] |"
    )


def _told(
    adapter: str, found: list[Asked], sentences: int, arguments: argparse.Namespace, *, counted: bool
) -> list[str]:
    one, two = found
    costs = [_costs(each, sentences, arguments.ratio, counted)[2] for each in found]
    decision = prove(one.rows, two.rows, "f1", one.judge.comparison, seed=arguments.seed).decision
    interval, units = decision.interval, decision.mcnemar
    assert units is not None  # sentences are right or wrong
    cheaper = JUDGES[costs[1] < costs[0]]
    return [
        f"{adapter}: {cheaper} is cheaper, by {1 - min(costs) / max(costs):.0%}; F1 of {JUDGES[1]} against {JUDGES[0]} "
        f"{decision.difference:+.3f}, 95 % interval {interval.low:+.3f} to {interval.high:+.3f}, "
        f"{units.c} sentences corrected, {units.b} broken, McNemar p = {decision.p:.3g}"
    ]


if __name__ == "__main__":
    sys.exit(main())
