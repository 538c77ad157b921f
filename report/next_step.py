"""The one command that helps most after a decision."""

import shlex
from dataclasses import dataclass

from ..keeping.artifact_card import REMEMBERED_ROWS, WORD_RULE, WORDS_AND_REPLIES, Artifact
from ..keeping.card_parts import NOTHING_BETTER
from ..programs.judge import Judge
from .foreseen import totals_of_version
from .verdict import labels_that_show, prove_words


@dataclass(frozen=True, kw_only=True)
class NextStep:
    """A command, and why it is the one to run."""

    command: str
    reason: str

    @property
    def words(self) -> str:
        """One line for people."""
        return f"next: {self.command} ({self.reason})"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The known facts of a version once it was decided about, as far as it says what to do next."""

    ref: str  # ``JUDGE@VERSION``
    judge: str  # the name of the judge, as a shell takes it
    # on the version against the basic prompt and a constant answer, or that nothing better was found
    verdict: str
    generates: bool = False  # whether the judge writes items, so that people label nothing
    gains: bool = False  # whether it had a gain over the basic prompt on the sealed test, shown or not
    is_shown: bool = False  # whether that gain is shown, though perhaps no gain over a constant answer
    # what words alone are to the version: ``better``, ``worse``, ``not told apart``
    words_are: str | None = None
    words_may_decide: bool = True  # False where the compilation kept words from deciding
    labels_to_prove: int | None = None  # where the two prompts differ, that mostly show the gain
    labels_in_all: int | None = None  # of a gold set, that mostly show the gain
    # the option by which ``compile`` splits the gold as before, with a space before it
    split_option: str = ""
    is_refit: bool = False  # whether it is another version with its parts fitted again
    # labelled rows in all, where more of them make its words or shown rows better
    rows_to_refit: int | None = None


def choose_next_step(
    outcome: Outcome, row_options: str, store_option: str = "", compile_options: str = ""
) -> NextStep:
    """Return the step that helps most: the first rule that fits an outcome.

    Args:
        outcome: what was decided.
        row_options: the options by which a command reads the gold again, as ``--gold labels.csv``.
        store_option: the option, with a space before it, by which commands find the version.
        compile_options: the options of the compilation, as they were given; default: those that the card knows.
    """
    compile_options = compile_options or f"{row_options}{outcome.split_option}"
    compile_again = f"jurist compile {outcome.judge} {compile_options}"
    if outcome.generates and outcome.verdict != "better":
        return NextStep(
            command=f"jurist compile {outcome.judge} --gold more.jsonl{outcome.split_option}{store_option}",
            reason="with more documents",
        )
    if outcome.verdict == NOTHING_BETTER:
        command = f"jurist evaluate {outcome.judge}:basic {row_options} --verbose"
        return NextStep(command=command, reason="what the basic prompt gets wrong")
    if outcome.words_are == "better" and not outcome.words_may_decide:
        reason = "without --no-words: a regression on words is better than this version, and may decide then"
        return NextStep(command=compile_again, reason=reason)
    if outcome.is_refit and outcome.verdict != "better":
        command = f"jurist prove {outcome.ref} --rows new.jsonl{store_option}"
        return NextStep(command=command, reason="labels of new rows test it")
    if outcome.verdict == "better" and outcome.rows_to_refit:
        command = f"jurist artifacts refit {outcome.ref}{store_option}"
        judge_name, _, _ = outcome.ref.partition("@")
        reason = (
            f"it makes another version, chosen and fitted again on all {outcome.rows_to_refit} labelled rows, those of "
            f"the test too; that one is not tested, and {judge_name} means it only with --use"
        )
        return NextStep(command=command, reason=reason)
    if outcome.verdict == "better":
        command = f"jurist run {outcome.ref} --input new.csv --output judged.jsonl{store_option}"
        return NextStep(command=command, reason="it judges new rows")
    if outcome.labels_to_prove:
        reason = (
            f"{outcome.labels_to_prove} labels on rows that nobody labelled, only where the two prompts differ, will "
            "mostly show a gain like that of the sealed test"
        )
        command = prove_words(outcome.ref, outcome.labels_to_prove, store_option)
        return NextStep(command=command, reason=reason)
    if outcome.words_are == "not told apart" and not outcome.words_may_decide:
        reason = (
            "without --no-words: a regression on words is not told apart from this version, and asks no model"
        )
        return NextStep(command=compile_again, reason=reason)
    if outcome.gains and not outcome.is_shown:
        reason = "what more labels could show; even 2,000 would mostly not show this gain"
        if outcome.labels_in_all:
            reason = (
                f"about {outcome.labels_in_all} labels in all mostly show a gain like that of the sealed test"
            )
        return NextStep(command=f"jurist gold plan {outcome.ref}{store_option}", reason=reason)
    command = f"jurist evaluate {outcome.ref} {row_options} --verbose"
    return NextStep(command=command, reason="what it gets wrong")


_TURNED = {"better": "worse", "worse": "better"}


def outcome_of(artifact: Artifact, judge: Judge, *, by_labels: str = "") -> Outcome:
    """Return the outcome of a version: of its sealed test, or of labels, whose verdict is ``by_labels``."""
    card = artifact.about
    decision = card.decision
    words = card.references.get("words")
    words_are = None
    if words is not None and words.judge_is is not None:
        words_are = _TURNED.get(words.judge_is, words.judge_is)
    difference = decision.difference or 0.0
    if decision.higher_is_better is False:
        difference = -difference
    verdict = by_labels or decision.verdict or ""
    is_open = verdict not in ("better", "worse", NOTHING_BETTER)
    labels_to_prove = None
    if is_open and not by_labels:
        labels_to_prove = labels_that_show(artifact, judge)
    labels_in_all = None
    if is_open and not labels_to_prove:
        totals = totals_of_version(artifact, judge)
        if totals is not None:
            labels_in_all = totals.enough_labels(difference)
    return Outcome(
        ref=artifact.ref,
        judge=shlex.quote(card.reference),
        verdict=verdict,
        generates=judge.answer.scale.row_type is type(None),
        gains=difference > 0.0,
        is_shown=is_open and decision.p < decision.tested,
        words_are=words_are,
        words_may_decide=card.job.words,
        labels_to_prove=labels_to_prove,
        labels_in_all=labels_in_all,
        split_option=card.gold.split_option,
        is_refit=card.refit is not None,
        rows_to_refit=_rows_to_refit(artifact),
    )


def _rows_to_refit(artifact: Artifact) -> int | None:
    """Return the labelled rows of a version's gold; ``None`` where it is a refit, or none of its parts needs many.

    A threshold is one figure, and words and shown rows gain with each label.
    """
    card = artifact.about
    gold = card.gold
    parts = {REMEMBERED_ROWS, WORD_RULE, WORDS_AND_REPLIES}
    if card.refit is not None or parts.isdisjoint(artifact.fitted_parts):
        return None
    return (gold.train or 0) + (gold.dev or 0) + (gold.test or 0)
