"""``jurist compile``."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from ..arguments.compile import CompileOptions
from ..engines.detectors import named
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError, choices, plural
from ..evaluation.comparisons import choosable
from ..gold.raters import strata
from ..jobs.compiling import Compiled, compile_judge
from ..jobs.foresee import foresee_compilation
from ..jobs.given import holdout_of
from ..jobs.plan import Plan, earlier_parts
from ..keeping.naming import locate
from ..keeping.resolving import default_temperature, resolve_sampling
from ..optimizers.registry import DEFAULT
from ..programs.judge import Judge
from ..programs.strictness import with_strictness
from ..report.differing import Succession, against_before
from ..report.scores import OFFLINE, spend_line
from .approving import agree
from .common import (
    gold_of,
    human,
    model_of,
    sampling_of,
    settings_of,
    shares_of,
    store_of,
    verified,
    verifier_model,
)
from .haluagent import compiled_parts
from .printing import Part, Result, remark
from .proof import changed_line, kept_line, next_line, proof_parts
from .strata import People
from .watching import Watch

_DEFAULT_CALLS = 4000


def run(options: CompileOptions) -> Result:
    """Compile; return the proof and the artifact's path."""
    store = store_of(options)
    _check_reference(options.judge)
    judge, reference = locate(options.judge, store, source=True)
    if options.metric:
        judge = _with_metric(judge, options.metric)
    if options.strictness:
        judge = with_strictness(judge, options.strictness)
    judge = verified(judge, options, options.model, store)
    plan = _plan(options, judge, reference)
    remark(
        f"{judge.name} on {plan.gold.name}: {plural(len(plan.gold.cases), 'case')}, optimizer {plan.optimizer}"
    )
    seen = foresee_compilation(plan)
    with ExitStack() as shown:
        watch = Watch(human(), f"{judge.name} on {plan.gold.name}, {plan.optimizer}")

        def opened(paid: Mapping[str, int]) -> None:
            if seen.payable:  # else nothing will be sent: the compilation says what the budget lacks
                agree(seen, paid, yes=options.yes, bounded=options.calls is not None)
            shown.enter_context(watch)

        compiled = compile_judge(
            plan,
            store=store,
            resume=options.resume,
            fresh=options.fresh,
            force=options.force,
            anyway=options.anyway,
            sink=watch.event,
            on_open=opened,
        )
    raters = _people(plan)
    succession = against_before(compiled.artifact, plan.judge, store)
    about = {"artifact": str(compiled.artifact.path), "latest": compiled.latest}
    written, told = compiled_parts(compiled, plan.split.dev, store) if judge.role == "generator" else ([], {})
    return Result(
        data={**about, **compiled.artifact.card, **raters.to_json(), **told, "forecast": seen.to_json()}
        | ({"against_before": succession.to_json()} if succession else {}),
        body=[*written, *_body(compiled, plan, raters, succession)],
    )


def _check_reference(reference: str) -> None:
    """Refuse what names something else than a judge whose prompt can be compiled."""
    if named(reference):
        raise UsageError(
            f"{reference} is a detector as it is: it has no prompt that could be compiled",
            hint="compile a judge, and compare it with the detector by jurist compare",
        )
    name, mark, _ = reference.partition("@") if "/" not in reference else (reference, "", "")
    name, basic = name.removesuffix(":basic"), reference.endswith(":basic")
    if mark or basic:
        raise UsageError(
            f"{reference} is one version of a judge; compiling always starts from the basic prompt",
            hint=f"name the judge alone: jurist compile {name}",
        )


def _proposer(options: CompileOptions, samples: int) -> Model | None:
    """Return who writes prompts; ``None`` for the judge's model. It shares what names an endpoint of its provider."""
    if options.prompt_model is None:
        if options.prompt_api_base or options.prompt_key_env:
            raise UsageError(
                "--prompt-api-base and --prompt-api-key-env go with --prompt-model",
                hint="name the model that writes prompts",
            )
        return None
    near = options.prompt_model.partition("/")[0] == options.model.partition("/")[0]
    elsewhere = options.prompt_api_base is not None or not near
    endpoint = replace(
        options,
        api_base=options.prompt_api_base if elsewhere else options.api_base,
        key_env=options.prompt_key_env or (None if elsewhere else options.key_env),
    )
    return default_temperature(model_of(endpoint, options.prompt_model, options.seed), samples)


def _plan(options: CompileOptions, judge: Judge, reference: str) -> Plan:
    asked = model_of(options, options.model, options.seed)
    fit = resolve_sampling(asked, sampling_of(options), judge.temperature)
    sampling, model = fit.sampling, fit.model
    if fit.note:
        remark(fit.note)
    named = options.gold or judge.bundled
    if not named:
        raise UsageError(f"no gold is bundled for {judge.name}", hint="name labelled rows with --gold")
    gold = gold_of(named, judge, options)
    shares = shares_of(options.split)
    return Plan(
        judge=judge,
        gold=gold,
        holdout=None if options.holdout is None else holdout_of(options.holdout, gold),
        earlier=earlier_parts(
            store_of(options), judge, options.seed, shares, holdout=options.holdout is not None
        ),
        optimizer=options.optimizer or DEFAULT,
        options=settings_of(options.settings),
        model=model,
        prompt_model=_proposer(options, sampling.samples),
        verifier=verifier_model(options, options.timeout, options.seed),
        budget=Budget.of(options, calls=_DEFAULT_CALLS if options.calls is None else options.calls),
        seed=options.seed,
        shares=shares,
        sampling=sampling,
        adapter=options.adapter,
        concurrency=options.concurrency,
        judge_ref=reference,
    )


def _with_metric(judge: Judge, metric: str) -> Judge:
    fitting = choosable(judge.comparison)
    if metric not in fitting:
        raise UsageError(f"no metric of {judge.name} is called {metric!r}", hint=choices(metric, fitting))
    return judge.with_metric(metric)


def _people(plan: Plan) -> People:
    """Return how far people agree on the rows of the proof, to stand beside its scores."""
    test, gold = {case.id for case in plan.split.test}, plan.holdout or plan.gold
    return People(strata=strata(gold, only=test), ceiling=plan.people)


def _body(compiled: Compiled, plan: Plan, raters: People, succession: Succession | None) -> list[Part]:
    card, result = compiled.artifact.card, compiled.result
    ended = "" if result.ending == "finished" else f"; ended early: {result.reason}"
    return [
        *proof_parts(card, compiled.proof.decision, *raters.lines()),
        *([succession.words] if succession else []),
        *(
            [f"warning: {succession.warning}"]
            if succession and succession.warning and compiled.latest
            else []
        ),
        *compiled.artifact.about.cheaper_words,
        changed_line(result.board.basic.state, compiled.artifact),
        f"{spend_line(card['spend'])}; {plural(len(result.board.candidates), 'candidate')}{ended}",
        kept_line(compiled.artifact, latest=compiled.latest),
        next_line(compiled.artifact),
        *([OFFLINE] if plan.model.offline else []),
    ]
