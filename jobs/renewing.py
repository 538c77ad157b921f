"""The compilation of a version planned again: the same gold, split and settings, as its card names them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..cases import Case, case_id
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import ArtifactError, GoldError
from ..evaluation.votes import Sampling
from ..gold.goldset import Gold
from ..gold.splits import Split
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import Card
from ..keeping.card_parts import ModelCard
from ..keeping.naming import compiled_judge_of
from ..optimizers.board import Candidate
from ..optimizers.candidate import Setting
from ..optimizers.demonstrations import add_remembered_rows
from ..optimizers.named.nearest import Nearest
from ..programs.settings import FOR_SEARCHES, AskSettings
from ..programs.state import Demo, PromptState
from ..text.templates import CHAT
from .plan import Plan
from .surface import GoldLike, read_gold

INHERITED = ("judge_ref", "judge_sha256", "judge_code", "prompt_model", "verifier", "versions")
"""Names of a card that a version has from the one that it is made of."""
ASKED = ("model", "adapter", "structure", "setting", "thresholds")
"""Names of a card that say how the judge is asked."""
_GOLD_HINT = "name the gold set it was compiled on, as it was then, with --gold"
_Kind = TypeVar("_Kind", bound="Recompilation")


@dataclass(frozen=True, kw_only=True)
class Recompilation(Plan):
    """The compilation of an artifact, planned again."""

    artifact: Artifact
    candidate: Candidate  # its prompt with its setting


def plan_again(
    kind: type[_Kind],
    artifact: Artifact,
    store: Store,
    *,
    budget: Budget,
    gold: GoldLike | None = None,
    answering: Callable[[ModelCard], Model] = ModelCard.model,
    concurrency: int = 1,
) -> _Kind:
    """Return the plan of the compilation, made again: its test, and that test's labels, must be those of the card."""
    card = artifact.about
    origin = card.gold
    judge = compiled_judge_of(artifact, store)
    artifact.check(judge)
    judge = judge.with_options(card.option_values)
    if origin.test_ids_sha256 is None or (gold is None and not origin.place):
        raise ArtifactError(f"the card of {artifact.ref} names no gold set that can be read", hint=_GOLD_HINT)
    model_card = card.job.model if card.job.model.name else card.model
    try:
        compiled_gold = Gold.read_again(origin, judge) if gold is None else read_gold(gold, judge)
        holdout = None
        if origin.holdout is not None:
            holdout = Gold.read_again(origin.holdout, compiled_gold.settled)
        plan = kind(
            artifact=artifact,
            candidate=candidate_of(artifact),
            judge=judge,
            gold=compiled_gold,
            holdout=holdout,
            model=answering(model_card),
            words=card.job.words,
            seed=card.optimizer.seed or 0,
            shares=origin.three_shares,
            earlier=card.parts,
            settings=_settings_of_proof(card, answering, concurrency),
            budget=budget,
        )
        split = plan.split
    except GoldError as error:
        if gold is not None:
            raise
        raise GoldError(f"the gold set of {artifact.ref} cannot be read: {error}", hint=_GOLD_HINT) from error
    _check_gold(plan, split, origin.place if gold is None else plan.gold.name)
    return plan


def check_has_proof(artifact: Artifact) -> None:
    """Refuse a version of which nothing was decided on a sealed test.

    Raises:
        ArtifactError: its card has no decision, or names no gold.
    """
    if not artifact.about.decision.model_fields_set:
        raise ArtifactError(
            f"{artifact.ref} has no proof on its card, so there is no sealed test to open",
            hint="compile it again",
        )


def candidate_of(artifact: Artifact) -> Candidate:
    """Return the prompt of a version with its setting, as a candidate."""
    card = artifact.about.setting
    setting = Setting(
        threshold=card.threshold, weights=card.weights, form=card.form, own_answer=card.own_answer_request
    )
    word_rule = artifact.word_rule
    if word_rule is not None:
        setting = replace(setting, words=word_rule, asks_model=not word_rule.is_alone)
    return Candidate(
        state=artifact.state,
        setting=setting,
        parent=None,
        source=artifact.ref,
        step=0,
        calls=0,
    )


def _settings_of_proof(card: Card, answering: Callable[[ModelCard], Model], concurrency: int) -> AskSettings:
    """Return how the basic prompt was asked in the proof of a version."""
    job = card.job
    return replace(
        FOR_SEARCHES,
        sampling=Sampling(
            samples=job.samples or card.thresholds.samples,
            threshold=job.threshold,
            combine=job.combine,
            is_panel=card.thresholds.panel,
        ),
        adapter=job.adapter or card.adapter or CHAT,
        verifier=answering(card.verifier) if card.verifier else None,
        concurrency=concurrency,
    )


def _check_gold(plan: Recompilation, split: Split, source: str) -> None:
    """Refuse gold that is not the gold of the card.

    Raises:
        GoldError: it gives another test, or other labels or rows.
    """
    ref = plan.artifact.ref
    origin = plan.artifact.about.gold
    if split.test_hash != origin.test_ids_sha256:
        raise GoldError(f"{source!r} does not give the sealed test of {ref}", hint=_GOLD_HINT)
    is_same = plan.gold.sha256 == origin.sha256
    if plan.holdout and origin.holdout:
        is_same = is_same and plan.holdout.sha256 == origin.holdout.sha256
    if not is_same:
        raise GoldError(
            f"{source!r} has other labels or rows than when {ref} was compiled on it", hint=_GOLD_HINT
        )


