"""``jurist compile``, ``artifacts remember`` and ``prove``: what makes a version, and what shows that it is better."""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..arguments.artifacts import RememberOptions
from ..arguments.compile import CompileOptions, MoveOptions, ProveOptions
from ..arguments.groups import StoreOptions
from ..arguments.scoring import EvaluateOptions
from ..engines.meter import Budget
from ..engines.models import OFFLINE, OWN, Model
from ..errors import UsageError, plural, suggest_name
from ..evaluation.proof import Decision
from ..evaluation.votes import Sampling
from ..gold.files import read_utf8
from ..gold.goldset import Gold
from ..gold.sheets import write_sheet
from ..jobs.compiling import Compiled, compile
from ..jobs.conclusion import Concluded
from ..jobs.derived_versions import remember
from ..jobs.label_plan import LabelPlan, decide_by_labels, finish_decision
from ..jobs.moving import Moved, move
from ..jobs.plan import Plan, foresee_compilation
from ..jobs.surface import GoldLike
from ..jobs.unlabelled import LABELS, Unlabelled, load_both, load_rival, margin_of, open_plan
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import Card
from ..keeping.card_parts import NOTHING_BETTER, AgainstCard
from ..keeping.loaders import load_judge
from ..keeping.paying import PaidAnswers, Start
from ..keeping.records import LabelProofRecord
from ..keeping.spend_card import SpendCard
from ..optimizers.base import Sink
from ..optimizers.registry import DEFAULT
from ..programs.haluagent.writing import with_document_questions
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..report.differing import change_words
from ..report.document import Tone
from ..report.listing import decision_words
from ..report.next_step import NextStep, choose_next_step, outcome_of
from ..report.scores import (
    OFFLINE_LINE,
    ceiling_card,
    ceiling_line,
    counts_line,
    criteria_table,
    disagreement_words,
    reference_tables,
    scores_table,
    spend_line,
)
from ..report.table import Table
from ..report.verdict import (
    VerdictCard,
    criteria_words,
    engine_words,
    panel_words,
    proof_table,
    tone_of,
)
from .bars import SearchBar
from .inputs import (
    OF_CARD,
    answering_model,
    model_of_card,
    options_again,
    own_model,
    settings_of,
    store_option,
    verifier_model,
)
from .printing import Part, Result, print_notes
from .rows import gold_of, shares_of, store_of
from .terminal import Terminal

_MORE_GAIN = (
    "the sealed test stays closed: the next compilation is tested on it as if this one had not been. More labelled "
    "rows, more calls (--max-calls), another --optimizer, or a larger --model or --prompt-model may find more"
)
"""What may find more than the basic prompt."""
_OPTIONS_OF_SAME_NAME = (
    "judge",
    "gold",
    "holdout",
    "beside",
    "optimizer",
    "verifiers",
    "adapter",
    "embedder",
    "concurrency",
    "tokens_per_row",
    "seed",
    "start",
    "force",
    "anyway",
)
"""The options that :func:`jurist.compile` takes as they are; the terminal has the store, the columns and raters."""


def compile_command(options: CompileOptions) -> Result:
    """Compile; return the proof and the artifact's path."""
    terminal = _Compiling(options)
    arguments: dict[str, Any] = {name: getattr(options, name) for name in _OPTIONS_OF_SAME_NAME}
    arguments |= {
        "options": settings_of(options.settings),
        "model": answering_model(options),
        "prompt_model": _proposer(options),
        "verifier": verifier_model(options, options.timeout, options.seed),
        "budget": Budget.of(options),
        "sampling": _sampling_of(options),
        "shares": shares_of(options.split),
        "words": not options.no_words,
        "questions": _questions_option(options),
        "own_answer": _own_answer_option(options),
        "surface": terminal,
    }
    compiled = compile(**arguments)
    plan = terminal.plan
    data = compiled.to_json()
    data["forecast"] = terminal.forecast
    data["ceiling"] = plan.people and ceiling_card(plan.people)
    return Result(data=data, body=_compilation_parts(options, compiled, plan))


def _own_answer_option(options: CompileOptions) -> bool | list[str]:
    """Return whether the model may answer first, or the inputs that the options name as the task."""
    if options.own_answer is None:
        return not options.no_own_answer
    if options.no_own_answer:
        raise UsageError("--own-answer goes against --no-own-answer", hint="leave out one of them")
    names = [name.strip() for name in options.own_answer.split(",")]
    if not all(names):
        raise UsageError(
            f"--own-answer {options.own_answer!r} names no inputs", hint="name them as question,context"
        )
    return names


