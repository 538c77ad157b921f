"""Everything that makes one compilation: its split, in view of earlier versions of the judge, and who is asked how."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from ..cases import text_hash
from ..engines.channel import CallContext
from ..engines.embedding import count_requests
from ..engines.meter import Budget, spare_in_turn, spare_requests
from ..engines.models import Model, connect
from ..errors import TooFewGroupsError, UsageError, plural
from ..evaluation.agreement import Ceiling
from ..evaluation.paired import fewest_groups
from ..evaluation.proof import level_of
from ..gold.goldset import Gold
from ..gold.leaks import check_leaks
from ..gold.raters import ceiling_of, rated_in_test
from ..gold.splits import Split, near_groups_words, shared_hint
from ..keeping.artifact_card import Artifact
from ..keeping.card_parts import describe_model
from ..keeping.loading import choose_verifier
from ..keeping.logs import Log
from ..optimizers.base import Job, MinimalOptimizer, Optimizer, Sink, StartingPrompt, fewest_requests
from ..optimizers.candidate import Setting
from ..optimizers.raced import ENOUGH
from ..optimizers.registry import (
    DEFAULT,
    code_hashes,
    is_named_or_of_dspy,
    list_nearest_row_optimizers,
    make,
)
from ..programs.asking import room_for
from ..programs.catalogue import file_of, is_built_in
from ..programs.deciding import check_sampling
from ..programs.definition import write_definition
from ..programs.judge import Judge
from ..programs.own_answer import OwnAnswer, own_answer_of, why_no_own_answer
from ..programs.plugins import executed_hashes, split_file_name
from ..programs.questions import Questions
from ..programs.settings import FOR_SEARCHES, AskSettings
from ..programs.state import PromptState
from .estimate import Ask, CostEstimate, Size, Span
from .measuring import mean_input_tokens, measure_question, requests_of_question
from .sealed_rows import ALPHA

CALLS = 4000
"""The most calls of a compilation whose budget leaves them open."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that makes one compilation."""

    # judge and proposer share one journal: they are told apart by purpose
    roles: ClassVar[tuple[str, ...]] = ("judge",)
    judge: Judge  # the judge
    gold: Gold  # its labelled cases
    holdout: Gold | None = None  # the sealed test, where it is no part of ``gold``
    beside: tuple[Log, ...] = ()  # logs of verdicts of other judges, scored on the sealed test too
    # a name that :func:`jurist.optimizers.registry.make` takes, or an optimizer itself
    optimizer: str | Optimizer | MinimalOptimizer = DEFAULT
    options: Mapping[str, Any] = field(default_factory=dict)  # the optimizer's settings
    model: Model = field(default_factory=Model)  # answers as the judge
    prompt_model: Model | None = None  # writes prompts; default: the judge's own model
    # how both prompts are asked; a threshold left open is fitted on train and dev
    settings: AskSettings = FOR_SEARCHES
    words: bool = True  # whether a regression on words may decide, alone or with the model's replies
    questions: bool = True  # whether answers to questions beside the judge's own may decide
    own_questions: Questions = ()  # these questions, if they are named
    own_answer: bool = True  # whether the model may answer the task itself before it judges
    task: tuple[str, ...] = ()  # the inputs that are the task, if they are named
    tokens_per_row: int | None = None  # the most that a row of the compiled judge may take, if it is named
    seed: int = 0  # of the split and of every random choice
    budget: Budget = field(default_factory=Budget)  # hard limits for the whole job, the proof included
    # of the cases in train, dev and test; default: the judge's own, else by how many there are
    shares: tuple[float, float, float] | None = None
    # the hash of a group's name -> its part in an earlier version; such groups stay there
    earlier: Mapping[str, str] = field(default_factory=dict)
    judge_ref: str = ""  # how the user named the judge
    start: Artifact | None = None  # the version from whose prompt the search begins

    def __post_init__(self) -> None:
        """Refuse samples that the judge cannot have, an embedder without rows, and a task that nobody answers."""
        check_sampling(self.judge, self.settings.sampling)
        if self.task:
            self._check_task()
        if self.own_questions:
            self._check_questions()
        embedder = self.settings.embedder
        if embedder and not self._embeds_rows():
            names = ", ".join(list_nearest_row_optimizers())
            hint = f"it goes with --model and --optimizer {names}, of a judge that labels"
            raise UsageError(f"--embedder {embedder} would embed nothing", hint=hint)

    def _check_task(self) -> None:
        """Refuse a task that the user names where the model cannot answer it first."""
        option = f"--own-answer {','.join(self.task)}"
        if not self.own_answer:
            raise UsageError(f"{option} goes against --no-own-answer", hint="leave out one of them")
        _ = own_answer_of(self.judge, self.task)
        if not self.model.writes_text:
            raise UsageError(
                f"{option}: {self.model.name} writes no text, and has no answer of its own",
                hint="name a --model that does",
            )
        if self.settings.sampling.is_panel:
            hint = "name one --model"
            raise UsageError(f"{option}: a panel has several models, and no answer of its own", hint=hint)
        if not self.configured_optimizer.tries_own_answer:
            hint = "leave out --optimizer, or --own-answer"
            raise UsageError(f"{option}: --optimizer {self.optimizer_name} does not try it", hint=hint)

    def _check_questions(self) -> None:
        """Refuse questions that the user names where nobody would ask or read them."""
        if self.model.offline:
            raise UsageError(
                "--questions: the offline engine reads no questions",
                hint="name another model with --model",
            )
        if not self.configured_optimizer.asks_questions:
            hint = "leave out --optimizer, or --questions"
            raise UsageError(f"--questions: --optimizer {self.optimizer_name} asks none", hint=hint)

    @cached_property
    def own_answer_request(self) -> OwnAnswer | None:
        """The request for the model's own answer to the task; ``None`` where it may not be asked for."""
        if not self.own_answer or self.settings.sampling.is_panel or not self.model.writes_text:
            return None
        if not self.configured_optimizer.tries_own_answer or why_no_own_answer(self.judge, self.task):
            return None
        return own_answer_of(self.judge, self.task)

    def _embeds_rows(self) -> bool:
        """Return whether prompts may show labelled rows that vectors find."""
        if self.model.offline or not self.judge.has_examples:
            return False
        return self.configured_optimizer.shows_nearest_rows

    def fingerprint(self) -> dict[str, object]:
        """Return the settings that identify this job when it is started again, as JSON values."""
        metric = "custom"
        if isinstance(self.judge.metric, str):
            metric = self.judge.metric
        verifier = None
        if self.frozen_model:
            verifier = describe_model(self.frozen_model)
        return {
            "judge": f"{self.judge.name}:{self.judge.variant}",
            "prompt": PromptState.of(self.judge.basic()).id,
            "metric": metric,
            "gold": self.gold.sha256,
            "optimizer": self.optimizer_name,
            "options": self.params,
            **code_hashes(self.optimizer),
            "model": describe_model(self.model),
            "prompt_model": describe_model(self.proposer),
            "seed": self.seed,
            "shares": list(self.split.shares),
            "test": self.split.test_hash,
            "samples": self.settings.sampling.samples,
            "threshold": self.settings.sampling.threshold,
            "adapter": self.settings.adapter_of(self.judge),
            "embedder": self.settings.embedder,
            "holdout": self.holdout and self.holdout.sha256,
            **self.judge.option_values,
            "most_groups": list(self.judge.most_groups or ()),
            "frozen": self.judge.frozen_hash,
            "verifier": verifier,
            **self._rare_settings(),
        }

    def _rare_settings(self) -> dict[str, object]:
        """Return the settings that few compilations have: without them the fingerprint is that of an earlier jurist."""
        settings: dict[str, object] = {}
        if self.settings.sampling.takes_mean:
            settings["combine"] = "mean"
        if self.judge.most_cases is not None:
            settings["most_cases"] = list(self.judge.most_cases)
        if self.judge.verifying_versions:
            settings["verifiers"] = self.judge.verifying_versions
        if not self.words:
            settings["words"] = False
        if not self.questions:
            settings["questions"] = False
        if self.own_questions:
            settings["own_questions"] = [question.to_json() for question in self.own_questions]
        if not self.own_answer:
            settings["own_answer"] = False
        if self.task:
            settings["task"] = list(self.task)
        if self.tokens_per_row is not None:
            settings["tokens_per_row"] = self.tokens_per_row
        if self.start is not None:
            settings["start"] = self.start.sha256
        if self.settings.sampling.weights is not None:
            settings["weights"] = dict(self.settings.sampling.weights)
        if self.gold.keeps_groups:
            settings["keep_groups"] = True
        return settings

    @cached_property
    def call_hash(self) -> str | None:
        """The hash of all that the call says, by which a call that is made again finds its finished version.

        ``None`` where a function or a class of the caller decides, which may have changed since.
        """
        judge: Mapping[str, object] | None = write_definition(self.judge)
        path, _ = file_of(self.judge_ref)
        if judge is None and path is not None:
            judge = executed_hashes(path)
        elif judge is None and is_built_in(self.judge_ref):
            judge = {"built_in": self.judge_ref}
        if not judge or not is_named_or_of_dspy(self.optimizer):
            return None
        content = {
            **self.fingerprint(),
            "definition": judge,
            "budget": vars(self.budget),
            "beside": [log.sha256 for log in self.beside],
            **self._ratings(),
        }
        return text_hash(json.dumps(content, sort_keys=True, default=str))

    def _ratings(self) -> dict[str, object]:
        """Return the rule and the labels of several raters, on which the scores of people rest; empty without any."""
        ratings: dict[str, object] = {}
        for name, gold in (("gold", self.gold), ("holdout", self.holdout)):
            if gold is not None and gold.ratings_sha256 is not None:
                ratings[name] = [gold.rule, gold.ratings_sha256]
        return {"ratings": ratings} if ratings else {}

    @property
    def optimizer_name(self) -> str:
        """The name of the optimizer."""
        if isinstance(self.optimizer, str) and split_file_name(self.optimizer)[0] is None:
            return self.optimizer
        return self.configured_optimizer.name

    @cached_property
    def configured_optimizer(self) -> Optimizer:
        """The optimizer with its settings."""
        return make(self.optimizer, self.options)

    @property
    def params(self) -> dict[str, str]:
        """The optimizer's settings, as far as they were given."""
        settings = self.options
        if not isinstance(self.optimizer, str):
            settings = self.configured_optimizer.settings()
        return {name: str(value) for name, value in settings.items()}

    @property
    def frozen_model(self) -> Model | None:
        """The model that answers the judge's frozen steps; ``None`` without any."""
        return choose_verifier(self.judge, self.model, self.settings.verifier)

    @cached_property
    def split(self) -> Split:
        """Train, dev and the sealed test; gold whose test stands elsewhere too is refused."""
        split = self.gold.split(self.seed, self.shares, earlier=self.earlier, holdout=self.holdout)
        check_leaks(split)
        return split

    @cached_property
    def people(self) -> Ceiling | None:
        """The scores of people on the rows of the proof; ``None`` unless several rated them."""
        test_ids = {case.id for case in self.split.test}
        gold = self.holdout or self.gold
        return ceiling_of(gold, only=rated_in_test(gold, test_ids))

    @property
    def starting_prompt(self) -> StartingPrompt | None:
        """The prompt from which the search begins; ``None`` for the basic one."""
        if self.start is None:
            return None
        card = self.start.about
        return StartingPrompt(
            state=self.start.state,
            source=self.start.ref,
            demo_ids=self.start.demonstrated_ids,
            form=card.setting.form or card.adapter,
        )

    @cached_property
    def requests_per_call(self) -> float:
        """The number of requests in a call of the basic prompt, on the mean of train and dev."""
        cases = self.split.train + self.split.dev
        return requests_of_question(self.judge, self.judge.basic(), [self.model], cases)

    @property
    def proof_calls(self) -> int:
        """The calls that are kept back for the proof: both programs on the sealed test."""
        calls = 2 * room_for(self.judge, len(self.split.test), self.settings.sampling.samples)
        calls = math.ceil(
            calls * requests_of_question(self.judge, self.judge.basic(), [self.model], self.split.test)
        )
        if self.own_answer_request is not None:
            calls += len(self.split.test)
        if self.settings.embedder:
            calls += count_requests(len(self.split.test) * self.judge.answer.presentations)
        return calls

    def spare_calls(self, answers: int) -> int:
        """Return the calls to allow beside so many answers for requests that fail; none where nothing is sent."""
        if self.model.offline:
            return 0
        return spare_requests(answers)

    @property
    def proposer(self) -> Model:
        """The model that writes prompts."""
        return self.prompt_model or self.model.each[0]

    @property
    def writes_instructions(self) -> bool:
        """Whether instructions are written for the judge's model: it reads them, and the proposer writes text."""
        return self.model.reads_instructions and not self.proposer.decides

    def job(self, context: CallContext, sink: Sink = lambda event: None) -> Job:
        """Return the job of an optimizer: its cases, and the askers of its candidates."""
        frozen_lm = None
        if self.frozen_model:
            frozen_lm = connect(self.frozen_model, context, "judge")
        return Job(
            judge=self.judge,
            settings=self.settings,
            seed=self.seed,
            words=self.words,
            questions=self.questions,
            own_questions=self.own_questions,
            own_answer=self.own_answer_request,
            train=self.split.train,
            dev=self.split.dev,
            judge_lm=connect(self.model, context, self.judge.role),
            frozen_lm=frozen_lm,
            proposer_lm=connect(self.proposer, context, "proposer"),
            context=context,
            tokens_per_row=self.tokens_per_row,
            reads_instructions=self.writes_instructions,
            decides=self.model.decides,
            finds_adapter=not (self.model.offline or self.model.decides),
            requests_per_call=self.requests_per_call,
            sink=sink,
        )