def history_line(state: PromptState, source: str, setting: Setting) -> dict[str, Any]:
    """Return the line of the history of a prompt that no search has found."""
    return {
        "candidate": setting.id_of(state.id),
        "source": source,
        "demo_ids": [],
        "setting": setting.to_json(),
        "prompt": state.brief(),
    }


def remember_cases(plan: Recompilation, cases: Sequence[Case]) -> PromptState:
    """Return the version's prompt with these cases among those that it remembers."""
    earlier_state = plan.candidate.state
    defaults = Nearest()
    state = add_remembered_rows(plan.judge, cases, earlier_state, defaults.sizes[0], defaults.tokens)
    for name, prompt in earlier_state.predictors.items():
        remembered = prompt.remembered
        added = state.predictors[name].remembered
        rows: Mapping[str, Demo] = added.rows if added else {}
        demos = _correct_demos(prompt.demos, rows, plan.judge.input_fields)
        if added and remembered:
            added = replace(remembered, rows={**remembered.rows, **rows})
        state = state.with_demos(name, tuple(demos), added or remembered)
    if state == earlier_state:
        hint = f"jurist compile {plan.judge.name} on all rows"
        raise ArtifactError(f"{plan.judge.name} has no step that can show labelled rows", hint=hint)
    return state


def _correct_demos(demos: Sequence[Demo], rows: Mapping[str, Demo], inputs: Sequence[str]) -> list[Demo]:
    """Return demonstrations with the labels that people give now; ``rows`` are by the ids of cases."""
    corrected: list[Demo] = []
    for demo in demos:
        row = rows.get(case_id_of(demo, inputs), demo)
        has_the_same_labels = row.items() <= demo.items()
        corrected.append(demo if has_the_same_labels else row)
    return corrected


def case_id_of(demo: Demo, inputs: Sequence[str]) -> str:
    """Return the id of the case of a demonstration that shows all of its inputs."""
    return case_id(select_fields(demo, inputs))


def select_fields(demo: Demo, names: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a demonstration that have one of these names."""
    fields: dict[str, Any] = {}
    for name in names:
        if name in demo:
            fields[name] = demo[name]
    return fields


def check_words_can_be_refitted(artifact: Artifact, hint: str) -> None:
    """Refuse a version of which words and replies decide together: the replies are not kept with it.

    Raises:
        ArtifactError: replies count beside words.
    """
    words = artifact.about.words
    if words is not None and words.decide == "stack":
        message = f"{artifact.ref} weighs words against replies, which are not kept with it"
        raise ArtifactError(message, hint=hint)


def check_words_take_rows(artifact: Artifact) -> None:
    """Refuse a version that more labelled rows cannot be added to: answers of a model count beside words.

    Raises:
        ArtifactError: replies, or answers to questions, count.
    """
    hint = "compile the judge again on all rows"
    check_words_can_be_refitted(artifact, hint)
    words = artifact.about.words
    if words is not None and words.decide == "questions":
        message = f"{artifact.ref} weighs answers to questions, which the model has not given for other rows"
        raise ArtifactError(message, hint=hint)


def refit_questions(plan: Plan, artifact: Artifact, cases: Sequence[Case]) -> Setting:
    """Return the setting in which a head over a version's questions decides, fitted on the answers of these cases.

    Raises:
        ArtifactError: they are too few, or too few are of a label.
    """
    # scikit-learn takes a second to load, and commands that fit nothing do without it.
    from ..optimizers.question_heads import QuestionFits
    from ..optimizers.words import WordFits

    word_rule = artifact.word_rule
    assert word_rule is not None
    fits = WordFits(replace(plan.job(CallContext.fresh()), train=tuple(cases), dev=()))
    heads = QuestionFits(fits, artifact.state.questions, artifact.answers())
    has_labels = word_rule.criteria[0]["regression"]["outputs"] == heads.outputs
    if not has_labels or not heads.can_fit:
        raise ArtifactError(
            f"{len(heads.cases)} labelled rows with answers are too few to fit a head on questions to",
            hint="compile the judge again with more labelled rows",
        )
    card = artifact.about.setting
    request = Setting(form=card.form, own_answer=card.own_answer_request)
    return heads.setting(request, with_words=word_rule.reads_words)


def refit_words(plan: Recompilation, cases: Sequence[Case]) -> Setting:
    """Return the setting in which words, or the longer of two texts, decide alone, as before, fitted on labelled cases.

    Raises:
        ArtifactError: they are too few, or too few are of the rarer label.
    """
    # scikit-learn takes a second to load, and commands that fit nothing do without it.
    from ..optimizers.words import WordFits

    job = replace(plan.job(CallContext.fresh()), train=tuple(cases), dev=())
    fits = WordFits(job)
    if not fits.can_fit:
        raise ArtifactError(
            f"{len(fits.cases)} labelled rows are too few to fit words to",
            hint="compile the judge again with more labelled rows",
        )
    word_rule = plan.artifact.word_rule
    if word_rule is not None and word_rule.name == "length":
        return fits.setting_of_length()
    return fits.setting_of_words()