def _questions_option(options: CompileOptions) -> bool | list[str]:
    """Return whether questions may be asked beside the judge's own, or the lines of the file that has them."""
    if options.questions is None:
        return not options.no_questions
    if options.no_questions:
        raise UsageError("--questions goes against --no-questions", hint="leave out one of them")
    return read_utf8(Path(options.questions), options.questions).splitlines()


def _sampling_of(options: CompileOptions) -> Sampling:
    """Return the sampling of the options: of a panel one draw of each of its models."""
    if not options.panel:
        return Sampling.of(options)
    if options.samples not in (None, 1):
        hint = "leave out --samples"
        raise UsageError("each model of a panel draws once for a row", hint=hint)
    return Sampling.of(options, samples=len(options.panel), is_panel=True)


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
        if "/" not in alone:
            alone = alone.partition("@")[0]
        if alone != options.judge:
            raise UsageError(
                f"{options.judge} is one version of a judge; compiling always starts from the basic prompt",
                hint=f"name the judge alone: jurist compile {alone}",
            )
        basic, reference = super().judge(judge)
        if options.metric:
            fitting = basic.comparison.choosable
            if options.metric not in fitting:
                raise UsageError(
                    f"no metric of {basic.name} is called {options.metric!r}",
                    hint=suggest_name(options.metric, fitting),
                )
            basic = basic.with_metric(options.metric)
        basic = with_document_questions(
            basic,
            per_document=options.per_document,
            types=options.types,
            characters=options.characters,
        )
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
        begun = f"{name} on {gold.name}: {plural(len(gold.cases), 'case')}, optimizer {plan.optimizer}"
        if plan.start and not (self._compiling.model or self._compiling.panel):
            begun += f", model {plan.model.name} as {plan.start.ref}"
        print_notes(begun)
        self.plan = plan
        estimate = foresee_compilation(plan)
        with SearchBar() as bar:

            def opened(paid: PaidAnswers) -> None:
                limit = plan.budget.calls
                # Below that nothing will be sent: the compilation says what the budget lacks.
                if limit is None or limit >= estimate.needed - estimate.spare:
                    self.agreed(estimate, paid)
                calls = estimate.calls.high
                bar.begin_search("optimizing", None if calls == math.inf else round(calls))

            yield bar.event, replace(self.start, on_open=opened)


def _proposer(options: CompileOptions) -> Model | None:
    """Return who writes prompts; ``None`` for the judge's model. It shares what names an endpoint of its provider."""
    if options.prompt_model is None:
        if options.prompt_api_base or options.prompt_key_env:
            hint = "name the model that writes prompts"
            raise UsageError("--prompt-api-base and --prompt-api-key-env go with --prompt-model", hint=hint)
        if options.prompt_max_tokens is None:
            return None
        writer = min(options.panel, default=options.model or OWN)
        return Model.of(replace(options, max_tokens=options.prompt_max_tokens), name=writer)
    provider = (options.model or OFFLINE).partition("/")[0]
    is_same_provider = options.prompt_model.partition("/")[0] == provider
    endpoint = replace(options, max_tokens=options.prompt_max_tokens or options.max_tokens)
    if options.prompt_api_base is not None or not is_same_provider:
        endpoint = replace(endpoint, api_base=options.prompt_api_base, key_env=None, headers=())
    if options.prompt_key_env:
        endpoint = replace(endpoint, key_env=options.prompt_key_env)
    if options.prompt_model != options.model:  # what is of the model itself holds for no other
        endpoint = replace(endpoint, body=(), reasoning_effort=None, price_cached=None)
        endpoint = replace(endpoint, price_in=options.prompt_price_in, price_out=options.prompt_price_out)
    return Model.of(endpoint, name=options.prompt_model)


