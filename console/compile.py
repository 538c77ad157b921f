"""``jurist compile``, ``artifacts remember`` and ``prove``: what makes a version, and what shows that it is better."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from ..arguments.artifacts import RememberOptions
from ..arguments.compile import CompileOptions, ProveOptions
from ..engines.meter import Budget
from ..engines.models import OFFLINE as OFFLINE_MODEL
from ..engines.models import Model
from ..errors import UsageError, choices, plural
from ..evaluation.scale import choosable
from ..evaluation.votes import Sampling
from ..gold.goldset import Gold
from ..gold.sheets import write_sheet
from ..jobs.compiling import Compiled, compile
from ..jobs.conclusion import Concluded
from ..jobs.derived_versions import remember
from ..jobs.label_plan import LabelPlan, decide_by_labels
from ..jobs.plan import Plan, foresee_compilation
from ..jobs.surface import GoldLike
from ..jobs.unlabelled import Unlabelled, load_both, open_plan
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card_parts import AgainstCard, ModelCard, SpendCard
from ..keeping.loaders import load_judge
from ..keeping.paying import Start
from ..keeping.records import LabelProofRecord
from ..optimizers.base import Sink
from ..optimizers.registry import DEFAULT
from ..programs.judge import Judge
from ..report.differing import change_words
from ..report.scores import (
    OFFLINE,
    ceiling_card,
    ceiling_line,
    counts_line,
    criteria_table,
    disagreement_words,
    reference_tables,
    scores_table,
    spend_line,
)
from ..report.verdict import (
    VerdictCard,
    criteria_words,
    engine_words,
    labels_can_show,
    proof_table,
    tone_of,
)
from .bars import SearchBar
from .inputs import gold_of, settings_of, shares_of, store_of, store_option, verifier_model
from .printing import Part, Result, remark
from .terminal import Terminal


def run(options: CompileOptions) -> Result:
    """Compile; return the proof and the artifact's path."""
    terminal = _Compiling(options)
    other: dict[str, Any] = {
        "options": settings_of(options.settings),
        "model": Model.of(options, name=options.model),
        "prompt_model": _proposer(options),
        "verifier": verifier_model(options, options.timeout, options.seed),
        "budget": Budget.of(options),
        "sampling": Sampling.of(options),
        "shares": shares_of(options.split),
        "surface": terminal,
    }
    # whatever else it takes is an option of the same name
    alike = {name for name in signature(compile).parameters if hasattr(options, name)} - other.keys()
    compiled = compile(**{name: getattr(options, name) for name in alike}, **other)
    plan = terminal.plan
    about = {"artifact": str(compiled.artifact.path), "latest": compiled.latest}
    forecast = {"forecast": terminal.forecast}
    return Result(
        data={**about, **compiled.artifact.card, **forecast}
        | {"ceiling": plan.people and ceiling_card(plan.people)},
        body=_body(options, compiled, plan),
    )