def check_showable(split: Split, gold: Gold, level: float, hint: str = "") -> None:
    """Refuse a sealed test with too few groups to show anything; the hint says how many rows would do."""
    test_groups = {case.group for case in split.test}
    all_groups = {case.group for case in split.train + split.dev + split.test}
    needed = fewest_groups(level)
    if len(test_groups) >= needed:
        return
    advice = f"label rows of {needed} groups or more in {split.holdout}"
    if not split.holdout:
        lacking = max(1, math.ceil(needed / split.shares[2]) - len(all_groups))
        advice = f"label rows of about {plural(lacking, 'more group')}"
        tenths = math.ceil(10 * needed / len(all_groups))  # of the groups, for a test with enough of them
        if 10 * split.shares[2] < tenths <= 7:
            side = (10 - tenths) * 5
            advice += f", or give the test more of them (--split {side}/{side}/{tenths}0)"
    hints = [advice, shared_hint(gold), "--anyway goes on"]
    level_words = f"the level {level:.3g}"
    first_level = level_of(ALPHA, 1)
    if level < first_level:
        level_words += f", to which earlier tests on these rows lowered it from {first_level:.3g}"
    problem = (
        f"the sealed test has {len(test_groups)} groups ({len(split.test)} cases), and nothing can be shown on fewer "
        f"than {needed} at {level_words}: nothing was asked and nothing was spent"
    )
    raise TooFewGroupsError(
        "; ".join(filter(None, [problem, near_groups_words(gold)])),
        hint=hint or "; ".join(filter(None, hints)),
    )