def _compilation_parts(options: CompileOptions, compiled: Compiled, plan: Plan) -> list[Part]:
    """Return the parts of a compilation's result: the human ceiling, the proof, the changes, and the next step."""
    artifact, search = compiled.artifact, compiled.search
    card = artifact.about
    basic_state = PromptState.of(plan.judge.basic())
    prompt_line = f"prompt: {change_words(basic_state, artifact.state, card.forms)}"
    sampling = card.thresholds.sampling
    if sampling.by_probability:
        prompt_line += f"; {sampling.rule}"
    elif sampling.takes_mean:
        prompt_line += f"; of {sampling.samples} scores their mean"
    if card.panel is not None:
        prompt_line += f"; {panel_words(card)}"
    spend = spend_line(card.spend or SpendCard())
    end_parts = [f"{spend}; {plural(len(artifact.history), 'candidate')}"]
    if card.words is None or not card.words.without_model:
        end_parts = [prompt_line, *end_parts]
    if card.setting.own_answer_request is not None:
        end_parts = [card.setting.own_answer_request.words, *end_parts]
    if card.words is not None:
        end_parts = [card.words.words, *end_parts]
    if card.optimizer.ending != "finished":
        end_parts.append(f"warning: the search ended early: {card.optimizer.reason}")
    elif card.optimizer.reason and options.verbose:  # progress says it, too
        end_parts.append(card.optimizer.reason)
    unread_count = 0
    if search is not None:
        unread_count = _unread_proposals(search.board.context.unusable_proposals)
    if unread_count:
        unread_words = plural(unread_count, "proposal")
        end_parts.append(f"warning: {unread_words} could not be read; use --prompt-model, a larger one")
    store = store_option(options)
    is_basic = compiled.proof is None
    end_parts.append(_artifact_line(artifact, latest=compiled.latest, is_basic=is_basic))
    report = f"jurist report {artifact.ref} -o report.html{store}"
    outcome = outcome_of(artifact, plan.judge)
    of_version = OF_CARD
    if outcome.verdict == NOTHING_BETTER:  # the basic prompt has no card
        of_version = frozenset()
    step = choose_next_step(
        outcome,
        options_again(options, EvaluateOptions, plan.judge.bundled, without=of_version),
        store,
        compile_options=options_again(options, CompileOptions, plan.judge.bundled, without=["no_words"]),
    )
    end_parts.append(step.words)
    end_parts.append(f"or: {report} (every score, every changed word, every case)")
    end_parts.append(_default_search_line(plan))
    if plan.model.offline:
        end_parts.append(OFFLINE_LINE)
    parts: list[Part] = []
    ceiling = ceiling_line(plan.people)
    if options.verbose and ceiling:
        parts.append(ceiling)
    parts.extend(_proof_parts(compiled, end_parts, is_full=options.verbose))
    return parts


def _unread_proposals(counts_by_kind: Mapping[str, int]) -> int:
    """Return how many proposals could not be read."""
    total = 0
    for kind, count in counts_by_kind.items():
        # A count of those in a row stands beside the count of all of its kind.
        if not kind.endswith(" in a row"):
            total += count
    return total


def _default_search_line(plan: Plan) -> str:
    """Return the calls of the default search, after an optimizer that searches nothing; else empty."""
    if plan.configured_optimizer.searches:
        return ""
    race = foresee_compilation(replace(plan, optimizer=DEFAULT, options={}))
    command = f"the same without --optimizer {plan.optimizer_name}"
    return f"or: {command}: a search, {race.calls.words()} calls with its proof"


def remember_rows(options: RememberOptions) -> Result:
    """Give a version more rows to remember, and print the proof and the artifact's path."""

    concluded, row_count, left_out_count = remember(
        options.artifact,
        options.labels,
        Terminal(options),
        gold=options.gold,
        answering=partial(model_of_card, options),
        budget=Budget.of(options),
        concurrency=options.concurrency,
        force=options.force,
        margin=options.margin,
    )
    words = f"{plural(row_count, 'row')} of {options.labels} remembered"
    if left_out_count:
        words += f"; {left_out_count} left out, which are in the sealed test or near it"
    artifact = concluded.artifact
    card = artifact.about
    data = {
        "artifact": str(artifact.path),
        "latest": concluded.latest,
        "remembered": row_count,
        "left_out": left_out_count,
    }
    data |= artifact.card
    end_parts = []
    if card.against:
        end_parts.extend([card.against.words, _margin_line(card.against)])
    end_parts.append(spend_line(card.spend or SpendCard()))
    end_parts.append(_artifact_line(artifact, latest=concluded.latest))
    end_parts.append(_step_after_proof(artifact, options).words)
    body: list[Part] = [words]
    body.extend(_proof_parts(concluded, end_parts, is_full=options.verbose))
    return Result(data=data, body=body)