class _Compiling(Terminal):
    """The terminal of a compilation: the estimate, the question, and then a table of what is tried."""

    plan: Plan

    def __init__(self, options: CompileOptions) -> None:
        super().__init__(options)
        self._compiling = options

    def judge(self, judge: str | Judge) -> tuple[Judge, str]:
        """Return the judge that is named, with the metric and the options that are asked for."""
        options = self._compiling
        alone = options.judge.removesuffix(":basic")
        alone = alone if "/" in alone else alone.partition("@")[0]
        if alone != options.judge:
            raise UsageError(
                f"{options.judge} is one version of a judge; compiling always starts from the basic prompt",
                hint=f"name the judge alone: jurist compile {alone}",
            )
        basic, reference = super().judge(judge)
        if options.metric:
            fitting = choosable(basic.comparison)
            if options.metric not in fitting:
                raise UsageError(
                    f"no metric of {basic.name} is called {options.metric!r}",
                    hint=choices(options.metric, fitting),
                )
            basic = basic.with_metric(options.metric)
        return basic.with_options(options.judge_options), reference

    def gold(self, gold: GoldLike, judge: Judge) -> Gold:
        """Return the gold that is named, else the judge's bundled set."""
        if not (gold or judge.bundled):
            raise UsageError(f"no gold is bundled for {judge.name}", hint="name labelled rows with --gold")
        return super().gold(gold or judge.bundled, judge)

    @contextmanager
    def compiling(self, plan: Plan, sink: Sink | None) -> Iterator[tuple[Sink, Start]]:
        """Ask a person where much will be spent, and show the search from then on."""
        name, gold = plan.judge.name, plan.gold
        remark(f"{name} on {gold.name}: {plural(len(gold.cases), 'case')}, optimizer {plan.optimizer}")
        self.plan, estimate = plan, foresee_compilation(plan)
        with SearchBar() as bar:

            def opened(paid: Mapping[str, int]) -> None:
                limit = plan.budget.calls
                # Below that nothing will be sent: the compilation says what the budget lacks.
                if limit is None or limit >= estimate.needed - estimate.spare:
                    self.agreed(estimate, paid)
                bar.begin(f"{name} on {gold.name}, {plan.optimizer}", None)

            yield bar.event, replace(self.start, on_open=opened)


def _proposer(options: CompileOptions) -> Model | None:
    """Return who writes prompts; ``None`` for the judge's model. It shares what names an endpoint of its provider."""
    if options.prompt_model is None:
        if options.prompt_api_base or options.prompt_key_env:
            hint = "name the model that writes prompts"
            raise UsageError("--prompt-api-base and --prompt-api-key-env go with --prompt-model", hint=hint)
        if options.prompt_max_tokens is None:
            return None
        return Model.of(replace(options, max_tokens=options.prompt_max_tokens), name=options.model)
    near = options.prompt_model.partition("/")[0] == options.model.partition("/")[0]
    elsewhere = options.prompt_api_base is not None or not near
    endpoint = replace(
        options,
        api_base=options.prompt_api_base if elsewhere else options.api_base,
        key_env=options.prompt_key_env or (None if elsewhere else options.key_env),
        max_tokens=options.prompt_max_tokens or options.max_tokens,
        headers=() if elsewhere else options.headers,
    )
    if options.prompt_model != options.model:  # what is of the model itself holds for no other
        endpoint = replace(endpoint, body=(), reasoning_effort=None, price_cached=None)
        endpoint = replace(endpoint, price_in=options.prompt_price_in, price_out=options.prompt_price_out)
    return Model.of(endpoint, name=options.prompt_model)


def _body(options: CompileOptions, compiled: Compiled, plan: Plan) -> list[Part]:
    artifact, result = compiled.artifact, compiled.result
    sampling = artifact.about.thresholds.sampling
    cut = f"; {sampling.rule}" if sampling.by_probability else ""
    changed = [
        f"prompt: {change_words(result.board.basic.state, artifact.state, artifact.about.forms)}{cut}",
        f"{spend_line(artifact.about.spend or SpendCard())}; {plural(len(result.board.candidates), 'candidate')}",
    ]
    # by kind of proposal; beside each kind stands how many came in a row, which is not added again
    unread = sum(
        number for kind, number in result.board.context.unread.items() if not kind.endswith(" in a row")
    )
    same = compiled.proof is None
    fewer = ""
    if not same and labels_can_show(artifact.about.decision):
        fewer = (
            f"or: jurist prove {artifact.ref} --rows new.jsonl{store_option(options)} (labels where the two prompts "
            "differ, on rows that nobody labelled, show a gain with a fraction of the labels of a test)"
        )
    report = f"jurist report {artifact.ref} -o report.html{store_option(options)}"
    parts = _proof_parts(
        compiled,
        options.whole,
        *changed,
        "" if result.ending == "finished" else f"warning: the search ended early: {result.reason}",
        f"warning: {plural(unread, 'proposal')} could not be read; use --prompt-model, a larger one"
        if unread
        else "",
        _kept_line(artifact, latest=compiled.latest, same=same),
        f"next: {report} (every score, every changed word, every case)",
        fewer,
        _beyond(plan),
        OFFLINE if plan.model.offline else "",
    )
    return [*([line] if options.whole and (line := ceiling_line(plan.people)) else []), *parts]