_SHORTER = 0.95
"""The share that the calls of a case of train and dev may be below those of a case on average."""


def foresee_compilation(plan: Plan) -> CostEstimate:
    """Return the estimate of a compilation: from the fewest calls of a search to all that the budget allows."""
    split = plan.split
    optimizer = plan.configured_optimizer
    job = _offline_job(plan)
    question = measure_question(job.asker(plan.judge.basic()), split.train + split.dev + split.test)
    proof_calls = plan.proof_calls
    search_calls = fewest_requests(optimizer, job)
    least_calls = search_calls
    # It may be done as soon as the basic prompt has made no error.
    least_cases = optimizer.least_cases(job)
    if least_cases >= ENOUGH:
        # Votes end when they are settled: by more than half of the samples at the earliest; means and panels take all.
        sampling = plan.settings.sampling
        settled_samples = sampling.samples // 2 + 1
        if sampling.takes_mean or sampling.is_panel:
            settled_samples = sampling.samples
        least_answers = _SHORTER * least_cases * (settled_samples * question.calls)
        least_calls = min(least_calls, round(least_answers * plan.requests_per_call))
    most_calls: float = search_calls
    if optimizer.searches:
        most_calls = math.inf
        if plan.budget.calls is not None:
            most_calls = plan.budget.calls
        most_of_search = optimizer.most_calls(job)
        if most_of_search is not None:
            most_calls = min(most_calls, math.ceil(most_of_search * plan.requests_per_call))
        most_calls = max(least_calls, most_calls)
    models = [plan.model]
    if plan.frozen_model is not None:
        models.append(plan.frozen_model)
    models.append(plan.proposer)
    common: dict[str, Any] = {
        "models": tuple(dict.fromkeys(models)),
        "size": question,
        "longest": _measure_longest(plan, job, question),
    }
    asks = (
        Ask(
            role="optimizing",
            calls=Span(least_calls, most_calls),
            who="to optimize",
            expected=_expected_calls(plan, job),
            **common,
        ),
        # Nothing is asked where the search finds nothing better than the basic prompt.
        Ask(role="proving", calls=Span(0, proof_calls), who="for the proof", **common),
    )
    spare = 0
    if not plan.model.offline:
        spare = spare_in_turn(search_calls, proof_calls)
    return CostEstimate(
        what=f"{len(split.train)} train, {len(split.dev)} dev and {len(split.test)} test cases",
        asks=asks,
        budget=plan.budget,
        needed=search_calls + proof_calls + spare,
        spare=spare,
    )