def move_command(options: MoveOptions) -> Result:
    """Move a version to another model; exit code 3 if it is worse there, 1 if that is not known.

    Raises:
        UsageError: no model is named.
    """
    if not options.model:
        raise UsageError(
            f"no model is named that {options.artifact} moves to",
            hint="name it with --model, as openai/gpt-6-luna",
        )
    moved = move(
        options.artifact,
        Model.of(options, name=options.model),
        gold=options.gold,
        margin=options.margin,
        ask_old=options.ask_old,
        budget=Budget.of(options),
        concurrency=options.concurrency,
        force=options.force,
        surface=Terminal(options),
    )
    artifact = moved.artifact
    card = artifact.about
    tone: Tone = "open"
    code = 1
    if moved.verdict.holds:
        tone = "good"
        code = 0
    elif moved.verdict.outcome == "worse":
        tone = "bad"
        code = 3
    parts: list[Table | str] = []
    for name, value in moved.tried:
        chosen = ", chosen" if name == moved.way and len(moved.tried) > 1 else ""
        parts.append(f"asked {name}: {moved.against.metric} {abs(value):.3f} on train and dev{chosen}")
    parts.append(
        f"the two models differ on {100 * moved.verdict.differing:.1f} % of the units of the sealed test"
    )
    parts.append(f"against the basic prompt on {card.model.name}: {card.decision.words}")
    parts.extend(f"warning: {warning}" for warning in moved.against.warnings)
    parts.append(spend_line(card.spend or SpendCard()))
    parts.append(_artifact_line(artifact, latest=moved.latest))
    if moved.tags:
        parts.append(f"tags that moved with it: {', '.join(moved.tags)}")
    parts.append(_step_after_move(moved, options))
    if card.model.name == OFFLINE:
        parts.append(OFFLINE_LINE)
    headline = (
        f"decision: {artifact.ref} is {moved.words} ({moved.parent.about.model.name} -> {card.model.name})"
    )
    return Result(
        data=moved.to_json(), body=[VerdictCard(tone=tone, decision=headline, parts=parts)], code=code
    )


def _step_after_move(moved: Moved, options: MoveOptions) -> str:
    """Return the command that comes after a move."""
    store_words = store_option(options)
    if moved.verdict.holds:
        return _step_with_good_model(moved.artifact, store_words)
    if moved.verdict.outcome == "worse":
        return _step_with_worse_model(moved.artifact, store_words)
    if moved.verdict.labels is None:
        return "next: label more rows; nobody can say how many would tell"
    step = (
        f"next: label {plural(moved.verdict.labels, 'row')} where the two differ, out of about "
        f"{moved.verdict.rows:,} more rows: jurist prove {moved.artifact.ref} --against {moved.parent.ref} "
        f"--rows new.jsonl{store_words}"
    )
    if moved.parent.about.model.name == OFFLINE:
        return step
    return (
        f"{step} (if {moved.parent.about.model.name} is gone: --against recorded:FILE, which "
        f"jurist run {moved.parent.ref} wrote of these rows)"
    )


def _step_with_good_model(artifact: Artifact, store_words: str) -> str:
    """Return the command that comes after a version was shown to be better on its new model, or as good."""
    return f"next: jurist run {artifact.ref} --input new.csv --output judged.jsonl{store_words}"


def _step_with_worse_model(artifact: Artifact, store_words: str) -> str:
    """Return the command that searches on from a version that was shown to be worse on its new model."""
    card = artifact.about
    judge = shlex.quote(card.judge_ref or artifact.judge)
    gold = card.gold.gold_option + card.gold.split_option
    return f"next: jurist compile {judge} {gold} --start {artifact.ref}{store_words}"


def _step_after_labels_of_move(artifact: Artifact, plan: LabelPlan, verdict: str, store_words: str) -> str:
    """Return the command that comes after labels compared a version with the one that it was moved from."""
    if verdict in ("better", "as good"):
        return _step_with_good_model(artifact, store_words)
    if verdict == "worse":
        return _step_with_worse_model(artifact, store_words)
    rival = shlex.quote(plan.rival)
    return (
        f"next: jurist prove {artifact.ref} --against {rival} --rows more.jsonl{store_words} (further rows)"
    )