def _beyond(plan: Plan) -> str:
    """Return the calls of the default search, after an optimizer that searches nothing."""
    if plan.configured_optimizer.searches:
        return ""
    race = foresee_compilation(replace(plan, optimizer=DEFAULT, options={}))
    same = f"the same without --optimizer {plan.optimizer_name}"
    return f"or: {same}: a search, {race.calls.words()} calls with its proof"


def remember_rows(options: RememberOptions) -> Result:
    """Give a version more rows to remember, and print the proof and the artifact's path."""
    made, rows, apart = remember(
        options.artifact,
        options.labels,
        Terminal(options),
        gold=options.gold,
        answering=lambda known: known.model(options.api_base, options.timeout),
        budget=Budget.of(options),
        concurrency=options.concurrency,
        force=options.force,
        margin=options.margin,
    )
    words = f"{plural(rows, 'row')} of {options.labels} remembered"
    words += f"; {apart} left out, which are in the sealed test or near it" if apart else ""
    card = made.artifact.about
    about = {
        "artifact": str(made.artifact.path),
        "latest": made.latest,
        "remembered": rows,
        "left_out": apart,
    }
    against = card.against
    parts = _proof_parts(
        made,
        options.whole,
        against.words if against else "",
        _margin_line(against) if against else "",
        spend_line(card.spend or SpendCard()),
        _kept_line(made.artifact, latest=made.latest),
    )
    return Result(data={**about, **made.artifact.card}, body=[words, *parts])


def _margin_line(against: AgainstCard) -> str:
    """Return whether a version is worse than the one before by no more than the margin; empty where none was set."""
    found = against.not_worse
    if found is None:
        return ""
    return f"not worse than {against.second} by more than {found.margin:g}: {found.outcome} ({found.words})"


def _proof_parts(made: Concluded, whole: bool, *then: str) -> list[Part]:
    """Return the verdict card that ends in ``then``, below the ``whole`` evidence where it is asked for."""
    if made.proof is None:
        return [
            VerdictCard(tone="open", decision=f"decision: {made.words}", parts=[*_more_gain(made), *then])
        ]
    card, decision = made.artifact.about, made.proof.decision
    metric, cases = decision.metric, decision.counts.cases.labelled
    above: list[Part] = []
    if whole:
        above += [scores_table(f"sealed test, {cases} cases", card.proven_scores, metric)]
        above += reference_tables(card.references, metric, " on the same cases")
        above += [f"decision: {decision.words}", card.price_words]
    answered = []
    for name, counts in card.counts.items():
        if counts.units.answered < counts.units.total:
            answered.append(counts_line(name, counts))
    contradictions = ""
    if any(card.inconsistent.values()):
        both = ", ".join(f"{name} {count}" for name, count in card.inconsistent.items())
        contradictions = f"answers that contradicted themselves: {both}"
    warnings = (*decision.warnings, *card.warnings)
    tokens = card.tokens_words
    verdict = VerdictCard(
        tone=tone_of(decision.verdict),
        decision=f"decision: {'; '.join(decision.sentences[:2])} ({engine_words(made.artifact.model)})",
        parts=[
            proof_table(card, metric),
            *criteria_table(card.decision),
            criteria_words(card.decision),
            f"tokens a row: {tokens}" if tokens else "",
            decision.constant.words if decision.constant else "",
            f"on the sealed test: {decision.sentences[-1]}",
            *answered,
            contradictions,
            *(f"warning: {warning}" for warning in warnings),
            *then,
        ],
    )
    return [*above, verdict]