def _expected_calls(plan: Plan, job: Job) -> float | None:
    """Return the calls that the search is expected to take, within the limit; ``None`` where nothing is known."""
    expected = plan.configured_optimizer.expected_calls(job)
    if expected is not None:
        expected = math.ceil(expected * plan.requests_per_call)
    if expected is None or plan.budget.calls is None:
        return expected
    return max(0, min(expected, plan.budget.calls - plan.proof_calls))


def _offline_job(plan: Plan) -> Job:
    """Return the job of an optimizer, with the offline engine in place of the models."""
    context = CallContext.fresh()
    offline = Model(temperature=0.0)
    return Job(
        judge=plan.judge,
        settings=plan.settings,
        seed=plan.seed,
        train=plan.split.train,
        dev=plan.split.dev,
        judge_lm=connect(offline, context, "judge"),
        proposer_lm=connect(offline, context, "proposer"),
        context=context,
        questions=plan.questions,
        own_questions=plan.own_questions,
        own_answer=plan.own_answer_request,
        tokens_per_row=plan.tokens_per_row,
        reads_instructions=plan.writes_instructions,
        decides=plan.model.decides,
        requests_per_call=plan.requests_per_call,
    )


def _measure_longest(plan: Plan, job: Job, basic: Size) -> Size:
    """Return the size of a question with the longest prompt that the search may make of the basic one."""
    split = plan.split
    optimizer = plan.configured_optimizer
    longest = basic
    for adapter in optimizer.other_adapters(job):
        asker = job.asker(plan.judge.basic(), Setting(form=adapter))
        size = measure_question(asker, split.train + split.dev + split.test)
        if size.input > longest.input:
            longest = size
    demonstrations = min(optimizer.most_demonstrations, len(split.train))
    demonstration_tokens = mean_input_tokens(split.train) + longest.output
    return longest._replace(input=longest.input + demonstrations * demonstration_tokens)
