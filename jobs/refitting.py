"""Fitting the words of a version anew: with more labelled rows, or without some."""

from collections.abc import Sequence
from dataclasses import replace

from ..cases import Case
from ..engines.channel import CallContext
from ..errors import ArtifactError
from ..keeping.artifact_card import Artifact
from ..optimizers.candidate import Setting
from .plan import Plan


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
    request = Setting(form=card.form, own_answer=card.asks_first)
    return heads.setting(request, with_words=word_rule.reads_words)


def refit_words(plan: Plan, cases: Sequence[Case]) -> Setting:
    """Return the setting in which words decide alone, fitted on labelled cases.

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
    return fits.setting_of_words()