def _more_gain(made: Concluded) -> Iterator[str]:
    """Yield what may find more than the basic prompt."""
    judge = made.artifact.about.reference
    yield (
        "the sealed test stays closed: the next compilation is tested on it as if this one had not been. More labelled "
        "rows, more calls (--max-calls), another --optimizer, or a larger --model or --prompt-model may find more"
    )
    yield f"to see what the basic prompt gets wrong: jurist evaluate {judge}:basic --gold F --verbose"


def _kept_line(artifact: Artifact, *, latest: bool, same: bool = False) -> str:
    """Return where an artifact is, and whether its judge's name now means it; ``same`` as basic is no gain to force."""
    kept = f"saved as {artifact.ref}, not promoted{'' if same else ': use --force to promote'}"
    return f"artifact: {artifact.path} ({'latest' if latest else kept})"


def prove(options: ProveOptions) -> Result:
    """Ask both about rows, say or do what is next, and decide when all labels are in."""
    store = store_of(options)
    artifact = store.load(options.artifact)
    artifact.check_single()
    judge, ref = load_judge(artifact.ref, store=store).judge, artifact.ref
    plan = open_plan(
        artifact, Terminal(options), None if options.rows is None else _unlabelled(options, store, artifact)
    )
    if plan.decision is not None:
        fresh = f"jurist prove {ref} --rows F --fresh{store_option(options)}"
        again = f"{fresh} draws another plan, which counts as one more"
        if options.answers or options.sheet:
            raise UsageError(f"the plan of {ref} is decided", hint=f"this was decided before: {again}")
        return _proved(plan, f"this was decided before: {again}", store_option(options))
    if options.answers is not None:
        returned = Gold.load(options.answers, judge, labelled=False)
        plan, latest, words = decide_by_labels(store, artifact, plan, judge, returned)
        return _proved(plan, words, store_option(options), latest=latest)
    if options.sheet is not None:
        path, gold = Path(options.sheet), plan.gold(judge)
        write_sheet(plan.lines(gold), gold, path, rater=options.rater)
        return Result(
            data={**plan.to_json(), "sheet": str(path)},
            body=[f"{len(plan.units)} units written to {path}"],
            notes=[
                f"when it is filled in: jurist prove {plan.version} --answers {path}{store_option(options)}"
            ],
        )
    then = (
        f"to label them: jurist prove {ref} --sheet labels.csv{store_option(options)}, and --answers labels.csv when "
        "it is filled in"
    )
    return Result(
        data=plan.to_json(), body=[*plan.words, OFFLINE if plan.model == OFFLINE_MODEL else ""], notes=[then]
    )


def _unlabelled(options: ProveOptions, store: Store, artifact: Artifact) -> Unlabelled:
    """Return both prompts, and the rows that they are asked about."""

    def answering(known: ModelCard) -> Model:
        if options.model is not None:
            return Model.of(options, name=options.model)
        # what no option says stays as it was in the proof
        proven = vars(known.model())
        names = [name for name in vars(known) if getattr(options, name, None) in (None, ())]
        kept = {name: proven[name] for name in names}
        return Model.of(options, **{**kept, "seed": known.seed or 0})

    verifier = verifier_model(options, options.timeout, options.seed)
    contenders = load_both(
        artifact, store, answering=answering, verifier=verifier, concurrency=options.concurrency
    )
    return Unlabelled(
        contenders=contenders,
        gold=gold_of(str(options.rows), contenders[1].judge, options, labelled=False),
        budget=Budget.of(options),
        labels=options.number,
        seed=options.seed,
    )


def _proved(plan: LabelPlan, note: str, store: str, **more: Any) -> Result:
    decision = LabelProofRecord.model_validate(plan.decision)
    first, *others = disagreement_words(decision)
    then = f"next: jurist artifacts show {plan.version}{store}"
    card = VerdictCard(
        tone=tone_of(decision.verdict),
        decision=first,
        parts=[*others, then, OFFLINE if plan.model == OFFLINE_MODEL else ""],
    )
    return Result(data={**plan.to_json(), **more}, body=[card], notes=[note])