def _step_after_proof(artifact: Artifact, options: StoreOptions, *, by_labels: str = "") -> NextStep:
    """Return the next step after a version was proven on its sealed test, or by labels."""
    store = store_of(options)
    store_words = store_option(options)
    outcome = outcome_of(artifact, load_judge(artifact.ref, store=store).judge, by_labels=by_labels)
    return choose_next_step(outcome, artifact.about.gold.gold_option + store_words, store_words)


def _margin_line(against: AgainstCard) -> str:
    """Return whether a version is worse than the one before by no more than the margin; empty where none was set."""
    test = against.not_worse
    if test is None:
        return ""
    return f"not worse than {against.second} by more than {test.margin:g}: {test.outcome} ({test.words})"


def _proof_parts(concluded: Concluded, end_parts: Sequence[str], *, is_full: bool) -> list[Part]:
    """Return the verdict card that ends in ``end_parts``, below all evidence if ``is_full``."""
    if concluded.proof is None:
        parts = [_MORE_GAIN]
        parts.extend(end_parts)
        return [VerdictCard(tone="open", decision=f"decision: {concluded.words}", parts=parts)]
    card, decision = concluded.artifact.about, concluded.proof.decision
    sentences = "; ".join(decision.sentences[:2])
    verdict = VerdictCard(
        tone=tone_of(decision.verdict),
        decision=f"decision: {sentences} ({_who_answered(concluded.artifact.about)})",
        parts=_evidence_parts(card, decision) + list(end_parts),
    )
    if not is_full:
        return [verdict]
    title = f"sealed test, {decision.counts.cases.labelled} cases"
    full_parts: list[Part] = [scores_table(title, card.proven_scores, decision.metric)]
    full_parts += reference_tables(card.references, decision.metric, " on the same cases")
    full_parts += [f"decision: {decision.words}", card.price_words, verdict]
    return full_parts


def _who_answered(card: Card) -> str:
    """Return who gives the compiled judge's answers, for a headline."""
    if card.words is not None and card.words.without_model:
        return card.words.without_model
    return engine_words(card.model.name or None)


def _evidence_parts(card: Card, decision: Decision) -> list[Table | str]:
    """Return the evidence of a decision on the sealed test, and its warnings."""
    parts: list[Table | str] = [proof_table(card, decision.metric)]
    parts += criteria_table(card.decision)
    parts.append(criteria_words(card.decision))
    if card.tokens_words:
        parts.append(f"tokens a row: {card.tokens_words}")
    if decision.constant:
        parts.append(decision.constant.words)
    parts.append(f"on the sealed test: {decision.sentences[-1]}")
    for name, counts in card.counts.items():
        if counts.units.answered < counts.units.total:
            parts.append(counts_line(name, counts))
    if any(card.inconsistent.values()):
        counts_by_system = []
        for name, count in card.inconsistent.items():
            counts_by_system.append(f"{name} {count}")
        parts.append(f"answers that contradicted themselves: {', '.join(counts_by_system)}")
    for warning in decision.warnings:
        parts.append(f"warning: {warning}")
    for warning in card.warnings:
        parts.append(f"warning: {warning}")
    return parts


def _artifact_line(artifact: Artifact, *, latest: bool, is_basic: bool = False) -> str:
    """Return where an artifact is, and whether its judge's name now means it; a basic prompt is no gain to force."""
    if latest and artifact.was_shown_better:
        return f"artifact: {artifact.path} (latest)"
    if latest:
        return f"artifact: {artifact.path} (latest: {decision_words(artifact)})"
    words = f"saved as {artifact.ref}, not promoted"
    if not is_basic:
        words += ": use --force to promote"
    return f"artifact: {artifact.path} ({words})"


