"""CogniBench's Table 5 on any gold: auto-labelling in full, and with its parts taken away (appendix A.9).

In full, responses are labelled whole (formative prompting, section 3.1) by a prompt with corrected examples of the
judge's own recurrent errors (contrastive prompting), five times (multi-response sampling, section 3.2), and a
sentence is hallucinated when enough of the five say so. The lines, as in the paper:

- thresholds 2 and 3: the same votes, counted twice;
- *- Sampling*: one draw at the same temperature in place of five;
- *- CFP*: the basic prompt without examples, one sentence a call, five draws and a majority.

The examples are mined by the optimizer ``contrastive`` on the train part of the gold set and chosen on its dev
part; every line is scored on the same sealed test part.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from ...cases import Label
from ...engines.channel import CallContext
from ...engines.meter import Budget
from ...engines.models import Model, connect
from ...errors import UsageError
from ...gold.goldset import Gold
from ...gold.leaks import check_leaks
from ...gold.splits import Shares, Split
from ...jobs.estimate import Estimate
from ...jobs.looking import prompt_of, proof_of
from ...jobs.measuring import part_of
from ...jobs.proving import described
from ...keeping.paying import PaidJob
from ...keeping.resolving import default_temperature, resolve_sampling
from ...optimizers.base import Job, Result, Sink, optimize
from ...optimizers.contrastive import Contrastive
from ...optimizers.registry import make
from ...programs.answers.infer import closed
from ...programs.asking import Asker
from ...programs.judge import Judge
from ...programs.state import PromptState
from ...programs.votes import Sampling, check_threshold, majority
from ...signatures.cognibench import LABELS
from .asked import Asked, Plan, ask, one_by_one, planned, rows_at
from .detection import Detection
from .result import Line, Table, line_of, scored, table_of

OPTIMIZER = "contrastive"
_PARTS = ("mining", "samples", "draw", "sentences")


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """The table before anything is asked; itself what :func:`jurist.keeping.paying.paying` pays for."""

    judge: Judge  # a judge of whole responses with CogniBench's labels
    gold: Gold  # its labelled responses
    models: tuple[Model, ...] = (Model(),)  # who answers; each gives the lines of a whole table
    samples: int = 5  # independent draws (section 3.2: 5)
    # votes that make a sentence hallucinated, one line each (the paper's: 2 and 3)
    thresholds: tuple[int, ...] = (2, 3)
    options: Mapping[str, Any] = field(default_factory=dict)  # settings of the optimizer ``contrastive``
    shares: Shares | None = None  # of groups in train, dev and test
    seed: int = 0  # of the split and of every random choice
    budget: Budget = field(default_factory=Budget)  # hard limits for everything together
    concurrency: int = 8  # cases in flight at once
    sink: Sink = lambda event: None  # receives the steps of the search for examples

    def __post_init__(self) -> None:
        """Refuse what would only come out in the middle."""
        if set(self.judge.answer.choices) != set(LABELS):
            raise UsageError(
                f"judge {self.judge.name} does not give CogniBench's labels",
                hint="use cognibench, or one of one's own with the same labels",
            )
        if self.samples < 2 or not self.thresholds:
            raise UsageError(
                f"{self.samples} samples and {len(self.thresholds)} thresholds make no table",
                hint="use --samples 5 --thresholds 2,3",
            )
        for threshold in self.thresholds:
            check_threshold(self.samples, threshold)
        for model in self.models:
            fit = resolve_sampling(model, Sampling(samples=self.samples))
            if fit.note:
                raise UsageError(f"model {model.name}: {fit.note}", hint="leave --temperature out")
        make(OPTIMIZER, self.options)
        check_leaks(self.split)

    @cached_property
    def split(self) -> Split:
        """Train, dev and the sealed test part."""
        return self.gold.split(self.seed, self.shares)

    @property
    def positive(self) -> frozenset[Label]:
        """The hallucinated labels."""
        return closed(self.judge.answer).positive

    @property
    def roles(self) -> tuple[str, ...]:
        """One ledger and one journal for each of the three prompts of each model, and one for the mining."""
        return tuple(f"{number}-{part}" for number in range(len(self.models)) for part in _PARTS)

    @cached_property
    def whole(self) -> Plan:
        """The test responses, each in one call."""
        return planned(self.judge, self.gold, self.split.test)

    @cached_property
    def alone(self) -> Plan:
        """The test sentences, each in a call of its own."""
        return one_by_one(self.judge, self.split.test)

    @property
    def rows(self) -> int:
        """The number of cases that are asked about on test, for a progress bar."""
        return len(self.models) * (2 * len(self.whole.cases) + len(self.alone.cases))

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same table when it is started again, as JSON values."""
        return {
            "table": "cognibench-5",
            "judge": f"{self.judge.name}:{self.judge.variant}",
            "strictness": self.judge.answer.strictness,
            "prompt": PromptState.of(self.judge.basic()).id,
            "gold": self.gold.sha256,
            "samples": self.samples,
            "options": {name: str(value) for name, value in self.options.items()},
            "shares": list(self.split.shares),
            "seed": self.seed,
            "models": [described(model) for model in self.models],
        }

    def forecast(self) -> Estimate:
        """Estimate calls, tokens and cost, from a search that finds no example to one that keeps all it may."""
        train, dev = self.split.train, self.split.dev
        search = make(OPTIMIZER, self.options)
        assert isinstance(search, Contrastive)
        sample = min(search.sample, len(train))
        mining = sample + len(dev), sample + len(dev) * (1 + search.most * search.draws)
        shown = min(len(train), 2 * search.pairs * search.most)
        draws, alone = (self.samples + 1) * len(self.whole.cases), self.samples * len(self.alone.cases)
        parts = []
        for place, model in enumerate(self.models):
            whole = self._asker(model, CallContext.fresh(), self.judge.basic(), self.samples)
            for role, cases, number, most in (
                ("mining", train, mining, shown),
                ("samples", self.whole.cases, (draws, draws), shown),
                ("sentences", self.alone.cases, (alone, alone), 0),
            ):
                name = f"{place}-{role}"
                parts.append(part_of(name, whole, [model], cases, number, examples=train, shown=most))
        sizes = f"{len(train)} train, {len(dev)} dev and {len(self.split.test)} test responses"
        many = f" x {len(self.models)} models" if len(self.models) > 1 else ""
        return Estimate(what=f"{sizes}{many}", parts=tuple(parts), budget=self.budget)

    def table(self, job: PaidJob, on_case: Callable[[], None] = lambda: None) -> Table:
        """Mine the examples, ask, and score all lines."""
        lines: list[Line] = []
        pairs: list[tuple[int, int]] = []
        notes: list[str] = []
        thresholds: dict[str, dict[int, Detection]] = {}
        tried: list[str] = []
        for number, model in enumerate(self.models):
            contexts = tuple(job.contexts[f"{number}-{part}"] for part in _PARTS)
            result = self._mined(model, contexts[0])
            notes.append(_examples(result, model.name))
            tried.append(
                prompt_of(self.judge, result.best.state, model, "chat", Sampling(samples=self.samples))
            )
            notes.append(
                f"{model.name}: - CFP is the basic prompt, {self.samples} draws, {majority(self.samples)} votes"
            )
            full, single, basic = self._asked(model, contexts, result.best.state, on_case)
            curve = {votes: self._scored(full, votes) for votes in range(1, self.samples + 1)}
            thresholds[self._named(f"{self.samples} samples, examples, whole responses", model)] = curve
            first = len(lines)
            lines += self._lines(model, contexts, full, single, basic)
            pairs += [(first, other) for other in range(first + 1, len(lines))]
        look = proof_of(self.split, tried, whole=True)
        look.done("table cognibench-5")
        return table_of(
            "cognibench-5",
            self.gold.name,
            self.judge.answer.strictness or "grounded",
            lines,
            self.positive,
            pairs=pairs,
            seed=self.seed,
            alpha=look.level,
            notes=[*notes, *([look.words] if look.words else [])],
            thresholds=thresholds,
        )

    def _mined(self, model: Model, context: CallContext) -> Result:
        """Return the prompt with contrastive examples: train teaches, dev chooses, test is not touched."""
        result = optimize(make(OPTIMIZER, self.options), self._job(model, context))
        if result.stop is not None:
            raise result.stop
        check_leaks(self.split, [result.best.state])
        return result

    def _job(self, model: Model, context: CallContext) -> Job:
        lm = connect(default_temperature(replace(model, temperature=None), 1), context, "judge")
        return Job(
            judge=self.judge,
            train=self.split.train,
            dev=self.split.dev,
            judge_lm=lm,
            proposer_lm=lm,
            context=context,
            seed=self.seed,
            concurrency=self.concurrency,
            sink=self.sink,
        )

    def _asked(
        self, model: Model, contexts: tuple[CallContext, ...], state: PromptState, on_case: Callable[[], None]
    ) -> tuple[Asked, Asked, Asked]:
        asker = partial(self._asker, model)
        shown = state.apply(self.judge.basic())
        return (
            ask(self.whole, asker(contexts[1], shown, self.samples), on_case),
            ask(self.whole, asker(contexts[2], shown, 1), on_case),
            ask(self.alone, asker(contexts[3], self.judge.basic(), self.samples), on_case),
        )

    def _asker(self, model: Model, context: CallContext, program: Any, samples: int) -> Asker:
        return Asker(
            judge=self.judge,
            program=program,
            lm=connect(
                default_temperature(model, self.samples), context
            ),  # one draw is made at the temperature of several
            sampling=Sampling(samples=samples),
            concurrency=self.concurrency,
        )

    def _lines(
        self, model: Model, contexts: tuple[CallContext, ...], full: Asked, single: Asked, basic: Asked
    ) -> list[Line]:
        half = majority(self.samples)
        found = [(f"Auto-labelling (threshold = {votes})", full, votes, 1) for votes in self.thresholds]
        found.append(("- Sampling (1 draw)", single, 1, 2))
        found.append(("- CFP (one sentence a call)", basic, half, 3))
        return [
            line_of(
                self._named(name, model),
                model.name,
                rows_at(asked, votes),
                self.split.test,
                self.positive,
                tiers=True,
                spend=contexts[context].ledger.spend(),
            )
            for name, asked, votes, context in found
        ]

    def _scored(self, asked: Asked, votes: int) -> Detection:
        rows = rows_at(asked, votes)
        return scored(rows, self.split.test, self.positive)

    def _named(self, name: str, model: Model) -> str:
        return f"{name} / {model.name}" if len(self.models) > 1 else name


def _examples(result: Result, model: str) -> str:
    count = len(result.best.demo_ids)
    if not count:
        return f"{model}: no contrastive example made dev better, so the full prompt shows none"
    return (
        f"{model}: the full prompt shows {count} labelled train responses as contrastive examples "
        f"({result.best.source})"
    )