def prove_command(options: ProveOptions) -> Result:
    """Ask both about rows, say or do what is next, and test when the labels of a look are in."""
    store = store_of(options)
    artifact = store.load(options.artifact)
    artifact.check_is_no_cascade()
    judge = load_judge(artifact.ref, store=store).judge
    unlabelled = None
    if options.rows is not None:
        unlabelled = _unlabelled(options, store, artifact)
    plan = open_plan(artifact, Terminal(options), unlabelled)
    if plan.decision is not None:
        finish_decision(store, artifact, plan)
        command = f"jurist prove {artifact.ref} --rows F --fresh{store_option(options)}"
        note = f"this was decided before: {command} draws another plan, which counts as one more"
        if options.answers or options.sheet:
            raise UsageError(f"the plan of {artifact.ref} is decided", hint=note)
        return _decided_result(plan, note, options, data=plan.to_json())
    if options.answers is not None:
        labelled = Gold.load(options.answers, judge, labelled=False)
        plan, latest, words = decide_by_labels(store, artifact, plan, judge, labelled)
        data = plan.to_json()
        data["latest"] = latest
        if plan.decision is not None:
            return _decided_result(plan, words, options, data=data)
        command = f"jurist prove {plan.version} --answers {options.answers}{store_option(options)}"
        return Result(data=data, body=[words], notes=[f"{_next_labels(plan)}, then run: {command}"])
    if options.sheet is not None:
        return _write_plan_sheet(plan, judge, Path(options.sheet), options)
    body: list[Part] = list(plan.summary_lines)
    if plan.model == OFFLINE:
        body.append(OFFLINE_LINE)
    command = f"jurist prove {artifact.ref} --sheet labels.csv{store_option(options)}"
    next_step = f"to label them: {command}, and --answers labels.csv when {_labelled_words(plan)}"
    return Result(data=plan.to_json(), body=body, notes=[next_step])


def _next_labels(plan: LabelPlan) -> str:
    """Return which units a person labels next, in words."""
    first = len(plan.labelled) + 1
    return f"label units {first} to {first - 1 + plan.labels_missing} of the plan, in the order of the sheet"


def _labelled_words(plan: LabelPlan) -> str:
    """Return when a sheet with the units that no look has taken can be given back, in words."""
    if len(plan.labelled) + plan.labels_missing == len(plan.units):
        return "it is filled in"
    return f"its first {plural(plan.labels_missing, 'line')} are filled in"


def _write_plan_sheet(plan: LabelPlan, judge: Judge, path: Path, options: ProveOptions) -> Result:
    """Write the units of a plan that no look has taken as a sheet to label."""
    gold = plan.gold(judge)
    lines = plan.lines(gold)
    write_sheet(lines, gold, path, rater=options.rater)
    data = plan.to_json()
    data["sheet"] = str(path)
    command = f"jurist prove {plan.version} --answers {path}{store_option(options)}"
    return Result(
        data=data,
        body=[f"{plural(len(lines), 'unit')} written to {path}"],
        notes=[f"when {_labelled_words(plan)}: {command}"],
    )


def _unlabelled(options: ProveOptions, store: Store, artifact: Artifact) -> Unlabelled:
    """Return both prompts, and the rows that they are asked about."""

    model = own_model(options) if options.model is None else Model.of(options, name=options.model)
    verifier = verifier_model(options, options.timeout, options.seed)
    contenders = load_both(artifact, store, model=model, verifier=verifier, concurrency=options.concurrency)
    print_notes(contenders[1].own_model_words)
    gold = gold_of(str(options.rows), contenders[1].judge, options, labelled=False)
    work = Unlabelled(
        contenders=contenders,
        gold=gold,
        budget=Budget.of(options),
        labels=options.number or LABELS,
        seed=options.seed,
    )
    if options.against is None:
        return work
    labels = artifact.about.moved.labels if artifact.about.moved else None
    return replace(
        work,
        contenders=(load_rival(options.against, artifact, store, gold), contenders[1]),
        rival=options.against,
        margin=margin_of(artifact),
        labels=options.number or labels or LABELS,
    )


def _decided_result(plan: LabelPlan, note: str, options: ProveOptions, data: Mapping[str, Any]) -> Result:
    """Return the decision of a plan whose labels are in."""
    decision = LabelProofRecord.model_validate(plan.decision)
    lines = disagreement_words(decision)
    parts = list(lines[1:])
    artifact = store_of(options).load(plan.version)
    if plan.margin is None:
        parts.append(_step_after_proof(artifact, options, by_labels=decision.verdict).words)
    else:
        parts.append(_step_after_labels_of_move(artifact, plan, decision.verdict, store_option(options)))
    parts.append(f"or: jurist artifacts show {plan.version}{store_option(options)}")
    if plan.model == OFFLINE:
        parts.append(OFFLINE_LINE)
    card = VerdictCard(tone=tone_of(decision.verdict), decision=lines[0], parts=parts)
    return Result(data=data, body=[card], notes=[note])
